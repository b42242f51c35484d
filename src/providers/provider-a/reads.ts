/** Provider A's list of events (API v1), which goes back 30 days. */
import * as z from "zod";
import { DAY } from "../../lib/time.ts";
import type { ApiReach } from "../api-call.ts";
import { failureOf, type EventsAnswer, type EventsAsked, type VendorReads } from "../reads.ts";
import { call } from "./api.ts";
import { READ_TYPES } from "./events.ts";

/** A page of events, and a page of those that are long: an invoice has as many lines as its owner likes. */
const PAGE = 100;
const SMALL_PAGE = 5;
const MAX_PAGE_BYTES = 8 * 1024 * 1024;

/** The vendor takes no more types in a call: the list is read once for each group of them. */
const TYPES_A_CALL = 20;
const GROUPS = Array.from({ length: Math.ceil(READ_TYPES.length / TYPES_A_CALL) }, (_, i) =>
  READ_TYPES.slice(i * TYPES_A_CALL, (i + 1) * TYPES_A_CALL),
);

const page = z.object({
  object: z.literal("list"),
  data: z.array(z.looseObject({ id: z.string().regex(/^\w{1,255}$/) })),
  has_more: z.boolean(),
});

export function providerAReads(reach: ApiReach): VendorReads {
  return { kept_ms: 30 * DAY, listEvents: (api_key, asked) => listEvents(reach, api_key, asked) };
}

async function listEvents(reach: ApiReach, api_key: string, { from, cursor }: EventsAsked): Promise<EventsAnswer> {
  const { group, after } = placeOf(cursor);
  const ask = (limit: number) => {
    const query = new URLSearchParams({ limit: String(limit), "created[gte]": String(Math.floor(from / 1000)) });
    for (const type of GROUPS[group] ?? []) query.append("types[]", type);
    if (after !== null) query.set("starting_after", after);
    return call(reach, api_key, "GET", `/v1/events?${query.toString()}`, { most_bytes: MAX_PAGE_BYTES });
  };
  let answer = await ask(PAGE);
  if (answer.is_too_long) answer = await ask(SMALL_PAGE);
  const read = page.safeParse(answer.json);
  if (answer.status !== 200 || !read.success) return failureOf(answer);
  const { data, has_more } = read.data;
  const last = data.at(-1);
  // A list that has more and gives nothing would never end.
  if (has_more && !last) return failureOf(answer);
  return { outcome: "read", events: data, test: false, next: nextOf(group, has_more ? last!.id : null) };
}

/** `<group>:<id of the last event>`. */
function placeOf(cursor: string | null): { group: number; after: string | null } {
  const [group = "0", after = ""] = cursor?.split(":") ?? [];
  return { group: Number(group), after: after === "" ? null : after };
}

function nextOf(group: number, after: string | null): string | null {
  if (after !== null) return `${group}:${after}`;
  return group + 1 < GROUPS.length ? `${group + 1}:` : null;
}
