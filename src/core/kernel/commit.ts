import { sql, type SQL } from "drizzle-orm";
import { literal, runBatch } from "../../db/client.ts";
import type { JsonText } from "../../db/page.ts";
import type { Changes } from "../../domain/actor.ts";
import type { AuditEventType, ChangeEventType, EventPayloads, PartlySent, SentAs } from "../../domain/event.ts";
import { AppError } from "../../lib/errors.ts";
import { ID_ALPHABET, newId } from "../../lib/id.ts";
import { iso } from "../../lib/time.ts";
import type { ProgramCtx, Statement } from "./context.ts";
import { laneState, wakeUpsOf, type NewDelivery } from "./deliveries.ts";
import { addToCounts } from "./event-counts.ts";
import type { PayoutDetailsChange } from "./payout-details.ts";
import type { OutboundData } from "./views.ts";

/** A change of state, and how many rows it must touch for the whole commit to hold. */
export interface Write {
  statement: Statement;
  /** Rows that must change; anything else is a lost race and nothing at all is written. Absent: not checked. */
  expect?: number;
}

/** An occurrence for the audit log, and the webhook that it is sent as, if any, as the catalogue has them. */
export type Occurrence = { [T in AuditEventType]: OccurrenceOf<T> }[AuditEventType];

type OccurrenceOf<T extends AuditEventType> = Changed<T> &
  Sent<T> & {
    type: T;
    payload: EventPayloads[T];
    /** Sent by e-mail once the commit is done. */
    payoutDetails?: PayoutDetailsChange | null;
    /** Minted by the caller where a row refers to the event; otherwise here. */
    id?: string;
  };

/** What changed, where the type is one of a change (`core/kernel/changes.ts`); who did it is the context's actor. */
type Changed<T extends AuditEventType> = T extends ChangeEventType ? { changes: Changes } : { changes?: never };

/** What is subscribed to is sent; what is not, is not. */
type Sent<T extends AuditEventType> = [SentAs<T>] extends [never]
  ? { outbound?: never }
  : { outbound: { event: SentAs<T>; data: OutboundData[SentAs<T>] } };

/**
 * Occurrences that the database itself writes, one for each row of `from`: for changes of more rows than a request
 * reads. The query is asked after the writes, several times, and must give the same rows each time. `id` of the event
 * (see `eventIds`), `payload` and, where something is sent, `data` are JSON. `changes` are those of every row.
 */
export type SelectedOccurrences = { [T in AuditEventType]: SelectedOf<T> }[AuditEventType];

type SelectedOf<T extends AuditEventType> = Changed<T> &
  SelectedSent<T> & {
    type: T;
    id: SQL;
    payload: SQL<JsonText<EventPayloads[T]>>;
    from: SQL;
  };

type SelectedSent<T extends AuditEventType> = [SentAs<T>] extends [never]
  ? { outbound?: never }
  : T extends PartlySent
    ? { outbound?: SelectedOutbound<T> }
    : { outbound: SelectedOutbound<T> };
interface SelectedOutbound<T extends AuditEventType> {
  event: SentAs<T>;
  data: SQL<JsonText<OutboundData[SentAs<T>]>>;
}

export interface CommitPlan {
  writes: Write[];
  occurrences: Occurrence[];
  selected?: SelectedOccurrences[];
  /** What the caller answers with, for the stored reply of an idempotent request. */
  result?: unknown;
}

/** Nothing was written: a guard found another state than the one read, or a unique index found a duplicate. */
export class CommitConflict extends Error {
  readonly kind: "lost_race" | "unique";
  /** For `unique`: the index or columns that SQLite named. */
  readonly constraint: string;

  constructor(kind: "lost_race" | "unique", constraint: string) {
    super(`${kind}: ${constraint}`);
    this.name = "CommitConflict";
    this.kind = kind;
    this.constraint = constraint;
  }
}

/**
 * THE write path: the writes, their audit events, the event counts, and one delivery row for every active endpoint
 * subscribed at this moment (for one that is not active, a note of what it misses), in one D1 batch, which is one
 * transaction; then the wake-ups and the e-mails. All of it or nothing (architecture, invariant 1). Returns the ids of the
 * audit events, in order.
 *
 * @throws {CommitConflict} when a guard or a unique index refused; nothing was written.
 */
