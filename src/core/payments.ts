import { and, eq, gte, lt, sql } from "drizzle-orm";
import type { PageOfTexts, PageRequest } from "../db/page.ts";
import { commissions, payments } from "../db/schema.ts";
import type { Outcome } from "../domain/payment.ts";
import type { ProviderName } from "../domain/provider-name.ts";
import { notFound } from "../lib/errors.ts";
import { iso } from "../lib/time.ts";
import type { ProgramCtx } from "./context.ts";
import { settle, type Commission, type Payment } from "./ledger.ts";
import { isTimed, pagedList, readPage } from "./list-page.ts";
import { alsoOfProgram } from "./tenant.ts";
import { viewPayment, type PaymentView } from "./views.ts";

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

const LIST = pagedList("payments", payments, viewPayment);

/** The program's payments with what became of each, newest first. */
export async function listPayments(ctx: ProgramCtx, filter: PaymentFilter): Promise<PageOfTexts<PaymentView>> {
  const conditions = and(
    filter.partner_id ? alsoOfProgram(ctx, payments.program_id) : sql`${payments.program_id} = ${ctx.programId}`,
    filter.outcome ? eq(payments.outcome, filter.outcome) : undefined,
    filter.provider ? eq(payments.provider, filter.provider) : undefined,
    filter.partner_id ? eq(payments.partner_id, filter.partner_id) : undefined,
    filter.from === undefined ? undefined : gte(payments.created_at, iso(filter.from)),
    filter.to === undefined ? undefined : lt(payments.created_at, iso(filter.to)),
  );
  const narrowed = Boolean(filter.provider || filter.partner_id || isTimed(filter));
  return readPage(ctx, LIST, filter, { conditions, state: filter.outcome, narrowed });
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
