import type { Child } from "../../jsx.ts";
import { amountOf } from "../../../domain/amount.ts";
import { decimalAmount } from "../../../domain/currency.ts";
import { addUp, cents, NOTHING, type Cents } from "../../../domain/money.ts";
import { moneyText } from "./figures.tsx";
import { dayText, numberText } from "../locale.ts";
import { barsOf, marksOf, type Bar, type PlotPoint } from "./plot-scale.ts";
import { Table } from "./table.tsx";

interface Series {
  title: string;
  /** The total in words, beside the title, unless the page shows it elsewhere. */
  total?: Child;
  points: readonly PlotPoint[];
  /** Formats a value for people. */
  format: (value: Cents) => string;
  /** A mark of the scale as a plain decimal. */
  decimal: (mark: Cents) => string;
  tone: "one" | "two" | "three";
}

/** The width of the picture in its own units: it fills its card. */
const WIDTH = 1_000;
const HEIGHT = 100;
/** The part of a bar's place that stays free. */
const GAP = 0.24;

type Drawn = Series & { bars: readonly Bar[] };

/**
 * A bar chart by day, or week, with a scale and a table behind it; two series of the same days are one above the other,
 * each with its own scale. Bars show days and values on hover and focus; arrow keys move between them. Without any value
 * it is one line.
 */
export function DailyPlot({ series }: { series: readonly Series[] }) {
  const all = series.map((one): Drawn => ({ ...one, bars: barsOf(one.points) }));
  const drawn = all.filter(({ bars }) => bars.some(({ value }) => value !== NOTHING));
  return (
    <figure class={drawn.length === 0 ? "plot plot-empty" : "plot"}>
      <figcaption>
        {all.map((one) => (
          <div class={`plot-name tone-${one.tone}`}>
            <h3>{one.title}</h3>
            <p class="plot-total">{drawn.includes(one) ? one.total : <span class="muted">None in this period</span>}</p>
          </div>
        ))}
      </figcaption>
      {drawn.length === 0 ? null : (
        <>
          <div class={drawn.length > 1 ? "plot-area two" : "plot-area"}>
            {drawn.map((one) => (
              <Bars {...one} />
            ))}
            <Points drawn={drawn} />
            <Ends bars={drawn[0]!.bars} />
          </div>
          <PlotTable drawn={drawn} />
        </>
      )}
    </figure>
  );
}

