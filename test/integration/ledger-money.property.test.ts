/**
 * Earnings are the rule applied to the money that was really paid (LAW-2), in any order of deliveries. Random customer
 * histories at every provider are compared with a model that shares no code with the service.
 */
import { env } from "cloudflare:workers";
import * as fc from "fast-check";
import { eq, sql } from "drizzle-orm";
import { describe, expect, it } from "vitest";
import { approveDueCommissions } from "../../src/core/commissions/auto-approve.ts";
import { generatePayouts } from "../../src/core/payouts/generate.ts";
import { markPayoutPaid } from "../../src/core/payouts/payouts.ts";
import { payouts } from "../../src/db/schema.ts";
import { deliver, deliverInDisorder, disorder } from "../support/disorder.ts";
import { serveAll } from "../support/jobs.ts";
import { WORLD_PARTNERS } from "../support/ledger-world.ts";
import { expectedOf, keyOf, type Expected } from "../support/money-model.ts";
import { programOf, seen, type Seen } from "../support/money-seen.ts";
import { liveAll, moneyWorld, send, type Lived, type MoneyWorld } from "../support/money-world.ts";
import { programContext, testContext, type TestProgram } from "../support/program.ts";
import { uniqueId } from "../support/vendor.ts";
import { SEED } from "../support/seed.ts";

const RUNS = Number(env.PROPERTY_RUNS);

/** Ends a long shrinking, but not a successful run: it is far above the usual duration. */
const TIME_LIMIT = 60_000 + RUNS * 2_000;

function modelOf(world: MoneyWorld, { truths, said }: Lived): Map<string, Expected> {
  const { flows, attribution } = world;
  return expectedOf(() => ({ partners: WORLD_PARTNERS, flows, default_pct: 20, attribution }), truths, said);
}

/** Sums by the text of their keys, without zero sums. */
function summed(parts: readonly (readonly [string, number])[]): Record<string, number> {
  const sums = new Map<string, number>();
  for (const [key, amount] of parts) sums.set(key, (sums.get(key) ?? 0) + amount);
  return Object.fromEntries([...sums].filter(([, sum]) => sum !== 0).toSorted());
}

/** Properties of every ledger, independent of the owner's actions. */
function checkMoney({ outcomes, rows, balances, entries }: Seen, model: Map<string, Expected>, lived: Lived): void {
  const tests = Object.fromEntries(lived.tests.map((key) => [`test:${key}`, "test_mode"]));
  const wanted = Object.fromEntries([...model].map(([key, { outcome }]) => [key, outcome]));
  expect(outcomes).toEqual({ ...wanted, ...tests });

  const counted = rows.filter(({ status }) => status !== "rejected");
  const earned = [...model].flatMap(([key, { partner, amount }]) =>
    amount ? [[`${key} ${partner}`, amount] as const] : [],
  );
  const own = keyOf(lived.truths);
  expect(summed(counted.map(({ key, partner, amount }) => [`${own(key)} ${partner}`, amount]))).toEqual(summed(earned));

  const account = ({ status, payout_id }: Seen["rows"][number]) =>
    status === "approved" ? (payout_id === null ? "payable" : "in_payout") : status;
  expect(summed(balances.map((one) => [`${one.partner} ${one.currency} ${one.account}`, one.amount]))).toEqual(
    summed(counted.map((row) => [`${row.partner} ${row.currency} ${account(row)}`, row.amount])),
  );
  const total = (one: { partner: string; currency: string; amount: number }) =>
    [`${one.partner} ${one.currency}`, one.amount] as const;
  expect(summed(entries.map(total))).toEqual(summed(counted.map(total)));
}

/** Without actions of the owner, each payment that earns has one pending sale, held back for the gravest reason. */
function checkRows({ rows }: Seen, model: Map<string, Expected>): void {
  const wanted = [...model].filter(([, { amount }]) => amount !== null);
  expect(rows.map((row) => [row.key, row.partner, row.kind, row.status, row.amount, row.reason])).toEqual(
    wanted
      .map(([key, { partner, amount, reason }]) => [key, partner, "sale", "pending", amount, reason])
      .toSorted((a, b) => (`${a[0]}` < `${b[0]}` ? -1 : 1)),
  );
}

