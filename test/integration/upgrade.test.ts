/**
 * The upgrade of a filled database of before the journal (src/docs/deploy.md): migrations, then the job that posts what
 * the rows say, killed again and again. Nothing changes in the rows, the balances are their sums, and what the version
 * before left wrong is reported by the reconciler.
 */
import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it, vi } from "vitest";
import { forProgram, type ProgramCtx } from "../../src/core/kernel/context.ts";
import { journalOldCommissions, listEntries, readBalance } from "../../src/core/ledger/journal.ts";
import { getPartner, listPartners, updatePartner } from "../../src/core/partners/partners.ts";
import { createLinkByHand } from "../../src/core/sessions/sign-in.ts";
import { foldSearchTexts } from "../../src/core/partners/search.ts";
import { recountEarnings } from "../../src/core/operations/recount-earnings.ts";
import { selectPrograms } from "../../src/core/kernel/program-rows.ts";
import { openDatabase } from "../../src/db/client.ts";
import type { decisions } from "../../src/db/schema.ts";
import { judgedBy, type DecisionKind } from "../../src/domain/decision.ts";
import { accountOf, type JournalAccount } from "../../src/domain/journal.ts";
import { percent } from "../../src/domain/money.ts";
import { iso } from "../../src/lib/time.ts";
import { fill, goBack, goOn, goOnMetered, LEFT_WRONG } from "../support/before-journal.ts";
import { serveAll } from "../support/jobs.ts";
import { meterDatabase } from "../support/metered-database.ts";
import type { CommissionRow, PayoutRow } from "../support/payouts.ts";
import { testContext } from "../support/program.ts";
import { reconcileRound } from "../support/reconcile.ts";
import { all, type Entry } from "../support/rows.ts";
import { followLink, makeVisitor, textOf } from "../support/visitor.ts";

/** 38 payments each. */
const COPIES = 264;
/** Of which the reconciler goes through all. */
const LOOKED_AT = 4;
/** The platform's: values of a statement, and its bytes. */
const MOST_VALUES = 100;
const MOST_BYTES = 100_000;
/** A statement of a migration goes over a table once: rows for each of the fullest table, with what it writes to others. */
const MOST_TIMES = 2;
/** Rows that one statement of the job reads and writes: of 500 commissions, or of 10,000 that are looked through. */
const MOST_ROWS = 45_000;

/** Each commission as it is, with when its payout was made and the slug of its partner. */
async function commissionsOf(program_id: string) {
  const rows = await all<CommissionRow & { held_at: string | null; slug: string }>(
    `select c.*, x.created_at as held_at, p.slug as slug from commissions c join partners p on p.id = c.partner_id
      left join payouts x on x.id = c.payout_id where c.program_id = ? order by c.id`,
    program_id,
  );
  return rows;
}

/** An entry that no event has posted. */
type Posted = Omit<Entry, "id">;

/** The entries that a commission's row says, from its columns alone. */
function entriesOf(row: Awaited<ReturnType<typeof commissionsOf>>[number]): Posted[] {
  const { id: commission_id, partner_id, currency, amount_cents: amount } = row;
  const post = (
    from: JournalAccount,
    to: JournalAccount,
    posted_at: string | null,
    payout_id: string | null = null,
  ) => ({
    ...{ commission_id, partner_id, currency, payout_id, amount_cents: Math.abs(amount), posted_at: posted_at ?? "" },
    event_id: null,
    ...(amount > 0 ? { from_account: from, to_account: to } : { from_account: to, to_account: from }),
  });
  const account = accountOf(row);
  if (amount === 0 || account === "expense") return [];
  if (account === "forgiven") {
    return [post("expense", "payable", row.created_at), post("payable", "forgiven", row.updated_at)];
  }
  const entries = [post("expense", "pending", row.created_at)];
  if (account === "pending") return entries;
  entries.push(post("pending", "payable", row.approved_at));
  if (account === "payable") return entries;
  entries.push(post("payable", "in_payout", row.held_at, row.payout_id));
  return account === "paid" ? [...entries, post("in_payout", "paid", row.paid_at, row.payout_id)] : entries;
}

