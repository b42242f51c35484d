/** Amounts of two currencies about one payment are never added up. */
import { describe, expect, it } from "vitest";
import { inAnyOrder } from "../support/any-order.ts";
import { ledgerOf, sendA } from "../support/ledger.ts";
import { makePartner, makeProgram, type TestProgram } from "../support/program.ts";
import {
  chargeRefunded,
  chargeSucceeded,
  creditNoteEvent,
  disputeClosed,
  disputeEvent,
  invoicePaid,
  invoicePaymentPaid,
  paymentIntentSucceeded,
  refundEvent,
  refundFailed,
  sessionCompleted,
  type EventA,
} from "../support/provider-a.ts";

async function shop(): Promise<TestProgram> {
  const program = await makeProgram();
  await makePartner(program, { slug: "jane" });
  return program;
}

async function send(program: TestProgram, ...events: EventA[]): Promise<void> {
  for (const event of events) expect((await sendA(program, event)).status).toBe(200);
}

async function rowsOf(program: TestProgram) {
  const { commissions } = await ledgerOf(program);
  return commissions
    .map(({ kind, currency, amount_cents, status }) => [kind, currency, amount_cents, status])
    .toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
}

/** Approves and pays out all there is. */
async function payOut(program: TestProgram): Promise<void> {
  const { body } = await program.api<{ data: { id: string; status: string }[] }>("GET", "/api/v1/commissions");
  for (const { id, status } of body.data) {
    if (status === "pending") await program.api("PATCH", `/api/v1/commissions/${id}`, { status: "approved" });
  }
  const { body: made } = await program.api<{ payouts: { id: string }[] }>("POST", "/api/v1/payouts/generate", {});
  for (const { id } of made.payouts) {
    expect((await program.api("POST", `/api/v1/payouts/${id}/mark-paid`, {})).status).toBe(200);
  }
}

describe("a payment whose invoice is in another currency than its session", () => {
  const session = sessionCompleted({ invoice: "in_1", ref: "jane", currency: "usd", amount: 10_000 });
  const invoice = invoicePaid({ id: "in_1", ref: "jane", currency: "jpy", amount: 1_500_000 });

  it("earns in the invoice's (PAY-1, PAY-3)", async () => {
    const program = await shop();
    await send(program, session, invoice);
    expect(await rowsOf(program)).toEqual([["sale", "JPY", 300_000, "pending"]]);
  });

  it("takes back what was paid out in its own currency, and gives the other in the other (LAW-2, PAY-3)", async () => {
    const program = await shop();
    await send(program, session);
    await payOut(program);
    await send(program, invoice);
    const rows = [
      ["clawback", "JPY", 300_000, "approved"],
      ["clawback", "USD", -2_000, "approved"],
      ["sale", "USD", 2_000, "paid"],
    ];
    expect(await rowsOf(program)).toEqual(rows);
    await send(program, invoicePaid({ id: "in_1", ref: "jane", currency: "jpy", amount: 1_500_000 }));
    expect(await rowsOf(program)).toEqual(rows);
  });

  it("gives nothing of what the owner denies in the other, however often it is settled (COM-4)", async () => {
    const program = await shop();
    await send(program, session);
    await payOut(program);
    await send(program, invoice);
    const { body } = await program.api<{ data: { id: string; currency: string }[] }>("GET", "/api/v1/commissions");
    const { id } = body.data.find(({ currency }) => currency === "JPY")!;
    expect((await program.api("PATCH", `/api/v1/commissions/${id}`, { status: "rejected" })).status).toBe(200);
    const rows = [
      ["clawback", "JPY", 300_000, "rejected"],
      ["clawback", "USD", -2_000, "approved"],
      ["sale", "USD", 2_000, "paid"],
    ];
    expect(await rowsOf(program)).toEqual(rows);
    await send(program, invoicePaid({ id: "in_1", ref: "jane", currency: "jpy", amount: 1_600_000 }));
    expect(await rowsOf(program)).toEqual([["clawback", "JPY", 20_000, "approved"], ...rows]);
    await send(program, chargeRefunded({ invoice: "in_1", currency: "jpy", amount: 1_600_000 }));
    expect(await rowsOf(program)).toEqual(rows);
  });
});

