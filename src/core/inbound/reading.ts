/** How far a provider's list of events is read for a program: `provider_connections.reading`. */
import { sql, type SQL } from "drizzle-orm";
import { orNull, shaped, text } from "../../db/rows.ts";
import type { VendorName } from "../../domain/provider-name.ts";
import { isPassing, type ReadTrouble, type VendorTrouble } from "../../domain/read-trouble.ts";
import { DAY, HOUR, iso, MINUTE } from "../../lib/time.ts";
import { CommitConflict } from "../kernel/conflict.ts";
import { connectionOf, UNREAD } from "../kernel/connections.ts";
import type { ProgramCtx, Statement } from "../kernel/context.ts";
import type { Program } from "../kernel/rows.ts";
import { noteRefusals } from "./refusals.ts";

/** Events appear in the list some time after they happened: so much of it is read again. */
const OVERLAP = HOUR;
/** What is younger may not be in the list yet. */
const SETTLED_AFTER = MINUTE;
/** The list is read so often. */
const EVERY = HOUR;
/** What fails is tried again after a minute, and later the oftener it failed. */
const RETRY = { first: MINUTE, last: HOUR };

export interface Reading {
  /** Every event that the vendor made between these is taken in; null before the list was read to its end. */
  complete_from: string | null;
  complete_until: string | null;
  /** Events that no webhook had brought. */
  recovered: number;
  /**
   * Events that are stored and may not have come to every program of their account, for the call broke off: they are taken in
   * again, by whichever list shows them. Absent where there is none.
   */
  taking?: readonly string[];
  /**
   * Behind which event what was asked with another key is to be noted again, before anything is asked; null where all of it
   * is, absent where none is.
   */
  noted_again?: string | null;
  /** The reading under way: back to `from`, and complete `until` when it is there. What of it is not of a documented shape. */
  under_way: { from: string; until: string; cursor: string | null; unparsable?: readonly Unparsable[] } | null;
  /** Of the last attempt; null where it went well. */
  trouble: { reason: ReadTrouble; at: string; since: string; attempts: number } | null;
  /** Why what was asked after the last reading was not answered; absent or null where it was, or nothing was to be asked. */
  unanswered?: Unanswered | null;
  /** Listed events that are not taken in because they are of no documented shape, the oldest first; absent where there was none. */
  unparsable?: readonly Unparsable[];
}

/** So many are kept behind the end of a list: the last, for a run breaks off at the last that it notes. */
const MOST_TAKING = 20;

/** Of those that are there at once, so many are kept: the oldest, which say how far all is taken in. */
export const MOST_UNPARSABLE = 20;
/** They are read again so often: this service may know their shape by then, or a webhook may have brought them. */
const UNPARSABLE_EVERY = DAY;

