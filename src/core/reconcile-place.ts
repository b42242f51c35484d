import { startWalk, type Walk } from "./reconcile-walk.ts";

/** Tables whose rows a round goes through in the order of their ids. */
export const KINDS = ["commissions", "payments", "partners", "payouts"] as const;
export type Kind = (typeof KINDS)[number];

/** Where the reconciler is in a program: of each kind the last id that it looked at in turn. */
export interface Place extends Record<Kind, string> {
  /** In a round that goes through all of a program: of which kinds some are left. */
  left: Kind[];
  /** The last payout about whose transfer the vendor was asked in turn. */
  transfers: string;
  walk: Walk | null;
}

/** Rows of one step: the part of an ordinary round, and of one that goes through everything. */
const PART: Record<Kind, number> = { commissions: 10, payments: 1, partners: 1, payouts: 1 };
const WHOLE: Record<Kind, number> = { commissions: 100, payments: 9, partners: 10, payouts: 10 };

/** Behind every id. */
const END = "~";

export function placeAtStart(transfers = ""): Place {
  return { left: [...KINDS], commissions: "", payments: "", partners: "", payouts: "", transfers, walk: null };
}

/** Whether this is a round that goes through all of a program. */
export function isWhole(place: Place): boolean {
  return place.left.length > 0;
}

/** How many rows of each kind a step takes in turn. */
export function partsOf(place: Place, isNew: boolean): Record<Kind, number> {
  const part = (kind: Kind) => {
    if (isWhole(place)) return place.left.includes(kind) ? WHOLE[kind] : 0;
    return isNew ? PART[kind] : 0;
  };
  return {
    commissions: part("commissions"),
    payments: part("payments"),
    partners: part("partners"),
    payouts: part("payouts"),
  };
}

/** The rows that a step took in turn, in the order of their ids. */
export type Turn = Record<Kind, string[]>;

/** Whether a step has come to the last row of a kind. */
export function hasPassed(place: Place, turn: Turn, kind: Kind, isNew: boolean): boolean {
  return place[kind] !== END && turn[kind].length < partsOf(place, isNew)[kind];
}

/**
 * The place after a step. `large` are the partners, in the order of their ids, whose entries were too many for it: one
 * of them is walked at a time, and a round through everything waits for the walk before it goes on to the next.
 */
export function placeAfter(
  place: Place,
  turn: Turn,
  isNew: boolean,
  { walk, large }: { walk: Walk | null; large: readonly string[] },
): Place {
  const parts = partsOf(place, isNew);
  const next: Place = { ...place, walk, left: [...place.left] };
  for (const kind of KINDS) {
    if (parts[kind] === 0) continue;
    const isOver = turn[kind].length < parts[kind];
    next[kind] = isOver ? "" : turn[kind].at(-1)!;
    if (isOver) next.left = next.left.filter((one) => one !== kind);
  }
  const waiting = turn.partners.filter((id) => large.includes(id));
  const first = waiting[0] ?? (isWhole(place) ? undefined : large[0]);
  if (next.walk === null && first !== undefined) next.walk = startWalk(first);
  if (!place.left.includes("partners")) return next;
  const stop = waiting.find((id) => id !== next.walk?.partner_id);
  if (stop !== undefined) next.partners = turn.partners[turn.partners.indexOf(stop) - 1] ?? place.partners;
  else if (next.walk !== null && next.partners === "") next.partners = END;
  const isLeft = stop !== undefined || next.walk !== null;
  if (isLeft && !next.left.includes("partners")) next.left.push("partners");
  return next;
}
