/** Payouts in the model: the rows of a generation, and the effect of a payout's moves on its commissions. */
import { converted, rateOf, type SourcePart } from "./model-exchange.ts";
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
        (one.parts ?? [one]).some(({ currency }) => currency === row.currency) &&
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

/** The rows of a payout to be made. */
interface Group {
  slug: string;
  currency: string;
  amount: number;
  parts: SourcePart[] | null;
  rows: Row[];
}

/** Payouts of each partner's payable sum by currency, if it is positive and not below the minimum. */
export function generate(state: State, input: Generating): void {
  const isSeen = seenBy(state, input);
  for (const group of groupsToPay(state, input)) {
    if (!isSeen(group)) continue;
    const { rows, ...payout } = group;
    for (const row of rows) row.payout = state.payouts.length;
    state.payouts.push({
      ...payout,
      count: rows.length,
      status: "pending",
      period_end: input.period_end,
      changed: input.now,
    });
  }
}

/** Whether the run pays a group of rows, by its view before the rest happened. Partners go by age. */
function seenBy({ partners }: State, input: Generating): (group: Group) => boolean {
  const { before = null, isRange = false } = input.beside ?? {};
  if (!before) return () => true;
  const alone = { ...input, beside: undefined };
  const seen = new Set(groupsToPay(before, alone).map(nameOf));
  if (!isRange) return (group) => seen.has(nameOf(group));
  const slugs = Object.keys(partners);
  const upto = Math.max(-1, ...payable(before, alone).map(({ slug }) => slugs.indexOf(slug)));
  return ({ slug }) => slugs.indexOf(slug) <= upto;
}

function groupsToPay(state: State, input: Generating): Group[] {
  const { payout_currency: to } = state;
  const priced = payable(state, input).filter(
    ({ currency }) => to === null || rateOf(state, currency, input.now) !== null,
  );
  const groups = Map.groupBy(priced, ({ slug, currency }) => nameOf({ slug, currency: to ?? currency }));
  return [...groups.values()]
    .map((rows) => groupOf(state, rows, input.now))
    .filter(
      ({ slug, currency, amount }) =>
        amount > 0 && amount >= leastIn(state, currency) && state.partners[slug]!.status !== "invited",
    );
}

function groupOf(state: State, rows: Row[], now: number): Group {
  const [{ slug, currency: own }] = rows as [Row];
  const to = state.payout_currency ?? own;
  const parts = [...Map.groupBy(rows, ({ currency }) => currency)]
    .map(([currency, some]) => {
      const [amount, rate] = [sum(some), state.payout_currency === null ? "1" : rateOf(state, currency, now)!];
      return { currency, amount, rate, converted: converted(amount, rate, currency, to) };
    })
    .toSorted((one, other) => (one.currency < other.currency ? -1 : 1));
  const isPlain = parts.every(({ currency }) => currency === to);
  const amount = parts.reduce((total, part) => total + part.converted, 0);
  return { slug, currency: to, amount, parts: isPlain ? null : parts, rows };
}

/** The same number of major units as in US dollars. */
function leastIn({ min_payout_cents }: State, currency: string): number {
  return currency.toUpperCase() === "JPY" ? Math.round(min_payout_cents / 100) : min_payout_cents;
}

function nameOf({ slug, currency }: Pick<Group, "slug" | "currency">): string {
  return `${slug} ${currency}`;
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

const BY_TRANSFER: readonly string[] = ["ann", "bob"];

/** Whether a partner is paid by a transfer, and not by a file. */
export function isByTransfer(slug: string): boolean {
  return BY_TRANSFER.includes(slug);
}

/** Whether a partner has a hold of payouts in force. */
export function isHeld({ held }: State, slug: string, now: number): boolean {
  return (held[slug] ?? 0) > now;
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
  const { status, slug } = state.payouts[index]!;
  const isPaying = to === "paid" || to === "processing";
  if (!MOVES[to]!.includes(status) || (isPaying && isHeld(state, slug, now))) return false;
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