function sorted(entries: readonly Posted[]): string[] {
  return entries
    .map((one) =>
      [one.commission_id, one.from_account, one.to_account, one.partner_id, one.currency, one.amount_cents]
        .concat(one.posted_at, one.payout_id ?? "", one.event_id ?? "")
        .join(" "),
    )
    .toSorted();
}

/** A decision of which nobody knows who took it. */
type OldDecision = Omit<typeof decisions.$inferSelect, "id">;

/** The decisions that a commission's row says; a difference is approved by nobody. */
function decisionsOf(row: Awaited<ReturnType<typeof commissionsOf>>[number]): OldDecision[] {
  const { program_id, partner_id, id: commission_id, kind: commission_kind, status, updated_at } = row;
  if (commission_kind === "clawback" && status !== "rejected") return [];
  const about = {
    program_id,
    subject: row.payment_id ?? row.id,
    partner_id,
    commission_id,
    commission_kind,
    actor: null,
  };
  const taken = (isTaken: boolean, kind: DecisionKind, detail: string | null, created_at: string) =>
    isTaken ? [{ ...about, kind, detail, created_at }] : [];
  return [
    ...taken(status === "approved" || status === "paid", "approve", null, row.approved_at ?? updated_at),
    ...taken(status === "rejected", "reject", row.rejected_reason, updated_at),
    ...taken(row.dismissed_reasons !== "", "dismiss", row.dismissed_reasons, updated_at),
    ...taken(row.review_reason === "manual", "flag", null, updated_at),
  ];
}

/** All decisions about each commission, in the order taken. */
async function keptDecisions(program_id: string): Promise<OldDecision[]> {
  const rows = await all<OldDecision & { id?: string }>(
    "select * from decisions where program_id = ? order by commission_id, id",
    program_id,
  );
  for (const row of rows) {
    expect(row.id).toMatch(/^dcn_/);
    delete row.id;
  }
  return rows;
}

/** `partner currency account` to its amount and number of commissions. */
type Books = Record<string, string>;

function booksOf(rows: readonly CommissionRow[]): Books {
  const sums = new Map<string, [number, number]>();
  for (const row of rows) {
    const account = accountOf(row);
    if (account === "expense") continue;
    for (const holder of [row.partner_id, ""]) {
      const name = `${holder} ${row.currency} ${account}`;
      const [amount, count] = sums.get(name) ?? [0, 0];
      sums.set(name, [amount + row.amount_cents, count + 1]);
    }
  }
  return Object.fromEntries([...sums].map(([name, sum]) => [name, sum.join(" ")] as const).toSorted());
}

async function keptBooks(program_id: string): Promise<Books> {
  const rows = await all<{ name: string; sum: string }>(
    `select partner_id || ' ' || currency || ' ' || account as name, amount_cents || ' ' || commissions as sum
      from balances where program_id = ? and (amount_cents <> 0 or commissions <> 0)`,
    program_id,
  );
  return Object.fromEntries(rows.map(({ name, sum }) => [name, sum] as const).toSorted());
}

interface Sent {
  sql: string;
  rows: number;
}

/**
 * The database for so many calls: then one fails, before the statement is carried out or after it, and all that follow.
 */
function dyingAfter(calls: number, after: boolean, database: D1Database): D1Database {
  let left = calls;
  const through = async <T>(ask: () => Promise<T>): Promise<T> => {
    left -= 1;
    if (left > 0) return ask();
    if (left === 0 && after) await ask();
    throw new Error("killed");
  };
  const wrap = (statement: D1PreparedStatement): D1PreparedStatement =>
    new Proxy(statement, {
      get(target, name) {
        if (name === "bind") return (...values: unknown[]) => wrap(target.bind(...values));
        const call = Reflect.get(target, name) as unknown;
        if (typeof call !== "function") return call;
        return (...given: unknown[]) => through(async () => (await Reflect.apply(call, target, given)) as unknown);
      },
    });
  return { prepare: (sql: string) => wrap(database.prepare(sql)) } as D1Database;
}

