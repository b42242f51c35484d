/**
 * The requests of this service to provider A, and those of its snippets. The descriptions of events, transfers, webhook
 * endpoints, invoice payments, discounts and accounts follow the vendor's published OpenAPI description, version
 * 2026-09-30.endive (github.com/stripe/openapi, latest/openapi.spec3.json); the rest, and the expandable fields, follow
 * the types of its SDK of 2026-10-28.endive. Query parameters are complete for each address; large bodies contain the
 * sent fields only, so that a new field must be added before it is sent.
 */
import {
  BOOLEAN,
  closed,
  INTEGER,
  listOf,
  misfitOf,
  TEXT,
  UP_TO_100,
  type Operation,
  type Reply,
  type Sent,
} from "./vendor-requests.ts";
import type { Schema } from "./json-schema.ts";

/** The expandable fields of each resource, with the resource to which each leads. */
const EXPANDABLE: Record<string, Record<string, string>> = {
  invoice: { confirmation_secret: "", discounts: "discount", lines: "lines" },
  lines: { data: "line_item" },
  line_item: { discounts: "discount" },
  subscription: { discounts: "discount", latest_invoice: "invoice" },
  discount: { customer: "", promotion_code: "promotion_code", source: "discount_source" },
  discount_source: { coupon: "" },
  promotion_code: { customer: "", promotion: "promotion" },
  promotion: { coupon: "" },
  balance_transactions: { data: "balance_transaction" },
  balance_transaction: { source: "" },
};

/** "Expansions have a maximum depth of four levels." */
const MOST_LEVELS = 4;

function pathsOf(resource: string, levels = MOST_LEVELS): string[] {
  if (levels === 0) return [];
  return Object.entries(EXPANDABLE[resource] ?? {}).flatMap(([field, leads]) => [
    field,
    ...pathsOf(leads, levels - 1).map((path) => `${field}.${path}`),
  ]);
}

function expand(resource = ""): Record<string, Schema> {
  return { expand: listOf({ enum: pathsOf(resource) }) };
}

const RANGE: Schema = {
  anyOf: [INTEGER, closed({ gt: INTEGER, gte: INTEGER, lt: INTEGER, lte: INTEGER })],
};
const PAGES = { ending_before: TEXT, limit: UP_TO_100, starting_after: TEXT, ...expand() };
/** Keys of 40 characters and values of 500, at most 50. */
const METADATA: Schema = { type: "object", additionalProperties: { type: "string", maxLength: 500 } };
const CURRENCY: Schema = { type: "string", pattern: "^[a-z]{3}$" };
const EVENT_TYPE: Schema = { type: "string", pattern: "^(?:\\*|[a-z_]+(?:\\.[a-z_]+)+)$" };

const form = (schema: Schema) => ({ type: "application/x-www-form-urlencoded", schema }) as const;
const json = (schema: Schema) => ({ type: "application/json", schema }) as const;

/** A read of an object by its id: an event's subject, and the objects read beside it. */
function read(path: string, resource = "", fields: Record<string, Schema> = {}): Operation {
  return { method: "GET", path, query: closed({ ...fields, ...expand(resource) }) };
}

