import type { Child } from "hono/jsx";
import type { DailyAmounts } from "../../../core/overview/overview.ts";
import { amountOf } from "../../../domain/amount.ts";
import { addUp, NOTHING, type Sum } from "../../../domain/money.ts";
import { moneyText } from "./figures.tsx";
import { dayText } from "../locale.ts";
import { Table } from "./table.tsx";

export interface PlotPoint<Value> {
  /** UTC day. */
  day: string;
  value: Value;
}

interface PlotProps<Value> {
  title: string;
  /** What it comes to, in words, beside the title. */
  total: Child;
  points: readonly PlotPoint<Value>[];
  /** The zero of the values. */
  none: Value;
  /** A value as people read it. */
  format: (value: Value) => string;
  tone: "one" | "two" | "three";
}

const WIDTH = 640;
const HEIGHT = 120;
const GAP = 0.28;

/** Bars by day with the same numbers as a table behind them. Every bar shows its day and value on hover. */
export function DailyPlot<Value extends number | bigint>(props: PlotProps<Value>) {
  const { title, total, points, none, format, tone } = props;
  const values = points.map(({ value }) => value);
  const most = values.reduce((largest, value) => (value > largest ? value : largest), none);
  // Where a bar ends is not exact, what it says is.
  const top = Number(most);
  const bottom = Math.min(...values.map(Number), 0);
  const scale = top - bottom === 0 ? 0 : HEIGHT / (top - bottom);
  const step = WIDTH / Math.max(points.length, 1);
  const zero = top * scale;
  const [first, last] = [points[0]?.day ?? "", points.at(-1)?.day ?? ""];
  return (
    <figure class="plot">
      <figcaption>
        <h3>{title}</h3>
        <p class="plot-total">{total}</p>
      </figcaption>
      <div class="plot-area">
        <span class="plot-top" aria-hidden="true">
          {top > 0 ? format(most) : ""}
        </span>
        <svg
          viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
          preserveAspectRatio="none"
          role="img"
          aria-label={`${title} by day, ${dayText(first)} to ${dayText(last)}; at most ${format(most)} on a day`}
          class={`plot-bars tone-${tone}`}
        >
          {points.map(({ day, value }, i) => {
            const height = Math.abs(Number(value)) * scale;
            const x = round(i * step);
            return (
              <g>
                <title>{`${dayText(day)}: ${format(value)}`}</title>
                <rect class="plot-hit" x={x} y={0} width={round(step)} height={HEIGHT} />
                {value === none ? null : (
                  <rect
                    class="plot-bar"
                    x={round(i * step + (step * GAP) / 2)}
                    y={round(value > 0 ? zero - height : zero)}
                    width={round(step * (1 - GAP))}
                    height={round(Math.max(height, 1))}
                  />
                )}
              </g>
            );
          })}
          <line
            class="plot-axis"
            x1={0}
            x2={WIDTH}
            y1={round(Math.max(zero, 0) || HEIGHT)}
            y2={round(zero || HEIGHT)}
          />
        </svg>
        {values.every((value) => value === none) ? <p class="plot-none">None in these days</p> : null}
        <p class="plot-ends" aria-hidden="true">
          <span>{dayText(first)}</span>
          <span>{dayText(last)}</span>
        </p>
      </div>
      <PlotTable {...props} />
    </figure>
  );
}

interface MoneyPlotsProps extends Pick<PlotProps<Sum>, "title" | "tone"> {
  amounts: DailyAmounts[];
  /** Given in the title where the page does not say it. */
  days?: number;
}

/** A card with a plot for each currency: amounts of two cannot be in one plot. */
export function MoneyPlots({ title, amounts, days: span, tone }: MoneyPlotsProps) {
  const titleOf = (currency: string) =>
    `${title}${amounts.length === 1 ? "" : ` in ${currency}`}${span === undefined ? "" : `, ${span} days`}`;
  return (
    <>
      {amounts.map(({ currency, days }) => {
        const format = (value: Sum) => moneyText(amountOf({ currency }, value));
        return (
          <section class="card">
            <DailyPlot
              title={titleOf(currency)}
              tone={tone}
              points={days}
              none={NOTHING}
              format={format}
              total={format(totalOf(days))}
            />
          </section>
        );
      })}
    </>
  );
}

export function totalOf(points: readonly PlotPoint<Sum>[]): Sum {
  return addUp(points.map(({ value }) => value));
}

export function countOf(points: readonly PlotPoint<number>[]): number {
  return points.reduce((sum, { value }) => sum + value, 0);
}

/** Shares of one whole by name, the largest first, as bars that are the table's own cells. */
export function ShareBar({ value, of }: { value: number; of: number }) {
  const width = of > 0 ? round((Math.max(value, 0) / of) * 100) : 0;
  return (
    <svg class="share" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">
      <rect class="share-track" width={100} height={6} />
      <rect class="share-bar" width={width} height={6} />
    </svg>
  );
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}

/** The same numbers, for reading. */
function PlotTable<Value extends number | bigint>({ title, points, format }: PlotProps<Value>) {
  return (
    <details>
      <summary>As a table</summary>
      <div class="plot-table" role="region" aria-label={`${title} by day`} tabindex={0}>
        <Table
          label={`${title} by day`}
          columns={[{ label: "Day (UTC)" }, { label: title, align: "end" }]}
          rows={points.toReversed().map(({ day, value }) => [dayText(day), format(value)])}
        />
      </div>
    </details>
  );
}
