/** Payouts in the model: the rows of a generation, and the effect of a payout's moves on its commissions. */
import { settle, sum } from "./model.ts";
import type { Payout, Row, State } from "./model-state.ts";

const DAY = 86_400_000;

/** Operations beside a generation. */
export interface Beside {
  /** Purchases that are being changed: they wait for the next run. */
  without: readonly string[];
  /** The run chose the partners before the rest happened: it pays no others. */
  before: State | null;
  /** It only chose the range of partners: it pays those of them with due rows by now. */
  isRange?: boolean;
}

export interface Generating {
  now: number;
  period_end: number;
  /** Commissions that a since canceled payout may have held are left out. */
  isSparing?: true;
  beside?: Beside | undefined;
}

/** "A commission belongs to the period of its payment", and so do later grants for it. */
function isBefore({ rows }: State, row: Row, period_end: number): boolean {
  const sale = rows.find(({ kind, slug, sale: of }) => kind === "sale" && slug === row.slug && of === row.sale);
  return (
    row.created < period_end ||
    (row.kind === "clawback" && row.amount > 0 && sale !== undefined && sale.created < period_end)
  );
}

/** The rows of a generation: due and undisputed. */
function payable(state: State, input: Generating): Row[] {
  return due(state, input).filter((row) => row.reasons[0] !== "disputed");
}

/** Approved, in no payout, of the time before the end or owed back. */
function due(state: State, { period_end, isSparing, beside }: Generating): Row[] {
  const isSpared = (row: Row) =>
    state.payouts.some(
      (one) =>
        one.slug === row.slug &&
        one.currency === row.currency &&
        isReleased(one.status) &&
        one.changed >= period_end &&
        row.amount >= 0 &&
        isBefore(state, row, one.period_end),
    );
  return state.rows.filter(
    (row) =>
      row.status === "approved" &&
      row.payout === null &&
      (row.amount < 0 || isBefore(state, row, period_end)) &&
      !beside?.without.includes(row.sale) &&
      !(isSparing && isSpared(row)),
  );
}

/** Payouts of each partner's payable sum by currency, if it is positive and not below the minimum. */
export function generate(state: State, input: Generating): void {
  const isSeen = seenBy(state, input);
  for (const rows of groupsToPay(state, input)) {
    if (!isSeen(rows)) continue;
    const { slug, currency } = rows[0]!;
    for (const row of rows) row.payout = state.payouts.length;
    state.payouts.push({
      slug,
      currency,
      amount: sum(rows),
      count: rows.length,
      status: "pending",
      period_end: input.period_end,
      changed: input.now,
    });
  }
}

/** Whether the run pays a group of rows, by its view before the rest happened. Partners go by age. */
function seenBy({ partners }: State, input: Generating): (rows: readonly Row[]) => boolean {
  const { before = null, isRange = false } = input.beside ?? {};
  if (!before) return () => true;
  const alone = { ...input, beside: undefined };
  const seen = new Set(groupsToPay(before, alone).map(nameOf));
  if (!isRange) return (rows) => seen.has(nameOf(rows));
  const slugs = Object.keys(partners);
  const upto = Math.max(-1, ...payable(before, alone).map(({ slug }) => slugs.indexOf(slug)));
  return ([row]) => slugs.indexOf(row!.slug) <= upto;
}

function groupsToPay(state: State, input: Generating): Row[][] {
  const groups = Map.groupBy(payable(state, input), (row) => nameOf([row]));
  return [...groups.values()].filter((rows) => {
    const amount = sum(rows);
    return (
      amount > 0 && amount >= leastIn(state, rows[0]!.currency) && state.partners[rows[0]!.slug]!.status !== "invited"
    );
  });
}

/** The same number of major units as in US dollars. */
function leastIn({ min_payout_cents }: State, currency: string): number {
  return currency.toUpperCase() === "JPY" ? Math.round(min_payout_cents / 100) : min_payout_cents;
}

function nameOf([row]: readonly Row[]): string {
  return `${row!.slug} ${row!.currency}`;
}

/** The past calendar month (OUT-3), once, if a row was approved by the end of the first, or is due by time. */
export function generateMonth(state: State, now: number, beside: Beside): void {
  const date = new Date(now);
  const period_end = Date.UTC(date.getUTCFullYear(), date.getUTCMonth());
  const input = { now, period_end, isSparing: true as const, beside };
  const { auto_approve_days: days } = state;
  const isOld = ({ until, reasons }: Row) =>
    days !== null && reasons.length === 0 && until !== null && until < period_end + DAY;
  const isInTime = (row: Row) =>
    row.amount > 0 &&
    isBefore(state, row, period_end) &&
    ((row.approved ?? row.created) < period_end + DAY || isOld(row));
  // A started run is done, even if its rows are canceled meanwhile.
  const isDue = [state, ...(beside.before ? [beside.before] : [])].some((one) => due(one, input).some(isInTime));
  if (!isDue || state.months.includes(period_end)) return;
  state.months = [...state.months, period_end];
  generate(state, input);
}

const MOVES: Record<string, Payout["status"][]> = {
  canceled: ["pending", "failed"],
  paid: ["pending"],
  processing: ["pending", "failed"],
  returned: ["paid"],
};

export function isReleased(status: Payout["status"]): boolean {
  return status === "canceled" || status === "returned";
}

/** A payout canceled, paid by hand, started, or returned; false if the rules refuse it. */
export function movePayout(
  state: State,
  index: number,
  to: "canceled" | "paid" | "processing" | "returned",
  now: number,
): boolean {
  if (!MOVES[to]!.includes(state.payouts[index]!.status)) return false;
  putPayout(state, index, to, now);
  return true;
}

/** The same with the vendor's immediate answer: the next operation may find it failed or paid. */
export function payPayout(state: State, index: number, result: "failed" | "paid", now: number): boolean {
  const isBegun = movePayout(state, index, "processing", now);
  if (isBegun) putPayout(state, index, result, now);
  return isBegun;
}

/** The result of a payout, with its commissions: paid with it, or free again. */
export function putPayout(state: State, index: number, to: Payout["status"], now: number): void {
  const held = state.rows.filter((row) => row.payout === index);
  Object.assign(state.payouts[index]!, { status: to, changed: now });
  // Payment removes a commission's flags.
  if (to === "paid") for (const row of held) Object.assign(row, { status: "paid", reasons: [] });
  if (!isReleased(to)) return;
  for (const row of held) Object.assign(row, { status: "approved", payout: null });
  for (const key of new Set(held.map((row) => row.sale))) settle(state, key, now);
}
