/** Codes with an id but without a name in the payments' events: with an API key the service requests the name once. */
import { env } from "cloudflare:workers";
import { Environment, Paddle } from "@paddle/paddle-node-sdk";
import { sql } from "drizzle-orm";
import Stripe from "stripe";
import { beforeEach, describe, expect, it } from "vitest";
import { readEventLists, type ReadsOf } from "../../src/core/inbound/read-list.ts";
import { HOUR, MINUTE } from "../../src/lib/time.ts";
import type { CodeAnswer, ReadFailure } from "../../src/providers/reads.ts";
import { couponEvent, discount, discountEventA, discountEventB, giveCode, promotionCode } from "../support/codes.ts";
import { LIST_KEYS, openEventLists, type EventLists, type ListFault } from "../support/event-lists.ts";
import { serveAll } from "../support/jobs.ts";
import { ledgerOf, sendA, sendB } from "../support/ledger.ts";
import { makePartner, makeProgram, testContext, type ProgramFields, type TestProgram } from "../support/program.ts";
import { invoicePaid, refundEvent, sessionCompleted, subscriptionEventA } from "../support/provider-a.ts";
import { transactionCompleted } from "../support/provider-b.ts";

const NOW = Date.now();
const GIVEN = NOW - 2 * HOUR;

let lists: EventLists;
beforeEach(async () => {
  lists = openEventLists();
  await testContext().db.run(sql`update provider_connections set api_key = null where api_key is not null`);
});

const read = (now: number) => serveAll(readEventLists(testContext(now), lists.readsOf));

const questions = () => lists.calls.filter(({ pathname }) => !pathname.endsWith("/events"));
const asked = () => questions().map(({ pathname }) => decodeURIComponent(pathname));

const COUPON = { id: "cou_1", object: "coupon", name: "20% off" };

/** A payment with only a code, given by its id at the vendor. */
const VENDORS = {
  provider_a: {
    sell: (program: TestProgram, id = "promo_1") =>
      sendA(program, sessionCompleted({ object: { discounts: [{ promotion_code: id, coupon: null }] } })),
    code: () => ({
      ...promotionCode({ id: "promo_1", code: "Jane20", coupon: "cou_1" }),
      promotion: { type: "coupon", coupon: COUPON },
    }),
    id: "promo_1",
    path: "/v1/promotion_codes/promo_1",
  },
  provider_b: {
    sell: (program: TestProgram, id = "dsc_1") => sendB(program, transactionCompleted({ data: { discount_id: id } })),
    code: () => discountEventB({ id: "dsc_1", code: "Jane20" }).data as { id: string },
    id: "dsc_1",
    path: "/discounts/dsc_1",
  },
};
type Played = keyof typeof VENDORS;
const PLAYED = Object.keys(VENDORS) as Played[];

async function shop(provider: Played, fields: ProgramFields = {}): Promise<TestProgram> {
  const program = await makeProgram({ [`${provider}_api_key`]: LIST_KEYS[provider], ...fields });
  const { id } = await makePartner(program, { slug: "jane" });
  await giveCode(program, id, { code: "JANE20", provider }, GIVEN);
  return program;
}

/** The lists, with a replacement for each reply about a code. */
const answering =
  (then: (answer: CodeAnswer) => Promise<CodeAnswer>): ReadsOf =>
  (vendor) => {
    const reads = lists.readsOf(vendor);
    return reads && { ...reads, readCode: async (...question) => then(await reads.readCode!(...question)) };
  };

const outcomes = async (program: TestProgram) => (await ledgerOf(program)).payments.map(({ outcome }) => outcome);

/** The subjects of the pending requests, without the marks with the prefix `code-`. */
const waiting = async ({ id }: TestProgram) =>
  (
    await env.DB.prepare(
      "select subject from waiting_events where program_id = ? and subject not like 'code-%' order by subject",
    )
      .bind(id)
      .all<{ subject: string }>()
  ).results.map(({ subject }) => subject);

