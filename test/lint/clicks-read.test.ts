/**
 * A click is a row of `events` for some days, and then only in the archive: a query that expects the row stops finding
 * it, and a test of a few days does not notice. So the files that read `events` are listed here, each with its reason.
 */
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** Readers by file below src. `noClicks`: the statement leaves clicks out itself. */
const LISTED: Record<string, { why: string; noClicks?: true }> = {
  "core/events/events.ts": { why: "the log: rows and archive together, through archived.ts" },
  "core/kernel/event-counts.ts": { why: "the source of the log's pages: events.ts adds the archive" },
  "core/clicks/clicks.ts": { why: "a batch that is sent again: within minutes" },
  "core/clicks/archive.ts": { why: "what moves clicks to the archive" },
  "core/clicks/roll-up.ts": { why: "clicks that no count has yet: the archive leaves them" },
  "core/kernel/uncounted-clicks.ts": { why: "the same clicks, for every total" },
  "core/operations/recount-events.ts": {
    why: "days with archived clicks are left out, and months come from the archive",
  },
  "core/events/last-change.ts": { why: "who changed an object last", noClicks: true },
  "core/mails/subjects.ts": { why: "the events that an e-mail is about, by their ids: no click" },
  "core/ledger/digests.ts": { why: "the commissions that were made in a stretch", noClicks: true },
  "core/payouts/export-history.ts": { why: "the events of a file of payouts, by their types: no click" },
  "core/payouts/open.ts": { why: "the events of one change of many payouts, by their types: no click" },
  "core/reconcile/choose.ts": { why: "what touched a commission or payout, which no click does", noClicks: true },
};

/** Whether a text reads the table, in SQL or by drizzle. */
function readsEvents(text: string): boolean {
  const code = text.replaceAll(/^\s*(?:\/?\*|\/\/).*$/gm, "");
  return /\b(?:from|join)\s+(?:events\b|\$\{events\})|\.(?:from|\w*[jJ]oin)\(events\b|`events[ `]/.test(code);
}

describe("the table of events", () => {
  const reading = globSync("src/**/*.{ts,tsx}", { cwd: ROOT })
    .map((file) => file.replaceAll("\\", "/").slice("src/".length))
    .filter((file) => !/^(?:dev|client|tracker)\//.test(file))
    .map((file) => ({ file, text: readFileSync(`${ROOT}src/${file}`, "utf8") }))
    .filter(({ text }) => readsEvents(text));

  it("is read only by those who know that clicks leave it", () => {
    assert.deepEqual(reading.map(({ file }) => file).toSorted(), Object.keys(LISTED).toSorted());
  });

  it("is read without clicks where that is the reason", () => {
    const left = reading.filter(({ file, text }) => LISTED[file]?.noClicks && !text.includes("type <> 'click'"));
    assert.deepEqual(left, []);
  });

  it("is found in each form", () => {
    for (const code of [
      "sql`select payload from events where type = 'click'`",
      "sql`select 1 from partners p join events e on e.program_id = p.program_id`",
      "sql`select payload\n from ${events}`",
      "db.select().from(events).where(own)",
      "db.select().from(partners).leftJoin(events, same)",
      "const source = sql`events indexed by events_type`",
    ]) {
      assert.ok(readsEvents(code), code);
    }
    for (const code of ["sql`select 1 from provider_events`", "// rows from events", "insert into events (id)"]) {
      assert.ok(!readsEvents(code), code);
    }
  });
});
