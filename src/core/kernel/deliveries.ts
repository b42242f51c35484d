import { sql, type SQL } from "drizzle-orm";
import { literal, runBatch } from "../../db/client.ts";
import { nullable, selectRows, text, whole, type Columns } from "../../db/rows.ts";
import { afterAttempt, MAX_DELIVERY_ATTEMPTS, type AttemptError } from "../../domain/delivery.ts";
import type { Sealed } from "../../lib/seal.ts";
import { iso, SECOND } from "../../lib/time.ts";
import type { BaseCtx, Statement } from "./context.ts";

/**
 * The life of a delivery row. `pending` with `next_attempt_at` → claimed: `delivering` until `claimed_until` →
 * recorded: `pending` again, or final. A claim that is never recorded (the process died) expires, and the same attempt
 * is made again under its number: `attempt_count` grows only when an attempt is recorded, so there are never more than
 * five on record, and no number is skipped.
 *
 * A *lane* is an endpoint's open deliveries. Lanes never wait for each other; each has a limit of attempts in flight
 * over all processes. While its endpoint is inactive a lane rests: its deliveries stay `pending`, and are due as soon
 * as the endpoint is active again.
 */

/** Attempts to one endpoint that may be in flight at once. */
export const MAX_IN_FLIGHT = 10;

/** The same while the endpoint's last attempt failed: a dead endpoint then costs little, and recovers smoothly. */
export const MAX_IN_FLIGHT_FAILING = 2;

/**
 * The duration of a claim: longer than the waiting, the attempt (5 s) and its recording together, so that no two
 * attempts of one delivery overlap; and short, because it is the delay of an interrupted attempt.
 */
export const LEASE_MS = 15 * SECOND;

/** A delivery that only the holder of this claim may attempt, until `claimed_until`. */
export interface ClaimedDelivery {
  delivery_id: string;
  endpoint_id: string;
  event_id: string;
  event: string;
  /** 1 for the first attempt. */
  attempt_number: number;
  claimed_until: string;
  url: string;
  secret: Sealed;
  secret_previous: Sealed | null;
  /** Null once it is no longer kept. */
  body: string | null;
}

/** How many more attempts a process can make to an endpoint. */
export interface LaneWish {
  endpoint_id: string;
  want: number;
  /** Lower ranks are served first. */
  rank: number;
}

/** A finished attempt, as recorded. */
export interface AttemptOutcome {
  started_at: string;
  duration_ms: number;
  status_code: number | null;
  error: AttemptError | null;
  response_excerpt: string | null;
}

export interface FinishedDelivery {
  claim: ClaimedDelivery;
  outcome: AttemptOutcome;
}

/** The state of a delivery after a recorded attempt. */
export interface RecordedDelivery {
  delivery_id: string;
  endpoint_id: string;
  /** Null if it is final. */
  next_attempt_at: string | null;
}

const RECORDED_DELIVERY: Columns<RecordedDelivery> = {
  delivery_id: text,
  endpoint_id: text,
  next_attempt_at: nullable(text),
};

type Clocked = Pick<BaseCtx, "db" | "now">;

/** A wake-up on the queue is received within this time, or lost. */
const STALLED_AFTER_MS = 5 * SECOND;

/**
 * Claims due deliveries in the lanes of the named ones, the longest due first, alternating between the lanes: at most
 * as many of a lane as were named and may be in flight, at most `limit` in all. A name is a wake-up, not a choice: the
 * claimed delivery may be another one of its lane. One round trip.
 */
export async function claimLanesOf(ctx: Clocked, delivery_ids: string[], limit: number): Promise<ClaimedDelivery[]> {
  const wishes = sql`select endpoint_id, count(*) as want, 0 as rank from deliveries
    where id in (select value from json_each(${JSON.stringify(delivery_ids)})) group by endpoint_id`;
  const [rows] = await runBatch(ctx.db, [selectRows(ctx.db, CLAIM_ROW, claimDue(ctx.now, wishes, limit))]);
  return rows.map((row) => claimOf(row, ctx.now));
}

/**
 * Records finished attempts, and in the same transaction claims the next deliveries in the lanes with a wish, at most
 * as many as were finished. An attempt whose claim has passed to another process is not recorded. Repeating it has no
 * effect: one round trip, also if it fails and is repeated.
 */
