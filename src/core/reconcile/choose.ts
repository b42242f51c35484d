/** Chooses the rows that a step of the reconciler checks (`core/reconcile/reconcile.ts`). */
import { sql } from "drizzle-orm";
import { literal, literals } from "../../db/client.ts";
import { unionOf } from "../../db/parts.ts";
import { nullable, selectRows, text, textOf, whole, type Columns } from "../../db/rows.ts";
import { payouts } from "../../db/schema.ts";
import type { AuditEventType, EventPayloads } from "../../domain/event.ts";
import { HOUR, iso } from "../../lib/time.ts";
import type { ProgramCtx } from "../kernel/context.ts";
import { isWhole, KINDS, partsOf, TRANSFERS_AT_ONCE, type Kind, type Place, type Turn } from "./place.ts";
import { selectPayouts } from "../payouts/hold.ts";

/** Audit events of one step; each touches at most a commission and a payment, or a payout. */
const EVENTS_AT_ONCE = 6;
/** A step that takes more payments in turn leaves the events to a later one. */
const BESIDE_EVENTS = 3;
/** How long a delivery may be overdue before it is counted; the sweep runs every minute. */
const DELIVERED_AFTER = HOUR;
/** Waiting deliveries are counted up to here. */
const DELIVERIES_COUNTED = 100;

/** Events that change a commission or a payout: the step checks the rows they name. */
type TouchingType = {
  [T in AuditEventType]: EventPayloads[T] extends { commission_id: string } | { payout_id: string } ? T : never;
}[AuditEventType];

const TOUCHING = Object.keys({
  "commission.created": true,
  "commission.updated": true,
  "payout.generated": true,
  "payout.updated": true,
  "payout.paid": true,
  "payout.returned": true,
} satisfies Record<TouchingType, true>);

interface Touched {
  id: string;
  commission_id: string | null;
  payment_id: string | null;
  partner_id: string | null;
  payout_id: string | null;
}

const TOUCHED: Columns<Touched> = {
  id: text,
  commission_id: nullable(text),
  payment_id: nullable(text),
  partner_id: nullable(text),
  payout_id: nullable(text),
};

/** Ids of the chosen rows, including those that events touched. */
export interface Chosen extends Record<Kind, string[]> {
  /** The rows that were chosen in turn. */
  turn: Turn;
  /** The event id from which the next step continues. */
  event_id: string;
  /** Whether more events may wait. */
  isFull: boolean;
}

/** Among which events a step chooses: from an id on, up to another that is left out. */
export interface EventSpan {
  from: string;
  until: string;
}

/** Chooses the rows of the next events, and the next in turn. A round through all leaves events for later. */
export async function choose(ctx: ProgramCtx, place: Place, span: EventSpan): Promise<Chosen> {
  const { db } = ctx;
  const parts = partsOf(place);
  const takesEvents = !isWhole(place) && parts.payments <= BESIDE_EVENTS;
  const most = literal(takesEvents ? EVENTS_AT_ONCE : 0);
  // One search for each type: the index goes by type, then by id.
  const touched = TOUCHING.map(
    (type) => sql`select * from (select id, payload from events indexed by events_type
      where program_id = ${ctx.program.id} and type = ${type} and type <> 'click' and id >= ${span.from} and id < ${span.until} order by id limit ${most})`,
  );
  const inTurn = (kind: Kind) =>
    selectRows(
      db,
      { id: text },
      sql`select id from ${sql.identifier(kind)} where program_id = ${ctx.program.id}
      and id > ${place[kind]} order by id limit ${literal(parts[kind])}`,
    );
  const [next, ...rows] = await ctx.read(
    selectRows(
      db,
      TOUCHED,
      sql`select id, payload ->> 'commission_id' as commission_id, payload ->> 'payment_id' as payment_id,
        payload ->> 'partner_id' as partner_id, payload ->> 'payout_id' as payout_id
      from (${unionOf(touched, "different")}) order by id limit ${most}`,
    ),
    ...([inTurn("commissions"), inTurn("payments"), inTurn("partners"), inTurn("payouts")] as const),
  );
  const events = touchingFew(next, TRANSFERS_AT_ONCE - parts.payouts);
  const turn = Object.fromEntries(KINDS.map((kind, i) => [kind, rows[i]!.map(({ id }) => id)])) as Turn;
  const named = (name: Exclude<keyof Touched, "id">) => events.flatMap((event) => event[name] ?? []);
  const isFull = takesEvents ? next.length === EVENTS_AT_ONCE || events.length < next.length : !isWhole(place);
  const last = events.at(-1);
  return {
    commissions: [...named("commission_id"), ...turn.commissions],
    payments: [...named("payment_id"), ...turn.payments],
    partners: [...named("partner_id"), ...turn.partners],
    payouts: [...named("payout_id"), ...turn.payouts],
    turn,
    // No id lies between an id and this.
    event_id: takesEvents && !isFull ? span.until : last ? `${last.id}0` : span.from,
    isFull,
  };
}

/** Events up to the one that touches a payout more than `most`. */
function touchingFew(events: readonly Touched[], most: number): readonly Touched[] {
  const touched = new Set<string>();
  const end = events.findIndex(({ payout_id }) => payout_id !== null && touched.add(payout_id).size > most);
  return end < 0 ? events : events.slice(0, end);
}

/** How many rows of each kind a program has, from the kept counts. */
export function sizesOf(ctx: ProgramCtx) {
  return selectRows(
    ctx.db,
    { kind: textOf<Kind>(), size: whole },
    sql`select list as kind, sum(count) as size from list_counts
    where program_id = ${ctx.programId} and list in ${literals(KINDS)} group by list`,
  );
}

export function payoutsAmong(ctx: ProgramCtx, ids: readonly string[]) {
  return selectPayouts(ctx).where(
    sql`${payouts.id} in (select value from json_each(${JSON.stringify(ids)}))
        and +${payouts.program_id} = ${ctx.program.id}`,
  );
}

/** Counts the unclaimed deliveries to active endpoints that are overdue. The sweep delivers them. */
export function deliveriesLeft(ctx: ProgramCtx) {
  return selectRows(
    ctx.db,
    { count: whole },
    sql`select count(*) as "count" from (
    select 1 from webhook_endpoints e cross join deliveries d indexed by deliveries_lane on d.endpoint_id = e.id
      and d.status = 'pending' and d.status in ('pending', 'delivering')
      and d.next_attempt_at < ${iso(ctx.now - DELIVERED_AFTER)}
    where e.program_id = ${ctx.program.id} and e.deleted_at is null and e.active = 1
    limit ${literal(DELIVERIES_COUNTED)})`,
  );
}
