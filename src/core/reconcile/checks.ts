/** The checks of the reconciler that one statement makes, each exact at one instant (`core/reconcile/reconcile.ts`). */
import { sql, type SQL } from "drizzle-orm";
import { literal, literals } from "../../db/client.ts";
import { amount, nullable, selectRows, text, textOf, whole, type Columns } from "../../db/rows.ts";
import { convert, type SourceAmount } from "../../domain/exchange.ts";
import { NOTHING, sumWithin, type Cents } from "../../domain/money.ts";
import { hasReleased, RELEASED, type PayoutStatus } from "../../domain/payout.ts";
import type { Check, Difference, Figures } from "../../domain/reconciliation.ts";
import { firstIdAt } from "../../lib/id.ts";
import { MINUTE } from "../../lib/time.ts";
import type { ProgramCtx } from "../kernel/context.ts";
import type { Payout } from "../kernel/rows.ts";
import { parseSources } from "../payouts/exchange.ts";
import { ACCOUNT, COUNTED_IN } from "../ledger/journal.ts";

/** A partner with more entries is checked in slices (`core/reconcile/walk.ts`). */
export const ENTRIES_AT_ONCE = 500;
/** The most by which entries are later than the payout of a request that took long, or whose clock is behind. */
const ENTERED_WITHIN = 10 * MINUTE;

/** Both accounts of an entry `e`, the one that it leaves with the amount negated. */
const SIDES = sql.raw("(select -1 as sign union all select 1) side");
const SIDE = sql.raw("iif(side.sign = 1, e.to_account, e.from_account)");

function listed(ids: readonly string[]): SQL {
  return sql`(select value from json_each(${JSON.stringify(ids)}))`;
}

interface JournalRow {
  subject: string;
  partner_id: string;
  currency: string;
  account: string;
  expected: Cents;
  found: Cents;
}

const JOURNAL_ROW: Columns<JournalRow> = {
  subject: text,
  partner_id: text,
  currency: text,
  account: text,
  expected: amount,
  found: amount,
};

/**
 * Commissions whose entries do not net to the row's amount in its account and to 0 elsewhere (0 everywhere if deleted).
 */
export function journalDifferences(ctx: ProgramCtx, ids: readonly string[]) {
  return selectRows(
    ctx.db,
    JOURNAL_ROW,
    sql`with differing as (
      select id as subject, partner_id, currency, ${ACCOUNT} as account, amount_cents as expected, 0 as found
      from commissions where id in ${listed(ids)} and +program_id = ${ctx.program.id}
      union all
      select e.commission_id, e.partner_id, e.currency, ${SIDE}, 0, side.sign * e.amount_cents
      from ${listed(ids)} chosen cross join entries e on e.commission_id = chosen.value cross join ${SIDES}
      where e.program_id = ${ctx.program.id})
    select subject, partner_id, currency, account, sum(expected) as expected, sum(found) as found
    from differing where account <> 'expense'
    group by 1, 2, 3, 4 having sum(expected - found) <> 0`,
  );
}

export function journalFindings(rows: readonly JournalRow[]): Difference[] {
  const name = (row: JournalRow) => `${row.partner_id} ${row.currency} ${row.account}`;
  return bySubject("journal", rows, (row) => ({
    expected: { [name(row)]: row.expected },
    found: { [name(row)]: row.found },
  }));
}

interface BalanceRow {
  /** Without a currency: a partner with too many entries for one statement, which was not compared. */
  subject: string;
  currency: string | null;
  account: string;
  kept: Cents;
  posted: Cents;
  kept_commissions: number;
  commissions: number;
  /** The kept and the counted number of entries. */
  kept_entries: number;
  entries: number;
}

const BALANCE_ROW: Columns<BalanceRow> = {
  subject: text,
  currency: nullable(text),
  account: text,
  kept: amount,
  posted: amount,
  kept_commissions: whole,
  commissions: whole,
  kept_entries: whole,
  entries: whole,
};

