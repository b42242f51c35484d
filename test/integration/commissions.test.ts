/** Commissions by the owner's hand (contract §6). */
import { describe, expect, it } from "vitest";
import { env } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import { updateCommission, updateCommissions } from "../../src/core/commissions.ts";
import type { ProgramCtx } from "../../src/core/context.ts";
import { commissions } from "../../src/db/schema.ts";
import { COMMISSION_STATUSES, type CommissionStatus } from "../../src/domain/commission.ts";
import { iso } from "../../src/lib/time.ts";
import { sendA } from "../support/ledger.ts";
import { makePartner, makeProgram, programContext, type TestProgram } from "../support/program.ts";
import { chargeRefunded, sessionCompleted } from "../support/provider-a.ts";
import { commissionsOf, db, makeCommissions, type CommissionRow } from "../support/payouts.ts";

interface CommissionBody {
  id: string;
  status: string;
  flagged: boolean;
  review_reason: string | null;
  rejected_reason: string | null;
  approved_at: string | null;
  amount_cents: number;
  error?: { code: string; message: string; details?: { path: string }[] };
}

interface Event {
  id: string;
  payload: Record<string, unknown>;
}

const path = (id = "") => `/api/v1/commissions${id && `/${id}`}`;
const patch = (program: TestProgram, id: string, body: unknown) => program.api<CommissionBody>("PATCH", path(id), body);

async function eventsOf(program: TestProgram, type: string): Promise<Event[]> {
  const { body } = await program.api<{ data: Event[] }>("GET", `/api/v1/events?type=${type}&per_page=100`);
  return body.data;
}

async function sentFor(event: Event): Promise<{ event: string; data: unknown } | null> {
  const row = await env.DB.prepare("select body from messages where event_id = ?")
    .bind(event.id)
    .first<{ body: string }>();
  return row ? (JSON.parse(row.body) as { event: string; data: unknown }) : null;
}

async function listening(overrides: Parameters<typeof makeProgram>[0] = {}) {
  const program = await makeProgram(overrides);
  await program.api("POST", "/api/v1/webhooks", { url: "https://receiver.example.com/hook", events: ["*"] });
  const jane = await makePartner(program);
  return { program, jane };
}

const byId = async (id: string) => (await db.select().from(commissions).where(eq(commissions.id, id)))[0]!;

/** The arrows of the contract, by hand: `pending → approved`; `pending|approved → rejected`; `rejected → pending`. */
const LEGAL = new Set(["pending → approved", "pending → rejected", "approved → rejected", "rejected → pending"]);

