/** The scale of a plot: pure arithmetic of bars and marks. */
import { addUp, cents, larger, MOST, negate, NOTHING, smaller, type Cents } from "../../../domain/money.ts";

/** The most days with a bar each; longer ranges are shown by week, because a bar would be a hairline on a phone. */
const MOST_DAYS = 92;
const WEEK = 7;
/** The most steps between the least and the greatest mark. */
const MOST_STEPS = 4;

export interface PlotPoint {
  /** UTC day. */
  day: string;
  value: Cents;
}

/** The days of one bar: a day, or a week. */
export interface Bar {
  from: string;
  to: string;
  value: Cents;
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

/** A scale's marks around all values and zero, greatest first: 1, 2 or 5 times a power of ten apart. */
export function marksOf(values: readonly Cents[]): Cents[] {
  const top = values.reduce(larger, NOTHING);
  const bottom = values.reduce(smaller, NOTHING);
  if (top === bottom) return [NOTHING];
  for (let power = 1; ; power *= 10) {
    for (const step of [power, 2 * power, 5 * power]) {
      const [up, down] = [stepsTo(top, step), stepsTo(negate(bottom), step)];
      if (up + down > MOST_STEPS) continue;
      const within = (mark: number) => cents(Math.max(negate(MOST), Math.min(mark, MOST)));
      return Array.from({ length: up + down + 1 }, (_, i) => within((up - i) * step));
    }
  }
}

/** `value ÷ step`, rounded up. */
function stepsTo(value: number, step: number): number {
  const rest = value % step;
  return (value - rest) / step + (rest > 0 ? 1 : 0);
}
