/** Provider B's list of events. It covers 90 days; the requested period is the same as for provider A. */
import * as z from "zod";
import { DAY } from "../../lib/time.ts";
import type { ApiReach } from "../api-call.ts";
import {
  failureOf,
  requestFitting,
  type CodeAnswer,
  type CodeAsked,
  type EventsAnswer,
  type EventsAsked,
  type VendorReads,
} from "../reads.ts";
import { instant } from "../wire.ts";
import { call, isOfSandbox } from "./api.ts";
import { discount, namesOfDiscount, READ_TYPES } from "./events.ts";

const PAGES = [200, 5, 1];
const MAX_PAGE_BYTES = 8 * 1024 * 1024;

const page = z.object({
  data: z.array(z.looseObject({ event_id: z.string().regex(/^\w{1,255}$/), occurred_at: instant })),
  meta: z.object({ pagination: z.object({ has_more: z.boolean() }) }),
});

export function providerBReads(reach: ApiReach): VendorReads {
  return {
    kept_ms: 30 * DAY,
    isTestKey: isOfSandbox,
    listEvents: (api_key, asked) => listEvents(reach, api_key, asked),
    readCode: (api_key, code) => readCode(reach, api_key, code),
  };
}

/** The list has no time filter: it is read from the newest until it is older than the requested period. */
async function listEvents(reach: ApiReach, api_key: string, { from, cursor }: EventsAsked): Promise<EventsAnswer> {
  const ask = (limit: number) => {
    const query = new URLSearchParams({ order_by: "id[DESC]", per_page: String(limit) });
    query.set("event_type", READ_TYPES.join(","));
    if (cursor !== null) query.set("after", cursor);
    return call(reach, api_key, { method: "GET", path: `/events?${query.toString()}`, most_bytes: MAX_PAGE_BYTES });
  };
  const answer = await requestFitting(PAGES, ask);
  const read = page.safeParse(answer.json);
  if (answer.status !== 200 || !read.success) return failureOf(answer);
  const { data, meta } = read.data;
  const last = data.at(-1);
  const { has_more } = meta.pagination;
  // A list that announces more but returns an empty page would never end.
  if (has_more && !last) return failureOf(answer);
  const isOver = !has_more || Date.parse(last!.occurred_at) < from;
  return {
    outcome: "read",
    events: (answer.json as { data: unknown[] }).data.map((body, i) => ({ id: data[i]!.event_id, body })),
    test: isOfSandbox(api_key),
    next: isOver ? null : last!.event_id,
  };
}

async function readCode(reach: ApiReach, api_key: string, { id, occurred_at }: CodeAsked): Promise<CodeAnswer> {
  const answer = await call(reach, api_key, { method: "GET", path: `/discounts/${encodeURIComponent(id)}` });
  const read = z.object({ data: discount }).safeParse(answer.json).data?.data;
  if (answer.status !== 200 || read?.id !== id) return failureOf(answer);
  return { outcome: "read", facts: namesOfDiscount(read, occurred_at) };
}
