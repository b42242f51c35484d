/**
 * PAY-13, PAY-19: events of test mode are stored, answered 200 with outcome `test_mode`, and make no commission, unless
 * `live_only` is false.
 */
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { finishOpenEvents } from "../../src/core/inbound/receive.ts";
import { readOverview } from "../../src/core/overview/overview.ts";
import { lastDays } from "../../src/core/partners/code-stats.ts";
import { VENDOR_NAMES, type ListedVendor } from "../../src/providers/registry.ts";
import { ledgerOf, sendA, sendB, sendBody } from "../support/ledger.ts";
import { makePartner, makeProgram, programContext, type TestProgram } from "../support/program.ts";
import {
  chargeRefunded,
  customerEvent,
  disputeEvent,
  eventA,
  invoicePaid,
  invoicePaymentPaid,
  sessionCompleted,
  sessionSetup,
  subscriptionDeleted,
  type EventA,
} from "../support/provider-a.ts";
import {
  adjustmentCreated,
  customerEventB,
  subscriptionCanceled,
  subscriptionEventB,
  transactionCompleted,
  type EventB,
} from "../support/provider-b.ts";
import { saleAt } from "../support/sale.ts";
import { TEST_VENDORS } from "../support/vendors/index.ts";
import { callWith } from "../support/watched-database.ts";

async function programOfJane(fields: Parameters<typeof makeProgram>[0] = {}): Promise<TestProgram> {
  const program = await makeProgram(fields);
  await makePartner(program, { slug: "jane" });
  return program;
}

const TEST_MODE = { status: 200, body: { received: true, outcome: "test_mode" } };

/** The event as the vendor's simulator sends it. */
function simulated(event: EventB): EventB {
  return { ...event, event_id: event.event_id.replace("evt_", "ntfsimevt_"), notification_id: "ntfsimntf_1" };
}

/** Sends a payment of Jane's in the provider's test mode. */
function sendTest(program: TestProgram, provider: ListedVendor) {
  const sale = JSON.parse(saleAt(provider, { ref: "jane", program: program.id })) as object;
  return sendBody(program, provider, JSON.stringify(TEST_VENDORS[provider].inTestMode(sale)));
}

async function storedEvents(program: TestProgram) {
  const rows = await env.DB.prepare("select event_type, outcome from provider_events where program_id = ?")
    .bind(program.id)
    .all();
  return rows.results;
}

describe("live_only", () => {
  it("is true for programs made where ENVIRONMENT is production, else false (PROG-8)", async () => {
    const ADMIN_TOKEN = "a".repeat(43);
    for (const [ENVIRONMENT, live_only] of [
      ["production", true],
      ["development", false],
      ["staging", false],
    ] as const) {
      const { status, body } = await callWith<{ program: object }>({ ENVIRONMENT, ADMIN_TOKEN }, "/admin/programs", {
        method: "POST",
        headers: { authorization: `Bearer ${ADMIN_TOKEN}`, "content-type": "application/json" },
        body: JSON.stringify({ name: "Shop", owner_email: "owner@example.com" }),
      });
      expect([ENVIRONMENT, status, body.program]).toEqual([ENVIRONMENT, 201, expect.objectContaining({ live_only })]);
    }
  });
});

