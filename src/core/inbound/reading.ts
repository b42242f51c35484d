/** How far a provider's list of events is read for a program: `provider_connections.reading`. */
import { sql, type SQL } from "drizzle-orm";
import { nullable, selectRows, text } from "../../db/rows.ts";
import type { VendorName } from "../../domain/provider-name.ts";
import { isTemporary, type ReadTrouble, type VendorTrouble } from "../../domain/read-trouble.ts";
import { DAY, HOUR, iso, MINUTE } from "../../lib/time.ts";
import { CommitConflict } from "../kernel/conflict.ts";
import { connectionOf, UNREAD } from "../kernel/connections.ts";
import type { ProgramCtx, Statement } from "../kernel/context.ts";
import type { Program } from "../kernel/rows.ts";
import { noteRefusals } from "./refusals.ts";

/** Events appear in the list some time after they happened: this much of it is read again. */
const OVERLAP = HOUR;
/** A younger event may not be in the list yet. */
const SETTLED_AFTER = MINUTE;
/** The interval between two readings. */
const EVERY = HOUR;
/** A failed attempt is repeated after a minute, and less often after each further failure. */
const RETRY = { first: MINUTE, last: HOUR };

export interface Reading {
  /** Every event that the vendor made between these is ingested; null before the list was read to its end. */
  complete_from: string | null;
  complete_until: string | null;
  /** The number of events that no webhook delivered. */
  recovered: number;
  /** Stored events that a broken call may not have stored in every program: ingested again. Absent if empty. */
  taking?: readonly string[];
  /** The event after which another key's questions reopen first; null: all; absent: done. */
  noted_again?: string | null;
  /** The current reading: back to `from`, complete `until` at its end, with its undocumented events `unparsable`. */
  under_way: { from: string; until: string; cursor: string | null; unparsable?: readonly Unparsable[] } | null;
  /** The failure of the last attempt; null if it succeeded. */
  trouble: { reason: ReadTrouble; at: string; since: string; attempts: number } | null;
  /** The last failure of the questions; absent or null if they were answered, or absent. */
  unanswered?: Unanswered | null;
  /** Listed events that are not ingested because they have no documented shape, the oldest first; absent if empty. */
  unparsable?: readonly Unparsable[];
}

/** How many are kept after the end of a list: the last, because a run breaks off at the last that it records. */
const MOST_TAKING = 20;

/** How many of them are kept at once: the oldest, because they decide up to when the list is complete. */
export const MOST_UNPARSABLE = 20;
/** How often they are read again: by then their shape may be supported, or a webhook delivered them. */
const UNPARSABLE_EVERY = DAY;

export interface Unparsable {
  event_id: string;
  event_type: string | null;
  /** If the event does not contain it, the start of the reading that found it. */
  occurred_at: string;
  problem: string;
  /** When it was last found in that state, and first. */
  at: string;
  since: string;
}

interface Unanswered {
  reason: VendorTrouble;
  at: string;
  since: string;
  attempts: number;
}

export function readingOf(program: Program, provider: VendorName): Reading {
  const { reading } = connectionOf(program, provider);
  return reading === null ? UNREAD : (JSON.parse(reading) as Reading);
}

/** The public status of a reading: up to when the list is read, and the failures. */
export interface ReadingStatus {
  api_key_set: boolean;
  complete_from: string | null;
  complete_until: string | null;
  recovered: number;
  /** Whether a reading has begun and has not reached its end. */
  is_reading: boolean;
  read_failure: { reason: ReadTrouble; at: string; since: string } | null;
  /** The failure of the questions about the payments of refunds and the names of codes. */
  unanswered: Omit<Unanswered, "attempts"> | null;
  unparsable: readonly Unparsable[];
}

export function readingStatus(program: Program, provider: VendorName): ReadingStatus {
  const reading = readingOf(program, provider);
  const { complete_from, recovered, under_way, trouble, unanswered, unparsable } = reading;
  return {
    api_key_set: connectionOf(program, provider).api_key !== null,
    ...{ complete_from, complete_until: completeUntil(reading), recovered, is_reading: under_way !== null },
    read_failure: trouble && { reason: trouble.reason, at: trouble.at, since: trouble.since },
    unanswered: unanswered ? { reason: unanswered.reason, at: unanswered.at, since: unanswered.since } : null,
    unparsable: unparsable ?? [],
  };
}

/** Every event before this time is ingested: the first unparsable one ends it, though reading goes on. */
function completeUntil({ complete_from, complete_until, unparsable }: Reading): string | null {
  const first = unparsable?.[0];
  if (complete_until === null || !first || first.occurred_at > complete_until) return complete_until;
  const before = iso(Date.parse(first.occurred_at) - 1);
  return complete_from !== null && before < complete_from ? complete_from : before;
}

