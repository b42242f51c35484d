/**
 * The requests that are sent to provider B, and that its snippets send, as the vendor's published OpenAPI description has
 * them: version 1 of 27 May 2025 (github.com/PaddleHQ/paddle-openapi, v1/openapi.yaml), and of its changelog the filter
 * `event_type` of 25 July 2025. The types of events are those of its SDK, which has all of the description's and newer ones.
 */
import { EventName } from "@paddle/paddle-node-sdk";
import { closed, listOf, misfitOf, TEXT, UP_TO_200, type Operation, type Reply, type Sent } from "./vendor-requests.ts";
import type { Schema } from "./json-schema.ts";

const TYPES = Object.values(EventName);

/** A list of one order alone, by id. */
const PAGES = { after: TEXT, order_by: { enum: ["id[ASC]", "id[DESC]"] }, per_page: UP_TO_200 };
const ANY_TYPE = TYPES.join("|").replaceAll(".", String.raw`\.`);

const SETTINGS = "/notification-settings";
const TRAFFIC: Schema = { enum: ["platform", "simulation", "all"] };
const SETTING: Record<string, Schema> = {
  api_version: { type: "integer", minimum: 1 },
  description: { type: "string", minLength: 1, maxLength: 500 },
  destination: { type: "string", minLength: 1, maxLength: 2048 },
  include_sensitive_fields: { type: "boolean" },
  subscribed_events: listOf({ enum: TYPES }),
  traffic_source: TRAFFIC,
};

const json = (schema: Schema) => ({ type: "application/json", schema }) as const;

const OPERATIONS: Operation[] = [
  {
    method: "GET",
    path: "/events",
    // Several types are one text.
    query: closed({ ...PAGES, event_type: { type: "string", pattern: `^(?:${ANY_TYPE})(?:,(?:${ANY_TYPE}))*$` } }),
  },
  { method: "GET", path: "/discounts/{discount_id}", query: closed({}) },
  {
    method: "GET",
    path: SETTINGS,
    query: closed({ ...PAGES, active: { enum: ["true", "false"] }, traffic_source: TRAFFIC }),
  },
  {
    method: "POST",
    path: SETTINGS,
    query: closed({}),
    body: json(
      closed({ ...SETTING, type: { enum: ["email", "url"] } }, [
        ...["description", "destination", "subscribed_events", "type"],
      ]),
    ),
  },
  {
    method: "PATCH",
    path: `${SETTINGS}/{notification_setting_id}`,
    query: closed({}),
    body: json(closed({ ...SETTING, active: { type: "boolean" } })),
  },
  { method: "DELETE", path: `${SETTINGS}/{notification_setting_id}`, query: closed({}) },
  // The request of the Integration page's snippet from the owner's server.
  {
    method: "POST",
    path: "/transactions",
    query: closed({ include: TEXT }),
    body: json(
      closed(
        {
          custom_data: { type: ["object", "null"] },
          items: listOf(closed({ price_id: TEXT, quantity: { type: "integer", minimum: 1 } }, ["price_id"]), {
            ...{ minItems: 1, maxItems: 100 },
          }),
        },
        ["items"],
      ),
    ),
  },
];

/** How the vendor refuses a request that is not as it describes; null for one that is. */
export function refusedByB(sent: Sent): Reply | null {
  const found = misfitOf(OPERATIONS, sent);
  if (found === null) return null;
  const { why, param, message } = found;
  if (why === "address") return refusalB(404, "request_error", "not_found", message);
  const refusal = refusalB(400, "request_error", why === "type" ? "bad_request" : "invalid_field");
  const { error, meta } = refusal.body as { error: object; meta: object };
  return { ...refusal, body: { error: { ...error, errors: [{ field: param, message }] }, meta } };
}

export function refusalB(status: number, type: string, code: string, detail = "The call is refused."): Reply {
  return { status, body: { error: { type, code, detail }, meta: { request_id: "req_1" } } };
}
