// eslint-disable-next-line no-restricted-imports -- the only module of Node that the platform has (`nodejs_als`)
import { AsyncLocalStorage } from "node:async_hooks";
import type { MiddlewareHandler } from "hono";
import { createContext, useContext } from "../jsx.ts";
import { dayIn, minuteIn } from "../../domain/time-zone.ts";

/** The formats of numbers, dates and country names on a page (PAGE-14). Other texts are always English. */
interface Forms {
  /** The language that names of countries are in; null for English. */
  locale: string | null;
  number: (decimal: string) => string;
  day: (day: string) => string;
  country: (code: string) => string;
}

const grouped = (decimal: string): string => {
  const [whole = "", rest] = decimal.split(".");
  const written = whole.replace(/\B(?=(\d{3})+$)/g, ",").replace("-", "\u2212");
  return rest === undefined ? written : `${written}.${rest}`;
};

const englishDay = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeZone: "UTC" });

/** The default, also in e-mails and files. */
const ENGLISH: Forms = {
  locale: null,
  number: grouped,
  day: (day) => englishDay.format(instantOf(day)),
  country: countriesIn("en"),
};

const chosen = new AsyncLocalStorage<Forms>();

/** The formats of the current page; English outside of pages. */
const current = () => chosen.getStore() ?? ENGLISH;

/** Formats a plain decimal (`-1234.50`), exactly. */
export const numberText = (decimal: string): string => current().number(decimal);

/** Formats a day (`2026-03-02`). */
export const dayText = (day: string): string => current().day(day);

/** A country's name (ISO 3166-1 alpha-2) in the language of `currentLocale`; the code without one. */
export const countryText = (code: string): string => current().country(code);

export const currentLocale = (): string | null => current().locale;

/** Formats the day of an instant (ISO 8601) in a time zone (PAGE-23). */
export const dateText = (at: string, zone: string): string => dayText(dayIn(zone, Date.parse(at)));

/** The same with the time of day. */
export const timeText = (at: string, zone: string): string =>
  `${dateText(at, zone)}, ${minuteIn(zone, Date.parse(at))}`;

/** The time zone of the current page. */
export const PageZone = createContext<string | null>(null);

/** @throws on a page without a time zone (`page`). */
export function usePageZone(): string {
  const zone = useContext(PageZone);
  if (zone === null) throw new Error("a page that shows times without a time zone");
  return zone;
}

/** Runs `make` in English, for files, which programs read. */
export const inEnglish = <Value>(make: () => Value): Value => chosen.run(ENGLISH, make);

/** Formats the pages behind it for the first supported language of `Accept-Language`. */
export const inLanguageOfBrowser: MiddlewareHandler = (c, next) =>
  chosen.run(formsOf(c.req.header("accept-language")), next);

const RANGE = /^([a-z]{2,3}(?:-[a-z0-9]{2,8}){0,3})(?:[ \t]*;[ \t]*q=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?))?$/i;
/** The most ranges of a header that are read: a browser sends a tenth of it. */
const MOST_RANGES = 20;
const MOST_LENGTH = 500;

/** The preferred supported locale of a header; null if it does not name one. Malformed parts are ignored. */
export function localeOf(header: string | undefined): string | null {
  if (header === undefined || header.length > MOST_LENGTH) return null;
  const wanted = header
    .split(",", MOST_RANGES)
    .flatMap((range) => {
      const [, tag, q = "1"] = RANGE.exec(range.trim()) ?? [];
      return tag === undefined || Number(q) === 0 ? [] : [{ tag, q: Number(q) }];
    })
    .toSorted((a, b) => b.q - a.q);
  for (const { tag } of wanted) {
    const [found] = supported(tag);
    if (found !== undefined) return found;
  }
  return null;
}

function supported(tag: string): string[] {
  try {
    return Intl.NumberFormat.supportedLocalesOf(tag);
  } catch {
    return [];
  }
}

/** Any client may send any header, so the cache is limited. */
const MOST_KEPT = 100;
const kept = new Map<string, Forms>();

function formsOf(header: string | undefined): Forms {
  const locale = localeOf(header);
  // Without a region, English does not choose between its date formats.
  if (locale === null || locale === "en") return ENGLISH;
  const known = kept.get(locale);
  if (known) return known;
  if (kept.size >= MOST_KEPT) kept.clear();
  const made = formsIn(locale);
  kept.set(locale, made);
  return made;
}

/** Uses Latin digits and the API's calendar in every locale, so that text copied from a page matches a file. */
function formsIn(locale: string): Forms {
  const fields = locale.startsWith("en-")
    ? ({ dateStyle: "medium" } as const)
    : // No name of a month: the texts around are English.
      ({ year: "numeric", month: "2-digit", day: "2-digit" } as const);
  const days = new Intl.DateTimeFormat(locale, {
    ...fields,
    timeZone: "UTC",
    calendar: "gregory",
    numberingSystem: "latn",
  });
  const numbers = new Map<number, Intl.NumberFormat>();
  const numberOf = (decimals: number) => {
    const known = numbers.get(decimals);
    if (known) return known;
    const made = new Intl.NumberFormat(locale, {
      minimumFractionDigits: decimals,
      maximumFractionDigits: decimals,
      numberingSystem: "latn",
    });
    numbers.set(decimals, made);
    return made;
  };
  return {
    locale,
    // As a text, all digits stay exact.
    number: (decimal) =>
      plain(numberOf(decimal.split(".")[1]?.length ?? 0).format(decimal as `${number}`)).replace("-", "\u2212"),
    day: (day) => plain(days.format(instantOf(day))),
    country: countriesIn(locale),
  };
}

function countriesIn(locale: string): Forms["country"] {
  let names: Intl.DisplayNames | undefined;
  return (code) => (names ??= new Intl.DisplayNames(locale, { type: "region" })).of(code) ?? code;
}

/** Removes direction marks: the surrounding text reads from left to right. */
function plain(text: string): string {
  return text.replaceAll(/[\u061c\u200e\u200f]/g, "");
}

function instantOf(day: string): Date {
  return new Date(`${day}T00:00:00Z`);
}
