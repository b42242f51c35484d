import { sql, type SQL } from "drizzle-orm";
import { literal, runBatch } from "../../db/client.ts";
import type { JsonText } from "../../db/page.ts";
import type { Changes } from "../../domain/actor.ts";
import type {
  AuditEventType,
  ChangeEventType,
  EventPayloads,
  PartlySent,
  SecurityEventType,
  SentAs,
} from "../../domain/event.ts";
import { AppError } from "../../lib/errors.ts";
import { newId } from "../../lib/id.ts";
import { remember } from "../../lib/remembered.ts";
import { iso, MINUTE } from "../../lib/time.ts";
import { CommitConflict, conflictIn, refuseIf, refuseUnlessChanged, tooLargeIn } from "./conflict.ts";
import type { ProgramCtx, Statement } from "./context.ts";
import { laneState, wakeUpsOf, type NewDelivery } from "./deliveries.ts";
import { addToCounts, countAt } from "./event-counts.ts";
import type { CommitMails } from "./notices.ts";
import type { PayoutDetailsChange } from "./payout-details.ts";
import type { OutboundData } from "./views.ts";

/** A change of state, and the number of rows it must change for the commit to be valid. */
export interface Write {
  statement: Statement;
  /** The number of rows that must change: otherwise a lost race, and no row is written. Absent: not checked. */
  expect?: number;
}

/** An occurrence for the audit log, and the webhook that it is sent as, if any, according to the catalogue. */
export type Occurrence = { [T in AuditEventType]: OccurrenceOf<T> }[AuditEventType];

type OccurrenceOf<T extends AuditEventType> = Changed<T> &
  Sent<T> & {
    type: T;
    payload: EventPayloads[T];
    /** The content of its e-mail. */
    payoutDetails?: PayoutDetailsChange | null;
    /** Made by the caller if a row refers to the event; otherwise here. */
    id?: string;
  };

/** The changed fields, if the type is a change's (`core/kernel/changes.ts`); the actor is the context's. */
type Changed<T extends AuditEventType> = T extends ChangeEventType ? { changes: Changes } : { changes?: never };

/** A type with subscriptions must be sent, any other must not. */
type Sent<T extends AuditEventType> = [SentAs<T>] extends [never]
  ? { outbound?: never }
  : { outbound: { event: SentAs<T>; data: OutboundData[SentAs<T>] } };

/**
 * Occurrences that the database itself writes, one for each row of `from`: for changes of more rows than a request
 * reads. The query runs after the writes, several times, and must return the same rows each time. `id` of the event
 * (see `eventIds`), `payload` and, if it is sent, `data` are JSON. `changes` are the same for every row.
 */
export type SelectedOccurrences = { [T in SelectedType]: SelectedOf<T> }[SelectedType];
/** Events about which owners are e-mailed individually are excluded, because they have to be known. */
type SelectedType = Exclude<AuditEventType, SecurityEventType>;

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

export interface CommitPlan extends CommitMails {
  writes: Write[];
  occurrences: Occurrence[];
  selected?: SelectedOccurrences[];
  /** The caller's result, for the stored reply of an idempotent request. */
  result?: unknown;
}

/**
 * THE write path: the writes, their audit events, the event counts, and one delivery row for every active endpoint
 * subscribed at this moment (for an inactive one, a record of the missed event), in one D1 batch, which is one
 * transaction, with the e-mails about it, including those of PROOF-4; then the wake-ups. It is written whole or not at
 * all (architecture, invariant 1). Returns the ids of the audit events, in order.
 *
 * @throws {CommitConflict} if a guard or a unique index refused; then no row was written. `rate_limited` beyond the
 * program's budget of invitations.
 */
export async function commit(ctx: ProgramCtx, plan: CommitPlan): Promise<string[]> {
  const occurrences = plan.occurrences.map((occurrence) => ({
    ...occurrence,
    id: occurrence.id ?? newId("event", ctx.now),
  }));
  const alongside = ctx.alongside && plan.result !== undefined ? await ctx.alongside(plan.result) : null;
  const mails = (await ctx.mailer?.plan(ctx, occurrences, plan)) ?? null;
  const own = [...writesOf(ctx, plan), ...(alongside?.statements ?? [])];
  const writes = [...(mails?.before ?? []), ...own, ...(mails?.after ?? [])];
  const sources = (plan.selected ?? []).map((selected) => selectedSource(ctx, selected));
  if (occurrences.length > 0) sources.push(givenSource(ctx, occurrences));
  if (writes.length === 0 && sources.length === 0) return [];
  const made = await transact(ctx, writes, sources).catch(async (error: unknown) => {
    if (error instanceof CommitConflict && error.kind === "lost_race") await mails?.explainRefusal();
    throw error;
  });
  ctx.assumed?.held();
  alongside?.committed();
  const wakeUps = made.length > 0 ? wakeUpsOf(made) : [];
  if (wakeUps.length > 0) ctx.wake(wakeUps, ctx.shard);
  if (mails?.isDue) ctx.mailer?.wake(ctx.program.id);
  return occurrences.map(({ id }) => id);
}

