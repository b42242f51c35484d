/** Compares the ledger at the end of a story with the model's sums of the moved money. */
import { ADMIN_TOKEN } from "./deployment.ts";
import { keyOf, type Expected } from "../support/money-model.ts";
import type { Truth } from "../support/money-truth.ts";
import type { StoryWorld } from "./story-world.ts";

/** The expected result of a payment. */
export interface Paid extends Expected, Pick<Truth, "also"> {
  currency: string;
  provider: string;
}

type Sums = Map<string, number>;

/** Each difference as a line; empty without any. Commissions paid and first seen by `until` approve themselves. */
export async function differencesOf(
  world: StoryWorld,
  paid: ReadonlyMap<string, Paid>,
  tests: ReadonlySet<string>,
  approved_until: string,
): Promise<string[]> {
  const look = <Row>(sql: string) => world.database.look<Row>(sql);
  const outcomes = new Map([...paid].map(([key, { outcome }]) => [key, outcome]));
  for (const key of tests) outcomes.set(`test:${key}`, "test_mode");
  const stored = look<{ key: string; outcome: string }>(
    // No flow is for leads: their earnings would be among the commissions.
    "select provider_transaction_id as key, outcome from payments where outcome <> 'merged' and event = 'transaction_completed'",
  );
  const rows = look<Row>(ROWS);
  const own = keyOf([...paid].map(([key, { also }]) => ({ key, ...(also === undefined ? {} : { also }) })));
  const expected = [...paid].filter(([, { amount }]) => (amount ?? 0) !== 0);
  const earned = expected.map(([key, one]) => [`${key} ${one.partner} ${one.currency}`, one.amount!] as const);
  const perPartner = sums(expected.map(([, one]) => [`${one.partner} ${one.currency}`, one.amount!] as const));
  return [
    ...compared("outcome", outcomes, new Map(stored.map(({ key, outcome }) => [key, outcome]))),
    ...compared(
      "earned",
      sums(earned),
      sums(rows.map((row) => [`${own(row.key)} ${row.slug} ${row.currency}`, row.amount])),
    ),
    ...compared("balance", perPartner, sums(look<Sum>(BALANCES).map(entryOf))),
    ...compared("journal", perPartner, sums(look<Sum>(ENTRIES).map(entryOf))),
    ...compared("statistics", perPartner, await statistics(world)),
    ...codesCompared(paid, look<CodeSums>(BY_CODE)),
    ...salesCompared(paid, look<SaleSums>(BY_PARTNER), look<SaleSums>(BY_DAY)),
    ...stateCompared(paid, look<Open>(OPEN), own, approved_until),
    ...(await reconciled(world)),
  ];
}

interface Row {
  key: string;
  slug: string;
  currency: string;
  amount: number;
}
type Sum = Omit<Row, "key">;

/** Commissions that are not rejected, by payment. */
const ROWS = `select p.provider_transaction_id as key, r.slug, c.currency, c.amount_cents as amount
  from commissions c join partners r on r.id = c.partner_id join payments p on p.id = c.payment_id
  where c.status <> 'rejected'`;
const BALANCES = `select r.slug, b.currency, b.amount_cents as amount from balances b join partners r on r.id = b.partner_id
  where b.account <> 'expense'`;
const ENTRIES = `select r.slug, e.currency,
    iif(e.from_account = 'expense', e.amount_cents, 0) - iif(e.to_account = 'expense', e.amount_cents, 0) as amount
  from entries e join partners r on r.id = e.partner_id`;

/** The kept results by code, of all days. */
const BY_CODE = `select r.slug, k.code, k.provider, d.currency, sum(d.sales) as sales,
    sum(d.revenue_cents) as revenue,
    sum(d.earned_cents) as earned
  from code_days d join partner_codes k on k.id = d.code_id join partners r on r.id = d.partner_id group by 1, 2, 3, 4`;

interface CodeSums {
  slug: string;
  code: string;
  provider: string;
  currency: string;
  sales: number;
  revenue: number;
  earned: number;
}

/** The kept sales and revenue of each partner, and the revenue of all days. */
const BY_PARTNER = `select r.slug, s.currency, s.sales, s.revenue_cents as revenue
  from partner_sales s join partners r on r.id = s.partner_id`;
const BY_DAY = `select r.slug, e.currency, 0 as sales, sum(e.revenue_cents) as revenue
  from earning_days e join partners r on r.id = e.partner_id group by 1, 2`;

interface SaleSums {
  slug: string;
  currency: string;
  sales: number;
  revenue: number;
}

/** Sales that are in no payout. */
const OPEN = `select p.provider_transaction_id as key, r.slug, c.status, c.review_reason as reason,
  max(c.created_at, c.seen_at) as at
  from commissions c join partners r on r.id = c.partner_id join payments p on p.id = c.payment_id
  where c.status in ('pending', 'approved') and c.payout_id is null and c.kind = 'sale'`;