describe("transitions of a commission", () => {
  it.each(COMMISSION_STATUSES.flatMap((from) => COMMISSION_STATUSES.map((to) => [from, to] as const)))(
    "%s → %s",
    async (from, to) => {
      const { program, jane } = await listening();
      const [row] = await makeCommissions(program, jane.id, [{ status: from }]);
      const before = await byId(row!.id);
      const body = to === "rejected" ? { status: to, reason: "a test order" } : { status: to };
      const reply = await patch(program, row!.id, body);
      const events = await eventsOf(program, "commission.updated");
      if (!LEGAL.has(`${from} → ${to}`)) {
        expect([reply.status, reply.body.error?.code]).toEqual([409, "invalid_transition"]);
        expect(await byId(row!.id)).toEqual(before);
        expect(events).toEqual([]);
        return;
      }
      expect(reply.status).toBe(200);
      expect(reply.body).toMatchObject({ status: to, rejected_reason: to === "rejected" ? "a test order" : null });
      expect(reply.body.approved_at !== null).toBe(to === "approved");
      expect((await byId(row!.id)).status).toBe(to);
      expect(events).toHaveLength(1);
      expect(events[0]!.payload).toMatchObject({
        commission_id: row!.id,
        partner_id: jane.id,
        amount_cents: 1_000,
        txn_amount_cents: 5_000,
        provider: "provider_a",
        status: to,
      });
      expect(await sentFor(events[0]!)).toMatchObject({
        event: "commission.updated",
        data: { id: row!.id, partner_id: jane.id, amount: 1_000, revenue: 5_000, status: to, currency: "USD" },
      });
    },
  );

  it("a commission inside a payout that is not canceled cannot change, in no way", async () => {
    const { program, jane } = await listening();
    const [row] = await makeCommissions(program, jane.id, [{}]);
    const { body } = await program.api<{ payouts: { id: string }[] }>("POST", "/api/v1/payouts/generate");
    const before = await byId(row!.id);
    expect(before.payout_id).toBe(body.payouts[0]!.id);
    for (const change of [{ status: "rejected" }, { flagged: true }, { status: "rejected", flagged: true }]) {
      const reply = await patch(program, row!.id, change);
      expect([reply.status, reply.body.error?.code]).toEqual([409, "invalid_transition"]);
    }
    expect(await byId(row!.id)).toEqual(before);
    expect(await eventsOf(program, "commission.updated")).toEqual([]);
    // Nothing asked, nothing refused.
    expect((await patch(program, row!.id, {})).status).toBe(200);
    await program.api("POST", `/api/v1/payouts/${body.payouts[0]!.id}/cancel`);
    expect((await patch(program, row!.id, { status: "rejected" })).status).toBe(200);
  });

  it("422 for a body that is not the contract's, 404 for another program's commission", async () => {
    const { program, jane } = await listening();
    const other = await makeProgram();
    const [row] = await makeCommissions(program, jane.id, [{ status: "pending" }]);
    for (const [body, at] of [
      [{ status: "approved", reason: "why" }, "reason"],
      [{ reason: "why" }, "reason"],
      [{ status: "done" }, "status"],
      [{ flagged: "yes" }, "flagged"],
      [{ amount_cents: 5 }, "amount_cents"],
      [{ status: "rejected", reason: "" }, "reason"],
      [{ status: "rejected", reason: "x".repeat(501) }, "reason"],
    ] as const) {
      const reply = await patch(program, row!.id, body);
      expect([reply.status, reply.body.error?.details?.[0]?.path]).toEqual([422, at]);
    }
    expect((await patch(other, row!.id, { status: "approved" })).status).toBe(404);
    expect((await other.api("GET", path(row!.id))).status).toBe(404);
    expect((await byId(row!.id)).status).toBe("pending");
  });
});

/** A context whose first reads wait for each other, so that both have seen the same state before either writes. */
function meeting(program: TestProgram, count: number): () => ProgramCtx {
  let arrived = 0;
  const all = Promise.withResolvers<void>();
  return () => {
    const ctx = programContext(program);
    let isFirst = true;
    return {
      ...ctx,
      async read(...statements) {
        const rows = await ctx.read(...statements);
        if (isFirst) {
          isFirst = false;
          if (++arrived === count) all.resolve();
          await all.promise;
        }
        return rows;
      },
    };
  };
}

describe("changes at once", () => {
  it("of two opposite transitions one wins and the other is refused; one event", async () => {
    const { program, jane } = await listening();
    for (let round = 0; round < 5; round++) {
      const [row] = await makeCommissions(program, jane.id, [{ status: "pending" }]);
      const next = meeting(program, 2);
      const results = await Promise.allSettled([
        updateCommission(next(), row!.id, { status: "approved" }),
        updateCommission(next(), row!.id, { status: "rejected" }),
      ]);
      expect(results.map((result) => result.status).toSorted()).toEqual(["fulfilled", "rejected"]);
      const refused = results.find((result) => result.status === "rejected");
      expect(refused?.reason).toMatchObject({ code: "invalid_transition" });
      expect(await eventsOf(program, "commission.updated")).toHaveLength(round + 1);
    }
  });

  it("a flag set meanwhile is kept: the change is tried again on what is there now", async () => {
    const { program, jane } = await listening();
    const [row] = await makeCommissions(program, jane.id, [{ status: "pending" }]);
    const next = meeting(program, 2);
    await Promise.all([
      updateCommission(next(), row!.id, { status: "approved" }),
      updateCommission(next(), row!.id, { flagged: true }),
    ]);
    expect(await byId(row!.id)).toMatchObject({ status: "approved", flagged: true, review_reason: "manual" });
  });

  it("an approval and a payout run at once: either the run takes it, or the next one does", async () => {
    const { program, jane } = await listening();
    for (let round = 0; round < 5; round++) {
      const [row] = await makeCommissions(program, jane.id, [{ status: "approved" }]);
      const [rejected] = await Promise.all([
        patch(program, row!.id, { status: "rejected" }),
        program.api("POST", "/api/v1/payouts/generate"),
      ]);
      const after = await byId(row!.id);
      expect([rejected.status, after.status, after.payout_id === null]).toEqual(
        rejected.status === 200 ? [200, "rejected", true] : [409, "approved", false],
      );
    }
  });

  it("a bulk change that meets another one refuses only what was changed", async () => {
    const { program, jane } = await listening();
    const rows = await makeCommissions(program, jane.id, [{ status: "pending" }, { status: "pending" }]);
    const ids = rows.map((row) => row.id);
    const next = meeting(program, 2);
    const [bulk, single] = await Promise.allSettled([
      updateCommissions(next(), ids, { status: "approved" }),
      updateCommission(next(), ids[0]!, { status: "rejected" }),
    ]);
    const after = await Promise.all(ids.map(byId));
    expect(after[1]!.status).toBe("approved");
    if (single.status === "fulfilled") {
      expect(after[0]!.status).toBe("rejected");
      expect(bulk.status === "fulfilled" && bulk.value.map((result) => result.ok)).toEqual([false, true]);
    } else {
      expect(after[0]!.status).toBe("approved");
      expect(bulk.status === "fulfilled" && bulk.value.map((result) => result.ok)).toEqual([true, true]);
    }
  });
});

