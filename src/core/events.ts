import { sql, type InferSelectModel } from "drizzle-orm";
import { cursorId, pageOf, window, type Page, type PageRequest } from "../db/page.ts";
import type { events } from "../db/schema.ts";
import type { AuditEventType } from "../domain/event.ts";
import { firstIdAt } from "../lib/id.ts";
import type { ProgramCtx } from "./context.ts";
import { eventsOf, tableFor, totalOf } from "./event-counts.ts";

export type AuditEvent = InferSelectModel<typeof events>;

export interface EventFilter extends PageRequest {
  type?: AuditEventType | undefined;
  /** Milliseconds, inclusive. */
  from?: number | undefined;
  /** Milliseconds, the first instant no longer included. */
  to?: number | undefined;
}

/** The program's audit log, newest first. Ids carry time, so the key alone gives the order, the range and the pages. */
export async function listEvents(ctx: ProgramCtx, filter: EventFilter): Promise<Page<AuditEvent>> {
  const { from, to } = filter;
  const { limit, offset } = window(filter);
  // One upper bound: of two, the key would be searched by the first and all rows up to the other be read.
  const before = [cursorId(filter), to === undefined ? null : firstIdAt("event", to)].filter((id) => id !== null);
  const matching = sql.join(
    [
      eventsOf(ctx, filter.type),
      ...(from === undefined ? [] : [sql`id >= ${firstIdAt("event", from)}`]),
      ...(before.length === 0 ? [] : [sql`id < ${before.toSorted()[0]}`]),
    ],
    sql` and `,
  );
  const [rows, [counted]] = await ctx.read(
    ctx.db.all<Omit<AuditEvent, "payload"> & { payload: string }>(
      sql`select id, program_id, type, payload, created_at from ${tableFor(filter.type)} where ${matching}
        order by id desc limit ${limit} offset ${offset}`,
    ),
    ctx.db.all<{ total: number }>(sql`select ${totalOf(ctx, filter)} as total`),
  );
  return pageOf(filter, rows, counted?.total ?? 0, (row) => ({
    ...row,
    payload: JSON.parse(row.payload) as AuditEvent["payload"],
  }));
}
