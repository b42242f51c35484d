/** Provider B's notification settings. */
import * as z from "zod";
import { vendorWords, type Answer, type ApiReach } from "../api-call.ts";
import {
  descriptionFor,
  destinationFailure,
  programOfDescription,
  type Destination,
  type DestinationAnswer,
  type DestinationFailure,
  type DestinationOrder,
  type VendorDestinations,
} from "../destinations.ts";
import { call, isOfSandbox } from "./api.ts";

const PATH = "/notification-settings";

const PAGE = 200;
/** An account has far fewer: a longer list is broken. */
const MOST_PAGES = 10;

const MAX_ANSWER_BYTES = 2 * 1024 * 1024;

const setting = z.object({
  id: z.string().regex(/^ntfset_\w{1,255}$/),
  description: z.string(),
  type: z.string(),
  destination: z.string(),
  active: z.boolean(),
  traffic_source: z.string().nullish(),
  subscribed_events: z.array(z.object({ name: z.string() })),
  endpoint_secret_key: z.string().min(1).max(500).nullish(),
});
type NotificationSetting = z.output<typeof setting>;

const one = z.object({ data: setting });
const page = z.object({
  data: z.array(setting),
  meta: z.object({ pagination: z.object({ has_more: z.boolean() }) }),
});
const failure = z.object({ error: z.object({ detail: z.string() }) });

export function providerBDestinations(reach: ApiReach): VendorDestinations {
  return {
    permission: "write for Notification settings",
    isTestKey: isOfSandbox,
    list: (api_key) => list(reach, api_key),
    async make(api_key, { url, program_id, types }: DestinationOrder) {
      const body = JSON.stringify({
        ...{ description: descriptionFor(program_id), type: "url", destination: url, api_version: 1 },
        subscribed_events: types,
      });
      const answer = await call(reach, api_key, { method: "POST", path: PATH, body, most_bytes: MAX_ANSWER_BYTES });
      const made = readOne(answer, 201, api_key);
      if (made.outcome === "failed") return made;
      const { secret, ...rest } = made.value;
      return secret === null ? failed(answer) : { outcome: "done", value: { ...rest, secret } };
    },
    async change(api_key, id, types) {
      const body = JSON.stringify({ active: true, traffic_source: "all", subscribed_events: types });
      const request = { method: "PATCH", path: `${PATH}/${id}`, body, most_bytes: MAX_ANSWER_BYTES } as const;
      return readOne(await call(reach, api_key, request), 200, api_key);
    },
    async remove(api_key, id) {
      const answer = await call(reach, api_key, { method: "DELETE", path: `${PATH}/${id}` });
      const isGone = answer.status === 204 || answer.status === 404;
      return isGone ? { outcome: "done", value: null } : failed(answer);
    },
  };
}

async function list(reach: ApiReach, api_key: string): Promise<DestinationAnswer<Destination[]>> {
  const all: Destination[] = [];
  const query = new URLSearchParams({ per_page: String(PAGE) });
  for (let pages = 1; ; pages++) {
    const path = `${PATH}?${query.toString()}`;
    const answer = await call(reach, api_key, { method: "GET", path, most_bytes: MAX_ANSWER_BYTES });
    const read = page.safeParse(answer.json);
    if (answer.status !== 200 || !read.success) return failed(answer);
    const { data, meta } = read.data;
    // The other type is for e-mail addresses.
    all.push(...data.filter(({ type }) => type === "url").map((shown) => destinationOf(shown, api_key)));
    const last = data.at(-1);
    if (!meta.pagination.has_more) return { outcome: "done", value: all };
    if (!last || pages === MOST_PAGES) return failed(answer);
    query.set("after", last.id);
  }
}

function destinationOf(shown: NotificationSetting, api_key: string): Destination {
  return {
    id: shown.id,
    url: shown.destination,
    made_for: programOfDescription(shown.description),
    types: shown.subscribed_events.map(({ name }) => name),
    // Payments do not arrive at a destination for simulated events.
    is_active: shown.active && shown.traffic_source !== "simulation",
    test: isOfSandbox(api_key),
    secret: shown.endpoint_secret_key ?? null,
  };
}

function readOne(answer: Answer, status: number, api_key: string): DestinationAnswer<Destination> {
  const read = one.safeParse(answer.json);
  if (answer.status !== status || !read.success) return failed(answer);
  return { outcome: "done", value: destinationOf(read.data.data, api_key) };
}

function failed(answer: Answer): DestinationFailure {
  const words = failure.safeParse(answer.json).data?.error.detail;
  return destinationFailure(answer, words === undefined ? null : vendorWords(words));
}
