import { archiveNotedDays, noteArchivableDays } from "../core/archive-clicks.ts";
import type { Ctx } from "../core/context.ts";
import type { Bindings } from "../env.ts";
import { logLine } from "../lib/log.ts";

type Retention = Pick<Bindings, "CLICK_RETENTION_DAYS">;

/**
 * Daily: notes the days of clicks beyond `CLICK_RETENTION_DAYS`. Where that is set and cannot take effect, the log says
 * so; where it is not set, clicks stay in the database for ever.
 */
export async function noteOldClicks(ctx: Ctx, env: Retention): Promise<void> {
  const given = textOf(env);
  if (given === "") return;
  const days = retentionDays(env);
  if (days === null) {
    logLine("error", { what: "no click is archived: CLICK_RETENTION_DAYS is not a whole number of days", given });
  } else if (ctx.archive === null) {
    logLine("error", { what: "no click is archived: CLICK_RETENTION_DAYS is set, and no ARCHIVE bucket is bound" });
  } else {
    await noteArchivableDays(ctx, days);
  }
}

/** Every minute: moves what is noted to the archive, a bounded part at a time. */
export async function archiveOldClicks(ctx: Ctx, env: Retention, mayGoOn: () => boolean): Promise<void> {
  if (ctx.archive && retentionDays(env) !== null) await archiveNotedDays(ctx, ctx.archive, mayGoOn);
}

function retentionDays(env: Retention): number | null {
  return /^[1-9]\d{0,4}$/.test(textOf(env)) ? Number(textOf(env)) : null;
}

function textOf({ CLICK_RETENTION_DAYS }: Retention): string {
  return String(CLICK_RETENTION_DAYS ?? "").trim();
}
