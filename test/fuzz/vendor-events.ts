/** One of each event that the providers send, of the fuzz's own program and partner, as plain values. */
import {
  chargeRefunded,
  disputeClosed,
  invoicePaid,
  invoicePaymentPaid,
  paymentIntentSucceeded,
  refundFailed,
  sessionAsyncSucceeded,
  sessionCompleted,
  sessionSetup,
  subscriptionDeleted,
  type EventA,
} from "../support/provider-a.ts";
import {
  adjustmentCreated,
  adjustmentUpdated,
  subscriptionCanceled,
  transactionCompleted,
  type EventB,
} from "../support/provider-b.ts";
import { place } from "./places.ts";

const ref = place("own", "slug");
const program = place("own", "program");
const payment_intent = "pi_fuzz";
const subscription = "sub_fuzz";
const customer = "cus_fuzz";

export const EVENTS_A: EventA[] = [
  sessionCompleted({ ref, amount: 12_000, tax: 2_000, payment_intent, customer }),
  sessionCompleted({ ref, subscription, invoice: "in_fuzz", customer, amount: 5_000 }),
  sessionCompleted({ ref: null, metadata: { service_ref: ref }, amount: 100, currency: "jpy" }),
  sessionAsyncSucceeded({ ref, amount: 900 }),
  sessionSetup({ ref, customer }),
  invoicePaid({ ref, id: "in_fuzz", subscription, customer, amount: 5_000, tax: 800 }),
  invoicePaid({ ref, ref_in: "line", shape: "old", amount: 7_000, payment_intent }),
  invoicePaymentPaid({ payment_intent, invoice: "in_fuzz" }),
  chargeRefunded({ payment_intent, amount: 12_000, refunded: 3_000 }),
  paymentIntentSucceeded({ payment_intent }),
  refundFailed({ payment_intent }),
  disputeClosed({ payment_intent }),
  subscriptionDeleted({ id: subscription, customer }),
];

const transaction = "txn_fuzz";

export const EVENTS_B: EventB[] = [
  transactionCompleted({ id: transaction, ref, program, amount: 9_000, tax: 1_500 }),
  transactionCompleted({ ref, program, subscription, amount: 2_000 }),
  transactionCompleted({ ref, program, amount: 100, currency: "KWD" }),
  adjustmentCreated({ transaction }),
  adjustmentUpdated({ transaction }),
  subscriptionCanceled({ id: subscription, program }),
];
