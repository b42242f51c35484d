/** THE writes of existing partners: a change of a partner's payout destination starts the hold (OUT-24). */
import { and, eq, sql } from "drizzle-orm";
import { partners } from "../../db/schema.ts";
import { searchText } from "../../domain/partner.ts";
import { DAY, iso, nextStamp } from "../../lib/time.ts";
import { PARTNER_TEXTS, PAYOUT_DETAILS } from "../../resources/partner.ts";
import type { Write } from "../kernel/commit.ts";
import type { ProgramCtx } from "../kernel/context.ts";
import type { Partner } from "../kernel/rows.ts";
import { alsoOfProgram } from "../kernel/tenant.ts";

/** The columns of the partner's payout destination. */
export const DESTINATION = [...PAYOUT_DETAILS, "bank_account_sealed", "crypto_address_sealed"] as const;
export type Destination = Pick<Partner, (typeof DESTINATION)[number]>;

/** The columns of `changes` that lead the partner's money elsewhere. */
export function destinationIn(before: Destination, changes: Partial<Destination>): Partial<Destination> {
  const changed = DESTINATION.filter((column) => changes[column] !== undefined && changes[column] !== before[column]);
  return Object.fromEntries(changed.map((column) => [column, changes[column]]));
}

/** The end of the hold after a change made now: never earlier than before. Null if there is no hold. */
function heldUntil({ now, program }: ProgramCtx, before: string | null): string | null {
  const days = program.payout_change_hold_days;
  if (days === 0) return before;
  const until = iso(now + days * DAY);
  return before !== null && before > until ? before : until;
}

/** The partner as changed now, with its hold. */
export function changedPartner(
  ctx: ProgramCtx,
  before: Partner,
  changes: Partial<Partner>,
  leadsElsewhere = false,
): Partner {
  const leads = leadsElsewhere || Object.keys(destinationIn(before, changes)).length > 0;
  const after: Partner = {
    ...before,
    ...changes,
    ...(leads && { payouts_held_until: heldUntil(ctx, before.payouts_held_until) }),
    updated_at: nextStamp(before.updated_at, ctx.now),
  };
  return { ...after, search_text: searchText(after) };
}

interface ChangeOptions {
  /** The caller leads the money elsewhere in a way that no column shows: by a link to the vendor's pages. */
  leadsElsewhere?: boolean;
  /** How often an account was disconnected, which is no column of `Partner`. */
  accounts_forgotten?: number;
}

/** The compare-and-set of every change of one partner, on the instant of its last change, with the hold. */
export function changePartnerRow(
  ctx: ProgramCtx,
  before: Partner,
  changes: Partial<Partner>,
  { leadsElsewhere = false, ...more }: ChangeOptions = {},
): { write: Write; after: Partner } {
  const after = changedPartner(ctx, before, changes, leadsElsewhere);
  const { updated_at, payouts_held_until, search_text } = after;
  // An unchanged text is not written: if it is not indexed yet, that is left to the job.
  const isFoundElsewhere = searchText(before) !== search_text;
  const set = { ...changes, ...more, ...(isFoundElsewhere && { search_text }), payouts_held_until, updated_at };
  const isUnchanged = and(
    eq(partners.id, before.id),
    sql`${partners.program_id} = ${ctx.programId}`,
    eq(partners.updated_at, before.updated_at),
  );
  return { write: { statement: ctx.db.update(partners).set(set).where(isUnchanged), expect: 1 }, after };
}

/** The columns that an import fills in. */
const FILLED = [...PARTNER_TEXTS, "payout_method", "payout_email", "bank_account", "bank_account_sealed"] as const;

/** The same for partners that an import completes, in one statement. `after` is from `changedPartner`. */
export function completePartnerRows(ctx: ProgramCtx, rows: readonly { before: Partner; after: Partner }[]): Write {
  const columns = [...FILLED, "search_text", "payouts_held_until", "updated_at"];
  const given = rows.map(({ before, after: { metadata: _, ...row } }) => ({ ...row, before: before.updated_at }));
  const set = sql.raw(columns.map((column) => `${column} = j.value ->> '${column}'`).join(", "));
  const statement = ctx.db.run(sql`update partners set ${set} from json_each(${JSON.stringify(given)}) j
    where partners.id = j.value ->> 'id' and ${alsoOfProgram(ctx, sql`partners.program_id`)}
      and partners.updated_at = j.value ->> 'before'`);
  return { statement, expect: rows.length };
}
