/** Transfers that the owner takes back at the vendor (OUT-14, LAW-8, LAW-11). */
import { afterEach, describe, expect, it, vi } from "vitest";
import { payPayout } from "../../src/core/payouts/pay.ts";
import { iso } from "../../src/lib/time.ts";
import { checkTransfers } from "../../src/core/reconcile/transfers.ts";
import { eventsOf } from "../support/commissions.ts";
import { programContext, setSecrets } from "../support/program.ts";
import {
  clientOf,
  commissionsOf,
  makePaidPayouts,
  makePayingProgram,
  makePayout,
  payoutById,
  payoutsOf,
  playOutside,
  reconcileAt,
  type PaidProgram,
  type PayoutBody,
} from "../support/payouts.ts";
import { reconcileRound } from "../support/reconcile.ts";
import { hideTransfers, takeBack } from "../support/provider-a-api.ts";
import { signInOwner, textOf } from "../support/visitor.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

afterEach(() => {
  vi.restoreAllMocks();
});

const later = (hours: number) => Date.now() + hours * HOUR;
const sent = ({ vendor }: PaidProgram) => vendor.calls.filter(({ method }) => method === "POST").length;
const pay = (world: PaidProgram, id: string) => payPayout(programContext(world.program), id, clientOf(world.vendor));

/** A transfer that was made, and whose answer was lost. */
async function lostTransfer() {
  const world = await makePayingProgram();
  const payout = await makePayout(world);
  world.vendor.faults.push("drop_reply");
  await pay(world, payout.id);
  expect([world.vendor.transfers.length, (await payoutById(payout.id)).status]).toEqual([1, "processing"]);
  return { ...world, payout };
}

describe("a transfer whose whole amount was taken back while its answer was lost", () => {
  it("has paid nobody: the attempt fails, in words, and can be made again (OUT-14)", async () => {
    const world = await lostTransfer();
    const { program, vendor, payout } = world;
    takeBack(vendor.transfers[0]!);
    await reconcileAt(vendor, later(1));
    const failed = await program.api<PayoutBody>("GET", `/api/v1/payouts/${payout.id}`);
    expect(failed.body).toMatchObject({ status: "failed", failure_code: "transfer_reversed" });
    expect(failed.body.failure_message).toContain("fully reversed");
    expect((await commissionsOf(program)).map(({ status }) => status)).toEqual(["approved", "approved"]);
    const [said] = await eventsOf(program, "payout.updated");
    expect(said!.payload).toMatchObject({ status: "failed", failure_code: "transfer_reversed" });
    expect(await eventsOf(program, "payout.paid")).toEqual([]);
    const owner = await signInOwner(program);
    await owner.get(`/dashboard/payouts/${payout.id}`);
    expect(textOf(owner.html)).toContain("transfer_reversed");

    playOutside(vendor);
    const again = await program.api<PayoutBody>("POST", `/api/v1/payouts/${payout.id}/pay`);
    expect(again.body).toMatchObject({ status: "paid", failure_code: null, reference: vendor.transfers[0]!.id });
    expect(vendor.transfers).toMatchObject([{ amount_reversed: 0 }, { reversed: true }]);
    expect((await commissionsOf(program)).map(({ status }) => status)).toEqual(["paid", "paid"]);
    // The paying transfer is compared; the reversed one does not count (LAW-11).
    const rows = await payoutsOf(program);
    expect(await checkTransfers(programContext(program), rows, clientOf(vendor))).toEqual({
      checked: [payout.id],
      found: [],
      reversed: [],
    });
  });

  it("or be canceled, and the commissions are paid by the next payout", async () => {
    const world = await lostTransfer();
    takeBack(world.vendor.transfers[0]!);
    await reconcileAt(world.vendor, later(1));
    const canceled = await world.program.api<PayoutBody>("POST", `/api/v1/payouts/${world.payout.id}/cancel`);
    expect(canceled.body.status).toBe("canceled");
    expect((await commissionsOf(world.program)).map(({ payout_id }) => payout_id)).toEqual([null, null]);
  });

  it("does not fail the attempt after it, which fails where its own is taken back (OUT-14)", async () => {
    const world = await lostTransfer();
    const { vendor, payout } = world;
    takeBack(vendor.transfers[0]!);
    await reconcileAt(vendor, later(1));
    // The look-up of the second attempt, and its transfer, whose answer is lost.
    vendor.faults.push(null, "drop_reply");
    expect((await pay(world, payout.id)).status).toBe("processing");
    takeBack(vendor.transfers[0]!);
    await reconcileAt(vendor, later(3));
    expect(await payoutById(payout.id)).toMatchObject({
      status: "failed",
      failure_code: "transfer_reversed",
      attempt: 2,
    });
    vendor.faults.push(null, "drop_reply");
    await pay(world, payout.id);
    await reconcileAt(vendor, later(5));
    expect(await payoutById(payout.id)).toMatchObject({
      ...{ status: "paid", attempt: 3, reference: vendor.transfers[0]!.id },
    });
    expect([sent(world), vendor.transfers.length]).toEqual([3, 3]);
  });

  it("nor one that begins with another account's key (OUT-7)", async () => {
    const world = await lostTransfer();
    const { vendor, payout, program } = world;
    takeBack(vendor.transfers[0]!);
    await reconcileAt(vendor, later(1));
    vendor.keys.add("sk_test_rolled");
    await setSecrets(program.id, { provider_a_api_key: "sk_test_rolled" });
    playOutside(vendor);
    const again = await program.api<PayoutBody>("POST", `/api/v1/payouts/${payout.id}/pay`);
    expect([again.body.status, vendor.transfers.length]).toEqual(["paid", 2]);
  });

  it("is not taken as paid where the vendor repeats its first answer under the key (OUT-14)", async () => {
    const world = await lostTransfer();
    const { vendor, payout } = world;
    takeBack(vendor.transfers[0]!);
    // The list does not contain it yet at the look-up, and the vendor repeats its earlier answer.
    const { fetch } = vendor;
    const list = { object: "list", url: "/v1/transfers", has_more: false, data: [] };
    let looked = 0;
    vendor.fetch = async (url, init) => {
      const request = new Request(url, init);
      return request.method === "GET" && ++looked <= 2 ? Response.json(list) : fetch(request);
    };
    await reconcileAt(vendor, later(1));
    expect(await payoutById(payout.id)).toMatchObject({ status: "processing", attempt: 1 });
    looked = 1;
    await reconcileAt(vendor, later(3));
    expect(await payoutById(payout.id)).toMatchObject({ status: "failed", failure_code: "transfer_reversed" });
    expect(vendor.transfers).toHaveLength(1);
  });

  it("while it cannot be looked up, nothing is concluded and nothing sent", async () => {
    const world = await lostTransfer();
    takeBack(world.vendor.transfers[0]!);
    const show = hideTransfers(world.vendor);
    await reconcileAt(world.vendor, later(1));
    expect([(await payoutById(world.payout.id)).status, sent(world)]).toEqual(["processing", 1]);
    show();
    await reconcileAt(world.vendor, later(3));
    expect((await payoutById(world.payout.id)).status).toBe("failed");
  });

  it("two who ask at once conclude it once, and two who pay again send one", async () => {
    const world = await lostTransfer();
    const { vendor, program, payout } = world;
    takeBack(vendor.transfers[0]!);
    vendor.latency = () => new Promise((done) => setTimeout(done, 3));
    await Promise.all([reconcileAt(vendor, later(1)), reconcileAt(vendor, later(1))]);
    const moves = await eventsOf(program, "payout.updated");
    expect(moves.filter(({ payload }) => payload.status === "failed")).toHaveLength(1);
    playOutside(vendor);
    const path = `/api/v1/payouts/${payout.id}/pay`;
    const replies = await Promise.all([program.api("POST", path), program.api("POST", path)]);
    expect(replies.map(({ status }) => status).toSorted()).toEqual([200, 409]);
    expect(vendor.transfers.filter(({ reversed }) => !reversed)).toHaveLength(1);
  });
});

