/** The scale of a plot: pure arithmetic of bars and marks. */
import { addUp, type Sum } from "../../../domain/money.ts";

/** More days than these are shown by week: a bar of one day would be a hairline on a phone. */
const MOST_DAYS = 92;
const WEEK = 7;
/** Steps between the least and the greatest mark, at most. */
const MOST_STEPS = 4n;

export interface PlotPoint {
  /** UTC day. */
  day: string;
  value: Sum;
}

/** What one bar shows: a day, or a week. */
export interface Bar {
  from: string;
  to: string;
  value: Sum;
}

/** A bar for each day, or for each seven days, the last of them whole. */
export function barsOf(points: readonly PlotPoint[]): Bar[] {
  const size = points.length > MOST_DAYS ? WEEK : 1;
  const short = points.length % size;
  const starts = [...(short > 0 ? [0] : [])];
  for (let at = short; at < points.length; at += size) starts.push(at);
  return starts.map((start, i) => {
    const own = points.slice(start, starts[i + 1] ?? points.length);
    return { from: own[0]!.day, to: own.at(-1)!.day, value: addUp(own.map(({ value }) => value)) };
  });
}

/** The marks of a scale that holds all values and zero, the greatest first: 1, 2 or 5 times a power of ten apart. */
export function marksOf(values: readonly Sum[]): bigint[] {
  const all = values.map(BigInt);
  const top = all.reduce((most, value) => (value > most ? value : most), 0n);
  const bottom = all.reduce((least, value) => (value < least ? value : least), 0n);
  if (top === bottom) return [0n];
  for (let power = 1n; ; power *= 10n) {
    for (const step of [power, 2n * power, 5n * power]) {
      const up = (top + step - 1n) / step;
      const down = (step - 1n - bottom) / step;
      if (up + down <= MOST_STEPS)
        return Array.from({ length: Number(up + down) + 1 }, (_, i) => (up - BigInt(i)) * step);
    }
  }
}
