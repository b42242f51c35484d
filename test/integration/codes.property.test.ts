/**
 * The ledger is also a function of the facts about codes (LAW-1, CODE-3): code events, payments and refunds arrive in any
 * order between the owner's changes, and the result depends on their times alone.
 */
import { env } from "cloudflare:workers";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { CodeStats } from "../../src/core/partners/code-stats.ts";
import { vendorNamed, type ListedVendor } from "../../src/providers/registry.ts";
import { couponEvent, giveCode, takeCode } from "../support/codes.ts";
import { deliver } from "../support/disorder.ts";
import { ledgerOf } from "../support/ledger.ts";
import { makePartner, makeProgram, type TestProgram } from "../support/program.ts";
import { sessionCompleted } from "../support/provider-a.ts";
import { CODED, TEST_VENDORS } from "../support/vendors/index.ts";
import type { CodeDays, CodeSale } from "../support/vendors/test-vendor.ts";
import { SEED } from "../support/seed.ts";

const RUNS = Math.ceil(Number(env.PROPERTY_RUNS) / 3);
const TIME_LIMIT = 60_000 + RUNS * 2_000;

/** The days on which the owner gives the code to Ann, moves it to Bob, takes it away, and gives it to Ann again. */
const GIVEN = 10;
const MOVED = 20;
const TAKEN = 30;
const AGAIN = 40;

const T0 = 1_780_000_000;
const seconds = (day: number) => T0 + day * 86_400;
const iso = (day: number) => new Date(seconds(day) * 1_000).toISOString();

/**
 * Between these days the code has another name, which Cy's code has. At a vendor whose codes cannot be renamed it is
 * created again on the first, under another id.
 */
const DAYS: CodeDays = { renamed: 14, as_before: 34, at: seconds };

const sales = fc.array(
  fc.record({
    day: fc.integer({ min: 0, max: 49 }).map((day) => day + 0.5),
    renewal: fc.boolean(),
    refund: fc.constantFrom(0, 0, 4_000, 10_000),
  }),
  { minLength: 1, maxLength: 3 },
);

/** The partner that held the code that day; if the code was free, the first to get it afterwards. */
function holderAt(provider: ListedVendor, day: number): "ann" | "bob" | "cy" {
  if (TEST_VENDORS[provider].codes!.keeps_id && day >= DAYS.renamed && day < DAYS.as_before) return "cy";
  if (day < MOVED) return "ann";
  return day < TAKEN ? "bob" : "ann";
}

/** The expected result of each sale from the times alone: a renewal goes to the partner of its first sale. */
function expectedOf(provider: ListedVendor, all: readonly CodeSale[]): Record<string, unknown>[] {
  return all.flatMap(({ day, renewal, refund }, i) => {
    const earned = (10_000 - refund) / 5;
    const partner = holderAt(provider, day);
    const sale = { key: `${i}`, partner, amount: earned };
    // The renewal is 100 days later. Ann has the code then, but the renewal stays with the partner of the first sale.
    return renewal ? [sale, { key: `${i} renewal`, partner, amount: 2_000 }] : [sale];
  });
}

/** The expected sums of each version of the code, renewals included: Ann's first, Bob's, and Ann's second. */
function expectedSums(provider: ListedVendor, all: readonly CodeSale[]): string[] {
  const sums = [0, 0, 0].map((_, version) => {
    const named = all.filter(({ day }) => holderAt(provider, day) !== "cy");
    const own = named.filter(({ day }) => (day < MOVED ? 0 : day < TAKEN ? 1 : 2) === version);
    const sales = own.length + own.filter(({ renewal }) => renewal).length;
    const revenue = 10_000 * sales - own.reduce((sum, { refund }) => sum + refund, 0);
    return `${sales} ${revenue} ${revenue / 5}`;
  });
  return sums;
}

/** The stored sums, by version id. */
async function soldBy(program: TestProgram, ids: readonly string[]): Promise<string[]> {
  const { body } = await program.api<{ data: CodeStats[] }>(
    "GET",
    `/api/v1/codes/summary?from=${iso(0)}&to=${iso(200)}`,
  );
  return ids.map((id) => {
    const { sales, revenue_cents, earned_cents } = body.data.find(({ code_id }) => code_id === id) ?? NO_SALES;
    return `${sales} ${revenue_cents} ${earned_cents}`;
  });
}

const NO_SALES = { sales: 0, revenue_cents: 0, earned_cents: 0 };

type Event = Parameters<typeof deliver>[1];

