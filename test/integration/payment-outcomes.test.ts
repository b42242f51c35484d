/** Every outcome (PAY-14) by a vendor-signed event, and the trace that explains it. */
import { describe, expect, it } from "vitest";
import { ledgerOf, sendA, sendB } from "../support/ledger.ts";
import { chargeRefunded, invoicePaid, sessionAsyncSucceeded } from "../support/provider-a.ts";
import { sessionCompleted, subscriptionDeleted } from "../support/provider-a.ts";
import { subscriptionCanceled, transactionCompleted } from "../support/provider-b.ts";
import { makePartner, makeProgram, type TestProgram } from "../support/program.ts";

interface PaymentBody {
  id: string;
  outcome: string;
  trace: {
    outcome: string;
    ref: string | null;
    ref_source: string | null;
    partner_id: string | null;
    flows: { flow_id: string; matched: boolean; conditions: { saw: unknown; held: boolean }[] }[];
    rate: { source: string; action_type: string; action_value: number } | null;
    amount_cents: number | null;
    arithmetic: string | null;
  };
  commissions: { id: string; amount_cents: number; partner_id: string; rate: unknown; status: string }[];
}

async function onlyPayment(program: TestProgram): Promise<PaymentBody> {
  const list = await program.api<{ data: { id: string }[]; total: number }>("GET", "/api/v1/payments");
  expect(list.body.total).toBe(1);
  const one = await program.api<PaymentBody>("GET", `/api/v1/payments/${list.body.data[0]!.id}`);
  expect(one.status).toBe(200);
  return one.body;
}

describe("outcomes (PAY-14, IN-2)", () => {
  const cases: [string, (program: TestProgram) => Promise<unknown>, string][] = [
    ["no_ref", (program) => sendA(program, sessionCompleted({ ref: null })), "no_ref"],
    ["unknown_ref", (program) => sendA(program, sessionCompleted({ ref: "stranger" })), "unknown_ref"],
    ["partner_not_active", (program) => sendA(program, sessionCompleted({ ref: "invited" })), "partner_not_active"],
    ["partner_deactivated", (program) => sendB(program, transactionCompleted({ ref: "gone" })), "partner_deactivated"],
    ["zero_amount", (program) => sendA(program, sessionCompleted({ ref: "jane", amount: 0 })), "zero_amount"],
    [
      "zero_amount of a fully taxed sum",
      (program) => sendB(program, transactionCompleted({ ref: "jane", amount: 500, tax: 500 })),
      "zero_amount",
    ],
    ["unpaid", (program) => sendA(program, sessionCompleted({ ref: "jane", payment_status: "unpaid" })), "unpaid"],
    ["commission", (program) => sendA(program, invoicePaid({ ref: "JANE", ref_in: "line" })), "commission"],
  ];
  it.each(cases)("%s", async (_name, send, outcome) => {
    const program = await makeProgram();
    await makePartner(program, { slug: "jane" });
    await makePartner(program, { slug: "invited" }, "invited");
    await makePartner(program, { slug: "gone" }, "deactivated");
    expect(await send(program)).toMatchObject({ status: 200, body: { received: true, outcome } });
    const payment = await onlyPayment(program);
    expect(payment.outcome).toBe(outcome);
    expect(payment.trace.outcome).toBe(outcome);
    if (outcome === "commission") {
      expect(payment.commissions).toHaveLength(1);
      expect(payment.trace.amount_cents).toBe(payment.commissions[0]?.amount_cents);
      expect(payment.trace.rate).toEqual(payment.commissions[0]?.rate);
      expect(payment.trace.arithmetic).toBe("20 % of 10000 = 2000");
    } else {
      expect(payment.commissions).toEqual([]);
      expect(payment.trace.amount_cents).toBeNull();
    }
    const filtered = await program.api<{ total: number }>("GET", `/api/v1/payments?outcome=${outcome}`);
    expect(filtered.body.total).toBe(1);
    const others = await program.api<{ total: number }>(
      "GET",
      `/api/v1/payments?outcome=${outcome === "no_ref" ? "unpaid" : "no_ref"}`,
    );
    expect(others.body.total).toBe(0);
    const { eventCounts } = await ledgerOf(program);
    expect((eventCounts["webhook.provider_a"] ?? 0) + (eventCounts["webhook.provider_b"] ?? 0)).toBe(1);
  });

  it("an unpaid session counts when its delayed payment arrives, dated by that payment (PAY-3, PAY-6)", async () => {
    const program = await makeProgram();
    await makePartner(program, { slug: "jane" });
    const ids = { id: "cs_delayed", ref: "jane", payment_intent: "pi_delayed" };
    await sendA(program, sessionCompleted({ ...ids, payment_status: "unpaid", created: 1_780_000_000 }));
    await sendA(program, sessionAsyncSucceeded({ ...ids, created: 1_780_200_000 }));
    const ledger = await ledgerOf(program);
    expect(ledger.payments).toMatchObject([{ outcome: "commission" }]);
    expect(ledger.commissions).toMatchObject([{ created_at: new Date(1_780_200_000_000).toISOString() }]);
  });
});

