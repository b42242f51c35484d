/** Pages write instants, and read dates, by their one place, which needs the time zone (PAGE-23). */
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const PAGES = "src/http/pages/";

/** Ways to write an instant, or to read a date, without a zone. */
const WITHOUT_ZONE =
  /\.slice\((?:0, 1\d|1\d)|\bIntl\.DateTimeFormat\b|\.toLocale(?:Date|Time)?String\(|\.to(?:ISO|UTC|Date)\w*String\(|\.getUTC|\.get(?:Date|Day|Hours)\(|\butcDay\b|"UTC"|\btimeRange\b|\bdayText\b/;

/** Files that may, each with its reason. */
const MAY: Record<string, string> = {
  "locale.ts": "the one place",
  "parts/spans.tsx": "days of sums by UTC day",
  "parts/plot.tsx": "days of sums by UTC day",
  "portal/statistics.tsx": "days of sums by UTC day",
  "portal/payout-detail.tsx": "a period of UTC days, in which payouts of months are made",
  "list-filter.tsx": "a date as it was typed",
  "dashboard/overview/overview.tsx": "days of sums by UTC day",
  "dashboard/overview/todo.tsx": "days of sums by UTC day",
  "layout.tsx": "whether the zone is UTC",
  "dashboard/commissions/columns.tsx": "a date as it was typed",
  "dashboard/payouts/ask.tsx": "the end of a period; the form of new.tsx sends an instant",
  "dashboard/payouts/new.tsx": "the end of a period, whose dates `filterOf` reads; the form sends an instant",
  "parts/claim-words.tsx": "the day of a sale as the partner typed it",
  "dev/mails.tsx": "e-mails of all programs",
};

/** Fields of a date that are no instant. */
const NO_INSTANT: Record<string, string> = {
  from: "of a filter: `filterOf`",
  to: "of a filter: `filterOf`",
  day: "the day of a sale (CLAIM-2)",
};

const files = globSync(`${PAGES}**/*.{ts,tsx}`, { cwd: ROOT }).map((file) => {
  const name = file.replaceAll("\\", "/").slice(PAGES.length);
  return { name, text: readFileSync(`${ROOT}${file}`, "utf8") };
});

describe("times on pages", () => {
  it("are written with a zone, or the file is listed with the reason why not", () => {
    const without = files.filter(({ text }) => WITHOUT_ZONE.test(text)).map(({ name }) => name);
    assert.deepEqual(without.toSorted(), Object.keys(MAY).toSorted());
  });

  it("are read with a zone, wherever a field takes a date", () => {
    const fields = files.flatMap(({ text }) =>
      [...text.matchAll(/<Field\b[^<]*?\btype="date"/g)].map(([field]) => /\bname="(\w+)"/.exec(field)?.[1] ?? field),
    );
    const all = files.map(({ text }) => text).join("\n");
    const unread = fields.filter((name) => !(name in NO_INSTANT) && !all.includes(`.startOfDate("${name}", `));
    assert.deepEqual(unread, []);
    assert.deepEqual([...new Set(fields)].toSorted(), [...["apply_from", "day", "expires_at", "from", "since", "to"]]);
  });
});
