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
 * Binds the request to the program of its API key (ACCESS-1). Only the key's hash is compared, in
 * the database, together with the request's first read; so a regenerated, deleted or expired key is dead on the very next
 * request, and one that lacks a scope of the route reads and writes nothing (ACCESS-11). The key names which database and
 * which table that is.
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
      // The next request notes it where this one cannot.
      if (touch) c.executionCtx.waitUntil(touch.catch(() => undefined));
    };
    // The program's first key may do everything: of it nothing is asked.
    const presented: PresentedKey = { hash, further: isFurtherKey(key) ? { needs: routeOf(c)?.scope ?? [] } : null };
    const caller = forApiKey(base, presented, { onFound, onUnknown: () => countWrongSecret(c) }, replication?.copy);
    c.set("ctx", caller);
    await next();
    await withhold(c, caller);
    if (replication) tellBookmark(c, replication);
  };
}

/**
 * No answer leaves without a proven key that has the route's scopes, a refusal neither: whatever is wrong with the request,
 * the key is reported first. Most answers are there because a read has proven it; for the others it is looked up here.
 */
async function withhold(c: Context<AppEnv>, caller: Unproven): Promise<void> {
  // Where the key itself was refused, or the storage is away, there is nothing to add.
  if (c.error && SAID_TO_ANYBODY.has(toAppError(c.error).code)) return;
  try {
    await caller.authenticate();
  } catch (error) {
    replaceWithError(error, c);
  }
}

const SAID_TO_ANYBODY = new Set<ErrorCode>(["unauthorized", "rate_limited", "storage_unavailable"]);

/**
 * Lets the operator of the deployment in: the bearer of ADMIN_TOKEN, compared in constant time. A deployment without
 * the token has no /admin at all (ACCESS-4), nor has one whose token is too short to be a secret.
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

/** As short as an operator's token may be where others can reach the service; `npm run deploy` asks for no less. */
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
