/** The types of events that a provider sends: shows the owner a type that is not selected there (PROG-10). */
import { sql } from "drizzle-orm";
import type { VendorName } from "../../domain/provider-name.ts";
import { DAY, iso, MINUTE } from "../../lib/time.ts";
import { CONNECTED_ACCOUNT, type ProviderEvent, type Vendor } from "../../providers/provider.ts";
import { connectionOf, isLastOfTest, type Connection } from "./connections.ts";
import type { ProgramCtx } from "./context.ts";

const SHOWN_MS = 30 * DAY;
/** More types than a vendor has: further ones are not stored. */
const MAX_TYPES = 400;

export interface SeenType {
  type: string;
  /** Whether commissions require it, are better with it, or do not need it. */
  need: "required" | "recommended" | "none";
  /** Null if no event came within 30 days. Exact to the day. */
  last_seen_at: string | null;
}

type Seen = Pick<ProviderEvent, "event_type" | "test" | "ignored">;

/**
 * A statement that records an event of this type from the provider: the time of the last to the minute, the time of the
 * type to the day, and whether it is of the vendor's test mode. Empty if all are recorded already. For the first event
 * after a refused delivery the time is recorded at once: it ends the refusal (MAIL-11).
 */
export function recordSeenType(ctx: ProgramCtx, provider: VendorName, event: Seen) {
  if (event.ignored === CONNECTED_ACCOUNT) return noteConnected(ctx, provider);
  const { db, program, now } = ctx;
  const { event_type: type, test } = event;
  const connection = connectionOf(program, provider);
  const { last_event_at, refusals, seen_types } = connection;
  const [minute, day] = [iso(now - MINUTE), iso(now - DAY)];
  const seen = typesOf(seen_types);
  const isKept = seen.has(type) || seen.size < MAX_TYPES;
  const isKnown = !isKept || (seen.get(type) ?? "") >= day;
  const refused = Object.values(JSON.parse(refusals ?? "{}") as Record<string, { at: string }>);
  const isNoted =
    last_event_at !== null &&
    last_event_at >= minute &&
    test === isLastOfTest(connection) &&
    refused.every(({ at }) => at < last_event_at);
  if (isKnown && isNoted) return [];
  // The program may be an older cached one: so the types are counted in the database.
  const patch = sql`iif((select count(*) from json_each(seen_types) where key <> ${type}) < ${MAX_TYPES},
    json_patch(coalesce(seen_types, '{}'), json_object(${type}, ${iso(now)})), seen_types)`;
  return [
    db.run(sql`update provider_connections
      set last_event_at = max(coalesce(last_event_at, ''), ${iso(now)}), seen_types = ${patch},
        last_test_event_at = iif(${test ? 1 : 0}, max(coalesce(last_test_event_at, ''), ${iso(now)}), last_test_event_at)
      where program_id = ${program.id} and provider = ${provider} and (last_event_at is null or last_event_at < ${minute}
        or (coalesce(last_test_event_at, '') >= last_event_at) <> ${test ? 1 : 0}
        or exists (select 1 from json_each(refusals) r where r.value ->> 'at' >= last_event_at)
        or (${isKept ? 1 : 0} and coalesce((select value from json_each(seen_types) where key = ${type}), '') < ${day}))`),
  ];
}

/** Records an event of a connected account: the owner's own account has not sent one. */
function noteConnected({ db, program, now }: ProgramCtx, provider: VendorName) {
  const { last_connected_event_at: last } = connectionOf(program, provider);
  const minute = iso(now - MINUTE);
  if (last !== null && last >= minute) return [];
  return [
    db.run(sql`update provider_connections set last_connected_event_at = ${iso(now)}
      where program_id = ${program.id} and provider = ${provider} and coalesce(last_connected_event_at, '') < ${minute}`),
  ];
}

/** The types that the provider should send, in their order, and then the others that came within 30 days. */
export function seenTypes({ wanted_events }: Vendor, { seen_types }: Connection, now: number): SeenType[] {
  const from = iso(now - SHOWN_MS);
  const seen = new Map([...typesOf(seen_types)].filter(([, at]) => at >= from));
  const { needed, better } = wanted_events;
  const wanted = [
    ...needed.map(({ type }) => ({ type, need: "required" as const })),
    ...better.map(({ type }) => ({ type, need: "recommended" as const })),
  ];
  const listed = new Set(wanted.map(({ type }) => type));
  const others = [...seen.keys()].filter((type) => !listed.has(type)).toSorted();
  return [...wanted, ...others.map((type) => ({ type, need: "none" as const }))].map((one) => ({
    ...one,
    last_seen_at: seen.get(one.type) ?? null,
  }));
}

/** Whether the provider sends events of a type: it should, or has sent one within 30 days. */
export function isSent(provider: Vendor, connection: Connection, type: string, now: number): boolean {
  return seenTypes(provider, connection, now).some((one) => one.type === type);
}

function typesOf(text: string | null): Map<string, string> {
  return new Map(Object.entries(JSON.parse(text ?? "{}") as Record<string, string>));
}
