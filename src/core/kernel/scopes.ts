import type { Scope } from "../../domain/scope.ts";
import { AppError } from "../../lib/errors.ts";

/** @throws `forbidden`, naming the scope, where a key acts that lacks it. */
export function requireScope(ctx: { may: (scope: Scope) => boolean }, scope: Scope): void {
  if (!ctx.may(scope)) throw lacksScope(scope);
}

export function lacksScope(scope: Scope): AppError {
  return new AppError("forbidden", `This API key lacks the scope ${scope}.`);
}
