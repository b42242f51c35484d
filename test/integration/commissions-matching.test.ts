/**
 * COM-5: bulk actions accept `filter` (the list's query) instead of `ids`, process all matches in resumable steps, never
 * include flagged commissions without `include_flagged: true`, and report `{matched, changed, skipped}`.
 */
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { updateMatching } from "../../src/core/commissions/bulk.ts";
import { forProgram, type ProgramCtx } from "../../src/core/kernel/context.ts";
import { openDatabase } from "../../src/db/client.ts";
import { commissionById, commissionPath, eventsOf, listening, sentFor } from "../support/commissions.ts";
import { commissionsOf, makeCommissions } from "../support/payouts.ts";
import { makePartner, programContext, testContext, type TestProgram } from "../support/program.ts";
import { watchDatabase, type Faults } from "../support/watched-database.ts";
import { holdClock } from "../support/time.ts";

interface BulkBody {
  data: { id: string; ok: boolean; status?: string; error?: { code: string; message: string } }[];
  matched: number;
  changed: number;
  skipped: number;
  remaining: number;
  error?: { code: string; details?: { path: string }[] };
}

const bulk = (program: TestProgram, body: unknown, headers?: HeadersInit) =>
  program.api<BulkBody>("POST", commissionPath("bulk"), body, headers);

const reportOf = ({ matched, changed, skipped, remaining }: BulkBody) => ({ matched, changed, skipped, remaining });

const clock = () => Date.now();

/** Whether a statement moves the commissions of a filter. */
const isMove = (sql: string) => /^\s*update commissions set status/.test(sql);

/** The program's context on a database that a test watches. */
function on(program: TestProgram, faults: Faults): ProgramCtx {
  const db = openDatabase(watchDatabase(env.DB, faults).binding);
  return forProgram({ ...testContext(), db }, program.program);
}

async function statusesOf(program: TestProgram): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const { status, flagged } of await commissionsOf(program)) {
    const key = flagged ? `${status}, flagged` : status;
    counts[key] = (counts[key] ?? 0) + 1;
  }
  return counts;
}

describe("flagged commissions in a bulk change (COM-5)", () => {
  it("are left out of ids and of a filter, with the reason, and stay as they are", async () => {
    const { program, jane } = await listening();
    const [plain, flagged] = await makeCommissions(program, jane.id, [
      { status: "pending" },
      { status: "pending", flagged: true, review_reason: "self_referral" },
    ]);
    const { body } = await bulk(program, { ids: [flagged!.id], status: "approved" });
    expect(body.data).toMatchObject([{ id: flagged!.id, ok: false, error: { code: "flagged" } }]);
    expect(reportOf(body)).toEqual({ matched: 1, changed: 0, skipped: 1, remaining: 0 });
    for (const status of ["approved", "rejected"]) {
      const all = await bulk(program, { filter: { flagged: true }, status });
      expect(reportOf(all.body)).toEqual({ matched: 1, changed: 0, skipped: 1, remaining: 0 });
    }
    const both = await bulk(program, { filter: { status: "pending" }, status: "approved" });
    expect(reportOf(both.body)).toEqual({ matched: 2, changed: 1, skipped: 1, remaining: 0 });
    expect((await commissionById(plain!.id)).status).toBe("approved");
    expect(await commissionById(flagged!.id)).toEqual(flagged);
    expect((await eventsOf(program, "commission.updated")).map(({ payload }) => payload.commission_id)).toEqual([
      plain!.id,
    ]);
  });

  it("that are named one by one are rejected like any other", async () => {
    const { program, jane } = await listening();
    const [row] = await makeCommissions(program, jane.id, [
      { status: "pending", flagged: true, review_reason: "self_referral" },
    ]);
    const { body } = await bulk(program, { ids: [row!.id], status: "rejected", reason: "Their own order" });
    expect(body.data).toMatchObject([{ ok: true, status: "rejected" }]);
  });

  it("go along where they are asked for", async () => {
    const { program, jane } = await listening();
    const rows = await makeCommissions(
      program,
      jane.id,
      Array.from({ length: 3 }, () => ({ status: "pending" as const, flagged: true, review_reason: "manual" })),
    );
    const one = await bulk(program, { ids: [rows[0]!.id], status: "approved", include_flagged: true });
    expect(one.body.data).toMatchObject([{ ok: true, status: "approved" }]);
    const rest = await bulk(program, { filter: { status: "pending" }, status: "rejected", include_flagged: true });
    expect(reportOf(rest.body)).toEqual({ matched: 2, changed: 2, skipped: 0, remaining: 0 });
    expect(await statusesOf(program)).toEqual({ "approved, flagged": 1, "rejected, flagged": 2 });
  });

  it("that are flagged between the reading and the writing are left out", async () => {
    const { program, jane } = await listening();
    const rows = await makeCommissions(program, jane.id, [{ status: "pending" }, { status: "pending" }]);
    let isFirst = true;
    const before = async (statements: string[]) => {
      if (!isFirst || !statements.some(isMove)) return;
      isFirst = false;
      await env.DB.prepare("update commissions set flagged = 1, updated_at = ? where id = ?")
        .bind(new Date().toISOString(), rows[0]!.id)
        .run();
    };
    const report = await updateMatching(
      on(program, { before }),
      { status: "pending" },
      { status: "approved" },
      { clock },
    );
    expect(report.changed).toBe(1);
    expect(await statusesOf(program)).toEqual({ "pending, flagged": 1, approved: 1 });
  });
});

