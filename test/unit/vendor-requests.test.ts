/**
 * The played vendors refuse requests as the vendors describe their addresses: each call of the tests is checked this
 * way.
 */
import { describe, expect, it } from "vitest";
import { READ_TYPES as READ_A } from "../../src/providers/provider-a/events.ts";
import { READ_TYPES as READ_B } from "../../src/providers/provider-b/events.ts";
import { refusedByA } from "../support/vendor-a-requests.ts";
import { refusedByB } from "../support/vendor-b-requests.ts";
import { nested, type Reply, type Sent } from "../support/vendor-requests.ts";

const FORM = "application/x-www-form-urlencoded";
const JSON_TYPE = "application/json";

function sent(line: string, body: string | object = ""): Sent {
  const [method = "", path = ""] = line.split(" ");
  const type = body === "" ? null : typeof body === "string" ? FORM : JSON_TYPE;
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return { method, url: new URL(path, "https://vendor.example"), type, body: text };
}

type Refusal = { error: { code?: string; param?: string; errors?: { field: string }[] } };

/** A short form: the status, the code and the parameter. */
function short(reply: Reply | null): string {
  if (reply === null) return "taken";
  const { code = "", param, errors = [] } = (reply.body as Refusal).error;
  return [reply.status, code, param ?? errors[0]?.field ?? ""].join(" ").trim();
}

const types = (of: readonly string[]) => of.map((type) => `types[]=${type}`).join("&");
const TRANSFER = "amount=100&currency=usd&destination=acct_1";
const URL_A = "url=https%3A%2F%2Fshop.example%2Fhook";

describe("provider A", () => {
  it.each<[string, string | object, string]>([
    [`GET /v1/events?limit=100&created[gte]=1&${types(READ_A.slice(0, 20))}`, "", "taken"],
    [`GET /v1/events?${types(READ_A.slice(0, 21))}`, "", "400 parameter_invalid types"],
    ["GET /v1/events?limit=101", "", "400 parameter_invalid limit"],
    ["GET /v1/events?limit=0", "", "400 parameter_invalid limit"],
    ["GET /v1/events?limit=1&limit=2", "", "400 parameter_invalid limit"],
    ["GET /v1/events?created[since]=1", "", "400 parameter_invalid created"],
    ["GET /v1/events?after=evt_1", "", "400 parameter_unknown after"],
    ["GET /v1/events?expand[]=data.data", "", "400 parameter_invalid expand.0"],
    ["GET /v1/events/evt_1", "", "taken"],
    ["GET /v1/events/", "", "404"],
    ["GET /v1/discounts/di_1", "", "404"],
    ["POST /v1/events", "", "404"],
    ["GET /v1/account", "a=1", "400 parameter_invalid"],
    ["GET /v1/checkout/sessions?payment_intent=pi_1", "", "taken"],
    ["GET /v1/checkout/sessions?intent=pi_1", "", "400 parameter_unknown intent"],
    [`GET /v1/checkout/sessions/cs_${"1".repeat(63)}`, "", "taken"],
    [`GET /v1/checkout/sessions/cs_${"1".repeat(64)}`, "", "404"],
    ["GET /v1/invoice_payments?payment[type]=payment_intent&payment[payment_intent]=pi_1", "", "taken"],
    ["GET /v1/invoice_payments?payment[payment_intent]=pi_1", "", "400 parameter_missing payment.type"],
    ["GET /v1/invoices/in_1?expand[]=lines.data.discounts.promotion_code", "", "taken"],
    ["GET /v1/invoices/in_1?expand[]=lines.data.discounts.source.coupon", "", "400 parameter_invalid expand.0"],
    ["GET /v1/invoices/in_1?expand[]=discounts.coupon", "", "400 parameter_invalid expand.0"],
    ["GET /v1/subscriptions/sub_1?expand[]=discounts.source.coupon", "", "taken"],
    ["GET /v1/promotion_codes/promo_1?expand[]=promotion.coupon", "", "taken"],
    ["GET /v1/promotion_codes/promo_1?expand[]=coupon", "", "400 parameter_invalid expand.0"],
    ["GET /v1/transfers?transfer_group=pay_1&limit=10", "", "taken"],
    ["POST /v1/transfers", `${TRANSFER}&metadata[payout_id]=pay_1`, "taken"],
    ["POST /v1/transfers", `${TRANSFER}&metadata[note]=${"x".repeat(501)}`, "400 parameter_invalid metadata.note"],
    ["POST /v1/transfers", `${TRANSFER}&payout_id=pay_1`, "400 parameter_unknown payout_id"],
    ["POST /v1/transfers", TRANSFER.replace("100", "1.5"), "400 parameter_invalid amount"],
    ["POST /v1/transfers", TRANSFER.replace("usd", "USD"), "400 parameter_invalid currency"],
    ["POST /v1/transfers", "amount=100&currency=usd", "400 parameter_missing destination"],
    ["POST /v1/transfers", { amount: 100, currency: "usd", destination: "acct_1" }, "400 parameter_invalid"],
    ["POST /v1/webhook_endpoints", `${URL_A}&enabled_events[]=invoice.paid`, "taken"],
    ["POST /v1/webhook_endpoints", URL_A, "400 parameter_missing enabled_events"],
    ["POST /v1/webhook_endpoints", `${URL_A}&enabled_events[]=*&disabled=true`, "400 parameter_unknown disabled"],
    ["POST /v1/webhook_endpoints/we_1", "disabled=no", "400 parameter_invalid disabled"],
    ["DELETE /v1/webhook_endpoints/we_1", "", "taken"],
    ["POST /v2/core/account_links", { account: "acct_1", use_case: {} }, "400 parameter_missing use_case.type"],
    ["POST /v2/core/accounts", { email: "jane@mail.example" }, "400 parameter_unknown email"],
    ["POST /v2/core/accounts", { identity: { country: "DE" } }, "400 parameter_invalid identity.country"],
  ])("%s %j: %3$s", (line, body, expected) => {
    expect(short(refusedByA(sent(line, body)))).toBe(expected);
  });
});

