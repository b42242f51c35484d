/** Refunds whose payment has other ids: with an API key the service looks up at the vendor which ids belong together. */
import { env } from "cloudflare:workers";
import { sql } from "drizzle-orm";
import Stripe from "stripe";
import { beforeEach, describe, expect, it } from "vitest";
import { readEventLists, type ReadsOf } from "../../src/core/inbound/read-list.ts";
import { HOUR, iso, MINUTE } from "../../src/lib/time.ts";
import type { LinksAnswer, ReadFailure } from "../../src/providers/reads.ts";
import { LIST_KEYS, openEventLists, type EventLists, type ListFault } from "../support/event-lists.ts";
import { serveAll } from "../support/jobs.ts";
import { ledgerOf, sendA } from "../support/ledger.ts";
import { makePartner, makeProgram, testContext, type ProgramFields, type TestProgram } from "../support/program.ts";
import {
  chargeRefunded,
  creditNoteEvent,
  disputeEvent,
  invoicePaid,
  invoicePaymentPaid,
  refundEvent,
  sessionCompleted,
} from "../support/provider-a.ts";
import { signInOwner, textOf } from "../support/visitor.ts";

const NOW = Date.now();

let lists: EventLists;
beforeEach(async () => {
  lists = openEventLists();
  await testContext().db.run(sql`update provider_connections set api_key = null where api_key is not null`);
});

const read = (now: number) => serveAll(readEventLists(testContext(now), lists.readsOf));

async function shop(fields: ProgramFields = {}): Promise<TestProgram> {
  const program = await makeProgram({ provider_a_api_key: LIST_KEYS.provider_a, ...fields });
  await makePartner(program, { slug: "jane" });
  return program;
}

/** The payment of an intent, as the vendor's API returns it. */
function atVendor(payment_intent: string, paid: Partial<EventLists["links"][number]>) {
  lists.links.push({ payment_intent, invoice: null, session: null, charge: null, ...paid });
}

const adjusted = async (program: TestProgram) =>
  (await ledgerOf(program)).payments.map(({ adjusted_cents }) => adjusted_cents);

const waiting = async ({ id }: TestProgram) =>
  (await env.DB.prepare("select count(*) as n from waiting_events where program_id = ?")
    .bind(id)
    .first<{ n: number }>())!.n;

const unanswered = async (program: TestProgram) =>
  (await program.api<Record<string, { unanswered: unknown }>>("GET", "/api/v1/integrations/status")).body["provider_a"]
    ?.unanswered;

/** The lists, with a replacement for each answer about a refund. */
const answering =
  (then: (answer: LinksAnswer) => Promise<LinksAnswer>): ReadsOf =>
  (vendor) => {
    const reads = lists.readsOf(vendor);
    return reads && { ...reads, readLinks: async (...question) => then(await reads.readLinks!(...question)) };
  };