describe("what goes back in another currency than the payment's", () => {
  const ids = { charge: "ch_1", payment_intent: "pi_1", currency: "usd" };
  const session = { invoice: "in_1", payment_intent: "pi_1", ref: "jane", currency: "usd", amount: 10_000 };
  const paid = [
    sessionCompleted(session),
    invoicePaid({ id: "in_1", ref: "jane", currency: "jpy", amount: 1_500_000 }),
  ];

  it.each([
    ["all of the charge", chargeRefunded({ ...ids, amount: 10_000 }), 0],
    ["a tenth of it", chargeRefunded({ ...ids, amount: 10_000, refunded: 1_000 }), 270_000],
    [
      "a tenth of it, of which only the refund is reported",
      refundEvent("refund.created", { ...ids, amount: 1_000 }),
      270_000,
    ],
    [
      "what was held and not taken",
      chargeRefunded({ ...ids, amount: 12_000, captured: 10_000, refunded: 2_000 }),
      300_000,
    ],
    ["a tenth in a dispute that is lost", disputeClosed({ ...ids, amount: 1_000 }), 270_000],
    ["a part in a third currency", refundEvent("refund.created", { ...ids, currency: "eur", amount: 1 }), 0],
  ] as const)("%s, whichever event comes first (PAY-3, PAY-7)", async (_, back, left) => {
    for (const events of [
      [...paid, back],
      [back, ...paid.toReversed()],
    ]) {
      const program = await shop();
      await send(program, ...events);
      expect(await rowsOf(program)).toEqual([["sale", "JPY", left, "pending"]]);
    }
  });

  it("is its part where the payment is in the currency of the session, and the credit note is not", async () => {
    const program = await shop();
    await send(program, ...paid, creditNoteEvent("credit_note.created", { invoice: "in_1", outside: 1_000 }));
    expect(await rowsOf(program)).toEqual([["sale", "JPY", 270_000, "pending"]]);
  });

  it("where a refund of it failed, counts no more", async () => {
    const program = await shop();
    const refund = { ...ids, id: "re_1", amount: 4_000 };
    const now = Math.floor(Date.now() / 1_000);
    await send(program, ...paid, chargeRefunded({ ...ids, amount: 10_000, refunded: 5_000, created: now }));
    await send(program, refundFailed({ ...refund, created: now + 1 }));
    expect(await rowsOf(program)).toEqual([["sale", "JPY", 270_000, "pending"]]);
  });
});

describe("what goes back in the currency of the intent, where the session is in another", () => {
  const ids = { charge: "ch_1", payment_intent: "pi_1", currency: "eur" };
  const session = sessionCompleted({
    id: "cs_1",
    payment_intent: "pi_1",
    ref: "jane",
    currency: "usd",
    amount: 10_000,
  });
  const intent = paymentIntentSucceeded({ ...ids, amount: 9_000 });
  const [now, later] = [intent.created, intent.created + 1];
  const tenth = refundEvent("refund.created", { ...ids, amount: 900 });

  it.each([
    ["a tenth of the charge", [intent, chargeRefunded({ ...ids, amount: 9_000, refunded: 900 })], 1_000],
    ["a tenth of it, of which only the refund is reported", [intent, tenth], 1_000],
    ["a tenth in a dispute that is lost", [intent, disputeClosed({ ...ids, amount: 900 })], 1_000],
    ["all that the intent received", [intent, refundEvent("refund.created", { ...ids, amount: 9_000 })], 10_000],
    [
      "a tenth of what was taken of more that was held",
      [
        paymentIntentSucceeded({ ...ids, amount: 12_000, captured: 9_000 }),
        chargeRefunded({ ...ids, amount: 12_000, captured: 9_000, refunded: 3_900 }),
      ],
      1_000,
    ],
    [
      "a tenth of what the intent says last, which is reported twice",
      [
        paymentIntentSucceeded({ ...ids, amount: 9_500, created: now }),
        paymentIntentSucceeded({ ...ids, amount: 9_000, created: later }),
        tenth,
      ],
      1_000,
    ],
    [
      "a tenth where the intent carries the reference",
      [paymentIntentSucceeded({ ...ids, amount: 9_000, ref: "jane" }), tenth],
      1_000,
    ],
    ["a part where no event says what was paid in it", [tenth], 10_000],
  ] as const)("is the part of what it received: %s, in any order (PAY-3, PAY-7)", async (_, events, gone) => {
    const { payments, commissions } = await inAnyOrder([session, ...events]);
    expect(payments).toMatchObject([{ txn_amount_cents: 10_000, adjusted_cents: gone }]);
    expect(commissions).toMatchObject([{ amount_cents: 2_000 - gone / 5 }]);
  });
});

