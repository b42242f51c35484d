/** Provider A's webhook endpoints (API v1, form encoded). */
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
import { API_VERSION, call, isTestKey } from "./api.ts";

const PATH = "/v1/webhook_endpoints";

const PAGE = 100;
/** An account has far fewer: a longer list is broken. */
const MOST_PAGES = 10;

/** An account lists as many types as the vendor has. */
const MAX_ANSWER_BYTES = 1024 * 1024;

const endpoint = z
  .object({
    object: z.literal("webhook_endpoint"),
    id: z.string().regex(/^we_\w{1,255}$/),
    url: z.string(),
    description: z.string().nullish(),
    enabled_events: z.array(z.string()),
    livemode: z.boolean(),
    status: z.string(),
    secret: z.string().min(1).max(500).optional(),
  })
  .transform(({ id, url, description, enabled_events, livemode, status, secret = null }) => ({
    ...{
      id,
      url,
      made_for: programOfDescription(description),
      secret,
      test: !livemode,
      is_active: status !== "disabled",
    },
    types: enabled_events.includes("*") ? null : enabled_events,
  }));
const page = z.object({ object: z.literal("list"), data: z.array(endpoint), has_more: z.boolean() });
const failure = z.object({ error: z.object({ message: z.string() }) });

export function providerADestinations(reach: ApiReach): VendorDestinations {
  const form = (api_key: string, path: string, body: URLSearchParams) =>
    call(reach, api_key, "POST", path, {
      body: body.toString(),
      contentType: "application/x-www-form-urlencoded",
      most_bytes: MAX_ANSWER_BYTES,
    });
  return {
    permission: "write for Webhook Endpoints",
    isTestKey,
    list: (api_key) => list(reach, api_key),
    async make(api_key, { url, program_id, types }: DestinationOrder) {
      const body = new URLSearchParams({ url, api_version: API_VERSION, description: descriptionFor(program_id) });
      for (const type of types) body.append("enabled_events[]", type);
      const answer = await form(api_key, PATH, body);
      const made = readOne(answer);
      if (made.outcome === "failed") return made;
      const { secret, ...rest } = made.value;
      return secret === null ? failed(answer) : { outcome: "done", value: { ...rest, secret } };
    },
    async change(api_key, id, types) {
      const body = new URLSearchParams({ disabled: "false" });
      for (const type of types) body.append("enabled_events[]", type);
      return readOne(await form(api_key, `${PATH}/${id}`, body));
    },
    async remove(api_key, id) {
      const answer = await call(reach, api_key, "DELETE", `${PATH}/${id}`);
      return answer.status === 200 || answer.status === 404 ? { outcome: "done", value: null } : failed(answer);
    },
  };
}

async function list(reach: ApiReach, api_key: string): Promise<DestinationAnswer<Destination[]>> {
  const all: Destination[] = [];
  const query = new URLSearchParams({ limit: String(PAGE) });
  for (let pages = 1; ; pages++) {
    const answer = await call(reach, api_key, "GET", `${PATH}?${query.toString()}`, { most_bytes: MAX_ANSWER_BYTES });
    const read = page.safeParse(answer.json);
    if (answer.status !== 200 || !read.success) return failed(answer);
    all.push(...read.data.data);
    const last = read.data.data.at(-1);
    if (!read.data.has_more) return { outcome: "done", value: all };
    if (!last || pages === MOST_PAGES) return failed(answer);
    query.set("starting_after", last.id);
  }
}

function readOne(answer: Answer): DestinationAnswer<Destination> {
  const read = endpoint.safeParse(answer.json);
  return answer.status === 200 && read.success ? { outcome: "done", value: read.data } : failed(answer);
}

function failed(answer: Answer): DestinationFailure {
  const words = failure.safeParse(answer.json).data?.error.message;
  return destinationFailure(answer, words === undefined ? null : vendorWords(words));
}