/** Balances that differ from the sum or number of entries or commissions; over `most` entries: listed, not compared. */
export function balanceDifferences(ctx: ProgramCtx, ids: readonly string[], most: number) {
  const program = ctx.program.id;
  const few = sql`(select partner_id from sized where size <= ${literal(most)})`;
  return selectRows(
    ctx.db,
    BALANCE_ROW,
    sql`with sized as materialized (
      select chosen.value as partner_id, (select count(*) from (select 1 from entries e
        where e.program_id = ${program} and e.partner_id = chosen.value limit ${literal(most + 1)})) as size
      from ${listed(ids)} chosen),
    differing as (
      select partner_id, currency, account, amount_cents as kept, 0 as posted,
        commissions as kept_commissions, 0 as commissions, entries as kept_entries, 0 as entries
      from balances where program_id = ${program} and partner_id in ${few}
      union all
      select e.partner_id, e.currency, ${SIDE}, 0, side.sign * e.amount_cents, 0, 0, 0, ${SIDE} = ${COUNTED_IN}
      from ${few} p cross join entries e on e.program_id = ${program} and e.partner_id = p.partner_id cross join ${SIDES}
      union all
      select partner_id, currency, ${ACCOUNT}, 0, 0, 0, 1, 0, 0
      from commissions where partner_id in ${few} and +program_id = ${program})
    select partner_id as subject, currency, account, sum(kept) as kept, sum(posted) as posted,
      sum(kept_commissions) as kept_commissions, sum(commissions) as commissions,
      sum(kept_entries) as kept_entries, sum(entries) as entries
    from differing where account <> 'expense' group by 1, 2, 3
    having sum(kept - posted) <> 0 or sum(kept_commissions) <> sum(commissions) or sum(kept_entries) <> sum(entries)
    union all
    select partner_id, null, '', 0, 0, 0, 0, 0, 0 from sized where size > ${literal(most)}`,
  );
}

/** The program's own balances that differ from the sums of its partners'. */
export function programBalanceDifferences(ctx: ProgramCtx, isAsked: boolean) {
  const own = sql.raw("partner_id = ''");
  return selectRows(
    ctx.db,
    BALANCE_ROW,
    sql`select ${ctx.program.id} as subject, currency, account,
      sum(iif(${own}, amount_cents, 0)) as kept, sum(iif(${own}, 0, amount_cents)) as posted,
      sum(iif(${own}, commissions, 0)) as kept_commissions, sum(iif(${own}, 0, commissions)) as commissions,
      0 as kept_entries, 0 as entries
    from balances where ${literal(isAsked ? 1 : 0)} and program_id = ${ctx.program.id} group by 2, 3
    having sum(iif(${own}, amount_cents, -amount_cents)) <> 0
      or sum(iif(${own}, commissions, -commissions)) <> 0`,
  );
}

export function balanceFindings(rows: readonly BalanceRow[]): Difference[] {
  const compared = rows.filter(({ currency }) => currency !== null);
  return bySubject("balance", compared, (row) => {
    const name = `${row.currency} ${row.account}`;
    const entries = (count: number) => (row.entries === row.kept_entries ? {} : { entries: count });
    return {
      expected: { [name]: { amount_cents: row.posted, commissions: row.commissions, ...entries(row.entries) } },
      found: { [name]: { amount_cents: row.kept, commissions: row.kept_commissions, ...entries(row.kept_entries) } },
    };
  });
}

/** The partners that were not compared, in the order of their ids. */
export function uncomparedPartners(rows: readonly BalanceRow[]): string[] {
  return rows
    .filter(({ currency }) => currency === null)
    .map(({ subject }) => subject)
    .toSorted();
}

interface PayoutSums extends Pick<Payout, "id" | "status" | "commission_count" | "amount_cents" | "currency"> {
  source_amounts: string | null;
  commissions: number;
  /** The sums of its commissions and of its entries by currency, as JSON objects. */
  summed: string;
  entered: string;
  /** The payout's commissions whose status does not match the payout's status. */
  other_status: number;
}

const PAYOUT_SUMS: Columns<PayoutSums> = {
  id: text,
  status: textOf<PayoutStatus>(),
  commission_count: whole,
  amount_cents: amount,
  currency: text,
  source_amounts: nullable(text),
  commissions: whole,
  summed: text,
  entered: text,
  other_status: whole,
};

/**
 * Reads these payouts and the sums of their commissions and entries. Entries have no index by payout. The entries of a
 * payout are found by its commissions. A canceled or returned payout has no commissions: its entries are found among the partner's
 * entries of its time, unless these are too many for one statement. Then the checks of each commission and of the
 * partner's balance cover the same entries.
 */
