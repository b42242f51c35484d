import { randomToken } from "../lib/crypto.ts";
import { SECOND } from "../lib/time.ts";
import type { DatabaseBindings } from "../core/kernel/database.ts";
import { batchOf, type ClickBatch, type CommitReply, type PendingArrival } from "./batch.ts";
import { flushLater, type Flushable } from "./flush.ts";
import type { ClickObject } from "./region.ts";

/** `stored`: durable in the click object. `refused`: perhaps not stored; the sender may retry with the same id. */
export type Acceptance = "stored" | "refused";

/** The parts of the arrival's request that `accept` needs. */
export interface Host {
  bindings: DatabaseBindings;
  CLICKS: { getByName(name: string, options?: { locationHint: DurableObjectLocationHint }): CommitTarget };
  waitUntil(promise: Promise<unknown>): void;
}

export interface CommitTarget extends Flushable {
  commit(batch: ClickBatch): Promise<CommitReply>;
  take(batch: ClickBatch): Promise<CommitReply>;
}

/**
 * Makes an arrival durable and returns whether it succeeded, within at most `GIVE_UP_MS`. Never throws.
 *
 * Group commit: at most one call to an object is in flight per isolate, and arrivals in the meantime share the next
 * one. An arrival does not wait if no call is in flight, and under load one call carries all arrivals since the last
 * one.
 *
 * The runtime dictates the form. I/O belongs to the request that began it, so one of the waiting requests, the leader,
 * makes the call, kept alive by `waitUntil` if its client hangs up. A promise of another request may be resolved but
 * not awaited, so each waiter has its own. A request that awaits only foreign promises is judged hung, so each waiter
 * has a timer, which bounds its wait and serves as the watchdog that takes the lead if progress stops.
 *
 * The leader also flushes later if the object requests it (`flushLater`), because waiting costs a request no CPU.
 */
export async function accept(arrival: PendingArrival, object: ClickObject, host: Host): Promise<Acceptance> {
  const lane = laneOf(object);
  if (lane.waiting.length >= MAX_WAITING) return "refused";
  const waiter = new Waiter(arrival);
  lane.waiting.push(waiter);
  if (lane.term === IDLE || lane.waiting.length >= lane.expected) host.waitUntil(lead(lane, host));
  for (let waited = 0; waited < GIVE_UP_MS; waited += WATCH_MS) {
    const signal = await waiter.signal(WATCH_MS);
    if (waiter.acceptance !== null) return waiter.acceptance;
    const stalled = Date.now() - lane.movedAt >= WATCH_MS && lane.waiting.includes(waiter);
    if (signal === "lead" || stalled) host.waitUntil(lead(lane, host));
  }
  // An unsent arrival must not be stored once its sender has to retry.
  const at = lane.waiting.indexOf(waiter);
  if (at >= 0) lane.waiting.splice(at, 1);
  return "refused";
}

/** Arrivals in one call, and UTF-16 units of their entries: in UTF-8 a call stays far below a stored row's 2 MB. */
export const MAX_BATCH = 512;
const MAX_BATCH_LENGTH = 300_000;
/** Waiting arrivals per object and isolate; beyond it memory would grow with the visitors. */
export const MAX_WAITING = 4_096;
/** How long a request leads before it offers the lead to the next, so that one request does not pay for all others. */
const LEAD_MS = SECOND;
/** The longest time that a leader waits for expected requests, however long the last call took. */
const LINGER_MS = 10;
const WATCH_MS = 3 * SECOND;
const GIVE_UP_MS = 9 * SECOND;
const CALL_MS = 5 * SECOND;

/** The queue of arrivals for one object. */
interface Lane {
  readonly object: ClickObject;
  /** Whether the object itself is called: it is the first of its region, or the region is known to be split. */
  isOwn: boolean;
  waiting: Waiter[];
  /** The current leadership; `IDLE` without a leader. */
  term: number;
  movedAt: number;
  /** The number of waiters at which the next call starts at once; out of reach while a call is in flight. */
  expected: number;
}

const IDLE = 0;
let terms = IDLE;

/** One entry per click object, of which there are finitely many. */
const lanes = new Map<string, Lane>();

function laneOf(object: ClickObject): Lane {
  let lane = lanes.get(object.name);
  if (lane === undefined) {
    lane = { object, isOwn: object.name === object.first, waiting: [], term: IDLE, movedAt: 0, expected: Infinity };
    lanes.set(object.name, lane);
  }
  return lane;
}

type Signal = "settled" | "lead" | "timeout";

/** One arrival and its waiting request. `signal` runs in that request; the other methods in the leader's. */
class Waiter {
  readonly arrival: PendingArrival;
  acceptance: Acceptance | null = null;
  #wake: ((signal: Signal) => void) | null = null;

