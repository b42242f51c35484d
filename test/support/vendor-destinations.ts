/**
 * The vendors' webhook destinations, played in memory: provider A's webhook endpoints, provider B's notification
 * settings. Each request is checked against the vendor's published OpenAPI description, and the types of events of its
 * SDK.
 */
import endpointTypes from "../../node_modules/stripe/esm/resources/WebhookEndpoints.d.ts?raw";
import type { DestinationsOf } from "../../src/core/inbound/destination.ts";
import type { Fetch } from "../../src/lib/deadline.ts";
import { LIST_KEYS, LIST_URLS, NO_FAULT, patience, SANDBOX_URL, type ListFault, type Reading } from "./event-lists.ts";
import { refusalA, refusedByA } from "./vendor-a-requests.ts";
import { refusalB, refusedByB } from "./vendor-b-requests.ts";
import { nested, type Reply, type Sent } from "./vendor-requests.ts";
import { uniqueId } from "./vendor.ts";

export interface PlayedDestination {
  id: string;
  url: string;
  types: string[];
  description: string;
  is_active: boolean;
  /** Provider B: the selection of events for the destination. */
  traffic_source?: "platform" | "simulation" | "all";
  secret: string;
  api_key: string;
}

/** The differences between the vendors' destinations. A new provider with destinations does not compile without its own. */
export const DESTINATIONS: Record<Reading, Differences> = {
  provider_a: { id_prefix: "we_", test_key: "rk_test_of_a", other_type: "payout.paid", shows_secret: false },
  provider_b: {
    id_prefix: "ntfset_",
    test_key: "pdl_sdbx_apikey_of_b",
    other_type: "product.created",
    shows_secret: true,
  },
};

interface Differences {
  id_prefix: string;
  /** A key of its test mode. */
  test_key: string;
  /** A type of events that is not selected. */
  other_type: string;
  /** Whether it shows the secret of a destination again after it is made. */
  shows_secret: boolean;
}

export interface PlayedCall {
  method: string;
  path: string;
  body: string;
}

export interface PlayedVendors {
  /** Replaces the global `fetch`. */
  fetch: Fetch;
  destinationsOf: DestinationsOf;
  /** The destinations of one account, by the provider's name. */
  at: Record<keyof typeof LIST_URLS, PlayedDestination[]>;
  keys: Set<string>;
  calls: PlayedCall[];
  /** Asked before each call; `after` has it done first, so that only its answer is lost. */
  faultOf: (call: PlayedCall) => ListFault | `${ListFault} after` | null;
  /** The limit of an account. */
  most: number;
  /** Awaited before each call is answered. */
  meanwhile: (call: PlayedCall) => Promise<void> | void;
}

/** `keys`: those that the vendors accept. */
export function openDestinations(keys: Iterable<string> = Object.values(LIST_KEYS)): PlayedVendors {
  const vendors: PlayedVendors = {
    fetch: (url, init) => answer(vendors, new Request(url, init)),
    destinationsOf: ({ name, destinations }) =>
      destinations?.({
        fetch: (url, init) => vendors.fetch(url, init),
        baseUrl: LIST_URLS[name as keyof typeof LIST_URLS],
        now: Date.now,
        timeoutMs: patience(vendors.faultOf),
      } as Parameters<typeof destinations>[0]) ?? null,
    at: { provider_a: [], provider_b: [] },
    keys: new Set(keys),
    ...{ calls: [], faultOf: NO_FAULT, most: 16, meanwhile: () => {} },
  };
  return vendors;
}

/** The Worker's own `fetch` while `work` runs: the vendors are the whole outside world. */
export async function withVendors<T>(vendors: Pick<PlayedVendors, "fetch">, work: () => Promise<T>): Promise<T> {
  const real = globalThis.fetch;
  globalThis.fetch = (url, init) => vendors.fetch(new Request(url, init).url, init ?? {});
  try {
    return await work();
  } finally {
    globalThis.fetch = real;
  }
}