export async function recordAttempts(
  ctx: Clocked,
  finished: FinishedDelivery[],
  wishes: LaneWish[],
): Promise<{ recorded: RecordedDelivery[]; claimed: ClaimedDelivery[] }> {
  const { db, now } = ctx;
  const rows = JSON.stringify(finished.map((one) => rowOf(one, now)));
  const statements = [
    db.run(insertAttempts(rows)),
    db.run(noteHealth(JSON.stringify(healthOf(finished)), rows)),
    selectRows(db, RECORDED_DELIVERY, finishClaims(rows)),
  ] as const;
  if (wishes.length === 0) {
    const [, , recorded] = await runBatch(db, statements);
    return { recorded, claimed: [] };
  }
  const wished = sql`select value ->> 'endpoint_id' as endpoint_id, value ->> 'want' as want, value ->> 'rank' as rank
    from json_each(${JSON.stringify(wishes)})`;
  const claim = selectRows(db, CLAIM_ROW, claimDue(now, wished, finished.length));
  const [, , recorded, claimed] = await runBatch(db, [...statements, claim]);
  return { recorded, claimed: claimed.map((row) => claimOf(row, now)) };
}

/** A delivery just made, with the state of its lane at that time. */
export interface NewDelivery {
  id: string;
  endpoint_id: string;
  /** Due deliveries of its lane once this row was inserted; up to twice the limit in flight. */
  waiting: number;
  /** Whether a delivery has been due for long while no attempt is in flight: no process serves this lane. */
  stalled: number;
}

/** `waiting` and `stalled` for the RETURNING clause of an insert into deliveries. */
export function laneState(now_ms: number): SQL {
  const lane = sql.raw("c.endpoint_id = deliveries.endpoint_id");
  return sql`(select count(*) from (select 1 from deliveries c where ${lane} and ${pendingDue(iso(now_ms))}
      limit ${literal(2 * MAX_IN_FLIGHT)})) as waiting,
    (exists (select 1 from deliveries c where ${lane} and ${pendingDue(iso(now_ms - STALLED_AFTER_MS))})
      and not exists (select 1 from deliveries c where ${lane} and ${DELIVERING}
        and c.claimed_until > ${iso(now_ms)})) as stalled`;
}

/** The new deliveries to wake: no more of a lane than may be in flight, unless it has stalled. */
export function wakeUpsOf(made: NewDelivery[]): string[] {
  return [...Map.groupBy(made, ({ endpoint_id }) => endpoint_id).values()].flatMap((lane) => {
    const waited = Math.max(0, Math.max(...lane.map(({ waiting }) => waiting)) - lane.length);
    const room = lane.some(({ stalled }) => stalled) ? MAX_IN_FLIGHT : MAX_IN_FLIGHT - waited;
    return lane.slice(0, Math.max(0, room)).map(({ id }) => id);
  });
}

export interface DueWakeUp {
  endpoint_id: string;
  delivery_id: string;
  /** Past or now, or the end of a current claim. */
  due_at: string;
}

const DUE_WAKE_UP: Columns<DueWakeUp> = { endpoint_id: text, delivery_id: text, due_at: text };

/** The endpoints after `after` with open deliveries: walks their index from one lane to the next, in its order. */
function openLanes(after: string): SQL {
  const next = (than: SQL) => sql`select min(c.endpoint_id) from deliveries c indexed by deliveries_lane
    where c.endpoint_id > ${than} and ${OPEN}`;
  return sql`open (endpoint_id) as (${next(sql`${after}`)}
    union all select (${next(sql`open.endpoint_id`)}) from open where open.endpoint_id is not null)`;
}

/**
 * The deliveries that the sweep wakes: for each active endpoint the longest due of its lane, as many as may be in
 * flight; and the claims that are held now, for their end, because their holder may have died. At most `lanes` lanes,
 * those of the first endpoints after `after`, in their order.
 */
export async function listDue(ctx: Clocked, after: string, lanes: number): Promise<DueWakeUp[]> {
  const now = iso(ctx.now);
  return selectRows(
    ctx.db,
    DUE_WAKE_UP,
    sql`
    with recursive ${openLanes(after)},
    lanes as (
      select e.id as endpoint_id from open cross join webhook_endpoints e on e.id = open.endpoint_id
      where e.active = 1 and e.deleted_at is null and (
        exists (select 1 from deliveries c where c.endpoint_id = e.id and ${pendingDue(now)})
        or exists (select 1 from deliveries c where c.endpoint_id = e.id and ${DELIVERING}))
      limit ${literal(lanes)})
    select l.endpoint_id as endpoint_id, d.id as delivery_id, coalesce(d.claimed_until, d.next_attempt_at) as due_at
    from lanes l cross join deliveries d on d.rowid in (
      select * from (select c.rowid from deliveries c where c.endpoint_id = l.endpoint_id and ${pendingDue(now)}
        order by c.next_attempt_at limit ${literal(MAX_IN_FLIGHT)})
      union all
      select * from (select c.rowid from deliveries c where c.endpoint_id = l.endpoint_id and ${DELIVERING}
        limit ${literal(2 * MAX_IN_FLIGHT)}))`,
  );
}

