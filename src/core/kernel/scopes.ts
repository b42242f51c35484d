import type { Scope } from "../../domain/scope.ts";
import { AppError } from "../../lib/errors.ts";

/** @throws `forbidden`, naming the scope, if the acting key lacks it. */
export function requireScope(ctx: { may: (scope: Scope) => boolean }, scope: Scope): void {
  if (!ctx.may(scope)) throw lacksScope(scope);
}

interface OnHold {
  hold_days: number | null;
}

/**
 * Requires the scope `payouts` if partners get the group `after` in place of `before`, and it has fewer days on hold
 * (ACCESS-13). @throws `forbidden`
 */
export function requireHold(
  ctx: { may: (scope: Scope) => boolean; program: { auto_approve_days: number | null } },
  before: OnHold,
  after: OnHold,
): void {
  const daysOf = ({ hold_days }: OnHold) => hold_days ?? ctx.program.auto_approve_days ?? 0;
  if (daysOf(after) < daysOf(before)) requireScope(ctx, "payouts");
}

/** @throws `forbidden` if the acting API key ends before `end` (ISO 8601, null: never) of the access it creates */
export function requireNoEndBefore({ key_ends_at }: { key_ends_at: string | null }, end: string | null): void {
  if (key_ends_at === null || (end !== null && end <= key_ends_at)) return;
  throw new AppError(
    "forbidden",
    `This API key expires at ${key_ends_at}, and access that it grants cannot last longer.`,
  );
}

export function lacksScope(scope: Scope): AppError {
  return new AppError("forbidden", `This API key lacks the scope ${scope}.`);
}
