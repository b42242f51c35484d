import type { Context } from "hono";
import { daysOf, type Days } from "../../../core/overview/days.ts";
import { lastDays } from "../../../core/partners/code-stats.ts";
import { compareCurrencies } from "../../../domain/amount.ts";
import { DAY, utcDay } from "../../../lib/time.ts";
import type { PageEnv } from "../../session.ts";
import { timeRange } from "../../validate.ts";
import { filterOf } from "../filters.ts";
import { dayText } from "../locale.ts";
import { plural } from "./figures.tsx";
import { Field } from "./form.tsx";

/** The offered spans in days. */
const SPANS = [7, 30, 90, 365] as const;
const DEFAULT_SPAN = 30;
const MAX_DAYS = 366;

/** The days in an address: by `from` and `to`, else the last days by `days`. At most 366, and not after today. */
export function chosenDays(c: Context<PageEnv>): Days {
  const { now } = c.var;
  const { from, to } = filterOf(c, timeRange, {}, "UTC").value;
  const days = SPANS.find((span) => String(span) === c.req.query("days")) ?? DEFAULT_SPAN;
  if (from === undefined && to === undefined) return lastDays(now, days);
  const last = Math.min(Math.max((to ?? now + 1) - 1, 0), now);
  const first = from ?? last - (DEFAULT_SPAN - 1) * DAY;
  return { from: utcDay(Math.min(Math.max(first, last - (MAX_DAYS - 1) * DAY), last)), to: utcDay(last) };
}

/** "30 days". */
export function spanText(days: Days): string {
  return plural(daysOf(days).length, "day");
}

/** The currencies of amounts, the program's first; at least one. */
export function currenciesIn(amounts: readonly { currency: string }[], program: { currency: string }): string[] {
  const found = new Set(amounts.map(({ currency }) => currency));
  if (found.size === 0) found.add(program.currency);
  return [...found].toSorted((a, b) => compareCurrencies(a, b, program.currency));
}

/** The currency in the address if the page has amounts in it, else the usual one. */
export function chosenCurrency(
  c: Context<PageEnv>,
  currencies: readonly string[],
  usual = currencies[0] ?? "",
): string {
  const asked = c.req.query("currency");
  return currencies.find((currency) => currency === asked) ?? usual;
}

interface CurrenciesProps {
  at: string;
  currencies: readonly string[];
  /** The shown one. */
  currency: string;
  query?: Days | undefined;
}

/** Links to the page `at` in each currency: amounts of two are never added (PAGE-45). Hidden if there is only one. */
export function Currencies({ at, currencies, currency, query }: CurrenciesProps) {
  if (currencies.length < 2) return null;
  return (
    <nav aria-label="Currency" class="spans">
      {currencies.map((one) => (
        <a
          href={`${at}?${new URLSearchParams({ ...query, currency: one }).toString()}`}
          aria-current={one === currency ? "true" : undefined}
        >
          {one}
        </a>
      ))}
    </nav>
  );
}

interface SpansProps extends CurrenciesProps {
  days: Days;
  now: number;
}

/** Links to the page `at` of each span, a form for any other days, and the currencies. */
export function Spans({ days, now, ...rest }: SpansProps) {
  const { at, currencies, currency } = rest;
  const query = currencies.length > 1 ? { currency } : {};
  const isShown = (span: number) => lastDays(now, span).from === days.from && utcDay(now) === days.to;
  const href = (span: number) => `${at}?${new URLSearchParams({ days: String(span), ...query }).toString()}`;
  return (
    <div class="choose-days">
      <nav aria-label="Span" class="spans">
        {SPANS.map((span) => (
          <a href={href(span)} aria-current={isShown(span) ? "true" : undefined}>
            {span}
            <span class="span-unit"> days</span>
          </a>
        ))}
      </nav>
      <details class="drop">
        <summary class="button">
          {SPANS.some(isShown) ? "Other days" : `${dayText(days.from)} to ${dayText(days.to)}`}
        </summary>
        <form method="get" action={at} class="drop-body stack" aria-label="Choose the days">
          {Object.entries(query).map(([name, value]) => (
            <input type="hidden" name={name} value={value} />
          ))}
          <Field name="from" label="From" type="date" value={days.from} />
          <Field name="to" label="To" type="date" value={days.to} />
          <button type="submit">Show</button>
        </form>
      </details>
      <Currencies {...rest} query={days} />
    </div>
  );
}
