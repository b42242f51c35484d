/**
 * Candidate programs are the claimed program of provider B's event, the program that stores the payment or subscription, then
 * the URL's program. The first whose secret verifies the event receives it. A verified event is not refused because the
 * buyer's data names another program, and a refund is always stored with its payment (IN-1).
 */
import { env } from "cloudflare:workers";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { PaymentFact } from "../../src/providers/provider.ts";
import { claimsPrograms, vendorNamed, VENDOR_NAMES } from "../../src/providers/registry.ts";
import { filled } from "../fuzz/places.ts";
import { discountEventB, giveCode } from "../support/codes.ts";
import { sendBody } from "../support/ledger.ts";
import { makePartner, makeProgram, type TestProgram } from "../support/program.ts";
import * as b from "../support/provider-b.ts";
import { ledgerSeen, sendAlone, sendTo, storyOf } from "../support/vendor-account.ts";
import { TEST_VENDORS } from "../support/vendors/index.ts";

const NONE = { payments: [], commissions: [] };
const OTHER = "pdl_ntfset_of_another_account";

const amounts = async (program: TestProgram) =>
  (await ledgerSeen(program)).commissions.map(({ amount_cents }) => amount_cents);

/** Two programs of one account and one of another, each with the partner jane. */
async function threePrograms() {
  const programs = [await makeProgram(), await makeProgram(), await makeProgram({ provider_b_webhook_secret: OTHER })];
  for (const program of programs) await makePartner(program, { slug: "jane" });
  return programs as [TestProgram, TestProgram, TestProgram];
}

describe("what the buyer's data claims (IN-1)", () => {
  it("never makes an event unrecordable: where the claimed secret does not verify, the URL's program takes it", async () => {
    const [mine, , theirs] = await threePrograms();
    const claims = [theirs.id, "prog_00000000000000000000000000", "prog_x", "", 17, null, ["a"], { id: mine.id }];
    for (const service_program of claims) {
      const event = b.transactionCompleted({ custom_data: { service_ref: "jane", service_program } });
      const reply = await sendTo(mine, event);
      expect([service_program, reply.status, reply.body.outcome]).toEqual([service_program, 200, "commission"]);
    }
    expect(await amounts(mine)).toHaveLength(claims.length);
    expect(await ledgerSeen(theirs)).toEqual(NONE);
  });

  it("decides among programs whose secrets verify, before what is stored and before the URL", async () => {
    const [mine, claimed] = await threePrograms();
    const event = b.transactionCompleted({ ref: "jane", program: claimed.id });
    expect((await sendTo(mine, event)).body.outcome).toBe("commission");
    expect([await amounts(mine), await amounts(claimed)]).toEqual([[], [2_000]]);
  });

  it("lets nobody file events for another program: the claim chooses only among secrets that verify", async () => {
    const [mine, , theirs] = await threePrograms();
    await sendTo(theirs, b.transactionCompleted({ id: "txn_theirs", ref: "jane" }), { secret: OTHER });
    const refund = b.adjustmentUpdated({ transaction: "txn_theirs", amount: 10_000 });
    expect((await sendTo(mine, refund)).body.outcome).toBe("waiting");
    const again = b.transactionCompleted({ id: "txn_theirs", ref: "jane", program: theirs.id });
    expect((await sendTo(mine, again)).status).toBe(200);
    expect(await amounts(theirs)).toEqual([2_000]);
    expect((await sendTo(theirs, refund)).status, "by another's secret").toBe(401);
  });

  it("without a program in the URL: the claimed one, else one that stores what the event names, whichever verifies", async () => {
    const [mine, , theirs] = await threePrograms();
    const first = b.transactionCompleted({ ref: "jane", program: mine.id, subscription: "sub_s8" });
    expect((await sendTo(null, first)).body.outcome).toBe("commission");
    const renewal = b.transactionCompleted({ program: theirs.id, subscription: "sub_s8" });
    expect((await sendTo(null, renewal)).status).toBe(200);
    expect([await amounts(mine), await amounts(theirs)]).toEqual([[2_000, 2_000], []]);
    const nobodys = b.transactionCompleted({ program: theirs.id });
    expect((await sendTo(null, nobodys)).status).toBe(401);
    expect((await sendTo(null, b.transactionCompleted({ program: "prog_00000000000000000000000000" }))).status).toBe(
      404,
    );
    const bare = await makeProgram({ provider_b_webhook_secret: null });
    expect((await sendTo(null, b.transactionCompleted({ program: bare.id }))).status).toBe(409);
  });
});

