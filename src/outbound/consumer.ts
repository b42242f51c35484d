import type { BaseCtx } from "../core/kernel/context.ts";
import {
  claimLanesOf,
  readStatuses,
  recordAttempts,
  type AttemptOutcome,
  type ClaimedDelivery,
  type LaneWish,
} from "../core/kernel/deliveries.ts";
import { readWakeUp, type AttemptError } from "../domain/delivery.ts";
import type { Fetch } from "../lib/deadline.ts";
import { logLine, reasonOf } from "../lib/log.ts";
import { iso, SECOND } from "../lib/time.ts";
import { openSlots, type Slots } from "../lib/slots.ts";
import { ATTEMPT_BUDGET_MS, sendAttempt, type SendDeps } from "./send.ts";
import { openResolver, type Resolve } from "../core/kernel/target.ts";
import { wakeUpAt, type Wake } from "../core/jobs/wake.ts";

export interface ConsumerDeps extends Pick<BaseCtx, "db" | "sealer">, SendDeps {
  wake: Wake;
  /** Keeps work alive after the batch is answered. */
  waitUntil: (work: Promise<unknown>) => void;
  /** Shared by the databases of one invocation; its own by default. */
  connections?: Slots;
}

/** Messages of a queue; those of one database if there are several (`shards.ts`). */
export type WakeUps = Pick<MessageBatch, "messages">;

/** The platform lets six connections of one invocation wait for an answer; a seventh waits invisibly. */
export const CONNECTIONS = 6;

/** Concurrent attempts in one invocation: if all of them hang, one connection remains to record their results. */
export const ATTEMPTS_AT_ONCE = 5;

/** A lookup requests A and AAAA at once. */
const LOOK_UP_CONNECTIONS = 2;

/** How long a finished attempt waits for others of its invocation: one transaction records them together. */
const GATHER_MS = 25;

/** How long an invocation begins attempts; including the last one it stays within the 30 s of background work. */
const SERVE_MS = 15 * SECOND;

/** The remaining time of a claim must cover the attempt, clock differences and the recording. */
const CLAIM_MARGIN_MS = 3 * SECOND;

const RETRY_SECONDS = 30;

/**
 * Answers a batch of wake-ups: claims due deliveries in their lanes and answers the batch at once; the attempts
 * continue in the background. So a slow endpoint delays neither the batch nor the queue behind it, and deliveries never
 * depend on a message alone: the claims are in the database. Every finished attempt makes room for the next of its own
 * lane.
 */
export async function consumeDeliveries(batch: WakeUps, deps: ConsumerDeps): Promise<void> {
  const named = [...new Set(batch.messages.flatMap(({ body }) => deliveryIdIn(body)))];
  try {
    const rest = named.slice(ATTEMPTS_AT_ONCE);
    if (rest.length > 0) await deps.wake(rest.map((delivery_id) => ({ delivery_id, delay_seconds: 0 })));
    const { db } = deps;
    const claimed = await claimLanesOf({ db, now: deps.now() }, named.slice(0, ATTEMPTS_AT_ONCE), ATTEMPTS_AT_ONCE);
    if (claimed.length > 0) deps.waitUntil(serve(claimed, deps));
  } catch (error) {
    logLine("error", { what: "wake-ups not answered", delivery_ids: named, reason: reasonOf(error) });
    for (const message of batch.messages) message.retry({ delaySeconds: RETRY_SECONDS });
    return;
  }
  for (const message of batch.messages) message.ack();
}

/** Answers wake-ups that failed too often, and logs them. No delivery is lost: the sweep reads the rows. */
export async function consumeDeadLetters(batch: WakeUps, deps: Pick<ConsumerDeps, "db">): Promise<void> {
  const named = batch.messages.flatMap(({ body }) => deliveryIdIn(body));
  let rows: unknown;
  try {
    rows = await readStatuses(deps, named);
  } catch (error) {
    rows = reasonOf(error);
  }
  logLine("error", { what: "wake-ups in the dead-letter queue", delivery_ids: named, rows });
  for (const message of batch.messages) message.ack();
}

function deliveryIdIn(body: unknown): string[] {
  const wakeUp = readWakeUp(body);
  if (wakeUp) return [wakeUp.delivery_id];
  logLine("error", { what: "a message that is no wake-up" });
  return [];
}

interface ServeDeps extends ConsumerDeps {
  resolve: Resolve;
}

