import { Hono, type Context } from "hono";
import { findProgramDomain } from "../core/clicks/clicks.ts";
import { onShard } from "../core/kernel/shards.ts";
import { parseClick, PROGRAM_ID_PATTERN } from "../domain/click.ts";
import { linkTarget, SUB_PATTERN } from "../domain/link.ts";
import { SLUG_PATTERN } from "../domain/partner.ts";
import { shardOfProgram } from "../domain/shard.ts";
import type { AppEnv } from "../env.ts";
import { randomToken } from "../lib/crypto.ts";
import { withTimeout } from "../lib/deadline.ts";
import { AppError, notFound } from "../lib/errors.ts";
import { newId } from "../lib/id.ts";
import { MINUTE, SECOND } from "../lib/time.ts";
import { BUSY_SECONDS, limitClicks, record, takeClick } from "./click.ts";
import { baseContext } from "./context.ts";
import { ALWAYS, UNLESS_SET } from "./security-headers.ts";

/**
 * The routes for visitors' browsers (TRACK-6, TRACK-7): the click and the redirect link; the script is a static file (TRACK-1). The routes set the
 * headers of their answers themselves, so that they can come before every middleware: a click costs little more than
 * reading it, and each layer would cost as much again.
 */
export const track = new Hono<AppEnv>()
  .options("/click", (c) => c.body(null, 204, { ...PREFLIGHT, "X-Request-Id": identify(c) }))
  .post("/click", (c) => takeClick(c.req.raw, c.env, c.executionCtx))
  .get("/r/:program_id/:slug", (c) => followLink(c));

/** Any page may report a click, without its cookies. */
export const ANY_ORIGIN = { ...ALWAYS, "Access-Control-Allow-Origin": "*" };
const PREFLIGHT = {
  ...ANY_ORIGIN,
  "Access-Control-Allow-Methods": "POST",
  "Access-Control-Allow-Headers": "Content-Type",
  "Access-Control-Max-Age": "86400",
};

/**
 * Sends the visitor to the program's own domain and nowhere else, with the reference for the script and the checkout.
 *
 * The click is recorded here, for pages without the script. A page with the script reports it as well, under the id
 * that comes with the address: whichever arrives first is recorded, the other is a duplicate. So the visitor is sent on
 * even when the click could not be stored here or takes too long.
 */
async function followLink(c: Context<AppEnv>): Promise<Response> {
  c.header("X-Request-Id", identify(c));
  protect(c);
  const program_id = c.req.param("program_id") ?? "";
  const slug = c.req.param("slug") ?? "";
  if (!PROGRAM_ID_PATTERN.test(program_id) || !SLUG_PATTERN.test(slug)) throw notFound("link");
  await limitClicks(c.req.raw.headers, c.env);
  const domain = await domainOf(c, program_id);
  if (domain === null) throw notFound("link");
  const id = randomToken(12);
  const sub = c.req.query("sub") ?? "";
  const placed = SUB_PATTERN.test(sub) ? sub : null;
  const target = linkTarget(domain, c.req.query("to") ?? "/", slug, id, placed);
  if (c.req.method === "GET" && !isPrefetch(c)) {
    const click = parseClick({
      program_id,
      ref: slug,
      landing: target.pathname,
      referrer: refererOf(c.req.header("referer")),
      sub,
      id,
    });
    if (click.ok) await Promise.race([record(click.click, c.req.raw, c.env, c.executionCtx, c.var.now), patience()]);
  }
  return c.body(null, 302, {
    Location: target.href,
    // The browser derives the page's referrer from the linking page, as without this redirect.
    "Referrer-Policy": "strict-origin-when-cross-origin",
  });
}

/** Gives the request its id and instant, as `requestContext` does for the routes behind it. */
function identify(c: Context<AppEnv>): string {
  const now = Date.now();
  const request_id = newId("request", now);
  c.set("now", now);
  c.set("request_id", request_id);
  return request_id;
}

/** The headers of the redirect and its refusals, which the context makes. */
function protect(c: Context<AppEnv>): void {
  for (const [name, value] of Object.entries(UNLESS_SET)) c.header(name, value);
}

/** Domains by program, for a minute: a link in a newsletter is followed by thousands at once. Null is kept too. */
const domains = new Map<string, { domain: string | null; until: number }>();
const KEPT_DOMAINS = 1_000;
/** So long a visitor waits for the look-up. */
const LOOK_UP_MS = 3 * SECOND;

async function domainOf(c: Context<AppEnv>, program_id: string): Promise<string | null> {
  const { now } = c.var;
  const known = domains.get(program_id);
  if (known && known.until > now) return known.domain;
  const ctx = onShard(
    baseContext(c.env, now, () => {}),
    shardOfProgram(program_id),
  );
  if (!ctx) return null;
  let domain: string | null;
  try {
    domain = await withTimeout(LOOK_UP_MS, "the database", findProgramDomain(ctx.db, program_id));
  } catch {
    if (known) return known.domain;
    throw new AppError("storage_unavailable", "This link cannot be followed right now.", {
      retryAfter: BUSY_SECONDS,
    });
  }
  if (domains.size >= KEPT_DOMAINS) domains.clear();
  domains.set(program_id, { domain, until: now + MINUTE });
  return domain;
}

function patience(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, SECOND));
}

/** A browser that preloads a page, before any click. */
function isPrefetch(c: Context<AppEnv>): boolean {
  return /prefetch/i.test(c.req.header("sec-purpose") ?? c.req.header("purpose") ?? "");
}

/** The address of the linking page; empty if the browser did not send a readable one. */
export function refererOf(referer = ""): string {
  return URL.canParse(referer) ? referer : "";
}
