/** The API keys that the providers' lists of events are read with: of another account, of test mode, and revoked. */
import { sql } from "drizzle-orm";
import { beforeEach, describe, expect, it } from "vitest";
import { readEventLists } from "../../src/core/inbound/read-list.ts";
import { HOUR, iso, MINUTE } from "../../src/lib/time.ts";
import { LIST_KEYS, openEventLists, READING, SANDBOX_URL, type EventLists } from "../support/event-lists.ts";
import { serveAll } from "../support/jobs.ts";
import { sendA, sendB } from "../support/ledger.ts";
import { bought, commissionsOf, keyOfA, NOW, statusOf, withKeys } from "../support/list-programs.ts";
import { makePartner, makeProgram, testContext, type ProgramFields, type TestProgram } from "../support/program.ts";
import { chargeRefunded } from "../support/provider-a.ts";
import { adjustmentUpdated, transactionCompleted } from "../support/provider-b.ts";
import { uniqueId } from "../support/vendor.ts";
import { sendTo } from "../support/vendor-account.ts";
import { signInOwner, textOf } from "../support/visitor.ts";

let lists: EventLists;
beforeEach(async () => {
  lists = openEventLists();
  await testContext().db.run(sql`update provider_connections set api_key = null where api_key is not null`);
});

const earnedBy = async (program: TestProgram) =>
  (await program.api<{ data: { amount_cents: number }[] }>("GET", "/api/v1/commissions")).body.data.map(
    ({ amount_cents }) => amount_cents,
  );

const read = (now: number) => serveAll(readEventLists(testContext(now), lists.readsOf));

