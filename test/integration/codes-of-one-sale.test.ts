/** If one sale has a reference and a code, the one with priority is remembered (CODE-1, REF-4). */
import { describe, expect, it } from "vitest";
import { makeClaim } from "../support/claims.ts";
import { at, JANE_A, programOf, reported } from "../support/code-sales.ts";
import { discount, giveCode } from "../support/codes.ts";
import { sendA } from "../support/ledger.ts";
import {
  customerEvent,
  invoicePaid,
  paymentIntentSucceeded,
  sessionCompleted,
  subscriptionEventA,
} from "../support/provider-a.ts";

describe("a reference and a code", () => {
  it.each([
    ["link", "joe payment", "joe"],
    ["code", "jane code", "jane"],
  ] as const)(
    "code_precedence %s, where the events of one beginning are seconds apart",
    async (code_precedence, first, then) => {
      for (const attribution of ["first", "last"] as const) {
        const ids = { subscription: "sub_1", customer: "cus_1" };
        const used = { object: { discounts: [discount({ promotion_code: "promo_1" })] } };
        const began = [
          subscriptionEventA("customer.subscription.created", {
            id: "sub_1",
            customer: "cus_1",
            created: at(1),
            ...used,
          }),
          sessionCompleted({ ...ids, ref: "joe", invoice: "in_1", created: at(1) + 2 }),
          invoicePaid({ ...ids, id: "in_1", created: at(1) + 3, ...used }),
        ];
        for (const events of [began, began.toReversed()]) {
          const { program, partners } = await programOf({ code_precedence, attribution }, "jane", "joe");
          await giveCode(program, partners.jane, { ...JANE_A, provider_code_id: "promo_1" }, at(0) * 1_000);
          for (const event of events) await sendA(program, event);
          await sendA(program, invoicePaid({ ...ids, id: "in_2", created: at(31) }));
          expect(await reported(program)).toEqual([`commission ${first}`, `commission ${then} subscription`]);
        }
      }
    },
  );

  it("a sale without a subscription, whose invoice comes seconds later with the code, is remembered by its link", async () => {
    const { program, partners } = await programOf({}, "jane", "joe");
    await giveCode(program, partners.jane, { ...JANE_A, provider_code_id: "promo_1" }, at(0) * 1_000);
    const sale = { customer: "cus_1", amount: 10_000 };
    const discounts = [discount({ promotion_code: "promo_1" })];
    await sendA(program, sessionCompleted({ ...sale, ref: "joe", invoice: "in_1", created: at(1) }));
    await sendA(
      program,
      invoicePaid({ ...sale, id: "in_1", subscription: null, created: at(1) + 1, object: { discounts } }),
    );
    await sendA(program, sessionCompleted({ ...sale, created: at(2) }));
    expect(await reported(program)).toEqual(["commission joe payment", "commission joe customer"]);
  });

  it.each([
    ["first", "code", "jane"],
    ["first", "link", "joe"],
    ["last", "code", "joe"],
    ["last", "link", "jane"],
  ] as const)(
    "two sales of a customer within an hour are two: attribution %s, the one by a %s before the other (REF-4)",
    async (attribution, before, then) => {
      for (const code_precedence of ["link", "code"] as const) {
        const byCode = { object: { discounts: [discount({ promotion_code: "promo_1" })] } };
        const sales = before === "code" ? [byCode, { ref: "joe" }] : [{ ref: "joe" }, byCode];
        const events = [...sales, {}].map((sale, i) =>
          sessionCompleted({
            customer: "cus_1",
            payment_intent: `pi_${i}`,
            created: at(1) + [0, 3_000, 20_000][i]!,
            ...sale,
          }),
        );
        for (const sent of [events, events.toReversed()]) {
          const { program, partners } = await programOf({ code_precedence, attribution }, "jane", "joe");
          await giveCode(program, partners.jane, { ...JANE_A, provider_code_id: "promo_1" }, at(0) * 1_000);
          for (const event of sent) await sendA(program, event);
          expect((await reported(program)).at(-1)).toBe(`commission ${then} customer`);
        }
      }
    },
  );

  it("a link of a payment intent and the codes of its session and invoice are of one sale, in every order", async () => {
    const discounts = [discount({ promotion_code: "promo_1" })];
    const sale = { customer: "cus_1", amount: 10_000, object: { discounts } };
    const intent = { payment_intent: "pi_1", customer: "cus_1", ref: "joe", created: at(1) };
    const [first, second, third] = [
      paymentIntentSucceeded(intent),
      sessionCompleted({ ...sale, payment_intent: "pi_1", invoice: "in_1", created: at(1) + 1 }),
      invoicePaid({ ...sale, id: "in_1", subscription: null, created: at(1) + 5_000 }),
    ];
    const later = sessionCompleted({ customer: "cus_1", created: at(2) });
    for (const sent of [
      [first, second, third, later],
      [later, third, second, first],
      [third, first, later, second],
    ]) {
      const { program, partners } = await programOf({}, "jane", "joe");
      await giveCode(program, partners.jane, { ...JANE_A, provider_code_id: "promo_1" }, at(0) * 1_000);
      for (const event of sent) await sendA(program, event);
      expect((await reported(program)).at(-1)).toBe("commission joe customer");
    }
  });

  it("what a customer's own metadata says is of no sale: a code of the same hour is remembered", async () => {
    const { program, partners } = await programOf({ attribution: "first" }, "jane", "joe");
    await giveCode(program, partners.jane, { ...JANE_A, provider_code_id: "promo_1" }, at(0) * 1_000);
    const discounts = [discount({ promotion_code: "promo_1" })];
    await sendA(program, sessionCompleted({ customer: "cus_1", created: at(1), object: { discounts } }));
    await sendA(program, customerEvent({ id: "cus_1", ref: "joe", created: at(1) + 60 }, "customer.updated"));
    await sendA(program, sessionCompleted({ customer: "cus_1", created: at(2) }));
    expect(await reported(program)).toEqual(["commission jane code", "commission jane customer"]);
  });

  it("what a granted claim remembers is weighed against no code: it gives way (CLAIM-5)", async () => {
    const { program, partners } = await programOf({}, "jane", "joe");
    const ids = { subscription: "sub_1", customer: "cus_1" };
    const discounts = [{ promotion_code: "promo_1", coupon: null }];
    const session = sessionCompleted({ ...ids, invoice: "in_1", created: at(1), object: { discounts } });
    await sendA(program, session);
    const claim = await makeClaim(program, partners.joe, { order_id: session.data.object.id });
    expect((await program.api("POST", `/api/v1/claims/${claim}/grant`)).status).toBe(200);
    await giveCode(program, partners.jane, { ...JANE_A, provider_code_id: "promo_1" }, at(2) * 1_000);
    await sendA(program, invoicePaid({ ...ids, id: "in_2", created: at(31) }));
    expect(await reported(program)).toEqual(["commission joe subscription", "commission jane subscription"]);
  });
});