describe("flags", () => {
  it("the owner's own flag is `manual`; a reason that was cleared does not flag again", async () => {
    const { program, jane } = await listening();
    const ids = { payment_intent: `pi_${program.id}`, charge: `ch_${program.id}` };
    await sendA(program, sessionCompleted({ ref: jane.slug, amount: 10_000, ...ids }));
    const [row] = await commissionsOf(program);
    const flagged = await patch(program, row!.id, { flagged: true });
    expect(flagged.body).toMatchObject({ flagged: true, review_reason: "manual" });
    const cleared = await patch(program, row!.id, { flagged: false });
    expect(cleared.body).toMatchObject({ flagged: false, review_reason: null });
    expect((await byId(row!.id)).dismissed_reasons).toBe("");

    await sendA(program, chargeRefunded({ ...ids, amount: 10_000, refunded: 6_000 }));
    expect(await byId(row!.id)).toMatchObject({ flagged: true, review_reason: "mostly_refunded" });
    await patch(program, row!.id, { flagged: false });
    expect((await byId(row!.id)).dismissed_reasons).toBe("mostly_refunded");
    await sendA(
      program,
      chargeRefunded({ ...ids, amount: 10_000, refunded: 7_000, created: Math.floor(Date.now() / 1000) + 5 }),
    );
    expect(await byId(row!.id)).toMatchObject({ flagged: false, amount_cents: 600 });
  });

  it("setting what is set already changes nothing and tells nobody", async () => {
    const { program, jane } = await listening();
    const [row] = await makeCommissions(program, jane.id, [
      { status: "pending", flagged: true, review_reason: "self_referral" },
    ]);
    const before = await byId(row!.id);
    expect((await patch(program, row!.id, { flagged: true })).body.review_reason).toBe("self_referral");
    expect(await byId(row!.id)).toEqual(before);
    expect(await eventsOf(program, "commission.updated")).toEqual([]);
  });
});

