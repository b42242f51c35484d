import { describe, expect, it } from "vitest";
import { makePartner, makeProgram } from "../support/program.ts";
import { ledgerOf, sendA, sendB } from "../support/ledger.ts";
import { chargeRefunded, invoicePaid, sessionCompleted } from "../support/provider-a.ts";
import { chargeSucceeded, invoicePaymentPaid } from "../support/provider-a-changes.ts";
import { transactionCompleted } from "../support/provider-b.ts";

describe("from payment to commission", () => {
  it("sends the same event 20 times at once: one payment, one commission, one event of each kind (IN-2, IN-7)", async () => {
    const program = await makeProgram();
    await makePartner(program, { slug: "jane" });
    const event = sessionCompleted({ ref: "jane" });
    const replies = await Promise.all(Array.from({ length: 20 }, () => sendA(program, event)));
    expect(replies.map((reply) => reply.status)).toEqual(Array.from({ length: 20 }, () => 200));
    const ledger = await ledgerOf(program);
    expect(ledger.payments).toHaveLength(1);
    expect(ledger.commissions).toHaveLength(1);
    expect(ledger.eventCounts).toMatchObject({ "commission.created": 1, "webhook.provider_a": 1 });
    expect(ledger.eventCounts["commission.updated"]).toBeUndefined();
  });

  it("session and invoice of one purchase, either order, at once (PAY-5)", async () => {
    for (const order of [0, 1, 2]) {
      const program = await makeProgram();
      await makePartner(program, { slug: "jane" });
      const ids = {
        invoice: `in_${order}${program.id}`,
        subscription: `sub_${program.id}`,
        customer: `cus_${program.id}`,
      };
      const session = sessionCompleted({ ref: "jane", amount: 12_000, tax: 2_000, ...ids });
      const invoice = invoicePaid({
        id: ids.invoice,
        subscription: ids.subscription,
        customer: ids.customer,
        amount: 12_000,
        tax: 2_000,
      });
      const events = order === 1 ? [invoice, session] : [session, invoice];
      if (order === 2) await Promise.all(events.map((event) => sendA(program, event)));
      else for (const event of events) expect((await sendA(program, event)).status).toBe(200);
      const ledger = await ledgerOf(program);
      expect(ledger.payments).toHaveLength(1);
      expect(ledger.commissions).toMatchObject([{ amount_cents: 2_000 }]);
      expect(ledger.eventCounts["commission.created"]).toBe(1);
    }
  });

  it("a commission that a late fact takes the ground from is withdrawn, and its last event says so (PAY-23)", async () => {
    const program = await makeProgram();
    const [ann, bob] = [await makePartner(program, { slug: "ann" }), await makePartner(program, { slug: "bob" })];
    const { id } = (
      await program.api<{ id: string }>("POST", "/api/v1/webhooks", { url: "https://r.example.com/", events: ["*"] })
    ).body;
    const ids = { subscription: `sub_${program.id}`, invoice: `in_${program.id}` };
    await sendA(program, invoicePaid({ id: ids.invoice, ref: "ann", subscription: ids.subscription }));
    const [first] = (await ledgerOf(program)).commissions;
    expect(first?.partner_id).toBe(ann.id);
    await sendA(program, sessionCompleted({ ref: "bob", ...ids }));
    const { commissions } = await ledgerOf(program);
    expect(commissions).toMatchObject([{ partner_id: bob.id, status: "pending", amount_cents: 2_000 }]);
    expect((await program.api("GET", `/api/v1/commissions/${first!.id}`)).status).toBe(404);
    const { data: logged } = (
      await program.api<{ data: { payload: object }[] }>("GET", "/api/v1/events?type=commission.updated")
    ).body;
    const withdrawn = { status: "rejected", amount_cents: 0, withdrawn: true };
    expect(logged).toMatchObject([{ payload: { commission_id: first!.id, partner_id: ann.id, ...withdrawn } }]);
    const { deliveries } = (
      await program.api<{ deliveries: { event: string; payload: { data: object } }[] }>("GET", `/api/v1/webhooks/${id}`)
    ).body;
    const sent = deliveries.filter(({ event }) => event === "commission.updated").map(({ payload }) => payload.data);
    expect(sent).toMatchObject([{ id: first!.id, status: "rejected", amount: 0 }]);
  });

  it("a commission that only learns the customer's address changes without an event", async () => {
    const program = await makeProgram();
    await makePartner(program, { slug: "jane" });
    const ids = { subscription: `sub_${program.id}`, invoice: `in_${program.id}` };
    await sendA(program, invoicePaid({ id: ids.invoice, ref: "jane", subscription: ids.subscription, email: null }));
    await sendA(program, sessionCompleted({ ref: "jane", ...ids, email: "late@customers.example" }));
    const { commissions, eventCounts } = await ledgerOf(program);
    expect(commissions).toMatchObject([{ customer_email: "late@customers.example" }]);
    expect(eventCounts["commission.updated"]).toBeUndefined();
  });

  it("a commission has the payment's currency and is dated by the provider's time of the event (PAY-3)", async () => {
    const program = await makeProgram();
    await makePartner(program, { slug: "jane" });
    const created = Date.parse("2026-03-01T10:00:00Z") / 1_000;
    await sendA(program, sessionCompleted({ id: "cs_1", ref: "jane", currency: "jpy", amount: 1_234, created }));
    const occurred_at = "2026-04-02T11:12:13.456Z";
    await sendB(program, transactionCompleted({ ref: "jane", program: program.id, currency: "EUR", occurred_at }));
    const { commissions } = await ledgerOf(program);
    const reported = commissions.map(({ currency, amount_cents, created_at }) => [currency, amount_cents, created_at]);
    expect(reported.toSorted()).toEqual([
      ["EUR", 2_000, occurred_at],
      ["JPY", 247, "2026-03-01T10:00:00.000Z"],
    ]);
  });

  it("a refund that comes before its payment waits for it (PAY-9)", async () => {
    const program = await makeProgram();
    await makePartner(program, { slug: "jane" });
    const intent = `pi_${program.id}`;
    const refund = await sendA(program, chargeRefunded({ payment_intent: intent, amount: 12_000, refunded: 3_000 }));
    expect(refund.body).toMatchObject({ outcome: "waiting" });
    await sendA(program, sessionCompleted({ ref: "jane", amount: 12_000, tax: 2_000, payment_intent: intent }));
    const ledger = await ledgerOf(program);
    expect(ledger.commissions).toMatchObject([{ amount_cents: 1_500 }]);
  });

  it("provider A's refunds find their payment by its intent, its charge or its invoice (PAY-18)", async () => {
    const program = await makeProgram();
    await makePartner(program, { slug: "jane" });
    const name = (prefix: string, index: number) => `${prefix}_${index}${program.id}`;
    const sale = (index: number) =>
      sendA(program, sessionCompleted({ id: name("cs", index), ref: "jane", payment_intent: name("pi", index) }));
    for (const index of [1, 2]) await sale(index);
    await sendA(program, invoicePaid({ id: name("in", 3), ref: "jane" }));
    await sendA(program, chargeSucceeded({ charge: name("ch", 2), payment_intent: name("pi", 2) }));
    await sendA(program, invoicePaymentPaid({ invoice: name("in", 3), payment_intent: name("pi", 3) }));
    const half = { amount: 10_000, refunded: 5_000 };
    await sendA(program, chargeRefunded({ ...half, charge: name("ch", 1), payment_intent: name("pi", 1) }));
    await sendA(program, chargeRefunded({ ...half, charge: name("ch", 2), payment_intent: null }));
    await sendA(program, chargeRefunded({ ...half, charge: name("ch", 3), payment_intent: name("pi", 3) }));
    const { commissions } = await ledgerOf(program);
    expect(commissions.map(({ amount_cents }) => amount_cents)).toEqual([1_000, 1_000, 1_000]);
  });
});
