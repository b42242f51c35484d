import { Hono, type Context } from "hono";
import { accept, type Acceptance, type Host } from "../clicks/accept.ts";
import { arrivalOf, droppedArrival, type PendingArrival } from "../clicks/batch.ts";
import { clickObject, type VisitorLocation } from "../clicks/region.ts";
import { findProgramDomain } from "../core/clicks.ts";
import { isKnownBot } from "../domain/bot.ts";
import { parseClick, PROGRAM_ID_PATTERN, type Click } from "../domain/click.ts";
import { linkTarget } from "../domain/link.ts";
import { SLUG_PATTERN } from "../domain/partner.ts";
import type { AppEnv } from "../env.ts";
import { randomToken, sha256Hex } from "../lib/crypto.ts";
import { EXPIRED, startDeadline } from "../lib/deadline.ts";
import { AppError, notFound, type ErrorCode, type ErrorDetail } from "../lib/errors.ts";
import { newId } from "../lib/id.ts";
import { readBody } from "../lib/request-body.ts";
import { MINUTE, SECOND } from "../lib/time.ts";
import script from "../tracker/service.min.txt";
import { addressOf, baseContext } from "./context.ts";

/**
 * What visitors' browsers call (contract §10): the tracking script, the click and the redirect link. The routes set the
 * headers of their answers themselves, so that they can stand before every middleware: a click costs little more than
 * reading it, and each layer would cost as much again.
 */
export const track = new Hono<AppEnv>()
  .get("/service.js", (c) => serveScript(c))
  .options("/click", (c) => c.body(null, 204, { ...PREFLIGHT, "X-Request-Id": identify(c) }))
  .post("/click", (c) => takeClick(c))
  .get("/r/:program_id/:slug", (c) => followLink(c));

const BODY_LIMIT = 4 * 1024;
/** Any page may report a click, and none of its cookies come along. */
const ANY_ORIGIN = { "Access-Control-Allow-Origin": "*" };
const PREFLIGHT = {
  ...ANY_ORIGIN,
  "Access-Control-Allow-Methods": "POST",
  "Access-Control-Allow-Headers": "Content-Type",
  "Access-Control-Max-Age": "86400",
};
/** In seconds, for who is refused: the backlog of an object drains within this, and a minute ends a rate limit. */
const RETRY_AFTER = { busy: 5, limited: 60 };

/** 202 and nothing else once the click is durable; bots are answered alike and only counted. */
async function takeClick(c: Context<AppEnv>): Promise<Response> {
  const request_id = identify(c);
  if (!isReadable(c.req.header("content-type"))) {
    refuse(c, "unsupported_media_type", "Send the click as application/json or text/plain.");
  }
  if (await isOverLimit(c)) refuse(c, "rate_limited", "Too many clicks from one address.", RETRY_AFTER.limited);
  const text = await readText(c.req.raw);
  if (text === null) refuse(c, "payload_too_large", "A click is at most 4 KiB.");
  const json = parseJson(text);
  if (!json) refuse(c, "invalid_json", "The body is not valid JSON.");
  const parsed = parseClick(json.value);
  if (!parsed.ok) refuse(c, "validation_failed", "The click is not valid.", undefined, parsed.details);
  if ((await record(c, parsed.click)) === "refused") {
    refuse(c, "storage_unavailable", "Clicks cannot be stored right now.", RETRY_AFTER.busy);
  }
  return new Response(null, { status: 202, headers: { ...ANY_ORIGIN, "X-Request-Id": request_id } });
}

/**
 * Sends the visitor to the program's own domain and nowhere else, with the reference for the script and the checkout.
 *
 * The click is recorded here, for pages without the script. A page with the script reports it as well, under the id
 * that comes with the address: whichever arrives first is recorded, the other is a duplicate. So the visitor is sent on
 * even when the click could not be stored here or takes too long.
 */
async function followLink(c: Context<AppEnv>): Promise<Response> {
  c.header("X-Request-Id", identify(c));
  const program_id = c.req.param("program_id") ?? "";
  const slug = c.req.param("slug") ?? "";
  if (!PROGRAM_ID_PATTERN.test(program_id) || !SLUG_PATTERN.test(slug)) throw notFound("link");
  const domain = await domainOf(c, program_id);
  if (domain === null) throw notFound("link");
  const id = randomToken(12);
  const target = linkTarget(domain, c.req.query("to") ?? "/", slug, id);
  if (c.req.method === "GET" && !isPrefetch(c)) {
    const click = parseClick({ program_id, ref: slug, landing: target.pathname, referrer: refererOf(c), id });
    if (click.ok) await Promise.race([record(c, click.click), patience()]);
  }
  return c.body(null, 302, {
    Location: target.href,
    "Cache-Control": "no-store",
    // The page's referrer is what the browser makes of the linking page, as without this stop on the way.
    "Referrer-Policy": "strict-origin-when-cross-origin",
  });
}