describe("all that match a filter (COM-5)", () => {
  it("is the query of the list, and no other program's", async () => {
    const { program, jane } = await listening();
    const joe = await makePartner(program);
    const other = await listening();
    await makeCommissions(other.program, other.jane.id, [{ status: "pending" }]);
    const at = (day: string) => ({ status: "pending" as const, created_at: `2026-03-${day}T12:00:00.000Z` });
    const rows = await makeCommissions(program, jane.id, [
      at("01"),
      at("31"),
      { ...at("15"), provider: "provider_b" },
      { status: "paid" },
      { status: "approved" },
    ]);
    await makeCommissions(program, joe.id, [at("15")]);
    const march = {
      status: "pending",
      partner_id: jane.id,
      provider: "provider_a",
      from: "2026-03-01",
      to: "2026-03-30",
    };
    const first = await bulk(program, { filter: march, status: "approved" });
    expect(reportOf(first.body)).toEqual({ matched: 1, changed: 1, skipped: 0, remaining: 0 });
    expect((await commissionById(rows[0]!.id)).status).toBe("approved");
    const rest = await bulk(program, { filter: {}, status: "approved" });
    expect(reportOf(rest.body)).toEqual({ matched: 6, changed: 3, skipped: 3, remaining: 0 });
    expect(await statusesOf(program)).toEqual({ approved: 5, paid: 1 });
    expect(await statusesOf(other.program)).toEqual({ pending: 1 });
  });

  it("is never all of the program for an id that is nobody's, not for an empty one either", async () => {
    const { program, jane } = await listening();
    await makeCommissions(program, jane.id, [{ status: "pending" }]);
    for (const match of [{ partner_id: "" }, { payout_id: "" }, { partner_id: "par_none" }]) {
      const report = await updateMatching(programContext(program), match, { status: "approved" }, { clock });
      expect(report).toEqual({ matched: 0, changed: 0, skipped: 0, remaining: 0 });
    }
    expect(await statusesOf(program)).toEqual({ pending: 1 });
  });

  it("leaves out what is in a payout, and takes every status from which there is such a move", async () => {
    const { program, jane } = await listening();
    await makeCommissions(program, jane.id, [{ status: "approved" }]);
    await program.api("POST", "/api/v1/payouts/generate", {});
    await makeCommissions(program, jane.id, [{ status: "approved" }, { status: "pending" }, { status: "rejected" }]);
    const { body } = await bulk(program, { filter: {}, status: "rejected", reason: "Returned" });
    expect(reportOf(body)).toEqual({ matched: 4, changed: 2, skipped: 2, remaining: 0 });
    const rejected = (await commissionsOf(program)).filter(({ status }) => status === "rejected");
    expect(rejected.map(({ rejected_reason }) => rejected_reason).toSorted()).toEqual(["Returned", "Returned", null]);
    const back = await bulk(program, { filter: { status: "rejected" }, status: "pending" });
    expect(back.body.changed).toBe(3);
    expect(
      (await commissionsOf(program)).every(({ rejected_reason, approved_at, status }) =>
        status === "pending" ? rejected_reason === null && approved_at === null : true,
      ),
    ).toBe(true);
    expect(reportOf((await bulk(program, { filter: {}, status: "paid" })).body)).toMatchObject({
      changed: 0,
      skipped: 4,
    });
  });

  it("writes each to the log and the endpoints as a single change does (COM-12)", async () => {
    const { program, jane } = await listening();
    const [one, many] = await makeCommissions(program, jane.id, [{ status: "pending" }, { status: "pending" }]);
    await program.api("PATCH", commissionPath(one!.id), { status: "rejected", reason: "Returned" });
    await bulk(program, { filter: { status: "pending" }, status: "rejected", reason: "Returned" });
    const events = await eventsOf(program, "commission.updated");
    const [ofMany, ofOne] = [many, one].map((row) => events.find(({ payload }) => payload.commission_id === row!.id)!);
    expect({ ...ofMany!.payload, commission_id: one!.id }).toEqual(ofOne!.payload);
    const changesOf = async ({ id }: { id: string }) =>
      (await program.api<{ changes: unknown }>("GET", `/api/v1/events/${id}`)).body.changes;
    expect(await changesOf(ofMany!)).toEqual(await changesOf(ofOne!));
    const sent = await sentFor(ofMany!);
    expect(sent).toMatchObject({ event: "commission.updated", data: { id: many!.id, status: "rejected" } });
  });

  it("refuses both, neither, and what the list does not know", async () => {
    const { program } = await listening();
    for (const [body, path] of [
      [{ status: "approved" }, "ids"],
      [{ ids: ["com_x"], filter: {}, status: "approved" }, "ids"],
      [{ filter: { color: "red" }, status: "approved" }, "filter.color"],
      [{ filter: { from: "yesterday" }, status: "approved" }, "filter.from"],
      [{ filter: { flagged: "yes" }, status: "approved" }, "filter.flagged"],
      [{ filter: { status: "new" }, status: "approved" }, "filter.status"],
      [{ filter: { partner_id: "" }, status: "approved" }, "filter.partner_id"],
      [{ filter: { payout_id: "" }, status: "approved" }, "filter.payout_id"],
      [{ filter: {}, status: "approved", reason: "why" }, "reason"],
      [{ filter: {}, status: "approved", include_flagged: "yes" }, "include_flagged"],
    ] as const) {
      const reply = await bulk(program, body);
      expect([body, reply.status, reply.body.error?.details?.[0]?.path]).toEqual([body, 422, path]);
    }
  });
});

