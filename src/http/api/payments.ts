import { Hono } from "hono";
import { getPayment, listPayments, reprocessPayment, type PaymentWithRows } from "../../core/ledger/payments.ts";
import { viewPaymentWithTrace } from "../../core/kernel/views.ts";
import type { AppEnv } from "../../env.ts";
import { replies } from "../idempotency.ts";
import { nothing, optionalJson } from "../optional-json.ts";
import { pageReply } from "../page-reply.ts";
import { paymentQuery } from "../queries.ts";
import { query } from "../validate.ts";

function shown({ payment, commissions, program }: PaymentWithRows) {
  return viewPaymentWithTrace(payment, commissions, program);
}

/** `/api/v1/payments` (PAY-15, PAY-21). */
export const payments = new Hono<AppEnv>()
  .get("/", query(paymentQuery), async (c) => {
    return pageReply(c, await listPayments(c.var.ctx, c.req.valid("query")));
  })
  .get("/:id", async (c) => c.json(shown(await getPayment(c.var.ctx, c.req.param("id")))))
  .post("/:id/reprocess", optionalJson(nothing), replies(shown, 200), async (c) =>
    c.json(shown(await reprocessPayment(c.var.ctx, c.req.param("id")))),
  );