function writesOf({ db, assumed }: ProgramCtx, { writes }: CommitPlan): Statement[] {
  const statements = writes.flatMap(({ statement, expect }) =>
    expect === undefined ? [statement] : [statement, db.run(refuseUnlessChanged(expect))],
  );
  return assumed ? [assumed.holds, ...statements] : statements;
}

/** The types of webhooks that recently had no subscription, by program, in this isolate's memory. */
const unheard = remember<string, ReadonlySet<string>>(1_000);
const UNHEARD_MS = 10 * MINUTE;

/**
 * Runs the writes and the statements of their events in one batch; returns the deliveries that it made. If a type
 * recently had no subscription, one guard replaces the statements that would send it; if the guard fails, the batch
 * wrote no row and is repeated in full.
 */
async function transact(
  ctx: ProgramCtx,
  writes: readonly Statement[],
  sources: readonly Source[],
): Promise<NewDelivery[]> {
  const { program, now } = ctx;
  const sent = [...new Set(sources.flatMap((source) => source.messages?.sent ?? []))];
  let known = unheard.get(program.id, now) ?? new Set();
  if (sent.length > 0 && sent.every((event) => known.has(event))) {
    const guard = ctx.db.run(refuseIf(hears(program.id, sent)));
    try {
      await run(ctx, [...writes, guard, ...sources.flatMap(({ events }) => events)]);
      return [];
    } catch (error) {
      if (!(error instanceof CommitConflict) || error.kind !== "lost_race") throw error;
      known = new Set();
    }
  }
  const statements = [...writes];
  const [messages, deliveries]: [number[], number[]] = [[], []];
  for (const source of sources) {
    statements.push(...source.events);
    if (!source.messages) continue;
    messages.push(statements.length);
    statements.push(...source.messages.statements());
    deliveries.push(statements.length - 1);
  }
  const results = await run(ctx, statements);
  const isHeard = messages.some((i) => (results[i] as D1Result).meta.changes > 0);
  if (sent.length > 0) unheard.set(program.id, new Set([...known, ...(isHeard ? [] : sent)]), now + UNHEARD_MS);
  return deliveries.flatMap((i) => results[i] as NewDelivery[]);
}

async function run(ctx: ProgramCtx, statements: readonly Statement[]): Promise<readonly unknown[]> {
  try {
    return await runBatch(ctx.db, statements);
  } catch (error) {
    throw takenOverIn(error) ?? conflictIn(error) ?? tooLargeIn(error) ?? error;
  }
}

/**
 * Ids of events about rows that no request reads, as SQL over the row's id: time and randomness of the commit, then the
 * row's characters, so that the row's own statement can name its event.
 */
export function eventIds(now: number): (row_id: SQL) => SQL {
  const stem = newId("event", now).slice(0, -OF_ROW);
  return (row_id) => sql`${stem} || substr(${row_id}, ${literal(-OF_ROW)})`;
}

/** The number of the row's characters, among the 16 random characters of an id. */
const OF_ROW = 12;

/** The statements about occurrences. */
interface Source {
  events: Statement[];
  /** The webhooks, and their types; null if no webhook is sent. The last statement returns the deliveries. */
  messages: { sent: readonly string[]; statements: () => Statement[] } | null;
}

function givenSource(ctx: ProgramCtx, occurrences: (Occurrence & { id: string })[]): Source {
  const created_at = iso(ctx.now);
  const outbound = occurrences.flatMap(({ id, outbound: sent }) =>
    sent
      ? [{ id, event: sent.event, body: JSON.stringify({ event: sent.event, timestamp: created_at, data: sent.data }) }]
      : [],
  );
  // As texts, which the database does not parse: it refuses nesting deeper than 1,000.
  const events = occurrences.map(({ id, type, payload, changes }) => ({
    id,
    type,
    payload: JSON.stringify(payload),
    changes: changes && JSON.stringify(changes),
  }));
  const types = events.map(({ type }) => type);
  const sent = outbound.map(({ event }) => event);
  return {
    events: [
      ctx.db.run(insertEvents(ctx, sql`json_each(${JSON.stringify(events)}) m`)),
      ctx.db.run(countAt(ctx.program.id, created_at, types)),
    ],
    messages: sent.length > 0 ? messagesOf(ctx, sent, sql`json_each(${JSON.stringify(outbound)}) m`) : null,
  };
}