const MANY = 7_300;

/** Makes many pending commissions at once; every hundredth is flagged. */
async function makeMany(program: TestProgram, partner_id: string): Promise<void> {
  const [model] = await makeCommissions(program, partner_id, [{ status: "paid" }]);
  const columns = Object.keys(model!).filter((name) => name !== "id" && name !== "status" && name !== "flagged");
  await env.DB.prepare(
    `with recursive n(i) as (select 1 union all select i + 1 from n where i < ${MANY})
    insert into commissions (id, status, flagged, ${columns.join(", ")})
    select substr(commissions.id, 1, 24) || printf('%06d', i), 'pending', i % 100 = 0, ${columns.join(", ")}
    from n cross join commissions where id = ?`,
  )
    .bind(model!.id)
    .run();
  await env.DB.prepare("delete from commissions where id = ?").bind(model!.id).run();
}

describe("more than one step does (COM-5)", () => {
  it("is done in calls that say what is left, and each commission changes once", async () => {
    holdClock();
    const { program, jane } = await listening();
    await makeMany(program, jane.id);
    const flagged = MANY / 100;
    const change = { filter: { partner_id: jane.id }, status: "approved" };
    const first = await bulk(program, change);
    expect(reportOf(first.body)).toEqual({
      matched: MANY,
      changed: 5_000,
      skipped: flagged,
      remaining: MANY - flagged - 5_000,
    });
    const second = await bulk(program, change);
    expect(reportOf(second.body)).toEqual({
      matched: MANY,
      changed: MANY - flagged - 5_000,
      skipped: flagged + 5_000,
      remaining: 0,
    });
    expect(await statusesOf(program)).toEqual({ approved: MANY - flagged, "pending, flagged": flagged });
    const { body } = await program.api<{ total: number }>("GET", "/api/v1/events?type=commission.updated");
    expect(body.total).toBe(MANY - flagged);
  });

  it("can be broken off at any step: what is done stays, with its events, and the next call does the rest", async () => {
    holdClock();
    const { program, jane } = await listening();
    await makeMany(program, jane.id);
    let moves = 0;
    const before = (statements: string[]) => {
      if (statements.some(isMove) && ++moves === 3) throw new Error("the database is away");
    };
    const match = { status: "pending" } as const;
    await expect(updateMatching(on(program, { before }), match, { status: "approved" }, { clock })).rejects.toThrow();
    const total = async () =>
      (await program.api<{ total: number }>("GET", "/api/v1/events?type=commission.updated")).body.total;
    expect(await statusesOf(program)).toMatchObject({ approved: 1_000 });
    expect(await total()).toBe(1_000);
    for (;;) {
      const { body } = await bulk(program, { filter: match, status: "approved" });
      if (body.remaining === 0) break;
    }
    expect(await total()).toBe(MANY - MANY / 100);
  });

  it("takes no more than matched when it began", async () => {
    const { program, jane } = await listening();
    await makeCommissions(program, jane.id, [{ status: "pending" }, { status: "rejected" }]);
    let isFirst = true;
    const before = async (statements: string[]) => {
      if (!isFirst || !statements.some((sql) => /^\s*select id from "commissions"/.test(sql))) return;
      isFirst = false;
      await makeCommissions(program, jane.id, [{ status: "pending" }, { status: "pending" }]);
    };
    const report = await updateMatching(on(program, { before }), {}, { status: "approved" }, { clock });
    expect([isFirst, report]).toEqual([false, { matched: 2, changed: 1, skipped: 1, remaining: 0 }]);
    expect(await statusesOf(program)).toEqual({ approved: 1, pending: 2, rejected: 1 });
  });

  it("leaves one that changes after it is chosen, if the person saw an earlier state (COM-5)", async () => {
    const { program, jane } = await listening();
    const rows = await makeCommissions(program, jane.id, [{ status: "pending" }, { status: "pending" }]);
    const seen = { at: new Date().toISOString(), count: 2 };
    let isChosen = false;
    const before = async (statements: string[]) => {
      if (isChosen && statements.some((sql) => sql.startsWith("select") && sql.includes('from "commissions"'))) {
        isChosen = false;
        await env.DB.prepare("update commissions set amount_cents = amount_cents + 1, updated_at = ? where id = ?")
          .bind(new Date(Date.parse(seen.at) + 1_000).toISOString(), rows[0]!.id)
          .run();
      }
      if (statements.some((sql) => /^\s*select id from "commissions"/.test(sql))) isChosen = true;
    };
    const match = { status: "pending" } as const;
    const report = await updateMatching(on(program, { before }), match, { status: "approved" }, { clock, seen });
    expect(report.changed).toBe(1);
    expect((await commissionById(rows[0]!.id)).status).toBe("pending");
  });

  it("begins no step once the time for one call is over", async () => {
    const { program, jane } = await listening();
    await makeMany(program, jane.id);
    let now = 0;
    const slow = () => (now += 6_000);
    const report = await updateMatching(programContext(program), {}, { status: "approved" }, { clock: slow });
    expect(report).toEqual({
      matched: MANY,
      changed: 500,
      skipped: MANY / 100,
      remaining: MANY - MANY / 100 - 500,
    });
  });
});
