import { and, desc, eq, gte, lt, sql } from "drizzle-orm";
import { cursorId, pageOf, window, type Page, type PageRequest } from "../db/page.ts";
import { commissions, payments } from "../db/schema.ts";
import type { Outcome } from "../domain/payment.ts";
import type { ProviderName } from "../domain/provider-name.ts";
import { notFound } from "../lib/errors.ts";
import { iso } from "../lib/time.ts";
import type { ProgramCtx } from "./context.ts";
import { settle, type Commission, type Payment } from "./ledger.ts";
import { isTimed, totalOfList } from "./list-total.ts";
import { alsoOfProgram } from "./tenant.ts";

export interface PaymentFilter extends PageRequest {
  outcome?: Outcome | undefined;
  provider?: ProviderName | undefined;
  partner_id?: string | undefined;
  /** Milliseconds; `to` is the first instant no longer included. */
  from?: number | undefined;
  to?: number | undefined;
}

export interface PaymentWithRows {
  payment: Payment;
  commissions: Commission[];
}

/** The program's payments with what became of each, newest first. */
export async function listPayments(ctx: ProgramCtx, filter: PaymentFilter): Promise<Page<Payment>> {
  const conditions = and(
    filter.partner_id ? alsoOfProgram(ctx, payments.program_id) : sql`${payments.program_id} = ${ctx.programId}`,
    filter.outcome ? eq(payments.outcome, filter.outcome) : undefined,
    filter.provider ? eq(payments.provider, filter.provider) : undefined,
    filter.partner_id ? eq(payments.partner_id, filter.partner_id) : undefined,
    filter.from === undefined ? undefined : gte(payments.created_at, iso(filter.from)),
    filter.to === undefined ? undefined : lt(payments.created_at, iso(filter.to)),
  );
  const after = cursorId(filter);
  const { limit, offset } = window(filter);
  const narrowed = Boolean(filter.provider || filter.partner_id || isTimed(filter));
  const [rows, [counted]] = await ctx.read(
    ctx.db
      .select()
      .from(payments)
      .where(and(conditions, after ? lt(payments.id, after) : undefined))
      .orderBy(desc(payments.id))
      .limit(limit)
      .offset(offset),
    totalOfList(ctx, { name: "payments", table: payments, state: filter.outcome }, conditions, narrowed),
  );
  return pageOf(filter, rows, counted?.total ?? 0, (row) => row);
}

/** One payment with its trace and its commission rows. */
export async function getPayment(ctx: ProgramCtx, id: string): Promise<PaymentWithRows> {
  const [[payment], rows] = await ctx.read(
    ctx.db
      .select()
      .from(payments)
      .where(and(eq(payments.id, id), sql`${payments.program_id} = ${ctx.programId}`)),
    ctx.db
      .select()
      .from(commissions)
      .where(and(eq(commissions.payment_id, id), alsoOfProgram(ctx, commissions.program_id)))
      .orderBy(commissions.id),
  );
  if (!payment) throw notFound("payment");
  return { payment, commissions: rows };
}

/**
 * Settles a payment again under the same rules, after a slug or a partner was put right; what is settled already stays
 * as it is, and there is never a second commission (contract §5).
 */
export async function reprocessPayment(ctx: ProgramCtx, id: string): Promise<PaymentWithRows> {
  const { payment } = await getPayment(ctx, id);
  await settle(ctx, payment);
  return getPayment(ctx, id);
}
