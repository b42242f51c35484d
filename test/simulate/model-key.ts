/** Short texts by which states of the model are distinguished. */
import type { Flow } from "./model-flows.ts";
import type { Change, Judgement, Row, Sale, State } from "./model-state.ts";

const keys = new WeakMap<State, string>();

/**
 * The same for states that differ in nothing but moments within one step, and the order of what is distinguished. A state
 * keeps its key: what changes one afterwards calls `forgetKey`.
 */
export function keyOf(state: State): string {
  let key = keys.get(state);
  if (key === undefined) keys.set(state, (key = composed(state)));
  return key;
}

export function forgetKey(state: State): void {
  keys.delete(state);
}

function composed(state: State): string {
  const { pct, attribution, partners, groups, flows, auto_approve_days, min_payout_cents, months, ended, erased } =
    state;
  const all: unknown[] = [
    ...[state.payout_currency, state.rates?.of.base, Math.floor((state.rates?.at ?? 0) / 1_000)],
    ...[pct, attribution, auto_approve_days, min_payout_cents, state.default_group],
    ...[partners, groups, months].map((one) => once(one, JSON.stringify)),
    numberOfList(erased.customers, numberOf),
    ...flows.map(numberOfObject),
    numberOfList(ended, numberOf),
    numberOfList(state.learned, numberOf),
    // A possible import shows only with a later payment.
    numberOfList(state.remembered, (one) => once(one, JSON.stringify)),
    // Two changes of one moment are only distinguished if they change the same.
    numberOfList(state.changes, numberOfObject),
  ];
  for (const [key, sale] of Object.entries(state.sales)) all.push(numberOf(key), numberOfObject(sale));
  for (const { slug, currency, amount, status, period_end } of state.payouts) {
    all.push(numberOf(slug), numberOf(currency), amount, numberOf(status), Math.floor(period_end / 1_000));
  }
  for (const { currency, status, items } of state.files) {
    all.push(numberOf(currency), numberOf(status));
    for (const item of items) all.push(item.payout, numberOf(item.status));
  }
  for (const [slug, until] of Object.entries(state.held)) all.push(numberOf(slug), Math.floor(until / 1_000));
  for (const [key, judgement] of Object.entries(state.judgements)) all.push(numberOf(key), numberOfObject(judgement));
  // Rows are one set, in any order.
  return `${all.join()}|${state.rows
    .map(numberOfRow)
    .toSorted((one, other) => one - other)
    .join()}`;
}

function numberOfRow({ kind, slug, sale, currency, status, amount, payout, reasons, dismissed, until }: Row): number {
  let number = numberOf(kind);
  for (const part of [slug, sale, currency, status, amount, payout, until && "held"])
    number = numberOfPair(number, numberOf(part));
  for (const texts of [reasons, dismissed]) number = numberOfPair(number, once(texts, String));
  return number;
}

/** Equal values have one number, so that keys are short. */
const numbers = new Map<string | number | null, number>();
const pairs = new Map<number, number>();
const numbered = new WeakMap<object, number>();

function numberOf(value: string | number | null): number {
  let number = numbers.get(value);
  if (number === undefined) numbers.set(value, (number = numbers.size));
  return number;
}

/** There are fewer than 2^26 numbers of either kind. */
function numberOfPair(one: number, other: number): number {
  const pair = one * 2 ** 26 + other;
  let number = pairs.get(pair);
  if (number === undefined) pairs.set(pair, (number = pairs.size));
  return number;
}

/** Replaced but never changed objects, once. */
function once<One extends object>(one: One, textOf: (one: One) => string): number {
  let number = numbered.get(one);
  if (number === undefined) numbered.set(one, (number = numberOf(textOf(one))));
  return number;
}

/** Compared by all but ids and the moment, to the second. */
function numberOfObject(one: Change | Flow | Sale | Judgement): number {
  return once(one, () =>
    JSON.stringify(one, (name, value: unknown) => {
      if (name === "id") return undefined;
      return (name === "at" || name === "seen" || name === "approved") && typeof value === "number"
        ? Math.floor(value / 1_000)
        : value;
    }),
  );
}

/** The same in any order. */
function numberOfList<One>(list: readonly One[], number: (one: One) => number): number {
  return once(
    list,
    () =>
      `list ${list
        .map(number)
        .toSorted((one, other) => one - other)
        .join()}`,
  );
}
