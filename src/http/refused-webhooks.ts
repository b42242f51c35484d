import type { Context } from "hono";
import type { ProgramCtx } from "../core/kernel/context.ts";
import { noteRefusals } from "../core/inbound/refusals.ts";
import type { VendorName } from "../domain/provider-name.ts";
import type { RefusalReason, UnownedRefusal } from "../domain/refusal.ts";
import type { AppEnv } from "../env.ts";
import { logLine, reasonOf } from "../lib/log.ts";
import { remember } from "../lib/remembered.ts";
import { DAY, MINUTE } from "../lib/time.ts";
import { countCaller } from "./rate-limit.ts";

/** Refusals of one program, provider and reason that are not recorded yet, and until when (ms) they wait. */
interface Waiting {
  count: number;
  until: number;
}

const waiting = remember<string, Waiting>(10_000);

/** Refusals to record now, once a minute for each `key` and isolate, so that they cause few writes; null otherwise. */
function due(key: string, now: number): Waiting | null {
  const those = waiting.get(key, now) ?? { count: 0, until: 0 };
  those.count++;
  waiting.set(key, those, now + DAY);
  if (those.until > now) return null;
  const noted = { ...those };
  those.count = 0;
  those.until = now + MINUTE;
  return noted;
}

/** Reports a refused delivery to the program, after the reply; a failure to report is only logged. */
export function noteRefused(c: Context<AppEnv>, provider: VendorName, reason: RefusalReason, ctx: ProgramCtx): void {
  const those = due(`${ctx.program.id} ${provider} ${reason}`, c.var.now);
  if (those) afterReply(c, () => noteRefusals(ctx, provider, reason, those.count));
}

/** Reports a refused delivery of a program that may not exist: `find` looks, as often as wrong secrets are allowed. */
export function noteRefusedUnread(
  c: Context<AppEnv>,
  provider: VendorName,
  reason: RefusalReason,
  program_id: string,
  find: () => Promise<ProgramCtx | null>,
): void {
  const those = due(`${program_id} ${provider} ${reason}`, c.var.now);
  if (!those) return;
  afterReply(c, async () => {
    if ((await countCaller(c.env, "RATE_LIMIT_FAILED_AUTH", c.req.raw.headers, "refused")) !== null) return;
    const ctx = await find();
    if (ctx) await noteRefusals(ctx, provider, reason, those.count);
  });
}

/** Logs deliveries for unknown programs: one line a minute with their number. */
export function logUnowned(c: Context<AppEnv>, provider: VendorName, reason: UnownedRefusal): void {
  const those = due(`${provider} ${reason}`, c.var.now);
  if (!those) return;
  const { request_id } = c.var;
  logLine("info", { what: "deliveries of a provider refused", provider, reason, count: those.count, request_id });
}

function afterReply(c: Context<AppEnv>, work: () => Promise<void>): void {
  const { request_id } = c.var;
  const logFailure = (error: unknown) =>
    logLine("error", { what: "a refused delivery could not be noted", reason: reasonOf(error), request_id });
  c.executionCtx.waitUntil(work().catch(logFailure));
}