/** Whatever the upgrade must not change. */
async function untouched(): Promise<unknown[][]> {
  return [
    await all("select * from payments order by id"),
    await all("select * from payouts order by id"),
    await all("select * from facts order by fact_id"),
    (await all<CommissionRow>("select * from commissions order by id")).map((row) => ({ ...row, journaled: 1 })),
  ];
}

async function contextOf(program_id: string): Promise<ProgramCtx> {
  const ctx = testContext();
  const [program] = await selectPrograms(ctx.db);
  expect(program!.id).toBe(program_id);
  return forProgram(ctx, program!);
}

/** Gives the rows days that are long ago and days of this month, whenever this runs. */
async function spread(tables: readonly string[]): Promise<void> {
  for (const table of tables) {
    const age = "rowid % 5 * 15";
    await env.DB.prepare(
      `update ${table} set created_at = strftime('%Y-%m-%dT%H:%M:%fZ', ?, '-' || (${age}) || ' days')`,
    )
      .bind(iso(Date.now()))
      .run();
  }
}

const EARNED = `select substr(created_at, 1, 10) as day, partner_id, currency, count(*) as n, sum(amount_cents) as sum
  from commissions where program_id = ? and status <> 'rejected' group by 1, 2, 3 order by 1, 2, 3`;
const KEPT_EARNED = `select day, partner_id, currency, commissions as n, amount_cents as sum
  from earning_days where program_id = ? order by 1, 2, 3`;
const COUNTED_PAYMENTS = `select substr(created_at, 1, 10) as day, outcome as state, count(*) as n from payments
  where program_id = ? and outcome is not null group by 1, 2 order by 1, 2`;
const KEPT_PAYMENTS = `select day, state, count as n from list_days where program_id = ? and list = 'payments'
  order by 1, 2`;
/** What is left to jobs: texts to fold, and balances without a count of their entries. */
const LEFT = `select (select count(*) from partners p where p.program_id = ?1
      and not exists (select 1 from partner_grams g where g.program_id = p.program_id and g.partner_id = p.id)) as texts,
    (select count(*) from balances where program_id = ?1 and partner_id <> '' and entries is null) as counts`;
const PAGE = { page: 1, per_page: 100 };
/** The migrations to 0023. */
const BEFORE_ENTRY_COUNTS = 24;

afterEach(() => vi.restoreAllMocks());