function selectedSource(ctx: ProgramCtx, selected: SelectedOccurrences): Source {
  const { type, changes, id, payload, outbound, from } = selected;
  const object = sql`json_object('id', r.id, 'type', ${type}, 'payload', json(r.payload),
    'changes', json(${changes ? JSON.stringify(changes) : null}))`;
  const made = sql`(select ${object} as value from (select ${id} as id, ${payload} as payload ${from}) r) m`;
  const events = [ctx.db.run(insertEvents(ctx, made)), ctx.db.run(countEvents(ctx, made))];
  if (!outbound) return { events, messages: null };
  const body = sql`json_object('event', ${outbound.event}, 'timestamp', ${iso(ctx.now)}, 'data', json(r.data))`;
  const message = sql`json_object('id', r.id, 'event', ${outbound.event}, 'body', ${body})`;
  const messages = sql`(select ${message} as value from (select ${id} as id, ${outbound.data} as data ${from}) r) m`;
  return { events, messages: messagesOf(ctx, [outbound.event], messages) };
}

/** `messages` is a table `m` whose column `value` holds `{id, event, body}`. */
function messagesOf(ctx: ProgramCtx, sent: readonly string[], messages: SQL): Source["messages"] {
  const { db } = ctx;
  return {
    sent,
    statements: () => [
      db.run(insertMessages(ctx, messages)),
      db.run(insertMissed(ctx, messages)),
      db.all(insertDeliveries(ctx, messages)),
    ],
  };
}

/** The guard of `storeReplyBeside`: this request was considered dead and another one does its work. */
function takenOverIn(error: unknown): AppError | null {
  for (let at: unknown = error; at instanceof Error; at = at.cause) {
    if (/NOT NULL constraint failed: commit_guards/.test(at.message)) {
      return new AppError("idempotency_conflict", "Another request with this Idempotency-Key took over.");
    }
  }
  return null;
}

/** `source` is a table `m` whose column `value` holds `{id, type, payload, changes}`, the last two as JSON or its text. */
function insertEvents({ program, actor, now }: ProgramCtx, source: SQL): SQL {
  return sql`insert into events (program_id, id, type, payload, created_at, actor, changes)
    select ${program.id}, m.value ->> 'id', m.value ->> 'type', m.value ->> 'payload', ${iso(now)},
      ${JSON.stringify(actor)}, m.value ->> 'changes' from ${source}`;
}

function countEvents({ program, now }: ProgramCtx, source: SQL): SQL {
  return addToCounts(sql`select ${program.id} as program_id, m.value ->> 'type' as type,
    ${iso(now).slice(0, 16)} as at, 1 as n from ${source}`);
}

/** Endpoints that are subscribed to an event, active or not. */
function subscribed(event: SQL): SQL {
  return sql`e.deleted_at is null
    and exists (select 1 from json_each(e.events) s where s.value = '*' or s.value in (${event}))`;
}

/** The same for the event of the JSON row `m`. */
const SUBSCRIBED = subscribed(sql`m.value ->> 'event'`);

/** Whether an endpoint of the program is subscribed to one of the events. */
function hears(program_id: string, events: readonly string[]): SQL {
  const any = sql`select value from json_each(${JSON.stringify(events)})`;
  return sql`exists (select 1 from webhook_endpoints e where e.program_id = ${program_id} and ${subscribed(any)})`;
}

function insertMessages({ program, now }: ProgramCtx, messages: SQL): SQL {
  return sql`insert into messages (event_id, program_id, event, body, created_at)
    select m.value ->> 'id', ${program.id}, m.value ->> 'event', m.value ->> 'body', ${iso(now)}
    from ${messages}
    where exists (select 1 from webhook_endpoints e where e.program_id = ${program.id} and ${SUBSCRIBED})`;
}

/** The events that an inactive endpoint would have received: `recover` may send only these later. */
function insertMissed({ program }: ProgramCtx, messages: SQL): SQL {
  return sql`insert into missed_deliveries (endpoint_id, event_id)
    select e.id, m.value ->> 'id'
    from ${messages} join webhook_endpoints e on e.program_id = ${program.id} and e.active = 0 and ${SUBSCRIBED}`;
}

function insertDeliveries({ program, now }: ProgramCtx, messages: SQL): SQL {
  const created_at = iso(now);
  return sql`insert into deliveries
      (id, program_id, endpoint_id, event_id, event, status, attempt_count, next_attempt_at, created_at)
    select ${deliveryId(now)}, ${program.id}, e.id, m.value ->> 'id', m.value ->> 'event', 'pending', 0, ${created_at},
      ${created_at}
    from ${messages} join webhook_endpoints e on e.program_id = ${program.id} and e.active = 1 and ${SUBSCRIBED}
    returning id, endpoint_id, ${laneState(now)}`;
}

/**
 * A delivery id made inside the statement, because only the database knows how many endpoints are subscribed. Uses
 * hexadecimal characters, 64 random bits: making those of an id one by one costs half of the statement's time.
 */
function deliveryId(now: number): SQL {
  return sql`${newId("delivery", now).slice(0, -RANDOM_CHARACTERS)} || lower(hex(randomblob(${literal(RANDOM_CHARACTERS / 2)})))`;
}

const RANDOM_CHARACTERS = 16;