function parsed(provider: ListedVendor, event: object): Event {
  const read = vendorNamed(provider)!.parse(JSON.parse(JSON.stringify(event)));
  if (!read.ok) throw new Error(JSON.stringify(read.details));
  return { provider, event: read.event };
}

describe.each(CODED)("codes of %s", (provider, codes) => {
  it(`end the same in any order (seed ${SEED}, ${RUNS} runs)`, { timeout: TIME_LIMIT }, async () => {
    const order = fc.array(fc.nat({ max: 999 }), { minLength: 16, maxLength: 16 });
    await fc.assert(
      fc.asyncProperty(
        sales,
        order,
        fc.array(fc.nat({ max: 999 }), { minLength: 4, maxLength: 4 }),
        async (all, keys, acts) => {
          const program = await makeProgram();
          const ann = (await makePartner(program, { slug: "ann" })).id;
          const bob = (await makePartner(program, { slug: "bob" })).id;
          const cy = (await makePartner(program, { slug: "cy" })).id;
          await giveCode(program, cy, { code: "SUMMER", provider }, seconds(0) * 1_000);
          const code = { code: "JANE20", provider };
          const ids: string[] = [];
          const give = async (partner: string, day: number, move: boolean) => {
            const made = await giveCode(program, partner, { ...code, move }, seconds(day) * 1_000);
            ids.push(made.id);
          };
          const actions = [
            () => give(ann, GIVEN, false),
            () => give(bob, MOVED, true),
            () => takeCode(program, ids.at(-1)!, seconds(TAKEN) * 1_000),
            () => give(ann, AGAIN, false),
          ];
          // The owner's changes happen in the order of their times; the vendor's events arrive in any order.
          const times = acts.toSorted((a, b) => a - b);
          const steps = [
            ...actions.map((act, i) => ({ at: times[i]!, act })),
            ...codes.story(all, DAYS).map((event, i) => ({
              at: keys[i % keys.length]! + i / 100,
              act: () => deliver(program, parsed(provider, event)),
            })),
          ].toSorted((a, b) => a.at - b.at);
          for (const { act } of steps) await act();
          const { payments, commissions } = await ledgerOf(program);
          const keyOf = new Map(payments.map((row) => [row.id, row.provider_transaction_id.replace("in_", "")]));
          const names = new Map([ann, bob, cy].map((id, i) => [id, ["ann", "bob", "cy"][i]!]));
          const found = commissions.map(({ payment_id, partner_id, amount_cents: amount }) => ({
            key: keyOf.get(payment_id!),
            partner: names.get(partner_id) ?? partner_id,
            amount,
          }));
          const byKey = (rows: Record<string, unknown>[]) =>
            rows.toSorted((a, b) => (String(a["key"]) < String(b["key"]) ? -1 : 1));
          expect(byKey(found)).toEqual(byKey(expectedOf(provider, all)));
          expect(await soldBy(program, ids)).toEqual(expectedSums(provider, all));
        },
      ),
      { numRuns: RUNS, interruptAfterTimeLimit: TIME_LIMIT },
    );
  });
});

it("what is said of a code in one second counts in the order of its ids, whichever comes first (LAW-1)", async () => {
  const created = seconds(1);
  const said = (name: string, id: string) =>
    couponEvent({ id: "cou_1", name, created, event_id: id }, "coupon.updated");
  const events = [
    couponEvent({ id: "cou_1", name: "SPRING", created: seconds(0) }),
    said("SUMMER", "evt_said_1"),
    said("SPRING", "evt_said_2"),
    sessionCompleted({
      id: "cs_1",
      created: seconds(2),
      object: { discounts: [{ promotion_code: null, coupon: "cou_1" }] },
    }),
  ];
  for (const order of permutations(events)) {
    const program = await makeProgram();
    const ann = await makePartner(program, { slug: "ann" });
    const bob = await makePartner(program, { slug: "bob" });
    await giveCode(program, ann.id, { code: "SPRING", provider: "provider_a" }, seconds(0) * 1_000);
    await giveCode(program, bob.id, { code: "SUMMER", provider: "provider_a" }, seconds(0) * 1_000);
    for (const event of order) await deliver(program, parsed("provider_a", event));
    const { commissions } = await ledgerOf(program);
    expect([order.map(({ id }) => id), commissions.map(({ partner_id }) => partner_id)]).toEqual([
      order.map(({ id }) => id),
      [ann.id],
    ]);
  }
});

function permutations<Value>(values: readonly Value[]): Value[][] {
  if (values.length === 0) return [[]];
  return values.flatMap((value, i) => permutations(values.toSpliced(i, 1)).map((rest) => [value, ...rest]));
}
