/**
 * Laws of files under random calls, two at a time: a payout is in one open file at most, of any format, and it is
 * `processing` if and only if it is in one; its commissions are paid if and only if it is; it is paid once; the sums of a
 * file are those of its payouts (OUT-22, OUT-27, OUT-28).
 */
import { env } from "cloudflare:workers";
import { sql } from "drizzle-orm";
import * as fc from "fast-check";
import { expect, it } from "vitest";
import { applyResults } from "../../src/core/payouts/results.ts";
import { cancelExport, createExport, markExportPaid } from "../../src/core/payouts/exports.ts";
import { forProgram, type ProgramCtx } from "../../src/core/kernel/context.ts";
import { selectPrograms } from "../../src/core/kernel/program-rows.ts";
import { exportItems, payoutExports, programs } from "../../src/db/schema.ts";
import { AppError } from "../../src/lib/errors.ts";
import { DEBTOR, IBAN_ACCOUNT, rowsOf, UK_ACCOUNT, withBankPayouts } from "../support/bank-payouts.ts";
import { commissionsOf, db } from "../support/payouts.ts";
import { testContext, type TestProgram } from "../support/program.ts";

const RUNS = Math.max(6, Math.ceil(Number(env.PROPERTY_RUNS) / 5));
const PAYOUTS = 5;

const pick = fc.nat({ max: 1_000 });

type Call =
  | { do: "make"; format: "bank" | "wise" | "sepa"; retry: boolean }
  | { do: "paid"; file: number; except: number }
  | { do: "cancel"; file: number }
  | { do: "results"; file: number; statuses: string[] };

const call: fc.Arbitrary<Call> = fc.oneof(
  fc.record({ do: fc.constant("make"), format: fc.constantFrom("bank", "wise", "sepa"), retry: fc.boolean() }),
  fc.record({ do: fc.constantFrom("paid", "cancel"), file: pick, except: pick }),
  fc.record({
    do: fc.constant("results"),
    file: pick,
    statuses: fc.array(fc.constantFrom("paid", "failed", "returned", "pending", ""), {
      minLength: PAYOUTS,
      maxLength: PAYOUTS,
    }),
  }),
);

it("files keep their laws (OUT-22, OUT-27, OUT-28)", async () => {
  const steps = fc.array(fc.tuple(call, fc.option(call)), { minLength: 3, maxLength: 12 });
  await fc.assert(fc.asyncProperty(steps, play), { numRuns: RUNS });
});

async function play(steps: readonly (readonly [Call, Call | null])[]): Promise<void> {
  const payees = Array.from({ length: PAYOUTS }, (_, i) => ({
    ...{ account: i === 0 ? UK_ACCOUNT : IBAN_ACCOUNT, amount_cents: 1_000 + i },
  }));
  const program = await withBankPayouts(payees);
  await program.api("PATCH", "/api/v1/programs/me", DEBTOR);
  for (const [first, second] of steps) {
    await Promise.all([first, ...(second ? [second] : [])].map((one) => carryOut(program, one)));
    await expectLaws(program);
  }
}

async function contextOf(program: TestProgram): Promise<ProgramCtx> {
  const [row] = await selectPrograms(db).where(sql`${programs.id} = ${program.id}`);
  return forProgram(testContext(), row!);
}

const filesOf = (program: TestProgram) =>
  db
    .select()
    .from(payoutExports)
    .where(sql`program_id = ${program.id}`)
    .orderBy(payoutExports.id);

/** A refusal is an answer; anything else fails the test. */
async function carryOut(program: TestProgram, given: Call): Promise<void> {
  const ctx = await contextOf(program);
  try {
    if (given.do === "make") {
      await createExport(ctx, { format: given.format, currency: "EUR", retry: given.retry });
      return;
    }
    const files = await filesOf(program);
    const file = files[given.file % Math.max(files.length, 1)];
    if (!file) return;
    const ids = (await rowsOf(program)).map(({ id }) => id);
    if (given.do === "cancel") await cancelExport(ctx, file.id);
    else if (given.do === "paid") {
      const inFile = await db
        .select()
        .from(exportItems)
        .where(sql`export_id = ${file.id}`);
      const except = inFile.slice(0, given.except % 3).map(({ payout_id }) => payout_id);
      await markExportPaid(ctx, file.id, { reference: "Batch", except });
    } else {
      const lines = given.statuses.flatMap((status, i) => (status === "" ? [] : [`${ids[i]},${status}`]));
      const text = ["payout_id,status", ...lines, ""].join("\n");
      const { lines: done } = await applyResults(ctx, file.id, text, { dry_run: false });
      expect(done).toHaveLength(lines.length);
    }
  } catch (error) {
    if (!(error instanceof AppError) || !["invalid_transition", "validation_failed"].includes(error.code)) throw error;
  }
}

async function expectLaws(program: TestProgram): Promise<void> {
  const [payouts, files, commissions] = await Promise.all([rowsOf(program), filesOf(program), commissionsOf(program)]);
  const items = await db
    .select()
    .from(exportItems)
    .where(sql`export_id in (select id from payout_exports where program_id = ${program.id})`);
  const events = await db.all<{ type: string; payout_id: string }>(
    sql`select type, payload ->> 'payout_id' as payout_id from events where program_id = ${program.id}`,
  );
  for (const payout of payouts) {
    const open = items.filter(({ payout_id, status }) => payout_id === payout.id && status === "open");
    expect(open.length).toBe(payout.status === "processing" ? 1 : 0);
    const own = commissions.filter(({ payout_id }) => payout_id === payout.id);
    expect(own).toHaveLength(payout.status === "returned" ? 0 : 2);
    for (const { status } of own) expect(status).toBe(payout.status === "paid" ? "paid" : "approved");
    const paid = events.filter(({ type, payout_id }) => type === "payout.paid" && payout_id === payout.id);
    expect(paid.length).toBe(["paid", "returned"].includes(payout.status) ? 1 : 0);
  }
  for (const file of files) {
    const within = items.filter(({ export_id }) => export_id === file.id);
    const sums = payouts
      .filter(({ id }) => within.some(({ payout_id }) => payout_id === id))
      .map((one) => one.amount_cents);
    expect([file.count, file.amount_cents]).toEqual([within.length, sums.reduce<number>((sum, one) => sum + one, 0)]);
    expect(within.some(({ status }) => status === "open")).toBe(file.status === "open");
    if (file.status === "canceled") expect(within.some(({ status }) => status === "paid")).toBe(false);
  }
}
