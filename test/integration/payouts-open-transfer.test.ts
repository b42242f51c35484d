/** Transfers that are left open, and how each leaves that state (contract §7). */
import { afterEach, describe, expect, it, vi } from "vitest";
import { eq } from "drizzle-orm";
import { payPayout } from "../../src/core/payout-pay.ts";
import { partners, programs } from "../../src/db/schema.ts";
import { eventsOf } from "../support/commissions.ts";
import { programContext, testContext } from "../support/program.ts";
import {
  API_KEY_A,
  clientOf,
  db,
  makePayingProgram,
  makePayout,
  payoutById,
  playOutside,
  reconcileAt,
} from "../support/payouts.ts";
import type { Fault } from "../support/provider-a-api.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

interface PayoutBody {
  status: string;
  failure_code: string | null;
}

afterEach(() => {
  vi.restoreAllMocks();
});

describe("an open transfer", () => {
  it.each<[Fault, string]>([
    ["drop_request", "processing"],
    ["drop_reply", "processing"],
    ["rate_limit", "processing"],
    ["in_use", "processing"],
    ["gateway", "processing"],
    ["error_stored", "processing"],
    ["garbage", "paid"],
    ["error_after_effect", "paid"],
  ])("%s leaves it %s, and the cron brings it to paid with one transfer under the first key", async (fault, first) => {
    const world = await makePayingProgram();
    const { program, vendor } = world;
    const payout = await makePayout(world);
    const started = Date.now();
    playOutside(vendor);
    vendor.faults.push(fault);
    const reply = await program.api<PayoutBody>("POST", `/api/v1/payouts/${payout.id}/pay`);
    expect([reply.status, reply.body.status]).toEqual([200, first]);
    if (first === "processing") {
      expect(reply.body.failure_code).toBeTruthy();
      const due = Date.parse((await payoutById(payout.id)).reconcile_at!);
      expect(due).toBeGreaterThanOrEqual(started + MINUTE);
      // Not before its time, then once.
      expect(await reconcileAt(vendor, due - 1)).toBe(0);
      let now = due;
      for (
        let runs = 0;
        runs < 200 && (await payoutById(payout.id)).status === "processing";
        runs++, now += 30 * MINUTE
      ) {
        await reconcileAt(vendor, now);
      }
      // An error that the vendor keeps under the key is over when it forgets the key, not before and not much later.
      expect(now - started > DAY).toBe(fault === "error_stored");
      expect(now - started).toBeLessThan(27 * HOUR);
    }
    expect(await payoutById(payout.id)).toMatchObject({
      status: "paid",
      attempt: 1,
      reconcile_at: null,
      failure_code: null,
      reference: vendor.transfers[0]!.id,
    });
    expect(vendor.transfers).toMatchObject([{ amount: 3_000 }]);
    const keys = vendor.calls.map(({ headers }) => headers.get("idempotency-key")).filter(Boolean);
    expect(new Set(keys)).toEqual(new Set([`${payout.id}:1`]));
    expect(await eventsOf(program, "payout.paid")).toHaveLength(1);
  });

  it("a vendor that hangs is given up on after the time limit, and the payout stays processing", async () => {
    const world = await makePayingProgram();
    const payout = await makePayout(world);
    world.vendor.faults.push("hang");
    const reply = await payPayout(programContext(world.program), payout.id, clientOf(world.vendor, 30));
    expect([reply.status, reply.failure_code]).toEqual(["processing", "no_answer"]);
    expect(await reconcileAt(world.vendor, Date.now() + 5 * MINUTE)).toBe(1);
    expect((await payoutById(payout.id)).status).toBe("paid");
    expect(world.vendor.transfers).toHaveLength(1);
  });

  it("after 24 hours it looks the transfer up before it sends again, and does not send when it cannot look", async () => {
    const world = await makePayingProgram();
    const { vendor } = world;
    const payout = await makePayout(world);
    vendor.faults.push("drop_reply");
    await payPayout(programContext(world.program), payout.id, clientOf(vendor));
    expect(vendor.transfers).toHaveLength(1);
    const late = Date.now() + 25 * HOUR;
    vendor.calls.length = 0;
    vendor.faults.push("gateway");
    await reconcileAt(vendor, late);
    expect(vendor.calls.map(({ method }) => method)).toEqual(["GET"]);
    expect((await payoutById(payout.id)).status).toBe("processing");
    await reconcileAt(vendor, late + 2 * HOUR);
    expect(vendor.calls.map(({ method }) => method)).toEqual(["GET", "GET"]);
    expect(await payoutById(payout.id)).toMatchObject({ status: "paid", reference: vendor.transfers[0]!.id });
    expect(vendor.transfers).toHaveLength(1);
  });

  it("a refusal that comes after a lost answer does not hide the transfer that was made", async () => {
    const world = await makePayingProgram();
    const { vendor } = world;
    const payout = await makePayout(world);
    vendor.faults.push("drop_reply");
    await payPayout(programContext(world.program), payout.id, clientOf(vendor));
    // The key is revoked meanwhile: neither looking nor sending is answered with anything but 401.
    vendor.keys.clear();
    await reconcileAt(vendor, Date.now() + 10 * MINUTE);
    expect(await payoutById(payout.id)).toMatchObject({ status: "processing", failure_code: "api_key_refused" });
    vendor.keys.add(API_KEY_A);
    await reconcileAt(vendor, Date.now() + 3 * HOUR);
    expect((await payoutById(payout.id)).status).toBe("paid");
    expect(vendor.transfers).toHaveLength(1);
  });

  it("another account's key cannot end an attempt that it knows nothing of", async () => {
    const world = await makePayingProgram();
    const { vendor, program } = world;
    const payout = await makePayout(world);
    vendor.faults.push("drop_reply");
    await payPayout(programContext(program), payout.id, clientOf(vendor));
    const elsewhere = (await makePayingProgram({ keys: ["sk_test_of_another_account"] })).vendor;
    const sealed = await testContext().sealer.seal("sk_test_of_another_account");
    await db.update(programs).set({ provider_a_api_key: sealed }).where(eq(programs.id, program.id));
    await reconcileAt(elsewhere, Date.now() + 10 * MINUTE);
    expect(await payoutById(payout.id)).toMatchObject({ status: "processing", failure_code: "resource_missing" });
    await db
      .update(programs)
      .set({ provider_a_api_key: await testContext().sealer.seal(API_KEY_A) })
      .where(eq(programs.id, program.id));
    await reconcileAt(vendor, Date.now() + 3 * HOUR);
    expect((await payoutById(payout.id)).status).toBe("paid");
    expect([vendor.transfers.length, elsewhere.transfers.length]).toEqual([1, 0]);
  });

  it("without an API key an open transfer waits for one", async () => {
    const world = await makePayingProgram();
    const { vendor, program } = world;
    const payout = await makePayout(world);
    vendor.faults.push("drop_request");
    await payPayout(programContext(program), payout.id, clientOf(vendor));
    await db.update(programs).set({ provider_a_api_key: null }).where(eq(programs.id, program.id));
    await reconcileAt(vendor, Date.now() + 10 * MINUTE);
    const waiting = await payoutById(payout.id);
    expect(waiting).toMatchObject({ status: "processing", failure_code: "provider_not_configured" });
    expect(waiting.reconcile_at).not.toBeNull();
  });

  it("the frozen request is sent again unchanged, whatever became of the partner since", async () => {
    const world = await makePayingProgram();
    const { vendor, program } = world;
    const payout = await makePayout(world);
    vendor.faults.push("drop_request");
    await payPayout(programContext(program), payout.id, clientOf(vendor));
    await db.update(partners).set({ provider_a_account_id: "acct_other" }).where(eq(partners.id, world.partner_id));
    await reconcileAt(vendor, Date.now() + 10 * MINUTE);
    const [first, second] = vendor.calls.filter(({ method }) => method === "POST");
    expect(second!.body).toBe(first!.body);
    expect((await payoutById(payout.id)).status).toBe("paid");
  });
});
