/** "Cron generates the past calendar month on the first of each month" (contract §7). */
import { describe, expect, it } from "vitest";
import { env } from "cloudflare:workers";
import { generateMonthlyPayouts } from "../../src/core/payout-month.ts";
import { runJobs } from "../../src/jobs.ts";
import type { Bindings } from "../../src/env.ts";
import { makePartner, makeProgram, programContext, testContext } from "../support/program.ts";
import { cancelPayout } from "../../src/core/payouts.ts";
import { commissionsOf, makeCommissions, payoutsOf } from "../support/payouts.ts";

const FIRST = Date.parse("2028-03-01T00:23:00.000Z");

async function owing() {
  const program = await makeProgram({ payout_term: "NET-30" });
  const jane = await makePartner(program);
  await makeCommissions(program, jane.id, [
    { amount_cents: 1, created_at: "2028-02-29T23:59:59.999Z" },
    { amount_cents: 10, created_at: "2028-02-01T00:00:00.000Z" },
    { amount_cents: 100, created_at: "2028-03-01T00:00:00.000Z" },
  ]);
  return program;
}

describe("the monthly run", () => {
  it("makes the payouts of every program for the past calendar month, leap day included", async () => {
    const programs = [await owing(), await owing()];
    expect(await generateMonthlyPayouts(testContext(FIRST))).toBe(2);
    for (const program of programs) {
      expect(await payoutsOf(program)).toMatchObject([
        {
          amount_cents: 11,
          commission_count: 2,
          period_start: "2028-02-01T00:00:00.000Z",
          period_end: "2028-03-01T00:00:00.000Z",
          due_at: "2028-03-31T00:00:00.000Z",
        },
      ]);
    }
    expect(await generateMonthlyPayouts(testContext(FIRST + 60_000))).toBe(0);
  });

  it("does nothing on other days", async () => {
    const program = await owing();
    for (const day of ["2028-02-29T23:59:59.999Z", "2028-03-02T00:00:00.000Z", "2028-03-15T00:23:00.000Z"]) {
      expect(await generateMonthlyPayouts(testContext(Date.parse(day)))).toBe(0);
    }
    expect(await payoutsOf(program)).toEqual([]);
    await generateMonthlyPayouts(testContext(FIRST));
  });

  it("does not make again what the owner has canceled on the same day, nor run a month twice", async () => {
    const program = await owing();
    await generateMonthlyPayouts(testContext(FIRST));
    const [made] = await payoutsOf(program);
    await cancelPayout(programContext(program, FIRST + 1_000), made!.id);
    expect(await generateMonthlyPayouts(testContext(FIRST + 3_600_000))).toBe(0);
    expect(await payoutsOf(program)).toHaveLength(1);
    // The next month takes what was canceled and what has come since.
    await generateMonthlyPayouts(testContext(Date.parse("2028-04-01T00:23:00.000Z")));
    expect((await payoutsOf(program)).at(-1)).toMatchObject({ amount_cents: 111, status: "pending" });
  });

  it("twice at once makes each payout once; cut short, the next run that day goes on", async () => {
    const programs = [await owing(), await owing(), await owing()];
    expect(await generateMonthlyPayouts(testContext(FIRST), () => false)).toBe(0);
    await Promise.all([generateMonthlyPayouts(testContext(FIRST)), generateMonthlyPayouts(testContext(FIRST))]);
    for (const program of programs) {
      expect(await payoutsOf(program)).toHaveLength(1);
      expect((await commissionsOf(program)).filter((row) => row.payout_id !== null)).toHaveLength(2);
    }
  });

  it("is what the crons run, with auto-approval and reconciling", async () => {
    const program = await owing();
    const context = (now: number) => ({
      env: env as unknown as Bindings,
      ctx: testContext(now),
      outbound: { db: testContext(now).db, now: () => now, wake: () => Promise.resolve() },
    });
    await runJobs("23 0 1 * *", context(FIRST));
    expect(await payoutsOf(program)).toHaveLength(1);
    const pending = await makeProgram({ auto_approve_days: 3 });
    const bob = await makePartner(pending);
    await makeCommissions(pending, bob.id, [{ status: "pending", created_at: "2028-02-01T00:00:00.000Z" }]);
    await runJobs("17 3 * * *", context(FIRST));
    expect((await commissionsOf(pending))[0]!.status).toBe("approved");
  });
});
