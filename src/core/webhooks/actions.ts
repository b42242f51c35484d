import { and, eq, sql, type SQL } from "drizzle-orm";
import { literal } from "../../db/client.ts";
import { selectRows, text, whole } from "../../db/rows.ts";
import { deliveries, messages, webhookEndpoints } from "../../db/schema.ts";
import { GIVEN_UP_AFTER_MS } from "../../domain/endpoint-health.ts";
import { AppError, notFound } from "../../lib/errors.ts";
import { firstIdAt, newId } from "../../lib/id.ts";
import { logLine, reasonOf } from "../../lib/log.ts";
import { DAY, iso, nextStamp } from "../../lib/time.ts";
import { commit, type Write } from "../kernel/commit.ts";
import { prove, type BaseCtx, type Caller, type ProgramCtx, type Reader } from "../kernel/context.ts";
import { insertDeliveries, LEASE_MS, MAX_IN_FLIGHT } from "../kernel/deliveries.ts";
import { refuseWhere, untilWon } from "../kernel/races.ts";
import type { Endpoint } from "../kernel/rows.ts";
import type { PingData } from "../kernel/views.ts";
import { endpointChanged, liveEndpoints, newEndpointSecret, type EndpointWithSecret } from "./endpoints.ts";
import { recordOf, selectDelivery, type DeliveryRecord } from "./history.ts";

/** How long the previous secret also signs (HOOK-8). */
const PREVIOUS_VALID_FOR = DAY;

/**
 * Gives an endpoint a new signing secret; the old one also signs for 24 h. When this returns, every attempt that began
 * with the old one alone has ended: so a receiver with either secret never gets a `webhook-signature` that does not
 * verify. That takes as long as those attempts take, 15 s at the most. `pause` waits some milliseconds.
 */
export async function rotateSecret(
  caller: Caller,
  id: string,
  pause: (ms: number) => Promise<void>,
): Promise<EndpointWithSecret> {
  const secret = newEndpointSecret();
  const rotated = await untilWon(async () => {
    const [ctx, [before]] = await prove(
      caller,
      caller.db.select().from(webhookEndpoints).where(liveEndpoints(caller, id)),
    );
    if (!before) throw notFound("webhook endpoint");
    const place = (column: "secret" | "secret_previous") => ({ table: "webhook_endpoints", column, row: id }) as const;
    // A secret that can no longer be opened (its key is gone) does not sign.
    const previous = await ctx.sealer.openOrNull(before.secret, place("secret"));
    const change = {
      secret: await ctx.sealer.seal(secret, place("secret")),
      secret_previous: previous === null ? null : await ctx.sealer.seal(previous, place("secret_previous")),
      secret_previous_until: previous === null ? null : iso(ctx.now + PREVIOUS_VALID_FOR),
      updated_at: nextStamp(before.updated_at, ctx.now),
    };
    const made = { endpoint: { ...before, ...change }, secret };
    const unchanged = and(liveEndpoints(ctx, id), eq(webhookEndpoints.updated_at, before.updated_at));
    await commit(ctx, {
      writes: [{ statement: ctx.db.update(webhookEndpoints).set(change).where(unchanged), expect: 1 }],
      occurrences: [endpointChanged(before, made.endpoint, { reason: "secret_rotated" })],
      result: made,
    });
    return made;
  });
  await untilClaimsEnded(caller, id, pause);
  return rotated;
}

const POLL_MS = 200;

/**
 * Waits until every attempt that was in flight at the call has ended. Never throws, because the caller's change is
 * committed and must be answered: if the attempts cannot be read, it waits for as long as a claim can last.
 */
export async function untilClaimsEnded(
  { db, now }: Pick<BaseCtx, "db" | "now">,
  endpoint_id: string,
  pause: (ms: number) => Promise<void>,
): Promise<void> {
  const claims = sql`select id, claimed_until from deliveries where endpoint_id = ${endpoint_id}
    and status = 'delivering' and status in ('pending', 'delivering') and claimed_until > ${iso(now)}`;
  let left = LEASE_MS;
  try {
    const held = await selectRows(db, { id: text, claimed_until: text }, claims);
    if (held.length === 0) return;
    while (left > 0) {
      await pause(POLL_MS);
      left -= POLL_MS;
      const [still] = await selectRows(
        db,
        { count: whole },
        sql`
        select count(*) as count from json_each(${JSON.stringify(held)}) h
        join deliveries d on d.id = h.value ->> 'id' and d.claimed_until = h.value ->> 'claimed_until'`,
      );
      if (still?.count === 0) return;
    }
  } catch (error) {
    logLine("error", { what: "attempts under way not read", endpoint_id, reason: reasonOf(error) });
    await pause(left);
  }
}

