import { sql, type InferSelectModel, type SQL } from "drizzle-orm";
import { cursorId, pageOf, window, type Page, type PageRequest } from "../db/page.ts";
import type { events } from "../db/schema.ts";
import type { AuditEventType } from "../domain/event.ts";
import { firstIdAt } from "../lib/id.ts";
import { DAY, utcDay } from "../lib/time.ts";
import type { ProgramCtx } from "./context.ts";

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
  const after = cursorId(filter);
  const { limit, offset } = window(filter);
  const matching = sql.join(
    [
      ofProgram(ctx, filter),
      ...(from === undefined ? [] : [sql`id >= ${firstIdAt("event", from)}`]),
      ...(to === undefined ? [] : [sql`id < ${firstIdAt("event", to)}`]),
      ...(after === null ? [] : [sql`id < ${after}`]),
    ],
    sql` and `,
  );
  const [rows, [counted]] = await ctx.read(
    ctx.db.all<Omit<AuditEvent, "payload"> & { payload: string }>(
      sql`select id, program_id, type, payload, created_at from ${table(filter)} where ${matching}
        order by id desc limit ${limit} offset ${offset}`,
    ),
    ctx.db.all<{ total: number }>(sql`select ${totalOf(ctx, filter)} as total`),
  );
  return pageOf(filter, rows, counted?.total ?? 0, (row) => ({
    ...row,
    payload: JSON.parse(row.payload) as AuditEvent["payload"],
  }));
}

/**
 * How many events match, exactly and without counting them all: whole days from the kept counts, and only what lies in
 * a day that the range cuts is counted itself (contract §8: "`total` is exact at any size and cheap").
 */
function totalOf(ctx: ProgramCtx, filter: EventFilter): SQL {
  const { from = 0, to = Number.POSITIVE_INFINITY } = filter;
  if (from >= to) return sql`0`;
  const firstWhole = Math.ceil(from / DAY) * DAY;
  const afterWhole = Math.floor(to / DAY) * DAY;
  if (firstWhole > afterWhole) return countBetween(ctx, filter, from, to);
  const parts = [countDays(ctx, filter, firstWhole, afterWhole)];
  if (from < firstWhole) parts.push(countBetween(ctx, filter, from, firstWhole));
  if (afterWhole < to) parts.push(countBetween(ctx, filter, afterWhole, to));
  return sql.join(parts, sql` + `);
}

function countDays(ctx: ProgramCtx, { type }: EventFilter, from: number, to: number): SQL {
  return sql`(select coalesce(sum(count), 0) from event_counts where program_id = ${ctx.programId}
    and day >= ${utcDay(from)} ${Number.isFinite(to) ? sql`and day < ${utcDay(to)}` : sql``}
    ${type === undefined ? sql`` : sql`and type = ${type}`})`;
}

function countBetween(ctx: ProgramCtx, filter: EventFilter, from: number, to: number): SQL {
  return sql`(select count(*) from ${table(filter)} where ${ofProgram(ctx, filter)}
    and id >= ${firstIdAt("event", from)} and id < ${firstIdAt("event", to)})`;
}

/**
 * The index by type leaves clicks out, and is used only where the query says so itself; told by name, because the
 * planner takes the key of the table to be as good and would read past all clicks.
 */
function table({ type }: EventFilter): SQL {
  return type === undefined || type === "click" ? sql`events` : sql`events indexed by events_type`;
}

function ofProgram(ctx: ProgramCtx, { type }: EventFilter): SQL {
  const own = sql`program_id = ${ctx.programId}`;
  if (type === undefined) return own;
  return type === "click" ? sql`${own} and type = ${type}` : sql`${own} and type = ${type} and type <> 'click'`;
}