/** The first inactive endpoints after `after` with expired claims. */
export async function listIdleClaims(ctx: Clocked, after: string, limit: number): Promise<{ endpoint_id: string }[]> {
  return ctx.db.all(sql`
    with recursive ${openLanes(after)}
    select e.id as endpoint_id from open cross join webhook_endpoints e on e.id = open.endpoint_id
    where e.active = 0 and e.deleted_at is null
      and exists (select 1 from deliveries c where c.endpoint_id = e.id and ${ranOut(ctx.now)})
    limit ${literal(limit)}`);
}

/** Ends claims of an inactive endpoint, whose deliveries wait as `pending`. At most `limit`; returns their number. */
export async function endIdleClaims(ctx: Clocked, endpoint_id: string, limit: number): Promise<number> {
  const { meta } = await ctx.db.run(sql`update deliveries set status = 'pending', claimed_until = null
    where rowid in (select c.rowid from deliveries c where c.endpoint_id = ${endpoint_id} and ${ranOut(ctx.now)}
      limit ${literal(limit)})
    and exists (select 1 from webhook_endpoints e where e.id = ${endpoint_id} and e.active = 0)`);
  return meta.changes;
}

/** The state of deliveries, for the log of the dead-letter queue. */
export async function readStatuses(ctx: Pick<BaseCtx, "db">, delivery_ids: string[]) {
  return selectRows(
    ctx.db,
    { id: text, status: text, next_attempt_at: nullable(text) },
    sql`
    select id, status, next_attempt_at from deliveries
    where id in (select value from json_each(${JSON.stringify(delivery_ids)}))`,
  );
}

/** The index of open deliveries is used only if its own condition is in the query in addition to the narrower one. */
const OPEN = sql.raw(`c.status in ('pending', 'delivering')`);
const DELIVERING = sql`c.status = 'delivering' and ${OPEN}`;

function ranOut(now: number): SQL {
  return sql`${DELIVERING} and c.claimed_until <= ${iso(now)}`;
}

function pendingDue(now: string): SQL {
  return sql`c.status = 'pending' and ${OPEN} and c.next_attempt_at <= ${now}`;
}

interface ClaimRow {
  delivery_id: string;
  endpoint_id: string;
  event_id: string;
  event: string;
  attempt_count: number;
  claimed_until: string;
  body: string | null;
  /** JSON: url, secret, previous secret, until when that is valid. */
  endpoint: string;
}

const CLAIM_ROW: Columns<ClaimRow> = {
  delivery_id: text,
  endpoint_id: text,
  event_id: text,
  event: text,
  attempt_count: whole,
  claimed_until: text,
  body: nullable(text),
  endpoint: text,
};

/** The only compare-and-set that begins an attempt. `wishes` selects `endpoint_id`, `want` and `rank`. */
function claimDue(now_ms: number, wishes: SQL, limit: number): SQL {
  const now = iso(now_ms);
  return sql`
    with lanes as (
      select w.endpoint_id, w.rank, min(w.want,
        (case when e.failing_since is null then ${MAX_IN_FLIGHT} else ${MAX_IN_FLIGHT_FAILING} end)
        - (select count(*) from deliveries c where c.endpoint_id = w.endpoint_id and ${DELIVERING}
          and c.claimed_until > ${now})) as room
      from (${wishes}) w cross join webhook_endpoints e on e.id = w.endpoint_id
      where e.active = 1 and e.deleted_at is null)
    update deliveries set status = 'delivering', claimed_until = ${iso(now_ms + LEASE_MS)}
    where attempt_count < ${MAX_DELIVERY_ATTEMPTS} and rowid in (
      select id from (
        select d.rowid as id, d.next_attempt_at as due, l.room as room, l.rank as rank,
          row_number() over (partition by l.endpoint_id order by d.next_attempt_at, d.rowid) as place
        from lanes l cross join deliveries d on d.rowid in (
          select * from (select c.rowid from deliveries c where c.endpoint_id = l.endpoint_id and ${pendingDue(now)}
            order by c.next_attempt_at limit ${literal(limit)})
          union all
          select * from (select c.rowid from deliveries c where c.endpoint_id = l.endpoint_id and ${DELIVERING}
            and c.claimed_until <= ${now} limit ${literal(limit)}))
      ) where place <= room order by rank, place, due limit ${literal(limit)})
    returning id as delivery_id, endpoint_id, event_id, event, attempt_count, claimed_until,
      (select m.body from messages m where m.event_id = deliveries.event_id) as body,
      (select json_array(e.url, e.secret, e.secret_previous, e.secret_previous_until)
        from webhook_endpoints e where e.id = deliveries.endpoint_id) as endpoint`;
}

