/** The hold of a partner's payouts after a change of their destination (OUT-24). `partners.payouts_held_until` alone is its source. */
import { getTableColumns, sql, type SQL } from "drizzle-orm";
import { literal, literals, type Database } from "../../db/client.ts";
import { jsonOf } from "../../db/json-object.ts";
import type { JsonText } from "../../db/page.ts";
import { payouts } from "../../db/schema.ts";
import { PAYABLE } from "../../domain/payout.ts";
import { AppError } from "../../lib/errors.ts";
import { iso } from "../../lib/time.ts";
import type { BaseCtx, Reader } from "../kernel/context.ts";
import type { Payout } from "../kernel/rows.ts";
import { viewPayoutRow, type PayoutView } from "../kernel/views.ts";

/** Whether the partner of the payout row `alias` has a hold in force. For the condition of the write that pays it. */
export function isHeld({ now }: Pick<BaseCtx, "now">, alias = "payouts"): SQL {
  return sql`exists (select 1 ${holdOf(alias, now)})`;
}

/** The end of the hold of the partner row `alias`; null without one in force. */
export function holdInForce({ now }: Pick<BaseCtx, "now">, alias: string): SQL<string | null> {
  const until = sql.raw(`${alias}.payouts_held_until`);
  return sql<string | null>`iif(${until} > ${iso(now)}, ${until}, null)`;
}

/** The most pending payouts of which those on hold are counted, the oldest. */
const MOST_COUNTED = 1_000;

/** How many of the program's pending payouts are on hold: a select. */
export function countOnHold(ctx: Reader): SQL {
  return sql`select count(*) from (select partner_id from payouts where program_id = ${ctx.programId}
    and status = 'pending' order by id limit ${literal(MOST_COUNTED)}) q where ${isHeld(ctx, "q")}`;
}

function holdOf(alias: string, now: number): SQL {
  return sql`from partners h where h.id = ${sql.raw(alias)}.partner_id and h.payouts_held_until > ${iso(now)}`;
}

/** The end of the hold of a payout that could be paid otherwise; null without a hold in force. */
export function heldUntil({ now }: Pick<BaseCtx, "now">, alias = "payouts"): SQL<string | null> {
  const status = sql.raw(`${alias}.status`);
  return sql<string | null>`(select h.payouts_held_until ${holdOf(alias, now)} and ${status} in ${literals(PAYABLE)})`;
}

/** SQL for the JSON of the payouts `alias`, as `viewPayout` shows them. */
export function payoutJson(ctx: Pick<BaseCtx, "now">, alias?: string): SQL<JsonText<PayoutView>> {
  const held_until = sql<string>`json_quote(${heldUntil(ctx, alias)})`;
  return jsonOf<typeof payouts, ReturnType<typeof viewPayoutRow>, PayoutView>(payouts, viewPayoutRow, { held_until });
}

/** Selects whole payouts, with their hold. */
export function selectPayouts({ db, now }: { db: Database; now: number }) {
  return db.select({ ...getTableColumns(payouts), held_until: heldUntil({ now }) }).from(payouts);
}

/** Selects whole payouts of any status; `is_held` is 1 if their partner has a hold now. */
export function selectWithHold({ db, now }: { db: Database; now: number }) {
  const is_held = sql<number>`${isHeld({ now })}`;
  return db.select({ ...getTableColumns(payouts), held_until: heldUntil({ now }), is_held }).from(payouts);
}

/** @throws `payout_held` for a payout that is held */
export function refuseHeld({ held_until }: Pick<Payout, "held_until">): void {
  if (held_until === null) return;
  const message = `The partner's payouts are held until ${held_until}, because their destination changed. Check the change, then release the hold.`;
  throw new AppError("payout_held", message);
}