export async function commit(ctx: ProgramCtx, plan: CommitPlan): Promise<string[]> {
  const { db } = ctx;
  const program_id = ctx.program.id;
  const created_at = iso(ctx.now);
  const occurrences = plan.occurrences.map((occurrence) => ({
    ...occurrence,
    id: occurrence.id ?? newId("event", ctx.now),
  }));
  const statements: Statement[] = plan.writes.flatMap(({ statement, expect }) =>
    expect === undefined ? [statement] : [statement, db.run(refuseUnlessChanged(expect))],
  );
  const alongside = ctx.alongside && plan.result !== undefined ? await ctx.alongside(plan.result) : null;
  if (alongside) statements.push(...alongside.statements);
  const sources = (plan.selected ?? []).map((selected) => selectedSource(created_at, selected));
  if (occurrences.length > 0) sources.push(givenSource(created_at, occurrences));
  const returning: number[] = [];
  for (const source of sources) {
    statements.push(
      db.run(insertEvents(ctx, created_at, source.events)),
      db.run(countEvents(program_id, created_at, source.events)),
    );
    if (!source.messages) continue;
    statements.push(
      db.run(insertMessages(program_id, created_at, source.messages)),
      db.run(insertMissed(program_id, source.messages)),
      db.all(insertDeliveries(program_id, created_at, source.messages, ctx.now)),
    );
    returning.push(statements.length - 1);
  }
  if (statements.length === 0) return [];
  const results: unknown[] = await transact(ctx, statements);
  alongside?.committed();
  const wakeUps = wakeUpsOf(returning.flatMap((i) => results[i] as NewDelivery[]));
  if (wakeUps.length > 0) ctx.wake(wakeUps, ctx.shard);
  const changed = occurrences.flatMap(({ payoutDetails }) => payoutDetails ?? []);
  if (changed.length > 0) ctx.notify({ program: ctx.program, actor: ctx.actor, changed });
  return occurrences.map(({ id }) => id);
}

/**
 * Ids of events about rows that no request reads, as SQL over the id of the row: the time of the commit and its own
 * chance, then the row's. So a statement that changes the row names the event that the same commit writes about it.
 */
export function eventIds(now: number): (row_id: SQL) => SQL {
  const stem = newId("event", now).slice(0, -OF_ROW);
  return (row_id) => sql`${stem} || substr(${row_id}, ${literal(-OF_ROW)})`;
}

/** Of the 16 random characters of an id. */
const OF_ROW = 12;

/** Where the rows of events and of messages come from: tables `m` whose column `value` holds one JSON object a row. */
interface Source {
  /** `{id, type, payload, changes}`, the last two as JSON or its text. */
  events: SQL;
  /** `{id, event, body}` */
  messages: SQL | null;
}

function givenSource(created_at: string, occurrences: (Occurrence & { id: string })[]): Source {
  const outbound = occurrences.flatMap(({ id, outbound: sent }) =>
    sent
      ? [{ id, event: sent.event, body: JSON.stringify({ event: sent.event, timestamp: created_at, data: sent.data }) }]
      : [],
  );
  // As texts, which the database does not read: it takes nothing that is nested deeper than 1,000.
  const events = occurrences.map(({ id, type, payload, changes }) => ({
    id,
    type,
    payload: JSON.stringify(payload),
    changes: changes && JSON.stringify(changes),
  }));
  return {
    events: sql`json_each(${JSON.stringify(events)}) m`,
    messages: outbound.length > 0 ? sql`json_each(${JSON.stringify(outbound)}) m` : null,
  };
}

function selectedSource(
  created_at: string,
  { type, changes, id, payload, outbound, from }: SelectedOccurrences,
): Source {
  const events = sql`json_object('id', r.id, 'type', ${type}, 'payload', json(r.payload),
    'changes', json(${changes ? JSON.stringify(changes) : null}))`;
  const made = sql`select ${events} as value from (select ${id} as id, ${payload} as payload ${from}) r`;
  if (!outbound) return { events: sql`(${made}) m`, messages: null };
  const body = sql`json_object('event', ${outbound.event}, 'timestamp', ${created_at}, 'data', json(r.data))`;
  const message = sql`json_object('id', r.id, 'event', ${outbound.event}, 'body', ${body})`;
  return {
    events: sql`(${made}) m`,
    messages: sql`(select ${message} as value from (select ${id} as id, ${outbound.data} as data ${from}) r) m`,
  };
}