describe.each(PLAYED)("the name of a code that no event has said, %s", (provider) => {
  const { sell, code, id, path } = VENDORS[provider];

  it("is asked for once, and decides the payments that waited for it (CODE-8)", async () => {
    const program = await shop(provider);
    lists.codes.push(code());
    expect((await sell(program)).body.outcome).toBe("unknown_code");
    await sell(program);
    expect(questions()).toEqual([]);
    await read(NOW);
    expect(await outcomes(program)).toEqual(["commission", "commission"]);
    expect(asked()).toEqual([path]);
    expect(await waiting(program)).toEqual([]);
    await sell(program);
    await read(NOW + HOUR + MINUTE);
    expect([asked(), await waiting(program)]).toEqual([[path], []]);
    expect(await outcomes(program)).toEqual(["commission", "commission", "commission"]);
  });

  it("that the provider does not know is asked for once, and an event still says it (CODE-8)", async () => {
    const program = await shop(provider);
    await sell(program);
    await read(NOW);
    await sell(program);
    await read(NOW + HOUR + MINUTE);
    expect([asked(), await outcomes(program)]).toEqual([[path], ["unknown_code", "unknown_code"]]);
    if (provider === "provider_b") await sendB(program, discountEventB({ id, code: "JANE20" }));
    else await sendA(program, sessionCompleted({ object: { discounts: [{ promotion_code: code(), coupon: null }] } }));
    expect((await outcomes(program)).slice(0, 2)).toEqual(["commission", "commission"]);
  });

  it("waits without an API key, and is asked for once there is one (CODE-8)", async () => {
    const program = await shop(provider, { [`${provider}_api_key`]: null });
    lists.codes.push(code());
    await sell(program);
    await read(NOW);
    expect([lists.calls, await outcomes(program)]).toEqual([[], ["unknown_code"]]);
    await program.api("PATCH", "/api/v1/programs/me", { [`${provider}_api_key`]: LIST_KEYS[provider] });
    await read(NOW);
    expect(await outcomes(program)).toEqual(["commission"]);
  });

  it("that a key did not know is asked for again with another, once (CODE-8)", async () => {
    const program = await shop(provider);
    await sell(program);
    for (const at of [NOW, NOW + HOUR + MINUTE]) await read(at);
    lists.codes.push(code());
    expect([asked(), await outcomes(program)]).toEqual([[path], ["unknown_code"]]);
    const other = `${LIST_KEYS[provider]}_of_the_right_account`;
    lists.keys.add(other);
    await program.api("PATCH", "/api/v1/programs/me", { [`${provider}_api_key`]: other });
    for (const at of [NOW + 3 * HOUR, NOW + 5 * HOUR]) await read(at);
    expect([asked(), await outcomes(program)]).toEqual([[path, path], ["commission"]]);
    expect(await waiting(program)).toEqual([]);
    await sell(program);
    expect([await outcomes(program), await waiting(program)]).toEqual([["commission", "commission"], []]);
  });

  it("that neither key knows is asked for once with each (CODE-8)", async () => {
    const program = await shop(provider);
    await sell(program);
    await read(NOW);
    const other = `${LIST_KEYS[provider]}_of_no_use`;
    lists.keys.add(other);
    await program.api("PATCH", "/api/v1/programs/me", { [`${provider}_api_key`]: other });
    for (const at of [NOW + 3 * HOUR, NOW + 5 * HOUR]) await read(at);
    expect([asked(), await outcomes(program)]).toEqual([[path, path], ["unknown_code"]]);
  });

  it("is not used up by the answer to a key that is replaced meanwhile (CODE-8)", async () => {
    const program = await shop(provider);
    await sell(program);
    const other = `${LIST_KEYS[provider]}_of_the_right_account`;
    lists.keys.add(other);
    await serveAll(
      readEventLists(
        testContext(NOW),
        answering(async (answer) => {
          const later: ReadFailure = { outcome: "failed", reason: "unavailable", retry_after_ms: null };
          await program.api("PATCH", "/api/v1/programs/me", { [`${provider}_api_key`]: other });
          // The new key's first reading processes the stored events before the old key's reply arrives.
          await serveAll(
            readEventLists(
              testContext(NOW + MINUTE),
              answering(async () => later),
            ),
          );
          return answer;
        }),
      ),
    );
    lists.codes.push(code());
    await read(NOW + HOUR);
    expect(await outcomes(program)).toEqual(["commission"]);
  });

  it("is not asked for where the key is revoked, and the status says so", async () => {
    const program = await shop(provider);
    lists.codes.push(code());
    await sell(program);
    lists.keys.clear();
    await read(NOW);
    expect([questions(), await waiting(program)]).toEqual([[], [`code:${id}`]]);
    const { body } = await program.api<Record<string, object>>("GET", "/api/v1/integrations/status");
    expect(body[provider]).toMatchObject({ read_failure: { reason: expect.any(String) } });
  });

  it.each(["lost", "cut", "garbage", "other", "limited", "broken", "forbidden", "slow"] as const)(
    "%s: is asked for again after the next reading (CODE-8)",
    async (fault: ListFault) => {
      const program = await shop(provider);
      lists.codes.push(code());
      await sell(program);
      lists.faultOf = (call) => (lists.calls[call - 1]!.pathname.endsWith("/events") ? null : fault);
      await read(NOW);
      expect([await outcomes(program), await waiting(program)]).toEqual([["unknown_code"], [`code:${id}`]]);
      lists.faultOf = () => null;
      await read(NOW + HOUR + MINUTE);
      expect([await outcomes(program), await waiting(program)]).toEqual([["commission"], []]);
    },
  );

  it("is one of a bounded number that are asked for after a reading (CODE-8)", async () => {
    const program = await shop(provider);
    for (let n = 0; n < 23; n++) await sell(program, `${id}${n}`);
    await read(NOW);
    expect([asked().length, (await waiting(program)).length]).toEqual([20, 3]);
    await read(NOW + HOUR + MINUTE);
    expect([asked().length, (await waiting(program)).length]).toEqual([23, 0]);
  });
});

