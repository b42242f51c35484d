/**
 * The vendors' lists of events, and the subjects of thin events, played in memory: their order, pages and errors, and
 * faults on the way. Each call is checked against the vendor's published description.
 */
import type { ListedSetting, ListedVendor } from "../../src/providers/registry.ts";
import type { Fetch } from "../../src/lib/deadline.ts";
import type { Vendor } from "../../src/providers/provider.ts";
import type { VendorReads } from "../../src/providers/reads.ts";
import type { EventA } from "./provider-a.ts";
import type { EventB } from "./provider-b.ts";
import { objectPath } from "./thin.ts";
import { refusalA, refusedByA } from "./vendor-a-requests.ts";
import { refusalB, refusedByB } from "./vendor-b-requests.ts";
import type { Reply, Sent } from "./vendor-requests.ts";

export const LIST_URLS = { provider_a: "https://api.stripe.com", provider_b: "https://api.paddle.com" } as const;
export const SANDBOX_URL = "https://sandbox-api.paddle.com";

/** Vendors whose lists are read with a key: a new provider does not compile without its own. */
export type Reading = { [V in ListedVendor]: `${V}_api_key` extends ListedSetting ? V : never }[ListedVendor];
export const LIST_KEYS = {
  provider_a: "rk_live_that_reads_events_of_a",
  provider_b: "pdl_live_apikey_that_reads_events_of_b",
} as const satisfies Record<Reading, string>;
export const READING = Object.keys(LIST_KEYS) as readonly Reading[];

/** The fault of one call. */
export type ListFault =
  | "lost" // No answer.
  | "cut" // The answer ends in the middle.
  | "garbage" // From something on the way.
  | "other" // JSON, and not a list.
  | "slow" // The answer never ends.
  | "forbidden"
  | "gone"
  | "limited"
  | "broken";

export const PASSING_FAULTS: readonly ListFault[] = ["lost", "cut", "garbage", "other", "limited", "broken"];

export interface EventLists {
  /** Replaces the global `fetch`. */
  fetch: Fetch;
  readsOf: (provider: Vendor) => VendorReads | null;
  /** The events in any order: the list sorts them. */
  a: EventA[];
  b: EventB[];
  /** The payments of each intent of provider A. */
  links: {
    payment_intent: string;
    charge: string | null;
    invoice: string | null;
    session: string | null;
    /** The status of the invoice's payment; `paid` unless given. */
    status?: "canceled" | "open";
  }[];
  /** Codes, and invoices and subscriptions that carry them, of provider A, and discounts of provider B, as each vendor has them. */
  codes: ({ id: string; object?: string } & Record<string, unknown>)[];
  /** The keys that the vendors accept, and the code with which they refuse others. */
  keys: Set<string>;
  key_refused: string;
  calls: URL[];
  /** Asked before each call, with its number. */
  faultOf: (call: number) => ListFault | null;
  /** Called before each call is answered: events may come meanwhile. */
  meanwhile: (call: number) => void;
}

/** The default: without faults. */
export const NO_FAULT = () => null;

/** How long a played vendor is waited for, in ms: it answers at once, however long its test takes, unless faults are played. */
export function patience(faultOf: unknown): number {
  return faultOf === NO_FAULT ? 600_000 : 50;
}

export function openEventLists(): EventLists {
  const lists: EventLists = {
    fetch: (url, init) => answer(lists, new Request(url, init)),
    readsOf: ({ name, reads }) =>
      reads?.({
        fetch: (url, init) => lists.fetch(url, init),
        baseUrl: LIST_URLS[name as keyof typeof LIST_URLS],
        now: Date.now,
        timeoutMs: patience(lists.faultOf),
      } as Parameters<typeof reads>[0]) ?? null,
    ...{ a: [], b: [], links: [], codes: [], calls: [], faultOf: NO_FAULT, meanwhile: () => {} },
    keys: new Set(Object.values(LIST_KEYS)),
    key_refused: "invalid_token",
  };
  return lists;
}