describe("what goes back in the currency of the charge, where the payment is in another", () => {
  const ids = { charge: "ch_1", payment_intent: "pi_1", currency: "usd" };
  const renewal = { id: "in_1", ref: "jane", currency: "jpy", amount: 1_500_000 };
  const invoice = invoicePaid(renewal);
  const names = invoicePaid({ ...renewal, payment_intent: "pi_1" });
  const intent = paymentIntentSucceeded({ ...ids, amount: 10_000, order_reference: "in_1" });
  const tenth = chargeRefunded({ ...ids, amount: 10_000, refunded: 1_000 });
  const session = sessionCompleted({ payment_intent: "pi_1", ref: "jane", currency: "jpy", amount: 1_500_000 });
  const other = { charge: "ch_2", payment_intent: "pi_2", currency: "usd", invoice: "in_1" };

  it.each([
    ["a tenth of the charge", [invoice, intent, tenth], 150_000],
    ["a tenth of the charge, whose intent is lost", [names, tenth], 150_000],
    ["a tenth of the charge of a session, whose intent is lost", [session, tenth], 150_000],
    [
      "a tenth of what was taken of more that was held",
      [names, chargeRefunded({ ...ids, amount: 12_000, captured: 10_000, refunded: 3_000 })],
      150_000,
    ],
    [
      "a tenth of the charge in a shape that knows no part of it",
      [names, chargeRefunded({ ...ids, amount: 10_000, refunded: 1_000, object: { amount_captured: null } })],
      150_000,
    ],
    [
      "a tenth of the charge and a tenth in a dispute that is lost",
      [names, tenth, disputeClosed({ ...ids, amount: 1_000 })],
      300_000,
    ],
    [
      "a tenth of what the intent received, of which only the refund is reported",
      [invoice, intent, refundEvent("refund.created", { ...ids, amount: 1_000 })],
      150_000,
    ],
    [
      "a tenth of the charge in a dispute that is lost",
      [names, chargeSucceeded({ ...ids, amount: 10_000 }), disputeClosed({ ...ids, amount: 1_000 })],
      150_000,
    ],
    [
      "a part of one of two charges, of which the other only succeeded",
      [
        invoice,
        chargeRefunded({ ...ids, invoice: "in_1", amount: 6_000, refunded: 1_000 }),
        chargeSucceeded({ ...other, amount: 4_000 }),
      ],
      150_000,
    ],
    [
      "parts of two charges that paid it",
      [
        invoice,
        chargeRefunded({ ...ids, invoice: "in_1", amount: 6_000, refunded: 900 }),
        chargeRefunded({ ...other, amount: 4_000, refunded: 100 }),
      ],
      150_000,
    ],
    [
      "a part of one of two charges, of which the other was never heard of: no less than its part",
      [invoice, chargeRefunded({ ...ids, invoice: "in_1", amount: 6_000, refunded: 1_500 })],
      375_000,
    ],
  ] as const)("is the part of what it took: %s, in any order (PAY-3, PAY-7)", async (_, events, gone) => {
    const { payments, commissions } = await inAnyOrder(events);
    expect(payments).toMatchObject([{ txn_amount_cents: 1_500_000, adjusted_cents: gone }]);
    expect(commissions).toMatchObject([{ amount_cents: 300_000 - gone / 5, flagged: false }]);
  });

  it("is a part of what both charges took, where the intent of one carries the reference", async () => {
    const events = [
      invoice,
      paymentIntentSucceeded({ ...ids, amount: 6_000, ref: "jane" }),
      invoicePaymentPaid({ invoice: "in_1", payment_intent: "pi_1" }),
      chargeRefunded({ ...ids, amount: 6_000, refunded: 1_000 }),
      chargeSucceeded({ ...other, amount: 4_000 }),
    ];
    for (const order of [events, events.toReversed()]) {
      const program = await shop();
      await send(program, ...order);
      expect(await rowsOf(program)).toEqual([["sale", "JPY", 270_000, "pending"]]);
    }
  });

  it("takes no more than that of what was paid out (PAY-7)", async () => {
    const program = await shop();
    await send(program, invoice, intent);
    await payOut(program);
    await send(program, tenth);
    const rows = [
      ["clawback", "JPY", -30_000, "approved"],
      ["sale", "JPY", 300_000, "paid"],
    ];
    expect(await rowsOf(program)).toEqual(rows);
  });
});

describe("a dispute in another currency than the payment", () => {
  const ids = { id: "du_1", charge: "ch_1", payment_intent: "pi_1", currency: "eur" };
  const session = sessionCompleted({
    payment_intent: "pi_1",
    ref: "jane",
    currency: "jpy",
    amount: 15_000,
    tax: 5_000,
  });

  it("takes all of it when it is lost, for its part is not known (PAY-7)", async () => {
    const program = await shop();
    await send(program, session, disputeEvent("charge.dispute.created", { ...ids, amount: 9_200 }));
    expect(await rowsOf(program)).toEqual([["sale", "JPY", 2_000, "pending"]]);
    await send(program, disputeClosed({ ...ids, amount: 9_200 }));
    expect(await rowsOf(program)).toEqual([["sale", "JPY", 0, "pending"]]);
  });

  it("takes nothing when it is won (PAY-7)", async () => {
    const program = await shop();
    await send(program, session, disputeClosed({ ...ids, amount: 9_200, status: "won" }));
    expect(await rowsOf(program)).toEqual([["sale", "JPY", 2_000, "pending"]]);
  });
});