const subscribed = (object: Record<string, unknown>) =>
  subscriptionEventA("customer.subscription.created", { id: "sub_1", customer: "cus_1", object });

describe("provider A", () => {
  const sell = (program: TestProgram, discounts: object[]) =>
    sendA(program, sessionCompleted({ object: { discounts } }));

  it("says the name of a coupon, whose id may be any text (CODE-8)", async () => {
    const program = await shop("provider_a");
    lists.codes.push({ ...couponEvent({ id: "20 % / off", name: "JANE20" }).data.object, id: "20 % / off" });
    await sell(program, [{ promotion_code: null, coupon: "20 % / off" }]);
    await read(NOW);
    expect([await outcomes(program), asked()]).toEqual([["commission"], ["/v1/coupons/20 % / off"]]);
  });

  it("says with a promotion code what its coupon is called (CODE-8)", async () => {
    const program = await shop("provider_a");
    const coupon = { ...couponEvent({ id: "cou_1", name: "JANE20" }).data.object, id: "cou_1" };
    lists.codes.push(promotionCode({ id: "promo_1", code: "SPRING", coupon: "cou_1" }), coupon);
    await sell(program, [{ promotion_code: "promo_1", coupon: null }]);
    await read(NOW);
    expect(await outcomes(program)).toEqual(["commission"]);
  });

  describe.each([
    ["an invoice", () => invoicePaid({ id: "in_1", subscription: "sub_1", object: { discounts: ["di_1"] } }), "in_1"],
    [
      "a line of an invoice",
      () => invoicePaid({ id: "in_1", subscription: "sub_1", object: { lines: { data: [{ discounts: ["di_1"] }] } } }),
      "in_1",
    ],
    ["a subscription", () => subscribed({ discounts: ["di_1"] }), "sub_1"],
  ] as const)("says of a discount that %s carries what it was made from", (_, carrying, carrier) => {
    const happen = () => {
      const { object } = carrying().data;
      lists.codes.push({ ...object, object: carrier === "in_1" ? "invoice" : "subscription" });
      lists.codes.push(discount({ id: "di_1", promotion_code: "promo_1", coupon: "cou_1" }));
    };
    const renewal = () => invoicePaid({ id: "in_2", subscription: "sub_1", customer: "cus_1" });

    it("in one call, which decides what waited for it and what it is remembered for (CODE-8)", async () => {
      const program = await shop("provider_a");
      happen();
      lists.codes.push(promotionCode({ id: "promo_1", code: "Jane20", coupon: "cou_1" }));
      for (const event of [carrying(), renewal()]) await sendA(program, event);
      await read(NOW);
      const paid = carrier === "in_1" ? ["commission", "commission"] : ["commission"];
      expect(await outcomes(program)).toEqual(paid);
      const coupon = ["/v1/coupons/cou_1"];
      expect(asked()).toEqual([`/v1/${carrier === "in_1" ? "invoices" : "subscriptions"}/${carrier}`, ...coupon]);
      expect(await waiting(program)).toEqual([]);
    });

    it.each([true, false])(
      "as its own event does, whose code no event names (event first: %s) (CODE-8)",
      async (first) => {
        const program = await shop("provider_a");
        lists.codes.push(promotionCode({ id: "promo_1", code: "Jane20", coupon: "cou_1" }));
        const made = discountEventA({ id: "di_1", promotion_code: "promo_1", coupon: "cou_1" });
        const events = [made, carrying(), renewal()];
        for (const event of first ? events : events.toReversed()) await sendA(program, event);
        await read(NOW);
        expect((await outcomes(program)).every((outcome) => outcome === "commission")).toBe(true);
        expect(asked().toSorted()).toEqual(["/v1/coupons/cou_1", "/v1/promotion_codes/promo_1"]);
        expect(await waiting(program)).toEqual([]);
      },
    );
  });

  it("that does not have what carries a discount is asked once", async () => {
    const program = await shop("provider_a");
    await sendA(program, invoicePaid({ id: "in_1", subscription: "sub_1", object: { discounts: ["di_1"] } }));
    for (const at of [NOW, NOW + HOUR + MINUTE]) await read(at);
    expect(asked()).toEqual(["/v1/invoices/in_1", "/v1/subscriptions/sub_1"]);
    expect([await outcomes(program), await waiting(program)]).toEqual([["unknown_code"], []]);
  });

  it("whose key may not read what is asked for is asked for one of each kind", async () => {
    const program = await shop("provider_a");
    for (const n of [1, 2]) {
      await sell(program, [{ promotion_code: `promo_${n}`, coupon: null }]);
      await sendA(program, refundEvent("refund.created", { payment_intent: `pi_${n}`, amount: 1_000 }));
    }
    lists.faultOf = (call) => (lists.calls[call - 1]!.pathname.endsWith("/events") ? null : "forbidden");
    await read(NOW);
    expect(asked()).toEqual(["/v1/invoice_payments", "/v1/promotion_codes/promo_1"]);
  });

  it("names a code in the event that carries it: nothing is asked for", async () => {
    const program = await shop("provider_a");
    await sell(program, [{ promotion_code: promotionCode({ id: "promo_1", shape: "old" }), coupon: null }]);
    await read(NOW);
    expect(questions()).toEqual([]);
  });
});