/** Customers and subscriptions do not lead to a reference without a partner. */
async function checkMemory({ id }: TestProgram): Promise<void> {
  const found = await testContext().db.all(sql`select f.ref_key from fact_subjects s
    join facts f on f.program_id = s.program_id and f.provider = s.provider and f.fact_id = s.fact_id
    where s.program_id = ${id} and f.kind = 'attribution'
      and f.ref_key not in (select slug_key from partner_slugs where program_id = ${id})`);
  expect(found).toEqual([]);
}

/** Approves the commissions that are due for automatic approval; flagged ones stay pending. */
async function approve(): Promise<void> {
  await serveAll(approveDueCommissions(testContext()));
}

async function generate(program: TestProgram): Promise<void> {
  const ctx = programContext(program);
  await generatePayouts(ctx, { period_start: null, period_end: ctx.now, dry_run: false });
}

async function payAll(program: TestProgram): Promise<void> {
  const open = await testContext().db.select().from(payouts).where(eq(payouts.program_id, program.id));
  for (const { id, status } of open) if (status === "pending") await markPayoutPaid(programContext(program), id, null);
}

const options = (runs: number) => ({ numRuns: Math.ceil(runs), interruptAfterTimeLimit: TIME_LIMIT });

describe(`what is earned is the rule applied to the money that moved (seed ${SEED}, ${RUNS} runs) (LAW-2, REF-4, LAW-3)`, () => {
  it("in any order, with repetitions, races and crashes, to the same rows and balances", async () => {
    await fc.assert(
      fc.asyncProperty(moneyWorld, disorder, async (world, chaos) => {
        const lived = liveAll(world);
        const model = modelOf(world, lived);
        const [calm, wild] = await Promise.all([programOf(world), programOf(world)]);
        for (const each of lived.events) await deliver(calm, each);
        await deliverInDisorder(wild, lived.events, chaos);
        const [one, other] = [await seen(calm), await seen(wild)];
        checkMoney(one, model, lived);
        checkRows(one, model);
        expect(other).toEqual(one);
        await checkMemory(wild);
      }),
      options(RUNS),
    );
  });

  it("also when commissions are approved and paid in between; what is disputed is held back", async () => {
    await fc.assert(
      fc.asyncProperty(moneyWorld, disorder, fc.infiniteStream(fc.nat(5)), async (world, chaos, turns) => {
        const lived = liveAll(world);
        const model = modelOf(world, lived);
        const program = await programOf(world);
        await deliverInDisorder(program, lived.events, chaos, async () => {
          const turn = turns.next().value ?? 0;
          if (turn > 1) await approve();
          if (turn > 2) await generate(program);
          if (turn > 3) await payAll(program);
        });
        checkMoney(await seen(program), model, lived);
        const before = await seen(program);
        await approve();
        await generate(program);
        const after = await seen(program);
        checkMoney(after, model, lived);
        const held = (rows: Seen["rows"]) => rows.filter((row) => row.reason === "disputed");
        expect(held(after.rows)).toEqual(held(before.rows));
        for (const row of after.rows) {
          if (row.status === "paid") expect(row).toMatchObject({ reason: null });
          if (row.kind === "sale" && model.get(row.key)?.reason === "disputed" && row.status !== "paid")
            expect(row).toMatchObject({ reason: "disputed" });
          if (row.reason !== null && row.status === "approved" && row.payout_id === null)
            expect(row.status).toBe("approved");
        }
      }),
      options(RUNS / 3),
    );
  });

  it("through the addresses of the service", async () => {
    await fc.assert(
      fc.asyncProperty(moneyWorld, fc.infiniteStream(fc.nat()), async (world, keys) => {
        const lived = liveAll(world, uniqueId("x"));
        const program = await programOf(world);
        const shuffled = lived.events
          .map((each) => ({ each, at: keys.next().value ?? 0 }))
          .toSorted((a, b) => a.at - b.at)
          .map(({ each }) => each);
        for (let i = 0; i < shuffled.length; i += 3) {
          const batch = shuffled.slice(i, i + 3).map((one) => send(program, one));
          for (const { status } of await Promise.all(batch)) expect(status).toBe(200);
        }
        const ledger = await seen(program);
        checkMoney(ledger, modelOf(world, lived), lived);
        checkRows(ledger, modelOf(world, lived));
      }),
      options(RUNS / 6),
    );
  });
});
