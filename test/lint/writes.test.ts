/**
 * Changes of state go through `commit` (architecture: one write path). Other writes to the database are listed here,
 * each with its reason: a file that writes and is not listed may only hand its statements to `commit`.
 */
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

interface Listed {
  /** The tables that the file writes outside of `commit`. */
  outside: string[];
  /** The tables of the statements that it hands to `commit`. */
  commit?: string[];
  why: string;
}

/** Writes by file below src. `\${…}` is a table whose name is a value. */
const LISTED: Record<string, Listed> = {
  "core/kernel/commit.ts": {
    outside: ["deliveries", "events", "messages", "missed_deliveries"],
    why: "commit itself",
  },
  "core/kernel/conflict.ts": { outside: ["commit_guards"], why: "the guards of commit, which write no row" },
  "core/kernel/event-counts.ts": { outside: ["event_hours"], why: "the part of commit and of the clicks that counts" },
  "core/kernel/click-sources.ts": { outside: ["click_sources"], why: "the part of the clicks that counts" },
  "core/kernel/deliveries.ts": {
    outside: ["deliveries", "delivery_attempts", "webhook_endpoints"],
    why: "attempts are their own log: thousands a second, each due at a time of its own, and never an event",
  },
  "core/mails/mails.ts": {
    outside: ["mails"],
    why: "an e-mail is stored by commit; its attempts are due at times of their own, and never an event",
  },
  "core/mails/preferences.ts": {
    outside: [],
    commit: ["mail_preferences"],
    why: "which e-mails somebody gets",
  },
  "core/mails/plan.ts": { outside: [], commit: ["mails"], why: "the part of commit that stores e-mails" },
  "core/mails/rounds.ts": { outside: [], commit: ["mail_rounds"], why: "when periodic e-mails are due" },
  "core/mails/failed-mails.ts": { outside: [], commit: ["mails"], why: "an e-mail that is sent again" },
  "core/kernel/idempotency.ts": {
    outside: ["commit_guards", "idempotency_keys"],
    why: "a claim comes before the work that it guards; the reply is stored beside the change, by commit",
  },
  "core/kernel/kept.ts": {
    outside: ["kept_texts"],
    commit: ["kept_texts"],
    why: "what a browser is shown again for an hour is no change of anything",
  },
  "core/kernel/seen-types.ts": {
    outside: ["provider_connections"],
    why: "when a type of event last came is no change of anything; the vendor's event is written when it is closed",
  },
  "core/kernel/seen-products.ts": {
    outside: ["products"],
    why: "when a product was last in a payment is no change of anything; the vendor's event is written when it is closed",
  },
  "core/inbound/reading.ts": {
    outside: ["provider_connections"],
    why: "how far a list is read; losing it repeats work, and what is found there is an event of the vendor's",
  },
  "core/inbound/destination-claim.ts": {
    outside: ["provider_connections"],
    why: "a claim comes before the work that it guards, which is the vendor's; what is stored of it goes through commit",
  },
  "core/inbound/destination.ts": {
    outside: [],
    commit: ["programs", "provider_connections"],
    why: "the secret of a destination",
  },
  "core/jobs/job-runs.ts": { outside: ["job_runs"], why: "where a job is; losing it repeats work" },
  "core/clicks/clicks.ts": {
    outside: ["click_batches", "click_counts", "click_drops", "click_objects", "click_rollups", "events"],
    why: "a batch of clicks is one transaction of its own, with their events and counts",
  },
  "core/clicks/budget.ts": {
    outside: ["click_drops"],
    why: "a statement of the flush, and the mark that an e-mail about it is stored, which goes through commit",
  },
  "core/clicks/roll-up.ts": {
    outside: ["click_counts", "click_rollups"],
    why: "counts are made of what is there, and are no state of their own",
  },
  "core/clicks/archive.ts": {
    outside: ["click_archive_days", "click_archives", "event_counts", "events"],
    why: "clicks move from the database to the bucket; what they say stays",
  },
  "core/ledger/facts.ts": {
    outside: ["erased_subjects", "fact_subjects", "facts", "provider_events"],
    why: "facts are durable before anything is decided on them; the event of a vendor's event is written when it is closed. Nothing may name who is erased",
  },
  "core/ledger/concerned-payments.ts": {
    outside: ["payments"],
    why: "the row of a payment is written with the facts that say it first, and marked as unsettled with them or by a plan that others commit",
  },
  "core/ledger/settle.ts": {
    outside: [],
    commit: ["provider_events"],
    why: "the closing of a vendor's event is a plan that settling and receiving commit",
  },
  "core/ledger/unremember.ts": {
    outside: ["fact_subjects"],
    why: "statements for the transaction that stores whose event it is",
  },
  "core/applications/apply.ts": {
    outside: [],
    commit: ["application_drafts", "applications", "used_stamps"],
    why: "it runs reads",
  },
  "core/applications/decide.ts": {
    outside: [],
    commit: ["applications"],
    why: "a plan that new-partner.ts commits",
  },
  "core/inbound/questions.ts": {
    outside: ["provider_events", "waiting_events"],
    why: "a question is stored with its event; that a key does not show a name is no fact, and forgotten for another key",
  },
  "core/inbound/ask-questions.ts": {
    outside: ["waiting_events"],
    why: "a question is removed once it is answered",
  },
  "core/inbound/seen-codes.ts": {
    outside: ["waiting_events"],
    why: "a note of who gets what else is said of a code, made with the event",
  },
  "core/inbound/elsewhere.ts": {
    outside: ["claimed_subscriptions", "waiting_events"],
    why: "a note that an event may be another program's, in that one's database",
  },
  "core/inbound/take-event.ts": {
    outside: ["waiting_events"],
    why: "notes in other databases about an event on its way; no transaction reaches two databases",
  },
  "core/sessions/sign-in.ts": {
    outside: ["sign_in_links"],
    why: "a link is nobody's before it is used: there is no program",
  },
  "core/sessions/sessions.ts": {
    outside: ["sessions"],
    commit: ["portal_links", "sessions"],
    why: "when a session was last used, and the end of one that nobody has any more",
  },
  "core/sessions/list.ts": {
    outside: ["portal_links"],
    commit: ["sessions"],
    why: "links and their sessions end with those of the address, as the statement of sign-in.ts ends its links",
  },
  "core/sessions/passkeys.ts": {
    outside: [],
    commit: ["passkeys"],
    why: "of an address, in the database of the program it was added in",
  },
  "core/sessions/portal-links.ts": {
    outside: [],
    commit: ["portal_links"],
    why: "it reads a link before it is known whose it is",
  },
  "core/programs/programs.ts": {
    outside: ["api_keys", "programs"],
    commit: ["programs", "provider_connections", "sessions"],
    why: "when an API key was last used, at most once in a while",
  },
  "core/operations/recount-events.ts": {
    outside: ["click_counts", "click_sources", "event_counts", "event_hours"],
    why: "counts are made of what is there, and are no state of their own",
  },
  "core/partners/confirm-change.ts": {
    outside: [],
    commit: ["pending_destinations"],
    why: "it reads a link before it is known whose it is",
  },
  "core/partners/search.ts": {
    outside: ["partners"],
    why: "the form of a text that nobody sees, with what it was as guard",
  },
  "core/operations/recount-codes.ts": { outside: ["code_days"], why: "as the counts of events" },
  "core/operations/recount-earnings.ts": {
    outside: ["earning_days", "partner_sales", "sale_days"],
    why: "as the counts of events",
  },
  "core/operations/recount-lists.ts": { outside: ["list_counts", "list_days"], why: "as the counts of events" },
  "core/operations/reseal.ts": { outside: ["${table}"], why: "the same secret under another key" },
  "core/operations/retention.ts": {
    outside: [
      "${sql.raw(table)}",
      "applications",
      "deliveries",
      "delivery_attempts",
      "missed_deliveries",
      "provider_events",
    ],
    why: "what is past its time is forgotten; the log stays",
  },
  "core/operations/size-warning.ts": {
    outside: ["size_warnings"],
    why: "of a database and of no program: there is no log for it",
  },
  "core/webhooks/actions.ts": {
    outside: [],
    commit: ["deliveries", "messages", "webhook_endpoints"],
    why: "it runs reads, and the claims of kernel/deliveries.ts",
  },
  "core/customers/erase.ts": {
    outside: [],
    commit: ["${sql.raw(table)}", "commissions", "fact_subjects", "facts", "payments", "provider_events"],
    why: "it runs reads",
  },
  "clicks/store.ts": { outside: ["batches", "name", "object", "split"], why: "the click object's own database" },
};