/** From when the list is to be read again for unparsable events: all, or those not checked for a day. */
export function unparsableSince({ unparsable = [] }: Reading, which: "all" | { due: number }): string | undefined {
  return unparsable.find(({ at }) => which === "all" || at <= iso(which.due - UNPARSABLE_EVERY))?.occurred_at;
}

/** Each event once, with the time when it was first found, and only the oldest. */
function oldest(unparsable: readonly Unparsable[]): Unparsable[] {
  const first = new Map<string, Unparsable>();
  for (const one of unparsable) {
    const known = first.get(one.event_id);
    const { since, occurred_at } = known ?? one;
    first.set(one.event_id, { ...one, since, occurred_at });
  }
  return [...first.values()]
    .toSorted((a, b) => (a.occurred_at < b.occurred_at ? -1 : a.occurred_at > b.occurred_at ? 1 : 0))
    .slice(0, MOST_UNPARSABLE);
}

/**
 * A reading that goes back to an hour before the last complete point, or to `since` if that is earlier; the first time
 * to when the program was created; and never to before the vendor's oldest event.
 */
export function startReading(
  reading: Reading,
  program: Program,
  kept_ms: number,
  now: number,
  since?: string,
): Reading {
  const { complete_until, under_way } = reading;
  const usual = complete_until === null ? program.created_at : iso(Date.parse(complete_until) - OVERLAP);
  const again = unparsableSince(reading, { due: now });
  const [wanted = usual] = [usual, under_way?.from, since, again].filter((at) => at !== undefined).toSorted();
  const kept = iso(now - kept_ms);
  const from = wanted < kept ? kept : wanted;
  // Findings of a reading that breaks off are found again: the new one goes back at least as far.
  const unparsable = oldest([...(reading.unparsable ?? []), ...(under_way?.unparsable ?? [])]);
  return { ...reading, unparsable, under_way: { from, until: iso(now - SETTLED_AFTER), cursor: null } };
}

/** The events that no earlier reading has found without a documented shape. */
export function newUnparsable(
  { unparsable = [], under_way }: Reading,
  found: readonly Unparsable[],
): readonly Unparsable[] {
  const known = new Set([...unparsable, ...(under_way?.unparsable ?? [])].map(({ event_id }) => event_id));
  return found.filter(({ event_id }) => !known.has(event_id));
}

/**
 * After a page of the list with the unparsable events `found`; the next page begins at `next`, null after the last. The
 * vendor keeps its events since `kept_since`.
 */
export function advanceReading(
  reading: Reading,
  next: string | null,
  kept_since: string,
  found: readonly Unparsable[],
): Reading {
  const { under_way, complete_from, complete_until } = reading;
  const on: Reading = { ...reading, trouble: null };
  if (!under_way) return on;
  const unparsable = oldest([...(under_way.unparsable ?? []), ...found]);
  if (next !== null) return { ...on, under_way: { ...under_way, cursor: next, unparsable } };
  const { until } = under_way;
  // An event that the list did not contain may be of another account, whose key was replaced: it waits.
  if (on.taking) on.taking = on.taking.slice(-MOST_TAKING);
  const from = under_way.from < kept_since ? kept_since : under_way.from;
  // If reading failed for longer than the vendor keeps events there is a gap: the time before is incomplete.
  const isGap = complete_from === null || complete_until === null || complete_until < from;
  const before = reading.unparsable ?? [];
  // An event that the vendor has deleted can never be read: the time before it is not complete.
  const gone = before.findLast(({ occurred_at }) => occurred_at < kept_since);
  const begins = isGap || from < complete_from ? from : complete_from;
  const afterGone = gone ? iso(Date.parse(gone.occurred_at) + 1) : begins;
  return {
    ...on,
    under_way: null,
    complete_from: afterGone > begins ? afterGone : begins,
    complete_until: isGap || until > complete_until ? until : complete_until,
    unparsable: stillUnparsable(before, unparsable, { from, kept_since }),
  };
}

/**
 * The unparsable events after a reading back to `from`. It has passed the later ones of `before`: they are found again,
 * or ingested by now. Events that the vendor has deleted are dropped; if others may exist beside the kept ones, only
 * after a reading that has passed all of them.
 */
function stillUnparsable(
  before: readonly Unparsable[],
  found: readonly Unparsable[],
  { from, kept_since }: { from: string; kept_since: string },
): readonly Unparsable[] {
  const again = new Set(found.map(({ event_id }) => event_id));
  const hasSeenAll = before.length < MOST_UNPARSABLE || from === kept_since;
  const left = before.filter(
    ({ event_id, occurred_at }) =>
      again.has(event_id) || (occurred_at < from && (occurred_at >= kept_since || !hasSeenAll)),
  );
  return oldest([...left, ...found]);
}

/** The reading for another key: the list is unread, but the events that are being ingested remain. */
export function resetReading({ taking: open }: Reading): Reading {
  return open === undefined ? UNREAD : { ...UNREAD, taking: open };
}

