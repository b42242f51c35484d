import type { HonoRequest } from "hono";
import { startDeadline } from "../lib/deadline.ts";
import { AppError } from "../lib/errors.ts";
import { readAtMost } from "../lib/http-body.ts";
import { readBody } from "../lib/request-body.ts";
import { SECOND } from "../lib/time.ts";

/** "1 MiB for inbound webhooks" (contract §2). */
const BODY_LIMIT = 1024 * 1024;
/** Above what an API call may send. Vendors' events are seldom so large; a stranger's cost as much as they are long. */
const LARGE = 64 * 1024;
/** Large bodies that are in memory at once, before anybody has vouched for them. */
const LARGE_AT_ONCE = 4;
/** So long a large one may take to arrive, and so long it waits for its place. */
const ARRIVE_MS = 10 * SECOND;
const WAIT_MS = 5 * SECOND;
/** So long the place of one that was refused stays taken, and so late one is refused that was not read at all. */
const COOLING_MS = SECOND / 4;
/** Between two looks for a free place. */
const LOOK_MS = SECOND / 10;

/**
 * Judges a request by all but its body: too long a one is refused by its told length, the rest by `judge`, which throws.
 * Where the body is large the refusal comes late: who sends it again and again does so slowly.
 */
export async function judgeUnread<T>(request: HonoRequest, judge: () => Promise<T>): Promise<T> {
  const length = lengthOf(request.raw);
  try {
    if (length !== null && length > BODY_LIMIT) throw tooLong();
    return await judge();
  } catch (error) {
    if (isLarge(request.raw)) await wait(COOLING_MS);
    throw error;
  }
}

/**
 * Lets `judge` read a body that nobody has vouched for yet; it throws where the body is not to be trusted. However many
 * send large ones, from wherever, an isolate holds `LARGE_AT_ONCE` of them, and after each that was refused its place
 * rests: what they cost is bounded, in memory and in time, and other requests go on beside them.
 * @throws `payload_too_large`; `rate_limited` where no place became free; `invalid_json` where the body did not arrive.
 */
export async function judgeBody<T>(
  request: HonoRequest,
  judge: (read: () => Promise<Uint8Array>) => Promise<T>,
): Promise<T> {
  if (!isLarge(request.raw)) return judge(() => readWhole(request.raw));
  const place = await takePlace();
  try {
    const judged = await judge(() => readInTime(request.raw));
    place.until = 0;
    return judged;
  } catch (error) {
    place.until = Date.now() + COOLING_MS;
    throw error;
  }
}

/** One for each large body. It ends by itself: a request whose sender has gone may never come to give it back. */
interface Place {
  until: number;
}
let places: Place[] = [];

async function takePlace(): Promise<Place> {
  for (let waited = 0; waited <= WAIT_MS; waited += LOOK_MS) {
    const now = Date.now();
    places = places.filter(({ until }) => until > now);
    if (places.length < LARGE_AT_ONCE) {
      const place = { until: now + 2 * ARRIVE_MS };
      places.push(place);
      return place;
    }
    await wait(LOOK_MS);
  }
  throw new AppError("rate_limited", "Too many large bodies at once; send it again.", { retryAfter: WAIT_MS / SECOND });
}

async function readWhole(request: Request): Promise<Uint8Array> {
  const body = await readBody(request, BODY_LIMIT);
  if (body === null) throw tooLong();
  return body;
}

async function readInTime({ body }: Request): Promise<Uint8Array> {
  const deadline = startDeadline(ARRIVE_MS);
  try {
    const { bytes, ended } = await readAtMost(body, BODY_LIMIT + 1, deadline);
    if (bytes.length > BODY_LIMIT) throw tooLong();
    if (ended !== "complete") throw new AppError("invalid_json", "The body ended before all of it had come.");
    return bytes;
  } finally {
    deadline.clear();
  }
}

/** In bytes, as it is told; null where it is not. */
function lengthOf({ headers, body }: Request): number | null {
  const told = headers.get("content-length");
  return told === null ? (body === null ? 0 : null) : Number(told);
}

function isLarge(request: Request): boolean {
  const length = lengthOf(request);
  return length === null || !(length <= LARGE);
}

function wait(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

function tooLong(): AppError {
  return new AppError("payload_too_large", "The body is at most 1 MiB.");
}
