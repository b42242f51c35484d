/** The balance at the vendor, before a payout's first attempt (OUT-40). */
import { afterEach, describe, expect, it, vi } from "vitest";
import { payPayout } from "../../src/core/payouts/pay.ts";
import { eventsOf } from "../support/commissions.ts";
import { openMailbox } from "../support/mailbox.ts";
import {
  clientOf,
  commissionsOf,
  makePayingProgram,
  makePayout,
  payoutById,
  payoutsOf,
  playOutside,
  reconcileAt,
  type PayoutBody,
} from "../support/payouts.ts";
import { programContext, type TestProgram } from "../support/program.ts";
import type { VendorApi } from "../support/provider-a-api.ts";
import { signInOwner, textOf } from "../support/visitor.ts";

const MINUTE = 60_000;

afterEach(() => {
  vi.restoreAllMocks();
});

const pay = (program: TestProgram, id: string) => program.api<PayoutBody>("POST", `/api/v1/payouts/${id}/pay`);

const sentKeys = (vendor: VendorApi) =>
  vendor.calls.filter(({ method }) => method === "POST").map(({ headers }) => headers.get("idempotency-key"));

describe("the vendor's balance", () => {
  it("that is too small fails the payout without an attempt, an e-mail or a transfer (OUT-40)", async () => {
    const world = await makePayingProgram();
    const { program, vendor } = world;
    vendor.balance.set("usd", 2_999);
    const payout = await makePayout(world);
    playOutside(vendor);
    for (let times = 1; times <= 2; times++) {
      const { status, body } = await pay(program, payout.id);
      expect([status, body]).toMatchObject([200, { status: "failed", failure_code: "balance_insufficient" }]);
      expect(body.failure_message).toContain("Nothing was sent");
    }
    expect(await payoutById(payout.id)).toMatchObject({ attempt: 0, attempt_params: null, reconcile_at: null });
    expect([sentKeys(vendor), vendor.transfers]).toEqual([[], []]);
    expect((await commissionsOf(program)).map((row) => row.status)).toEqual(["approved", "approved"]);
    const events = await eventsOf(program, "payout.updated");
    expect(events.map(({ payload }) => [payload.status, payload.failure_code])).toEqual([
      ["failed", "balance_insufficient"],
      ["failed", "balance_insufficient"],
    ]);
    const mails = await openMailbox().deliver(program.id, Date.now() + 1_000);
    expect(mails.filter(({ subject }) => subject.includes("failed"))).toEqual([]);
    expect(mails.find(({ subject }) => subject.endsWith("cannot be paid"))?.text).toContain("your balance");
    vendor.balance.set("usd", 3_000);
    expect((await pay(program, payout.id)).body).toMatchObject({ status: "paid", failure_code: null });
    expect(sentKeys(vendor)).toEqual([`${payout.id}:1`]);
  });

  it.each(["forbidden", "gateway", "drop_reply", "hang", "garbage", "rate_limit", "error_stored"] as const)(
    "that cannot be read (%s) leaves the decision to the vendor (OUT-40)",
    async (fault) => {
      const world = await makePayingProgram();
      const { vendor } = world;
      const payout = await makePayout(world);
      vendor.balance.set("usd", 3_000);
      vendor.balanceFaults.push(fault);
      const client = clientOf(vendor, fault === "hang" ? 50 : undefined);
      expect((await payPayout(programContext(world.program), payout.id, client)).status).toBe("paid");
      expect(vendor.balanceCalls).toHaveLength(1);
    },
  );

  it("in another currency decides nothing (OUT-40)", async () => {
    const world = await makePayingProgram();
    world.vendor.balance.set("eur", 0);
    const payout = await makePayout(world);
    playOutside(world.vendor);
    expect((await pay(world.program, payout.id)).body.status).toBe("paid");
  });

  it("may fall between the question and the transfer: the vendor refuses, and the payout is paid later (OUT-6, OUT-40)", async () => {
    const world = await makePayingProgram();
    const { program, vendor } = world;
    const payout = await makePayout(world);
    vendor.balance.set("usd", 3_000);
    const { fetch } = vendor;
    vendor.fetch = async (url, init) => {
      const reply = await fetch(url, init);
      if (new Request(url, init).url.endsWith("/v1/balance")) vendor.balance.set("usd", 2_999);
      return reply;
    };
    playOutside(vendor);
    expect((await pay(program, payout.id)).body).toMatchObject({
      status: "failed",
      failure_code: "balance_insufficient",
    });
    expect(await payoutById(payout.id)).toMatchObject({ attempt: 1 });
    vendor.balance.set("usd", 3_000);
    expect((await pay(program, payout.id)).body).toMatchObject({ status: "paid" });
    // The second attempt follows a refusal by the vendor, so it did not ask again.
    expect([vendor.balanceCalls.length, sentKeys(vendor)]).toEqual([1, [`${payout.id}:1`, `${payout.id}:2`]]);
    expect(vendor.transfers).toHaveLength(1);
  });

  it("is asked once for many payouts, and counted down by currency (OUT-40)", async () => {
    const world = await makePayingProgram();
    const { program, vendor } = world;
    for (let i = 0; i < 3; i++) await makePayout(world);
    await makePayout(world, [500], "EUR");
    vendor.balance.set("usd", 6_000).set("eur", 500);
    // The vendor would make the third transfer too, from money that came in meanwhile.
    const { fetch } = vendor;
    vendor.fetch = async (url, init) => {
      const reply = await fetch(url, init);
      if (new Request(url, init).url.endsWith("/v1/balance")) vendor.balance.clear();
      return reply;
    };
    playOutside(vendor);
    const owner = await signInOwner(program);
    const path = "/dashboard/payouts/matching?move=pay";
    const reply = await owner.post(path, { seen_at: new Date(Date.now() + MINUTE).toISOString() });
    expect(reply.status).toBe(303);
    expect((await payoutsOf(program)).map(({ status, currency }) => [status, currency])).toEqual([
      ["paid", "USD"],
      ["paid", "USD"],
      ["failed", "USD"],
      ["paid", "EUR"],
    ]);
    expect(vendor.balanceCalls).toHaveLength(1);
    const after = textOf((await owner.get(reply.headers.get("location") ?? "")).body);
    expect(after).toContain("Nothing was sent: add funds there, then pay it again.");
  });

  it("is not asked for an open transfer (OUT-40)", async () => {
    const world = await makePayingProgram();
    const { vendor } = world;
    const payout = await makePayout(world);
    vendor.faults.push("drop_request");
    await payPayout(programContext(world.program), payout.id, clientOf(vendor));
    await reconcileAt(vendor, Date.now() + 10 * MINUTE);
    expect((await payoutById(payout.id)).status).toBe("paid");
    expect(vendor.balanceCalls).toHaveLength(1);
  });

  it("does not hide a transfer that a restored database has forgotten (OUT-14, OUT-40)", async () => {
    const world = await makePayingProgram();
    const { vendor } = world;
    const payout = await makePayout(world);
    const client = clientOf(vendor);
    const body = { program_id: payout.program_id, partner_id: payout.partner_id, account_id: world.account_id };
    const request = client.freeze({ ...payout, ...body, payout_id: payout.id });
    await client.send([...vendor.keys][0]!, request, `${payout.id}:1`);
    vendor.balance.set("usd", 0);
    const paid = await payPayout(programContext(world.program), payout.id, client);
    expect(paid).toMatchObject({ status: "paid", reference: vendor.transfers[0]!.id });
    expect(vendor.transfers).toHaveLength(1);
  });
});