describe("a test payment (PAY-13)", () => {
  it.each<[string, (program: TestProgram) => ReturnType<typeof sendA>]>([
    ...VENDOR_NAMES.map((name): [string, (program: TestProgram) => ReturnType<typeof sendA>] => [
      name,
      (program) => sendTest(program, name),
    ]),
    ["provider A, an invoice", (program) => sendA(program, invoicePaid({ ref: "jane", livemode: false }))],
    [
      "provider B's simulator, by the event's id",
      (program) => sendB(program, { ...simulated(transactionCompleted({ ref: "jane" })), notification_id: "ntf_1" }),
    ],
    [
      "provider B's simulator, by the notification",
      (program) => sendB(program, { ...transactionCompleted({ ref: "jane" }), notification_id: "ntfsimntf_1" }),
    ],
    [
      "provider B, an environment that is not live",
      (program) => sendB(program, Object.assign(transactionCompleted({ ref: "jane" }), { environment: "sandbox" })),
    ],
  ])("of %s is stored with its trace and earns nothing (PAY-14)", async (_, send) => {
    const program = await programOfJane();
    expect(await send(program)).toMatchObject(TEST_MODE);
    const { payments, commissions, eventCounts } = await ledgerOf(program);
    expect(commissions).toEqual([]);
    expect(payments).toMatchObject([{ outcome: "test_mode" }]);
    expect(payments[0]?.decision?.candidates).toMatchObject([
      { ref: "jane", partner_id: expect.stringMatching(/^par_/) },
    ]);
    expect(VENDOR_NAMES.map((name) => eventCounts[`webhook.${name}`] ?? 0).reduce((sum, n) => sum + n)).toBe(1);
    expect(eventCounts["commission.created"]).toBeUndefined();
    expect(await storedEvents(program)).toMatchObject([{ outcome: "test_mode" }]);
    const listed = await program.api<{ total: number }>("GET", "/api/v1/payments?outcome=test_mode");
    expect(listed.body.total).toBe(1);
  });

  it.each([
    ["live", true],
    ["Production", true],
    ["sandbox", false],
    ["", false],
  ])("an environment of %j is live: %s", async (environment, live) => {
    const program = await programOfJane();
    await sendB(program, Object.assign(transactionCompleted({ ref: "jane" }), { environment }));
    expect((await ledgerOf(program)).commissions).toHaveLength(live ? 1 : 0);
  });

  it("earns where live_only is false", async () => {
    const program = await programOfJane();
    expect((await program.api("PATCH", "/api/v1/programs/me", { live_only: false })).status).toBe(200);
    for (const name of VENDOR_NAMES) {
      expect([name, (await sendTest(program, name)).body.outcome]).toEqual([name, "commission"]);
    }
    expect((await ledgerOf(program)).commissions).toHaveLength(VENDOR_NAMES.length);
  });

  it("that was left out earns when the owner allows it and asks, and keeps what it earned", async () => {
    const program = await programOfJane();
    const event = sessionCompleted({ ref: "jane", livemode: false, payment_intent: "pi_1" });
    await sendA(program, event);
    const [payment] = (await ledgerOf(program)).payments;
    const reprocess = () => program.api<{ outcome: string }>("POST", `/api/v1/payments/${payment!.id}/reprocess`);
    expect((await reprocess()).body.outcome).toBe("test_mode");
    await program.api("PATCH", "/api/v1/programs/me", { live_only: false });
    // The same event again does not change the payment.
    expect((await sendA(program, event)).body).toMatchObject({ outcome: "test_mode" });
    expect((await ledgerOf(program)).payments).toHaveLength(1);
    expect((await reprocess()).body.outcome).toBe("commission");
    await program.api("PATCH", "/api/v1/programs/me", { live_only: true });
    expect((await reprocess()).body.outcome).toBe("commission");
    expect((await ledgerOf(program)).commissions).toHaveLength(1);
  });

  it("is no payment of the overview", async () => {
    const program = await programOfJane();
    await sendA(program, sessionCompleted({ ref: "jane", livemode: false }));
    await sendA(program, sessionCompleted({ ref: "jane" }));
    const { sales } = await readOverview(programContext(program), lastDays(Date.now(), 7));
    expect(sales.reduce((sum, { value }) => sum + value, 0)).toBe(1);
  });

  it("that a crash left open is closed as one", async () => {
    const program = await programOfJane();
    const event = sessionSetup({ ref: "jane", customer: "cus_1", livemode: false });
    await sendA(program, event);
    await env.DB.prepare("update provider_events set outcome = null, audit_event_id = null where program_id = ?")
      .bind(program.id)
      .run();
    await finishOpenEvents(programContext(program), [{ provider: "provider_a", event_id: event.id }]);
    expect(await storedEvents(program)).toMatchObject([{ outcome: "test_mode" }]);
  });
});