/** Counts one more event that no webhook delivered: `lost` is 1 if a webhook should have. */
export function countRecovered(reading: Reading, lost: 0 | 1): Reading {
  return { ...reading, recovered: reading.recovered + lost, trouble: null };
}

/** The same with such an event that is stored: it is being ingested until `finishTaking`. */
export function startTaking(reading: Reading, event_id: string, lost: 0 | 1): Reading {
  return { ...countRecovered(reading, lost), taking: [...(reading.taking ?? []), event_id] };
}

export function finishTaking(reading: Reading, event_id: string): Reading {
  const { taking: open, ...rest } = reading;
  const left = open?.filter((one) => one !== event_id) ?? [];
  return left.length > 0 ? { ...rest, taking: left } : rest;
}

/** After an attempt that failed. */
export function recordReadFailure(reading: Reading, reason: ReadTrouble, now: number): Reading {
  const at = iso(now);
  const { since, attempts } = reading.trouble ?? { since: at, attempts: 0 };
  return { ...reading, trouble: { reason, at, since, attempts: attempts + 1 } };
}

/** After the waiting questions were sent; `reason` is why some were not answered. */
export function recordAnswers(reading: Reading, reason: VendorTrouble | null, now: number): Reading {
  const at = iso(now);
  const { since = at, attempts = 0 } = reading.unanswered ?? {};
  return { ...reading, unanswered: reason && { reason, at, since, attempts: attempts + 1 } };
}

/** Whether the provider asks to wait: until then it receives no request. */
export function isRateLimited({ trouble, unanswered }: Reading): boolean {
  return (trouble ?? unanswered)?.reason === "rate_limited";
}

/** When the list is to be read on, and open questions repeated. `asked_ms`: the wait that the vendor requests. */
export function nextRead({ under_way, trouble, unanswered }: Reading, now: number, asked_ms: number | null): string {
  if (!trouble && under_way) return "";
  const failed = trouble ?? (unanswered && isTemporary(unanswered.reason) ? unanswered : null);
  if (!failed) return iso(now + EVERY);
  const wait = Math.min(RETRY.first * 2 ** (failed.attempts - 1), RETRY.last);
  return iso(now + Math.max(wait, asked_ms ?? 0));
}

/**
 * Replaces the stored reading if it has not changed, and returns the new text; null if another run has continued it or
 * the key has changed. Adds `refused` to the number of refused events.
 */
export async function keepReading(
  ctx: ProgramCtx,
  provider: VendorName,
  before: string | null,
  reading: Reading,
  next_read_at: string,
  refused = 0,
): Promise<string | null> {
  const kept = JSON.stringify(reading);
  const statement = ctx.db.run(sql`update provider_connections set reading = ${kept}, next_read_at = ${next_read_at}
    where ${isRead(ctx, provider)} and reading is ${before}`);
  if (refused === 0) return (await statement).meta.changes > 0 ? kept : null;
  try {
    await noteRefusals(ctx, provider, "unparsable", refused, [{ statement, expect: 1 }]);
    return kept;
  } catch (error) {
    if (error instanceof CommitConflict) return null;
    throw error;
  }
}

interface Taking {
  before: string | null;
  /** The result of `startTaking`. */
  reading: Reading;
  event_id: string;
  lost: 0 | 1;
  stored: SQL;
}

/**
 * A statement for the transaction that stores a listed event, before it. If the event is not `stored` yet, it replaces
 * the reading `before` with that of `startTaking`. If another run has continued the reading, or the key has changed, it
 * counts and records the event in the current reading: no other list has the event ingested to its end.
 */
export function noteTaking(
  ctx: ProgramCtx,
  provider: VendorName,
  { before, reading, event_id, lost, stored }: Taking,
): Statement {
  const now = sql`coalesce(reading, ${JSON.stringify(UNREAD)})`;
  const open = sql`coalesce(reading -> '$.taking', '[]')`;
  return ctx.db.run(sql`update provider_connections
    set reading = case when reading is ${before} then ${JSON.stringify(reading)} else json_set(${now},
      '$.recovered', (${now} ->> '$.recovered') + ${lost}, '$.taking', json_insert(${open}, '$[#]', ${event_id})) end
    where ${ofProgram(ctx, provider)} and not exists (${stored})`);
}

/** The stored reading. */
export async function keptReading(ctx: ProgramCtx, provider: VendorName): Promise<string | null> {
  const [row] = await selectRows(
    ctx.db,
    { reading: nullable(text) },
    sql`select reading from provider_connections where ${isRead(ctx, provider)}`,
  );
  return row?.reading ?? null;
}

/** The condition for the row of a reading, while its key is still the stored one. */
function isRead(ctx: ProgramCtx, provider: VendorName): SQL {
  const { api_key } = connectionOf(ctx.program, provider);
  return sql`${ofProgram(ctx, provider)} and api_key is ${api_key}`;
}

function ofProgram({ program }: ProgramCtx, provider: VendorName): SQL {
  return sql`program_id = ${program.id} and provider = ${provider}`;
}