/** Sends a `ping` event to this endpoint alone, as any other event is sent. @throws 409 when it is not active. */
export async function sendPing(caller: Caller, id: string): Promise<DeliveryRecord> {
  return untilWon(async () => {
    const [ctx, [endpoint]] = await prove(
      caller,
      caller.db.select().from(webhookEndpoints).where(liveEndpoints(caller, id)),
    );
    refuseUnlessActive(endpoint);
    const event_id = newId("event", ctx.now);
    const data: PingData = { id: event_id, endpoint_id: id, description: endpoint.description };
    const message: typeof messages.$inferSelect = {
      event_id,
      program_id: ctx.program.id,
      event: "ping",
      body: JSON.stringify({ event: "ping", timestamp: iso(ctx.now), data }),
      created_at: iso(ctx.now),
    };
    return begin(ctx, id, message, [{ statement: ctx.db.insert(messages).values(message) }]);
  });
}

/**
 * Sends an event to an endpoint again, under a new delivery: same event id, same body bytes. A delivery that still
 * waits is attempted at once instead. @throws 409 while it is attempted, and if the endpoint is not active.
 */
export async function redeliver(caller: Caller, id: string, delivery_id: string): Promise<DeliveryRecord> {
  return untilWon(async () => {
    const [ctx, [endpoint], [delivery]] = await prove(
      caller,
      caller.db.select().from(webhookEndpoints).where(liveEndpoints(caller, id)),
      selectDelivery(caller, id, delivery_id),
    );
    if (!endpoint) throw notFound("webhook endpoint");
    if (!delivery) throw notFound("delivery");
    refuseUnlessActive(endpoint);
    if (delivery.status === "delivering") {
      throw new AppError("invalid_transition", "This delivery is being attempted right now.");
    }
    const { event_id, event, body } = delivery;
    if (delivery.status === "pending") return sendNow(ctx, { ...recordOf(delivery), next_attempt_at: iso(ctx.now) });
    if (body === null) throw new AppError("invalid_transition", "The body of this delivery is no longer stored.");
    return begin(ctx, id, { event_id, event, body }, []);
  });
}

/** The first to begin an attempt gets it: of two at once one is refused, and reads the delivery again. */
async function sendNow(ctx: ProgramCtx, result: DeliveryRecord): Promise<DeliveryRecord> {
  const waiting = and(eq(deliveries.id, result.id), eq(deliveries.status, "pending"));
  const statement = ctx.db.update(deliveries).set({ next_attempt_at: result.next_attempt_at }).where(waiting);
  await commit(ctx, { writes: [{ statement, expect: 1 }], occurrences: [], result });
  ctx.wake([result.id], ctx.shard);
  return result;
}

/** The most deliveries of one call; a second call continues with the rest. */
export const MAX_RECOVERED = 5_000;

export interface Recovered {
  recovered: number;
  /** Whether more deliveries are left than one call handles. */
  has_more: boolean;
}

/**
 * Resends the events that an endpoint missed since `since` (ms): every failed or blocked delivery, and every subscribed
 * event that it missed because it was not active. Each event once; an event that has succeeded meanwhile or is on its
 * way is skipped, but a delivery that waits after a failed attempt is attempted at once. Events to which the endpoint
 * was not subscribed at the time are never sent. @throws 409 if the endpoint is not active.
 */
export async function recover(caller: Caller, id: string, since: number): Promise<Recovered> {
  return untilWon(async () => {
    const [ctx, [endpoint], waiting, rows] = await prove(
      caller,
      caller.db.select().from(webhookEndpoints).where(liveEndpoints(caller, id)),
      selectRows(caller.db, { id: text }, waitingAgain(caller, id, since)),
      selectRows(caller.db, { event_id: text, event: text }, unsent(caller, id, since)),
    );
    refuseUnlessActive(endpoint);
    const hurried = waiting.slice(0, MAX_RECOVERED).map((delivery) => delivery.id);
    const made = rows
      .slice(0, MAX_RECOVERED - hurried.length)
      .map((row) => ({ id: newId("delivery", ctx.now), ...row }));
    const recovered = hurried.length + made.length;
    const result = { recovered, has_more: waiting.length + rows.length > recovered };
    if (recovered === 0) return result;
    await commit(ctx, { writes: [...hurry(ctx, id, hurried), ...repeat(ctx, id, made)], occurrences: [], result });
    // Enough to fill the lane; each attempt that ends takes the next.
    const woken = [...hurried, ...made.map((delivery) => delivery.id)].slice(0, MAX_IN_FLIGHT);
    ctx.wake(woken, ctx.shard);
    return result;
  });
}

