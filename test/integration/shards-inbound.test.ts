/** The program of an event (IN-1) if the programs of one vendor account are in two databases. */
import * as fc from "fast-check";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { readEventLists } from "../../src/core/inbound/read-list.ts";
import { baseContext } from "../../src/http/context.ts";
import { MINUTE } from "../../src/lib/time.ts";
import { discountEventB } from "../support/codes.ts";
import { LIST_KEYS, openEventLists } from "../support/event-lists.ts";
import { serveAll } from "../support/jobs.ts";
import { makePartner, setSecrets, testContext, type TestProgram } from "../support/program.ts";
import * as b from "../support/provider-b.ts";
import { away, databaseOn, makeProgramOn } from "../support/shards.ts";
import { uniqueId } from "../support/vendor.ts";
import { ledgerSeen, sendTo, storyOf } from "../support/vendor-account.ts";
import { callWith, watchDatabase } from "../support/watched-database.ts";

const NONE = { payments: [], commissions: [] };

/** The program of the URL in one database, that of the payments in the other. */
async function twoPrograms(shard: 0 | 1): Promise<{ q: TestProgram; p: TestProgram }> {
  const [q, p] = [await makeProgramOn(shard), await makeProgramOn(shard === 0 ? 1 : 0)];
  for (const program of [q, p]) await makePartner(program, { slug: "jane" });
  return { q, p };
}

it("costs one read of each database where a stranger claims a program of one of them (IN-10)", async () => {
  const { p } = await twoPrograms(0);
  const body = b.bodyOfB(b.transactionCompleted({ program: p.id, subscription: uniqueId("sub_") }));
  const trips = async () => {
    const watched = [watchDatabase(databaseOn(0)), watchDatabase(databaseOn(1))] as const;
    const headers = { "Provider-B-Signature": await b.signB(body, "pdl_ntfset_of_a_stranger") };
    const bindings = { DB: watched[0].binding, DB_1: watched[1].binding };
    const { status } = await callWith(bindings, "/webhooks/provider_b", { method: "POST", headers, body });
    return [status, ...watched.map(({ roundTrips }) => roundTrips.length)];
  };
  // The refusal is recorded once a minute.
  expect(await trips()).toEqual([401, 1, 2]);
  expect(await trips()).toEqual([401, 1, 1]);
});