async function answer(lists: EventLists, request: Request): Promise<Response> {
  const url = new URL(request.url);
  const call = lists.calls.push(url);
  lists.meanwhile(call);
  const fault = lists.faultOf(call);
  if (fault === "lost") throw new TypeError("connection reset");
  if (fault === "slow") return new Response(new ReadableStream());
  if (fault === "garbage") return new Response("<html>502 Bad gateway", { status: 200 });
  const { method, headers } = request;
  const sent = { method, url, type: headers.get("content-type"), body: await request.text() };
  const reply = replyOf(lists, sent, headers.get("authorization") ?? "", fault);
  const text = JSON.stringify(reply.body);
  return new Response(fault === "cut" ? text.slice(0, text.length / 2) : text, {
    status: reply.status,
    headers: { "content-type": "application/json", ...reply.headers },
  });
}

function replyOf(lists: EventLists, sent: Sent, authorization: string, fault: ListFault | null): Reply {
  const { url } = sent;
  const key = /^Bearer (\S+)$/i.exec(authorization)?.[1] ?? "";
  const isA = url.origin === LIST_URLS.provider_a;
  const refuse = isA ? refusalA : refusalB;
  if (fault === "broken") return refuse(500, "api_error", "internal_error");
  if (fault === "limited")
    return { ...refuse(429, "api_error", "too_many_requests"), headers: { "retry-after": "600" } };
  if (!lists.keys.has(key)) return refuse(isA ? 401 : 403, "request_error", lists.key_refused);
  if (fault === "forbidden") return refuse(403, "request_error", "forbidden");
  if (fault === "gone") return refuse(404, "request_error", "not_found");
  if (fault === "other") return { status: 200, body: { object: "balance", available: [] } };
  if (isA) return refusedByA(sent) ?? replyA(lists, url);
  const isOther = url.origin !== LIST_URLS.provider_b && url.origin !== SANDBOX_URL;
  // A key is of one of the two hosts.
  if (!isOther && key.startsWith("pdl_sdbx_") !== (url.origin === SANDBOX_URL)) {
    return refuse(403, "request_error", "forbidden");
  }
  return (isOther ? null : refusedByB(sent)) ?? replyB(lists, url, isOther);
}

function replyA(lists: EventLists, url: URL): Reply {
  if (url.pathname === "/v1/events") return listA(lists.a, url);
  return linkedA(lists, url) ?? codeA(lists, url) ?? namedA(lists.a, url);
}

function replyB({ b, codes }: EventLists, url: URL, isOther: boolean): Reply {
  const code = isOther ? undefined : codes.find(({ id }) => url.pathname === `/discounts/${id}`);
  if (code) return { status: 200, body: { data: code, meta: { request_id: "req_1" } } };
  return isOther || url.pathname !== "/events" ? refusalB(404, "request_error", "not_found") : listB(b, url);
}

/** Newest first; those of one second in the order in which they came, newest first. */
function listA(events: readonly EventA[], { searchParams }: URL): Reply {
  const types = [...searchParams].filter(([name]) => name.startsWith("types[")).map(([, type]) => type);
  const limit = Number(searchParams.get("limit") ?? 10);
  const since = Number(searchParams.get("created[gte]") ?? 0);
  const until = Number(searchParams.get("created[lte]") ?? Infinity);
  const after = searchParams.get("starting_after");
  const all = events.toReversed().toSorted((x, y) => y.created - x.created);
  if (after !== null && !all.some(({ id }) => id === after)) {
    return refusalA(400, "invalid_request_error", "resource_missing");
  }
  const matching = all
    .slice(after === null ? 0 : all.findIndex(({ id }) => id === after) + 1)
    .filter(
      ({ created, type }) => created >= since && created <= until && (types.length === 0 || types.includes(type)),
    );
  const data = matching.slice(0, limit);
  return { status: 200, body: { object: "list", url: "/v1/events", has_more: matching.length > limit, data } };
}

