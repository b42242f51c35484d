/** Payouts whose money came back, by hand and by the vendor's reports (OUT-20, OUT-21). */
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { payPayout } from "../../src/core/payouts/pay.ts";
import { sentFor, eventsOf } from "../support/commissions.ts";
import { sendA } from "../support/ledger.ts";
import { makeEndpoint } from "../support/outbound.ts";
import {
  clientOf,
  commissionsOf,
  makeCommissions,
  makeExport,
  makePayingProgram,
  makePayout,
  payoutById,
  payoutsOf,
  playOutside,
  reconcileAt,
  type PaidProgram,
} from "../support/payouts.ts";
import {
  makePartner,
  makeProgram,
  programContext,
  SECRET_A,
  setSecrets,
  type TestProgram,
} from "../support/program.ts";
import { takeBack } from "../support/provider-a-api.ts";
import { transferReversed } from "../support/provider-a-changes.ts";
import { chargeRefunded, sessionCompleted } from "../support/provider-a.ts";
import { differencesOf, reconcileRound } from "../support/reconcile.ts";
import { signInOwner, signInPartner, textOf } from "../support/visitor.ts";

const HOUR = 3_600_000;

beforeEach(async () => {
  await env.DB.prepare("delete from mails").run();
});
afterEach(() => vi.restoreAllMocks());

interface PayoutBody {
  id: string;
  status: string;
  [field: string]: unknown;
}

const giveBack = (program: TestProgram, id: string, body: unknown = { reason: "Account closed" }) =>
  program.api<PayoutBody>("POST", `/api/v1/payouts/${id}/returned`, body);

/** The partner's sums, and the payouts of each status, at this moment. */
async function moneyOf(program: TestProgram, currency = "USD") {
  const { results } = await env.DB.prepare(
    "select account, amount_cents from balances where program_id = ? and partner_id = '' and currency = ? and amount_cents <> 0 order by 1",
  )
    .bind(program.id, currency)
    .all<{ account: string; amount_cents: number }>();
  return Object.fromEntries(results.map(({ account, amount_cents }) => [account, amount_cents]));
}

/** Payouts that are neither canceled nor returned, plus free commissions, equal the commissions that are not rejected. */
async function expectLaw(program: TestProgram): Promise<void> {
  const held = (await payoutsOf(program)).filter(({ status }) => status !== "canceled" && status !== "returned");
  const rows = (await commissionsOf(program)).filter(({ status }) => status !== "rejected");
  const sum = (of: readonly { amount_cents: number }[]) =>
    of.reduce((total, { amount_cents }) => total + amount_cents, 0);
  expect(sum(held) + sum(rows.filter(({ payout_id }) => payout_id === null))).toBe(sum(rows));
}

/** A payout of 30.00 in two commissions, paid by hand. */
async function paidByHand(fields: { currency?: string } = {}) {
  const program = await makeProgram(fields);
  const partner = await makePartner(program, { payout_method: "bank_transfer" });
  await makeCommissions(program, partner.id, [{ amount_cents: 1_000 }, { amount_cents: 2_000 }]);
  await program.api("POST", "/api/v1/payouts/generate", {});
  const [{ id } = { id: "" }] = await payoutsOf(program);
  await program.api("POST", `/api/v1/payouts/${id}/mark-paid`, { reference: "bank 1" });
  return { program, partner, id };
}

