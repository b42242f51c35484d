import { archiveNotedDays, noteArchivableDays } from "../core/clicks/archive.ts";
import type { BaseCtx } from "../core/kernel/context.ts";
import type { Work } from "../core/kernel/work.ts";
import type { Bindings } from "../env.ts";
import { logLine } from "../lib/log.ts";

type Retention = Pick<Bindings, "CLICK_RETENTION_DAYS">;

/** Daily: records the days of clicks beyond `CLICK_RETENTION_DAYS`. A setting that cannot take effect is logged. */
export function noteOldClicks(ctx: BaseCtx, env: Retention): Work | null {
  const given = textOf(env);
  if (given === "") return null;
  const days = retentionDays(env);
  if (days !== null && ctx.archive !== null) return noteArchivableDays(ctx, days);
  const why =
    days === null
      ? "CLICK_RETENTION_DAYS is not a whole number of days"
      : "CLICK_RETENTION_DAYS is set, and no ARCHIVE bucket is bound";
  return {
    cost: 0,
    due: async () => {
      logLine("error", { what: `no click is archived: ${why}`, given });
      return [];
    },
    serve: async () => false,
  };
}

/** Every minute: archives the clicks of recorded days. */
export function archiveOldClicks(ctx: BaseCtx, env: Retention, onCall: (calls: number) => void): Work | null {
  return ctx.archive && retentionDays(env) !== null ? archiveNotedDays(ctx, ctx.archive, onCall) : null;
}

function retentionDays(env: Retention): number | null {
  return /^[1-9]\d{0,4}$/.test(textOf(env)) ? Number(textOf(env)) : null;
}

function textOf({ CLICK_RETENTION_DAYS }: Retention): string {
  return String(CLICK_RETENTION_DAYS ?? "").trim();
}
