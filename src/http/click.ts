import { accept, type Acceptance, type Host } from "../clicks/accept.ts";
import { arrivalOf, droppedArrival } from "../clicks/batch.ts";
import { leadsToPartner, type Asker, type Known } from "../clicks/active-refs.ts";
import { clickObject, countryOf, shardForClicks, type VisitorLocation } from "../clicks/region.ts";
import { isKnownBot } from "../domain/bot.ts";
import { parseClick, type Click, type ClickDropReason } from "../domain/click.ts";
import { SLUG_PATTERN } from "../domain/partner.ts";
import type { Bindings } from "../env.ts";
import { AppError } from "../lib/errors.ts";
import { newId } from "../lib/id.ts";
import { readBody } from "../lib/request-body.ts";
import { errorBody, logFailure, retryAfterOf, statusOf, toAppError } from "./errors.ts";
import { countCaller, RETRY_AFTER_SECONDS } from "./rate-limit.ts";
import { pathOf, queryOf } from "./request-path.ts";
import { UNLESS_SET } from "./security-headers.ts";

/** The runtime's execution context: keeps work alive after the reply. */
export interface Execution {
  waitUntil(promise: Promise<unknown>): void;
}

/**
 * Stores a visitor's click (TRACK-6): 202 once it is durable, with `{"known": …}`, null if that is not known yet. Bots
 * get the same reply and are only counted. Any page may report a click, without cookies.
 */
export async function takeClick(request: Request, env: Bindings, execution: Execution): Promise<Response> {
  const now = Date.now();
  const request_id = newId("request", now);
  try {
    const known = await take(request, env, execution, now);
    return new Response(`{"known":${known}}`, {
      status: 202,
      headers: {
        "Access-Control-Allow-Origin": "*",
        "Content-Type": "application/json",
        "X-Request-Id": request_id,
      },
    });
  } catch (thrown) {
    return refusal(thrown, request, request_id);
  }
}

/** Makes a click durable, or only counts it: from a bot, or a network past its minute's clicks here (TRACK-25). */
export async function record(
  click: Click,
  request: Request,
  env: Bindings,
  execution: Execution,
  now: number,
): Promise<Acceptance> {
  const shard = shardForClicks(click.program_id, env);
  if (shard === null) return "refused";
  const location = request.cf as VisitorLocation | undefined;
  const dropped = await whyDropped(click, request.headers, env);
  const arrival =
    dropped === null ? arrivalOf(click, now, countryOf(location)) : droppedArrival(click.program_id, dropped, now);
  const host: Host = { bindings: env, CLICKS: env.CLICKS, waitUntil: (work) => execution.waitUntil(work) };
  return accept(arrival, clickObject(location, shard), host);
}

async function whyDropped({ program_id }: Click, headers: Headers, env: Bindings): Promise<ClickDropReason | null> {
  if (isKnownBot(headers.get("user-agent"))) return "bot";
  return (await countCaller(env, "RATE_LIMIT_CLICK_DETAIL", headers, program_id)) === null ? null : "flood";
}

/** Counts a click, from a browser or a server, towards its network's limit. @throws `rate_limited` */
export async function limitClicks(headers: Headers, env: Bindings): Promise<void> {
  if ((await countCaller(env, "RATE_LIMIT_CLICK", headers)) === null) return;
  throw new AppError("rate_limited", "Too many clicks from one address.", { retryAfter: RETRY_AFTER_SECONDS });
}

/** The `Retry-After` of a refused click in seconds: an object's backlog drains within this time. */
export const BUSY_SECONDS = 5;

const BODY_LIMIT = 4 * 1024;

/** Stores the click. Returns whether the visitor should keep its reference, or null if that is not known yet. */
async function take(request: Request, env: Bindings, execution: Execution, now: number): Promise<Known> {
  const { headers } = request;
  if (!isReadable(headers.get("content-type"))) {
    throw new AppError("unsupported_media_type", "Send the click as application/json or text/plain.");
  }
  await limitClicks(headers, env);
  const text = await readText(request);
  if (text === null) throw new AppError("payload_too_large", "A click is at most 4 KiB.");
  const parsed = parseClick(parseJson(text));
  if (!parsed.ok) {
    throw new AppError("validation_failed", "The click is not valid.", { details: parsed.details });
  }
  // The lookup runs beside the write, and never delays it.
  const known = isKept(parsed.click, request, { bindings: env, waitUntil: (work) => execution.waitUntil(work) });
  if ((await record(parsed.click, request, env, execution, now)) === "refused") {
    throw new AppError("storage_unavailable", "Clicks cannot be stored right now.", { retryAfter: BUSY_SECONDS });
  }
  return known;
}

/**
 * Whether the reference leads to an active partner (TRACK-10); with `?first&kept=<ref>` also whether that one does not.
 */
function isKept({ program_id, ref }: Click, request: Request, asker: Asker): Known | Promise<Known> {
  const query = queryOf(request);
  const kept = query?.has("first") ? query.get("kept") : null;
  if (!kept || !SLUG_PATTERN.test(kept)) return leadsToPartner(program_id, ref, asker);
  return displaces(leadsToPartner(program_id, ref, asker), leadsToPartner(program_id, kept, asker));
}

async function displaces(known: Known | Promise<Known>, stays: Known | Promise<Known>): Promise<Known> {
  const [isKnown, isStaying] = [await known, await stays];
  if (isKnown === false || isStaying === true) return false;
  return isKnown === true && isStaying === false ? true : null;
}

function refusal(thrown: unknown, request: Request, request_id: string): Response {
  const error = toAppError(thrown);
  if (error.code === "internal_error") {
    logFailure(thrown, { request_id, method: request.method, path: pathOf(request).pathname });
  }
  const retryAfter = retryAfterOf(error);
  return Response.json(errorBody(error, request_id), {
    status: statusOf(error.code),
    headers: {
      ...UNLESS_SET,
      "Access-Control-Allow-Origin": "*",
      "X-Request-Id": request_id,
      ...(retryAfter === null ? {} : { "Retry-After": String(retryAfter) }),
    },
  });
}

/** The two types that a page can send to another origin; `text/plain` needs no preflight. */
function isReadable(contentType: string | null): boolean {
  return contentType !== null && READABLE.test(contentType);
}

const READABLE = /^\s*(?:text\/plain|application\/json)\s*(?:;|$)/i;

/** The body, or null if it is too long. A body of undeclared length is read only up to the limit. */
async function readText(request: Request): Promise<string | null> {
  const length = request.headers.get("content-length");
  if (length === null) {
    const bytes = await readBody(request, BODY_LIMIT);
    return bytes === null ? null : new TextDecoder().decode(bytes);
  }
  return Number(length) > BODY_LIMIT ? null : request.text();
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new AppError("invalid_json", "The body is not valid JSON.");
  }
}