describe("money that came back, as the owner reports it (OUT-20)", () => {
  it("frees the commissions for another payout, in one transaction with its event, webhook and e-mail", async () => {
    const { program, id } = await paidByHand();
    await makeEndpoint(program, "https://receiver.example.com/hook", ["payout.returned", "commission.updated"]);
    expect(await moneyOf(program)).toEqual({ paid: 3_000 });
    const returned = await giveBack(program, id);
    expect(returned.body).toMatchObject({
      ...{ status: "returned", failure_code: "returned", failure_message: "Account closed", reference: "bank 1" },
      paid_at: expect.any(String),
    });
    expect(await moneyOf(program)).toEqual({ payable: 3_000 });
    await expectLaw(program);
    expect(
      (await commissionsOf(program)).map(({ status, payout_id, paid_at }) => [status, payout_id, paid_at]),
    ).toEqual([
      ["approved", null, null],
      ["approved", null, null],
    ]);
    const [event] = await eventsOf(program, "payout.returned");
    expect(event).toMatchObject({
      payload: { payout_id: id, amount_cents: 3_000, status: "returned", failure_code: "returned" },
      changes: { status: ["paid", "returned"], failure_message: [null, "Account closed"] },
    });
    expect(await sentFor(event!)).toMatchObject({ event: "payout.returned", data: returned.body });
    const moves = (await eventsOf(program, "commission.updated")).slice(0, 2);
    expect(moves).toMatchObject(Array.from({ length: 2 }, () => ({ changes: { status: ["paid", "approved"] } })));
    // The webhook of the payout covers them.
    expect(await Promise.all(moves.map(sentFor))).toEqual([null, null]);
    const mails = await env.DB.prepare("select kind from mails where kind = 'payout_returned'").all();
    expect(mails.results).toHaveLength(1);

    const again = await program.api<{ payouts: PayoutBody[] }>("POST", "/api/v1/payouts/generate", {});
    expect(again.body.payouts).toMatchObject([{ amount_cents: 3_000, commission_count: 2 }]);
    await program.api("POST", `/api/v1/payouts/${again.body.payouts[0]!.id}/mark-paid`, {});
    expect(await moneyOf(program)).toEqual({ paid: 3_000 });
    await expectLaw(program);
    expect(await differencesOf(programContext(program))).toEqual([]);
  });

  it("is in the journal as both movements, each with the payout", async () => {
    const { program, id } = await paidByHand();
    await giveBack(program, id);
    const { results } = await env.DB.prepare(
      "select from_account, to_account, sum(amount_cents) as cents from entries where program_id = ? and payout_id = ? group by 1, 2 order by 1, 2",
    )
      .bind(program.id, id)
      .all();
    expect(results).toEqual([
      { from_account: "in_payout", to_account: "paid", cents: 3_000 },
      { from_account: "paid", to_account: "payable", cents: 3_000 },
      { from_account: "payable", to_account: "in_payout", cents: 3_000 },
    ]);
  });

  it.each([
    ["without a reason", {}, "reason"],
    ["with an empty reason", { reason: "" }, "reason"],
    ["with a long reason", { reason: "x".repeat(201) }, "reason"],
  ])("%s it is 422 and names the field", async (_, body, path) => {
    const { program, id } = await paidByHand();
    const reply = await program.api<{ error: { details: { path: string }[] } }>(
      ...(["POST", `/api/v1/payouts/${id}/returned`, body] as const),
    );
    expect([reply.status, reply.body.error.details.map((one) => one.path)]).toEqual([422, [path]]);
    expect((await payoutById(id)).status).toBe("paid");
  });

  it("counts once: of two reports at once one wins, a later one is 409, and so is one of a payout that is not paid", async () => {
    const { program, id } = await paidByHand();
    const both = await Promise.all([giveBack(program, id), giveBack(program, id)]);
    expect(both.map(({ status }) => status).toSorted()).toEqual([200, 409]);
    expect((await giveBack(program, id)).status).toBe(409);
    expect(await eventsOf(program, "payout.returned")).toHaveLength(1);
    await program.api("POST", "/api/v1/payouts/generate", {});
    const pending = (await payoutsOf(program)).find(({ status }) => status === "pending")!;
    expect((await giveBack(program, pending.id)).status).toBe(409);
    for (const verb of ["pay", "cancel", "mark-paid"]) {
      expect((await program.api("POST", `/api/v1/payouts/${id}/${verb}`)).status).toBe(409);
    }
    const other = await makeProgram();
    expect((await giveBack(other, id)).status).toBe(404);
    expect(await moneyOf(program)).toEqual({ in_payout: 3_000 });
  });

  it("keeps each currency apart", async () => {
    const program = await makeProgram();
    const partner = await makePartner(program, {});
    await makeCommissions(program, partner.id, [
      { amount_cents: 1_000, currency: "EUR" },
      { amount_cents: 500, currency: "JPY" },
    ]);
    await program.api("POST", "/api/v1/payouts/generate", {});
    const made = await payoutsOf(program);
    for (const { id } of made) await program.api("POST", `/api/v1/payouts/${id}/mark-paid`, {});
    await giveBack(program, made.find(({ currency }) => currency === "JPY")!.id);
    expect([await moneyOf(program, "EUR"), await moneyOf(program, "JPY")]).toEqual([{ paid: 1_000 }, { payable: 500 }]);
    const again = await program.api<{ payouts: PayoutBody[] }>("POST", "/api/v1/payouts/generate", {});
    expect(again.body.payouts).toMatchObject([{ amount_cents: 500, currency: "JPY" }]);
  });

  it("for a deactivated partner no e-mail is sent, and another payout pays", async () => {
    const { program, partner, id } = await paidByHand();
    await program.api("DELETE", `/api/v1/partners/${partner.id}`);
    expect((await giveBack(program, id)).status).toBe(200);
    const { results } = await env.DB.prepare("select kind from mails where kind = 'payout_returned'").all();
    expect(results).toEqual([]);
    const again = await program.api<{ payouts: PayoutBody[] }>("POST", "/api/v1/payouts/generate", {});
    expect(again.body.payouts).toMatchObject([{ amount_cents: 3_000 }]);
  });

  it("shows the owner the reason, and the partner a kind text without it", async () => {
    const { program, partner, id } = await paidByHand();
    const owner = await signInOwner(program);
    await owner.get(`/dashboard/payouts/${id}`);
    expect(textOf(owner.html)).toContain("Mark as returned");
    await owner.get(`/dashboard/payouts/${id}/returned`);
    await owner.post(`/dashboard/payouts/${id}/returned`, { reason: "" });
    expect((await payoutById(id)).status).toBe("paid");
    await owner.post(`/dashboard/payouts/${id}/returned`, { reason: "Account closed" });
    await owner.get(`/dashboard/payouts/${id}`);
    expect(textOf(owner.html)).toContain("Account closed");
    await owner.get("/dashboard/payouts?status=returned");
    expect(owner.html).toContain(id);
    const portal = await signInPartner(partner.email);
    await portal.get(`/portal/payouts/${id}`);
    expect(textOf(portal.html)).toContain("No money is lost");
    expect(textOf(portal.html)).not.toContain("Account closed");
    await portal.get("/portal/payouts");
    expect(textOf(portal.html)).toContain("will be paid again");
  });
});

