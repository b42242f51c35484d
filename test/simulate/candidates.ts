/** The possible states of the model after a step: every outcome that the rules allow for the answers. */
import { isByTransfer, putPayout, type Beside } from "./model-payouts.ts";
import { keyOf } from "./model-key.ts";
import { settle } from "./model.ts";
import type { Operation } from "./operation.ts";
import { MINUTES } from "./operations.ts";
import type { Reply } from "./deployment.ts";
import { copyOf, type State } from "./model-state.ts";

/** A forbidden observation. */
export class Wrong extends Error {
  readonly problems: string[];

  constructor(problems: string[]) {
    super(problems[0] ?? "nothing");
    this.problems = problems;
  }
}

/** A possible state of the model, and the operations of the step that it includes. */
export interface Candidate {
  state: State;
  applied: Operation[];
}

const ALONE: Beside = { without: [], before: null };

/** A copy of the state with the effect; null if the rules refuse it. */
function changed(
  state: State,
  effect: Operation["effects"][number],
  now: number,
  beside: Beside = ALONE,
): State | null {
  const copy = copyOf(state);
  return effect(copy, now, beside) === false ? null : copy;
}

/**
 * The states, and those in which a payout under way that holds a row of what changes has ended already: a cron may learn
 * it from the vendor before the change is settled. What has not ended by then drops out of the comparison.
 */
export function withPayoutsEnded(states: readonly State[], operations: readonly Operation[], now: number): State[] {
  const changing = new Set(operations.flatMap(({ sales }) => sales));
  return states.flatMap((state) => {
    const ending = [...state.payouts.entries()].flatMap(([index, { status, slug }]) =>
      status === "processing" &&
      isByTransfer(slug) &&
      state.rows.some((row) => row.payout === index && changing.has(row.sale))
        ? [index]
        : [],
    );
    if (ending.length === 0) return [state];
    const ended = (["paid", "failed"] as const).map((status) => {
      const copy = copyOf(state);
      for (const index of ending) putPayout(copy, index, status, now);
      return copy;
    });
    return [state, ...ended];
  });
}

/**
 * Every state that the answers allow: operations in each order. A successful one is included, a refused one has no
 * effect, and a failed one may have either.
 */
export function candidatesAfter(
  states: readonly State[],
  operations: readonly Operation[],
  replies: readonly Reply[],
  hasFailed: boolean,
  now: number,
): Candidate[] {
  const found: Candidate[] = [];
  const isAlone = operations.length === 1;
  for (const order of ordersOf([...operations.keys()])) {
    // Requests that begin at one moment have one time; else the second is later, which matters to dates before.
    for (const tick of operations.some(({ generates }) => generates) && !isAlone ? [0, 1] : [0]) {
      for (const before of states) {
        let candidates: Candidate[] = [{ state: before, applied: [] }];
        for (const [place, i] of order.entries()) {
          const beside = operations.filter((_, other) => other !== i);
          const others = beside.flatMap(({ sales }) => sales);
          const meets = others.length > 0 || beside.some(({ generates }) => generates);
          const at = { before, hasFailed, others, meets, now: now + place * tick };
          candidates = distinctly(candidates.flatMap((one) => afterOne(one, operations[i]!, replies[i]!, at)));
        }
        found.push(...candidates);
      }
    }
  }
  return found;
}

/**
 * Crons alone, at the end. The last change may not be settled when they generate or approve, and they may be the ones
 * to finish a failure.
 */
export function afterCrons(
  candidates: readonly Candidate[],
  now: number,
  operations: readonly Operation[],
  replies: readonly Reply[],
): Candidate[] {
  const others = [[], ...withoutSome(operations.flatMap(({ sales }) => sales))];
  const late = operations.filter((_, i) => replies[i]!.status >= 500);
  const after = distinctly(
    candidates.flatMap(({ state, applied }) =>
      MINUTES.flatMap((effect) => {
        const whole = changed(state, effect, now);
        // Without effect with all of them means without effect with some.
        if (!whole || keyOf(whole) === keyOf(state)) return [{ state, applied }];
        return others.flatMap((without) => {
          const done = without.length > 0 ? changed(state, effect, now, { without, before: null }) : whole;
          return done ? [{ state: done, applied }] : [];
        });
      }),
    ),
  );
  return late.reduce((found, operation) => {
    const finished = found.flatMap((one) => [
      ...finish(one, operation, now),
      ...fetchedAfter(one, operation, now, MINUTES),
    ]);
    return distinctly([...found, ...finished]);
  }, after);
}

/**
 * A broken event has stored its payment, and a cron has approved and paid out its commission; events waiting at another
 * program are fetched when it comes again (IN-13).
 */