it("is asked for as the vendors' own libraries would", async () => {
  for (const provider of PLAYED) await VENDORS[provider].sell(await shop(provider));
  const carrying = await shop("provider_a");
  await sendA(carrying, invoicePaid({ id: "in_1", subscription: "sub_1", object: { discounts: ["di_1"] } }));
  await read(NOW);
  const own = questions().map(({ href }) => decodeURIComponent(href));
  const sdk: string[] = [];
  const answer = async (url: string | URL | Request) => {
    sdk.push(decodeURIComponent(new Request(url).url));
    return Response.json({ object: "promotion_code", data: {} });
  };
  const stripe = new Stripe("sk_test_1", { maxNetworkRetries: 0, httpClient: Stripe.createFetchHttpClient(answer) });
  await stripe.promotionCodes.retrieve("promo_1", { expand: ["promotion.coupon"] });
  const made = ["discounts.promotion_code", "discounts.source.coupon"];
  await stripe.invoices.retrieve("in_1", { expand: [...made, "lines.data.discounts.promotion_code"] });
  await stripe.subscriptions.retrieve("sub_1", { expand: made });
  const platform = globalThis.fetch;
  globalThis.fetch = answer;
  try {
    await new Paddle("pdl_live_1", { environment: Environment.production }).discounts.get("dsc_1");
  } finally {
    globalThis.fetch = platform;
  }
  expect(own.toSorted()).toEqual(
    sdk.map((url) => url.replaceAll(/expand\[\d\]/g, "expand[]").replace(/\?$/, "")).toSorted(),
  );
});
