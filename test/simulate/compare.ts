/** Compares the service with the model, and checks the laws of the books. */
import { ALWAYS_SENT } from "../../src/domain/event.ts";
import type { Reply } from "./deployment.ts";
import type { Endpoint } from "./endpoint.ts";
import { forgetKey } from "./model-key.ts";
import { isByTransfer, putPayout } from "./model-payouts.ts";
import { time } from "./played-globals.ts";
import { LEFT_TO_ROLL_UP } from "../support/left-to-roll-up.ts";
import { STATEMENT_LAWS } from "../support/statement-laws.ts";
import type { World } from "./world.ts";
import type { Payout, Row, State } from "./model-state.ts";

const SENT = ALWAYS_SENT.map((type) => `'${type}'`).join(", ");

interface ShownCommission {
  id: string;
  partner_id: string;
  payment_id: string | null;
  payout_id: string | null;
  kind: string;
  status: string;
  amount_cents: number;
  currency: string;
  provider_transaction_id: string | null;
  created_at: string;
  flagged: boolean;
  review_reason: string | null;
}

interface ShownPayout {
  id: string;
  partner_id: string;
  amount_cents: number;
  currency: string;
  source_amounts: { currency: string; amount_cents: number; rate: string; converted_cents: number }[] | null;
  status: Payout["status"];
  commission_count: number;
  period_end: string;
}

interface ShownPayment {
  id: string;
  provider_transaction_id: string;
  outcome: string | null;
  partner_id: string | null;
  adjusted_cents: number;
}

export interface Shown {
  commissions: ShownCommission[];
  payouts: ShownPayout[];
  payments: ShownPayment[];
  slugs: Map<string, string>;
}

type Ask = (path: string) => Promise<Reply>;

/** All that the lists of the API show. */
export async function readShown(ask: Ask, ids: Record<string, string>): Promise<Shown> {
  const list = async <T>(name: string): Promise<T[]> => {
    const all: T[] = [];
    for (let page = 1; ; page++) {
      const { status, body } = await ask(`/api/v1/${name}?per_page=100&page=${page}`);
      const { data, total } = body as unknown as { data: T[]; total: number };
      if (status !== 200) throw new Error(`the list of ${name} answers ${status}`);
      all.push(...data);
      if (all.length === total) return all;
      if (data.length === 0) throw new Error(`${name}: ${total} in all, ${all.length} listed`);
    }
  };
  const [commissions, payouts, payments] = [
    await list<ShownCommission>("commissions"),
    await list<ShownPayout>("payouts"),
    await list<ShownPayment>("payments"),
  ];
  return { commissions, payouts, payments, slugs: new Map(Object.entries(ids).map(([slug, id]) => [id, slug])) };
}

/** Vendors decide how a payout under way ends: the model follows, as far as the laws allow (`lawsOf`). */
export function follow(state: State, { payouts }: Shown, now: number): void {
  for (const [index, payout] of state.payouts.entries()) {
    if (payout.status !== "processing" || !isByTransfer(payout.slug)) continue;
    const shown = payouts.find(({ id }) => id === payout.id);
    if (shown?.status !== "paid" && shown?.status !== "failed") continue;
    putPayout(state, index, shown.status, now);
    forgetKey(state);
  }
}

/**
 * The differences between a state and the service; empty if they agree, and then the state has the ids of its rows and
 * the moments of the step.
 */
export function differences(state: State, listed: Shown): string[] {
  const shown = byPurchase(state, listed);
  bindPayouts(state, shown);
  const said = [
    ...state.payouts.map((one) => [payoutText(one.id ?? "a new payout", one.slug, one), one] as const),
    ...state.rows.map((row) => [rowText(state, row), row] as const),
    ...Object.entries(state.sales).map(
      ([key, sale]) => [`payment ${key}: ${sale.outcome} ${sale.partner} -${sale.adjusted}`, sale] as const,
    ),
  ];
  const seen = [
    ...shown.payouts.map((one) => {
      const parts = one.source_amounts?.map((part) => ({
        ...{ currency: part.currency, amount: part.amount_cents },
        ...{ rate: part.rate, converted: part.converted_cents },
      }));
      const reported = { ...one, amount: one.amount_cents, count: one.commission_count, parts: parts ?? null };
      return [payoutText(one.id, shown.slugs.get(one.partner_id)!, reported), one.id] as const;
    }),
    ...shown.commissions.map((one) => [commissionText(one, shown.slugs), one.id] as const),
    ...shown.payments.map((one) => {
      const slug = one.partner_id === null ? null : shown.slugs.get(one.partner_id);
      return [`payment ${one.provider_transaction_id}: ${one.outcome} ${slug} -${one.adjusted_cents}`, one.id] as const;
    }),
  ];
  const left = Map.groupBy(seen, ([text]) => text);
  const missing: string[] = [];
  for (const [text, one] of said) {
    const match = left.get(text)?.pop();
    if (match) one.id = match[1];
    else missing.push(`not shown: ${text}`);
  }
  const createdAt = new Map(shown.commissions.map(({ id, created_at }) => [id, created_at]));
  for (const row of state.rows) {
    if (row.kind !== "sale") row.created = chosenMoment(row.created, createdAt.get(row.id ?? ""));
  }
  return [...missing, ...[...left.values()].flat().map(([text]) => `shown: ${text}`)].toSorted();
}

