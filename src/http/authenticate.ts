import type { Context, MiddlewareHandler } from "hono";
import { forApiKey, type Ctx, type Program } from "../core/context.ts";
import { touchApiKey } from "../core/programs.ts";
import { onShard } from "../core/shards.ts";
import { shardOfKey } from "../domain/shard.ts";
import type { AppEnv } from "../env.ts";
import { constantTimeEqualText, sha256Hex } from "../lib/crypto.ts";
import { AppError } from "../lib/errors.ts";
import { replicationOf, requireBookmarkForm, tellBookmark } from "./bookmark.ts";
import { addressOf } from "./context.ts";
import { isOverLimit } from "./rate-limit.ts";

const RETRY_AFTER_SECONDS = 60;

/**
 * Binds the request to the program of its API key (interface, "Authentication"). Only the key's hash is compared, in
 * the database, together with the request's first read; so a regenerated key is dead on the very next request. The key
 * tells which database that is.
 * Limits: 3,000 requests a minute per key, 30 failed authentications a minute per address (contract §2).
 */
export function authenticate(): MiddlewareHandler<AppEnv> {
  return async function authenticate(c, next) {
    const key = bearerOf(c);
    if (key === null) {
      throw new AppError("unauthorized", "Send the API key in the header Authorization: Bearer <API_KEY>.");
    }
    const hash = await sha256Hex(key);
    if (await isOverLimit(c.env.RATE_LIMIT_API, hash)) {
      throw new AppError("rate_limited", "Too many requests with this key.", { retryAfter: RETRY_AFTER_SECONDS });
    }
    const shard = shardOfKey(key);
    const on = onShard(c.var.base, shard);
    if (!on) {
      await countFailure(c);
      throw new AppError("unauthorized", "The API key is not valid.");
    }
    const replication = replicationOf(c, shard);
    const base: Ctx = { ...on, db: replication?.primary?.db ?? on.db, actor: "api" };
    const onFound = (program: Program) => {
      const touch = touchApiKey(on, program);
      // The next request notes it where this one cannot.
      if (touch) c.executionCtx.waitUntil(touch.catch(() => undefined));
    };
    c.set("ctx", forApiKey(base, hash, { onFound, onUnknown: () => countFailure(c) }, replication?.copy?.db));
    requireBookmarkForm(c);
    await next();
    if (replication) tellBookmark(c, replication);
  };
}

/**
 * Lets the operator of the deployment in: the bearer of ADMIN_TOKEN, compared in constant time. A deployment without
 * the token has no /admin at all (contract §3).
 */
export function authenticateOperator(): MiddlewareHandler<AppEnv> {
  return async function authenticateOperator(c, next) {
    const { ADMIN_TOKEN } = c.env;
    if (!ADMIN_TOKEN) throw new AppError("not_found", "There is nothing at this address.");
    const token = bearerOf(c);
    if (token === null || !(await constantTimeEqualText(token, ADMIN_TOKEN))) {
      if (token !== null) await countFailure(c);
      throw new AppError(
        "unauthorized",
        "Send the operator's token in the header Authorization: Bearer <ADMIN_TOKEN>.",
      );
    }
    c.set("base", { ...c.var.base, actor: "operator" });
    await next();
  };
}

const BEARER = /^Bearer +(\S+)$/i;

function bearerOf(c: Context<AppEnv>): string | null {
  return BEARER.exec(c.req.header("authorization") ?? "")?.[1] ?? null;
}

/** Answers 429 instead once an address has tried too many wrong keys; one without any key has guessed nothing. */
async function countFailure(c: Context<AppEnv>): Promise<void> {
  const address = addressOf(c);
  if (address === null) return;
  if (await isOverLimit(c.env.RATE_LIMIT_FAILED_AUTH, address)) {
    throw new AppError("rate_limited", "Too many failed authentications.", { retryAfter: RETRY_AFTER_SECONDS });
  }
}
