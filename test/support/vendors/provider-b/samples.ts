/** At least one sample of each event that provider B sends, of the fuzz's own program and partner. */
import { place } from "../../../fuzz/place.ts";
import { discountEventB } from "../../code-events.ts";
import {
  adjustmentCreated,
  adjustmentUpdated,
  customerEventB,
  subscriptionCanceled,
  subscriptionEventB,
  transactionCompleted,
  type AdjustmentOverrides,
  type EventB,
} from "../../provider-b.ts";

const ref = place("own", "slug");
const program = place("own", "program");
const transaction = "txn_fuzz";
const subscription = "sub_fuzz";

const ACTIONS: NonNullable<AdjustmentOverrides["action"]>[] = [
  ...(["refund", "credit", "credit_reverse", "chargeback", "chargeback_reverse"] as const),
  ...(["chargeback_warning", "chargeback_warning_reverse"] as const),
];
const STATUSES: NonNullable<AdjustmentOverrides["status"]>[] = ["pending_approval", "approved", "rejected", "reversed"];

/** An adjustment of each action in each of its states, whole or partial; its subject is present or absent. */
const adjustments = ACTIONS.flatMap((action, a) =>
  STATUSES.map((status, s) => {
    const make = status === "pending_approval" ? adjustmentCreated : adjustmentUpdated;
    const type = ["full", "partial", null][(a + s) % 3];
    return make({ id: `adj_fuzz${a}`, transaction, action, status, amount: 1_200, tax: 200, data: { type } });
  }),
);

/** The event as the vendor's simulator sends it. */
export function simulated(event: EventB): EventB {
  return { ...event, notification_id: "ntfsimntf_1" };
}

export const SAMPLES_B: readonly EventB[] = [
  transactionCompleted({ id: transaction, ref, program, amount: 9_000, tax: 1_500 }),
  transactionCompleted({ ref, program, subscription, amount: 2_000 }),
  transactionCompleted({ ref, program, amount: 100, currency: "KWD" }),
  adjustmentCreated({ transaction }),
  adjustmentUpdated({ transaction }),
  ...adjustments,
  transactionCompleted({ ref, program, subscription, amount: -4_000, tax: -600 }),
  ...(["new", "repeated", "old"] as const).map((shape) =>
    transactionCompleted({ program, subscription, amount: 5_000, tax: 800, credit: 3_300, shape }),
  ),
  transactionCompleted({ program, subscription, amount: 5_000, tax: 800, credit: 5_000 }),
  simulated(transactionCompleted({ id: transaction, ref, program, subscription })),
  Object.assign(transactionCompleted({ ref, program }), { environment: "sandbox" }),
  subscriptionEventB("subscription.created", { id: subscription, ref, program }),
  subscriptionEventB("subscription.updated", { id: subscription, ref, program }),
  customerEventB({ id: "ctm_fuzz", ref, program }),
  customerEventB({ id: "ctm_fuzz", ref, program }, "customer.updated"),
  customerEventB({ id: "ctm_fuzz", ref, program }, "customer.imported"),
  subscriptionCanceled({ id: subscription, program }),
  discountEventB({ id: "dsc_fuzz", code: ref }),
  discountEventB({ id: "dsc_fuzz", code: ref }, "discount.updated"),
  transactionCompleted({ program, data: { discount_id: "dsc_fuzz" } }),
  subscriptionEventB("subscription.updated", { id: subscription, program, data: { discount: { id: "dsc_fuzz" } } }),
  transactionCompleted({ ref: "x", customer: "ctm_1", subscription: "sub_1", data: { discount_id: "dsc_1" } }),
];