  constructor(arrival: PendingArrival) {
    this.arrival = arrival;
  }

  async signal(ms: number): Promise<Signal> {
    if (this.acceptance !== null) return "settled";
    const { promise, resolve } = Promise.withResolvers<Signal>();
    this.#wake = resolve;
    const timer = setTimeout(resolve, ms, "timeout");
    const signal = await promise;
    clearTimeout(timer);
    return signal;
  }

  settle(acceptance: Acceptance): void {
    this.acceptance = acceptance;
    this.#wake?.("settled");
  }

  offerLead(): void {
    this.#wake?.("lead");
  }
}

/**
 * Sends waiting arrivals until none is left. After `LEAD_MS` the lead is offered to the head of the queue at every turn
 * and kept until a request takes it: a head whose client is gone never answers. A replaced leader finishes its call, so
 * at a hand-over two calls may overlap.
 *
 * After a call, as many arrivals are expected as were in it or waited for it: a call that starts at once goes half
 * empty, and so does the one after. The request that completes their number leads the next call; otherwise it starts
 * when the last call's duration has passed.
 */
async function lead(lane: Lane, host: Host): Promise<void> {
  const term = ++terms;
  lane.term = term;
  const began = Date.now();
  lane.movedAt = began;
  while (lane.term === term && lane.waiting.length > 0) {
    const group = takeGroup(lane);
    lane.expected = Infinity;
    const called = Date.now();
    const acceptance = await send(lane, group, host);
    lane.movedAt = Date.now();
    for (const waiter of group) waiter.settle(acceptance);
    if (lane.term !== term) return;
    lane.expected = Math.min(group.length + lane.waiting.length, MAX_BATCH);
    if (lane.waiting.length < lane.expected) await sleep(Math.min(lane.movedAt - called, LINGER_MS));
    if (lane.term === term && lane.movedAt - began >= LEAD_MS) lane.waiting[0]?.offerLead();
  }
  if (lane.term === term) lane.term = IDLE;
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

function takeGroup(lane: Lane): Waiter[] {
  let taken = 0;
  let length = 0;
  while (taken < lane.waiting.length && taken < MAX_BATCH) {
    length += lane.waiting[taken]!.arrival.entry.length;
    if (taken > 0 && length > MAX_BATCH_LENGTH) break;
    taken++;
  }
  if (taken < lane.waiting.length) return lane.waiting.splice(0, taken);
  const group = lane.waiting;
  lane.waiting = [];
  return group;
}

/** Makes one call, and repeats it with the same batch if the platform marks the error as retryable. */
async function send(lane: Lane, group: readonly Waiter[], host: Host): Promise<Acceptance> {
  const batch = batchOf(
    group.map(({ arrival }) => arrival),
    randomToken(12),
  );
  for (let attempt = 1; ; attempt++) {
    try {
      const reply = await within(CALL_MS, commit(lane, batch, host));
      return reply !== null && reply.stored ? "stored" : "refused";
    } catch (error) {
      if (attempt === 2 || !isRetryable(error)) return "refused";
    }
  }
}

/**
 * Commits to the region's first object, which takes all clicks until the region is split; from then on to the object
 * itself. A split is permanent, so the remembered state stays true; until the isolate knows of it, the first object's
 * reply reports it.
 */
async function commit(lane: Lane, batch: ClickBatch, host: Host): Promise<CommitReply> {
  const { name, first, hint } = lane.object;
  const open = (object: string) => host.CLICKS.getByName(object, { locationHint: hint });
  // The request that receives the reply flushes the object if the reply requests it.
  const heard = (reply: CommitReply, object: string): CommitReply => {
    if (reply.stored && reply.flush_in !== undefined) {
      host.waitUntil(flushLater(() => open(object), reply.flush_in, host.bindings));
    }
    return reply;
  };
  if (!lane.isOwn) {
    const reply = heard(await open(first).take(batch), first);
    if (reply.stored || reply.reason !== "moved") return reply;
    lane.isOwn = true;
  }
  return heard(await open(name).commit(batch), name);
}

/** Null if the time ends first. */
async function within<T>(ms: number, promise: Promise<T>): Promise<T | null> {
  const { promise: over, resolve } = Promise.withResolvers<null>();
  const timer = setTimeout(resolve, ms, null);
  try {
    return await Promise.race([promise, over]);
  } finally {
    clearTimeout(timer);
  }
}

/** The platform's marks on errors of Durable Object calls: the object moved or restarted, and is not overloaded. */
function isRetryable(error: unknown): boolean {
  const marks = error as { retryable?: unknown; overloaded?: unknown } | null;
  return marks?.retryable === true && marks.overloaded !== true;
}
