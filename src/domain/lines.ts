/** The lines of a payment: its products, with their amounts. */
import type { PaymentFact, PaymentLine } from "./fact.ts";
import { rescale, type Cents } from "./money.ts";

/**
 * The lines of a payment whose base is `base_cents`, from the first of its facts that states them, as parts of that
 * base; null if they are unknown.
 */
export function linesOf(facts: readonly PaymentFact[], base_cents: Cents): PaymentLine[] | null {
  const stating = facts.find(({ lines }) => lines);
  if (!stating?.lines) return null;
  const { lines, lines_cents: whole = stating.base_cents } = stating;
  if (whole <= 0 || whole === base_cents) return lines;
  const amounts = lines.map(({ amount_cents }) => amount_cents);
  const parts = rescale(amounts, whole, base_cents);
  return lines.map((line, i) => ({ ...line, amount_cents: parts[i]! }));
}