const READS: Operation[] = [
  read("/v1/account"),
  read("/v1/balance"),
  {
    method: "GET",
    path: "/v1/balance_transactions",
    query: closed({
      ...PAGES,
      ...{ created: RANGE, currency: TEXT, payout: TEXT, source: TEXT, type: TEXT },
      ...expand("balance_transactions"),
    }),
  },
  {
    method: "GET",
    path: "/v1/events",
    query: closed({
      ...PAGES,
      ...{ created: RANGE, delivery_success: BOOLEAN, type: TEXT, types: listOf(EVENT_TYPE, { maxItems: 20 }) },
    }),
  },
  read("/v1/events/{id}"),
  read("/v1/charges/{charge}"),
  {
    method: "GET",
    path: "/v1/checkout/sessions",
    query: closed({
      ...PAGES,
      ...{ created: RANGE, customer: TEXT, customer_account: TEXT, payment_intent: TEXT, payment_link: TEXT },
      customer_details: closed({ email: { type: "string" } }, ["email"]),
      ...{ status: { enum: ["complete", "expired", "open"] }, subscription: TEXT },
    }),
  },
  { ...read("/v1/checkout/sessions/{session}"), longest_id: 66 },
  { method: "GET", path: "/v1/checkout/sessions/{session}/line_items", query: closed(PAGES), longest_id: 66 },
  read("/v1/coupons/{coupon}"),
  read("/v1/credit_notes/{id}"),
  read("/v1/customers/{customer}"),
  read("/v1/customers/{customer}/discount", "discount"),
  read("/v1/disputes/{dispute}"),
  {
    method: "GET",
    path: "/v1/invoice_payments",
    query: closed({
      ...PAGES,
      ...{ created: RANGE, invoice: TEXT, status: { enum: ["canceled", "open", "paid"] } },
      payment: closed(
        { payment_intent: TEXT, payment_record: TEXT, type: { enum: ["payment_intent", "payment_record"] } },
        ["type"],
      ),
    }),
  },
  read("/v1/invoice_payments/{invoice_payment}"),
  read("/v1/invoices/{invoice}", "invoice"),
  { method: "GET", path: "/v1/invoices/{invoice}/lines", query: closed({ ...PAGES, ...expand() }) },
  read("/v1/payment_intents/{intent}", "", { client_secret: TEXT }),
  read("/v1/promotion_codes/{promotion_code}", "promotion_code"),
  read("/v1/refunds/{refund}"),
  read("/v1/subscriptions/{subscription}", "subscription"),
  read("/v1/transfers/{transfer}"),
];

const TRANSFERS: Operation[] = [
  {
    method: "GET",
    path: "/v1/transfers",
    query: closed({ ...PAGES, created: RANGE, destination: TEXT, transfer_group: TEXT }),
  },
  {
    method: "POST",
    path: "/v1/transfers",
    query: closed({}),
    body: form(
      closed(
        {
          // "A positive integer in cents"; it may be left out beside a `source_transaction`, which is not sent here.
          amount: { type: "string", pattern: "^[1-9][0-9]*$" },
          ...{ currency: CURRENCY, description: TEXT, destination: { type: "string" }, metadata: METADATA },
          ...{
            source_type: { enum: ["bank_account", "card", "fpx"] },
            transfer_group: { type: "string" },
            ...expand(),
          },
        },
        ["amount", "currency", "destination"],
      ),
    ),
  },
];

const ENDPOINTS = "/v1/webhook_endpoints";
const ENDPOINT = {
  ...{ description: TEXT, enabled_events: listOf(EVENT_TYPE, { minItems: 1 }), metadata: METADATA },
  url: { type: "string", format: "uri" },
  ...expand(),
};

const WEBHOOK_ENDPOINTS: Operation[] = [
  { method: "GET", path: ENDPOINTS, query: closed(PAGES) },
  {
    method: "POST",
    path: ENDPOINTS,
    query: closed({}),
    body: form(closed({ ...ENDPOINT, api_version: TEXT, connect: BOOLEAN }, ["enabled_events", "url"])),
  },
  {
    method: "POST",
    path: `${ENDPOINTS}/{webhook_endpoint}`,
    query: closed({}),
    body: form(closed({ ...ENDPOINT, disabled: BOOLEAN })),
  },
  { method: "DELETE", path: `${ENDPOINTS}/{webhook_endpoint}`, query: closed({}) },
];

const STRING: Schema = { type: "string" };
const REQUESTED = closed({ requested: { type: "boolean" } }, ["requested"]);