/** Makes the claimed attempts concurrently, and after each the next ones in its lane, as long as there is time. */
async function serve(claimed: ClaimedDelivery[], deps: ConsumerDeps): Promise<void> {
  const connections = deps.connections ?? openSlots(CONNECTIONS);
  const resolve = openResolver();
  const recorder = openRecorder(deps, deps.now() + SERVE_MS);
  await Promise.all(
    claimed.map(async (first) => {
      for (let claim: ClaimedDelivery | undefined = first; claim;) {
        recorder.begin();
        const outcome = await attempt(claim, connections, { ...deps, resolve });
        if (!outcome) return recorder.giveUp();
        claim = await recorder.record(claim, outcome);
      }
    }),
  );
}

/** Makes one attempt once connections are free; null if the claim could end before it. */
async function attempt(claim: ClaimedDelivery, connections: Slots, deps: ServeDeps): Promise<AttemptOutcome | null> {
  const { delivery_id, claimed_until } = claim;
  let held = LOOK_UP_CONNECTIONS;
  await connections.take(held);
  try {
    const latest = Date.parse(claimed_until) - ATTEMPT_BUDGET_MS - CLAIM_MARGIN_MS;
    if (deps.now() > latest) {
      await deps.wake([wakeUpAt(delivery_id, claimed_until, deps.now())]);
      return null;
    }
    const { reason, ...outcome } = await send(claim, deps, () => {
      connections.give(held - 1);
      held = 1;
    });
    if (outcome.error !== null) {
      const { endpoint_id, attempt_number } = claim;
      const { error, status_code } = outcome;
      logLine("info", { what: "attempt failed", delivery_id, endpoint_id, attempt_number, error, status_code, reason });
    }
    return outcome;
  } finally {
    connections.give(held);
  }
}

/** A delivery without a signature or body is a failed attempt without a request; the others go on. */
async function send(claim: ClaimedDelivery, deps: ServeDeps, onPost: () => void) {
  const { body } = claim;
  const startedAt = deps.now();
  const unsent = (error: AttemptError, reason: string) => {
    const nothing = { duration_ms: 0, status_code: null, response_excerpt: null };
    return { started_at: iso(startedAt), ...nothing, error, reason };
  };
  try {
    if (body === null) throw new Error("the body is no longer kept");
    const secrets = await openSecrets(claim, deps);
    if (secrets === null) return unsent("secret", "the endpoint's secret cannot be opened");
    const { delivery_id, event_id, event, url } = claim;
    const delivery = { delivery_id, event_id, event, url, body, secrets };
    const fetch: Fetch = (target, init) => {
      if (init?.method === "POST") onPost();
      return deps.fetch(target, init);
    };
    const { resolve, resolverUrl, ownHosts, now, budgetMs = ATTEMPT_BUDGET_MS } = deps;
    return await sendAttempt(delivery, { fetch, resolve, resolverUrl, ownHosts, now, budgetMs });
  } catch (error) {
    return unsent("connection", reasonOf(error));
  }
}

/** The signing secrets, the current one first. Null if that cannot be opened any more. */
async function openSecrets(claim: ClaimedDelivery, { sealer }: ConsumerDeps): Promise<[string, ...string[]] | null> {
  const at = { table: "webhook_endpoints", row: claim.endpoint_id } as const;
  const { secret, secret_previous: previous } = claim;
  const current = await sealer.openOrNull(secret, { ...at, column: "secret" });
  if (current === null) return null;
  const before = previous && (await sealer.openOrNull(previous, { ...at, column: "secret_previous" }));
  return before === null ? [current] : [current, before];
}

interface Recorder {
  /** Begins an attempt, which `giveUp` or `record` ends. */
  begin(): void;
  giveUp(): void;
  /** Returns the next delivery of its lane, if any. */
  record(claim: ClaimedDelivery, outcome: AttemptOutcome): Promise<ClaimedDelivery | undefined>;
}

interface Finished {
  claim: ClaimedDelivery;
  outcome: AttemptOutcome;
  goOn: (next: ClaimedDelivery | undefined) => void;
}

/**
 * Records attempts as they end: one transaction at a time, shared by all attempts that end meanwhile. It waits for
 * concurrent attempts, as long as they are quick. Returns for each the next delivery of its lane, which the same
 * transaction claims, until `until`, so that they begin together again.
 */