function claimOf({ attempt_count, endpoint, ...row }: ClaimRow, now: number): ClaimedDelivery {
  const [url, secret, previous, until] = JSON.parse(endpoint) as [string, Sealed, Sealed | null, string | null];
  const valid = previous !== null && until !== null && until > iso(now);
  return { ...row, attempt_number: attempt_count + 1, url, secret, secret_previous: valid ? previous : null };
}

/** The columns that a finished attempt writes, as one JSON row. */
function rowOf({ claim, outcome }: FinishedDelivery, now: number) {
  const { attempt_number } = claim;
  const after = afterAttempt({
    attempt_number,
    started_at_ms: Date.parse(outcome.started_at),
    error: outcome.error,
  });
  const isFinal = after.next_attempt_at_ms === null;
  return {
    id: claim.delivery_id,
    claimed_until: claim.claimed_until,
    number: attempt_number,
    status: after.status,
    next_attempt_at: isFinal ? null : iso(after.next_attempt_at_ms),
    completed_at: isFinal ? iso(now) : null,
    ...outcome,
  };
}

/** The claim is still held: its end distinguishes it from a later claim of the same attempt. */
const HELD = sql`d.id = r.value ->> 'id' and d.status = 'delivering' and d.claimed_until = r.value ->> 'claimed_until'
  and d.attempt_count = (r.value ->> 'number') - 1`;

function insertAttempts(rows: string): SQL {
  return sql`insert into delivery_attempts
      (delivery_id, number, started_at, duration_ms, status_code, error, response_excerpt)
    select d.id, r.value ->> 'number', r.value ->> 'started_at', r.value ->> 'duration_ms', r.value ->> 'status_code',
      r.value ->> 'error', r.value ->> 'response_excerpt'
    from json_each(${rows}) r cross join deliveries d on ${HELD}`;
}

function finishClaims(rows: string): SQL {
  return sql`update deliveries as d set status = r.value ->> 'status', attempt_count = d.attempt_count + 1,
      next_attempt_at = r.value ->> 'next_attempt_at', completed_at = r.value ->> 'completed_at', claimed_until = null
    from json_each(${rows}) r where ${HELD}
    returning id as delivery_id, endpoint_id, next_attempt_at`;
}

interface HealthChange {
  endpoint_id: string;
  /** Whether an attempt succeeded: then only later failures count. */
  succeeded: boolean;
  failing_since: string | null;
  failures: number;
}

/** Changes of health by endpoint, in the order in which the attempts ended. */
function healthOf(finished: FinishedDelivery[]): HealthChange[] {
  const changes = new Map<string, HealthChange>();
  for (const { claim, outcome } of finished) {
    const { endpoint_id } = claim;
    const fresh = { endpoint_id, succeeded: false, failing_since: null, failures: 0 };
    if (outcome.error === null) {
      changes.set(endpoint_id, { ...fresh, succeeded: true });
      continue;
    }
    const before = changes.get(endpoint_id) ?? fresh;
    const failing_since = before.failing_since ?? outcome.started_at;
    changes.set(endpoint_id, { ...before, failing_since, failures: before.failures + 1 });
  }
  return [...changes.values()];
}

/** Writes no row for an endpoint that was and is healthy, or if there is no attempt to record. */
function noteHealth(changes: string, rows: string): SQL {
  return sql`update webhook_endpoints as e set
      failing_since = case when h.value ->> 'succeeded' then h.value ->> 'failing_since'
        else coalesce(e.failing_since, h.value ->> 'failing_since') end,
      failure_count = (h.value ->> 'failures') + case when h.value ->> 'succeeded' then 0 else e.failure_count end
    from json_each(${changes}) h
    where e.id = h.value ->> 'endpoint_id' and (e.failing_since is not null or h.value ->> 'failures' > 0)
      and exists (select 1 from json_each(${rows}) r cross join deliveries d on ${HELD} where d.endpoint_id = e.id)`;
}

/** Makes deliveries again, in this order, while the endpoint is active: a guard on the row count shows it. */
export function insertDeliveries(
  ctx: Clocked,
  endpoint_id: string,
  made: { id: string; event_id: string; event: string }[],
): Statement {
  const now = iso(ctx.now);
  return ctx.db.run(sql`insert into deliveries
      (id, program_id, endpoint_id, event_id, event, status, attempt_count, next_attempt_at, created_at)
    select m.value ->> 'id', e.program_id, e.id, m.value ->> 'event_id', m.value ->> 'event', 'pending', 0, ${now}, ${now}
    from webhook_endpoints e cross join json_each(${JSON.stringify(made)}) m
    where e.id = ${endpoint_id} and e.active = 1 and e.deleted_at is null
    order by m.key`);
}