describe("money that goes back", () => {
  async function sold(fields: Parameters<typeof sessionCompleted>[0] = {}) {
    const program = await makeProgram();
    const jane = await makePartner(program, { slug: "jane" });
    const ids = { charge: "ch_1", payment_intent: "pi_1" };
    await sendA(
      program,
      sessionCompleted({ ref: "jane", amount: 12_000, tax: 2_000, payment_intent: "pi_1", ...fields }),
    );
    return { program, jane, ids };
  }

  it("recalculates by the rule recorded on the commission, whatever the flows say by then (PAY-7)", async () => {
    const { program, ids } = await sold();
    const changed = await program.api("PATCH", "/api/v1/programs/me", { default_commission_pct: 90 });
    expect(changed.status).toBe(200);
    await sendA(program, chargeRefunded({ ...ids, amount: 12_000, refunded: 3_000 }));
    const ledger = await ledgerOf(program);
    // 3,000 of 12,000 gross is 2,500 of 10,000 net; 20 % of 7,500.
    expect(ledger.commissions).toMatchObject([{ amount_cents: 1_500, flagged: false }]);
    expect(ledger.eventCounts["commission.updated"]).toBe(1);
  });

  it("flags what was refunded by more than half, and takes everything back at a full refund (PAY-11)", async () => {
    const { program, ids } = await sold();
    await sendA(program, chargeRefunded({ ...ids, amount: 12_000, refunded: 6_000 }));
    expect((await ledgerOf(program)).commissions).toMatchObject([{ amount_cents: 1_000, flagged: false }]);
    await sendA(program, chargeRefunded({ ...ids, amount: 12_000, refunded: 6_002 }));
    expect((await ledgerOf(program)).commissions).toMatchObject([{ flagged: true, review_reason: "mostly_refunded" }]);
    await sendA(program, chargeRefunded({ ...ids, amount: 12_000, refunded: 12_000 }));
    expect((await ledgerOf(program)).commissions).toMatchObject([{ amount_cents: 0, status: "pending" }]);
  });

  it("a flat commission stays until the payment is fully refunded (PAY-7)", async () => {
    const program = await makeProgram();
    await makePartner(program, { slug: "jane" });
    const flow = await program.api("POST", "/api/v1/flows", { name: "flat", action_type: "flat", action_value: 700 });
    expect(flow.status).toBe(201);
    await sendA(program, sessionCompleted({ ref: "jane", amount: 10_000, payment_intent: "pi_f" }));
    await sendA(program, chargeRefunded({ payment_intent: "pi_f", charge: "ch_f", amount: 10_000, refunded: 9_999 }));
    expect((await ledgerOf(program)).commissions).toMatchObject([{ amount_cents: 700 }]);
    await sendA(program, chargeRefunded({ payment_intent: "pi_f", charge: "ch_f", amount: 10_000, refunded: 10_000 }));
    expect((await ledgerOf(program)).commissions).toMatchObject([{ amount_cents: 0 }]);
  });

  it.each([
    ["A", "sub_canceled_a"],
    ["B", "sub_canceled_b"],
  ])(
    "a canceled subscription flags its unpaid commissions, also those that come later (provider %s) (PAY-11)",
    async (provider, subscription) => {
      const program = await makeProgram();
      await makePartner(program, { slug: "jane" });
      const pay = () =>
        provider === "A"
          ? sendA(program, invoicePaid({ ref: "jane", subscription }))
          : sendB(program, transactionCompleted({ ref: "jane", subscription }));
      await pay();
      await (provider === "A"
        ? sendA(program, subscriptionDeleted({ id: subscription }))
        : sendB(program, subscriptionCanceled({ id: subscription })));
      await pay();
      const { commissions } = await ledgerOf(program);
      expect(commissions).toHaveLength(2);
      for (const row of commissions)
        expect(row).toMatchObject({ flagged: true, review_reason: "subscription_canceled" });
    },
  );

  it.each([
    ["JANE@example.com", true],
    ["jane+shop@example.com", true],
    ["jane@EXAMPLE.com.", true],
    ["j.d.o.e+1@googlemail.com", true],
    ["john@example.com", false],
    ["jane@example.org", false],
  ])("flags a customer who is the partner, by any address of theirs: %s %s (PAY-11)", async (email, flagged) => {
    const program = await makeProgram();
    await makePartner(program, { slug: "jane", email: "jane@example.com", payout_email: "jdoe@gmail.com" });
    await sendA(program, sessionCompleted({ ref: "jane", email }));
    expect((await ledgerOf(program)).commissions).toMatchObject([
      { flagged, review_reason: flagged ? "self_referral" : null },
    ]);
  });
});