function openRecorder(deps: ConsumerDeps, until: number): Recorder {
  let waiting: Finished[] = [];
  let underWay = 0;
  let isRunning = false;
  const home: Home = { endpoint_id: null, groups: 0 };
  let gathered = Promise.withResolvers<void>();
  function end(): void {
    underWay -= 1;
    if (underWay === 0) gathered.resolve();
  }
  async function gather(): Promise<void> {
    if (underWay === 0) return;
    gathered = Promise.withResolvers();
    const timer = setTimeout(gathered.resolve, GATHER_MS);
    await gathered.promise;
    clearTimeout(timer);
  }
  async function drain(): Promise<void> {
    isRunning = true;
    while (waiting.length > 0) {
      await gather();
      const group = waiting;
      waiting = [];
      await recordGroup(group, deps, until, home);
    }
    isRunning = false;
  }
  return {
    begin: () => void (underWay += 1),
    giveUp: end,
    record(claim, outcome) {
      const next = Promise.withResolvers<ClaimedDelivery | undefined>();
      waiting.push({ claim, outcome, goOn: next.resolve });
      end();
      if (!isRunning) deps.waitUntil(drain());
      return next.promise;
    },
  };
}

/** A lane whose endpoint answers within this time may use the slots of others in its invocation. */
const QUICK_MS = 1_000;

/** After this many groups there is more than a moment's work. */
const HOME_AFTER = 2;

/** The lane that an invocation stays with: its attempts share lookups and transactions. */
interface Home {
  endpoint_id: string | null;
  groups: number;
}

async function recordGroup(group: Finished[], deps: ConsumerDeps, until: number, home: Home): Promise<void> {
  const now = deps.now();
  const isTime = now < until;
  home.groups += 1;
  if (home.groups >= HOME_AFTER) home.endpoint_id ??= group.find(isQuick)?.claim.endpoint_id ?? null;
  const result = await recordWithRetries(group, isTime ? wishesOf(group, home) : [], deps);
  const claimed = result?.claimed ?? [];
  const isFull = claimed.length === group.length;
  if (!claimed.some(({ endpoint_id }) => endpoint_id === home.endpoint_id)) home.endpoint_id = null;
  const going = new Set(claimed.map(({ endpoint_id }) => endpoint_id));
  const next = group.map(({ claim }) => {
    const at = claimed.findIndex(({ endpoint_id }) => endpoint_id === claim.endpoint_id);
    return at < 0 ? undefined : claimed.splice(at, 1)[0];
  });
  for (const [i, { goOn }] of group.entries()) goOn(next[i] ?? claimed.shift());
  const wakeUps = (result?.recorded ?? []).flatMap(({ delivery_id, next_attempt_at }) =>
    next_attempt_at === null ? [] : [wakeUpAt(delivery_id, next_attempt_at, now)],
  );
  // If this invocation stops, or continues with another lane, another invocation continues with this one.
  const left = isTime ? group.filter(({ claim }) => isFull && !going.has(claim.endpoint_id)) : group;
  wakeUps.push(...left.map(({ claim }) => ({ delivery_id: claim.delivery_id, delay_seconds: 0 })));
  if (wakeUps.length > 0) deps.waitUntil(deps.wake(wakeUps));
}

function isQuick({ outcome }: Finished): boolean {
  return outcome.error === null && outcome.duration_ms < QUICK_MS;
}

/** Each lane may continue in its slots; if there is a home lane, it comes first, with the slots of all quick lanes. */
function wishesOf(group: Finished[], home: Home): LaneWish[] {
  const wishes = new Map<string, LaneWish>();
  for (const finished of group) {
    const { endpoint_id } = finished.claim;
    const lanes = new Set([endpoint_id, ...(home.endpoint_id !== null && isQuick(finished) ? [home.endpoint_id] : [])]);
    for (const lane of lanes) {
      const want = (wishes.get(lane)?.want ?? 0) + 1;
      wishes.set(lane, { endpoint_id: lane, want, rank: lane === home.endpoint_id ? 0 : 1 });
    }
  }
  return [...wishes.values()];
}

/** Pauses before the second and later tries to record. */
const RECORD_PAUSES_MS = [100, 500];

/** Null if the database refuses: then the claims expire and the attempts are repeated. */
async function recordWithRetries(group: Finished[], wishes: LaneWish[], deps: ConsumerDeps) {
  for (let tried = 0; ; tried++) {
    try {
      return await recordAttempts({ db: deps.db, now: deps.now() }, group, wishes);
    } catch (error) {
      const pause = RECORD_PAUSES_MS[tried];
      if (pause === undefined) {
        const delivery_ids = group.map(({ claim }) => claim.delivery_id);
        logLine("error", { what: "attempts not recorded", delivery_ids, reason: reasonOf(error) });
        return null;
      }
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
  }
}
