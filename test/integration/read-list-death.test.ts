/**
 * The process dies while it reads a provider's list of events, at every call of the database; or the answer to a write
 * is lost. The later run ends in the same books as an uninterrupted one (IN-15, IN-19, CODE-8, LAW-1).
 */
import { sql } from "drizzle-orm";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { readEventLists } from "../../src/core/inbound/read-list.ts";
import { finishVendorEvents, settleUnsettled } from "../../src/core/inbound/settle-jobs.ts";
import { openDatabase } from "../../src/db/client.ts";
import { DAY, HOUR, iso, MINUTE } from "../../src/lib/time.ts";
import { claimsPrograms } from "../../src/providers/registry.ts";
import { booksOf, type Books } from "../support/books.ts";
import { discountEventB, giveCode, promotionCode } from "../support/codes.ts";
import { databaseUntil, type Fault } from "../support/dying.ts";
import { LIST_KEYS, openEventLists, READING, type EventLists } from "../support/event-lists.ts";
import { serveAll } from "../support/jobs.ts";
import { sendB } from "../support/ledger.ts";
import { makePartner, makeProgram, testContext, type TestProgram } from "../support/program.ts";
import { chargeRefunded, eventA, invoicePaid, sessionCompleted } from "../support/provider-a.ts";
import { adjustmentUpdated, customerEventB, eventB, transactionCompleted } from "../support/provider-b.ts";

/** Provider A counts whole seconds. */
const NOW = Math.floor(Date.now() / 1000) * 1000;
const BEGAN = NOW - 3 * HOUR;

type Reading = (typeof READING)[number];

/** Programs of one account of a provider; the list is read for the first. `mark` is in every id of the vendor's. */
interface Account {
  programs: TestProgram[];
  lists: EventLists;
  mark: string;
}

let accounts = 0;

async function openAccount(provider: Reading): Promise<Account> {
  // The programs of the run before are no longer read.
  await testContext().db.run(sql`update provider_connections set api_key = null where api_key is not null`);
  const created_at = iso(NOW - DAY);
  const programs = [await makeProgram({ created_at, [`${provider}_api_key`]: LIST_KEYS[provider] })];
  // Events of the other provider belong to the program of their address.
  if (claimsPrograms(provider)) programs.push(await makeProgram({ created_at }));
  for (const program of programs) {
    const { id } = await makePartner(program, { slug: "jane", email: "jane@partners.example" });
    await giveCode(program, id, { code: "JANE20", provider }, NOW - DAY);
  }
  return { programs, lists: openEventLists(), mark: `zq${accounts++}zq` };
}

const second = (minute: number) => (BEGAN + minute * MINUTE) / 1000;
const instant = (minute: number) => iso(BEGAN + minute * MINUTE);

/**
 * The events of the list and the earlier ones: payments, refunds and customers of the other program, a linked payment, a
 * code whose name must be fetched, and an event of an undocumented shape.
 */
const STORIES: Record<Reading, (account: Account) => Promise<void>> = {
  async provider_a({ lists, mark }) {
    const ids = (n: number) => ({ event_id: `evt_${n}${mark}`, created: second(n) });
    const person = { customer: `cus_1${mark}` };
    const promotion = { type: "coupon", coupon: { id: "cou_1", object: "coupon", name: "20% off" } };
    lists.a.push(
      sessionCompleted({
        ...{ ...ids(1), id: `cs_1${mark}`, ref: "jane", amount: 10_000, payment_intent: `pi_1${mark}` },
        ...person,
      }),
      chargeRefunded({
        ...ids(2),
        charge: `ch_2${mark}`,
        payment_intent: `pi_2${mark}`,
        amount: 8_000,
        refunded: 3_000,
      }),
      invoicePaid({
        ...ids(3),
        id: `in_2${mark}`,
        ref: "jane",
        amount: 8_000,
        ...person,
        subscription: `sub_2${mark}`,
      }),
      sessionCompleted({
        ...{ ...ids(4), id: `cs_4${mark}`, amount: 6_000, payment_intent: `pi_4${mark}`, customer: null },
        object: { discounts: [{ promotion_code: `promo_${mark}`, coupon: null }] },
      }),
      eventA("charge.refunded", { id: "ch_5", object: "charge", amount_refunded: "x" }, ids(5)),
    );
    lists.links.push({ payment_intent: `pi_2${mark}`, invoice: `in_2${mark}`, charge: `ch_2${mark}`, session: null });
    lists.codes.push({ ...promotionCode({ id: `promo_${mark}`, code: "Jane20", coupon: "cou_1" }), promotion });
  },
  async provider_b({ programs: [own, other], lists, mark }) {
    const ids = (n: number) => ({ event_id: `evt_${n}${mark}`, occurred_at: instant(n) });
    // A refund that came to the other program, a payment there whose code has no name yet, and a customer.
    await sendB(
      other!,
      adjustmentUpdated({ ...ids(1), id: `adj_1${mark}`, transaction: `txn_1${mark}`, amount: 2_500 }),
    );
    const coded = { customer: `ctm_2${mark}`, data: { discount_id: `dsc_2${mark}` } };
    await sendB(other!, transactionCompleted({ ...ids(2), id: `txn_2${mark}`, program: other!.id, ...coded }));
    const bought = { program: other!.id, ref: "jane", customer: `ctm_3${mark}` };
    await sendB(other!, transactionCompleted({ ...ids(3), id: `txn_3${mark}`, ...bought }));
    lists.b.push(
      transactionCompleted({ ...ids(4), id: `txn_1${mark}`, ref: "jane", program: own!.id, customer: `ctm_1${mark}` }),
      discountEventB({ ...ids(5), id: `dsc_2${mark}`, code: "Jane20" }),
      customerEventB({ ...ids(6), id: `ctm_3${mark}`, email: "jane@partners.example" }),
      transactionCompleted({ ...ids(7), id: `txn_4${mark}`, ref: "jane", program: other!.id, customer: null }),
      eventB("transaction.completed", { id: `txn_5${mark}`, details: "x" }, ids(8)),
    );
  },
};