describe("test events touch nothing that is live (PAY-19)", () => {
  const ids = { payment_intent: "pi_1", charge: "ch_1" };
  const whose = { customer: "cus_1", subscription: "sub_1" };

  it.each<[string, EventA]>([
    ["a refund", chargeRefunded({ ...ids, livemode: false })],
    ["a dispute", disputeEvent("charge.dispute.created", { ...ids, livemode: false })],
    ["a cancellation", subscriptionDeleted({ id: "sub_1", livemode: false })],
    ["a customer", customerEvent({ id: "cus_1", ref: "joe", livemode: false })],
    ["a setup", sessionSetup({ ref: "joe", ...whose, livemode: false })],
    ["a payment of the same ids", sessionCompleted({ ref: "joe", id: "cs_1", ...ids, amount: 1, livemode: false })],
    ["what is not used at all", eventA("invoice.created", { id: "in_1" }, { livemode: false })],
  ])("provider A: %s, before and after", async (_, event) => {
    const bought = sessionCompleted({ id: "cs_1", ref: "jane", ...whose, payment_intent: "pi_1", invoice: "in_1" });
    const renewed = invoicePaid({ id: "in_2", ...whose });
    const link = invoicePaymentPaid({ invoice: "in_1", payment_intent: "pi_1", charge: "ch_1" });
    for (const events of [
      [bought, link, renewed, event],
      [event, bought, link, renewed],
    ]) {
      const program = await programOfJane();
      await makePartner(program, { slug: "joe" });
      for (const each of events) {
        const { body } = await sendA(program, each);
        expect(body.outcome === "test_mode").toBe(each === event);
      }
      const { payments, commissions } = await ledgerOf(program);
      expect(payments.filter((row) => row.outcome !== "test_mode").map(({ ref }) => ref)).toEqual(["jane", "jane"]);
      expect(commissions.map((row) => [row.amount_cents, row.flagged])).toEqual([
        [2_000, false],
        [2_000, false],
      ]);
    }
  });

  it.each<[string, EventB]>([
    ["an adjustment", adjustmentCreated({ transaction: "txn_1", status: "approved" })],
    ["a cancellation", subscriptionCanceled({ id: "sub_1" })],
    ["a customer", customerEventB({ id: "ctm_1", email: "jane@example.com" })],
    ["a subscription", subscriptionEventB("subscription.created", { id: "sub_1", ref: "joe" })],
    ["the transaction itself", transactionCompleted({ id: "txn_1", ref: "joe", amount: 1 })],
  ])("provider B: %s, simulated with the ids of a real payment", async (_, event) => {
    const bought = transactionCompleted({ id: "txn_1", ref: "jane", customer: "ctm_1", subscription: "sub_1" });
    for (const events of [
      [bought, simulated(event)],
      [simulated(event), bought],
    ]) {
      const program = await makeProgram();
      await makePartner(program, { slug: "jane", email: "jane@example.com" });
      await makePartner(program, { slug: "joe" });
      for (const each of events) expect((await sendB(program, each)).status).toBe(200);
      const { payments, commissions } = await ledgerOf(program);
      expect(payments.filter((row) => row.outcome !== "test_mode")).toMatchObject([
        { provider_transaction_id: "txn_1", ref: "jane", customer_email: null },
      ]);
      expect(commissions).toMatchObject([{ amount_cents: 2_000, flagged: false, review_reason: null }]);
    }
  });

  it("and among themselves they say as much as live ones do", async () => {
    const program = await programOfJane();
    await sendA(program, sessionSetup({ ref: "jane", customer: "cus_1", livemode: false }));
    await sendA(program, sessionCompleted({ ref: null, customer: "cus_1", livemode: false }));
    const [payment] = (await ledgerOf(program)).payments;
    expect(payment).toMatchObject({ outcome: "test_mode", decision: { ref: "jane", ref_source: "customer" } });
  });
});
