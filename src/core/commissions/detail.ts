import { and, asc, eq, sql } from "drizzle-orm";
import { commissions, partners, payments, payouts } from "../../db/schema.ts";
import { notFound } from "../../lib/errors.ts";
import type { ProgramCtx } from "../kernel/context.ts";
import { laterFlows, selectLater, type LaterFlow } from "../ledger/rules.ts";
import type { Commission, Partner, Payment, PayoutRow } from "../kernel/rows.ts";

/** A commission with its payment, the other rows of the payment, its partner and its payout. */
export interface CommissionDetail {
  commission: Commission;
  partner: Partner | null;
  /** Null for a commission made by hand. */
  payment: Payment | null;
  /** All rows of the same payment, including this one, in the order of their creation. */
  rows: Commission[];
  payout: PayoutRow | null;
  later_flows: LaterFlow[];
}

/** Reads a commission and its related rows, in one round trip. */
export async function readCommissionDetail(ctx: ProgramCtx, id: string): Promise<CommissionDetail> {
  const { db } = ctx;
  const own = and(eq(commissions.id, id), sql`${commissions.program_id} = ${ctx.programId}`);
  const its = (column: "partner_id" | "payment_id" | "payout_id") =>
    sql`(select ${sql.identifier(column)} from commissions where id = ${id} and program_id = ${ctx.programId})`;
  const [[commission], [partner], [payment], rows, [payout], current, past] = await ctx.read(
    db.select().from(commissions).where(own),
    db
      .select()
      .from(partners)
      .where(sql`${partners.id} = ${its("partner_id")}`),
    db
      .select()
      .from(payments)
      .where(sql`${payments.id} = ${its("payment_id")}`),
    db
      .select()
      .from(commissions)
      .where(sql`${commissions.payment_id} = ${its("payment_id")}`)
      .orderBy(asc(commissions.id)),
    db
      .select()
      .from(payouts)
      .where(sql`${payouts.id} = ${its("payout_id")}`),
    ...selectLater(ctx, its("payment_id")),
  );
  if (!commission) throw notFound("commission");
  return {
    commission,
    partner: partner ?? null,
    payment: payment ?? null,
    rows: payment ? rows : [commission],
    payout: payout ?? null,
    later_flows: payment ? laterFlows(payment, current, past) : [],
  };
}