/** The tables that statements of a text write, in SQL and by drizzle, by their names in SQL. */
function writtenIn(text: string): string[] {
  const code = text.replaceAll(/^\s*(?:\/?\*|\/\/).*$/gm, "");
  const inSql = [...code.matchAll(/\b(?:insert (?:or \w+ )?into|delete from|update) (\$\{[^}]*\}|[a-z_]+)(?=[\s(])/g)];
  const built = [...code.matchAll(/\bdb\s*\.(?:insert|update|delete)\((\w+)\)/g)];
  const names = [...inSql, ...built].map(([, name]) =>
    name!.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
  );
  return [...new Set(names)].filter((name) => name !== "set").toSorted();
}

/** Whether a text runs statements itself. */
function runs(text: string): boolean {
  return /\b(?:runBatch|runRaw)\(|\bawait [\w.]*\bdb\s*\.(?!select\b)\w+\(|\.run\(\)|\.prepare\(|\bawait shaped\(/.test(
    text,
  );
}

interface Writing {
  file: string;
  text: string;
  tables: string[];
}

/** The problem of a file's writes; null if they are as listed, or only handed to `commit`. */
function problemOf({ file, text, tables }: Writing): string | null {
  const listed = LISTED[file];
  if (listed) {
    const known = [...new Set([...listed.outside, ...(listed.commit ?? [])])].toSorted();
    return known.join() === tables.join()
      ? null
      : `${file} writes ${tables.join(", ")}; listed are ${known.join(", ")}`;
  }
  if (runs(text)) return `${file} writes ${tables.join(", ")} and runs statements itself`;
  return /\bcommit\(|\bWrite\b|\bCommitPlan\b/.test(text) ? null : `${file} writes ${tables.join(", ")} for nobody`;
}

describe("what writes to the database", () => {
  const files = globSync("src/**/*.{ts,tsx}", { cwd: ROOT })
    .map((file) => file.replaceAll("\\", "/"))
    .filter((file) => !/^src\/(?:dev|client|tracker)\//.test(file));
  const writing = files
    .map((file) => ({ file: file.slice("src/".length), text: readFileSync(`${ROOT}${file}`, "utf8") }))
    .map((one): Writing => ({ ...one, tables: writtenIn(one.text) }))
    .filter(({ tables }) => tables.length > 0);

  it("is commit, or listed with its reason", () => {
    assert.ok(files.length > 200);
    const problems = writing.map(problemOf).filter((problem) => problem !== null);
    assert.deepEqual(problems, []);
  });

  it("changes an existing partner in one file, which starts the hold of payouts (OUT-24)", () => {
    const changes =
      /\bupdate\(partners\)|\bupdate partners\b|into partners\b[^;]*\bon conflict|insert\(partners\)[^;]*onConflict/;
    const changing = writing.filter(({ text }) => changes.test(text)).map(({ file }) => file);
    // The other one writes `search_text` alone.
    assert.deepEqual(changing.toSorted(), ["core/partners/change-destination.ts", "core/partners/search.ts"]);
  });

  it("is listed only where it is there", () => {
    const there = new Set(writing.map(({ file }) => file));
    assert.deepEqual(
      Object.keys(LISTED).filter((file) => !there.has(file)),
      [],
    );
  });

  it("is found in each form", () => {
    for (const [code, table] of [
      ["await runBatch(db, [db.run(sql`insert into partners (id) values (1)`)]);", "partners"],
      ["await runBatch(db, [db.run(sql`insert or ignore into partners values (1)`)]);", "partners"],
      ["await ctx.db.run(sql`update partner_slugs set slug = 1`);", "partner_slugs"],
      ["await ctx.db.delete(partnerSlugs).where(mine);", "partner_slugs"],
      ["await on.db\n  .insert(partners)\n  .values(row);", "partners"],
      ["return db.update(partners).set(row).run();", "partners"],
      ["await db.all(sql`update partners set slug = 1 returning id`);", "partners"],
      ["await shaped(db, SHAPE, sql`delete from partners where id = ${id} returning id`);", "partners"],
    ] as const) {
      const tables = writtenIn(code);
      assert.deepEqual(tables, [table]);
      assert.match(problemOf({ file: "core/partners/new.ts", text: code, tables }) ?? "", /runs statements itself/);
      assert.match(problemOf({ file: "core/jobs/job-runs.ts", text: code, tables }) ?? "", /listed are job_runs/);
    }
    const forCommit = "const write: Write = { statement: ctx.db.update(partners).set(row), expect: 1 };";
    assert.equal(problemOf({ file: "core/partners/new.ts", text: forCommit, tables: writtenIn(forCommit) }), null);
  });
});