/** API v2: JSON with typed numbers and booleans. */
const ACCOUNTS: Operation[] = [
  {
    method: "POST",
    path: "/v2/core/accounts",
    query: closed({}),
    body: json(
      closed({
        configuration: closed({
          recipient: closed({
            capabilities: closed({ stripe_balance: closed({ stripe_transfers: REQUESTED }) }),
          }),
        }),
        ...{ account_token: STRING, contact_email: STRING, contact_phone: STRING, display_name: STRING },
        dashboard: { enum: ["express", "full", "none"] },
        defaults: closed({
          currency: CURRENCY,
          responsibilities: closed(
            {
              fees_collector: { enum: ["application", "application_custom", "application_express", "stripe"] },
              losses_collector: { enum: ["application", "stripe"] },
            },
            ["fees_collector", "losses_collector"],
          ),
        }),
        identity: closed({ country: { type: "string", pattern: "^[a-z]{2}$" } }),
        metadata: METADATA,
      }),
    ),
  },
  {
    method: "POST",
    path: "/v2/core/account_links",
    query: closed({}),
    body: json(
      closed(
        {
          account: STRING,
          use_case: closed(
            {
              type: { enum: ["account_onboarding", "account_update"] },
              account_onboarding: closed({ refresh_url: STRING, return_url: STRING }, ["refresh_url"]),
            },
            ["type"],
          ),
        },
        ["account", "use_case"],
      ),
    ),
  },
];

const PRICE = closed({ price: TEXT, quantity: INTEGER });

/** Requests of the Integration page's snippets from the owner's server. */
const SNIPPETS: Operation[] = [
  {
    method: "POST",
    path: "/v1/checkout/sessions",
    query: closed({}),
    body: form(
      closed({
        client_reference_id: { type: "string", maxLength: 200 },
        line_items: listOf(PRICE, { maxItems: 100 }),
        mode: { enum: ["payment", "setup", "subscription"] },
        ...{ return_url: TEXT, success_url: TEXT },
        subscription_data: closed({ metadata: METADATA }),
        ui_mode: { enum: ["elements", "embedded_page", "form", "hosted_page"] },
      }),
    ),
  },
  {
    method: "POST",
    path: "/v1/payment_intents",
    query: closed({}),
    body: form(
      closed(
        {
          amount: INTEGER,
          automatic_payment_methods: closed({ enabled: BOOLEAN }, ["enabled"]),
          ...{ currency: CURRENCY, metadata: METADATA, receipt_email: TEXT },
        },
        ["amount", "currency"],
      ),
    ),
  },
  {
    method: "POST",
    path: "/v1/subscriptions",
    query: closed({}),
    body: form(
      closed({
        ...{ customer: TEXT, items: listOf(PRICE, { maxItems: 20 }), metadata: METADATA },
        payment_behavior: {
          enum: ["allow_incomplete", "default_incomplete", "error_if_incomplete", "pending_if_incomplete"],
        },
        ...expand("subscription"),
      }),
    ),
  },
];

const OPERATIONS = [...READS, ...TRANSFERS, ...WEBHOOK_ENDPOINTS, ...ACCOUNTS, ...SNIPPETS];

const CODES = {
  unknown: "parameter_unknown",
  missing: "parameter_missing",
  invalid: "parameter_invalid",
  type: "parameter_invalid",
};

/** How the vendor refuses a request that is not as it describes; null for one that is. */
export function refusedByA(sent: Sent): Reply | null {
  const found = misfitOf(OPERATIONS, sent);
  if (found === null) return null;
  const { why, param, message } = found;
  if (why === "address") return refusalA(404, "invalid_request_error", null, `Unrecognized request URL (${message}).`);
  const refusal = refusalA(400, "invalid_request_error", CODES[why], message);
  return { ...refusal, body: { error: { ...(refusal.body as { error: object }).error, param } } };
}

export function refusalA(status: number, type: string, code: string | null, message = "The call is refused."): Reply {
  return { status, body: { error: { type, ...(code === null ? {} : { code }), message } } };
}
