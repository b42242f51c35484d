/** A payment that finds its partner after its customer is erased is decided by its facts, in every order (JOB-1, LAW-1). */
import { describe, expect, it } from "vitest";
import { erase } from "../support/erasure.ts";
import { ledgerOf, sendA, settleRest } from "../support/ledger.ts";
import { programOfJane, type TestProgram } from "../support/program.ts";
import { invoicePaid, sessionCompleted } from "../support/provider-a.ts";
import { nowSeconds } from "../support/vendor.ts";

const email = "buyer@shop.example";
const OF_BUYER = { customer: "cus_1", subscription: "sub_1" };

/** 30 % for new customers, 10 % for others. */
async function programOfNew(): Promise<TestProgram> {
  const program = await programOfJane({ default_commission_pct: 10 });
  const flow = { name: "new", action_type: "percentage", action_value: 30, apply_from: "2025-01-01" };
  const conditions = [{ field: "new_customer", op: "eq", value: true }];
  expect((await program.api("POST", "/api/v1/flows", { ...flow, conditions })).status).toBe(201);
  return program;
}

const made = (minutesAgo: number) => ({ ...OF_BUYER, created: nowSeconds() - minutesAgo * 60 });
const invoice = (id: string, minutesAgo: number) => invoicePaid({ id, ...made(minutesAgo), email });
/** The subscription's first payment turns out to be of jane, and so do those after it. */
const lateSession = () => sessionCompleted({ id: "cs_1", invoice: "in_1", ref: "jane", email, ...made(30) });

/** The earnings of each payment by its vendor's id. */
async function earned(program: TestProgram): Promise<Record<string, number>> {
  await settleRest(program);
  const { commissions } = await ledgerOf(program);
  return Object.fromEntries(commissions.map((row) => [row.provider_transaction_id, row.amount_cents]));
}

describe("a payment of an erased customer", () => {
  it("that finds its partner by an event of an earlier one is of a new customer, as the earlier one is", async () => {
    const program = await programOfNew();
    await sendA(program, invoice("in_1", 30));
    await sendA(program, invoice("in_2", 20));
    await erase(program, email);
    await sendA(program, lateSession());
    expect(await earned(program)).toEqual({ in_1: 3_000, in_2: 3_000 });
  });

  it("is decided by the same rule in every order of the events after the erasure", async () => {
    // The earliest payment has no partner, so the later ones are not of a new customer.
    const events = [lateSession, () => invoice("in_0", 300), () => invoice("in_3", 10)];
    for (const order of ordersOf(events)) {
      const program = await programOfNew();
      await sendA(program, invoice("in_1", 30));
      await sendA(program, invoice("in_2", 20));
      await erase(program, email);
      for (const event of order) await sendA(program, event());
      expect(await earned(program)).toEqual({ in_1: 1_000, in_2: 1_000, in_3: 1_000 });
    }
  });

  it("that was decided before the erasure keeps its rule", async () => {
    const program = await programOfNew();
    await sendA(program, invoice("in_1", 30));
    await sendA(program, lateSession());
    await erase(program, email);
    await sendA(program, invoice("in_0", 300));
    await sendA(program, invoice("in_2", 20));
    expect(await earned(program)).toEqual({ in_1: 3_000, in_2: 1_000 });
  });
});

/** All orders of few values. */
function ordersOf<T>(values: readonly T[]): T[][] {
  if (values.length <= 1) return [[...values]];
  return values.flatMap((first, i) => ordersOf(values.toSpliced(i, 1)).map((rest) => [first, ...rest]));
}
