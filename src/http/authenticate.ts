import type { Context, MiddlewareHandler } from "hono";
import { actingAs, forApiKey, type BaseCtx, type Unproven } from "../core/kernel/context.ts";
import { touchApiKey } from "../core/programs/programs.ts";
import type { Holder, PresentedKey } from "../core/kernel/key-lookup.ts";
import { onShard } from "../core/kernel/shards.ts";
import { actors } from "../domain/actor.ts";
import { isFurtherKey, shardOfKey } from "../domain/shard.ts";
import type { AppEnv, Bindings } from "../env.ts";
import { constantTimeEqualText, sha256Hex } from "../lib/crypto.ts";
import { AppError, type ErrorCode } from "../lib/errors.ts";
import { logLine } from "../lib/log.ts";
import { replicationOf, tellBookmark } from "./bookmark.ts";
import { replaceWithError, toAppError } from "./errors.ts";
import { routeOf } from "./route.ts";
import { apiKeyKey, countWrongSecret, isOverLimit, refuseGuesser, RETRY_AFTER_SECONDS } from "./rate-limit.ts";

/**
 * Binds the request to the program of its API key (ACCESS-1). The database compares only the key's hash, together with
 * the request's first read. A regenerated, deleted or expired key therefore fails on the very next request, and a key
 * that lacks one of the route's scopes neither reads nor writes (ACCESS-11). The key names its database and its table.
 * Limits: 3,000 requests a minute per key, 30 failed authentications a minute per address (HTTP-11).
 */
export function authenticate(): MiddlewareHandler<AppEnv> {
  return async function authenticate(c, next) {
    const key = bearerOf(c);
    if (key === null) {
      throw new AppError("unauthorized", "Send the API key in the header Authorization: Bearer <API_KEY>.");
    }
    refuseGuesser(c);
    const hash = await sha256Hex(key);
    if (await isOverLimit(c.env.RATE_LIMIT_API, apiKeyKey(hash))) {
      throw new AppError("rate_limited", "Too many requests with this key.", { retryAfter: RETRY_AFTER_SECONDS });
    }
    const shard = shardOfKey(key);
    const on = onShard(c.var.base, shard);
    if (!on) {
      await countWrongSecret(c);
      throw new AppError("unauthorized", "The API key is not valid.");
    }
    const replication = replicationOf(c, shard);
    const base: BaseCtx = { ...on, db: replication?.primary.db ?? on.db };
    const onFound = (holder: Holder) => {
      const touch = touchApiKey(on, holder);
      // If this write fails, the next request records the use.
      if (touch) c.executionCtx.waitUntil(touch.catch(() => undefined));
    };
    // The program's first key has every right, so no scope is required.
    const presented: PresentedKey = { hash, further: isFurtherKey(key) ? { needs: routeOf(c)?.scope ?? [] } : null };
    const caller = forApiKey(base, presented, { onFound, onUnknown: () => countWrongSecret(c) }, replication?.copy);
    c.set("ctx", caller);
    await next();
    await withhold(c, caller);
    if (replication) tellBookmark(c, replication);
  };
}

/** Withholds every reply until the key and its scopes are proven, by a read or here: a bad key is the first error. */
async function withhold(c: Context<AppEnv>, caller: Unproven): Promise<void> {
  // If the key itself was refused, or the storage is down, there is no need to check again.
  if (c.error && SAID_TO_ANYBODY.has(toAppError(c.error).code)) return;
  try {
    await caller.authenticate();
  } catch (error) {
    replaceWithError(error, c);
  }
}

const SAID_TO_ANYBODY = new Set<ErrorCode>(["unauthorized", "rate_limited", "storage_unavailable"]);

/**
 * Authenticates the operator by bearer ADMIN_TOKEN, in constant time. Without a proper token there is no /admin
 * (ACCESS-4).
 */
export function authenticateOperator(): MiddlewareHandler<AppEnv> {
  return async function authenticateOperator(c, next) {
    const operatorToken = operatorTokenOf(c.env);
    if (operatorToken === null) throw new AppError("not_found", "There is nothing at this address.");
    const token = bearerOf(c);
    if (token !== null) refuseGuesser(c);
    if (token === null || !(await constantTimeEqualText(token, operatorToken))) {
      if (token !== null) await countWrongSecret(c);
      throw new AppError(
        "unauthorized",
        "Send the operator's token in the header Authorization: Bearer <ADMIN_TOKEN>.",
      );
    }
    c.set("operator", actingAs(c.var.base, actors.operator()));
    await next();
  };
}

/** The shortest operator token outside development; `npm run deploy` requires the same length. */
const MIN_TOKEN_LENGTH = 32;

function operatorTokenOf({ ADMIN_TOKEN, ENVIRONMENT }: Bindings): string | null {
  if (!ADMIN_TOKEN) return null;
  if (ADMIN_TOKEN.length >= MIN_TOKEN_LENGTH || ENVIRONMENT === "development") return ADMIN_TOKEN;
  logLine("error", { what: "ADMIN_TOKEN is too short: /admin is closed", at_least: MIN_TOKEN_LENGTH });
  return null;
}

const BEARER = /^Bearer +(\S+)$/i;

function bearerOf(c: Context<AppEnv>): string | null {
  return BEARER.exec(c.req.header("authorization") ?? "")?.[1] ?? null;
}
