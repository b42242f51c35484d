/** Manual changes of commissions: transitions, races and flags (COM-1, COM-2, COM-7). */
import { describe, expect, it } from "vitest";
import { updateCommissions } from "../../src/core/commissions/bulk.ts";
import { updateCommission } from "../../src/core/commissions/commissions.ts";
import type { ProgramCtx } from "../../src/core/kernel/context.ts";
import { COMMISSION_STATUSES, type CommissionStatus } from "../../src/domain/commission.ts";
import { iso } from "../../src/lib/time.ts";
import {
  commissionById,
  commissionPath,
  eventsOf,
  listening,
  patchCommission,
  sentFor,
} from "../support/commissions.ts";
import { sendA } from "../support/ledger.ts";
import { makeProgram, programContext, type TestProgram } from "../support/program.ts";
import { chargeRefunded, sessionCompleted } from "../support/provider-a.ts";
import { commissionsOf, makeCommissions } from "../support/payouts.ts";

/** The manual transitions (COM-1): `pending → approved`; `pending|approved → rejected`; `rejected → pending`. */
const LEGAL = new Set(["pending → approved", "pending → rejected", "approved → rejected", "rejected → pending"]);

describe("transitions of a commission (COM-1, COM-11)", () => {
  it.each(COMMISSION_STATUSES.flatMap((from) => COMMISSION_STATUSES.map((to) => [from, to] as const)))(
    "%s → %s",
    async (from, to) => {
      const { program, jane } = await listening();
      const [row] = await makeCommissions(program, jane.id, [{ status: from }]);
      const before = await commissionById(row!.id);
      const body = to === "rejected" ? { status: to, reason: "a test order" } : { status: to };
      const reply = await patchCommission(program, row!.id, body);
      const events = await eventsOf(program, "commission.updated");
      if (!LEGAL.has(`${from} → ${to}`)) {
        expect([reply.status, reply.body.error?.code]).toEqual([409, "invalid_transition"]);
        expect(await commissionById(row!.id)).toEqual(before);
        expect(events).toEqual([]);
        return;
      }
      expect(reply.status).toBe(200);
      expect(reply.body).toMatchObject({ status: to, rejected_reason: to === "rejected" ? "a test order" : null });
      expect(reply.body.approved_at !== null).toBe(to === "approved");
      expect((await commissionById(row!.id)).status).toBe(to);
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

  it("a commission inside a payout that is not canceled cannot change, in no way (COM-2)", async () => {
    const { program, jane } = await listening();
    const [row] = await makeCommissions(program, jane.id, [{}]);
    const { body } = await program.api<{ payouts: { id: string }[] }>("POST", "/api/v1/payouts/generate");
    const before = await commissionById(row!.id);
    expect(before.payout_id).toBe(body.payouts[0]!.id);
    for (const change of [{ status: "rejected" }, { flagged: true }, { status: "rejected", flagged: true }]) {
      const reply = await patchCommission(program, row!.id, change);
      expect([reply.status, reply.body.error?.code]).toEqual([409, "invalid_transition"]);
    }
    expect(await commissionById(row!.id)).toEqual(before);
    expect(await eventsOf(program, "commission.updated")).toEqual([]);
    // An empty change cannot be refused.
    expect((await patchCommission(program, row!.id, {})).status).toBe(200);
    await program.api("POST", `/api/v1/payouts/${body.payouts[0]!.id}/cancel`);
    expect((await patchCommission(program, row!.id, { status: "rejected" })).status).toBe(200);
  });

  it("422 for a body that is not as documented, 404 for another program's commission", async () => {
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
      const reply = await patchCommission(program, row!.id, body);
      expect([reply.status, reply.body.error?.details?.[0]?.path]).toEqual([422, at]);
    }
    expect((await patchCommission(other, row!.id, { status: "approved" })).status).toBe(404);
    expect((await other.api("GET", commissionPath(row!.id))).status).toBe(404);
    expect((await commissionById(row!.id)).status).toBe("pending");
  });
});

/** Contexts whose first reads wait for each other, so that all read the same state before any of them writes. */
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
    expect(await commissionById(row!.id)).toMatchObject({ status: "approved", flagged: true, review_reason: "manual" });
  });

  it("an approval and a payout run at once: either the run takes it, or the next one does", async () => {
    const { program, jane } = await listening();
    for (let round = 0; round < 5; round++) {
      const [row] = await makeCommissions(program, jane.id, [{ status: "approved" }]);
      const [rejected] = await Promise.all([
        patchCommission(program, row!.id, { status: "rejected" }),
        program.api("POST", "/api/v1/payouts/generate"),
      ]);
      const after = await commissionById(row!.id);
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
    const after = await Promise.all(ids.map(commissionById));
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
  it("the owner's own flag is `manual`; a reason that was cleared does not flag again (COM-7, COM-11)", async () => {
    const { program, jane } = await listening();
    const ids = { payment_intent: `pi_${program.id}`, charge: `ch_${program.id}` };
    await sendA(program, sessionCompleted({ ref: jane.slug, amount: 10_000, ...ids }));
    const [row] = await commissionsOf(program);
    const flagged = await patchCommission(program, row!.id, { flagged: true });
    expect(flagged.body).toMatchObject({ flagged: true, review_reason: "manual" });
    const cleared = await patchCommission(program, row!.id, { flagged: false });
    expect(cleared.body).toMatchObject({ flagged: false, review_reason: null });
    expect((await commissionById(row!.id)).dismissed_reasons).toBe("");

    await sendA(program, chargeRefunded({ ...ids, amount: 10_000, refunded: 6_000 }));
    expect(await commissionById(row!.id)).toMatchObject({ flagged: true, review_reason: "mostly_refunded" });
    await patchCommission(program, row!.id, { flagged: false });
    expect((await commissionById(row!.id)).dismissed_reasons).toBe("mostly_refunded");
    await sendA(
      program,
      chargeRefunded({ ...ids, amount: 10_000, refunded: 7_000, created: Math.floor(Date.now() / 1000) + 5 }),
    );
    expect(await commissionById(row!.id)).toMatchObject({ flagged: false, amount_cents: 600 });
  });

  it("setting what is set already changes nothing and notifies nobody", async () => {
    const { program, jane } = await listening();
    const [row] = await makeCommissions(program, jane.id, [
      { status: "pending", flagged: true, review_reason: "self_referral" },
    ]);
    const before = await commissionById(row!.id);
    expect((await patchCommission(program, row!.id, { flagged: true })).body.review_reason).toBe("self_referral");
    expect(await commissionById(row!.id)).toEqual(before);
    expect(await eventsOf(program, "commission.updated")).toEqual([]);
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
    await patchCommission(program, rows[0]!.id, { status: "rejected" });
    await program.api("POST", "/api/v1/payouts/generate");
    for (const row of rows) expect((await commissionById(row.id)).updated_at).toBe(iso(Date.parse(ahead) + 1));
  });
});
