import { sql, type SQL } from "drizzle-orm";
import { nullable, selectRows, text, whole } from "../../db/rows.ts";
import { checksOf, clickAddressOf, isInstalled, type Check } from "../../domain/installation.ts";
import { invalidField } from "../../lib/errors.ts";
import { uncountedClicks } from "../kernel/uncounted-clicks.ts";
import { prove, type Caller, type ProgramCtx, type Reader } from "../kernel/context.ts";
import { answersClicks, readSitePage, type SiteReach } from "./site-page.ts";

export interface InstallationInput {
  /** A page of the owner's site; the program's domain by default. */
  url?: string | undefined;
  /** The absolute address of the tracking script. */
  script_url: string;
}

export interface Installation {
  /** The address of the checked page. */
  url: string;
  /** True if every check is `ok`. */
  installed: boolean;
  checks: Check[];
}

export interface InstallationReach extends SiteReach {
  /** Counts a check of the program. @throws `rate_limited` */
  count: (program_id: string) => Promise<void>;
}

/**
 * Checks whether the tracking script works on a page of the owner's site (PROG-12), by a request for it now, behind the
 * guard of webhooks. Read-only. @throws `validation_failed` if no page is known to check; `rate_limited`.
 */
export async function checkInstallation(
  caller: Caller,
  { url, script_url }: InstallationInput,
  reach: InstallationReach,
): Promise<Installation> {
  const [{ program }, [seen]] = await prove(
    caller,
    selectRows(caller.db, { clicks: whole }, sql`select ${hasClicks(caller)} as clicks`),
  );
  const address = url ?? (program.domain === null ? null : `https://${program.domain}/`);
  if (address === null) throw invalidField("url", "Give the address of a page, or set the program's domain.");
  await reach.count(program.id);
  const page = await readSitePage(address, reach);
  const clicks = clickAddressOf(page, { script_url });
  // The service cannot call itself.
  const arrives = clicks && (clicks.origin === new URL(script_url).origin || (await answersClicks(clicks, reach)));
  const checks = checksOf(page, {
    ...{ program_id: program.id, script_url, has_clicks: seen?.clicks === 1, arrives },
    try_url: `https://${program.domain ?? URL.parse(address)?.host ?? "your-domain.example"}/?ref=SLUG`,
  });
  return { url: address, installed: isInstalled(checks), checks };
}

export interface ClicksSeen {
  /** The last click on an active partner's link, to the minute once rolled up; null without one. */
  last_at: string | null;
  /** True if clicks have arrived that were not recorded. */
  dropped: boolean;
}

/** Reads the last click from the stored counts and unrolled clicks: the rows of one day at most. */
export async function readLastClick(ctx: ProgramCtx): Promise<ClicksSeen> {
  const kept = sql`select max(h.hour || ':' || m.key) || ':00.000Z'
    from (select max(day) as day from event_counts where program_id = ${ctx.programId} and type = 'click') d
    cross join event_hours h on h.program_id = ${ctx.programId} and h.hour between d.day and d.day || 'T~'
      and h.type = 'click'
    cross join json_each(h.minutes) m`;
  const [[seen]] = await ctx.read(
    selectRows(
      ctx.db,
      { last_at: nullable(text), dropped: whole },
      sql`select max(at) as last_at, exists (select 1 from click_drops where program_id = ${ctx.programId}) as dropped
      from (select (${kept}) as at union all select max(created_at) from ${uncountedClicks(ctx)})`,
    ),
  );
  return { last_at: seen?.last_at ?? null, dropped: seen?.dropped === 1 };
}

/** SQL: whether a click on an active partner's link has arrived, as 0 or 1. */
export function hasRecordedClicks(ctx: Reader): SQL {
  return sql`(exists (select 1 from event_counts where program_id = ${ctx.programId} and type = 'click')
    or exists (select 1 from ${uncountedClicks(ctx)}))`;
}

/** SQL: whether a click has arrived, recorded or not, as 0 or 1. */
export function hasClicks(ctx: Reader): SQL {
  return sql`(${hasRecordedClicks(ctx)} or exists (select 1 from click_drops where program_id = ${ctx.programId}))`;
}
