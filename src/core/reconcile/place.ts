import { startWalk, type Walk } from "./walk.ts";

/** Tables whose rows a round goes through in the order of their ids. */
export const KINDS = ["commissions", "payments", "partners", "payouts"] as const;
export type Kind = (typeof KINDS)[number];

/** Where the reconciler is in a program: of each kind the last id that it looked at in turn. */
export interface Place extends Record<Kind, string> {
  /** In a round that goes through all of a program: of which kinds some are left. */
  left: Kind[];
  /** In another round: how many rows of each kind are still to be taken in turn. */
  due: Record<Kind, number>;
  walk: Walk | null;
}

/** In so many daily rounds everything of a program with some 290 payments has its turn; the last of them finds no more. */
const TURNS = 29;
/** What a round takes in turn at least, and at most, so that it reads a few hundred rows: larger programs take longer. */
const LEAST: Record<Kind, number> = { commissions: 10, payments: 1, partners: 1, payouts: 1 };
const MOST: Record<Kind, number> = { commissions: 20, payments: 10, partners: 10, payouts: 10 };
/** Payouts of one step, taken in turn or touched by events: the vendor is asked about the transfer of each. */
export const TRANSFERS_AT_ONCE = 3;
/** What one step takes in turn at most. */
const AT_ONCE: Record<Kind, number> = { commissions: 100, payments: 9, partners: 10, payouts: TRANSFERS_AT_ONCE };

/** Behind every id. */
const END = "~";

export function placeAtStart(): Place {
  const due = ofKinds(() => 0);
  return { left: [...KINDS], commissions: "", payments: "", partners: "", payouts: "", due, walk: null };
}

/** Whether this is a round that goes through all of a program. */
export function isWhole(place: Place): boolean {
  return place.left.length > 0;
}

/** The place at the beginning of a round of a program that has so many rows of each kind. */
export function placeOfRound(place: Place, size: (kind: Kind) => number): Place {
  if (isWhole(place)) return place;
  const due = (kind: Kind) => Math.min(Math.max(Math.ceil(size(kind) / TURNS), LEAST[kind]), MOST[kind]);
  return { ...place, due: ofKinds(due) };
}

/** Whether a round that does not go through everything has rows left to take in turn. */
export function hasDue({ due }: Place): boolean {
  return KINDS.some((kind) => due[kind] > 0);
}

/** How many rows of each kind a step takes in turn. */
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

/** The rows that a step took in turn, in the order of their ids. */
export type Turn = Record<Kind, string[]>;

/** Whether a step has come to the last row of a kind. */
export function hasPassed(place: Place, turn: Turn, kind: Kind): boolean {
  return place[kind] !== END && turn[kind].length < partsOf(place)[kind];
}

/**
 * The place after a step. `large` are the partners, in the order of their ids, whose entries were too many for it: one
 * of them is walked at a time. Before it goes on to the next, a round through everything waits for the walk; another
 * leaves the partners from there on to the next round.
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
