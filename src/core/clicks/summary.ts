import { sql } from "drizzle-orm";
import { selectRows, text, textOf, whole } from "../../db/rows.ts";
import { CLICK_DROP_REASONS, type ClickDropReason } from "../../domain/click.ts";
import { DAY, utcDay } from "../../lib/time.ts";
import type { Reader } from "../kernel/context.ts";
import { uncountedClicks } from "../kernel/uncounted-clicks.ts";

export interface ClickSummaryFilter {
  /** Milliseconds, inclusive. */
  from: number;
  /** Milliseconds, exclusive. */
  to: number;
  partner_id?: string | undefined;
}

export type Dropped = Record<ClickDropReason, number>;

export interface ClickSummary {
  /** Every UTC day that the range touches, oldest first. */
  data: { day: string; recorded: number; dropped?: Dropped }[];
  recorded: number;
  dropped?: Dropped;
}

/**
 * Clicks by UTC day, recorded and dropped by reason, from the kept counts and the clicks that are not rolled up yet: it
 * reads as many rows as there are of these, of days and of reasons, whatever the number of clicks. A dropped click
 * belongs to no partner, so for one partner only the recorded ones are reported.
 */
export async function summarizeClicks(
  ctx: Reader,
  { from, to, partner_id }: ClickSummaryFilter,
): Promise<ClickSummary> {
  const first = utcDay(from);
  const last = utcDay(to - 1);
  const days = { from: Date.parse(first), to: Date.parse(last) + DAY };
  const within = sql`program_id = ${ctx.programId} and day >= ${first} and day <= ${last}`;
  const [recorded, drops] = await ctx.read(
    selectRows(
      ctx.db,
      { day: text, count: whole },
      sql`select day, sum(count) as count from (
        ${
          partner_id === undefined
            ? sql`select day, count from event_counts where ${within} and type = 'click'`
            : sql`select day, count from click_counts where ${within} and partner_id = ${partner_id}`
        }
        union all select substr(created_at, 1, 10), 1 from ${uncountedClicks(ctx, days)}
          ${partner_id === undefined ? sql`` : sql`and payload ->> 'partner_id' = ${partner_id}`})
        group by day`,
    ),
    selectRows(
      ctx.db,
      { day: text, reason: textOf<ClickDropReason>(), count: whole },
      sql`select day, reason, count from click_drops where ${within}`,
    ),
  );
  const byDay = new Map(recorded.map(({ day, count }) => [day, count]));
  const dropsByDay = Map.groupBy(drops, ({ day }) => day);
  const data = daysBetween(from, to).map((day) => ({
    day,
    recorded: byDay.get(day) ?? 0,
    ...(partner_id === undefined ? { dropped: sumByReason(dropsByDay.get(day) ?? []) } : {}),
  }));
  return {
    data,
    recorded: data.reduce((sum, day) => sum + day.recorded, 0),
    ...(partner_id === undefined ? { dropped: sumByReason(drops) } : {}),
  };
}

function sumByReason(drops: readonly { reason: ClickDropReason; count: number }[]): Dropped {
  const sums = Object.fromEntries(CLICK_DROP_REASONS.map((reason) => [reason, 0])) as Dropped;
  for (const { reason, count } of drops) sums[reason] += count;
  return sums;
}

function daysBetween(from: number, to: number): string[] {
  const first = Math.floor(from / DAY);
  const after = Math.ceil(to / DAY);
  return Array.from({ length: Math.max(0, after - first) }, (_, i) => utcDay((first + i) * DAY));
}