async function answer(vendors: PlayedVendors, request: Request): Promise<Response> {
  const url = new URL(request.url);
  const call = { method: request.method, path: url.pathname, body: await request.text() };
  vendors.calls.push(call);
  await vendors.meanwhile(call);
  const [fault = null, isAfter] = (vendors.faultOf(call)?.split(" ") ?? []) as [ListFault?, string?];
  const isA = url.origin === LIST_URLS.provider_a;
  const refuse = isA ? refusalA : refusalB;
  const reply = fault !== null && isAfter === undefined ? null : replyOf(vendors, request, url, call);
  if (fault === "lost") throw new TypeError("connection reset");
  if (fault === "slow") return new Response(new ReadableStream());
  if (fault === "garbage") return new Response("<html>502 Bad gateway", { status: 200 });
  const replies: Partial<Record<ListFault, Reply>> = {
    broken: refuse(500, "api_error", "internal_error"),
    limited: { ...refuse(429, "api_error", "too_many_requests"), headers: { "retry-after": "600" } },
    forbidden: refuse(403, "request_error", "forbidden"),
    gone: refuse(404, "request_error", "not_found"),
    other: { status: 200, body: { object: "balance", available: [] } },
  };
  const shown = (fault === null ? undefined : replies[fault]) ?? reply ?? { status: 200, body: { data: [] } };
  const text = JSON.stringify(shown.body);
  return new Response(shown.status === 204 ? null : fault === "cut" ? text.slice(0, text.length / 2) : text, {
    status: shown.status,
    headers: { "content-type": "application/json", ...shown.headers },
  });
}

function replyOf(vendors: PlayedVendors, request: Request, url: URL, { body }: PlayedCall): Reply {
  const key = /^Bearer (\S+)$/i.exec(request.headers.get("authorization") ?? "")?.[1] ?? "";
  const isA = url.origin === LIST_URLS.provider_a;
  if (!vendors.keys.has(key)) return (isA ? refusalA : refusalB)(isA ? 401 : 403, "request_error", "invalid_token");
  const sent = { method: request.method, url, type: request.headers.get("content-type"), body };
  if (isA) return refusedByA(sent) ?? replyA(vendors, key, sent);
  const isOther = ![LIST_URLS.provider_b, SANDBOX_URL].includes(url.origin);
  if (isOther || key.startsWith("pdl_sdbx_") !== (url.origin === SANDBOX_URL)) {
    return refusalB(403, "request_error", "forbidden");
  }
  return refusedByB(sent) ?? replyB(vendors, key, sent);
}

/** The literals of the vendor's client library: types of events, or versions of the API. */
function literals(name: string): string[] {
  const [, union = ""] = new RegExp(`type ${name} = ([^;]+);`).exec(endpointTypes) ?? [];
  return [...union.matchAll(/'([^']+)'/g)].map(([, one]) => one!);
}

const KNOWN_A = { types: literals("EnabledEvent"), versions: literals("ApiVersion") };

function shownA({ id, url, types, description, is_active, api_key }: PlayedDestination) {
  return {
    ...{ id, object: "webhook_endpoint", api_version: null, application: null, created: 1_700_000_000 },
    ...{ description, enabled_events: types, livemode: !api_key.includes("_test_"), metadata: {}, url },
    status: is_active ? "enabled" : "disabled",
  };
}