/** Renames intents' ids to those of their purchases. */
function byPurchase({ purchases }: State, shown: Shown): Shown {
  const keys = new Map(Object.entries(purchases).map(([key, { intent }]) => [intent, key]));
  const named = <T extends { provider_transaction_id: string | null }>(one: T): T => {
    const key = keys.get(one.provider_transaction_id);
    return key === undefined ? one : { ...one, provider_transaction_id: key };
  };
  return { ...shown, commissions: shown.commissions.map(named), payments: shown.payments.map(named) };
}

/** New payouts get their ids by partner, currency and amount; of several, by their sales. */
function bindPayouts(state: State, { commissions, payouts, slugs }: Shown): void {
  const bound = new Set(state.payouts.map(({ id }) => id));
  for (const [index, payout] of state.payouts.entries()) {
    if (payout.id !== undefined) continue;
    const { slug, currency, amount } = payout;
    const alike = payouts.filter(
      (one) =>
        !bound.has(one.id) &&
        slugs.get(one.partner_id) === slug &&
        one.currency === currency &&
        one.amount_cents === amount,
    );
    const sales = new Set(state.rows.flatMap((row) => (row.payout === index ? [row.sale] : [])));
    const holdsThem = (id: string) =>
      commissions.every((one) => one.payout_id !== id || sales.has(one.provider_transaction_id ?? ""));
    const found = alike.find(({ id }) => holdsThem(id)) ?? alike[0];
    if (!found) continue;
    bound.add((payout.id = found.id));
    const isNow = payout.period_end === payout.changed;
    if (isNow) payout.period_end = chosenMoment(payout.period_end, found.period_end);
  }
}

/** Concurrent operations have moments within one second that the service chose; later dates are compared with them. */
export function chosenMoment(moment: number, shown: string | undefined): number {
  const chosen = Date.parse(shown ?? "");
  return Math.abs(chosen - moment) < 1_000 ? chosen : moment;
}

function payoutText(
  id: string,
  slug: string,
  { currency, amount, parts, count, status }: Omit<Payout, "slug" | "period_end" | "changed">,
) {
  const of = parts?.map((part) => `${part.amount} ${part.currency} at ${part.rate} = ${part.converted}`);
  return `payout ${id} of ${slug}: ${amount} ${currency}${of ? ` (${of.join(", ")})` : ""} in ${count}, ${status}`;
}

function rowText(state: State, { kind, slug, sale, currency, status, amount, payout, reasons }: Row): string {
  const held = payout === null ? "free" : (state.payouts[payout]!.id ?? "a new payout");
  const flags = reasons[0] ?? "unflagged";
  return `${kind} of ${slug} for ${sale || "nothing"}: ${amount} ${currency} ${status}, ${held}, ${flags}`;
}

function commissionText(one: ShownCommission, slugs: Map<string, string>): string {
  const held = one.payout_id ?? "free";
  const flags = one.flagged ? one.review_reason : "unflagged";
  const sale = one.provider_transaction_id ?? "nothing";
  const { kind, amount_cents, currency, status } = one;
  return `${kind} of ${slugs.get(one.partner_id)} for ${sale}: ${amount_cents} ${currency} ${status}, ${held}, ${flags}`;
}

