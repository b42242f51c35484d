import { describe, expect, it } from "vitest";
import { providerA } from "../../src/providers/provider-a/index.ts";
import { providerB } from "../../src/providers/provider-b/index.ts";
import { fixtureEvents, itOfCaptured } from "../support/fixtures.ts";
import {
  chargeRefunded,
  disputeClosed,
  invoicePaid,
  sessionAsyncSucceeded,
  sessionCompleted,
} from "../support/provider-a.ts";
import {
  adjustmentCreated,
  adjustmentUpdated,
  subscriptionCanceled,
  transactionCompleted,
} from "../support/provider-b.ts";

/**
 * Fields that owners fill freely, and those with a large vocabulary of their own, such as a payment method or a
 * catalogue.
 */
const FREE = new Set([
  ...["metadata", "custom_data", "payment_method_details", "payment_method_options", "customer_update"],
  ...["source", "shipping", "transfer_data", "evidence", "payment_settings"],
]);

/** Every place of an object as `a.b.0.c`, down to the free fields; only the first item of a list. */
function places(value: unknown, at = ""): string[] {
  if (typeof value !== "object" || value === null) return [];
  const entries = Array.isArray(value) ? value.slice(0, 1).map((item) => ["0", item] as const) : Object.entries(value);
  return entries.flatMap(([key, child]) => {
    const place = at === "" ? key : `${at}.${key}`;
    return FREE.has(key) ? [place] : [place, ...places(child, place)];
  });
}

/** Places the two do not share, except below a place that one of them holds empty or null. */
function differences(made: unknown, captured: unknown): string[] {
  const [ours, theirs] = [places(made), places(captured)];
  const lacking = (some: string[], all: string[]) =>
    some
      .filter((place) => !all.includes(place))
      .filter((place) => {
        const parent = place.split(".").slice(0, -1).join(".");
        return parent === "" || all.some((other) => other.startsWith(`${parent}.`));
      });
  return [...lacking(ours, theirs).map((place) => `+${place}`), ...lacking(theirs, ours).map((place) => `-${place}`)];
}

const MADE: Record<string, unknown> = {
  "a.checkout.session.completed.payment.2025-05-28.basil.json": sessionCompleted(),
  "a.checkout.session.completed.subscription.2025-07-30.basil.json": sessionCompleted({ subscription: "sub_1" }),
  "a.derived.checkout.session.completed.unpaid.basil.json": sessionCompleted({ payment_status: "unpaid" }),
  "a.derived.checkout.session.async_payment_succeeded.basil.json": sessionAsyncSucceeded(),
  "a.invoice.paid.subscription_create.2025-07-30.basil.json": invoicePaid(),
  "a.derived.invoice.paid.subscription_cycle.basil.json": invoicePaid({ ref: "jane", amount: 11_900, tax: 1_900 }),
  "a.derived.charge.refunded.partial.basil.json": chargeRefunded({ amount: 3000, refunded: 1000 }),
  "b.transaction.completed.one_off.web.json": transactionCompleted({ tax: 1 }),
  "b.transaction.completed.subscription_recurring.json": transactionCompleted({ tax: 1, subscription: "sub_1" }),
  "b.adjustment.created.refund.partial.pending.json": adjustmentCreated({ transaction: "txn_1" }),
  "b.adjustment.updated.refund.partial.approved.json": adjustmentUpdated({ transaction: "txn_1" }),
  "b.adjustment.created.chargeback.full.approved.json": adjustmentCreated({
    transaction: "txn_1",
    action: "chargeback",
  }),
  "b.subscription.canceled.json": subscriptionCanceled({ ref: "jane" }),
};

/** Fields that may differ between one kind of event and the next of the same vendor. */
const OCCASIONAL = new Set(["+data.object.payments", "-data.previous_attributes", "-data.object.after_expiration"]);

describe("the makers' events", () => {
  itOfCaptured("have the places of the captured ones", () => {
    for (const [name, captured] of [...fixtureEvents("a"), ...fixtureEvents("b")]) {
      if (name === "a.charge.dispute.closed.json") continue;
      expect(Object.keys(MADE)).toContain(name);
      expect(
        differences(MADE[name], captured).filter((place) => !OCCASIONAL.has(place)),
        name,
      ).toEqual([]);
    }
  });

  it("are all understood", () => {
    for (const [name, event] of Object.entries(MADE)) {
      const provider = name.startsWith("a.") ? providerA : providerB;
      expect(provider.parse(JSON.parse(JSON.stringify(event))), name).toMatchObject({
        ok: true,
        event: { ignored: null },
      });
    }
    expect(providerA.parse(disputeClosed())).toMatchObject({ ok: true });
  });

  it("are all different", () => {
    const ids = Array.from({ length: 100 }, () => sessionCompleted()).flatMap((event) => [
      event.id,
      event.data.object.id,
      event.data.object["payment_intent"],
    ]);
    expect(new Set(ids).size).toBe(300);
  });
});