function replyA(vendors: PlayedVendors, key: string, { method, url, body }: Sent): Reply {
  const mine = vendors.at.provider_a;
  const [, id] = /^\/v1\/webhook_endpoints(?:\/(\w+))?$/.exec(url.pathname) ?? [null];
  if (id === null) return refusalA(404, "invalid_request_error", "resource_missing");
  const found = mine.find((one) => one.id === id);
  if (id !== undefined && !found) return refusalA(404, "invalid_request_error", "resource_missing");
  if (method === "DELETE" && found) {
    vendors.at.provider_a = mine.filter((one) => one !== found);
    return { status: 200, body: { id, object: "webhook_endpoint", deleted: true } };
  }
  if (method === "GET") {
    // Newest first; pages smaller than asked for, so that they are read on.
    const all = mine.toReversed();
    const after = all.findIndex((one) => one.id === url.searchParams.get("starting_after")) + 1;
    const data = all.slice(after, after + 2).map(shownA);
    const has_more = after + 2 < all.length;
    return { status: 200, body: { object: "list", url: url.pathname, has_more, data } };
  }
  const form = nested(new URLSearchParams(body)) as {
    [name in "api_version" | "description" | "disabled" | "url"]?: string;
  } & { enabled_events?: string[] };
  const { api_version = KNOWN_A.versions[0]!, enabled_events: types = found?.types ?? [] } = form;
  if (!KNOWN_A.versions.includes(api_version) || types.some((one) => !KNOWN_A.types.includes(one))) {
    return refusalA(400, "invalid_request_error", "parameter_invalid");
  }
  if (found) {
    found.types = types;
    if (form.disabled === "false") found.is_active = true;
    return { status: 200, body: shownA(found) };
  }
  if (mine.length >= vendors.most) {
    const message = `You have reached the maximum of ${vendors.most} endpoints with rk_live_1234567.`;
    return { status: 400, body: { error: { type: "invalid_request_error", message } } };
  }
  const { url: address = "", description = "" } = form;
  const made = { ...played(key), id: uniqueId("we_"), secret: uniqueId("whsec_"), url: address, types, description };
  mine.push(made);
  return { status: 200, body: { ...shownA(made), secret: made.secret } };
}

function played(api_key: string): PlayedDestination {
  return { id: "", url: "", types: [], description: "", is_active: true, secret: "", api_key };
}

function shownB(shown: PlayedDestination) {
  const { id, url, types, description, is_active, traffic_source = "platform", secret } = shown;
  return {
    ...{ id, description, type: "url", destination: url, active: is_active, api_version: 1 },
    ...{ include_sensitive_fields: false, traffic_source, endpoint_secret_key: secret },
    subscribed_events: types.map((name) => ({ name, description: "", group: "", available_versions: [1] })),
  };
}

function replyB(vendors: PlayedVendors, key: string, { method, url, body }: Sent): Reply {
  const mine = vendors.at.provider_b;
  const meta = { request_id: "req_1" };
  const [, id] = /^\/notification-settings(?:\/(\w+))?$/.exec(url.pathname) ?? [null];
  const found = mine.find((one) => one.id === id);
  if (id === null || (id !== undefined && !found)) return refusalB(404, "request_error", "not_found");
  if (method === "DELETE" && found) {
    vendors.at.provider_b = mine.filter((one) => one !== found);
    return { status: 204, body: null };
  }
  if (method === "GET") {
    const after = mine.findIndex((one) => one.id === url.searchParams.get("after")) + 1;
    const data = mine.slice(after, after + 2);
    const pagination = { per_page: 2, next: url.href, has_more: after + 2 < mine.length, estimated_total: mine.length };
    return { status: 200, body: { data: data.map(shownB), meta: { ...meta, pagination } } };
  }
  const given = JSON.parse(body) as Record<string, unknown>;
  if (found) {
    found.types = (given["subscribed_events"] as string[] | undefined) ?? found.types;
    found.is_active = (given["active"] as boolean | undefined) ?? found.is_active;
    Object.assign(found, given["traffic_source"] === undefined ? {} : { traffic_source: given["traffic_source"] });
    return { status: 200, body: { data: shownB(found), meta } };
  }
  if (mine.filter(({ is_active }) => is_active).length >= vendors.most) {
    const detail = `maximum of ${vendors.most} active notification settings for pdl_live_apikey_123456`;
    return { status: 400, body: { error: { type: "request_error", code: "limit", detail }, meta } };
  }
  const made = { ...played(key), url: String(given["destination"]), types: given["subscribed_events"] as string[] };
  const description = String(given["description"]);
  mine.push({ ...made, description, id: uniqueId("ntfset_"), secret: uniqueId("pdl_ntfset_") });
  return { status: 201, body: { data: shownB(mine.at(-1)!), meta } };
}
