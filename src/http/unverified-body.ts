import type { HonoRequest } from "hono";
import { MAX_EVENT_BYTES } from "../core/inbound/take-event.ts";
import { EXPIRED, startDeadline } from "../lib/deadline.ts";
import { AppError } from "../lib/errors.ts";
import { SECOND } from "../lib/time.ts";
import { callerKeys, type CallerKeys } from "./rate-limit.ts";

/** The size of a large body, above an API call's limit. Vendors' events are seldom so large. */
const LARGE = 64 * 1024;
/** The first read of a body of undeclared length: most events are no longer. */
const FIRST = 8 * 1024;
/** The time for a body to arrive, in each of its stages, and to wait for a place. */
const ARRIVE_MS = 10 * SECOND;
const WAIT_MS = 5 * SECOND;
/** How long the place of a refused large body stays taken. */
const COOLING_MS = SECOND / 2;
/** The delay of the refusal of a large body that was not read. */
const LATE_MS = SECOND;
/** The time between two checks for a free place. */
const LOOK_MS = SECOND / 4;

/** Judges a request unread: by its declared length, or by `verify`, which throws. A large one's refusal is delayed. */
export async function checkUnread<T>(request: HonoRequest, verify: () => Promise<T>): Promise<T> {
  const length = lengthOf(request.raw);
  try {
    if (length !== null && length > MAX_EVENT_BYTES) throw tooLong();
    return await verify();
  } catch (error) {
    if (length !== null && length > LARGE) await wait(LATE_MS);
    throw error;
  }
}

/**
 * Lets `verify` read a body from an unverified sender; it throws if the body is not authentic. The memory that an
 * isolate holds for such bodies is bounded, for any number of senders: `LARGE_AT_ONCE` bodies of more than 64 KiB, and
 * `SMALL_BYTES` for all others together. The place of a refused large body stays taken for a while. A network has at
 * most half of the places and a site three quarters, so that one sender cannot exclude all others. Only the received
 * bytes count: a wrong or missing declared length does not prevent the read.
 * @throws `payload_too_large`; `rate_limited` if no place became free; `invalid_json` if the body did not arrive, after
 * `onMissing`.
 */
export async function checkBody<T>(
  request: HonoRequest,
  verify: (read: () => Promise<Uint8Array>) => Promise<T>,
  onMissing: () => Promise<void>,
): Promise<T> {
  const caller = callerKeys(request.raw.headers);
  let place: Place | null = null;
  const hold = async (capacity: number) => {
    const before: Place | null = place;
    if (before?.room === largeRoom) return;
    place = await (capacity > LARGE ? takePlace(largeRoom, 1, caller) : takePlace(smallRoom, capacity, caller));
    if (before) before.until = 0;
  };
  const rest = (ms: number) => {
    if (place) place.until = place.room === largeRoom && ms > 0 ? Date.now() + ms : 0;
  };
  try {
    const judged = await verify(() => readBody(request.raw, hold, onMissing));
    rest(0);
    return judged;
  } catch (error) {
    rest(COOLING_MS);
    throw error;
  }
}

/** The places of a resource of which an isolate has `most`, and a network and a site at most their share. */
interface Room {
  most: number;
  places: Place[];
}

/** A place expires, because the request of a sender that has gone may never free it. */
interface Place {
  room: Room;
  amount: number;
  caller: CallerKeys | null;
  until: number;
}

/** The parts of a room that a network, and a site, may take. */
const SHARES = { network: 1 / 2, site: 3 / 4 } as const satisfies Record<keyof CallerKeys, number>;

const LARGE_AT_ONCE = 4;
const SMALL_BYTES = 8 * 1024 * 1024;
/** The least that a body counts, which bounds the number of bodies too. */
const LEAST_BYTES = 4 * 1024;

const largeRoom: Room = { most: LARGE_AT_ONCE, places: [] };
const smallRoom: Room = { most: SMALL_BYTES, places: [] };