/** Makes waiting deliveries due at once; if one is begun meanwhile, the commit reads again. */
function hurry(ctx: ProgramCtx, endpoint_id: string, ids: readonly string[]): Write[] {
  if (ids.length === 0) return [];
  const statement = ctx.db.run(sql`update deliveries set next_attempt_at = ${iso(ctx.now)}
    where id in (select value from json_each(${JSON.stringify(ids)}))
      and endpoint_id = ${endpoint_id} and status = 'pending' and next_attempt_at > ${iso(ctx.now)}`);
  return [{ statement, expect: ids.length }];
}

function repeat(
  ctx: ProgramCtx,
  endpoint_id: string,
  made: { id: string; event_id: string; event: string }[],
): Write[] {
  if (made.length === 0) return [];
  return [
    // The second of two concurrent recoveries finds the deliveries of the first, and reads again. The plus: search by
    // their events, not through all deliveries of the endpoint.
    refuseWhere(
      ctx,
      sql`exists (select 1 from deliveries s where +s.endpoint_id = ${endpoint_id} and ${SENT_OR_OPEN}
        and s.event_id in (select m.value ->> 'event_id' from json_each(${JSON.stringify(made)}) m))`,
    ),
    { statement: insertDeliveries(ctx, endpoint_id, made), expect: made.length },
  ];
}

/** The condition for a delivery `s` that makes another one of its event unnecessary. */
const SENT_OR_OPEN = sql`s.status in ('succeeded', 'pending', 'delivering')`;

/** Failed deliveries since then that are not due yet, the next first; one more than a call handles. */
function waitingAgain(ctx: Reader, endpoint_id: string, since: number): SQL {
  return sql`select d.id as id from deliveries d
    where d.endpoint_id = ${endpoint_id} and d.program_id = ${ctx.programId}
      and d.status = 'pending' and d.status in ('pending', 'delivering') and d.next_attempt_at > ${iso(ctx.now)}
      and exists (select 1 from delivery_attempts a
        where a.delivery_id = d.id and a.number = d.attempt_count
          and unixepoch(a.started_at, 'subsec') * 1000 + a.duration_ms >= ${since})
    order by d.next_attempt_at limit ${literal(MAX_RECOVERED + 1)}`;
}

/**
 * The unsent events, oldest first, one more than one call handles. Selected by the time of failure, not of creation.
 * The id bounds the rows read: an endpoint that fails for longer is switched off, so by then a delivery has had its
 * attempts, unless the endpoint was switched off earlier (HOOK-10).
 */
function unsent(ctx: Reader, endpoint_id: string, since: number): SQL {
  return sql`
    select m.event_id as event_id, m.event as event from (
      select d.event_id from deliveries d
      where d.endpoint_id = ${endpoint_id} and d.id >= ${firstIdAt("delivery", since - GIVEN_UP_AFTER_MS)}
        and d.status in ('failed', 'blocked') and d.completed_at >= ${iso(since)}
      union
      select x.event_id from missed_deliveries x
      where x.endpoint_id = ${endpoint_id} and x.event_id >= ${firstIdAt("event", since)}
    ) w cross join messages m on m.event_id = w.event_id and m.program_id = ${ctx.programId}
    where not exists (select 1 from deliveries s where s.event_id = w.event_id and s.endpoint_id = ${endpoint_id}
      and ${SENT_OR_OPEN})
    order by m.event_id limit ${literal(MAX_RECOVERED + 1)}`;
}

/** Commits a new delivery and its wake-up, and returns its record. */
async function begin(
  ctx: ProgramCtx,
  endpoint_id: string,
  { event_id, event, body }: Pick<typeof messages.$inferSelect, "event_id" | "event" | "body">,
  writes: Parameters<typeof commit>[1]["writes"],
): Promise<DeliveryRecord> {
  const id = newId("delivery", ctx.now);
  const result: DeliveryRecord = {
    id,
    event_id,
    event,
    status: "pending",
    attempt_count: 0,
    next_attempt_at: iso(ctx.now),
    created_at: iso(ctx.now),
    completed_at: null,
    payload: JSON.parse(body),
    attempts: [],
  };
  await commit(ctx, {
    writes: [{ statement: insertDeliveries(ctx, endpoint_id, [{ id, event_id, event }]), expect: 1 }, ...writes],
    occurrences: [],
    result,
  });
  ctx.wake([id], ctx.shard);
  return result;
}

function refuseUnlessActive(endpoint: Endpoint | undefined): asserts endpoint is Endpoint {
  if (!endpoint) throw notFound("webhook endpoint");
  if (!endpoint.active) {
    throw new AppError("invalid_transition", "This endpoint is not active; enable it with PATCH active: true first.");
  }
}
