/** A job generates the past calendar month on the first of each month (OUT-3). */
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { generatePayouts } from "../../src/core/payouts/generate.ts";
import { generateMonthlyPayouts } from "../../src/core/payouts/month.ts";
import { fireCron, serveAll } from "../support/jobs.ts";
import { makePartner, makeProgram, programContext, testContext, type TestProgram } from "../support/program.ts";
import { cancelPayout } from "../../src/core/payouts/payouts.ts";
import { commissionsOf, makeCommissions, payoutsOf } from "../support/payouts.ts";

const FIRST = Date.parse("2028-03-01T00:23:00.000Z");

/** Gives how many programs it served, each in one chunk. */
const generateAt = (now: number, goOn?: () => boolean) => serveAll(generateMonthlyPayouts(testContext(now)), goOn);

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
  it("makes the payouts of every program for the past calendar month, leap day included (OUT-3)", async () => {
    const programs = [await owing(), await owing()];
    expect(await generateAt(FIRST)).toBe(2);
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
    expect(await generateAt(FIRST + 60_000)).toBe(0);
  });

  it("does nothing before the month has ended, nor for what was approved after the first", async () => {
    const [early, late] = [await owing(), await makeProgram()];
    expect(await generateAt(Date.parse("2028-02-29T23:59:59.999Z"))).toBe(0);
    const bob = await makePartner(late);
    await makeCommissions(late, bob.id, [
      { created_at: "2028-02-10T00:00:00.000Z", approved_at: "2028-03-02T00:00:00.000Z" },
    ]);
    for (const day of ["2028-03-02T00:00:00.000Z", "2028-03-15T00:23:00.000Z"]) {
      expect(await generateAt(Date.parse(day))).toBe(day.includes("-02T") ? 1 : 0);
    }
    expect([await payoutsOf(early), await payoutsOf(late)]).toMatchObject([[{ amount_cents: 11 }], []]);
  });

  it("carries forward what was disputed on the first, whenever that is over, as what is approved later (OUT-2, OUT-3)", async () => {
    const program = await makeProgram();
    const { id } = await makePartner(program);
    const [disputed] = await makeCommissions(program, id, [
      {
        ...{ created_at: "2028-02-10T00:00:00.000Z", flagged: true },
        review_reason: "disputed",
        review_reasons: "disputed",
      },
      { created_at: "2028-02-11T00:00:00.000Z", approved_at: "2028-03-05T00:00:00.000Z", amount_cents: 7 },
    ]);
    const [later] = (await commissionsOf(program)).filter(({ id: one }) => one !== disputed!.id);
    const set = (status: string, one: string) =>
      env.DB.prepare("update commissions set status = ? where id = ?").bind(status, one).run();
    await set("pending", later!.id);
    await generateAt(FIRST);
    await set("approved", later!.id);
    await env.DB.prepare("update commissions set flagged = 0, review_reason = null, review_reasons = '' where id = ?")
      .bind(disputed!.id)
      .run();
    expect(await generateAt(Date.parse("2028-03-10T00:23:00.000Z"))).toBe(0);
    expect(await payoutsOf(program)).toEqual([]);
    await generateAt(Date.parse("2028-04-01T00:23:00.000Z"));
    expect(await payoutsOf(program)).toMatchObject([{ amount_cents: 1_007, commission_count: 2 }]);
  });

  it("takes what is owed back by then, and is not begun for that alone (OUT-1)", async () => {
    const [owed, owing_back] = [await owing(), await makeProgram()];
    const { partner_id } = (await commissionsOf(owed))[0]!;
    const back = { kind: "clawback", created_at: "2028-03-01T00:10:00.000Z" } as const;
    await makeCommissions(owed, partner_id, [{ ...back, amount_cents: -4 }]);
    const { id } = await makePartner(owing_back);
    await makeCommissions(owing_back, id, [
      { ...back, amount_cents: -4 },
      { ...back, amount_cents: -3, created_at: "2028-02-10T00:00:00.000Z" },
    ]);
    expect(await generateAt(FIRST)).toBe(1);
    expect(await payoutsOf(owed)).toMatchObject([{ amount_cents: 7, commission_count: 3 }]);
    expect(await payoutsOf(owing_back)).toEqual([]);
    // A commission that is approved later on the first is still in time.
    await makeCommissions(owing_back, id, [
      { amount_cents: 9, created_at: "2028-02-10T00:00:00.000Z", approved_at: "2028-03-01T09:00:00.000Z" },
    ]);
    expect(await generateAt(FIRST + 36_000_000)).toBe(1);
    expect(await payoutsOf(owing_back)).toMatchObject([{ amount_cents: 2, commission_count: 3 }]);
  });

  it("pays what a commission of the month is worth after all, where that alone is due, and begins for nothing owed back (OUT-1)", async () => {
    const [worth, owing_back] = [await makeProgram(), await makeProgram()];
    for (const [program, amount_cents] of [
      [worth, 4],
      [owing_back, -4],
    ] as const) {
      const { id } = await makePartner(program);
      const [sale] = await makeCommissions(program, id, [{ created_at: "2028-02-10T00:00:00.000Z", status: "paid" }]);
      const found = {
        kind: "clawback",
        source_commission_id: sale!.id,
        created_at: "2028-03-01T00:10:00.000Z",
      } as const;
      await makeCommissions(program, id, [{ ...found, amount_cents }]);
    }
    expect(await generateAt(FIRST)).toBe(1);
    expect(await payoutsOf(worth)).toMatchObject([{ amount_cents: 4, commission_count: 1 }]);
    expect(await payoutsOf(owing_back)).toEqual([]);
  });

  it("catches up with a first of the month on which no cron ran, once", async () => {
    const program = await owing();
    const late = Date.parse("2028-03-09T11:00:00.000Z");
    await Promise.all([generateAt(late), generateAt(late)]);
    const [made] = await payoutsOf(program);
    expect(made).toMatchObject({ amount_cents: 11, period_end: "2028-03-01T00:00:00.000Z" });
    // The owner's later change is not undone.
    await cancelPayout(programContext(program, late + 1_000), made!.id);
    expect(await generateAt(late + 60_000)).toBe(0);
    expect(await payoutsOf(program)).toHaveLength(1);
  });

  it("does not generate again what the owner generated and canceled before it caught up", async () => {
    const program = await owing();
    const bob = await makePartner(program);
    const day = (n: number) => Date.parse(`2028-03-0${n}T12:00:00.000Z`);
    const [jane] = await commissionsOf(program);
    await generatePayouts(programContext(program, day(2)), { period_start: null, period_end: day(1), dry_run: false });
    const [byHand] = await payoutsOf(program);
    expect(byHand).toMatchObject({ partner_id: jane!.partner_id, amount_cents: 111 });
    await cancelPayout(programContext(program, day(3)), byHand!.id);
    await makeCommissions(program, bob.id, [{ amount_cents: 7, created_at: "2028-02-11T00:00:00.000Z" }]);
    await generateAt(day(4));
    expect((await payoutsOf(program)).map(({ amount_cents, status }) => [amount_cents, status])).toEqual([
      [111, "canceled"],
      [7, "pending"],
    ]);
    await generateAt(Date.parse("2028-04-01T00:23:00.000Z"));
    expect((await payoutsOf(program)).at(-1)).toMatchObject({ amount_cents: 111, status: "pending" });
  });

  it("does not make again what the owner has canceled on the same day, nor run a month twice", async () => {
    const program = await owing();
    await generateAt(FIRST);
    const [made] = await payoutsOf(program);
    await cancelPayout(programContext(program, FIRST + 1_000), made!.id);
    expect(await generateAt(FIRST + 3_600_000)).toBe(0);
    expect(await payoutsOf(program)).toHaveLength(1);
    // The next month includes the canceled payout and newer commissions.
    await generateAt(Date.parse("2028-04-01T00:23:00.000Z"));
    expect((await payoutsOf(program)).at(-1)).toMatchObject({ amount_cents: 111, status: "pending" });
  });

  it("spares what a payout canceled since can have held, and pays the rest less all that is owed back (OUT-3)", async () => {
    const program = await makeProgram();
    const { id } = await makePartner(program);
    const [sale] = await makeCommissions(program, id, [
      { amount_cents: 80, created_at: "2028-01-31T23:59:59.999Z" },
      { amount_cents: -3, created_at: "2028-01-20T00:00:00.000Z" },
    ]);
    await generateAt(Date.parse("2028-02-01T00:23:00.000Z"));
    const [january] = await payoutsOf(program);
    await makeCommissions(program, id, [
      { amount_cents: 200, created_at: "2028-02-01T00:00:00.000Z" },
      // A correction of January's sale belongs to January.
      { kind: "clawback", source_commission_id: sale!.id, amount_cents: 9, created_at: "2028-02-15T00:00:00.000Z" },
    ]);
    await cancelPayout(programContext(program, FIRST - 60_000), january!.id);
    const pay = async (now: number) => {
      await generateAt(now);
      return (await payoutsOf(program)).map(({ amount_cents, status }) => [amount_cents, status]);
    };
    const made = [
      [77, "canceled"],
      [197, "pending"],
    ];
    expect(await pay(FIRST)).toEqual(made);
    expect(await pay(Date.parse("2028-04-01T00:23:00.000Z"))).toEqual([...made, [89, "pending"]]);
  });

  it("twice at once makes each payout once; cut short, the next run that day goes on", async () => {
    const programs = [await owing(), await owing(), await owing()];
    expect(await generateAt(FIRST, () => false)).toBe(0);
    await Promise.all([generateAt(FIRST), generateAt(FIRST)]);
    for (const program of programs) {
      expect(await payoutsOf(program)).toHaveLength(1);
      expect((await commissionsOf(program)).filter((row) => row.payout_id !== null)).toHaveLength(2);
    }
  });

  it("records the month with its last payouts: where it dies there neither is written, and the next run does both", async () => {
    const program = await owing();
    const runs = () =>
      env.DB.prepare("select count(*) as n from payout_runs where program_id = ?").bind(program.id).first<number>("n");
    await env.DB.prepare(
      "create trigger dying before insert on payout_runs begin select raise(abort, 'the process dies'); end",
    ).run();
    await expect(generateAt(FIRST)).rejects.toThrow();
    await env.DB.prepare("drop trigger dying").run();
    expect([await payoutsOf(program), await runs()]).toEqual([[], 0]);
    expect(await generateAt(FIRST + 60_000)).toBe(1);
    expect([(await payoutsOf(program)).length, await runs()]).toEqual([1, 1]);
    // A second run of the month would otherwise pay late approvals: there was time to approve them before.
    expect(await generateAt(FIRST + 120_000)).toBe(0);
  });

  it("is what the crons run, with auto-approval and reconciling", async () => {
    const program = await owing();
    await fireCron("17 3 * * *", FIRST - 86_400_000);
    await fireCron("23 0 1 * *", FIRST);
    expect(await payoutsOf(program)).toHaveLength(1);
    const pending = await makeProgram({ auto_approve_days: 3 });
    const bob = await makePartner(pending);
    await makeCommissions(pending, bob.id, [{ status: "pending", created_at: "2028-02-01T00:00:00.000Z" }]);
    await fireCron("17 3 * * *", FIRST);
    expect((await commissionsOf(pending))[0]!.status).toBe("approved");
  });

  it("pays after an outage over the first what crons on time would have: approval goes first (OUT-3, COM-6)", async () => {
    const pending = { status: "pending", approved_at: null } as const;
    const made = async (created_at: string) => {
      const program = await makeProgram({ auto_approve_days: 14 });
      await makeCommissions(program, (await makePartner(program)).id, [{ ...pending, created_at }]);
      return program;
    };
    const paid = async (programs: TestProgram[]) =>
      Promise.all(programs.map(async (one) => (await payoutsOf(one)).map(({ amount_cents }) => amount_cents)));
    const last = Date.parse("2028-04-15T03:17:00.000Z");
    // Commissions to be approved during the outage, on the first, and after it.
    const programs = [await made("2028-04-10T00:00:00.000Z"), await made("2028-04-17T12:00:00.000Z")];
    const late = await made("2028-04-18T00:00:00.000Z");
    await fireCron("17 3 * * *", last);
    expect(await paid([...programs, late])).toEqual([[], [], []]);
    const back = Date.parse("2028-05-03T10:00:00.000Z");
    await fireCron("* * * * *", back);
    expect(await paid([...programs, late])).toEqual([[], [], []]);
    await fireCron("* * * * *", back + 60_000);
    expect(await paid([...programs, late])).toEqual([[1_000], [1_000], []]);
    expect((await commissionsOf(late)).map(({ status }) => status)).toEqual(["approved"]);
  });

  it("comes on time after the approval of what is due by then, also of a program with more to pay (OUT-3, COM-6)", async () => {
    const program = await makeProgram({ auto_approve_days: 14 });
    await makeCommissions(program, (await makePartner(program)).id, [
      { amount_cents: 10, created_at: "2028-05-10T00:00:00.000Z" },
      { amount_cents: 1, created_at: "2028-05-17T12:00:00.000Z", status: "pending", approved_at: null },
    ]);
    const first = Date.parse("2028-06-01T00:00:00.000Z");
    await fireCron("17 3 * * *", Date.parse("2028-05-31T03:17:00.000Z"));
    for (const minute of [-1, 0, 1]) await fireCron("* * * * *", first + minute * 60_000);
    await fireCron("23 0 1 * *", first + 23 * 60_000);
    await fireCron("17 3 * * *", first + 197 * 60_000);
    await fireCron("* * * * *", first + 220 * 60_000);
    expect(await payoutsOf(program)).toMatchObject([{ amount_cents: 11, commission_count: 2 }]);
  });
});