export function payoutSums(ctx: ProgramCtx, rows: readonly Payout[]) {
  const spans = rows.map(({ id, status, created_at, updated_at }) => ({
    id,
    from: hasReleased(status) ? firstIdAt("entry", Date.parse(created_at)) : "",
    before: hasReleased(status) ? firstIdAt("entry", Date.parse(updated_at) + ENTERED_WITHIN) : "",
  }));
  const entered = sql`iif(e.to_account in ('in_payout', 'paid'), e.amount_cents, 0)
    - iif(e.from_account in ('in_payout', 'paid'), e.amount_cents, 0)`;
  const own = sql`from commissions c where c.payout_id = p.id`;
  const inSpan = sql`select ${entered} as amount_cents, e.currency as currency, e.payout_id as payout_id from entries e
    where e.program_id = p.program_id and e.partner_id = p.partner_id
      and e.id >= s.value ->> 'from' and e.id < s.value ->> 'before' limit ${literal(ENTRIES_AT_ONCE)}`;
  return selectRows(
    ctx.db,
    PAYOUT_SUMS,
    sql`select p.id as id, p.status as status, p.amount_cents as amount_cents, p.currency as currency,
      p.source_amounts as source_amounts, p.commission_count as commission_count,
      (select count(*) ${own}) as commissions,
      (select json_group_object(currency, cents) from (
        select c.currency as currency, sum(c.amount_cents) as cents ${own} group by 1)) as summed,
      (select count(*) ${own} and c.status <> iif(p.status = 'paid', 'paid', 'approved')) as other_status,
      iif(p.status in ${literals(RELEASED)},
        (select json_group_object(currency, cents) from (
          select currency, sum(iif(payout_id = p.id, amount_cents, 0)) as cents, sum(count(*)) over () as n
          from (${inSpan}) group by 1) where n < ${literal(ENTRIES_AT_ONCE)}),
        (select json_group_object(currency, cents) from (
          select e.currency as currency, sum(${entered}) as cents
          from commissions c cross join entries e on e.commission_id = c.id
          where c.payout_id = p.id and e.payout_id = c.payout_id group by 1))) as entered
    from json_each(${JSON.stringify(spans)}) s cross join payouts p on p.id = s.value ->> 'id'`,
  );
}

/**
 * A payout's amount equals the sum of its commissions and of its entries; one that has released them has neither. If they
 * were converted, that holds for each currency, and the amount equals the sum of the conversions.
 */
export function payoutFindings(rows: readonly PayoutSums[]): Difference[] {
  return rows.flatMap((row) => {
    const isReleased = hasReleased(row.status);
    const sources = parseSources(row.source_amounts);
    const earned = sources?.map(({ currency, amount_cents }) => [currency, amount_cents] as const);
    const sums = isReleased ? [] : (earned ?? [[row.currency, row.amount_cents] as const]);
    const summed = inEach(row, sums, row.summed, "amount_cents");
    const entered = inEach(row, sums, row.entered, "entered_cents");
    const converted = conversions(row, sources);
    const [commission_count, commissions] = [isReleased ? 0 : row.commission_count, row.commissions];
    const expected = {
      ...summed.expected,
      commission_count,
      other_status: 0,
      ...entered.expected,
      ...converted.expected,
    };
    const found = {
      ...summed.found,
      ...{ commission_count: commissions, other_status: row.other_status },
      ...entered.found,
      ...converted.found,
    };
    if (JSON.stringify(expected) === JSON.stringify(found)) return [];
    return [{ check: "payout", subject: row.id, expected, found }];
  });
}

/** The sums of a payout by currency: of one as earned under the plain name, of others after their currency. */
function inEach(
  { currency: own, source_amounts }: PayoutSums,
  sums: readonly (readonly [string, Cents])[],
  json: string,
  name: string,
): { expected: Figures; found: Figures } {
  const [expected, found] = [new Map<string, unknown>(sums), new Map(Object.entries(JSON.parse(json) as Figures))];
  const plain = source_amounts === null ? [own] : [];
  const currencies = [...new Set([...plain, ...expected.keys(), ...found.keys()])].toSorted();
  const figures = (of: ReadonlyMap<string, unknown>): Figures =>
    Object.fromEntries(
      currencies.map((code) => [plain.includes(code) ? name : `${code} ${name}`, of.get(code) ?? NOTHING]),
    );
  return { expected: figures(expected), found: figures(found) };
}

/** Compares the stored conversions with those computed again; a payout as earned has an empty result. */
function conversions(
  { currency: to, amount_cents }: PayoutSums,
  sources: readonly SourceAmount[] | null,
): { expected: Figures; found: Figures } {
  if (sources === null) return { expected: {}, found: {} };
  const name = (code: string) => `${code} converted_cents`;
  return {
    expected: {
      amount_cents,
      ...Object.fromEntries(sources.map(({ currency, converted_cents }) => [name(currency), converted_cents])),
    },
    found: {
      amount_cents: sumWithin(sources.map(({ converted_cents }) => converted_cents)),
      ...Object.fromEntries(
        sources.map((part) => [name(part.currency), convert(part.amount_cents, part.rate, part.currency, to)]),
      ),
    },
  };
}

/** One difference for each subject, with the figures of all its rows in the order of their names. */
function bySubject<Row extends { subject: string }>(
  check: Check,
  rows: readonly Row[],
  figuresOf: (row: Row) => { expected: Figures; found: Figures },
): Difference[] {
  return [...Map.groupBy(rows, ({ subject }) => subject)].map(([subject, own]) => {
    const all = own.map(figuresOf);
    return {
      check,
      subject,
      expected: sorted(all.map(({ expected }) => expected)),
      found: sorted(all.map(({ found }) => found)),
    };
  });
}

function sorted(figures: readonly Figures[]): Figures {
  const entries = figures.flatMap((one) => Object.entries(one));
  return Object.fromEntries(entries.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