/** Fails the batch where the condition holds, as a lost race; writes no row itself. */
export function refuseIf(condition: SQL): SQL {
  return sql`insert into commit_guards (lost_race) select 1 where ${condition}`;
}

/** Fails the batch where the statement before it did not change exactly `expect` rows. */
export function refuseUnlessChanged(expect: number): SQL {
  return refuseIf(sql`changes() <> ${expect}`);
}

async function transact(ctx: ProgramCtx, statements: Statement[]): Promise<unknown[]> {
  try {
    return await runBatch(ctx.db, statements);
  } catch (error) {
    throw takenOverIn(error) ?? conflictIn(error) ?? error;
  }
}

/** The guard of `storeReplyBeside`: this request was taken for dead and another one does its work. */
function takenOverIn(error: unknown): AppError | null {
  for (let at: unknown = error; at instanceof Error; at = at.cause) {
    if (/NOT NULL constraint failed: commit_guards/.test(at.message)) {
      return new AppError("idempotency_conflict", "Another request with this Idempotency-Key took over.");
    }
  }
  return null;
}

/** D1 names the constraint that failed only in the text of the error, possibly wrapped by drizzle. */
export function conflictIn(error: unknown): CommitConflict | null {
  for (let at: unknown = error; at instanceof Error; at = at.cause) {
    const unique = /UNIQUE constraint failed: ([^:]+?)(?:: SQLITE|$)/.exec(at.message);
    if (unique) return new CommitConflict("unique", unique[1]!.trim());
    if (/CHECK constraint failed: lost_race/.test(at.message)) return new CommitConflict("lost_race", "guard");
  }
  return null;
}

function insertEvents({ program, actor }: ProgramCtx, created_at: string, source: SQL): SQL {
  return sql`insert into events (program_id, id, type, payload, created_at, actor, changes)
    select ${program.id}, m.value ->> 'id', m.value ->> 'type', m.value ->> 'payload', ${created_at},
      ${JSON.stringify(actor)}, m.value ->> 'changes' from ${source}`;
}

function countEvents(program_id: string, created_at: string, source: SQL): SQL {
  return addToCounts(sql`select ${program_id} as program_id, m.value ->> 'type' as type,
    ${created_at.slice(0, 16)} as at, 1 as n from ${source}`);
}

/** Endpoints that are subscribed to the event of the JSON row `m`, active or not. */
const SUBSCRIBED = sql`e.deleted_at is null
  and exists (select 1 from json_each(e.events) s where s.value in ('*', m.value ->> 'event'))`;

function insertMessages(program_id: string, created_at: string, messages: SQL): SQL {
  return sql`insert into messages (event_id, program_id, event, body, created_at)
    select m.value ->> 'id', ${program_id}, m.value ->> 'event', m.value ->> 'body', ${created_at}
    from ${messages}
    where exists (select 1 from webhook_endpoints e where e.program_id = ${program_id} and ${SUBSCRIBED})`;
}

/** What an endpoint that is not active now would have been sent: `recover` may send this later, and nothing else. */
function insertMissed(program_id: string, messages: SQL): SQL {
  return sql`insert into missed_deliveries (endpoint_id, event_id)
    select e.id, m.value ->> 'id'
    from ${messages} join webhook_endpoints e on e.program_id = ${program_id} and e.active = 0 and ${SUBSCRIBED}`;
}

function insertDeliveries(program_id: string, created_at: string, messages: SQL, now: number): SQL {
  return sql`insert into deliveries
      (id, program_id, endpoint_id, event_id, event, status, attempt_count, next_attempt_at, created_at)
    select ${deliveryId(now)}, ${program_id}, e.id, m.value ->> 'id', m.value ->> 'event', 'pending', 0, ${created_at},
      ${created_at}
    from ${messages} join webhook_endpoints e on e.program_id = ${program_id} and e.active = 1 and ${SUBSCRIBED}
    returning id, endpoint_id, ${laneState(now)}`;
}

/** A delivery id minted inside the statement: the database alone knows how many endpoints are subscribed. */
function deliveryId(now: number): SQL {
  const stem = newId("delivery", now).slice(0, -RANDOM_CHARACTERS);
  const character = sql.raw(`substr('${ID_ALPHABET}', 1 + (random() & 31), 1)`);
  return sql.join([sql`${stem}`, ...Array.from({ length: RANDOM_CHARACTERS }, () => character)], sql` || `);
}

const RANDOM_CHARACTERS = 16;