async function serveScript(c: Context<AppEnv>): Promise<Response> {
  c.header("X-Request-Id", identify(c));
  etag ??= `"${(await sha256Hex(script)).slice(0, 32)}"`;
  const headers = {
    ETag: etag,
    "Cache-Control": "public, max-age=3600, stale-while-revalidate=86400",
    "Content-Type": "text/javascript; charset=utf-8",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "cross-origin",
    ...ANY_ORIGIN,
  };
  if (!matches(c.req.header("if-none-match"), etag)) return c.body(script, 200, headers);
  return c.body(null, 304, headers);
}

let etag: string | undefined;

/** RFC 9110 §13.1.2: a list or `*`, compared weakly. */
function matches(ifNoneMatch: string | undefined, current: string): boolean {
  return (ifNoneMatch ?? "").split(",").some((tag) => ["*", current, `W/${current}`].includes(tag.trim()));
}

/** Gives the request its id and instant, as `requestContext` does for the routes behind it. */
function identify(c: Context<AppEnv>): string {
  const now = Date.now();
  const request_id = newId("request", now);
  c.set("now", now);
  c.set("request_id", request_id);
  return request_id;
}

function refuse(
  c: Context<AppEnv>,
  code: ErrorCode,
  message: string,
  retryAfter?: number,
  details?: ErrorDetail[],
): never {
  c.header("Access-Control-Allow-Origin", "*");
  c.header("X-Request-Id", c.var.request_id);
  throw new AppError(code, message, {
    ...(retryAfter === undefined ? {} : { retryAfter }),
    ...(details === undefined ? {} : { details }),
  });
}

async function record(c: Context<AppEnv>, click: Click): Promise<Acceptance> {
  const { now } = c.var;
  const arrival: PendingArrival = isKnownBot(c.req.header("user-agent") ?? null)
    ? droppedArrival(click.program_id, "bot", now)
    : arrivalOf(click, now);
  const host: Host = { CLICKS: c.env.CLICKS, waitUntil: (work) => c.executionCtx.waitUntil(work) };
  return accept(arrival, clickObject(c.req.raw.cf as VisitorLocation | undefined), host);
}

/** The two types that a page can send to another origin; `text/plain` needs no preflight. */
function isReadable(contentType: string | undefined): boolean {
  const type = contentType?.split(";", 1)[0]?.trim().toLowerCase();
  return type === "text/plain" || type === "application/json";
}

/** By address, where there is one and a limit is set up; a limiter that fails lets the click pass. Nothing is stored. */
async function isOverLimit(c: Context<AppEnv>): Promise<boolean> {
  const limiter = c.env.RATE_LIMIT_CLICK as RateLimit | undefined;
  const address = addressOf(c);
  if (!limiter || address === null) return false;
  try {
    return !(await limiter.limit({ key: address })).success;
  } catch {
    return false;
  }
}

/** The body, or null when it is too long. One whose length is not told is read no further than the limit. */
async function readText(request: Request): Promise<string | null> {
  const length = request.headers.get("content-length");
  if (length === null) {
    const bytes = await readBody(request, BODY_LIMIT);
    return bytes === null ? null : new TextDecoder().decode(bytes);
  }
  return Number(length) > BODY_LIMIT ? null : request.text();
}

function parseJson(text: string): { value: unknown } | null {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch {
    return null;
  }
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
  const { db } = baseContext(c.env, now, () => {});
  const deadline = startDeadline(LOOK_UP_MS);
  let domain: string | null;
  try {
    const found = await deadline.race(findProgramDomain(db, program_id));
    if (found === EXPIRED) throw new Error("the database took too long");
    domain = found;
  } catch {
    if (known) return known.domain;
    throw new AppError("storage_unavailable", "This link cannot be followed right now.", {
      retryAfter: RETRY_AFTER.busy,
    });
  } finally {
    deadline.clear();
  }
  if (domains.size >= KEPT_DOMAINS) domains.clear();
  domains.set(program_id, { domain, until: now + MINUTE });
  return domain;
}

function patience(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, SECOND));
}

/** A browser that loads a page in case it is wanted. Nobody has clicked yet. */
function isPrefetch(c: Context<AppEnv>): boolean {
  return /prefetch/i.test(c.req.header("sec-purpose") ?? c.req.header("purpose") ?? "");
}

function refererOf(c: Context<AppEnv>): string {
  const referer = c.req.header("referer") ?? "";
  return URL.canParse(referer) ? referer : "";
}
