/** Open payouts, and the payouts that moved at an instant, for the pages (PAGE-36, PAGE-37). */
import { desc, getTableColumns, sql, type SQL } from "drizzle-orm";
import { atMost, literal, literals } from "../../db/client.ts";
import { amount, columnsOf, flag, nullable, selectRows, text, textOf, whole } from "../../db/rows.ts";
import { partners, payoutExports } from "../../db/schema.ts";
import type { AuditEventType } from "../../domain/event.ts";
import type { Cents } from "../../domain/money.ts";
import type { PayoutMethod } from "../../domain/partner.ts";
import type { PayoutStatus } from "../../domain/payout.ts";
import { firstIdAt } from "../../lib/id.ts";
import type { Reader } from "../kernel/context.ts";
import type { Partner, PayoutExport } from "../kernel/rows.ts";
import type { BulkMove } from "./bulk.ts";
import { isHeld } from "./hold.ts";

/** Payouts still to be paid, by method, currency and status. */
export interface OpenGroup {
  method: PayoutMethod | null;
  currency: string;
  status: "pending" | "failed";
  /** Whether they wait for payout details. */
  lacks_details: 0 | 1;
  /** Whether their partners have a hold (OUT-24). */
  held: 0 | 1;
  count: number;
  amount_cents: Cents;
}

const MAX_NAMED = 10;
const MAX_FILES = 50;

export interface OpenPayouts {
  groups: OpenGroup[];
  /** The first partners whose payouts wait for payout details, and the number of all. */
  lacking: Pick<Partner, NameColumn>[];
  partners: number;
  /** The newest open files, each with the count and amount of its payouts that are still open; whether there are more. */
  files: PayoutExport[];
  hasMore: boolean;
}

const NAME_COLUMNS = ["id", "email", "slug", "first_name", "last_name", "status"] as const;
type NameColumn = (typeof NAME_COLUMNS)[number];

/** The payouts `p` of a file that no result has decided yet. */
const OF_OPEN = sql`from export_items i cross join payouts p on p.id = i.payout_id
  where i.export_id = payout_exports.id and i.status = 'open'`;

/** The pending and failed payouts, and the open files. */
export async function readOpenPayouts(ctx: Reader): Promise<OpenPayouts> {
  const [groups, lacking, files] = await ctx.read(
    selectRows(
      ctx.db,
      {
        ...{ method: nullable(textOf<PayoutMethod>()), currency: text, status: textOf<OpenGroup["status"]>() },
        ...{ lacks_details: flag, held: flag, count: whole, amount_cents: amount },
      },
      sql`select method, currency, status, recipient is null as lacks_details, ${isHeld(ctx)} as held, count(*) as count,
          sum(amount_cents) as amount_cents
        from payouts where program_id = ${ctx.programId} and status in ('pending', 'failed') group by 1, 2, 3, 4, 5`,
    ),
    selectRows(
      ctx.db,
      { ...columnsOf(partners, ...NAME_COLUMNS), partners: whole },
      sql`select t.id as id, t.email as email, t.slug as slug, t.first_name as first_name, t.last_name as last_name,
          t.status as status, l.partners as partners
        from (select partner_id, count(*) over () as partners from payouts
          where program_id = ${ctx.programId} and status = 'pending' and recipient is null
          group by partner_id order by partner_id limit ${literal(MAX_NAMED)}) l cross join partners t on t.id = l.partner_id`,
    ),
    ctx.db
      .select({
        ...getTableColumns(payoutExports),
        count: sql<number>`(select count(*) ${OF_OPEN})`,
        amount_cents: sql<Cents>`(select ifnull(sum(p.amount_cents), 0) ${OF_OPEN})`,
      })
      .from(payoutExports)
      .where(sql`${payoutExports.program_id} = ${ctx.programId} and ${payoutExports.status} = 'open'`)
      .orderBy(desc(payoutExports.id))
      .limit(atMost(MAX_FILES + 1)),
  );
  return {
    ...{ groups, lacking, partners: lacking[0]?.partners ?? 0 },
    ...{ files: files.slice(0, MAX_FILES), hasMore: files.length > MAX_FILES },
  };
}

/** Payouts of one change: sums by currency, and the partners with the largest. */
export interface MovedPayouts {
  sums: { currency: string; count: number; amount_cents: Cents }[];
  partners: number;
  /** The first three. */
  partner_ids: string[];
}

/** The events of the changes; a transfer's is that of its begin, which has the instant of the request. */
const MOVED_BY = {
  prepare: "payout.generated",
  pay: "payout.updated",
  mark_paid: "payout.paid",
  cancel: "payout.updated",
} as const satisfies Record<BulkMove | "prepare", AuditEventType>;

/** The payouts that were changed at `at` (ms) and have this status now: their events have that instant. */
export function readMovedAt(
  ctx: Reader,
  { move, at, status }: { move: BulkMove | "prepare"; at: number; status: PayoutStatus },
): Promise<MovedPayouts> {
  return summarize(
    ctx,
    sql`from events e cross join payouts p on p.id = e.payload ->> 'payout_id'
      where e.program_id = ${ctx.programId} and e.id >= ${firstIdAt("event", at)}
        and e.id < ${firstIdAt("event", at + 1)} and e.type = ${MOVED_BY[move]} and +p.program_id = ${ctx.programId}
        and p.status in ${literals([status])}`,
  );
}

/** The payouts that a file paid. */
export function readPaidByFile(ctx: Reader, export_id: string): Promise<MovedPayouts> {
  return summarize(
    ctx,
    sql`from export_items i cross join payouts p on p.id = i.payout_id
      where i.export_id = ${export_id} and i.status = 'paid' and +p.program_id = ${ctx.programId}`,
  );
}

async function summarize(ctx: Reader, of: SQL): Promise<MovedPayouts> {
  const [sums, partners] = await ctx.read(
    selectRows(
      ctx.db,
      { currency: text, count: whole, amount_cents: amount },
      sql`select p.currency as currency, count(*) as count, sum(p.amount_cents) as amount_cents ${of} group by 1 order by 1`,
    ),
    selectRows(
      ctx.db,
      { partner_id: text, partners: whole },
      sql`select partner_id, count(*) over () as partners from
        (select p.partner_id as partner_id, max(p.amount_cents) as most ${of} group by 1) order by most desc limit 3`,
    ),
  );
  return { sums, partners: partners[0]?.partners ?? 0, partner_ids: partners.map(({ partner_id }) => partner_id) };
}