/** Sums on the partner's pages, against the model's rows. */
export async function sumDifferences(state: State, ask: Ask, ids: Record<string, string>): Promise<string[]> {
  const found: string[] = [];
  for (const [slug, id] of Object.entries(ids)) {
    const { data } = (await ask(`/api/v1/partners/${id}/balance`)).body as { data: Record<string, number>[] };
    const { stats } = (await ask(`/api/v1/partners/${id}`)).body as { stats: Record<string, number> };
    const own = state.rows.filter((row) => row.slug === slug);
    for (const currency of new Set(own.map((row) => row.currency))) {
      const rows = own.filter((row) => row.currency === currency);
      const sum = (which: (row: Row) => boolean) => rows.filter(which).reduce((total, row) => total + row.amount, 0);
      const expected: Record<string, number> = {
        pending_cents: sum(({ status }) => status === "pending"),
        payable_cents: sum(({ status, payout }) => status === "approved" && payout === null),
        in_payout_cents: sum(({ status, payout }) => status === "approved" && payout !== null),
        paid_cents: sum(({ status }) => status === "paid"),
        forgiven_cents: -sum(({ status, kind, amount }) => status === "rejected" && kind === "clawback" && amount < 0),
      };
      const balance = data.find((row) => String(row["currency"]) === currency);
      for (const [name, amount] of Object.entries(expected)) {
        const reported = balance?.[name] ?? 0;
        if (reported !== amount + 0)
          found.push(`balance of ${slug}: ${name} is ${reported} ${currency}, not ${amount}`);
      }
      if (currency !== "USD") continue;
      const earned = sum(({ status }) => status !== "rejected");
      if (stats["total_earned_cents"] !== earned) {
        found.push(`stats of ${slug}: ${stats["total_earned_cents"]} earned, not ${earned}`);
      }
    }
  }
  return found;
}

/** The sums of each payout by currency. */
const PARTS = `(select id, status, currency, amount_cents as amount from payouts where source_amounts is null
  union all select p.id, p.status, x.value ->> 'currency', x.value ->> 'amount_cents'
    from payouts p join json_each(p.source_amounts) x)`;