describe("bulk", () => {
  interface BulkBody {
    data: { id: string; ok: boolean; status?: string; error?: { code: string; message: string } }[];
    error?: { details?: { path: string }[] };
  }
  const bulk = (program: TestProgram, body: unknown, headers?: HeadersInit) =>
    program.api<BulkBody>("POST", path("bulk"), body, headers);

  it("gives a result per id, each for itself, in the order asked", async () => {
    const { program, jane } = await listening();
    const other = await makeProgram();
    const theirs = await makeCommissions(other, (await makePartner(other)).id, [{ status: "pending" }]);
    const [pending, paid, rejected, flagged] = await makeCommissions(program, jane.id, [
      { status: "pending" },
      { status: "paid" },
      { status: "rejected" },
      { status: "pending", flagged: true, review_reason: "self_referral" },
    ]);
    const ids = [paid!, pending!, theirs[0]!, flagged!, rejected!].map((row) => row.id);
    const { status, body } = await bulk(program, { ids, status: "approved" });
    expect(status).toBe(200);
    expect(body.data.map((result) => [result.id, result.ok, result.status ?? result.error?.code])).toEqual([
      [ids[0], false, "invalid_transition"],
      [ids[1], true, "approved"],
      [ids[2], false, "not_found"],
      [ids[3], true, "approved"],
      [ids[4], false, "invalid_transition"],
    ]);
    expect((await byId(theirs[0]!.id)).status).toBe("pending");
    expect(
      (await eventsOf(program, "commission.updated")).map(({ payload }) => payload.commission_id).toSorted(),
    ).toEqual([ids[1], ids[3]].toSorted());
    const approved = await byId(ids[1]!);
    expect(approved.approved_at).toBe(approved.updated_at);
  });

  it("moves 100, refuses 101 and none and one named twice; a repeated key changes nothing again", async () => {
    const { program, jane } = await listening();
    const rows = await makeCommissions(
      program,
      jane.id,
      Array.from({ length: 100 }, () => ({ status: "pending" as const })),
    );
    const ids = rows.map((row) => row.id);
    for (const wrong of [[...ids, "com_00000000000000000000000000"], [], [ids[0], ids[0]]]) {
      const reply = await bulk(program, { ids: wrong, status: "approved" });
      expect([reply.status, reply.body.error?.details?.[0]?.path]).toEqual([422, "ids"]);
    }
    const body = { ids, status: "rejected", reason: "spam" };
    const first = await bulk(program, body, { "Idempotency-Key": "bulk" });
    expect(first.body.data.every((result) => result.ok)).toBe(true);
    const again = await bulk(program, body, { "Idempotency-Key": "bulk" });
    expect(again.body).toEqual(first.body);
    expect(again.headers.get("Idempotent-Replayed")).toBe("true");
    const after = await commissionsOf(program);
    expect(new Set(after.map((row) => [row.status, row.rejected_reason].join()))).toEqual(new Set(["rejected,spam"]));
    const total = await program.api<{ total: number }>("GET", "/api/v1/events?type=commission.updated");
    expect(total.body.total).toBe(100);
  });

  it("`paid` by hand is refused for each", async () => {
    const { program, jane } = await listening();
    const [row] = await makeCommissions(program, jane.id, [{}]);
    const { body } = await bulk(program, { ids: [row!.id], status: "paid" });
    expect(body.data).toMatchObject([{ ok: false, error: { code: "invalid_transition" } }]);
  });
});

describe("manual commissions", () => {
  it("wait as pending, in the program's currency unless told otherwise, positive or negative", async () => {
    const { program, jane } = await listening({ currency: "EUR" });
    const made = await program.api<CommissionRow & { program_id: string }>("POST", path(), {
      partner_id: jane.id,
      amount_cents: -1_250,
      note: "Correction for October",
    });
    expect(made.status).toBe(201);
    expect(made.body).toMatchObject({
      program_id: program.id,
      partner_id: jane.id,
      kind: "manual",
      status: "pending",
      amount_cents: -1_250,
      txn_amount_cents: 0,
      currency: "EUR",
      provider: null,
      payment_id: null,
      note: "Correction for October",
      rate: { source: "manual", action_type: "flat", action_value: -1_250 },
    });
    const [event] = await eventsOf(program, "commission.created");
    expect(event!.payload).toMatchObject({ commission_id: made.body.id, amount_cents: -1_250, provider: null });
    expect(await sentFor(event!)).toMatchObject({
      data: { id: made.body.id, amount: -1_250, revenue: 0, currency: "EUR" },
    });
    const yen = { partner_id: jane.id, amount_cents: 500, currency: "JPY", note: "Bonus" };
    const keyed = await program.api<CommissionBody>("POST", path(), yen, { "Idempotency-Key": "bonus" });
    const replayed = await program.api<CommissionBody>("POST", path(), yen, { "Idempotency-Key": "bonus" });
    expect(replayed.body).toEqual(keyed.body);
    expect(await commissionsOf(program)).toHaveLength(2);
  });

  it("are refused for partners who are not active, without a note, or with an amount that is none", async () => {
    const { program, jane } = await listening();
    const invited = await makePartner(program, {}, "invited");
    const gone = await makePartner(program, {}, "deactivated");
    const stranger = await makePartner(await makeProgram());
    const good = { partner_id: jane.id, amount_cents: 100, note: "Bonus" };
    for (const [change, at] of [
      [{ partner_id: invited.id }, "partner_id"],
      [{ partner_id: gone.id }, "partner_id"],
      [{ partner_id: stranger.id }, "partner_id"],
      [{ partner_id: "par_nobody" }, "partner_id"],
      [{ amount_cents: 0 }, "amount_cents"],
      [{ amount_cents: 1.5 }, "amount_cents"],
      [{ amount_cents: "100" }, "amount_cents"],
      [{ amount_cents: 1e15 }, "amount_cents"],
      [{ currency: "usd" }, "currency"],
      [{ currency: "XXX" }, "currency"],
      [{ note: "" }, "note"],
      [{ note: undefined }, "note"],
      [{ status: "paid" }, "status"],
    ] as const) {
      const reply = await program.api<CommissionBody>("POST", path(), { ...good, ...change });
      expect([change, reply.status, reply.body.error?.details?.[0]?.path]).toEqual([change, 422, at]);
    }
    expect(await commissionsOf(program)).toEqual([]);
    expect(await eventsOf(program, "commission.created")).toEqual([]);
  });
});