interface Open {
  key: string;
  slug: string;
  status: string;
  reason: string | null;
  at: string;
}

const entryOf = ({ slug, currency, amount }: Sum) => [`${slug} ${currency}`, amount] as const;

interface CurrencyStats {
  currency: string;
  total_earned_cents: number;
}

/** The partners' earnings by the API. */
async function statistics(world: StoryWorld): Promise<Sums> {
  const { data } = await world.ask("GET", "/api/v1/partners?per_page=100");
  const parts: [string, number][] = [];
  for (const { id, slug } of data as { id: string; slug: string }[]) {
    const { stats } = await world.ask("GET", `/api/v1/partners/${id}`);
    const { total_earned_cents, other_currencies } = stats as CurrencyStats & { other_currencies: CurrencyStats[] };
    parts.push([`${slug} USD`, total_earned_cents]);
    for (const one of other_currencies) parts.push([`${slug} ${one.currency}`, one.total_earned_cents]);
  }
  return sums(parts);
}

/** Findings of the service's own check (LAW-11), of everything. */
async function reconciled(world: StoryWorld): Promise<string[]> {
  const found: string[] = [];
  for (let next: string | null = null, calls = 0; calls === 0 || next !== null; calls++) {
    const reply = await world.ask("POST", "/admin/reconcile", next === null ? {} : { next }, ADMIN_TOKEN);
    found.push(...(reply["differences"] as object[]).map((one) => `reconciler: ${JSON.stringify(one)}`));
    next = reply["next"] as string | null;
  }
  return found;
}

/** Sales, revenue and earnings of each partner's code. */
function codesCompared(paid: ReadonlyMap<string, Paid>, found: readonly CodeSums[]): string[] {
  const parts = [...paid.values()].flatMap(({ code, provider, partner, currency, revenue, amount }) => {
    const name = `${partner} ${code?.toUpperCase()} of ${provider} ${currency}`;
    return code === null ? [] : partsOf(name, { sales: 1, revenue, earned: amount ?? 0 });
  });
  const kept = found.flatMap(({ slug, code, provider, currency, ...rest }) =>
    partsOf(`${slug} ${code.toUpperCase()} of ${provider} ${currency}`, rest),
  );
  return compared("by code", sums(parts), sums(kept));
}

const partsOf = (name: string, sums: Pick<CodeSums, "sales" | "revenue" | "earned">) =>
  (["sales", "revenue", "earned"] as const).map((what) => [`${name}: ${what}`, sums[what]] as const);

/** Sales and revenue of each partner, and the same revenue in the sums by day. */
function salesCompared(paid: ReadonlyMap<string, Paid>, kept: readonly SaleSums[], daily: readonly SaleSums[]) {
  const sold = [...paid.values()].filter(({ outcome }) => outcome === "commission");
  const count = sold.map(({ partner, currency }) => [`${partner} ${currency}`, 1] as const);
  const revenue = sums(sold.map((one) => [`${one.partner} ${one.currency}`, one.revenue] as const));
  const revenueOf = (rows: readonly SaleSums[]) =>
    sums(rows.map((row) => [`${row.slug} ${row.currency}`, row.revenue]));
  return [
    ...compared("sales", sums(count), sums(kept.map(({ slug, currency, sales }) => [`${slug} ${currency}`, sales]))),
    ...compared("revenue", revenue, revenueOf(kept)),
    ...compared("revenue by day", revenue, revenueOf(daily)),
  ];
}

/** The reason that holds each sale outside of payouts, or that it approves itself in time. */
function stateCompared(
  paid: ReadonlyMap<string, Paid>,
  open: readonly Open[],
  own: (key: string) => string,
  approved_until: string,
): string[] {
  const named = open.map((row) => [`${own(row.key)} ${row.slug}`, row] as const);
  const wanted = named.map(([name, { key, at }]) => {
    const reason = paid.get(own(key))?.reason ?? null;
    return [name, reason ?? (at <= approved_until ? "approved" : "pending")] as const;
  });
  const found = named.map(([name, { reason, status }]) => [name, reason ?? status] as const);
  return compared("state", new Map(wanted), new Map(found));
}

/** Sums by the texts of their keys, without those that are zero. */
function sums(parts: readonly (readonly [string, number])[]): Sums {
  const all: Sums = new Map();
  for (const [key, amount] of parts) all.set(key, (all.get(key) ?? 0) + amount);
  return new Map([...all].filter(([, amount]) => amount !== 0));
}

function compared<T extends string | number>(
  what: string,
  expected: ReadonlyMap<string, T>,
  found: ReadonlyMap<string, T>,
): string[] {
  return [...new Set([...expected.keys(), ...found.keys()])]
    .filter((key) => expected.get(key) !== found.get(key))
    .toSorted()
    .map((key) => `${what} of ${key}: expected ${expected.get(key) ?? "none"}, found ${found.get(key) ?? "none"}`);
}
