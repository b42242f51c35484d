/** The vendors' lists of events as `test/support/event-lists.ts` plays them, held to the vendors' own clients. */
import { Environment, Paddle } from "@paddle/paddle-node-sdk";
import Stripe from "stripe";
import { afterEach, describe, expect, it, vi } from "vitest";
import { iso, MINUTE } from "../../src/lib/time.ts";
import { LIST_KEYS, openEventLists } from "../support/event-lists.ts";
import { customerEvent, sessionCompleted } from "../support/provider-a.ts";
import { adjustmentCreated, transactionCompleted } from "../support/provider-b.ts";
import { uniqueId } from "../support/vendor.ts";

/** Provider A counts whole seconds. */
const NOW = Math.floor(Date.now() / 1000) * 1000;

describe("the played lists of events", () => {
  afterEach(() => vi.restoreAllMocks());

  it("are read by the vendors' own clients, across their pages", async () => {
    const lists = openEventLists();
    for (let i = 0; i < 130; i++) {
      lists.a.push(
        sessionCompleted({ created: NOW / 1000 - i * 60 }),
        customerEvent({ created: NOW / 1000 - i * 60, ref: "jane" }),
      );
      lists.b.push(transactionCompleted({ occurred_at: iso(NOW - i * MINUTE) }));
    }
    lists.b.push(adjustmentCreated({ transaction: uniqueId("txn_"), occurred_at: iso(NOW - 200 * MINUTE) }));
    const httpClient = Stripe.createFetchHttpClient((url, init) => lists.fetch(new Request(url).url, init ?? {}));
    const stripe = new Stripe(LIST_KEYS.provider_a, { httpClient, maxNetworkRetries: 0 });
    const types: Stripe.EventListParams["types"] = ["checkout.session.completed"];
    const since = { gte: NOW / 1000 - 99 * 60 };
    const ofA = await stripe.events.list({ types, created: since, limit: 30 }).autoPagingToArray({ limit: 1_000 });
    expect(ofA.map(({ id }) => id)).toEqual(
      lists.a
        .filter(({ type }) => type === types[0])
        .slice(0, 100)
        .map(({ id }) => id),
    );
    expect(new Set(ofA.map(({ object }) => object))).toEqual(new Set(["event"]));
    lists.keys.clear();
    await expect(stripe.events.list()).rejects.toBeInstanceOf(Stripe.errors.StripeAuthenticationError);
    lists.keys.add(LIST_KEYS.provider_b);

    vi.spyOn(globalThis, "fetch").mockImplementation((input, init) =>
      lists.fetch(new Request(input, init).url, init ?? {}),
    );
    const paddle = new Paddle(LIST_KEYS.provider_b, { environment: Environment.production });
    const ofB: { eventId: string }[] = [];
    for await (const event of paddle.events.list({ orderBy: "id[DESC]", perPage: 50 })) ofB.push(event);
    expect(ofB.map(({ eventId }) => eventId)).toEqual(lists.b.map(({ event_id }) => event_id));
    expect(ofB.at(-1)).toMatchObject({ eventType: "adjustment.created", data: { action: "refund" } });
    lists.keys.clear();
    await expect(paddle.events.list().next()).rejects.toMatchObject({ code: "invalid_token" });
  });
});