/** The charge, or the lists that are filtered by an intent; null for another address. */
function linkedA({ links }: EventLists, { pathname, searchParams }: URL): Reply | null {
  const charged = links.find(({ charge }) => charge !== null && pathname === `/v1/charges/${charge}`);
  if (charged) {
    const { charge, payment_intent } = charged;
    return { status: 200, body: { id: charge, object: "charge", payment_intent } };
  }
  const intent = searchParams.get("payment_intent") ?? searchParams.get("payment[payment_intent]");
  const own = links.filter(({ payment_intent }) => payment_intent === intent);
  const list = (data: object[]) => ({ status: 200, body: { object: "list", url: pathname, has_more: false, data } });
  if (pathname === "/v1/checkout/sessions") {
    return list(
      own.flatMap(({ session }) =>
        session === null ? [] : [{ id: session, object: "checkout.session", invoice: null }],
      ),
    );
  }
  if (pathname !== "/v1/invoice_payments") return null;
  const wanted = searchParams.get("status");
  return list(
    own.flatMap(({ invoice, status = "paid" }) =>
      invoice === null || (wanted ?? status) !== status
        ? []
        : [{ id: "inpay_1", object: "invoice_payment", invoice, status }],
    ),
  );
}

/** The paths of provider A for the objects in `codes`, by `object`; a discount has no path. */
const PLACES: Record<string, string> = {
  promotion_code: "promotion_codes",
  coupon: "coupons",
  invoice: "invoices",
  subscription: "subscriptions",
};

/** One of `codes`, with expanded objects in place of their ids, or null. */
function codeA({ codes }: EventLists, { pathname, searchParams }: URL): Reply | null {
  const [place, id] = pathname.split("/").slice(2).map(decodeURIComponent);
  const found = codes.find((code) => code.id === id && PLACES[String(code.object)] === place);
  if (!found) return null;
  const expanded = searchParams.getAll("expand[]").reduce((body, path) => expand(codes, body, path.split(".")), found);
  return { status: 200, body: expanded };
}

/** Puts objects in place of ids at a path; of a list or an array in each. */
function expand<Value>(codes: EventLists["codes"], value: Value, [field, ...deeper]: string[]): Value {
  if (Array.isArray(value)) return value.map((one) => expand(codes, one, [field!, ...deeper])) as Value;
  if (field === undefined || typeof value !== "object" || value === null) return value;
  const record = value as Record<string, unknown>;
  const whole = (one: unknown) => codes.find(({ id }) => id === one) ?? one;
  const inner = record[field];
  const read = Array.isArray(inner) ? inner.map(whole) : whole(inner);
  return { ...record, [field]: expand(codes, read, deeper) } as Value;
}

/** One event by its id, or the object of the last event about it as it is since. */
function namedA(events: readonly EventA[], { pathname }: URL): Reply {
  const found = pathname.startsWith("/v1/events/")
    ? events.find(({ id }) => pathname === `/v1/events/${id}`)
    : events.findLast((event) => pathname === objectPath(event))?.data.object;
  return found ? { status: 200, body: found } : refusalA(404, "invalid_request_error", "resource_missing");
}

/** Sorted by id, which is the order of arrival. */
function listB(events: readonly EventB[], url: URL): Reply {
  const { searchParams } = url;
  const order = searchParams.get("order_by") ?? "id[DESC]";
  const per_page = Number(searchParams.get("per_page") ?? 50);
  const types = searchParams.get("event_type")?.split(",") ?? [];
  const byTime = events.toSorted((x, y) =>
    x.occurred_at < y.occurred_at ? -1 : x.occurred_at > y.occurred_at ? 1 : 0,
  );
  const all = order === "id[ASC]" ? byTime : byTime.toReversed();
  const after = searchParams.get("after");
  const place = all.findIndex(({ event_id }) => event_id === after);
  if (after !== null && place < 0) return refusalB(400, "request_error", "invalid_field");
  const matching = all.slice(place + 1).filter(({ event_type }) => types.length === 0 || types.includes(event_type));
  const data = matching.slice(0, per_page);
  const next = new URL(url);
  next.searchParams.set("after", data.at(-1)?.event_id ?? "");
  const pagination = {
    ...{ per_page, next: next.href, has_more: matching.length > per_page, estimated_total: all.length },
  };
  return { status: 200, body: { data, meta: { request_id: "req_1", pagination } } };
}

/** An event, put on the list of its vendor. */
export function putOnList(lists: EventLists, provider: string, body: string): void {
  if (provider === "provider_a") lists.a.push(JSON.parse(body) as EventA);
  else lists.b.push(JSON.parse(body) as EventB);
}
