/** Provider A's list of events (API v1), which covers 30 days, and the objects that its thin events reference. */
import * as z from "zod";
import { partsOf } from "../../lib/slices.ts";
import { DAY } from "../../lib/time.ts";
import type { PaymentFact } from "../../domain/fact.ts";
import type { ApiReach } from "../api-call.ts";
import {
  failureOf,
  requestFitting,
  type CodeAnswer,
  type CodeAsked,
  type EventAnswer,
  type EventsAnswer,
  type EventsAsked,
  type LinesAnswer,
  type LinksAnswer,
  type ThinEvent,
  type VendorReads,
} from "../reads.ts";
import { aliasesOf, expandableId, id } from "../wire.ts";
import { call, isTestKey } from "./api.ts";
import { readRates } from "./rates.ts";
import { discountsOf, namesOfCoupon, namesOfPromotionCode } from "./discounts.ts";
import { READ_TYPES } from "./events.ts";
import { invoiceLines, sessionLines } from "./lines.ts";
import { furtherLines } from "./payment.ts";
import { couponObject, discounted, invoiceLine, promotionCode } from "./schema.ts";
import { snapshotType } from "./thin.ts";

const PAGE = 100;
/** Page sizes; the next is tried if a page is too long, because an invoice can have any number of lines. */
const PAGES = [PAGE, 5, 1];
const MAX_PAGE_BYTES = 8 * 1024 * 1024;
const MAX_EVENT_BYTES = 1024 * 1024;

/** The period that the list covers. */
const KEPT_MS = 30 * DAY;

/** Limits all calls about one event: meanwhile the vendor waits for the answer to its webhook. */
const EVENT_TIMEOUT_MS = 10_000;

/** The vendor's limit of types in a call: the list is read once for each group of them. */
const TYPES_A_CALL = 20;
const GROUPS = [...partsOf(READ_TYPES, TYPES_A_CALL)];

const listed = z.looseObject({ id: z.string().regex(/^\w{1,255}$/) });
const page = z.object({
  object: z.literal("list"),
  data: z.array(listed),
  has_more: z.boolean(),
});

export function providerAReads(reach: ApiReach): VendorReads {
  const { timeoutMs = EVENT_TIMEOUT_MS } = reach;
  const soon = { ...reach, timeoutMs: Math.min(timeoutMs, EVENT_TIMEOUT_MS) };
  return {
    kept_ms: KEPT_MS,
    isTestKey,
    listEvents: (api_key, asked) => listEvents(reach, api_key, asked),
    readEvent: (api_key, thin) => readEvent(soon, api_key, thin),
    readLinks: (api_key, id) => readLinks(reach, api_key, id),
    readLines: (api_key, paid) => readLines(reach, api_key, paid),
    readRates: (api_key) => readRates(reach, api_key),
    readCode: (api_key, code) => (code.id.startsWith(OF_DISCOUNT) ? readDiscount : readCode)(reach, api_key, code),
  };
}

