/** The content and the history of a file, for its page (PAGE-36). */
import { sql } from "drizzle-orm";
import { atMost, literal } from "../../db/client.ts";
import { columnsOf, selectRows, textOf } from "../../db/rows.ts";
import { events, exportItems, partners, payouts } from "../../db/schema.ts";
import { firstIdAt } from "../../lib/id.ts";
import type { Reader } from "../kernel/context.ts";
import type { AuditEvent, Partner, Payout, PayoutExport } from "../kernel/rows.ts";

export type ExportItem = Pick<Payout, "partner_id" | "amount_cents" | "currency"> &
  Pick<typeof exportItems.$inferSelect, "payout_id" | "status"> &
  Pick<Partner, "slug" | "email" | "first_name" | "last_name"> & { partner_status: Partner["status"] };

export interface ExportHistory {
  items: ExportItem[];
  /** That it was made, and each reading of it, the newest first. */
  readings: Pick<AuditEvent, "id" | "type" | "actor" | "created_at">[];
  /** An event of the change that closed it; null while it is open. */
  closed: Pick<AuditEvent, "id" | "type" | "actor" | "created_at"> | null;
}

/** The first `most` payouts of a file, and its latest events. */
export async function readExportHistory(
  ctx: Reader,
  { id, status, created_at, updated_at }: PayoutExport,
  most: number,
): Promise<ExportHistory> {
  const { id: event_id, type, actor, created_at: at } = events;
  const shown = { id: event_id, type, actor, created_at: at };
  const [from, until] = [Date.parse(updated_at), Date.parse(updated_at) + 1];
  const [items, readings, closed] = await ctx.read(
    selectRows(
      ctx.db,
      {
        ...columnsOf(exportItems, "payout_id", "status"),
        ...columnsOf(payouts, "partner_id", "amount_cents", "currency"),
        ...{
          ...columnsOf(partners, "slug", "email", "first_name", "last_name"),
          partner_status: textOf<Partner["status"]>(),
        },
      },
      sql`select i.payout_id as payout_id, i.status as status, p.partner_id as partner_id,
          p.amount_cents as amount_cents, p.currency as currency, t.slug as slug, t.email as email,
          t.first_name as first_name, t.last_name as last_name, t.status as partner_status
        from export_items i cross join payouts p on p.id = i.payout_id cross join partners t on t.id = p.partner_id
        where i.export_id = ${id} and +p.program_id = ${ctx.programId} order by i.payout_id limit ${literal(most)}`,
    ),
    ctx.db
      .select(shown)
      .from(events)
      .where(
        // The log has no index by file: the program's first exports since the file was made are looked through.
        sql`${events.program_id} = ${ctx.programId} and ${event_id} in (select ${event_id} from ${events}
            where ${events.program_id} = ${ctx.programId} and ${type} = 'payout.exported' and ${type} <> 'click'
              and ${event_id} >= ${firstIdAt("event", Date.parse(created_at))}
            order by ${event_id} limit ${literal(MAX_READINGS)}) and ${events.payload} ->> 'export_id' = ${id}`,
      )
      .orderBy(sql`${event_id} desc`)
      .limit(atMost(MAX_READINGS)),
    ctx.db
      .select(shown)
      .from(events)
      .where(
        sql`${events.program_id} = ${ctx.programId} and ${event_id} >= ${firstIdAt("event", from)}
          and ${event_id} < ${firstIdAt("event", until)} and ${type} in ('payout.paid', 'payout.updated')
          and ${status} <> 'open'`,
      )
      .orderBy(event_id)
      .limit(atMost(1)),
  );
  return { items, readings, closed: closed[0] ?? null };
}

const MAX_READINGS = 50;