describe("two programs of one vendor account in two databases", () => {
  it("in any order, at either URL, the refunds are the payment's (IN-13)", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(0 as const, 1 as const),
        fc.shuffledSubarray([0, 1, 2, 3, 4, 5], { minLength: 6 }),
        fc.array(fc.boolean(), { minLength: 6, maxLength: 6 }),
        fc.boolean(),
        async (shard, order, places, together) => {
          const { q, p } = await twoPrograms(shard);
          const story = storyOf(p, "jane");
          const sends = order.map((i, n) => [places[n] ? p : q, story[i]!] as const);
          if (together) {
            const replies = await Promise.all(sends.map(([at, event]) => sendTo(at, event)));
            expect([...new Set(replies.map(({ status }) => status))]).toEqual([200]);
          } else {
            for (const [at, event] of sends) expect((await sendTo(at, event)).status).toBe(200);
          }
          expect(await ledgerSeen(q)).toEqual(NONE);
          const { payments, commissions } = await ledgerSeen(p);
          expect(payments.map((row) => row["adjusted_cents"]).toSorted()).toEqual([1_000, 2_500]);
          const amounts = commissions.map((row) => [row["amount_cents"], row["review_reason"]]).toSorted();
          expect(amounts).toEqual([
            [1_500, "subscription_canceled"],
            [800, "subscription_canceled"],
          ]);
        },
      ),
      { numRuns: Math.ceil(Number(env.PROPERTY_RUNS) / 3) },
    );
  });

  it("the name of a code comes to the other's payments, whichever is first (CODE-2)", async () => {
    for (const shard of [0, 1] as const) {
      for (const isNamedFirst of [true, false]) {
        const { q, p } = await twoPrograms(shard);
        const { id } = await makePartner(p, { slug: "coded" });
        const discount_id = uniqueId("dsc_");
        await p.api("POST", `/api/v1/partners/${id}/codes`, { code: "SPRING", provider: "provider_b" });
        const events = [
          discountEventB({ id: discount_id, code: "spring" }),
          b.transactionCompleted({ program: p.id, amount: 10_000, data: { discount_id } }),
        ];
        for (const event of isNamedFirst ? events : events.toReversed()) await sendTo(q, event);
        expect(await ledgerSeen(q)).toEqual(NONE);
        expect((await ledgerSeen(p)).commissions.map((row) => row["amount_cents"])).toEqual([2_000]);
      }
    }
  });

  it("with a secret each: what one of them claims earns there alone, whichever has it first, or both at once (IN-1)", async () => {
    const SECOND = "pdl_ntfset_of_the_second_destination";
    for (const shard of [0, 1] as const) {
      for (const order of ["p", "q", "both"] as const) {
        const { q, p } = await twoPrograms(shard);
        for (const secret of [null, SECOND]) {
          await q.api("PATCH", "/api/v1/programs/me", { provider_b_webhook_secret: secret });
        }
        const ids = { subscription: uniqueId("sub_"), customer: uniqueId("ctm_") };
        const first = b.transactionCompleted({ ref: "jane", program: p.id, ...ids });
        const renewal = b.transactionCompleted({ ...ids, amount: 5_000 });
        for (const event of [first, renewal]) {
          const sends = [() => sendTo(p, event), () => sendTo(q, event, { secret: SECOND })];
          if (order === "both") await Promise.all(sends.map((send) => send()));
          for (const send of order === "q" ? sends.toReversed() : sends) expect((await send()).status).toBe(200);
        }
        const seen = await Promise.all([p, q].map(ledgerSeen));
        expect(seen.map(({ commissions }) => commissions.map((row) => row["amount_cents"]).toSorted())).toEqual([
          [1_000, 2_000],
          [],
        ]);
        expect(seen[1]!.payments.map(({ outcome }) => outcome)).toEqual(["claimed_elsewhere", "claimed_elsewhere"]);
      }
    }
  });

  it("a refund whose payment may be in the database that is away is asked for again; a payment is taken", async () => {
    const { q, p } = await twoPrograms(0);
    await sendTo(q, b.transactionCompleted({ id: "txn_away", ref: "jane", program: p.id, amount: 10_000 }));
    const bindings = { DB_1: away(1) };
    const refund = b.adjustmentUpdated({ transaction: "txn_away", amount: 10_000 });
    expect((await sendTo(q, refund, { bindings })).status).toBe(503);
    expect((await sendTo(q, b.transactionCompleted({ ref: "jane" }), { bindings })).status).toBe(200);
    const own = b.transactionCompleted({ ref: "jane", program: q.id });
    expect((await sendTo(q, own, { bindings })).status).toBe(200);
    const ofOwn = b.adjustmentUpdated({ transaction: own.data.id, amount: 10_000 });
    expect((await sendTo(q, ofOwn, { bindings })).body.outcome, "its own program answers").toBe("adjusted");
    expect((await sendTo(q, refund)).body.outcome).toBe("adjusted");
    expect((await ledgerSeen(p)).commissions.map((row) => row["amount_cents"])).toEqual([0]);
  });

  const OTHER_KEY = "pdl_live_apikey_that_replaces_it";

  /** A payment of P's partner, a list of Q's account with the address of its customer, and P's database away: it breaks off there. */
  async function readTorn(meanwhile: (patch: (key: string | null) => Promise<unknown>) => Promise<unknown>) {
    const { q, p } = await twoPrograms(0);
    const [customer, email] = [uniqueId("ctm_"), "buyer-and-partner@partners.example"];
    await makePartner(p, { slug: "own", email });
    await sendTo(q, b.transactionCompleted({ ref: "own", program: p.id, amount: 10_000, customer }));
    const reasons = async () => (await ledgerSeen(p)).commissions.map((row) => row["review_reason"]);
    expect(await reasons()).toEqual([null]);
    await setSecrets(q.id, { provider_b_api_key: LIST_KEYS.provider_b });
    const lists = openEventLists();
    lists.keys.add(OTHER_KEY);
    lists.b.push(b.customerEventB({ id: customer, email }));
    const now = Date.now();
    const torn = { ...testContext(now), databases: baseContext({ ...env, DB_1: away(1) }, now, () => {}).databases };
    const patch = (provider_b_api_key: string | null) => q.api("PATCH", "/api/v1/programs/me", { provider_b_api_key });
    const { fetch } = lists;
    lists.fetch = async (...call) => {
      const answer = await fetch(...call);
      await meanwhile(patch);
      return answer;
    };
    await expect(serveAll(readEventLists(torn, lists.readsOf))).rejects.toThrow();
    lists.fetch = fetch;
    const read = (minutes: number) => serveAll(readEventLists(testContext(now + minutes * MINUTE), lists.readsOf));
    const status = async () => (await q.api<Record<string, object>>("GET", "/api/v1/integrations/status")).body;
    return { q, lists, patch, reasons, read, status };
  }

  it.each([
    ["", [LIST_KEYS.provider_b], 1],
    [", also by another key", [OTHER_KEY], 0],
    [", also by another key after none", [null, OTHER_KEY], 0],
  ])(
    "a listed event whose taking in breaks off comes to the other's payments%s (IN-15)",
    async (_, keys, recovered) => {
      const { patch, reasons, read, status } = await readTorn(async () => {});
      expect(await status()).toMatchObject({ provider_b: { recovered: 1, read_failure: { reason: "not_stored" } } });
      for (const key of keys) await patch(key);
      await read(2);
      expect(await reasons()).toEqual(["self_referral"]);
      expect(await status()).toMatchObject({ provider_b: { recovered, read_failure: null } });
    },
  );

  it.each([
    ["another", [OTHER_KEY]],
    ["none, and another later", [null, OTHER_KEY]],
  ])("also where the key is replaced by %s while it is read (IN-15)", async (_, [meanwhile, ...later]) => {
    const { patch, reasons, read, status } = await readTorn((patching) => patching(meanwhile!));
    for (const key of later) await patch(key);
    await read(2);
    expect(await reasons()).toEqual(["self_referral"]);
    expect(await status()).toMatchObject({ provider_b: { read_failure: null } });
  });

  it("also after a list that does not show it, as of another account, was read to its end (IN-15)", async () => {
    const { q, lists, patch, reasons, read } = await readTorn(async () => {});
    const events = lists.b;
    lists.b = [b.transactionCompleted({ ref: "jane", program: q.id })];
    await patch(OTHER_KEY);
    await read(2);
    lists.b = events;
    await patch(LIST_KEYS.provider_b);
    await read(4);
    expect(await reasons()).toEqual(["self_referral"]);
  });

  it("a claim of a program in a database that is away does not stop its vendor's event for good", async () => {
    const { q, p } = await twoPrograms(0);
    const event = b.transactionCompleted({ ref: "jane", program: p.id });
    expect((await sendTo(q, event, { bindings: { DB_1: away(1) } })).status).toBe(503);
    expect((await sendTo(q, event)).status).toBe(200);
    expect([await ledgerSeen(q), (await ledgerSeen(p)).payments.length]).toEqual([NONE, 1]);
  });
});