describe.each(VENDOR_NAMES.filter(claimsPrograms))("events of %s, which claim programs (IN-1, IN-13)", (name) => {
  it("are the claimed program's at whatever address, and so is what names their payment without a claim", async () => {
    const [q, p] = await threePrograms();
    const { parse, claimedOwner } = vendorNamed(name)!;
    const events = TEST_VENDORS[name].samples.flatMap((event) => {
      const body = filled(JSON.stringify(event), { own: { program: p.id, slug: "jane" }, other: {} });
      const read = parse(JSON.parse(body));
      const { program_id } = claimedOwner(JSON.parse(body));
      return read.ok && !read.event.test ? read.event.facts.map((fact) => ({ body, fact, program_id })) : [];
    });
    const payment = events.find(({ fact, program_id }) => fact.kind === "payment" && fact.paid && program_id === p.id)!;
    const { aliases } = payment.fact as PaymentFact;
    const refund = events.find(
      ({ fact, program_id }) =>
        program_id === null &&
        fact.kind === "adjustment" &&
        fact.effective &&
        fact.amount_cents > 0 &&
        fact.aliases.some((id) => aliases.includes(id)),
    )!;
    expect((await sendBody(q, name, payment.body)).body.outcome).toBe("commission");
    expect((await sendBody(q, name, refund.body)).body.outcome).toBe("adjusted");
    expect((await ledgerSeen(q)).payments).toEqual([]);
    expect((await ledgerSeen(p)).payments).toMatchObject([{ outcome: "commission" }]);
  });
});