function Bars({ title, tone, bars, format, decimal }: Drawn) {
  const values = bars.map(({ value }) => value);
  const marks = marksOf(values);
  const top = marks[0] ?? NOTHING;
  const height = HEIGHT / (top - (marks.at(-1) ?? NOTHING));
  const yOf = (value: number) => round((top - value) * height);
  const zero = yOf(0);
  const step = WIDTH / bars.length;
  const most = values.reduce((largest, value) => (value > largest ? value : largest), NOTHING);
  return (
    <>
      <p class="plot-scale" aria-hidden="true">
        {marksText(marks.map(decimal)).map((text) => (
          <span>{text}</span>
        ))}
      </p>
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${title} by ${unitOf(bars)}, ${spanOf(bars)}; at most ${format(most)}`}
        class={`plot-bars tone-${tone}`}
      >
        {marks.map((mark) => {
          const y = yOf(mark);
          return <line class={mark === NOTHING ? "plot-axis" : "plot-line"} x1={0} x2={WIDTH} y1={y} y2={y} />;
        })}
        {values.map((value, i) => {
          if (value === NOTHING) return null;
          const end = yOf(value);
          return (
            <rect
              class="plot-bar"
              x={round(i * step + (step * GAP) / 2)}
              y={Math.min(end, zero)}
              width={round(step * (1 - GAP))}
              height={Math.max(round(Math.abs(end - zero)), 0.5)}
            />
          );
        })}
      </svg>
    </>
  );
}

/** The places of the bars, over every series. */
function Points({ drawn }: { drawn: readonly Drawn[] }) {
  const titles = drawn.map(({ title }) => title).join(" and ");
  const bars = drawn[0]!.bars;
  const valuesAt = (i: number) =>
    drawn
      .map(({ title, bars: own, format }) => `${drawn.length > 1 ? `${title} ` : ""}${format(own[i]!.value)}`)
      .join(", ");
  return (
    <div class="plot-points" role="radiogroup" aria-label={`${titles}, one ${unitOf(bars)} after the other`}>
      {bars.map((bar, i) => (
        <label class="plot-point">
          <input
            type="radio"
            name={`plot-${titles.toLowerCase().replaceAll(/[^a-z]+/g, "-")}`}
            checked={i === bars.length - 1}
          />
          <span class="plot-says">{`${barText(bar)}: ${valuesAt(i)}`}</span>
        </label>
      ))}
    </div>
  );
}

/** The first day, one in the middle and the last one, below their bars. */
function Ends({ bars }: { bars: readonly Bar[] }) {
  const middle = bars.length > 2 ? bars[Math.floor(bars.length / 2)] : undefined;
  const days = [bars[0]?.from, middle?.from, bars.length > 1 ? bars.at(-1)?.to : undefined];
  return (
    <p class="plot-ends" aria-hidden="true">
      {days.map((day) => (day === undefined ? null : <span>{dayText(day)}</span>))}
    </p>
  );
}

/** Drops the decimals if all marks are whole numbers. */
function marksText(decimals: readonly string[]): string[] {
  const areWhole = decimals.every((text) => /^-?\d+(?:\.0+)?$/.test(text));
  return decimals.map((text) => numberText(areWhole ? text.replace(/\.0+$/, "") : text));
}

function unitOf(bars: readonly Bar[]): "day" | "week" {
  return bars.some(({ from, to }) => from !== to) ? "week" : "day";
}

function barText({ from, to }: Bar): string {
  return from === to ? dayText(from) : `${dayText(from)} to ${dayText(to)}`;
}

function spanOf(bars: readonly Bar[]): string {
  return `${dayText(bars[0]?.from ?? "")} to ${dayText(bars.at(-1)?.to ?? "")}`;
}

interface Totaled extends Pick<Series, "title" | "total" | "tone"> {}

/** A series of counts. */
export function countSeries(points: readonly { day: string; value: number }[], props: Totaled): Series {
  const counted = points.map(({ day, value }) => ({ day, value: cents(value) }));
  return { ...props, points: counted, format: (value) => numberText(String(value)), decimal: String };
}

/** A series of amounts in one currency. */
export function moneySeries(currency: string, points: readonly PlotPoint[], props: Totaled): Series {
  const format = (value: Cents) => moneyText(amountOf({ currency }, value));
  return { ...props, points, format, decimal: (mark) => decimalAmount(mark, currency) };
}

export function totalOf(points: readonly PlotPoint[]): Cents {
  return addUp(points.map(({ value }) => value));
}

export function countOf(points: readonly { value: number }[]): number {
  return points.reduce((sum, { value }) => sum + value, 0);
}

/** A share of a whole as a bar, which is the table's own cell. */
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

/** The same numbers as a table. */
function PlotTable({ drawn }: { drawn: readonly Drawn[] }) {
  const bars = drawn[0]!.bars;
  const unit = unitOf(bars);
  const label = `${drawn.map(({ title }) => title).join(" and ")} by ${unit}`;
  return (
    <details>
      <summary>As a table</summary>
      <div class="plot-table" role="region" aria-label={label} tabindex={0}>
        <Table
          label={label}
          columns={[
            { label: unit === "day" ? "Day" : "Week" },
            ...drawn.map(({ title }) => ({ label: title, align: "end" as const })),
          ]}
          rows={bars
            .map((bar, i) => [barText(bar), ...drawn.map(({ bars: own, format }) => format(own[i]!.value))])
            .toReversed()}
        />
      </div>
    </details>
  );
}

/** The height and width of a trend line in its own units. */
const TREND = { width: 100, height: 24 };

/** The values of a figure as a small line, which its number explains. */
export function Trend({ points }: { points: readonly PlotPoint[] }) {
  const values = barsOf(points).map(({ value }) => Number(value));
  const [least, most] = [Math.min(...values, 0), Math.max(...values, 0)];
  if (least === most || values.length < 2) return null;
  const x = (i: number) => round((i / (values.length - 1)) * TREND.width);
  const y = (value: number) => round(((most - value) / (most - least)) * TREND.height);
  return (
    <svg
      class="trend"
      viewBox={`0 -1 ${TREND.width} ${TREND.height + 2}`}
      preserveAspectRatio="none"
      aria-hidden="true"
    >
      <path d={`M${values.map((value, i) => `${x(i)} ${y(value)}`).join("L")}`} />
    </svg>
  );
}
