import { getPayment, listPayments, reprocessPayment, type PaymentWithRows } from "../../core/ledger/payments.ts";
import { viewPaymentWithTrace } from "../../core/kernel/views.ts";
import { SEARCHED_WORDS } from "../../domain/partner.ts";
import { pageReply } from "../page-reply.ts";
import { paymentQuery } from "../queries.ts";
import { NOTHING, ok, route } from "../route.ts";

function shown({ payment, commissions, later_flows }: PaymentWithRows) {
  return viewPaymentWithTrace(payment, commissions, later_flows);
}

/** `/api/v1/payments` (PAY-15, PAY-21). */
export const payments = [
  route("GET /api/v1/payments", {
    operation: "listPayments",
    tag: "Payments",
    scope: ["read"],
    summary: "List payments",
    description: `\`search\` is an order's id (any id that the provider gave the payment), a customer's id or address, or a text in ${SEARCHED_WORDS} of a partner.`,
    query: paymentQuery,
    reply: ok("PaymentList", "A page of payments, newest first."),
    handle: async ({ ctx, query, c }) => pageReply(c, await listPayments(ctx, query)),
  }),
  route("GET /api/v1/payments/:id", {
    operation: "getPayment",
    tag: "Payments",
    scope: ["read"],
    summary: "Get a payment with its trace",
    description:
      "The trace says which flows were tried, which condition failed and which rate applied, or why there is no commission.",
    reply: ok("PaymentWithTrace", "The payment."),
    errors: ["not_found"],
    view: shown,
    handle: ({ ctx, params }) => getPayment(ctx, params.id),
  }),
  route("POST /api/v1/payments/:id/reprocess", {
    operation: "reprocessPayment",
    tag: "Payments",
    // It credits one payment by hand.
    scope: ["write", "payouts"],
    summary: "Reprocess a payment",
    description:
      "Use it after you corrected a slug or a partner. The same rules apply, and there is never a second commission.",
    body: NOTHING,
    reply: ok("PaymentWithTrace", "The payment as it is decided now."),
    errors: ["not_found"],
    view: shown,
    handle: ({ ctx, params }) => reprocessPayment(ctx, params.id),
  }),
];