describe("two programs on one vendor account with one URL (IN-13)", () => {
  it("the refund of a payment goes to the program of the payment, whichever the URL names", async () => {
    const [q, p] = await threePrograms();
    await sendTo(q, b.transactionCompleted({ id: "txn_d5", ref: "jane", program: p.id, amount: 10_000 }));
    expect((await sendTo(q, b.adjustmentUpdated({ transaction: "txn_d5", amount: 10_000 }))).body.outcome).toBe(
      "adjusted",
    );
    expect([await amounts(q), await amounts(p)]).toEqual([[], [0]]);
  });

  it("one that comes before its payment waits, and is counted when the payment comes", async () => {
    const [q, p, other] = await threePrograms();
    const refund = b.adjustmentUpdated({ transaction: "txn_early", amount: 10_000 });
    expect((await sendTo(q, refund)).body.outcome).toBe("waiting");
    await sendTo(other, b.adjustmentUpdated({ transaction: "txn_early", amount: 5_000 }), { secret: OTHER });
    await sendTo(p, b.transactionCompleted({ id: "txn_early", ref: "jane", amount: 10_000 }));
    expect(await amounts(p)).toEqual([0]);
    const log = await p.api<{ data: { payload: { event_id: string; outcome: string } }[] }>(
      "GET",
      "/api/v1/events?type=webhook.provider_b",
    );
    expect(log.body.data.map(({ payload }) => payload)).toContainEqual(
      expect.objectContaining({ event_id: refund.event_id, outcome: "adjusted" }),
    );
    expect((await sendTo(q, refund)).body.outcome, "sent again").toBe("adjusted");
    expect(await ledgerSeen(other)).toEqual(NONE);
  });

  it("a renewal without a claim goes where its subscription is claimed, other payments without one to the URL's", async () => {
    const [q, p, other] = await threePrograms();
    const ids = { subscription: "sub_d5", customer: "ctm_d5" };
    await sendTo(q, b.transactionCompleted({ ref: "jane", program: p.id, ...ids }));
    await sendTo(q, b.transactionCompleted({ ...ids, amount: 3_000 }));
    expect([await amounts(q), (await amounts(p)).toSorted()]).toEqual([[], [2_000, 600]]);
    await sendTo(q, b.transactionCompleted({ ref: "jane", customer: "ctm_d5", amount: 4_000 }));
    expect(await amounts(q)).toEqual([800]);
    await sendTo(other, b.transactionCompleted({ ref: "jane", ...ids, amount: 5_000 }), { secret: OTHER });
    expect(await amounts(other), "of another account").toEqual([1_000]);
  });

  it("the address of a customer is known to every program that the customer paid", async () => {
    const [q, p] = await threePrograms();
    const partner = await makePartner(p, { slug: "self", email: "self@partners.example" });
    const named = (customer: string) =>
      b.eventB("customer.updated", { id: customer, email: partner.email, custom_data: null, status: "active" });
    const pay = (customer: string) => b.transactionCompleted({ ref: "self", program: p.id, customer });
    await sendTo(q, named("ctm_before"));
    await sendTo(q, pay("ctm_before"));
    await sendTo(q, pay("ctm_after"));
    await sendTo(q, named("ctm_after"));
    const { commissions } = await ledgerSeen(p);
    expect(commissions.map(({ review_reason }) => review_reason)).toEqual(["self_referral", "self_referral"]);
  });

  it("the name of a code is known to every program that has payments made with it (CODE-2)", async () => {
    const [q, p, other] = await threePrograms();
    const given = async (program: TestProgram) => {
      const { id } = await makePartner(program, { slug: "coded" });
      for (const code of ["BEFORE", "AFTER", "RENEWED"]) await giveCode(program, id, { code, provider: "provider_b" });
    };
    for (const program of [q, p, other]) await given(program);
    const named = (id: string, code: string) => discountEventB({ id, code });
    const pay = (discount_id: string, fields: Parameters<typeof b.transactionCompleted>[0] = {}) =>
      b.transactionCompleted({ amount: 10_000, ...fields, data: { discount_id } });
    const ids = { subscription: "sub_coded", customer: "ctm_coded" };
    for (const event of [
      named("dsc_before", "BEFORE"),
      pay("dsc_before", { program: p.id }),
      pay("dsc_after", { program: p.id, ...ids }),
      named("dsc_after", "AFTER"),
      // A renewal without a claim.
      named("dsc_renewed", "RENEWED"),
      pay("dsc_renewed", { ...ids, amount: 5_000 }),
    ]) {
      expect((await sendTo(q, event)).status).toBe(200);
      expect((await sendTo(q, event)).status, "again").toBe(200);
    }
    await sendTo(other, pay("dsc_after"), { secret: OTHER });
    expect([await amounts(q), (await amounts(p)).toSorted()]).toEqual([[], [1_000, 2_000, 2_000]]);
    expect(await amounts(other), "of another account").toEqual([]);
  });

  it("what is said of a code to one of them decides the payments of all, in any order (CODE-2)", async () => {
    const at = (day: number) => new Date(1_780_000_000_000 + day * 86_400_000).toISOString();
    const ids = { subscription: "sub_coded", customer: "ctm_coded" };
    const paid = (id: string, day: number, fields: Parameters<typeof b.transactionCompleted>[0] = {}) =>
      b.transactionCompleted({ id, amount: 10_000, occurred_at: at(day), data: { discount_id: "dsc_1" }, ...fields });
    const said = (code: string, day: number) => discountEventB({ id: "dsc_1", code, occurred_at: at(day) });
    await fc.assert(
      fc.asyncProperty(
        fc.shuffledSubarray([...Array(8).keys()], { minLength: 8 }),
        fc.array(fc.constantFrom("p", "q"), { minLength: 8, maxLength: 8 }),
        async (order, places) => {
          const [q, p, other] = await threePrograms();
          const partners: Record<string, string> = {};
          for (const code of ["FIRST", "SECOND", "THIRD"]) {
            const { id } = await makePartner(p, { slug: code.toLowerCase() });
            partners[id] = code;
            await giveCode(p, id, { code, provider: "provider_b" }, Date.parse(at(0)));
          }
          const anywhere = (event: b.EventB, i: number) => [event, places[i] === "p" ? p : q] as const;
          const sends = [
            ...[said("first", 1), said("Second", 3), said("THIRD", 5)].map(anywhere),
            [paid("txn_2", 2), p] as const,
            anywhere(paid("txn_4", 4, { program: p.id, ...ids }), 4),
            anywhere(paid("txn_6", 6, { program: p.id }), 5),
            [paid("txn_0", 0), p] as const,
            anywhere(b.subscriptionEventB("subscription.updated", { id: "sub_coded", program: p.id }), 7),
          ];
          for (const i of order) expect((await sendTo(sends[i]![1], sends[i]![0])).status).toBe(200);
          await sendTo(other, said("SECOND", 1), { secret: OTHER });
          const rows = await env.DB.prepare(
            "select provider_transaction_id as id, partner_id from payments where program_id = ? order by 1",
          )
            .bind(p.id)
            .all<{ id: string; partner_id: string }>();
          expect(rows.results.map(({ id, partner_id }) => [id, partners[partner_id]])).toEqual([
            ["txn_0", "FIRST"],
            ["txn_2", "FIRST"],
            ["txn_4", "SECOND"],
            ["txn_6", "THIRD"],
          ]);
        },
      ),
      { numRuns: Math.ceil(Number(env.PROPERTY_RUNS) / 4) },
    );
  });

  const RUNS = Math.ceil(Number(env.PROPERTY_RUNS) / 2);
  it("in any order, at either URL or none, and however often, ends in the ledger of the order in which it happened", async () => {
    const STORY = 6;
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.nat(2 * STORY - 1), fc.constantFrom("p", "q", "none")), { minLength: 0, maxLength: 8 }),
        fc.shuffledSubarray([...Array(STORY).keys()], { minLength: STORY }),
        fc.array(fc.constantFrom("p" as const, "q" as const, "none" as const), {
          minLength: STORY,
          maxLength: STORY,
        }),
        fc.boolean(),
        async (extra, order, places, together) => {
          const [q, p] = await threePrograms();
          const lone = await makeProgram({ provider_b_webhook_secret: OTHER });
          await makePartner(lone, { slug: "jane" });
          const story = storyOf(p, "jane");
          const at = { p, q, none: null };
          let sends = [
            ...order.map((i, n) => [story[i]!, at[places[n]!]] as const),
            ...extra.map(([i, place]) => [story[i % STORY]!, at[place]] as const),
          ];
          if (together) {
            const replies = await Promise.all(sends.map(([event, to]) => sendTo(to, event)));
            sends = sends.filter((_, i) => replies[i]!.status !== 200);
          }
          // The vendor repeats refused events.
          for (let tries = 0; sends.length > 0 && tries < STORY; tries++) {
            const left: typeof sends = [];
            for (const send of sends) if ((await sendTo(send[1], send[0])).status !== 200) left.push(send);
            sends = left;
          }
          expect(sends).toEqual([]);
          await sendAlone(lone, story, "jane", OTHER);
          expect(await ledgerSeen(q)).toEqual(NONE);
          expect(await ledgerSeen(p)).toEqual(await ledgerSeen(lone));
        },
      ),
      { numRuns: RUNS },
    );
  });
});