describe("the list of events of a provider, with a key,", () => {
  it("begins again with another key, which may see another account (IN-15)", async () => {
    const program = await keyOfA();
    await read(NOW);
    const patch = (provider_a_api_key: string | null) =>
      program.api("PATCH", "/api/v1/programs/me", { provider_a_api_key });
    await patch(LIST_KEYS.provider_a);
    expect(await statusOf(program)).toMatchObject({ complete_until: iso(NOW - MINUTE) });
    await patch("rk_live_of_another_account");
    expect(await statusOf(program)).toMatchObject({ api_key_set: true, complete_until: null });
    await read(NOW + MINUTE);
    expect(await statusOf(program)).toMatchObject({
      read_failure: { reason: "api_key_refused" },
      complete_until: null,
    });
    await patch(null);
    expect(await statusOf(program)).toMatchObject({ api_key_set: false, read_failure: null });
  });

  const TEST_KEYS = { provider_a: "rk_test_of_a", provider_b: "pdl_sdbx_apikey_of_b" };

  /** A program with keys of test mode that the providers accept, of which each has a purchase on its list. */
  async function withTestKeys(fields: ProgramFields): Promise<TestProgram> {
    const { provider_a, provider_b } = TEST_KEYS;
    const program = await withKeys({ provider_a_api_key: provider_a, provider_b_api_key: provider_b, ...fields });
    await makePartner(program, { slug: "jane" });
    for (const key of Object.values(TEST_KEYS)) lists.keys.add(key);
    lists.a.push(bought(NOW - HOUR, { livemode: false }));
    lists.b.push(transactionCompleted({ ref: "jane", program: program.id, occurred_at: iso(NOW - HOUR) }));
    return program;
  }

  it("of test mode is read where test payments count (IN-15, PAY-13)", async () => {
    const program = await withTestKeys({ live_only: false });
    await read(NOW);
    expect(lists.calls.map(({ origin }) => origin)).toContain(SANDBOX_URL);
    expect(await commissionsOf(program)).toBe(2);
    for (const provider of READING) {
      expect(await statusOf(program, provider)).toMatchObject({
        read_failure: null,
        complete_until: iso(NOW - MINUTE),
      });
    }
  });

  it("of test mode, of one account with another program, brings a refund to its payment's program (IN-13)", async () => {
    const p = await withTestKeys({ live_only: false });
    const q = await makeProgram({ live_only: false });
    await makePartner(q, { slug: "jane" });
    const transaction = uniqueId("txn_");
    await sendB(p, transactionCompleted({ id: transaction, ref: "jane", program: q.id, amount: 10_000 }));
    expect(await earnedBy(q)).toEqual([2_000]);
    const refund = { transaction, amount: 2_500, status: "approved" as const, occurred_at: iso(NOW - HOUR) };
    lists.b.push(adjustmentUpdated(refund));
    await read(NOW);
    expect([await earnedBy(q), await earnedBy(p)]).toEqual([[1_500], [2_000, 2_000]]);
  });

  it("of test mode decides nothing that another program claims by a secret of its own (IN-1)", async () => {
    const p = await withTestKeys({ live_only: false });
    const q = await makeProgram({
      live_only: false,
      provider_b_webhook_secret: "pdl_ntfset_of_the_second_destination",
    });
    await makePartner(q, { slug: "jane" });
    const claimed = transactionCompleted({ ref: "jane", program: q.id, amount: 10_000, occurred_at: iso(NOW - HOUR) });
    lists.a = [];
    lists.b = [claimed];
    await sendTo(q, claimed, { secret: "pdl_ntfset_of_the_second_destination" });
    await read(NOW);
    expect([await earnedBy(q), await earnedBy(p)]).toEqual([[2_000], []]);
    const { body } = await p.api<{ data: { outcome: string }[] }>("GET", "/api/v1/payments");
    expect(body.data.map(({ outcome }) => outcome)).toEqual(["claimed_elsewhere"]);
  });

  it("of test mode is not read, nor anything asked, where live payments alone count, and the page says what to do (IN-17)", async () => {
    const program = await withTestKeys({ live_only: true });
    await sendA(program, chargeRefunded({ charge: "ch_1", payment_intent: "pi_1" }));
    await sendB(program, transactionCompleted({ program: program.id, data: { discount_id: "dsc_1" } }));
    for (const at of [NOW, NOW + HOUR]) await read(at);
    expect(lists.calls).toEqual([]);
    const said = { complete_until: null, recovered: 0 };
    const owner = await signInOwner(program);
    for (const provider of READING) {
      expect(await statusOf(program, provider)).toMatchObject({
        ...said,
        read_failure: { reason: "test_key", since: iso(NOW), at: iso(NOW + HOUR) },
      });
    }
    for (const page of ["/dashboard/settings/providers", "/dashboard/integration"]) {
      const text = textOf((await owner.get(page)).body);
      expect(text).toContain("the API key is of the provider's test mode");
      expect(text).toContain("Create a live-mode key there and paste it in the settings.");
      expect(text).not.toContain("Complete until");
    }
    await program.api("PATCH", "/api/v1/programs/me", {
      ...{ provider_a_api_key: LIST_KEYS.provider_a, provider_b_api_key: LIST_KEYS.provider_b },
    });
    lists.a = [bought(NOW - HOUR)];
    await read(NOW + HOUR);
    for (const provider of READING) {
      expect(await statusOf(program, provider)).toMatchObject({
        ...{ read_failure: null, complete_until: iso(NOW + HOUR - MINUTE) },
      });
    }
  });

  it("of test mode completes nothing any more once live payments alone count (IN-15, IN-17)", async () => {
    const program = await withTestKeys({ live_only: false });
    await read(NOW);
    await program.api("PATCH", "/api/v1/programs/me", { live_only: true });
    await read(NOW + HOUR);
    for (const provider of READING) {
      expect(await statusOf(program, provider)).toMatchObject({
        ...{ complete_from: null, complete_until: null, read_failure: { reason: "test_key" } },
      });
    }
    await program.api("PATCH", "/api/v1/programs/me", { live_only: false });
    await read(NOW + 2 * HOUR);
    for (const provider of READING) {
      expect(await statusOf(program, provider)).toMatchObject({
        ...{ complete_until: iso(NOW + 2 * HOUR - MINUTE), read_failure: null },
      });
    }
  });

  it("of test events that come by a live key earns nothing (IN-15, PAY-13)", async () => {
    const program = await keyOfA();
    await makePartner(program, { slug: "jane" });
    lists.a.push(bought(NOW - HOUR, { livemode: false }));
    await read(NOW);
    const { body } = await program.api<{ data: { outcome: string }[] }>("GET", "/api/v1/payments");
    expect(body.data.map(({ outcome }) => outcome)).toEqual(["test_mode"]);
  });

  it.each([
    ["provider_a", "invalid_token"],
    // Provider B also answers 403 for a missing permission: the code is different.
    ["provider_b", "invalid_token"],
    ["provider_b", "authentication_malformed"],
    ["provider_b", "authentication_missing"],
  ] as const)(
    "says in words what a revoked key needs, on the pages and in the status, and takes nothing else away (%s, %s) (IN-17)",
    async (provider, code) => {
      const program = await withKeys(
        provider === "provider_a" ? { provider_b_api_key: null } : { provider_a_api_key: null },
      );
      await makePartner(program, { slug: "jane" });
      await read(NOW);
      lists.keys.clear();
      lists.key_refused = code;
      for (let run = 1; run < 20; run++) await read(NOW + run * HOUR);
      const first = NOW + HOUR;
      expect(await statusOf(program, provider)).toMatchObject({
        complete_until: iso(NOW - MINUTE),
        read_failure: { reason: "api_key_refused", since: iso(first), at: iso(NOW + 19 * HOUR) },
      });
      const owner = await signInOwner(program);
      for (const page of ["/dashboard/settings/providers", "/dashboard/integration"]) {
        const text = textOf((await owner.get(page)).body);
        expect(text).toContain("the provider does not accept the API key. It may be revoked");
        expect(text).toContain("Complete until");
      }
      expect((await sendA(program, bought(NOW))).body).toMatchObject({ outcome: "commission" });
    },
  );
});
