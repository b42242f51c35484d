import type { MiddlewareHandler } from "hono";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import { claimKey, endClaim, storeReplyBeside, type Claim } from "../core/kernel/idempotency.ts";
import type { ProgramCtx } from "../core/kernel/context.ts";
import type { AppEnv } from "../env.ts";
import { sha256Hex } from "../lib/crypto.ts";
import { invalidField } from "../lib/errors.ts";
import { logLine, reasonOf } from "../lib/log.ts";
import { pathOf } from "./request-path.ts";

const HEADER = "Idempotency-Key";
const MAX_KEY_LENGTH = 255;

/** Statuses that a repeated request gets again. Other refusals could succeed later, or with another key. */
const REPEATABLE = new Set([200, 201, 404, 409]);

/**
 * Handles `Idempotency-Key` on every POST under /api/v1. The same key and body within 24 hours get the stored reply,
 * marked `Idempotent-Replayed: true`; another body gets 422, and 409 while the first request still runs (HTTP-10). If
 * the route has a `view`, its reply is stored in the same transaction as the change.
 */
export function idempotency(): MiddlewareHandler<AppEnv> {
  return async function idempotency(c, next) {
    const key = c.req.header(HEADER);
    if (c.req.method !== "POST" || key === undefined) return next();
    if (key.length < 1 || key.length > MAX_KEY_LENGTH) {
      throw invalidField(HEADER, `An idempotency key has 1 to ${MAX_KEY_LENGTH} characters.`);
    }
    const { request_id } = c.var;
    const { pathname, search } = pathOf(c.req);
    // Hash the bytes, because a file need not be UTF-8. The query is part of the request.
    const request = [`${c.req.method}\n${pathname}${search}\n`, new Uint8Array(await c.req.arrayBuffer())];
    const claim: Claim = { key, request_hash: await sha256Hex(...request), claimed_by: request_id };
    const { ctx, stored } = await claimKey(c.var.ctx, claim);
    if (stored) {
      return c.body(stored.body, stored.status_code as ContentfulStatusCode, {
        "Content-Type": "application/json",
        "Idempotent-Replayed": "true",
      });
    }
    let isStored = false;
    // Runs again if a commit loses a race and retries, which may then have no change left to commit.
    const alongside: ProgramCtx["alongside"] = async (result) => {
      const reply = c.get("reply");
      if (!reply) return { statements: [], committed: () => {} };
      const stored = { status_code: reply.status, body: JSON.stringify(reply.view(result, ctx)) };
      return { statements: await storeReplyBeside(ctx, claim, stored), committed: () => void (isStored = true) };
    };
    c.set("ctx", { ...ctx, alongside });
    await next();
    if (isStored && c.res.ok) return;
    const reply = REPEATABLE.has(c.res.status) ? { status_code: c.res.status, body: await c.res.clone().text() } : null;
    const ended = endClaim(ctx, claim, reply);
    if (c.res.status < 500) return ended;
    // The failure behind a 5xx may also prevent this release: then the key expires later.
    c.executionCtx.waitUntil(
      ended.catch((error: unknown) =>
        logLine("error", { what: "idempotency key not given back", request_id, reason: reasonOf(error) }),
      ),
    );
  };
}
