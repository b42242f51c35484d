/** At least one sample of each event that provider A sends, of the fuzz's own program and partner. */
import { place } from "../../../fuzz/place.ts";
import { couponEvent, discount, discountEventA, promotionCodeEvent } from "../../code-events.ts";
import {
  chargeCaptured,
  chargeRefunded,
  chargeSucceeded,
  creditNoteEvent,
  customerEvent,
  disputeClosed,
  disputeEvent,
  invoicePaid,
  invoicePaymentPaid,
  invoiceWrittenOff,
  paymentIntentSucceeded,
  refundEvent,
  refundFailed,
  sessionAsyncSucceeded,
  sessionCompleted,
  sessionSetup,
  subscriptionDeleted,
  subscriptionEventA,
  transferReversed,
  type EventA,
} from "../../provider-a.ts";

const ref = place("own", "slug");
const payment_intent = "pi_fuzz";
const subscription = "sub_fuzz";
const customer = "cus_fuzz";

const DISPUTE = [
  ["created", "warning_needs_response"],
  ["created", "needs_response"],
  ["updated", "under_review"],
  ["funds_withdrawn", "needs_response"],
  ["closed", "won"],
  ["closed", "lost"],
  ["closed", "prevented"],
  ["funds_reinstated", "won"],
] as const;

export const SAMPLES_A: readonly EventA[] = [
  sessionCompleted({ ref, amount: 12_000, tax: 2_000, payment_intent, customer }),
  sessionCompleted({ ref, subscription, invoice: "in_fuzz", customer, amount: 5_000 }),
  sessionCompleted({ ref: null, metadata: { service_ref: ref }, amount: 100, currency: "jpy" }),
  sessionAsyncSucceeded({ ref, amount: 900 }),
  sessionSetup({ ref, customer }),
  invoicePaid({ ref, id: "in_fuzz", subscription, customer, amount: 5_000, tax: 800 }),
  invoicePaid({ ref, ref_in: "line", shape: "old", amount: 7_000, payment_intent }),
  invoicePaymentPaid({ payment_intent, invoice: "in_fuzz" }),
  chargeRefunded({ payment_intent, amount: 12_000, refunded: 3_000 }),
  paymentIntentSucceeded({ payment_intent, charge: "ch_fuzz" }),
  paymentIntentSucceeded({ payment_intent: "pi_fuzz_alone", ref, tax: 800, customer, email: "buyer@example.com" }),
  chargeSucceeded({ payment_intent }),
  chargeSucceeded({ charge: "ch_fuzz_alone", object: { customer, metadata: { service_ref: ref } } }),
  chargeCaptured({ charge: "ch_fuzz_held" }),
  refundFailed({ payment_intent }),
  refundEvent("refund.created", { payment_intent, id: "re_fuzz", amount: 500 }),
  refundEvent("refund.updated", { payment_intent, id: "re_fuzz", amount: 500, status: "canceled" }),
  creditNoteEvent("credit_note.created", { id: "cn_fuzz", invoice: "in_fuzz", outside: 300, refunded: 200 }),
  creditNoteEvent("credit_note.updated", { id: "cn_fuzz", invoice: "in_fuzz", recorded: 300 }),
  creditNoteEvent("credit_note.voided", { id: "cn_fuzz", invoice: "in_fuzz", outside: 300, status: "void" }),
  disputeClosed({ payment_intent }),
  ...DISPUTE.map(([change, status], i) =>
    disputeEvent(`charge.dispute.${change}`, { id: "du_fuzz", payment_intent, status, amount: 1_000 * i }),
  ),
  // A downgrade, and a renewal that its credit pays in part, and one that it pays in full.
  invoicePaid({ ref, subscription, customer, amount: -4_000, tax: -600, amount_paid: 0 }),
  invoicePaid({ subscription, customer, amount: 5_000, tax: 800, amount_paid: 1_700 }),
  invoicePaid({ subscription, customer, amount: 5_000, amount_paid: 0, shape: "old" }),
  sessionCompleted({ ref: "cart-1", metadata: { service_ref: ref }, customer }),
  sessionCompleted({ ref, payment_intent, customer, livemode: false }),
  chargeRefunded({ payment_intent, refunded: 100, livemode: false }),
  subscriptionEventA("customer.subscription.updated", { ref, id: subscription, customer }),
  customerEvent({ ref, id: customer }),
  subscriptionDeleted({ id: subscription, customer }),
  promotionCodeEvent({ id: "promo_fuzz", code: ref }),
  promotionCodeEvent({ id: "promo_fuzz", code: ref, shape: "old" }, "promotion_code.updated"),
  couponEvent({ id: "cou_20off" }),
  discountEventA({ id: "di_fuzz", promotion_code: "promo_fuzz", subscription }),
  sessionCompleted({ customer, object: { discounts: [{ promotion_code: "promo_fuzz", coupon: null }] } }),
  invoicePaid({ subscription, customer, object: { discounts: ["di_fuzz"] } }),
  invoicePaid({ customer, shape: "old", object: { discount: discount({ coupon: "cou_20off", shape: "old" }) } }),
  subscriptionEventA("customer.subscription.updated", {
    id: subscription,
    customer,
    object: { discounts: ["di_fuzz"] },
  }),
  invoiceWrittenOff({ ref, subscription, customer, amount: 5_000, tax: 800, amount_paid: 1_700 }),
  // Other events of the same objects.
  { ...invoicePaid({ ref, id: "in_fuzz", subscription, customer, amount: 5_000 }), type: "invoice.payment_succeeded" },
  refundEvent("charge.refund.updated", { payment_intent, id: "re_fuzz", amount: 500 }),
  subscriptionEventA("customer.subscription.created", { ref, id: subscription, customer }),
  couponEvent({ id: "cou_20off" }, "coupon.updated"),
  discountEventA({ id: "di_fuzz", promotion_code: "promo_fuzz", subscription }, "customer.discount.updated"),
  { ...customerEvent({ ref, id: customer }), type: "customer.updated" },
  transferReversed({
    id: "tr_fuzz",
    object: "transfer",
    transfer_group: "pay_fuzz",
    amount: 900,
    amount_reversed: 900,
  }),
  paymentIntentSucceeded({ payment_intent: "pi_order", order_reference: "in_order" }),
  sessionCompleted({ ref: "x", metadata: { service_ref: "x" }, customer: "cus_1", email: "buyer@shop.example" }),
];