/** The laws of the design, held against the tables themselves. */
export function lawsOf({ database, databases, vendors, neighbor }: World, endpoint: Endpoint): string[] {
  const broken = (law: string, sql: string, ...values: string[]) =>
    databases.flatMap((one) => one.look(sql, ...values)).map((row) => `${law}: ${JSON.stringify(row)}`);
  // Old deliveries are deleted.
  const recently = new Date(time.now - 7 * 86_400_000).toISOString();
  const found = [
    ...endpoint.differences(recently),
    ...broken(
      "balances are the sums of the entries",
      `select * from (select partner_id, currency, account, sum(amount) as amount from (
          select partner_id, currency, to_account as account, amount_cents as amount from entries
          union all select partner_id, currency, from_account, -amount_cents from entries
          union all select partner_id, currency, account, -amount_cents from balances where partner_id <> '')
        where account <> 'expense' group by 1, 2, 3) where amount <> 0`,
    ),
    ...broken(
      "each entry is counted once",
      `select * from (select partner_id, currency, account, sum(n) as n from (
          select partner_id, currency, iif(to_account = 'expense', from_account, to_account) as account, 1 as n from entries
          union all select partner_id, currency, account, -ifnull(entries, 0) from balances where partner_id <> '')
        group by 1, 2, 3) where n <> 0`,
    ),
    ...broken(
      "the program's balances are the sums of its partners'",
      `select * from (select currency, account, sum(iif(partner_id = '', -1, 1) * amount_cents) as amount,
          sum(iif(partner_id = '', -1, 1) * commissions) as commissions
        from balances group by program_id, currency, account) where amount <> 0 or commissions <> 0`,
    ),
    ...broken(
      "a payout is the sum of its commissions",
      `select p.id, p.currency, p.amount, sum(c.amount_cents) as held from ${PARTS} p
        left join commissions c on c.payout_id = p.id and c.currency = p.currency
        where p.status not in ('canceled', 'returned') group by p.id, p.currency having held is not p.amount`,
    ),
    ...broken(
      "a payout counts its commissions",
      `select p.id, p.commission_count, count(c.id) as n from payouts p left join commissions c on c.payout_id = p.id
        where p.status not in ('canceled', 'returned') group by p.id having n <> p.commission_count`,
    ),
    ...broken(
      "the conversions of a payout add up to its amount",
      `select p.id, p.amount_cents, p.source_amounts from payouts p join json_each(p.source_amounts) x
        group by p.id having sum(x.value ->> 'converted_cents') <> p.amount_cents`,
    ),
    ...broken(
      "what is paid is not flagged",
      "select id, review_reasons from commissions where status = 'paid' and (flagged = 1 or review_reasons <> '')",
    ),
    ...broken(
      "what a payout took in is what it paid, gave back or holds",
      `select p.id, p.status, p.currency, p.amount, sum(iif(e.to_account = 'in_payout', e.amount_cents, 0)
            - iif(e.from_account = 'in_payout', e.amount_cents, 0)) as held
        from ${PARTS} p left join entries e on e.payout_id = p.id and e.currency = p.currency group by p.id, p.currency
        having held is not iif(p.status in ('paid', 'canceled', 'returned'), 0, p.amount)`,
    ),
    ...broken(
      "an entry names the event of the change that posted it",
      `select e.id, e.event_id, v.type, v.payload from entries e
          left join events v on v.id = e.event_id and v.program_id = e.program_id
        where (v.payload ->> 'partner_id' is not e.partner_id
          or iif(v.type like 'payout.%', v.payload ->> 'payout_id' is not e.payout_id,
            v.payload ->> 'commission_id' is not e.commission_id))`,
    ),
    ...broken(
      "the neighbor earns nothing",
      `select id, provider_transaction_id from payments where program_id = ? and outcome is not null`,
      neighbor.id,
    ),
    ...broken(
      "kept counts are those of the rows",
      `select type, sum(n) as difference from (select program_id, type, count(*) as n from events group by 1, 2
          union all select program_id, type, -sum(count) from event_counts group by 1, 2
          union all select program_id, type, -1 from ${LEFT_TO_ROLL_UP})
        group by program_id, type having difference <> 0`,
    ),
    ...broken(
      "every event that is to be reported is reported",
      `select e.id, e.type from events e left join messages m on m.event_id = e.id
        where m.event_id is null and e.type in (${SENT})
          and e.created_at > ? and e.created_at > (select min(created_at) from webhook_endpoints)`,
      recently,
    ),
    ...broken(
      "what a file holds is under way, and what is under way by a file is in one",
      `select p.id, p.status, count(i.payout_id) as files from payouts p
        left join export_items i on i.payout_id = p.id and i.status = 'open'
          and exists (select 1 from payout_exports e where e.id = i.export_id and e.status = 'open')
        where p.method = 'wallet' group by p.id having count(i.payout_id) <> (p.status = 'processing')`,
    ),
    ...broken(
      "an open payout of a file is of an open file",
      `select e.id, e.status, i.payout_id from export_items i join payout_exports e on e.id = i.export_id
        where i.status = 'open' and e.status <> 'open'`,
    ),
    ...broken(
      "a payout is paid once",
      `select payload ->> 'payout_id' as id, count(*) as n from events where type = 'payout.paid'
        group by 1 having count(*) > 1`,
    ),
    ...Object.entries(STATEMENT_LAWS).flatMap(([law, sql]) => broken(law, sql)),
    ...broken(
      "each payout paid under self-billing has an invoice number",
      "select payout_id from payout_statements where invoice_number is null",
    ),
    ...broken("the reconciler finds nothing", "select type, payload from events where type like 'reconciliation.%'"),
    ...broken(
      "everything is settled",
      `select id, provider_transaction_id from payments where settled_revision <> facts_revision
        union all select event_id, event_type from provider_events where audit_event_id is null`,
    ),
  ];
  const transfers = Map.groupBy(
    vendors.flatMap((vendor) => vendor.transfers),
    ({ transfer_group }) => transfer_group,
  );
  for (const [id, made] of transfers) {
    if (made.length > 1) found.push(`no two transfers for one payout: ${id} has ${made.length}`);
  }
  for (const { id, status, amount_cents, reference } of database.look<Record<string, string | number | null>>(
    "select * from payouts",
  )) {
    const made = transfers.get(String(id))?.[0];
    if (made && status !== "paid" && status !== "processing" && status !== "returned")
      found.push(`${id} is ${status}, and was transferred`);
    if (made && made.amount !== amount_cents)
      found.push(`${id} is of ${amount_cents}, transferred were ${made.amount}`);
    if (typeof reference === "string" && reference.startsWith("tr_") && made?.id !== reference) {
      found.push(`${id} is paid by ${reference}, which there is not`);
    }
  }
  return found;
}
