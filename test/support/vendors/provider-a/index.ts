/** Provider A, as the tests know it. */
import { discountEventA, promotionCodeEvent } from "../../code-events.ts";
import { idsOfCodeA, VendorA } from "../../money-vendor-a.ts";
import { share } from "../../money-share.ts";
import * as a from "../../provider-a.ts";
import { thinOfA } from "../../thin.ts";
import { uniqueId } from "../../vendor.ts";
import type { Bought, CodeDays, CodeSale, Purchase, TestVendor } from "../test-vendor.ts";
import type { Chance } from "../../../../src/dev/chance.ts";
import { ReporterA } from "./reporter.ts";
import { SAMPLES_A } from "./samples.ts";

const bodyOf = (event: object) => a.bodyOfA(event as a.EventA);

export const vendorA: TestVendor = {
  secret: "whsec_test_secret_of_provider_a",
  sign: a.signA,
  header: ["t=1795347945", "v1", ","],
  id_field: "id",
  bodyOf,
  inTestMode: (event) => ({ ...event, livemode: false }),
  thinOf: (event, snapshot) => thinOfA(event as a.EventA, { snapshot }),
  samples: SAMPLES_A,
  sale: ({ at, program: _, ...sale }) =>
    a.sessionCompleted({ ...sale, created: Math.floor(at.getTime() / 1_000), email: "buyer@shop.example" }),
  purchase,
  story(ref, now) {
    const [customer, subscription] = [uniqueId("cus_"), uniqueId("sub_")];
    const [payment_intent, charge, invoice] = [uniqueId("pi_"), uniqueId("ch_"), uniqueId("in_")];
    const discount = uniqueId("di_");
    return [
      ["customer with a reference", a.customerEvent({ id: customer, ref }), 11],
      ["session of a subscription", a.sessionCompleted({ ref, customer, subscription }), 58],
      ["first invoice", a.invoicePaid({ id: invoice, customer, subscription, ref }), 58],
      ["renewal without a reference", a.invoicePaid({ customer, subscription }), 53],
      ["what paid the invoice", a.invoicePaymentPaid({ invoice, payment_intent, charge }), 18],
      ["refund", a.chargeRefunded({ payment_intent, charge, refunded: 1_000 }), 33],
      ["dispute", a.disputeClosed({ payment_intent, charge, status: "lost" }), 35],
      ["cancellation", a.subscriptionDeleted({ id: subscription, customer }), 47],
      ["one payment", a.sessionCompleted({ ref }), 50],
      ["one payment of nobody's", a.sessionCompleted({}), 28],
      ["refund that came first", a.chargeRefunded({ payment_intent: uniqueId("pi_") }), 15],
      ["what a code is called", promotionCodeEvent({ id: "promo_rows", code: "ROWS", created: now() }), 14],
      ["what a discount was made from", discountEventA({ id: discount, promotion_code: "promo_rows" }), 14],
      ["invoice with a discount", a.invoicePaid({ object: { discounts: [discount] } }), 39],
    ];
  },
  history(ref, _program, name) {
    const email = `${name}@customers.example`;
    const payment_intent = uniqueId("pi_");
    const bought = { customer: uniqueId("cus_"), subscription: uniqueId("sub_"), email };
    const discounts = [{ promotion_code: uniqueId("promo_"), coupon: null }];
    return [
      a.sessionCompleted({ ref, email, payment_intent, customer: uniqueId("cus_") }),
      a.chargeRefunded({ payment_intent, amount: 10_000, refunded: 750 }),
      a.invoicePaid({ ref, ...bought }),
      a.invoicePaid({ ...bought }),
      a.sessionCompleted({ ref: null, email, customer: uniqueId("cus_"), object: { discounts } }),
    ];
  },
  codes: {
    idsOf: idsOfCodeA,
    created: (code, at) => promotionCodeEvent({ ...idsOfCodeA(code), code, created: at }),
    keeps_id: false,
    story: codeStory,
  },
  share: 13,
  reporter: (outbox) => new ReporterA(outbox),
  currencies: ["USD", "USD", "EUR", "JPY", "KWD", "BHD"],
  played(life, n) {
    const vendor = new VendorA(life, n);
    return { vendor, bodies: () => vendor.events.map(bodyOf) };
  },
  netOf: ({ total, tax, charged }) => share(total - tax, charged, total),
};

function purchase({ ref, amount, n }: Bought, chance: Chance): Purchase {
  const email = `buyer${n}@shop.example`;
  const payment_intent = uniqueId("pi_");
  const customer = uniqueId("cus_");
  const ids = { ref, amount, email, customer };
  const events = [a.sessionCompleted({ ...ids, payment_intent })];
  if (chance.happens(0.3)) {
    // A first subscription payment arrives twice at provider A (PAY-5).
    const twice = { ...ids, subscription: uniqueId("sub_") };
    const invoice = a.invoicePaid({ ...twice, billing_reason: "subscription_create", payment_intent });
    events.splice(0, 1, a.sessionCompleted({ ...twice, invoice: invoice.data.object.id }), invoice);
  }
  const disputed = { id: uniqueId("du_"), payment_intent, amount };
  const opened = a.disputeEvent("charge.dispute.created", disputed);
  return {
    ...{ key: customer, email, events },
    refund: (refunded) => a.chargeRefunded({ payment_intent, amount, refunded }),
    dispute: { opened, lost: a.disputeClosed(disputed) },
  };
}

function codeStory(all: readonly CodeSale[], { renamed, at }: CodeDays): object[] {
  return [
    promotionCodeEvent({ id: "promo_1", code: "Jane20", created: at(0) }),
    promotionCodeEvent({ id: "promo_1", code: "Jane20", created: at(renamed) }, "promotion_code.updated"),
    promotionCodeEvent({ id: "promo_2", code: "JANE20", created: at(renamed) }),
    ...all.flatMap(({ day, renewal, refund }, i) => {
      const created = at(day);
      const ids = { subscription: renewal ? `sub_${i}` : null, customer: `cus_${i}` };
      const payment_intent = `pi_${i}`;
      const promotion_code = day < renamed ? "promo_1" : "promo_2";
      const object = { discounts: i % 2 === 0 ? [{ promotion_code, coupon: null }] : [`di_${i}`] };
      const named = discountEventA({ id: `di_${i}`, promotion_code, created });
      return [
        i % 2 === 0
          ? a.sessionCompleted({ ...ids, id: `cs_${i}`, invoice: `in_${i}`, payment_intent, created, object })
          : a.invoicePaid({ ...ids, id: `in_${i}`, payment_intent, created, object }),
        ...(i % 2 === 0 ? [] : [named, a.invoicePaymentPaid({ payment_intent, invoice: `in_${i}`, created })]),
        ...(renewal ? [a.invoicePaid({ ...ids, id: `in_${i} renewal`, created: at(day + 100) })] : []),
        ...(refund > 0 ? [a.chargeRefunded({ payment_intent, refunded: refund, created: at(day + 1) })] : []),
      ];
    }),
  ];
}