describe("the list of commissions", () => {
  it("filters by each field and by all together, newest first, with an exact total", async () => {
    const { program, jane } = await listening();
    const bob = await makePartner(program);
    const day = (n: number) => `2026-10-0${n}T12:00:00.000Z`;
    await makeCommissions(program, jane.id, [
      { created_at: day(1), status: "pending" },
      { created_at: day(2), status: "pending", flagged: true, review_reason: "manual" },
      { created_at: day(3), provider: "provider_b" },
    ]);
    await makeCommissions(program, bob.id, [{ created_at: day(4), status: "rejected", provider: "provider_b" }]);
    const list = async (search: string) => {
      const { status, body } = await program.api<{ data: { created_at: string }[]; total: number }>(
        "GET",
        path() + search,
      );
      return [status, body.data?.map((row) => row.created_at), body.total];
    };
    expect(await list("")).toEqual([200, [day(4), day(3), day(2), day(1)], 4]);
    expect(await list("?status=pending")).toEqual([200, [day(2), day(1)], 2]);
    expect(await list(`?partner_id=${bob.id}`)).toEqual([200, [day(4)], 1]);
    expect(await list("?provider=provider_b")).toEqual([200, [day(4), day(3)], 2]);
    expect(await list("?flagged=true")).toEqual([200, [day(2)], 1]);
    expect(await list("?flagged=false&status=pending")).toEqual([200, [day(1)], 1]);
    // "`from` inclusive, `to` exclusive for a time, inclusive for a bare date".
    expect(await list(`?from=${day(2)}&to=${day(4)}`)).toEqual([200, [day(3), day(2)], 2]);
    expect(await list("?from=2026-10-02&to=2026-10-03")).toEqual([200, [day(3), day(2)], 2]);
    expect(await list(`?partner_id=${jane.id}&status=approved&provider=provider_b&flagged=false`)).toEqual([
      200,
      [day(3)],
      1,
    ]);
    expect(await list("?per_page=1&page=3")).toEqual([200, [day(2)], 4]);
    for (const wrong of ["?flagged=yes", "?status=done", "?provider=stripe", "?per_page=101", "?from=soon"]) {
      expect((await program.api("GET", path() + wrong)).status).toBe(422);
    }
    const other = await makeProgram();
    expect((await other.api<{ total: number }>("GET", path())).body.total).toBe(0);
  });
});

describe("stamps", () => {
  it("a change in the same millisecond as the last one still moves updated_at on", async () => {
    const { program, jane } = await listening();
    const ahead = iso(Date.now() + 60_000);
    const statuses: CommissionStatus[] = ["pending", "approved"];
    const rows = await makeCommissions(
      program,
      jane.id,
      statuses.map((status) => ({ status, updated_at: ahead })),
    );
    await patch(program, rows[0]!.id, { status: "rejected" });
    await program.api("POST", "/api/v1/payouts/generate");
    for (const row of rows) expect((await byId(row.id)).updated_at).toBe(iso(Date.parse(ahead) + 1));
  });
});
