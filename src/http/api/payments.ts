import { Hono } from "hono";
import { getPayment, listPayments, reprocessPayment } from "../../core/ledger/payments.ts";
import { viewPaymentWithTrace } from "../../core/kernel/views.ts";
import type { AppEnv } from "../../env.ts";
import { nothing, optionalJson } from "../optional-json.ts";
import { pageReply } from "../page-reply.ts";
import { paymentQuery } from "../queries.ts";
import { query } from "../validate.ts";

/** `/api/v1/payments` (PAY-15, PAY-21). */
export const payments = new Hono<AppEnv>()
  .get("/", query(paymentQuery), async (c) => {
    return pageReply(c, await listPayments(c.var.ctx, c.req.valid("query")));
  })
  .get("/:id", async (c) => {
    const { payment, commissions, program } = await getPayment(c.var.ctx, c.req.param("id"));
    return c.json(viewPaymentWithTrace(payment, commissions, program));
  })
  .post("/:id/reprocess", optionalJson(nothing), async (c) => {
    const { payment, commissions, program } = await reprocessPayment(c.var.ctx, c.req.param("id"));
    return c.json(viewPaymentWithTrace(payment, commissions, program));
  });
