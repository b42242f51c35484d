import { sql, type SQL } from "drizzle-orm";
import { shaped, whole } from "../../db/rows.ts";
import { checksOf, isInstalled, type Check } from "../../domain/installation.ts";
import { invalidField } from "../../lib/errors.ts";
import { uncountedClicks } from "../kernel/uncounted-clicks.ts";
import { prove, type Caller, type Reader } from "../kernel/context.ts";
import { readSitePage, type SiteReach } from "./site-page.ts";

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
  const checks = checksOf(await readSitePage(address, reach), {
    ...{ program_id: program.id, script_url, has_clicks: seen?.clicks === 1 },
    try_url: `https://${program.domain ?? URL.parse(address)?.host ?? "your-domain.example"}/?ref=SLUG`,
  });
  return { url: address, installed: isInstalled(checks), checks };
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
