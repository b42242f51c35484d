import { describe, expect, it } from "vitest";
import { providerA } from "../../src/providers/provider-a/index.ts";
import { readerOf } from "../support/parsed.ts";
import {
  chargeRefunded,
  customerEvent,
  eventA,
  subscriptionDeleted,
  subscriptionEventA,
} from "../support/provider-a.ts";

const { factsOf, ignoredAs, refusedPaths } = readerOf(providerA);

const AT = 1_755_480_865;
const AT_ISO = "2025-08-18T01:34:25.000Z";
const expanded = (id: string) => ({ id, object: "expanded" });

describe("provider A: subscriptions and customers", () => {
  it("a deleted subscription is a cancellation", () => {
    expect(factsOf(subscriptionDeleted({ id: "sub_1", created: AT }))).toEqual([
      { kind: "cancellation", occurred_at: AT_ISO, subscription_id: "sub_1" },
    ]);
  });

  it("and is remembered when it names a partner", () => {
    expect(factsOf(subscriptionDeleted({ id: "sub_1", customer: "cus_1", ref: "jane", created: AT }))).toEqual([
      { kind: "cancellation", occurred_at: AT_ISO, subscription_id: "sub_1" },
      {
        kind: "attribution",
        occurred_at: AT_ISO,
        ref: "jane",
        subscription_id: "sub_1",
        customer_id: "cus_1",
        kept_by: "subscription",
      },
    ]);
  });

  it.each(["customer.subscription.created", "customer.subscription.updated"])("%s is remembered", (type) => {
    const ids = { id: "sub_1", customer: "cus_1", ref: "jane", created: AT };
    expect(factsOf(subscriptionEventA(type, ids))).toEqual([
      {
        kind: "attribution",
        occurred_at: AT_ISO,
        ref: "jane",
        subscription_id: "sub_1",
        customer_id: "cus_1",
        kept_by: "subscription",
      },
    ]);
    expect(ignoredAs(subscriptionEventA(type, { id: "sub_1" }))).toBe("no_ref");
    expect(factsOf(subscriptionEventA(type, { ...ids, object: { customer: expanded("cus_2") } }))).toMatchObject([
      { customer_id: "cus_2" },
    ]);
  });

  it.each(["customer.created", "customer.updated"])("%s is remembered", (type) => {
    expect(factsOf(customerEvent({ id: "cus_1", ref: "jane", created: AT }, type))).toEqual([
      {
        kind: "attribution",
        occurred_at: AT_ISO,
        ref: "jane",
        subscription_id: null,
        customer_id: "cus_1",
        kept_by: "customer",
      },
    ]);
    expect(ignoredAs(customerEvent({ id: "cus_1" }, type))).toBe("no_ref");
  });

  it("without an id is refused", () => {
    expect(refusedPaths(subscriptionDeleted({ object: { id: null } }))).toEqual(["data.object.id"]);
  });
});

describe("provider A: events that are deliberately not used", () => {
  it.each([
    ["checkout.session.expired", "session_expired"],
    ["invoice.payment_failed", "payment_failed"],
    ["invoice.voided", "invoice_never_paid"],
    ["invoice.overpaid", "credited_to_balance"],
    ["charge.failed", "payment_failed"],
    ["payment_intent.payment_failed", "payment_failed"],
    ["payout.paid", "unhandled_type"],
    ["invoice.created", "nothing_paid_yet"],
    ["transaction.completed", "unhandled_type"],
    ["constructor", "unhandled_type"],
    ["__proto__", "unhandled_type"],
  ])("%s: %s, whatever its object", (type, reason) => {
    expect(ignoredAs(eventA(type, { id: "x" }))).toBe(reason);
    const bare = providerA.parse({ id: "evt_1", type, created: AT });
    expect(bare).toMatchObject({ ok: true, event: { facts: [], ignored: reason } });
  });

  it("takes the newest kinds of event, whose time is a text", () => {
    const event = { id: "evt_1", type: "v2.core.account.updated", created: "2025-08-18T01:34:25.123456Z" };
    expect(providerA.parse(event)).toEqual({
      ok: true,
      event: {
        event_id: "evt_1",
        event_type: "v2.core.account.updated",
        occurred_at: "2025-08-18T01:34:25.123Z",
        facts: [],
        test: false,
        ignored: "unhandled_type",
      },
    });
  });
});

describe("provider A: the envelope", () => {
  it.each<[string, unknown, string[]]>([
    ["no id", { type: "x.y", created: AT }, ["id"]],
    ["an empty id", { id: "", type: "x.y", created: AT }, ["id"]],
    ["a number as id", { id: 1, type: "x.y", created: AT }, ["id"]],
    ["no type", { id: "evt_1", created: AT }, ["type"]],
    ["no time", { id: "evt_1", type: "x.y" }, ["created"]],
    ["a time that is none", { id: "evt_1", type: "x.y", created: "yesterday" }, ["created"]],
    ["a time before all", { id: "evt_1", type: "x.y", created: -1 }, ["created"]],
    ["a time in milliseconds", { id: "evt_1", type: "x.y", created: AT * 1_000_000 }, ["created"]],
    ["neither", {}, ["id", "type", "created"]],
    ["null", null, [""]],
    ["a text", "evt_1", [""]],
    ["a list", [], [""]],
    ["a number", 7, [""]],
    ["nothing", undefined, [""]],
  ])("with %s is refused", (_, body, paths) => {
    const result = providerA.parse(body);
    expect(result.ok ? [] : result.details.map((detail) => detail.path)).toEqual(paths);
  });

  it.each([
    ["no data", { id: "evt_1", type: "charge.refunded", created: AT }],
    ["data of null", { id: "evt_1", type: "charge.refunded", created: AT, data: null }],
    ["no object", { id: "evt_1", type: "charge.refunded", created: AT, data: {} }],
    ["an object that is a text", { id: "evt_1", type: "charge.refunded", created: AT, data: { object: "ch_1" } }],
    ["an object that is a list", { id: "evt_1", type: "charge.refunded", created: AT, data: { object: [] } }],
  ])("of a used type with %s is refused at data.object", (_, body) => {
    expect(providerA.parse(body)).toMatchObject({ ok: false, details: [{ path: "data.object" }] });
  });

  it("claims no owner: its program is named in the address (IN-1)", () => {
    const event = chargeRefunded({ object: { metadata: { service_program: "prog_1" } } });
    expect(providerA.claimedOwner(event)).toEqual({ program_id: null, transaction_id: null, subscription_id: null });
  });
});
