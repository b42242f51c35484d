import type { Context, MiddlewareHandler } from "hono";
import { forApiKey } from "../core/context.ts";
import { touchApiKey } from "../core/programs.ts";
import type { AppEnv } from "../env.ts";
import { sha256Hex } from "../lib/crypto.ts";
import { AppError } from "../lib/errors.ts";
import { addressOf } from "./context.ts";

const RETRY_AFTER_SECONDS = 60;
const BEARER = /^Bearer +(\S+)$/i;

/**
 * Binds the request to the program of its API key (interface, "Authentication"). Only the key's hash is compared, in
 * the database, together with the request's first read; so a regenerated key is dead on the very next request.
 * Limits: 3,000 requests a minute per key, 30 failed authentications a minute per address (contract §2).
 */
export function authenticate(): MiddlewareHandler<AppEnv> {
  return async function authenticate(c, next) {
    const key = BEARER.exec(c.req.header("authorization") ?? "")?.[1];
    if (key === undefined) {
      throw new AppError("unauthorized", "Send the API key in the header Authorization: Bearer <API_KEY>.");
    }
    const hash = await sha256Hex(key);
    if (!(await c.env.RATE_LIMIT_API.limit({ key: hash })).success) {
      throw new AppError("rate_limited", "Too many requests with this key.", { retryAfter: RETRY_AFTER_SECONDS });
    }
    const ctx = forApiKey({ ...c.var.base, actor: "api" }, hash, (program) => {
      const touch = touchApiKey(c.var.base, program);
      if (touch) c.executionCtx.waitUntil(touch);
    });
    const read = ctx.read;
    ctx.read = (...statements) => countFailure(c, read(...statements));
    c.set("ctx", ctx);
    await next();
  };
}

/** Turns a failed authentication into 429 once its address has failed too often. */
async function countFailure<T>(c: Context<AppEnv>, reading: Promise<T>): Promise<T> {
  try {
    return await reading;
  } catch (error) {
    const address = addressOf(c);
    if (error instanceof AppError && error.code === "unauthorized" && address !== null) {
      const { success } = await c.env.RATE_LIMIT_FAILED_AUTH.limit({ key: address });
      if (!success) {
        throw new AppError("rate_limited", "Too many failed authentications.", { retryAfter: RETRY_AFTER_SECONDS });
      }
    }
    throw error;
  }
}