async function takePlace(room: Room, asked: number, caller: CallerKeys | null): Promise<Place> {
  const amount = room === smallRoom ? Math.max(asked, LEAST_BYTES) : asked;
  for (let waited = 0; waited <= WAIT_MS; waited += LOOK_MS) {
    const now = Date.now();
    room.places = room.places.filter(({ until }) => until > now);
    const takenBy = (of: keyof CallerKeys) =>
      sumOf(room.places.filter((place) => caller !== null && place.caller?.[of] === caller[of]));
    const hasShare = (of: keyof CallerKeys) => takenBy(of) + amount <= room.most * SHARES[of];
    if (sumOf(room.places) + amount <= room.most && hasShare("network") && hasShare("site")) {
      const place = { room, amount, caller, until: now + 2 * (ARRIVE_MS + WAIT_MS) };
      room.places.push(place);
      return place;
    }
    await wait(LOOK_MS);
  }
  throw new AppError("rate_limited", "Too many large requests at the same time; try again.", {
    retryAfter: WAIT_MS / SECOND,
  });
}

function sumOf(places: readonly Place[]): number {
  return places.reduce((sum, { amount }) => sum + amount, 0);
}

/** Reads into a buffer of the declared length, or a small one, and continues in a larger one if more arrives. */
async function readBody(
  request: Request,
  hold: (capacity: number) => Promise<void>,
  onMissing: () => Promise<void>,
): Promise<Uint8Array> {
  if (request.body === null) return new Uint8Array();
  const first = lengthOf(request) ?? FIRST;
  const reader = request.body.getReader({ mode: "byob" });
  let bytes = new Uint8Array();
  let ended: Filled["ended"] = "full";
  try {
    for (const capacity of [first, ...[LARGE, MAX_EVENT_BYTES].filter((larger) => larger > first)]) {
      await hold(capacity);
      ({ bytes, ended } = await fill(reader, bytes, capacity));
      if (ended !== "full") break;
    }
  } finally {
    if (ended !== "complete") void reader.cancel().catch(() => undefined);
  }
  if (ended === "complete") return bytes;
  if (ended === "full") throw tooLong();
  await onMissing();
  throw new AppError("invalid_json", "The body is incomplete.");
}

interface Filled {
  bytes: Uint8Array<ArrayBuffer>;
  /** `full`: there is more than the capacity; `missing`: the rest did not come in time, or the sender has gone. */
  ended: "complete" | "full" | "missing";
}

/** Reads after `start` until there are more than `capacity` bytes, in one call of the runtime. */
async function fill(
  reader: ReadableStreamBYOBReader,
  start: Uint8Array<ArrayBuffer>,
  capacity: number,
): Promise<Filled> {
  const buffer = new Uint8Array(capacity + 1);
  buffer.set(start);
  const rest = buffer.length - start.length;
  const deadline = startDeadline(ARRIVE_MS);
  try {
    const step = await deadline.race(reader.readAtLeast(rest, buffer.subarray(start.length)));
    if (step === EXPIRED || !step.value) return { bytes: new Uint8Array(), ended: "missing" };
    const { length } = step.value;
    // The buffer's memory was transferred to the result.
    const bytes = new Uint8Array(step.value.buffer, 0, start.length + length);
    return { bytes, ended: length < rest ? "complete" : "full" };
  } catch {
    return { bytes: new Uint8Array(), ended: "missing" };
  } finally {
    deadline.clear();
  }
}

/** The declared length in bytes; null if it is missing or invalid. */
function lengthOf({ headers, body }: Request): number | null {
  const declared = headers.get("content-length");
  if (declared === null) return body === null ? 0 : null;
  return /^\d+$/.test(declared) ? Number(declared) : null;
}

function wait(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

function tooLong(): AppError {
  return new AppError("payload_too_large", "The body is at most 1 MiB.");
}