describe("provider B", () => {
  const setting = { description: "Program", type: "url", destination: "https://shop.example/hook" };
  const subscribed_events = ["transaction.completed"];

  it.each<[string, string | object, string]>([
    [`GET /events?order_by=id[DESC]&per_page=200&event_type=${READ_B.join(",")}`, "", "taken"],
    ["GET /events?event_type=transaction.completed,invoice.paid", "", "400 invalid_field event_type"],
    ["GET /events?event_type=", "", "400 invalid_field event_type"],
    ["GET /events?per_page=201", "", "400 invalid_field per_page"],
    ["GET /events?order_by=occurred_at[DESC]", "", "400 invalid_field order_by"],
    ["GET /events?from=2026-01-01", "", "400 invalid_field from"],
    ["GET /discounts/dsc_1", "", "taken"],
    ["GET /notification-settings?per_page=200&after=ntfset_1", "", "taken"],
    ["GET /notification-setting", "", "404 not_found"],
    ["POST /notification-settings", { ...setting, subscribed_events, api_version: 1 }, "taken"],
    ["POST /notification-settings", setting, "400 invalid_field subscribed_events"],
    ["POST /notification-settings", { ...setting, subscribed_events, active: true }, "400 invalid_field active"],
    ["POST /notification-settings", { ...setting, subscribed_events: ["*"] }, "400 invalid_field subscribed_events.0"],
    ["PATCH /notification-settings/ntfset_1", { active: true, subscribed_events }, "taken"],
    ["PATCH /notification-settings/ntfset_1", { type: "url" }, "400 invalid_field type"],
    ["PATCH /notification-settings/ntfset_1", "active=true", "400 bad_request"],
  ])("%s %j: %3$s", (line, body, expected) => {
    expect(short(refusedByB(sent(line, body)))).toBe(expected);
  });
});

it("the names of a query or form are fields and lists", () => {
  const query = "a=1&b[c]=2&b[d][e]=3&f[]=4&f[]=5&g[0][h]=6&g[1][h]=7&i=8&i=9";
  const read = { a: "1", b: { c: "2", d: { e: "3" } }, f: ["4", "5"], g: [{ h: "6" }, { h: "7" }], i: ["8", "9"] };
  expect(nested(new URLSearchParams(query))).toEqual(read);
});