async function listEvents(reach: ApiReach, api_key: string, { from, cursor }: EventsAsked): Promise<EventsAnswer> {
  const { group, after } = placeOf(cursor);
  const ask = (limit: number) => {
    const query = new URLSearchParams({ limit: String(limit), "created[gte]": String(Math.floor(from / 1000)) });
    for (const type of GROUPS[group] ?? []) query.append("types[]", type);
    if (after !== null) query.set("starting_after", after);
    return call(reach, api_key, "GET", `/v1/events?${query.toString()}`, { most_bytes: MAX_PAGE_BYTES });
  };
  const answer = await requestFitting(PAGES, ask);
  const read = page.safeParse(answer.json);
  if (answer.status !== 200 || !read.success) return failureOf(answer);
  const { data, has_more } = read.data;
  const last = data.at(-1);
  // A list that announces more but returns an empty page would never end.
  if (has_more && !last) return failureOf(answer);
  const events = data.map((body) => ({ id: body.id, body }));
  return { outcome: "read", events, test: false, next: nextOf(group, has_more ? last!.id : null) };
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

const snapshot = z.looseObject({ object: z.literal("event"), id: z.string(), type: z.string() });
const object = z.looseObject({ object: z.string(), id: z.string().nullish() });
const DISCOUNT = "discount";

/**
 * The snapshot event of a thin one: the same occurrence, under the id that it has as a webhook too. If the thin one
 * does not name it, it is looked up in the list, because the object may have changed since. An event built around the
 * current object replaces one that the list lacks, or does not show to this key; it never replaces one that is older
 * than the list.
 */
async function readEvent(
  reach: ApiReach & { timeoutMs: number },
  api_key: string,
  thin: ThinEvent,
): Promise<EventAnswer> {
  const { snapshot_id, occurred_at } = thin;
  if (snapshot_id === null) {
    if (Date.parse(occurred_at) < reach.now() - KEPT_MS)
      return { outcome: "failed", reason: "refused", retry_after_ms: null };
    const half = { ...reach, timeoutMs: reach.timeoutMs / 2 };
    return (await listedEvent(half, api_key, thin)) ?? readObject(half, api_key, thin);
  }
  const answer = await call(reach, api_key, "GET", `/v1/events/${snapshot_id}`, asking(thin));
  const read = answer.status === 200 ? snapshot.safeParse(answer.json).data : undefined;
  const isIt = read?.id === snapshot_id && read.type === snapshotType(thin.event_type);
  return isIt ? { outcome: "read", body: read } : failureOf(answer);
}

function asking({ context }: ThinEvent) {
  return { most_bytes: MAX_EVENT_BYTES, context };
}

/** A thin event and its snapshot event have the same instant, in whole seconds for the snapshot event. */
const APART_S = 2;

const snapshots = page.extend({
  data: z.array(
    listed.extend({
      created: z.number(),
      data: z.looseObject({ object: object.extend({ customer: z.unknown().optional() }) }),
    }),
  ),
});

/** Finds the listed event of that type about the object nearest in time, or null. */
async function listedEvent(reach: ApiReach, api_key: string, thin: ThinEvent): Promise<EventAnswer | null> {
  const { object: about, occurred_at } = thin;
  const at = Date.parse(occurred_at) / 1000;
  const query = new URLSearchParams({
    ...{ "types[]": snapshotType(thin.event_type), limit: String(PAGE) },
    ...{ "created[gte]": String(Math.floor(at) - APART_S), "created[lte]": String(Math.ceil(at) + APART_S) },
  });
  const path = `/v1/events?${query.toString()}`;
  const answer = await call(reach, api_key, "GET", path, { ...asking(thin), most_bytes: MAX_PAGE_BYTES });
  if (answer.status === 403 || answer.status === 404 || answer.is_too_long) return null;
  const read = answer.status === 200 ? snapshots.safeParse(answer.json).data : undefined;
  if (!read) return failureOf(answer);
  // A discount has no address of its own, only its customer's.
  const isAbout = ({ object: type, id, customer }: (typeof read.data)[number]["data"]["object"]) =>
    type === about?.type && (about.id === null ? about.path.split("/").includes(String(customer)) : id === about.id);
  const [nearest] = read.data
    .filter(({ data }) => isAbout(data.object))
    .toSorted((a, b) => Math.abs(a.created - at) - Math.abs(b.created - at));
  return nearest ? { outcome: "read", body: nearest } : null;
}

/** An event built around the current state of the object that a thin one references. */
async function readObject(reach: ApiReach, api_key: string, thin: ThinEvent): Promise<EventAnswer> {
  const { object: about, event_id, occurred_at: created, test } = thin;
  const around = (read: object) => {
    const type = snapshotType(thin.event_type);
    return { object: "event", id: event_id, type, created, livemode: !test, data: { object: read } };
  };
  const answer = await call(reach, api_key, "GET", about?.path ?? "/", asking(thin));
  // A customer has a discount only while it lasts; later the payments made with it contain it (CODE-8).
  const isOver = about?.type === DISCOUNT && answer.status === 404;
  if (isOver) return { outcome: "read", body: around({ object: DISCOUNT }) };
  const read = answer.status === 200 ? object.safeParse(answer.json).data : undefined;
  const isIt = read?.object === about?.type && (about?.id === null || read?.id === about?.id);
  return read && isIt ? { outcome: "read", body: around(read) } : failureOf(answer);
}

const charge = z.object({ object: z.literal("charge"), payment_intent: expandableId });
const paidInvoices = z.object({ object: z.literal("list"), data: z.array(z.object({ invoice: expandableId })) });
const sessions = z.object({ object: z.literal("list"), data: z.array(z.object({ id, invoice: expandableId })) });

/** Reads a charge's intent, and the invoices and checkout session that an intent paid. */
async function readLinks(reach: ApiReach, api_key: string, asked: string): Promise<LinksAnswer> {
  // An invoice's payment has the invoice's id: no further ids exist.
  if (!/^\w+$/.test(asked) || asked.startsWith("in_")) return { outcome: "read", aliases: [asked] };
  const read = async <Schema extends z.ZodType>(schema: Schema, path: string) => {
    const answer = await call(reach, api_key, "GET", path);
    const found = answer.status === 200 ? schema.safeParse(answer.json).data : undefined;
    return found === undefined ? { failure: failureOf(answer) } : { found };
  };
  let intent: string | null = asked;
  if (!asked.startsWith("pi_")) {
    const { found, failure } = await read(charge, `/v1/charges/${asked}`);
    if (failure) return failure;
    intent = found.payment_intent;
  }
  if (intent === null) return { outcome: "read", aliases: [asked] };
  // A canceled or open one pays no invoice.
  const byIntent = new URLSearchParams({
    status: "paid",
    "payment[type]": "payment_intent",
    "payment[payment_intent]": intent,
  });
  const invoices = await read(paidInvoices, `/v1/invoice_payments?${byIntent.toString()}`);
  if (invoices.failure) return invoices.failure;
  const made = await read(
    sessions,
    `/v1/checkout/sessions?${new URLSearchParams({ payment_intent: intent }).toString()}`,
  );
  if (made.failure) return made.failure;
  const paid = invoices.found.data.map(({ invoice }) => invoice);
  return {
    outcome: "read",
    aliases: aliasesOf(asked, intent, ...paid, ...made.found.data.flatMap((one) => [one.id, one.invoice])),
  };
}

const lines = z.object({
  object: z.literal("list"),
  data: z.array(z.looseObject({ ...invoiceLine.shape, id })),
  has_more: z.boolean(),
});
/** No person writes an invoice with more lines. */
const MOST_LINE_PAGES = 10;

/** Reads all lines of an invoice, or of a session without one. */
async function readLines(reach: ApiReach, api_key: string, paid: PaymentFact): Promise<LinesAnswer> {
  const { key } = paid;
  const isSession = key.startsWith("cs_");
  const at = isSession ? `/v1/checkout/sessions/${key}/line_items` : `/v1/invoices/${key}/lines`;
  const all: z.output<typeof lines>["data"] = [];
  let isWhole = false;
  const query = new URLSearchParams({ limit: String(PAGE) });
  for (let pages = 1; /^\w+$/.test(key); pages++) {
    const answer = await call(reach, api_key, "GET", `${at}?${query.toString()}`, { most_bytes: MAX_PAGE_BYTES });
    const read = lines.safeParse(answer.json);
    if (answer.status !== 200 || !read.success) return failureOf(answer);
    all.push(...read.data.data);
    const last = read.data.data.at(-1);
    isWhole = !read.data.has_more;
    if (isWhole || !last || pages === MOST_LINE_PAGES) break;
    query.set("starting_after", last.id);
  }
  const known = isWhole ? (isSession ? sessionLines : invoiceLines)(all) : {};
  return { outcome: "read", facts: furtherLines(paid, isSession ? [] : all, known) };
}

/** Reads the name and coupon of a promotion code, or the name of a coupon. */
async function readCode(reach: ApiReach, api_key: string, { id, occurred_at }: CodeAsked): Promise<CodeAnswer> {
  const isPromotion = id.startsWith("promo_");
  const path = `/v1/${isPromotion ? "promotion_codes" : "coupons"}/${encodeURIComponent(id)}`;
  const answer = await call(reach, api_key, "GET", isPromotion ? `${path}?expand[]=promotion.coupon` : path);
  const schema = isPromotion ? promotionCode : couponObject;
  const isIt = z.object({ id: z.literal(id), object: z.literal(isPromotion ? "promotion_code" : "coupon") });
  if (answer.status !== 200 || !isIt.safeParse(answer.json).success) return failureOf(answer);
  const read = schema.safeParse(answer.json).data;
  if (!read) return failureOf(answer);
  const facts = "code" in read ? namesOfPromotionCode(read, occurred_at) : namesOfCoupon(read, occurred_at);
  return { outcome: "read", facts };
}

const OF_DISCOUNT = "di_";

/** Objects with discounts, by the prefix of their ids, and how deep the vendor should expand them. */
const CARRIERS = [
  {
    begins: "in_",
    of: "invoices",
    expand: ["discounts.promotion_code", "discounts.source.coupon", "lines.data.discounts.promotion_code"],
  },
  { begins: "sub_", of: "subscriptions", expand: ["discounts.promotion_code", "discounts.source.coupon"] },
];

/** Reads the source of a discount. It has no address of its own, so the object that carries it is read. */
async function readDiscount(reach: ApiReach, api_key: string, asked: CodeAsked): Promise<CodeAnswer> {
  const { id, occurred_at, carriers } = asked;
  for (const { begins, of, expand } of CARRIERS) {
    const carrier = carriers.find((one) => one.startsWith(begins) && /^\w+$/.test(one));
    if (carrier === undefined) continue;
    const query = expand.map((field) => `expand[]=${field}`).join("&");
    const answer = await call(reach, api_key, "GET", `/v1/${of}/${carrier}?${query}`, { most_bytes: MAX_EVENT_BYTES });
    const failure = failureOf(answer);
    if (answer.status !== 200 && failure.reason === "refused") continue;
    const read = answer.status === 200 ? discounted.safeParse(answer.json).data : undefined;
    if (read?.id !== carrier) return failure;
    const all = [...(read.discounts ?? []), ...(read.lines?.data.flatMap((line) => line.discounts ?? []) ?? [])];
    const facts = discountsOf(
      all.filter((one) => one.id === id),
      occurred_at,
    ).names;
    if (facts.length > 0) return { outcome: "read", facts };
  }
  return { outcome: "read", facts: [] };
}
