import type { Child } from "../../jsx.ts";
import type { DailyAmounts } from "../../../core/overview/overview.ts";
import { amountOf, type Amount } from "../../../domain/amount.ts";
import { decimalAmount } from "../../../domain/currency.ts";
import { addUp, cents, NOTHING, type Cents } from "../../../domain/money.ts";
import { moneyText } from "./figures.tsx";
import { dayText, numberText } from "../locale.ts";
import { barsOf, marksOf, type Bar, type PlotPoint } from "./plot-scale.ts";
import { Table } from "./table.tsx";

interface PlotProps {
  title: string;
  /** The total in words, beside the title. */
  total: Child;
  /** The previous total, if it is shown. */
  before?: string | undefined;
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

/**
 * A bar chart by day, or week, with a scale and a table behind it. Bars show days and value on hover and focus; arrow
 * keys move between them.
 */
export function DailyPlot(props: PlotProps) {
  const { title, total, before, points, tone } = props;
  const bars = barsOf(points);
  const isEmpty = bars.every(({ value }) => value === NOTHING);
  return (
    <figure class="plot">
      <figcaption>
        <h3>{title}</h3>
        <p class="plot-total">
          {total}
          {before === undefined ? null : <span class="plot-before"> {before} before</span>}
        </p>
      </figcaption>
      <div class={`plot-area tone-${tone}`}>
        {isEmpty ? <p class="plot-none">None in this period</p> : <Bars {...props} bars={bars} />}
        <Ends bars={bars} />
      </div>
      <PlotTable {...props} bars={bars} />
    </figure>
  );
}

type BarsProps = PlotProps & { bars: readonly Bar[] };

function Bars({ title, bars, format, decimal }: BarsProps) {
  const values = bars.map(({ value }) => value);
  const marks = marksOf(values);
  const top = marks[0] ?? NOTHING;
  const height = HEIGHT / (top - (marks.at(-1) ?? NOTHING));
  const yOf = (value: number) => round((top - value) * height);
  const zero = yOf(0);
  const step = WIDTH / bars.length;
  const most = values.reduce((largest, value) => (value > largest ? value : largest), NOTHING);
  const name = `plot-${title.toLowerCase().replaceAll(/[^a-z]+/g, "-")}`;
  return (
    <>
      <p class="plot-scale" aria-hidden="true">
        {marksText(marks.map(decimal)).map((text) => (
          <span>{text}</span>
        ))}
      </p>
      <div class="plot-body">
        <svg
          viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
          preserveAspectRatio="none"
          role="img"
          aria-label={`${title} by ${unitOf(bars)}, ${spanOf(bars)}; at most ${format(most)}`}
          class="plot-bars"
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
        <div class="plot-points" role="radiogroup" aria-label={`${title}, one ${unitOf(bars)} after the other`}>
          {bars.map((bar, i) => (
            <label class="plot-point">
              <input type="radio" name={name} checked={i === bars.length - 1} />
              <span class="plot-says">{`${barText(bar)}: ${format(bar.value)}`}</span>
            </label>
          ))}
        </div>
      </div>
    </>
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

interface CountPlotProps extends Pick<PlotProps, "title" | "total" | "before" | "tone"> {
  points: readonly { day: string; value: number }[];
}

export function CountPlot({ points, ...props }: CountPlotProps) {
  const counted = points.map(({ day, value }) => ({ day, value: cents(value) }));
  const format = (value: Cents) => numberText(String(value));
  return <DailyPlot {...props} points={counted} format={format} decimal={String} />;
}

interface MoneyPlotsProps extends Pick<PlotProps, "title" | "tone"> {
  amounts: DailyAmounts[];
  /** The previous total of each currency, if it is shown. */
  before?: readonly Amount[];
  /** Shown in the title if the page does not show it. */
  days?: number;
}

/** A card with a plot for each currency: two currencies cannot share a plot. */
export function MoneyPlots({ title, amounts, before, days: span, tone }: MoneyPlotsProps) {
  const titleOf = (currency: string) =>
    `${title}${amounts.length === 1 ? "" : ` in ${currency}`}${span === undefined ? "" : `, ${span} days`}`;
  return (
    <>
      {amounts.map(({ currency, days }) => {
        const format = (value: Cents) => moneyText(amountOf({ currency }, value));
        return (
          <section class="card">
            <DailyPlot
              title={titleOf(currency)}
              tone={tone}
              points={days}
              format={format}
              decimal={(mark) => decimalAmount(mark, currency)}
              total={format(totalOf(days))}
              before={before && format(before.find((row) => row.currency === currency)?.amount_cents ?? NOTHING)}
            />
          </section>
        );
      })}
    </>
  );
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
function PlotTable({ title, bars, format }: BarsProps) {
  const unit = unitOf(bars);
  return (
    <details>
      <summary>As a table</summary>
      <div class="plot-table" role="region" aria-label={`${title} by ${unit}`} tabindex={0}>
        <Table
          label={`${title} by ${unit}`}
          columns={[{ label: unit === "day" ? "Day (UTC)" : "Week (UTC)" }, { label: title, align: "end" }]}
          rows={bars.toReversed().map((bar) => [barText(bar), format(bar.value)])}
        />
      </div>
    </details>
  );
}