describe("a transfer of which a part was taken back", () => {
  it("has paid, and the difference is one of the ledger (OUT-14, LAW-11)", async () => {
    const world = await lostTransfer();
    const { vendor, program, payout } = world;
    takeBack(vendor.transfers[0]!, 1_000);
    await reconcileAt(vendor, later(1));
    expect(await payoutById(payout.id)).toMatchObject({ status: "paid", reference: vendor.transfers[0]!.id });
    const { found } = await checkTransfers(programContext(program), await payoutsOf(program), clientOf(vendor));
    expect(found).toMatchObject([{ check: "transfer", subject: payout.id, found: { reversed_cents: 1_000 } }]);
    // A reversal of a part after the payment does not return the payout.
    takeBack(vendor.transfers[0]!, 500);
    const whole = await checkTransfers(programContext(program), await payoutsOf(program), clientOf(vendor));
    expect(whole.found).toMatchObject([{ found: { transfers: 1, reversed_cents: 1_500 } }]);
    expect((await payoutById(payout.id)).status).toBe("paid");
  });
});

describe("when the ledger last agreed (LAW-11)", () => {
  it("goes on once a reversal of what was paid is reported, and stays for any other difference", async () => {
    vi.spyOn(console, "error").mockImplementation(() => {});
    const world = await makePayingProgram();
    await makePaidPayouts(world, 2);
    const round = (at: number) => reconcileRound(programContext(world.program, at), clientOf(world.vendor), true);
    const agreed = async () =>
      (await world.program.api<{ reconciled_at: string | null }>("GET", "/api/v1/integrations/status")).body
        .reconciled_at;
    const now = Date.now();
    const day = (days: number) => now + days * 24 * HOUR;
    await round(day(0));
    expect(await agreed()).toBe(iso(day(0)));
    const [first, second] = world.vendor.transfers;
    takeBack(first!, 1_000);
    await round(day(1));
    expect(await agreed()).toBe(iso(day(0)));
    await round(day(2));
    expect(await agreed()).toBe(iso(day(2)));
    // More of it is another difference, reported once as well.
    takeBack(first!, 500);
    await round(day(3));
    expect(await agreed()).toBe(iso(day(2)));
    await round(day(4));
    expect(await agreed()).toBe(iso(day(4)));
    expect((await eventsOf(world.program, "reconciliation.failed")).length).toBe(2);
    second!.amount += 1;
    for (const days of [5, 6]) await round(day(days));
    expect(await agreed()).toBe(iso(day(4)));
    second!.amount -= 1;
    await round(day(7));
    expect(await agreed()).toBe(iso(day(7)));
  });
});