interface Status {
  complete_until: string | null;
  recovered: number;
  refused: number;
  read_failure: object | null;
  unparsable: { event_id: string }[];
}

interface Outcome {
  seen: { books: Books[]; status: object };
  /** The numbers of all calls of the database, and of those that write. */
  calls: number[];
  writes: number[];
}

const OTHER_KEY = "pdl_live_apikey_that_replaces_it";

/** Reads the list until the fault, then as the crons do afterwards, with `key` if given. */
async function play(provider: Reading, fault: Fault | null, key?: string): Promise<Outcome> {
  const account = await openAccount(provider);
  const { programs, lists, mark } = account;
  await STORIES[provider](account);
  const { binding, calls, writes } = databaseUntil(fault);
  const torn = { ...testContext(NOW), db: openDatabase(binding) };
  const failed = await serveAll(readEventLists(torn, lists.readsOf)).then(
    () => false,
    () => true,
  );
  if (fault?.how !== "lost answer") expect(failed).toBe(fault !== null);
  if (key !== undefined) {
    lists.keys.add(key);
    await programs[0]!.api("PATCH", "/api/v1/programs/me", { [`${provider}_api_key`]: key });
  }
  for (const at of [NOW + 2 * MINUTE, NOW + 3 * HOUR]) {
    await serveAll(readEventLists(testContext(at), lists.readsOf));
    await serveAll(finishVendorEvents(testContext(at)));
    await serveAll(settleUnsettled(testContext(at)));
  }
  const { body } = await programs[0]!.api<Record<Reading, Status>>("GET", "/api/v1/integrations/status");
  const { complete_until, recovered, refused, read_failure, unparsable } = body[provider];
  const broken = unparsable.map(({ event_id }) => event_id.replace(mark, ""));
  const books: Books[] = [];
  for (const program of programs) books.push(await booksOf(program, mark));
  const status = { complete_until, recovered, refused, read_failure, unparsable: broken };
  return {
    seen: { books, status },
    calls: Array.from({ length: calls() }, (_, i) => i + 1),
    writes: writes(),
  };
}

beforeEach(() => void vi.spyOn(console, "error").mockImplementation(() => {}));
afterEach(() => vi.restoreAllMocks());

const TAKES = 600_000;

describe.each(READING)("the list of %s, whose reading breaks off anywhere", (provider) => {
  it.each(["death", "lost answer"] as const)(
    "by a %s, ends in the books of one that does not (IN-15, IN-19, CODE-8)",
    async (how) => {
      const { seen: whole, calls, writes } = await play(provider, null);
      expect(whole.status).toMatchObject({ recovered: 4, refused: 1, unparsable: [expect.any(String)] });
      expect(whole.books[0]!.commissions).not.toEqual([]);
      expect(writes.length).toBeGreaterThan(10);
      for (const call of how === "death" ? calls : writes) {
        const { seen } = await play(provider, { call, how });
        expect(seen, `at call ${call} of ${calls.length}`).toEqual(whole);
      }
    },
    TAKES,
  );
});

describe("the list of provider_b, whose reading breaks off anywhere before another key replaces that of it", () => {
  it(
    "ends in the books of one that does not: what was taken in by half is taken in to its end (IN-15)",
    async () => {
      const { seen: whole, calls } = await play("provider_b", null);
      for (const call of calls) {
        const { seen } = await play("provider_b", { call, how: "death" }, OTHER_KEY);
        expect(seen.books, `at call ${call} of ${calls.length}`).toEqual(whole.books);
      }
    },
    TAKES,
  );
});