function fetchedAfter({ state, applied }: Candidate, operation: Operation, now: number, minutes: Operation["effects"]) {
  const { insists, arrived, sales, effects } = operation;
  if (!insists || !arrived || applied.includes(operation)) return [];
  return withoutSome(mayWait(state, sales)).flatMap((waiting) =>
    effects.flatMap((effect) =>
      minutes.map((minute): Candidate => {
        const copy = withoutWaiting(state, sales, waiting);
        for (const change of [effect, minute]) change(copy, now, ALONE);
        fetchInto(copy, state, sales, now);
        return { state: copy, applied: [...applied, operation] };
      }),
    ),
  );
}

/** Facts that may wait elsewhere for payments: adjustments, and ends of subscriptions. */
function mayWait({ purchases, ended }: State, sales: readonly string[]): string[] {
  const said = sales.flatMap((key) => purchases[key] ?? []);
  const subscriptions = new Set(said.map(({ provider, subscription }) => `${provider} ${subscription}`));
  return [
    ...said.flatMap(({ adjustments }) => adjustments.map(({ id }) => id)),
    ...ended.filter((one) => subscriptions.has(one)),
  ];
}

function withoutWaiting(state: State, sales: readonly string[], waiting: readonly string[]): State {
  const copy = copyOf(state);
  copy.ended = state.ended.filter((one) => !waiting.includes(one));
  for (const key of sales) {
    const purchase = state.purchases[key];
    if (!purchase) continue;
    const adjustments = purchase.adjustments.filter(({ id }) => !waiting.includes(id));
    copy.purchases[key] = { ...purchase, adjustments };
  }
  return copy;
}

function fetchInto(copy: State, { ended, purchases }: State, sales: readonly string[], now: number): void {
  copy.ended = ended;
  for (const key of sales) {
    const [purchase, known] = [copy.purchases[key], purchases[key]];
    if (purchase && known) copy.purchases[key] = { ...purchase, adjustments: known.adjustments };
    settle(copy, key, now);
  }
}

/** The operation, if it was not carried out yet. */
export function finish({ state, applied }: Candidate, operation: Operation, now: number): Candidate[] {
  if (applied.includes(operation)) return [];
  return operation.effects.flatMap((effect) => {
    const after = changed(state, effect, now);
    return after ? [{ state: after, applied: [...applied, operation] }] : [];
  });
}

/**
 * Purchases that a job may find unsettled among concurrent changes: any subset of few. Of many one or two, or the
 * unsettled rest, which go one after the other.
 */
function withoutSome(changing: readonly string[]): string[][] {
  const others = [...new Set(changing)];
  if (others.length > 6) {
    return others.flatMap((one, i) => [others.slice(i), [one], ...others.slice(0, i).map((other) => [other, one])]);
  }
  return others.reduce<string[][]>((sets, one) => [...sets, ...sets.map((set) => [...set, one])], [[]]).slice(1);
}

function ordersOf(all: readonly number[]): number[][] {
  if (all.length < 2) return [[...all]];
  return all.flatMap((one) => ordersOf(all.filter((other) => other !== one)).map((rest) => [one, ...rest]));
}

interface Circumstances {
  /** The state in which the step began. */
  before: State;
  hasFailed: boolean;
  others: string[];
  /** Whether its subject may have changed meanwhile: then it may be refused as well. */
  meets: boolean;
  now: number;
}

function afterOne(candidate: Candidate, operation: Operation, reply: Reply, at: Circumstances): Candidate[] {
  const { status } = reply;
  const { text, effects, arrived, generates } = operation;
  if (status >= 500 && !at.hasFailed) throw new Wrong([`${text}: ${status} ${JSON.stringify(reply.body)}`]);
  const isExpected =
    status < 300 || status >= 500 || (!arrived && (status === 409 || status === 404 || status === 422));
  if (!isExpected) throw new Wrong([`${text}: ${status} ${JSON.stringify(reply.body)}`]);
  const isBeside = generates && (at.others.length > 0 || candidate.applied.length > 0);
  const others = isBeside
    ? [
        ALONE,
        ...withoutSome(at.others).map((without) => ({ without, before: null })),
        { without: [], before: at.before },
        { without: [], before: at.before, isRange: true },
      ]
    : [ALONE];
  const done = effects.flatMap((effect) => others.map((beside) => changed(candidate.state, effect, at.now, beside)));
  const applied = done.flatMap((state) => (state ? [{ state, applied: [...candidate.applied, operation] }] : []));
  const isCron = operation.text.startsWith("cron ");
  if (status < 300) return isCron && at.hasFailed ? [...applied, candidate] : applied;
  if (status >= 500) return [...applied, candidate];
  return applied.length === 0 || at.meets ? [candidate] : [];
}

export function distinct(states: readonly State[]): State[] {
  if (states.length < 2) return [...states];
  return [...new Map(states.map((state) => [keyOf(state), state])).values()];
}

function distinctly(candidates: readonly Candidate[]): Candidate[] {
  if (candidates.length < 2) return [...candidates];
  const key = ({ state, applied }: Candidate) =>
    `${applied
      .map(({ text }) => text)
      .toSorted()
      .join()} ${keyOf(state)}`;
  return [...new Map(candidates.map((one) => [key(one), one])).values()];
}
