import { sql, type SQL } from "drizzle-orm";
import { literal } from "../../db/client.ts";
import { selectRows, text, textOf, whole } from "../../db/rows.ts";
import { DAY } from "../../lib/time.ts";
import {
  COUNTED_KINDS_JSON,
  countedRows,
  WHOLE_PROGRAM,
  type ProgramSourceKind,
  type SourceKind,
} from "../kernel/click-sources.ts";
import type { Reader } from "../kernel/context.ts";
import { uncountedClicks } from "../kernel/uncounted-clicks.ts";

/** Clicks by one page of the site, or by one sub-id. */
export interface ClickSource {
  value: string;
  clicks: number;
}

export interface ClickSources {
  /** The sources with the most clicks, in order. */
  top: ClickSource[];
  others: number;
}

const LISTED = 20;

type AnyKind = SourceKind | ProgramSourceKind;
type SourceRow = ClickSource & { kind: AnyKind };

/**
 * A partner's clicks in some UTC days, both included, by page and by sub-id, from the kept counts and the clicks that
 * are not rolled up yet. It reads as many rows as there are values, at most 51 of a kind for each day.
 */
export async function readClickSources(
  ctx: Reader,
  partner_id: string,
  days: { from: string; to: string },
): Promise<Record<SourceKind, ClickSources>> {
  const [rows] = await ctx.read(selectClickSources(ctx, partner_id, days));
  return sourcesOf(rows);
}

/** The statement of `readClickSources`, to be read with others. Its rows are for `sourcesOf`. */
export function selectClickSources(ctx: Reader, partner_id: string, days: { from: string; to: string }) {
  return selectSources(ctx, partner_id, days, sql`and payload ->> 'partner_id' = ${partner_id}`);
}

/** The statement for the program as a whole. Its rows are for `programSourcesOf`. */
export function selectProgramSources(ctx: Reader, days: { from: string; to: string }) {
  return selectSources(ctx, WHOLE_PROGRAM, days, sql``);
}

function selectSources(ctx: Reader, partner_id: string, { from, to }: { from: string; to: string }, isOwn: SQL) {
  const span = { from: Date.parse(from), to: Date.parse(to) + DAY };
  return selectRows(
    ctx.db,
    { kind: textOf<AnyKind>(), value: text, clicks: whole },
    sql`select kind, iif(place <= ${literal(LISTED)}, value, '') as value, sum(clicks) as clicks from (
        select kind, value, sum(count) as clicks,
          row_number() over (partition by kind order by value = '', sum(count) desc, value) as place
        from (select kind, value, count from click_sources where program_id = ${ctx.programId}
            and partner_id = ${partner_id} and day between ${from} and ${to}
          union all select kind, value, n from (${countedRows(sql`
            select program_id, payload ->> 'partner_id' as partner_id, '' as day, k.value as kind,
              payload ->> k.value as value, 1 as n
            from (select program_id, payload from ${uncountedClicks(ctx, span)} ${isOwn})
            cross join json_each(${COUNTED_KINDS_JSON}) k where payload ->> k.value is not null`)})
          where partner_id = ${partner_id})
        group by 1, 2)
      group by 1, 2 order by 3 desc, 2`,
  );
}

export function sourcesOf(rows: readonly SourceRow[]): Record<SourceKind, ClickSources> {
  return { landing: ofKind(rows, "landing"), sub: ofKind(rows, "sub") };
}

export function programSourcesOf(rows: readonly SourceRow[]): Record<ProgramSourceKind, ClickSources> {
  return {
    landing: ofKind(rows, "landing"),
    referrer: ofKind(rows, "referrer"),
    country: ofKind(rows, "country"),
  };
}

function ofKind(rows: readonly SourceRow[], kind: AnyKind): ClickSources {
  const own = rows.filter((row) => row.kind === kind);
  return {
    top: own.flatMap(({ value, clicks }) => (value === "" ? [] : [{ value, clicks }])),
    others: own.find(({ value }) => value === "")?.clicks ?? 0,
  };
}
