/** Figures of the overviews, by name. */
import type { DailyAmounts } from "../../src/core/overview/overview.ts";

/** The sums of the amounts by name. */
export function sums(rows: readonly (readonly [name: string, amount: number])[]): Record<string, number> {
  const named = Map.groupBy(rows, ([name]) => name);
  return Object.fromEntries(
    [...named].map(([name, own]) => [name, own.reduce((sum, [, amount]) => sum + amount, 0)] as const).toSorted(),
  );
}

/** The plotted values, by day and currency. */
export function plotted(amounts: readonly DailyAmounts[]): Record<string, number> {
  const days = amounts.flatMap(({ currency, days: own }) =>
    own.map(({ day, value }) => [`${day} ${currency}`, Number(value)] as const),
  );
  return nonZero(sums(days));
}

/** The figures that are not 0. */
export function nonZero(figures: Record<string, number>): Record<string, number> {
  return Object.fromEntries(Object.entries(figures).filter(([, sum]) => sum !== 0));
}
