import { sql, type SQL } from "drizzle-orm";
import { orNull, shaped, text, whole } from "../../db/rows.ts";
import { checksOf, clickAddressOf, isInstalled, type Check } from "../../domain/installation.ts";
import { invalidField } from "../../lib/errors.ts";
import { uncountedClicks } from "../kernel/uncounted-clicks.ts";
import { prove, type Caller, type ProgramCtx, type Reader } from "../kernel/context.ts";
import { answersClicks, readSitePage, type SiteReach } from "./site-page.ts";

export interface InstallationInput {
  /** A page of the owner's site; the program's domain unless given. */
  url?: string | undefined;
  /** Where the tracking script is served, as an absolute address. */
  script_url: string;
}

export interface Installation {
  /** The page that was asked. */
  url: string;
  /** True where every check is `ok`. */
  installed: boolean;
  checks: Check[];
}

export interface InstallationReach extends SiteReach {
  /** Counts a check of the program. @throws `rate_limited` */
  count: (program_id: string) => Promise<void>;
}

/**
 * Whether the tracking script works on a page of the owner's site (PROG-12): it is asked for now, by the guard of webhooks.
 * Changes nothing. @throws `validation_failed` where there is no page to ask; `rate_limited`.
 */
export async function checkInstallation(
  caller: Caller,
  { url, script_url }: InstallationInput,
  reach: InstallationReach,
): Promise<Installation> {
  const [{ program }, [seen]] = await prove(
    caller,
    shaped(caller.db, { clicks: whole }, sql`select ${hasClicks(caller)} as clicks`),
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
  /** Of the last one on an active partner's link; of one that is rolled up, its minute. Null: there is none. */
  last_at: string | null;
  /** Clicks have come that were not recorded. */
  dropped: boolean;
}

/** When the last click came, from the kept counts and the clicks that are not rolled up yet: the rows of one day at most. */
export async function readLastClick(ctx: ProgramCtx): Promise<ClicksSeen> {
  const kept = sql`select max(h.hour || ':' || m.key) || ':00.000Z'
    from (select max(day) as day from event_counts where program_id = ${ctx.programId} and type = 'click') d
    cross join event_hours h on h.program_id = ${ctx.programId} and h.hour between d.day and d.day || 'T~'
      and h.type = 'click'
    cross join json_each(h.minutes) m`;
  const [[seen]] = await ctx.read(
    shaped(
      ctx.db,
      { last_at: orNull(text), dropped: whole },
      sql`select max(at) as last_at, exists (select 1 from click_drops where program_id = ${ctx.programId}) as dropped
      from (select (${kept}) as at union all select max(created_at) from ${uncountedClicks(ctx)})`,
    ),
  );
  return { last_at: seen?.last_at ?? null, dropped: seen?.dropped === 1 };
}

/** Whether a click on an active partner's link has come, as 0 or 1. */
export function hasRecordedClicks(ctx: Reader): SQL {
  return sql`(exists (select 1 from event_counts where program_id = ${ctx.programId} and type = 'click')
    or exists (select 1 from ${uncountedClicks(ctx)}))`;
}

/** Whether a click has come, recorded or not, as 0 or 1. */
export function hasClicks(ctx: Reader): SQL {
  return sql`(${hasRecordedClicks(ctx)} or exists (select 1 from click_drops where program_id = ${ctx.programId}))`;
}
