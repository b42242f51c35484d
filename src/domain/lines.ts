/** The lines of a payment: its products, with their amounts. */
import type { AdjustmentFact, PaymentFact } from "./fact.ts";
import { NOTHING, rescale, smaller, mulDivHalfUp, negate, sumWithin, type Cents } from "./money.ts";

/** A line as a part of the payment's base. */
export interface Line {
  /** The vendor's ids of the product and its price. */
  products: string[];
  /** Negative for a proration credit. */
  amount_cents: Cents;
  /** The amount that refunds of this line returned; absent if it is 0. */
  returned_cents?: Cents;
}

/**
 * The lines of a payment whose base is `base_cents`, from the first of its facts that states them, less the refunds
 * that name a line; null if they are unknown.
 */
export function linesOf(
  facts: readonly PaymentFact[],
  adjustments: readonly AdjustmentFact[],
  base_cents: Cents,
): Line[] | null {
  const stating = facts.find(({ lines }) => lines?.length);
  if (!stating?.lines) return null;
  const { lines, lines_cents: whole = stating.base_cents } = stating;
  const amounts = lines.map(({ amount_cents }) => amount_cents);
  const parts = whole <= 0 || whole === base_cents ? amounts : rescale(amounts, whole, base_cents);
  const returned = Map.groupBy(adjustments.flatMap(linesReturned), ({ id }) => id);
  return lines.map(({ id, products }, i) => {
    const own = sumWithin((returned.get(id ?? "") ?? []).map(({ amount_cents }) => amount_cents));
    return { products, amount_cents: parts[i]!, ...(own > 0 ? { returned_cents: own } : {}) };
  });
}

/** The lines that an effective refund names. The money of a dispute may come back: its lines are not compared. */
function linesReturned({ lines, effective, direction, reversal }: AdjustmentFact) {
  return effective && direction === "deduct" && reversal === "never" ? (lines ?? []) : [];
}

/** The products and prices of some lines, each once. */
export function productsOf(lines: readonly Line[]): string[] {
  return [...new Set(lines.flatMap(({ products }) => products))];
}

/** The amount that a rule counts, and the part of it that was returned. */
export interface Counted {
  base_cents: Cents;
  adjusted_cents: Cents;
}

/**
 * The part of a payment (`whole`) that some of its lines make up: at most the whole. Refunds that name lines lower
 * those lines; all other returned money lowers the rest of each line in proportion (LINE-6).
 */
export function countMatching(lines: readonly Line[], isMatching: (line: Line) => boolean, whole: Counted): Counted {
  const matching = lines.filter(isMatching);
  const base_cents = sumWithin(
    matching.map(({ amount_cents }) => amount_cents),
    NOTHING,
    whole.base_cents,
  );
  const namedOf = (some: readonly Line[]) => sumWithin(some.map(({ returned_cents = NOTHING }) => returned_cents));
  const named = namedOf(lines);
  const returned = smaller(named, whole.adjusted_cents);
  const own = named > 0 ? mulDivHalfUp(namedOf(matching), returned, named) : NOTHING;
  const before = sumWithin([whole.base_cents, negate(returned)], NOTHING);
  const kept = sumWithin([base_cents, negate(own)], NOTHING, before);
  const after = sumWithin([whole.base_cents, negate(whole.adjusted_cents)], NOTHING);
  const left = before > 0 ? mulDivHalfUp(kept, after, before) : NOTHING;
  return { base_cents, adjusted_cents: sumWithin([base_cents, negate(left)], NOTHING) };
}