describe("refunds around a return (OUT-20)", () => {
  /** A sale of 100.00 with 20 %, paid; refunds in the argument come before its approval. */
  async function paidSale(refunded = 0) {
    const program = await makeProgram();
    const partner = await makePartner(program, { slug: "ann" });
    const sale = { ref: "ann", amount: 10_000, payment_intent: "pi_1" };
    await sendA(program, sessionCompleted(sale));
    if (refunded > 0) await refund(program, refunded);
    const [{ id: commission } = { id: "" }] = await commissionsOf(program);
    await program.api("PATCH", `/api/v1/commissions/${commission}`, { status: "approved" });
    await program.api("POST", "/api/v1/payouts/generate", {});
    const [{ id } = { id: "" }] = await payoutsOf(program);
    await program.api("POST", `/api/v1/payouts/${id}/mark-paid`, {});
    return { program, partner, id };
  }
  const refund = (program: TestProgram, refunded: number) =>
    sendA(program, chargeRefunded({ payment_intent: "pi_1", amount: 10_000, refunded }));

  it("one before it merges: money that came back is not owed", async () => {
    const { program, id } = await paidSale();
    await refund(program, 5_000);
    expect(await moneyOf(program)).toEqual({ paid: 2_000, payable: -1_000 });
    await giveBack(program, id);
    expect(await moneyOf(program)).toEqual({ payable: 1_000 });
    expect((await commissionsOf(program)).filter(({ amount_cents }) => amount_cents !== 0)).toMatchObject([
      { kind: "sale", amount_cents: 1_000, status: "approved" },
    ]);
    await expectLaw(program);
    expect(await differencesOf(programContext(program))).toEqual([]);
  });

  it("one after it changes the free commission", async () => {
    const { program, id } = await paidSale();
    await giveBack(program, id);
    await refund(program, 10_000);
    expect(await moneyOf(program)).toEqual({});
    expect((await commissionsOf(program)).filter(({ kind }) => kind === "clawback")).toEqual([]);
    expect(await differencesOf(programContext(program))).toEqual([]);
  });

  it("one before the approval flags the free commission again (PAY-11)", async () => {
    const { program, id } = await paidSale(6_000);
    expect(await commissionsOf(program)).toMatchObject([{ status: "paid", review_reason: null }]);
    // Settled long before the payout was made.
    await env.DB.prepare("update payments set updated_at = '2026-01-01T00:00:00.000Z' where program_id = ?")
      .bind(program.id)
      .run();
    await giveBack(program, id);
    expect(await commissionsOf(program)).toMatchObject([{ status: "approved", review_reason: "mostly_refunded" }]);
    expect(await differencesOf(programContext(program))).toEqual([]);
  });

  it("a clawback in the returned payout is free again too", async () => {
    const { program, partner, id } = await paidSale();
    await refund(program, 5_000);
    await makeCommissions(program, partner.id, [{ amount_cents: 3_000 }]);
    await program.api("POST", "/api/v1/payouts/generate", {});
    const second = (await payoutsOf(program)).find((one) => one.id !== id)!;
    expect(second.amount_cents).toBe(2_000);
    await program.api("POST", `/api/v1/payouts/${second.id}/mark-paid`, {});
    await giveBack(program, second.id);
    expect(await moneyOf(program)).toEqual({ paid: 2_000, payable: 2_000 });
    await giveBack(program, id);
    expect(await moneyOf(program)).toEqual({ payable: 4_000 });
    await expectLaw(program);
    expect(await differencesOf(programContext(program))).toEqual([]);
  });

  it("a clawback that another payout deducted is given back with it", async () => {
    const { program, partner, id } = await paidSale();
    await refund(program, 5_000);
    await makeCommissions(program, partner.id, [{ amount_cents: 3_000 }]);
    await program.api("POST", "/api/v1/payouts/generate", {});
    await giveBack(program, id);
    // Due: 10.00 of the sale and 30.00; the second payout has 20.00 of it.
    expect(await moneyOf(program)).toEqual({ in_payout: 2_000, payable: 2_000 });
    await expectLaw(program);
    expect(await differencesOf(programContext(program))).toEqual([]);
  });
});

