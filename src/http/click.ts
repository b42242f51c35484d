import { accept, type Acceptance, type Host } from "../clicks/accept.ts";
import { arrivalOf, droppedArrival } from "../clicks/batch.ts";
import { clickObject, shardForClicks, type VisitorLocation } from "../clicks/region.ts";
import { isKnownBot } from "../domain/bot.ts";
import { parseClick, type Click } from "../domain/click.ts";
import type { Bindings } from "../env.ts";
import { AppError } from "../lib/errors.ts";
import { newId } from "../lib/id.ts";
import { readBody } from "../lib/request-body.ts";
import { addressIn } from "./context.ts";
import { errorBody, logFailure, retryAfterOf, statusOf, toAppError } from "./errors.ts";
import { isOverLimit } from "./rate-limit.ts";
import { UNLESS_SET } from "./security-headers.ts";

/** Of the runtime's execution context: keeps work alive after the reply. */
export interface Execution {
  waitUntil(promise: Promise<unknown>): void;
}

/** Whether a request is for `takeClick`, told without a router: a click costs little more than reading it. */
export function isClick(request: Request): boolean {
  return request.method === "POST" && CLICK_ADDRESS.test(request.url);
}

/**
 * A visitor's click (contract §10): 202 and nothing else once it is durable; bots are answered alike and only counted.
 * Any page may report one, and none of its cookies come along.
 */
export async function takeClick(request: Request, env: Bindings, execution: Execution): Promise<Response> {
  const now = Date.now();
  const request_id = newId("request", now);
  try {
    await take(request, env, execution, now);
    return new Response(null, {
      status: 202,
      headers: { "Access-Control-Allow-Origin": "*", "X-Request-Id": request_id },
    });
  } catch (thrown) {
    return refusal(thrown, request, request_id);
  }
}

/** Makes a click durable, or the arrival of a bot, which is counted and not recorded. */
export function record(
  click: Click,
  request: Request,
  env: Bindings,
  execution: Execution,
  now: number,
): Promise<Acceptance> {
  const arrival = isKnownBot(request.headers.get("user-agent"))
    ? droppedArrival(click.program_id, "bot", now)
    : arrivalOf(click, now);
  const host: Host = { CLICKS: env.CLICKS, waitUntil: (work) => execution.waitUntil(work) };
  const shard = shardForClicks(click.program_id, env);
  return accept(arrival, clickObject(request.cf as VisitorLocation | undefined, shard), host);
}

/** In seconds, for who is refused: the backlog of an object drains within this, and a minute ends a rate limit. */
export const RETRY_AFTER = { busy: 5, limited: 60 };

const CLICK_ADDRESS = /^[a-z]+:\/\/[^/]+\/click(?:[?#]|$)/;
const BODY_LIMIT = 4 * 1024;

async function take(request: Request, env: Bindings, execution: Execution, now: number): Promise<void> {
  const { headers } = request;
  if (!isReadable(headers.get("content-type"))) {
    throw new AppError("unsupported_media_type", "Send the click as application/json or text/plain.");
  }
  const address = addressIn(headers);
  if (address !== null && (await isOverLimit(env.RATE_LIMIT_CLICK, address))) {
    throw new AppError("rate_limited", "Too many clicks from one address.", { retryAfter: RETRY_AFTER.limited });
  }
  const text = await readText(request);
  if (text === null) throw new AppError("payload_too_large", "A click is at most 4 KiB.");
  const parsed = parseClick(parseJson(text));
  if (!parsed.ok) {
    throw new AppError("validation_failed", "The click is not valid.", { details: parsed.details });
  }
  if ((await record(parsed.click, request, env, execution, now)) === "refused") {
    throw new AppError("storage_unavailable", "Clicks cannot be stored right now.", { retryAfter: RETRY_AFTER.busy });
  }
}

function refusal(thrown: unknown, request: Request, request_id: string): Response {
  const error = toAppError(thrown);
  if (error.code === "internal_error") {
    logFailure(thrown, { request_id, method: request.method, path: new URL(request.url).pathname });
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

/** The body, or null when it is too long. One whose length is not told is read no further than the limit. */
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
