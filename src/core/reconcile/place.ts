import { startWalk, type Walk } from "./walk.ts";

/** Tables whose rows a round goes through in the order of their ids. */
export const KINDS = ["commissions", "payments", "partners", "payouts"] as const;
export type Kind = (typeof KINDS)[number];

/** The reconciler's place in a program: for each kind the last id that it chose in turn. */
export interface Place extends Record<Kind, string> {
  /** The kinds with rows left in a round through the whole program. */
  left: Kind[];
  /** The number of rows of each kind still to be chosen in turn, in any other round. */
  due: Record<Kind, number>;
  walk: Walk | null;
}

/** Daily rounds that check every row of a program with some 290 payments. */
const TURNS = 29;
/** The least and the most rows that a round chooses in turn: a few hundred; larger programs need more rounds. */
const LEAST: Record<Kind, number> = { commissions: 10, payments: 1, partners: 1, payouts: 1 };
const MOST: Record<Kind, number> = { commissions: 20, payments: 10, partners: 10, payouts: 10 };
/** Payouts of one step, chosen in turn or touched by events: each costs a request to the vendor for its transfer. */
export const TRANSFERS_AT_ONCE = 3;
/** The most rows that one step chooses in turn. */
const AT_ONCE: Record<Kind, number> = { commissions: 100, payments: 9, partners: 10, payouts: TRANSFERS_AT_ONCE };

/** Sorts after every id. */
const END = "~";

export function placeAtStart(): Place {
  const due = ofKinds(() => 0);
  return { left: [...KINDS], commissions: "", payments: "", partners: "", payouts: "", due, walk: null };
}

/** Whether the round goes through the whole program. */
export function isWhole(place: Place): boolean {
  return place.left.length > 0;
}

/** The place at the beginning of a round; `size` is the number of the program's rows of a kind. */
export function placeOfRound(place: Place, size: (kind: Kind) => number): Place {
  if (isWhole(place)) return place;
  const due = (kind: Kind) => Math.min(Math.max(Math.ceil(size(kind) / TURNS), LEAST[kind]), MOST[kind]);
  return { ...place, due: ofKinds(due) };
}

/** Whether a round that does not cover the whole program has rows left to choose in turn. */
export function hasDue({ due }: Place): boolean {
  return KINDS.some((kind) => due[kind] > 0);
}

/** The number of rows of each kind that a step chooses in turn. */
export function partsOf(place: Place): Record<Kind, number> {
  return ofKinds((kind) => {
    if (isWhole(place)) return place.left.includes(kind) ? AT_ONCE[kind] : 0;
    return Math.min(place.due[kind], AT_ONCE[kind]);
  });
}

function ofKinds(of: (kind: Kind) => number): Record<Kind, number> {
  return {
    commissions: of("commissions"),
    payments: of("payments"),
    partners: of("partners"),
    payouts: of("payouts"),
  };
}

/** The rows that a step chose in turn, in the order of their ids. */
export type Turn = Record<Kind, string[]>;

/** Whether a step has reached the last row of a kind. */
export function hasPassed(place: Place, turn: Turn, kind: Kind): boolean {
  return place[kind] !== END && turn[kind].length < partsOf(place)[kind];
}

/**
 * The place after a step. `large` are the partners, in the order of their ids, with too many entries for the step: one
 * of them is walked at a time. A round through the whole program waits for the walk before it goes on to the next
 * partner; another round leaves the partners from there on to the next round.
 */
export function placeAfter(
  place: Place,
  turn: Turn,
  { walk, large }: { walk: Walk | null; large: readonly string[] },
): Place {
  const parts = partsOf(place);
  const due = ofKinds((kind) => Math.max(place.due[kind] - parts[kind], 0));
  const next: Place = { ...place, walk, left: [...place.left], due };
  for (const kind of KINDS) {
    if (parts[kind] === 0) continue;
    const isOver = turn[kind].length < parts[kind];
    next[kind] = isOver ? "" : turn[kind].at(-1)!;
    if (isOver) due[kind] = 0;
    if (isOver) next.left = next.left.filter((one) => one !== kind);
  }
  const waiting = turn.partners.filter((id) => large.includes(id));
  const first = waiting[0] ?? (isWhole(place) ? undefined : large[0]);
  if (next.walk === null && first !== undefined) next.walk = startWalk(first);
  const stop = waiting.find((id) => id !== next.walk?.partner_id);
  if (stop !== undefined) {
    next.partners = turn.partners[turn.partners.indexOf(stop) - 1] ?? place.partners;
    due.partners = 0;
  }
  if (!place.left.includes("partners")) return next;
  if (stop === undefined && next.walk !== null && next.partners === "") next.partners = END;
  const isLeft = stop !== undefined || next.walk !== null;
  if (isLeft && !next.left.includes("partners")) next.left.push("partners");
  return next;
}