describe("a transfer that the vendor reports as reversed in full (OUT-21)", () => {
  async function paying(): Promise<PaidProgram> {
    const world = await makePayingProgram();
    await setSecrets(world.program.id, { provider_a_webhook_secret: SECRET_A });
    return world;
  }
  async function paidByTransfer() {
    const world = await paying();
    const { id } = await makePayout(world);
    await payPayout(programContext(world.program), id, clientOf(world.vendor));
    const [transfer] = world.vendor.transfers;
    return { ...world, id, transfer: transfer! };
  }

  it("returns its payout, once however often it is reported", async () => {
    const { program, id, transfer } = await paidByTransfer();
    takeBack(transfer);
    const event = transferReversed(transfer);
    await Promise.all([sendA(program, event), sendA(program, event), sendA(program, transferReversed(transfer))]);
    await sendA(program, transferReversed(transfer));
    expect(await payoutById(id)).toMatchObject({ status: "returned", failure_code: "transfer_reversed" });
    const events = await eventsOf(program, "payout.returned");
    expect(events).toMatchObject([{ actor: { type: "provider" } }]);
    expect(await moneyOf(program)).toEqual({ payable: 3_000 });
    await expectLaw(program);
    expect(await differencesOf(programContext(program))).toEqual([]);
  });

  it("in part leaves it paid, with a difference (LAW-11)", async () => {
    const { program, vendor, id, transfer } = await paidByTransfer();
    takeBack(transfer, 1_000);
    await sendA(program, transferReversed(transfer));
    expect((await payoutById(id)).status).toBe("paid");
    vi.spyOn(console, "error").mockImplementation(() => {});
    expect(await differencesOf(programContext(program), clientOf(vendor))).toMatchObject([{ kind: "transfer" }]);
    takeBack(transfer, 2_000);
    await sendA(program, transferReversed(transfer));
    expect((await payoutById(id)).status).toBe("returned");
    expect(await differencesOf(programContext(program), clientOf(vendor))).toEqual([]);
  });

  it("after a return by hand moves nothing, nor after the commissions are paid again", async () => {
    const { program, vendor, id, transfer } = await paidByTransfer();
    await giveBack(program, id);
    takeBack(transfer);
    await sendA(program, transferReversed(transfer));
    expect(await moneyOf(program)).toEqual({ payable: 3_000 });
    await program.api("POST", "/api/v1/payouts/generate", {});
    const again = (await payoutsOf(program)).find(({ status }) => status === "pending")!;
    playOutside(vendor);
    expect((await program.api<PayoutBody>("POST", `/api/v1/payouts/${again.id}/pay`)).body.status).toBe("paid");
    await sendA(program, transferReversed(transfer));
    expect(await moneyOf(program)).toEqual({ paid: 3_000 });
    expect(await eventsOf(program, "payout.returned")).toHaveLength(1);
  });

  it("before the payment is confirmed fails the attempt, and the payout can be paid again", async () => {
    const world = await paying();
    const { program, vendor } = world;
    const { id } = await makePayout(world);
    // The vendor makes the transfer and the owner reverses it before its answer arrives.
    const { fetch } = vendor;
    vendor.fetch = async (url, init) => {
      const reply = await fetch(url, init);
      const [transfer] = vendor.transfers;
      if (transfer && !transfer.reversed) {
        takeBack(transfer);
        await sendA(program, transferReversed(transfer));
      }
      return reply;
    };
    const ended = await payPayout(programContext(program), id, clientOf(vendor));
    expect(ended).toMatchObject({ status: "failed", failure_code: "transfer_reversed" });
    expect(await moneyOf(program)).toEqual({ in_payout: 3_000 });
    vendor.fetch = fetch;
    expect(await payPayout(programContext(program), id, clientOf(vendor))).toMatchObject({
      status: "paid",
      attempt: 2,
    });
    // The report about the first attempt's transfer, repeated.
    await sendA(program, transferReversed(vendor.transfers.find(({ reversed }) => reversed)!));
    expect((await payoutById(id)).status).toBe("paid");
    expect(await moneyOf(program)).toEqual({ paid: 3_000 });
  });

  it("while the answer is lost, the next look-up decides", async () => {
    const world = await paying();
    const { program, vendor } = world;
    const { id } = await makePayout(world);
    vendor.faults.push("drop_reply");
    await payPayout(programContext(program), id, clientOf(vendor));
    takeBack(vendor.transfers[0]!);
    await sendA(program, transferReversed(vendor.transfers[0]!));
    expect((await payoutById(id)).status).toBe("processing");
    await reconcileAt(vendor, Date.now() + HOUR);
    expect(await payoutById(id)).toMatchObject({ status: "failed", failure_code: "transfer_reversed" });
  });

  it("is found by the daily check too, if the event was lost", async () => {
    const { program, vendor, id, transfer } = await paidByTransfer();
    takeBack(transfer);
    await reconcileRound(programContext(program), clientOf(vendor), true);
    expect((await payoutById(id)).status).toBe("returned");
    expect(await eventsOf(program, "reconciliation.failed")).toEqual([]);
  });

  it("changes nothing for another program's payout, another transfer, or a test event where live ones count", async () => {
    const { program, id, transfer } = await paidByTransfer();
    takeBack(transfer);
    const other = await paying();
    await sendA(other.program, transferReversed(transfer));
    await sendA(program, transferReversed({ ...transfer, id: "tr_other" }));
    await sendA(program, transferReversed({ ...transfer, transfer_group: null }));
    await program.api("PATCH", "/api/v1/programs/me", { live_only: true });
    await sendA(program, transferReversed(transfer, { livemode: false }));
    expect((await payoutById(id)).status).toBe("paid");
  });

  it("changes nothing for a payout in a file, whose transfer somebody else has named after it (OUT-22)", async () => {
    const world = await paidByTransfer();
    const { program, transfer } = world;
    await makeExport(world);
    const inFile = (await payoutsOf(program)).find(({ status }) => status === "processing")!;
    takeBack(transfer);
    const reply = await sendA(program, transferReversed({ ...transfer, transfer_group: inFile.id }));
    expect(reply.status).toBe(200);
    expect((await payoutById(inFile.id)).status).toBe("processing");
  });
});