describe("a refund whose payment is not known", () => {
  const refund = () => chargeRefunded({ charge: "ch_1", payment_intent: "pi_1", amount: 10_000, refunded: 4_000 });

  it("is linked to its invoice by asking the provider, once (IN-19)", async () => {
    const program = await shop();
    await sendA(program, invoicePaid({ id: "in_1", ref: "jane", amount: 10_000 }));
    expect((await sendA(program, refund())).body.outcome).toBe("waiting");
    atVendor("pi_1", { invoice: "in_1", charge: "ch_1" });
    await read(NOW);
    expect(await adjusted(program)).toEqual([4_000]);
    expect(await waiting(program)).toBe(0);
    const asked = lists.calls.filter(({ pathname }) => pathname !== "/v1/events").length;
    expect(asked).toBe(2);
    await read(NOW + HOUR + MINUTE);
    expect(lists.calls.filter(({ pathname }) => pathname !== "/v1/events")).toHaveLength(asked);
  });

  it.each([
    ["a refund of a charge alone", () => refundEvent("refund.created", { charge: "ch_1", amount: 4_000 }), [4_000]],
    [
      "a dispute of a charge",
      () => disputeEvent("charge.dispute.closed", { charge: "ch_1", amount: 4_000, status: "lost" }),
      [4_000],
    ],
  ] as const)("%s is linked to its session, by way of the intent (IN-19)", async (_, event, expected) => {
    const program = await shop();
    await sendA(program, sessionCompleted({ id: "cs_1", ref: "jane", amount: 10_000, payment_intent: null }));
    await sendA(program, event());
    atVendor("pi_1", { session: "cs_1", charge: "ch_1" });
    await read(NOW);
    expect(await adjusted(program)).toEqual(expected);
  });

  it.each(["canceled", "open"] as const)(
    "is not of an invoice that its intent was to pay and did not, which is %s there (IN-19)",
    async (status) => {
      const program = await shop();
      for (const id of ["in_1", "in_2"]) await sendA(program, invoicePaid({ id, ref: "jane", amount: 10_000 }));
      await sendA(program, refund());
      atVendor("pi_1", { invoice: "in_1", charge: "ch_1" });
      atVendor("pi_1", { invoice: "in_2", charge: "ch_1", status });
      await read(NOW);
      const { payments } = await ledgerOf(program);
      expect(payments.map(({ outcome, adjusted_cents }) => [outcome, adjusted_cents])).toEqual([
        ["commission", 4_000],
        ["commission", 0],
      ]);
    },
  );

  it("waits without an API key, and is asked for once there is one (IN-19)", async () => {
    const program = await shop({ provider_a_api_key: null });
    await sendA(program, invoicePaid({ id: "in_1", ref: "jane", amount: 10_000 }));
    await sendA(program, refund());
    atVendor("pi_1", { invoice: "in_1", charge: "ch_1" });
    await read(NOW);
    expect([await adjusted(program), lists.calls.length]).toEqual([[0], 0]);
    await program.api("PATCH", "/api/v1/programs/me", { provider_a_api_key: LIST_KEYS.provider_a });
    await read(NOW);
    expect(await adjusted(program)).toEqual([4_000]);
  });

  it.each([
    ...([
      ["lost", "unavailable"],
      ["cut", "unreadable"],
      ["garbage", "unreadable"],
      ["other", "unreadable"],
    ] as const),
    ...([
      ["limited", "rate_limited"],
      ["broken", "unavailable"],
      ["forbidden", "permission_missing"],
    ] as const),
    ["slow", "unavailable"] as const,
  ])(
    "%s: is asked for again after the next reading, none is lost, and the status says that they wait: %s (IN-19)",
    async (fault: ListFault, reason) => {
      const program = await shop();
      await sendA(program, invoicePaid({ id: "in_1", ref: "jane", amount: 10_000 }));
      await sendA(program, refund());
      atVendor("pi_1", { invoice: "in_1", charge: "ch_1" });
      lists.faultOf = (call) => (lists.calls[call - 1]!.pathname === "/v1/events" ? null : fault);
      await read(NOW);
      expect([await adjusted(program), await waiting(program)]).toEqual([[0], 1]);
      const { body } = await program.api<Record<string, object>>("GET", "/api/v1/integrations/status");
      expect(body["provider_a"]).toMatchObject({
        ...{ read_failure: null, complete_until: expect.any(String) },
        unanswered: { reason, at: iso(NOW), since: iso(NOW) },
      });
      await read(NOW + HOUR + MINUTE);
      expect(await unanswered(program)).toEqual({ reason, at: iso(NOW + HOUR + MINUTE), since: iso(NOW) });
      lists.faultOf = () => null;
      await read(NOW + 2 * (HOUR + MINUTE));
      expect([await adjusted(program), await waiting(program), await unanswered(program)]).toEqual([[4_000], 0, null]);
    },
  );

  it.each([
    ["limited", 10],
    ["broken", 1],
  ] as const)("%s: is asked for again after %i minutes, not after an hour (IN-19)", async (fault, minutes) => {
    const program = await shop();
    await sendA(program, invoicePaid({ id: "in_1", ref: "jane", amount: 10_000 }));
    await sendA(program, refund());
    atVendor("pi_1", { invoice: "in_1", charge: "ch_1" });
    lists.faultOf = (call) => (lists.calls[call - 1]!.pathname === "/v1/events" ? null : fault);
    await read(NOW);
    lists.faultOf = () => null;
    const calls = lists.calls.length;
    await read(NOW + minutes * MINUTE - 1_000);
    expect([await adjusted(program), lists.calls.length]).toEqual([[0], calls]);
    await read(NOW + minutes * MINUTE + 1_000);
    expect([await adjusted(program), await unanswered(program)]).toEqual([[4_000], null]);
    const answered = lists.calls.length;
    await read(NOW + minutes * MINUTE + HOUR / 2);
    expect(lists.calls).toHaveLength(answered);
  });

  it("that waits for a permission is said on the page, until its payment is known by an event (IN-19)", async () => {
    const program = await shop();
    await sendA(program, invoicePaid({ id: "in_1", ref: "jane", amount: 10_000 }));
    await sendA(program, refund());
    lists.faultOf = (call) => (lists.calls[call - 1]!.pathname === "/v1/events" ? null : "forbidden");
    await read(NOW);
    const owner = await signInOwner(program);
    const page = async () => textOf((await owner.get("/dashboard/integration")).body);
    expect(await page()).toMatch(/which payments its refunds are of.* since .*permission/);
    await sendA(program, invoicePaymentPaid({ invoice: "in_1", payment_intent: "pi_1" }));
    await read(NOW + HOUR + MINUTE);
    expect(await adjusted(program)).toEqual([4_000]);
    await read(NOW + 2 * (HOUR + MINUTE));
    expect(await unanswered(program)).toBeNull();
    expect(await page()).not.toContain("which payments its refunds");
  });

  it("of which the answer is of no use keeps no other waiting (IN-19)", async () => {
    const program = await shop();
    await sendA(program, invoicePaid({ id: "in_1", ref: "jane", amount: 10_000 }));
    for (const payment_intent of ["pi_1", "pi_2", "pi_3"]) {
      await sendA(program, refundEvent("refund.created", { payment_intent, amount: 1_000 }));
      atVendor(payment_intent, { invoice: "in_1" });
    }
    lists.faultOf = (call) => (lists.calls[call - 1]!.href.includes("pi_2") ? "other" : null);
    await read(NOW);
    expect([await adjusted(program), await waiting(program)]).toEqual([[2_000], 1]);
  });

  it("for which the provider always fails keeps no other waiting for good, however many there are of them (IN-19)", async () => {
    const program = await shop();
    await sendA(program, invoicePaid({ id: "in_1", ref: "jane", amount: 10_000 }));
    for (let n = 0; n < 25; n++) {
      await sendA(program, refundEvent("refund.created", { payment_intent: `pi_a${n}`, amount: 100 }));
    }
    await sendA(program, refundEvent("refund.created", { payment_intent: "pi_b", amount: 1_000 }));
    atVendor("pi_b", { invoice: "in_1" });
    lists.faultOf = (call) =>
      lists.calls[call - 1]!.href.includes("pi_a") ? (call % 2 === 0 ? "broken" : "other") : null;
    for (let hour = 0; hour < 60; hour++) await read(NOW + hour * (HOUR + MINUTE));
    expect([await adjusted(program), await waiting(program)]).toEqual([[1_000], 25]);
  });

  it("is asked for as the vendor's own library would", async () => {
    const program = await shop();
    await sendA(program, refund());
    await read(NOW);
    const own = lists.calls
      .filter(({ pathname }) => pathname !== "/v1/events")
      .map(({ href }) => decodeURIComponent(href));
    const asked: string[] = [];
    const stripe = new Stripe("sk_test_1", {
      maxNetworkRetries: 0,
      httpClient: Stripe.createFetchHttpClient(async (url: string | URL | Request) => {
        asked.push(decodeURIComponent(new Request(url).url));
        return Response.json({ object: "list", data: [], has_more: false });
      }),
    });
    await stripe.invoicePayments.list({
      status: "paid",
      payment: { type: "payment_intent", payment_intent: "pi_1" },
    });
    await stripe.checkout.sessions.list({ payment_intent: "pi_1" });
    expect(own).toEqual(asked);
  });

  it("of which the provider knows nothing is asked for once, and its own payment still finds it (IN-19)", async () => {
    const program = await shop();
    await sendA(program, refund());
    await read(NOW);
    expect(await waiting(program)).toBe(0);
    await sendA(program, sessionCompleted({ ref: "jane", amount: 10_000, payment_intent: "pi_1" }));
    expect(await adjusted(program)).toEqual([4_000]);
  });

  describe("of which a key knew nothing", () => {
    const OTHER = "rk_live_of_the_right_account";
    const store = (program: TestProgram, provider_a_api_key: string | null) =>
      program.api("PATCH", "/api/v1/programs/me", { provider_a_api_key });
    const asked = () => lists.calls.filter(({ pathname }) => pathname === "/v1/invoice_payments");

    beforeEach(() => lists.keys.add(OTHER));

    it.each([
      ["is refused", { charge: "ch_1" }, "gone"],
      ["answers with nothing", { payment_intent: "pi_1" }, null],
    ] as const)(
      "is asked for again with another: a key of another account %s (IN-19)",
      async (_, fields, fault: ListFault | null) => {
        const program = await shop();
        await sendA(program, invoicePaid({ id: "in_1", ref: "jane", amount: 10_000 }));
        await sendA(program, refundEvent("refund.created", { amount: 4_000, ...fields }));
        lists.faultOf = (call) => (lists.calls[call - 1]!.pathname === "/v1/events" ? null : fault);
        await read(NOW);
        await read(NOW + HOUR + MINUTE);
        expect([await adjusted(program), await waiting(program)]).toEqual([[0], 0]);
        lists.faultOf = () => null;
        atVendor("pi_1", { invoice: "in_1", charge: "ch_1" });
        await read(NOW + 2 * (HOUR + MINUTE));
        expect(await adjusted(program)).toEqual([0]);
        await store(program, null);
        await store(program, OTHER);
        await read(NOW + 3 * (HOUR + MINUTE));
        expect([await adjusted(program), await waiting(program)]).toEqual([[4_000], 0]);
        const calls = asked().length;
        await read(NOW + 4 * (HOUR + MINUTE));
        expect(asked()).toHaveLength(calls);
      },
    );

    it("is asked for after those that no key was asked for, a bounded number at a time, none of them twice (IN-19)", async () => {
      const program = await shop();
      for (let n = 0; n < 25; n++) await sendA(program, refundEvent("refund.created", { payment_intent: `pi_a${n}` }));
      for (const at of [NOW, NOW + HOUR + MINUTE]) await read(at);
      expect([asked().length, await waiting(program)]).toEqual([25, 0]);
      await store(program, OTHER);
      for (let n = 0; n < 5; n++) await sendA(program, refundEvent("refund.created", { payment_intent: `pi_b${n}` }));
      lists.calls = [];
      await read(NOW + 2 * (HOUR + MINUTE));
      const intents = () => asked().map(({ searchParams }) => searchParams.get("payment[payment_intent]")!);
      expect(intents().slice(0, 5).toSorted()).toEqual(["pi_b0", "pi_b1", "pi_b2", "pi_b3", "pi_b4"]);
      expect([asked().length, await waiting(program)]).toEqual([20, 10]);
      await read(NOW + 3 * (HOUR + MINUTE));
      expect([new Set(intents()).size, asked().length, await waiting(program)]).toEqual([30, 30, 0]);
    });

    it("is found also where a process dies between any two steps (IN-19)", async () => {
      const program = await shop();
      await sendA(program, invoicePaid({ id: "in_1", ref: "jane", amount: 10_000 }));
      await sendA(program, refund());
      await read(NOW);
      atVendor("pi_1", { invoice: "in_1", charge: "ch_1" });
      await store(program, OTHER);
      for (let run = 0; run < 10; run++) {
        let left = 1;
        await serveAll(readEventLists(testContext(NOW + run * MINUTE), lists.readsOf), () => left-- > 0);
      }
      await read(NOW + 2 * HOUR);
      expect(await adjusted(program)).toEqual([4_000]);
    });

    it("is not used up by the answer to a key that is replaced meanwhile (IN-19)", async () => {
      const program = await shop();
      await sendA(program, invoicePaid({ id: "in_1", ref: "jane", amount: 10_000 }));
      await sendA(program, refund());
      await serveAll(
        readEventLists(
          testContext(NOW),
          answering(async (answer) => {
            const later: ReadFailure = { outcome: "failed", reason: "unavailable", retry_after_ms: null };
            await store(program, OTHER);
            // The new key's first reading has processed the stored events before the old key's answer is ingested.
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
      atVendor("pi_1", { invoice: "in_1", charge: "ch_1" });
      await read(NOW + 2 * HOUR);
      expect(await adjusted(program)).toEqual([4_000]);
    });
  });

  it("that has come before it is not asked for; nor is one of a payment that is known", async () => {
    const program = await shop();
    await sendA(program, refund());
    await sendA(program, sessionCompleted({ ref: "jane", amount: 10_000, payment_intent: "pi_1" }));
    await sendA(program, chargeRefunded({ charge: "ch_1", payment_intent: "pi_1", amount: 10_000, refunded: 5_000 }));
    expect(await waiting(program)).toBe(1);
    await read(NOW);
    expect(lists.calls.filter(({ pathname }) => pathname !== "/v1/events")).toEqual([]);
    expect(await waiting(program)).toBe(0);
  });

  it("of an invoice, given back outside of the provider, waits for it, and nothing is asked: its payment has its id (PAY-18)", async () => {
    const program = await shop();
    const note = await sendA(program, creditNoteEvent("credit_note.created", { invoice: "in_1", outside: 4_000 }));
    expect(note.body.outcome).toBe("waiting");
    await read(NOW);
    expect(lists.calls.filter(({ pathname }) => pathname !== "/v1/events")).toEqual([]);
    expect(await waiting(program)).toBe(0);
    await sendA(program, invoicePaid({ id: "in_1", ref: "jane", amount: 10_000 }));
    expect(await adjusted(program)).toEqual([4_000]);
  });

  it("is one of a bounded number that are asked for after a reading (IN-19)", async () => {
    const program = await shop();
    for (let n = 0; n < 25; n++) await sendA(program, refundEvent("refund.created", { payment_intent: `pi_${n}` }));
    await read(NOW);
    expect(await waiting(program)).toBe(5);
    await read(NOW + HOUR + MINUTE);
    expect(await waiting(program)).toBe(0);
  });
});
