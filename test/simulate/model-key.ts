/** Short texts by which states of the model are distinguished. */
import type { Change, Flow, Judgement, Sale, State } from "./model.ts";

/** The same for states that differ in nothing but moments within one step, and the order of what is distinguished. */
export function keyOf(state: State): string {
  const { pct, attribution, partners, flows, auto_approve_days, min_payout_cents, months, ended, erased } = state;
  const all = [
    numberOf(
      JSON.stringify([pct, attribution, partners, auto_approve_days, min_payout_cents, months, erased.customers]),
    ),
    ...flows.map(numberOfObject),
    numberOfList(ended, numberOf),
    numberOfList(state.learned, numberOf),
    // What an import may have stored shows only with a later payment.
    once(state.remembered, JSON.stringify),
    // Two changes of one moment are distinguished only where they change the same.
    numberOfList(state.changes, numberOfObject),
  ];
  for (const [key, sale] of Object.entries(state.sales)) all.push(numberOf(key), numberOfObject(sale));
  for (const { slug, currency, amount, status } of state.payouts) {
    all.push(numberOf(`${slug} ${currency} ${amount} ${status}`));
  }
  for (const [key, judgement] of Object.entries(state.judgements)) all.push(numberOf(key), numberOfObject(judgement));
  // Rows are one set, in whatever order they were made.
  const rows = state.rows.map(({ kind, slug, sale, currency, status, amount, payout, reasons, dismissed }) =>
    numberOf(`${kind} ${slug} ${sale} ${currency} ${status} ${amount} ${payout} ${reasons.join()} ${dismissed.join()}`),
  );
  return `${all.join()}|${rows.toSorted((one, other) => one - other).join()}`;
}

/** Equal texts have one number, so that keys are short. */
const numbers = new Map<string, number>();
const numbered = new WeakMap<object, number>();

function numberOf(text: string): number {
  let number = numbers.get(text);
  if (number === undefined) numbers.set(text, (number = numbers.size));
  return number;
}

/** Of what is replaced and never changed, once. */
function once<One extends object>(one: One, textOf: (one: One) => string): number {
  let number = numbered.get(one);
  if (number === undefined) numbered.set(one, (number = numberOf(textOf(one))));
  return number;
}

/** By all but ids and the moment to the second. */
function numberOfObject(one: Change | Flow | Sale | Judgement): number {
  return once(one, () =>
    JSON.stringify(one, (name, value: unknown) => {
      if (name === "id") return undefined;
      return (name === "at" || name === "approved") && typeof value === "number" ? Math.floor(value / 1_000) : value;
    }),
  );
}

/** The same in whatever order. */
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