describe("the captured events", () => {
  const expected: Record<string, object[]> = {
    "a.checkout.session.completed.payment.2025-05-28.basil.json": [
      {
        kind: "payment",
        source: "session",
        base_cents: 3000,
        gross_cents: 3000,
        currency: "USD",
        paid: true,
        ref: null,
      },
    ],
    "a.checkout.session.completed.subscription.2025-07-30.basil.json": [
      { kind: "payment", key: "in_1RxHxSGaouLfVOpUyWFwGR1y", base_cents: 19_200, customer_email: "buyer@example.com" },
      { kind: "attribution", customer_id: "cus_SsllV761J0q08n", subscription_id: "sub_1RxHxrGaouLfVOpUpfTWqbjM" },
    ],
    "a.invoice.paid.subscription_create.2025-07-30.basil.json": [
      {
        kind: "payment",
        key: "in_1RxHxSGaouLfVOpUyWFwGR1y",
        base_cents: 19_200,
        ref: null,
        subscription_id: "sub_1RxHxrGaouLfVOpUpfTWqbjM",
      },
    ],
    "a.derived.invoice.paid.subscription_cycle.basil.json": [
      { kind: "payment", base_cents: 10_000, gross_cents: 11_900, ref: "lnk_demo0001" },
      { kind: "attribution", ref: "lnk_demo0001", customer_id: "cus_SsllV761J0q08n" },
    ],
    "a.derived.checkout.session.completed.unpaid.basil.json": [{ kind: "payment", paid: false, currency: "EUR" }],
    "a.derived.checkout.session.async_payment_succeeded.basil.json": [
      { kind: "payment", paid: true, base_cents: 3000 },
    ],
    "a.derived.charge.refunded.partial.basil.json": [
      { kind: "adjustment", amount_cents: 1000, aliases: ["ch_derivedRefund14", "pi_3RopAi08MTe1bJmc1MMrv98y"] },
    ],
    "a.charge.dispute.closed.json": [{ kind: "adjustment", effective: false, aliases: ["ch_00000000000000"] }],
    "b.transaction.completed.one_off.web.json": [
      { kind: "payment", base_cents: 19_900, gross_cents: 21_666, ref: "jane" },
      { kind: "attribution", subscription_id: null },
    ],
    "b.transaction.completed.subscription_recurring.json": [
      { kind: "payment", base_cents: 40_000, subscription_id: "sub_01hv8x29kz0t586xy6zn1a62ny" },
      { kind: "attribution", subscription_id: "sub_01hv8x29kz0t586xy6zn1a62ny" },
    ],
    "b.adjustment.created.refund.partial.pending.json": [{ kind: "adjustment", amount_cents: 92, effective: false }],
    "b.adjustment.updated.refund.partial.approved.json": [{ kind: "adjustment", amount_cents: 92, effective: true }],
    "b.adjustment.created.chargeback.full.approved.json": [
      { kind: "adjustment", amount_cents: 59_900, direction: "deduct", effective: true },
    ],
    "b.subscription.canceled.json": [{ kind: "cancellation" }, { kind: "attribution", ref: "jane" }],
  };

  itOfCaptured("say what they say", () => {
    expect([...fixtureEvents("a"), ...fixtureEvents("b")].map(([name]) => name).toSorted()).toEqual(
      Object.keys(expected).toSorted(),
    );
    for (const [name, event] of [...fixtureEvents("a"), ...fixtureEvents("b")]) {
      const provider = name.startsWith("a.") ? providerA : providerB;
      expect(provider.parse(event), name).toMatchObject({ ok: true, event: { facts: expected[name] } });
    }
  });

  itOfCaptured("become the same fact of an adjustment that moved from pending to approved", () => {
    const versions = fixtureEvents("b")
      .filter(([name]) => name.includes("refund.partial"))
      .map(([, event]) => providerB.parse(event));
    const ids = versions.map((result) => (result.ok ? result.event.facts[0] : null));
    expect(ids).toMatchObject([
      { adjustment_id: "adj_01hvgf2s84dr6reszzg29zbvcm" },
      { adjustment_id: "adj_01hvgf2s84dr6reszzg29zbvcm" },
    ]);
  });
});