export interface Unparsable {
  event_id: string;
  event_type: string | null;
  /** Where the event does not say it, when the reading that found it began. */
  occurred_at: string;
  problem: string;
  /** When it was last found so, and first. */
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

/** What is said of it: where the list is read to, and what is in the way. */
export interface ReadingStatus {
  api_key_set: boolean;
  complete_from: string | null;
  complete_until: string | null;
  recovered: number;
  /** Whether a reading has begun and is not at its end. */
  is_reading: boolean;
  read_failure: { reason: ReadTrouble; at: string; since: string } | null;
  /** Which payments refunds are of, and what codes are called, was asked and not answered. */
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

/** Up to when all is taken in: before the first event that is not. The list is read on behind it anyway. */
function completeUntil({ complete_from, complete_until, unparsable }: Reading): string | null {
  const first = unparsable?.[0];
  if (complete_until === null || !first || first.occurred_at > complete_until) return complete_until;
  const before = iso(Date.parse(first.occurred_at) - 1);
  return complete_from !== null && before < complete_from ? complete_from : before;
}

/** Since when the list is to be read again for events that were not parsed: of all, or of those that were not for a day. */
export function unparsableSince({ unparsable = [] }: Reading, which: "all" | { due: number }): string | undefined {
  return unparsable.find(({ at }) => which === "all" || at <= iso(which.due - UNPARSABLE_EVERY))?.occurred_at;
}

/** Each once, since it was first found, and the oldest of them. */
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
 * A reading that goes back to the last complete point and an hour beyond, or to `since` where that is earlier; at the
 * first time to when the program was made; and never further than the vendor keeps its events.
 */
export function begun(reading: Reading, program: Program, kept_ms: number, now: number, since?: string): Reading {
  const { complete_until, under_way } = reading;
  const usual = complete_until === null ? program.created_at : iso(Date.parse(complete_until) - OVERLAP);
  const again = unparsableSince(reading, { due: now });
  const [wanted = usual] = [usual, under_way?.from, since, again].filter((at) => at !== undefined).toSorted();
  const kept = iso(now - kept_ms);
  const from = wanted < kept ? kept : wanted;
  // What one that breaks off here has found is known, and is seen again: it goes back at least as far.
  const unparsable = oldest([...(reading.unparsable ?? []), ...(under_way?.unparsable ?? [])]);
  return { ...reading, unparsable, under_way: { from, until: iso(now - SETTLED_AFTER), cursor: null } };
}

/** Those of some events of which a reading did not know before that they are of no documented shape. */
export function newAmong({ unparsable = [], under_way }: Reading, found: readonly Unparsable[]): readonly Unparsable[] {
  const known = new Set([...unparsable, ...(under_way?.unparsable ?? [])].map(({ event_id }) => event_id));
  return found.filter(({ event_id }) => !known.has(event_id));
}

/**
 * After a page of the list, of which `found` could not be parsed; the next one begins at `next`, null after the last. The
 * vendor keeps its events since `kept_since`.
 */
export function passed(
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
  // What the list did not show may be of another account, whose key was replaced: it waits for a list that does.
  if (on.taking) on.taking = on.taking.slice(-MOST_TAKING);
  const from = under_way.from < kept_since ? kept_since : under_way.from;
  // A gap is left where reading failed for longer than the vendor keeps its events: what was before is complete no more.
  const isGap = complete_from === null || complete_until === null || complete_until < from;
  const before = reading.unparsable ?? [];
  // What the vendor has no more can be read no more: nothing before its end is complete.
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
 * Of those from before, the reading back to `from` has seen the later ones: they are found again, or taken in by now. What
 * the vendor has no more is forgotten; where there may be others beside those that are kept, by a reading that has seen all.
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

/** Of another key: nothing is read, and what was being taken in is so still. */
export function unread({ taking: open }: Reading): Reading {
  return open === undefined ? UNREAD : { ...UNREAD, taking: open };
}

/** With one event more that no webhook had brought: `lost` is 1 where one should have. */
export function counted(reading: Reading, lost: 0 | 1): Reading {
  return { ...reading, recovered: reading.recovered + lost, trouble: null };
}

/** With such an event that is stored: it is being taken in until `takenIn`. */
export function taking(reading: Reading, event_id: string, lost: 0 | 1): Reading {
  return { ...counted(reading, lost), taking: [...(reading.taking ?? []), event_id] };
}

export function takenIn(reading: Reading, event_id: string): Reading {
  const { taking: open, ...rest } = reading;
  const left = open?.filter((one) => one !== event_id) ?? [];
  return left.length > 0 ? { ...rest, taking: left } : rest;
}

/** After an attempt that failed. */
export function failed(reading: Reading, reason: ReadTrouble, now: number): Reading {
  const at = iso(now);
  const { since, attempts } = reading.trouble ?? { since: at, attempts: 0 };
  return { ...reading, trouble: { reason, at, since, attempts: attempts + 1 } };
}

/** After what waited was asked; why it was not answered, or not all of it. */
export function asked(reading: Reading, reason: VendorTrouble | null, now: number): Reading {
  const at = iso(now);
  const { since = at, attempts = 0 } = reading.unanswered ?? {};
  return { ...reading, unanswered: reason && { reason, at, since, attempts: attempts + 1 } };
}

/** Whether the provider asks to come later: until then nobody asks it anything. */
export function isRateLimited({ trouble, unanswered }: Reading): boolean {
  return (trouble ?? unanswered)?.reason === "rate_limited";
}

/** When the list is to be read on, and what waits to be asked again. `asked_ms`: how long the vendor asks to wait. */
export function nextRead({ under_way, trouble, unanswered }: Reading, now: number, asked_ms: number | null): string {
  if (!trouble && under_way) return "";
  const failed = trouble ?? (unanswered && isPassing(unanswered.reason) ? unanswered : null);
  if (!failed) return iso(now + EVERY);
  const wait = Math.min(RETRY.first * 2 ** (failed.attempts - 1), RETRY.last);
  return iso(now + Math.max(wait, asked_ms ?? 0));
}

/**
 * Keeps a reading in place of the one that it was made from, and gives its text; null where that is no longer the one
 * that is kept, because another run went on with it or the key changed. `refused` listed events are counted as refused with it.
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
  /** What `taking` made. */
  reading: Reading;
  event_id: string;
  lost: 0 | 1;
  stored: SQL;
}

/**
 * For the transaction that stores a listed event, before it: where it is not `stored` yet, keeps the reading that `taking` made
 * in place of `before`; where another run has gone on with the reading, or the key changed, counts and notes the event in what
 * is there by now: no other list has the event taken in to its end.
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

/** The reading that is kept. */
export async function keptReading(ctx: ProgramCtx, provider: VendorName): Promise<string | null> {
  const [row] = await shaped(
    ctx.db,
    { reading: orNull(text) },
    sql`select reading from provider_connections where ${isRead(ctx, provider)}`,
  );
  return row?.reading ?? null;
}

/** The row of a reading, as long as the key is the one that is read with. */
function isRead(ctx: ProgramCtx, provider: VendorName): SQL {
  const { api_key } = connectionOf(ctx.program, provider);
  return sql`${ofProgram(ctx, provider)} and api_key is ${api_key}`;
}

function ofProgram({ program }: ProgramCtx, provider: VendorName): SQL {
  return sql`program_id = ${program.id} and provider = ${provider}`;
}