describe("the upgrade of 10,000 payments of before the journal", () => {
  it("posts what each row says, within the platform's limits, however often it is killed", async () => {
    vi.spyOn(console, "error").mockImplementation(() => {});
    vi.spyOn(console, "info").mockImplementation(() => {});
    await goBack(env.DB);
    const program_id = await fill(env.DB, COPIES);
    const [[counted], old] = [
      await all<{ n: number }>("select count(*) as n from payments"),
      (await all<PayoutRow>("select * from payouts order by id")).length,
    ];
    expect(counted!.n).toBeGreaterThanOrEqual(10_000);
    expect(old).toBeGreaterThan(1_000);
    const [fullest] = await all<{ n: number }>("select count(*) as n from fact_subjects");
    const migrated = await goOnMetered(env.DB);
    const tooLarge = migrated.filter(
      ({ sql, rows: touched }) => sql.length > MOST_BYTES || touched > MOST_TIMES * fullest!.n,
    );
    expect(tooLarge).toEqual([]);
    const before = await untouched();
    const ctx = await contextOf(program_id);
    const rows = await commissionsOf(program_id);
    const books = booksOf(rows);
    const flagged = rows.filter((row) => row.flagged).length;
    expect(await all("select state, count as n from list_counts where list = 'flagged'")).toEqual([
      { state: "pending", n: flagged },
    ]);
    const some = rows.filter((_, i) => i % 997 === 0).map(({ partner_id }) => partner_id);
    const shown = async () =>
      Promise.all(some.map(async (id) => [await readBalance(ctx, id), (await getPartner(ctx, id)).stats]));
    const said = await shown();

    const sent: Sent[] = [];
    const metered = meterDatabase(env.DB, ({ rows_read, rows_written }, sql) => {
      sent.push({ sql, rows: rows_read + rows_written });
    });
    let killed = 0;
    for (let round = 0; round < 24; round++) {
      const db = openDatabase(dyingAfter((round % 4) + 1, round % 3 === 0, metered));
      await serveAll(journalOldCommissions({ db })).catch(() => (killed += 1));
    }
    expect(killed).toBe(24);
    expect(await shown()).toEqual(said);
    const [left] = await all<{ n: number }>("select count(*) as n from commissions where journaled = 0");
    expect(left!.n).toBeGreaterThan(0);
    expect(left!.n).toBeLessThan(rows.length);
    const job = () => serveAll(journalOldCommissions({ db: openDatabase(metered) }));
    await Promise.all([job(), job()]);
    expect(await job()).toBe(0);

    const beyond = sent.filter(({ sql, rows: touched }) => {
      const values = sql.match(/\?/g)?.length ?? 0;
      return values > MOST_VALUES || sql.length > MOST_BYTES || touched > MOST_ROWS;
    });
    expect(beyond).toEqual([]);
    expect(await untouched()).toEqual(before);
    const entries = await all<Entry>("select * from entries where program_id = ?", program_id);
    expect(sorted(entries)).toEqual(sorted(rows.flatMap(entriesOf)));
    const decided = await keptDecisions(program_id);
    expect(decided).toEqual(rows.flatMap(decisionsOf));
    expect([...new Set(decided.map(({ kind }) => kind))].toSorted()).toEqual(["approve", "dismiss", "flag", "reject"]);
    // Together they come to what the row is.
    const taken = Map.groupBy(decided, ({ commission_id }) => commission_id);
    for (const row of rows.filter(({ kind }) => kind !== "clawback")) {
      const judged = judgedBy(taken.get(row.id) ?? []);
      const { status, dismissed_reasons } = row;
      expect(judged).toMatchObject({ status: status === "paid" ? "approved" : status, dismissed_reasons });
    }
    expect(await keptBooks(program_id)).toEqual(books);
    expect(await shown()).toEqual(said);
  });

  it("fills what is kept by day, and what jobs fill is right before they have run and after", async () => {
    vi.spyOn(console, "error").mockImplementation(() => {});
    vi.spyOn(console, "info").mockImplementation(() => {});
    await goBack(env.DB);
    const program_id = await fill(env.DB, LOOKED_AT);
    await spread(["commissions", "payments"]);
    // Balances of before their entries were counted.
    await goOn(env.DB, BEFORE_ENTRY_COUNTS);
    await serveAll(journalOldCommissions(testContext()));
    await goOn(env.DB);
    const earned = await all<{ day: string }>(EARNED, program_id);
    expect(earned.length).toBeGreaterThan(40);
    expect(await all(KEPT_PAYMENTS, program_id)).toEqual(await all(COUNTED_PAYMENTS, program_id));

    const ctx = await contextOf(program_id);
    const partners = await all<{ id: string; slug: string }>(
      "select id, slug from partners where program_id = ? limit 12",
      program_id,
    );
    const shown = async () =>
      Promise.all(
        partners.map(async ({ id, slug }) => [
          (await listPartners(ctx, { ...PAGE, search: slug.slice(2) })).total,
          (await listEntries(ctx, id, PAGE)).total,
        ]),
      );
    const said = await shown();
    expect(said.flat().filter((total) => total > 0).length).toBeGreaterThan(20);
    const [left] = await all<{ texts: number; counts: number }>(LEFT, program_id);
    expect(left!.texts > 0 && left!.counts > 0).toBe(true);
    await serveAll(foldSearchTexts(testContext()));
    await serveAll(recountEarnings(testContext()));
    expect(await all(LEFT, program_id)).toEqual([{ texts: 0, counts: 0 }]);
    expect(await shown()).toEqual(said);
    expect(await all(KEPT_EARNED, program_id)).toEqual(earned);
  });

  it("counts the leads that were stored before their list was (PAGE-24)", async () => {
    await goBack(env.DB);
    const program_id = await fill(env.DB, LOOKED_AT);
    await goOn(
      env.DB,
      env.TEST_MIGRATIONS.findIndex(({ name }) => name.endsWith("_lead_list.sql")),
    );
    await all("update payments set event = 'lead_created' where program_id = ? and rowid % 3 = 0", program_id);
    await goOn(env.DB);
    const counted = await all(
      `select ifnull(outcome, '') as state, count(*) as count from payments
        where program_id = ? and event = 'lead_created' group by 1 order by 1`,
      program_id,
    );
    expect(counted.length).toBeGreaterThan(1);
    const kept = "select state, count from list_counts where program_id = ? and list = 'leads' order by 1";
    expect(await all(kept, program_id)).toEqual(counted);
  });

  it("makes the owner of a program of before teams its first member, who signs in (TEAM-5)", async () => {
    await goBack(env.DB);
    const program_id = await fill(env.DB, 1);
    const last = env.TEST_MIGRATIONS.findIndex(({ name }) => name.endsWith("_program_members.sql"));
    await goOn(env.DB, last);
    const [owner] = await all<{ email: string; created_at: string }>(
      "update programs set owner_email = 'Owner@Shop.example' where id = ? returning owner_email as email, created_at",
      program_id,
    );
    await goOn(env.DB, last + 1);
    const members = () => all("select program_id, email, role, created_at from program_members");
    expect(await members()).toEqual([{ program_id, ...owner!, role: "owner" }]);
    // As the version before moves a program to another address, while the newer schema is there.
    await all("update programs set owner_email = 'next@shop.example' where id = ?", program_id);
    expect(await members()).toEqual([{ program_id, ...owner!, email: "next@shop.example", role: "owner" }]);
    await goOn(env.DB);
    const { token } = await createLinkByHand(testContext(), "next@shop.example");
    const visitor = makeVisitor();
    expect((await followLink(visitor, token)).headers.get("location")).toBe("/dashboard");
    expect(textOf((await visitor.get("/dashboard/settings/team")).body)).toContain("next@shop.example");
  });

  it("a rate can be applied to what the version before has decided", async () => {
    await goBack(env.DB);
    const program_id = await fill(env.DB, 1);
    await goOn(env.DB);
    const open = `from commissions c join payments p on p.id = c.payment_id where c.program_id = ? and c.kind = 'sale'
      and c.status = 'pending' and c.rate ->> '$.source' <> 'flow' and p.adjusted_cents = 0 and p.outcome = 'commission'`;
    const [one] = await all<{ partner_id: string; since: string }>(
      `select c.partner_id as partner_id, min(p.created_at) as since ${open} group by 1 limit 1`,
      program_id,
    );
    const { partner_id, since } = one!;
    await updatePartner(await contextOf(program_id), partner_id, {
      commission_pct: percent(50),
      apply_from: Date.parse(since),
    });
    const rows = await all<{ half: number }>(
      `select abs(c.amount_cents * 2 - c.txn_amount_cents) < 2 as half ${open} and c.partner_id = ?`,
      ...[program_id, partner_id],
    );
    expect([...new Set(rows.map(({ half }) => half))]).toEqual([1]);
  });

  it("changes nothing of what the version before left wrong: the reconciler lists it, and nothing else", async () => {
    vi.spyOn(console, "error").mockImplementation(() => {});
    vi.spyOn(console, "info").mockImplementation(() => {});
    await goBack(env.DB);
    const program_id = await fill(env.DB, LOOKED_AT);
    await goOn(env.DB);
    await serveAll(journalOldCommissions(testContext()));
    const before = [await untouched(), await keptBooks(program_id)];
    await reconcileRound(await contextOf(program_id), undefined, true);
    const found = await all<{ kind: string; slug: string }>(
      `select d.kind as kind, ifnull(p.slug, d.subject) as slug from differences d left join payments m on m.id = d.subject
        left join partners p on p.id = m.partner_id where d.program_id = ?`,
      program_id,
    );
    const names = found.map(({ kind, slug }) => `${kind} ${slug.replace(/^.*-/, "")}`);
    expect([...new Set(names)].toSorted()).toEqual(LEFT_WRONG.map((name) => `entitlement ${name}`));
    expect(found.length).toBe(LEFT_WRONG.length * LOOKED_AT);
    expect([await untouched(), await keptBooks(program_id)]).toEqual(before);
  });
});
