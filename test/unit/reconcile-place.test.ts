/**
 * Daily rounds take turns: each takes a part of a program, large enough that a small program is complete within 30 days.
 */
import { describe, expect, it } from "vitest";
import {
  hasDue,
  KINDS,
  partsOf,
  placeAfter,
  placeAtStart,
  placeOfRound,
  type Kind,
  type Place,
  type Turn,
} from "../../src/core/reconcile/place.ts";

type Rows = Record<Kind, string[]>;

const DAYS = 30;

function rowsOf(sizes: Record<Kind, number>): Rows {
  const ids = (kind: Kind) => Array.from({ length: sizes[kind] }, (_, i) => String(i).padStart(6, "0"));
  return {
    commissions: ids("commissions"),
    payments: ids("payments"),
    partners: ids("partners"),
    payouts: ids("payouts"),
  };
}

/** One round; `see` receives the turn of each of its steps. */
function round(before: Place, rows: Rows, see: (turn: Turn) => void, large: readonly string[] = []): Place {
  let place = placeOfRound(before, (kind) => rows[kind].length);
  do {
    const parts = partsOf(place);
    const take = (kind: Kind) => {
      const from = place[kind] === "" ? 0 : Number(place[kind]) + 1;
      return rows[kind].slice(from, from + parts[kind]);
    };
    const turn = Object.fromEntries(KINDS.map((kind) => [kind, take(kind)])) as Turn;
    see(turn);
    // A walk is over with the next step.
    place = placeAfter(place, turn, { walk: null, large: turn.partners.filter((id) => large.includes(id)) });
  } while (hasDue(place));
  return place;
}

const ordinary: Place = { ...placeAtStart(), left: [] };

describe("the reconciler's turns", () => {
  it("take everything within 30 rounds, in programs of up to 290 payments", () => {
    for (const payments of [1, 28, 29, 30, 31, 200, 289, 290]) {
      const sizes = { payments, commissions: 2 * payments, partners: payments, payouts: Math.ceil(payments / 3) };
      const rows = rowsOf(sizes);
      const seen = { payments: new Set(), commissions: new Set(), partners: new Set(), payouts: new Set() };
      let place = ordinary;
      let most = 0;
      for (let day = 0; day < DAYS; day++) {
        let taken = 0;
        place = round(place, rows, (turn) => {
          for (const kind of KINDS) for (const id of turn[kind]) seen[kind].add(id);
          taken += turn.payments.length;
        });
        most = Math.max(most, taken);
      }
      expect(Object.fromEntries(KINDS.map((kind) => [kind, seen[kind].size]))).toEqual(sizes);
      expect(most).toBe(Math.ceil(payments / 29));
    }
  });

  it("take no more in a larger program, and leave a partner who waits for a walk to the next round", () => {
    const rows = rowsOf({ payments: 50_000, commissions: 1, partners: 290, payouts: 0 });
    let taken = 0;
    const large = ["000002", "000004"];
    const partners: string[] = [];
    const first = round(
      ordinary,
      rows,
      (turn) => {
        taken += turn.payments.length;
        partners.push(...turn.partners);
      },
      large,
    );
    expect(taken).toBe(10);
    expect(first.partners).toBe("000003");
    round({ ...first, walk: null }, rows, (turn) => void partners.push(...turn.partners), large);
    expect(partners.filter((id) => id === "000004")).toHaveLength(2);
    expect(partners.at(-1)).toBe("000013");
  });
});
