/**
 * Type errors in amounts and percentages: each line under `@ts-expect-error` is a mixture, and fails `npm run typecheck`
 * the day that it compiles. Comparing an amount with a percentage by `<` is the only mixture that compiles.
 */
import { describe, expect, it } from "vitest";
import type { createManualCommission, ManualCommission } from "../../src/core/commissions/commissions.ts";
import type { JournalEntry, PartnerBalance } from "../../src/core/ledger/journal.ts";
import type { SimulatedPayment } from "../../src/core/programs/simulation.ts";
import type * as schema from "../../src/db/schema.ts";
import { amountOf, settingOf, type Amount } from "../../src/domain/amount.ts";
import { amountFor, type Desired, type LedgerRow, type Rate, type RowPlan } from "../../src/domain/commission.ts";
import { decimalAmount, formatMoney } from "../../src/domain/currency.ts";
import type { AdjustmentFact, PaymentFact } from "../../src/domain/fact.ts";
import {
  addUp,
  cents,
  compareAmounts,
  isCents,
  isPercent,
  larger,
  MOST,
  mulDivHalfUp,
  negate,
  NOTHING,
  percent,
  percentageOf,
  sumWithin,
  type Cents,
  type Percent,
} from "../../src/domain/money.ts";
import type { Decision, PaymentDecision } from "../../src/domain/payment.ts";
import type { PaymentState } from "../../src/domain/payment-state.ts";
import type { PartnerRules, ProgramRules } from "../../src/domain/rules.ts";
import type { commissionCreate } from "../../src/http/api/commissions.ts";
import type { programPatch } from "../../src/http/api/programs.ts";
import type { MadeTransfer, TransferOrder } from "../../src/providers/connect.ts";
import type * as z from "zod";

type Program = typeof schema.programs.$inferSelect;
type Commission = typeof schema.commissions.$inferSelect;
type Payout = typeof schema.payouts.$inferSelect;

/** The fields that are named as amounts or percentages and are neither; never if there are none. */
type Loose<T> = T extends readonly (infer U)[]
  ? Loose<U>
  : {
      [K in keyof T & string]: K extends `${string}_cents`
        ? Exclude<T[K], Cents | null | undefined> extends never
          ? never
          : K
        : K extends `${string}_pct`
          ? Exclude<T[K], Percent | null | undefined> extends never
            ? never
            : K
          : never;
    }[keyof T & string];

/** Does not compile for a type with such a field. */
type Tight<T extends object> = [Loose<T>] extends [never] ? T : never;
const tight = <T extends object>(_holds: T extends Tight<T> ? true : false): void => {};

/** Read by the compiler alone. */
export function everyNamedField(): void {
  tight<Program>(true);
  tight<typeof schema.partners.$inferSelect>(true);
  tight<typeof schema.payments.$inferSelect>(true);
  tight<Commission>(true);
  tight<Payout>(true);
  tight<typeof schema.entries.$inferSelect>(true);
  tight<typeof schema.balances.$inferSelect>(true);
  tight<PaymentFact>(true);
  tight<AdjustmentFact>(true);
  tight<PaymentState>(true);
  tight<Decision>(true);
  tight<PaymentDecision>(true);
  tight<LedgerRow>(true);
  tight<Desired>(true);
  tight<RowPlan["sales"][number]>(true);
  tight<RowPlan["clawbacks"][number]>(true);
  tight<RowPlan["insert_clawbacks"][number]>(true);
  tight<Amount>(true);
  tight<ProgramRules>(true);
  tight<PartnerRules>(true);
  tight<PartnerBalance>(true);
  tight<JournalEntry>(true);
  tight<SimulatedPayment>(true);
  tight<ManualCommission>(true);
  tight<TransferOrder>(true);
  tight<MadeTransfer>(true);
  tight<z.output<typeof commissionCreate>>(true);
  tight<z.output<typeof programPatch>>(true);
  // @ts-expect-error -- a field of that name with a plain number is found
  tight<{ paid_cents: number }>(true);
  // @ts-expect-error -- a percentage in it as well
  tight<{ paid_cents: Percent | null }>(true);
  // @ts-expect-error -- and an amount as a percentage
  tight<{ own_pct: Cents }>(true);
}

interface Given {
  amount: Cents;
  pct: Percent;
  program: Program;
  commission: Commission;
  payout: Payout;
}

/** Read by the compiler alone. */
export function numbersAsAmounts({ amount, pct, program, commission, payout }: Given): unknown[] {
  return [
    // @ts-expect-error -- a percentage is no amount
    percentageOf(pct, pct),
    // @ts-expect-error -- nor are days
    settingOf(program, program.cookie_days),
    // @ts-expect-error -- nor is a count
    amountOf(payout, payout.commission_count),
    // @ts-expect-error -- nor is any other number
    amountOf(commission, 1_000),
    // @ts-expect-error -- an amount is no percentage
    percentageOf(amount, amount),
    // @ts-expect-error -- the two in the wrong order
    percentageOf(program.default_commission_pct, commission.amount_cents),
    // @ts-expect-error -- days are no percentage
    percentageOf(amount, program.cookie_days),
    // @ts-expect-error -- a count in the place of the adjusted amount
    amountFor(commission.rate, amount, payout.commission_count),
    // @ts-expect-error -- a percentage in it
    amountFor(commission.rate, amount, program.default_commission_pct),
    // @ts-expect-error -- a percentage shown as money
    formatMoney(program.default_commission_pct, program.currency),
    // @ts-expect-error -- a count shown as money
    decimalAmount(payout.commission_count, payout.currency),
    // @ts-expect-error -- a percentage among amounts
    addUp([amount, pct]),
    // @ts-expect-error -- a count in the place of an amount
    mulDivHalfUp(amount, payout.commission_count, amount),
    // @ts-expect-error -- plain bounds
    sumWithin([amount], 0, 100),
  ];
}

/** Read by the compiler alone. */
export function sumsAsAmounts({ amount, pct }: Given): unknown[] {
  // @ts-expect-error -- `+` gives a plain number, which may be inexact
  const added: Cents = amount + amount;
  // @ts-expect-error -- and so with a percentage
  const mixed: Cents = amount + pct;
  // @ts-expect-error -- an amount times something is no amount
  const doubled: Cents = amount * 2;
  // @ts-expect-error -- nor is a part of it
  const part: Cents = (amount * pct) / 100;
  // @ts-expect-error -- nor is a difference
  const less: Cents = amount - amount;
  // @ts-expect-error -- nor is the largest of some
  const most: Cents = Math.max(amount, amount);
  // @ts-expect-error -- a sum of other numbers
  const counted: Cents = 1 + 2;
  // @ts-expect-error -- they are never equal
  const same = amount === pct;
  // @ts-expect-error -- a percentage among amounts
  const percentage = larger(amount, pct);
  // @ts-expect-error -- a percentage ordered among amounts
  const order = compareAmounts(amount, pct);
  return [added, mixed, doubled, part, less, most, counted, same, percentage, order];
}

/** Read by the compiler alone. */
export function rowsAndRules({ amount, pct, program, payout }: Given): unknown[] {
  // @ts-expect-error -- a flat rate of a percentage
  const flat: Rate = { source: "program", action_type: "flat", action_value: pct };
  // @ts-expect-error -- a percentage of an amount
  const share: Rate = { source: "program", action_type: "percentage", action_value: amount };
  // @ts-expect-error -- a row with the days of the cookie as its minimum
  const row: Pick<Program, "min_payout_cents"> = { min_payout_cents: program.cookie_days };
  // @ts-expect-error -- a payout of as many cents as it has commissions
  const paid: Pick<Payout, "amount_cents"> = { amount_cents: payout.commission_count };
  // @ts-expect-error -- a transfer of as many
  const order: Pick<TransferOrder, "amount_cents"> = { amount_cents: payout.commission_count };
  // @ts-expect-error -- a manual commission of a percentage
  const manual: Pick<Parameters<typeof createManualCommission>[1], "amount_cents"> = { amount_cents: pct };
  // @ts-expect-error -- a program whose rate is an amount
  const rate: Pick<Program, "default_commission_pct"> = { default_commission_pct: amount };
  return [flat, share, row, paid, order, manual, rate];
}

describe("an amount", () => {
  it.each([0, -0, 1, -1, Number.MAX_SAFE_INTEGER, -Number.MAX_SAFE_INTEGER])("can be %d", (value) => {
    expect([isCents(value), cents(value)]).toEqual([true, value]);
  });

  it.each([0.5, 2 ** 53, -(2 ** 53), 1e21, Number.NaN, Infinity, -Infinity])("cannot be %d", (value) => {
    expect(isCents(value)).toBe(false);
    expect(() => cents(value)).toThrow(RangeError);
  });

  it("is a number", () => {
    expect([NOTHING, MOST, negate(cents(5)), percentageOf(cents(1_000), percent(20))]).toEqual([
      0,
      Number.MAX_SAFE_INTEGER,
      -5,
      200,
    ]);
  });
});

describe("a percentage", () => {
  it.each([0, 0.0001, 12.5, 33.3333, 100])("can be %d", (value) => {
    expect([isPercent(value), percent(value)]).toEqual([true, value]);
  });

  it.each([-0.0001, 0.00001, 100.0001, Number.NaN, Infinity])("cannot be %d", (value) => {
    expect(isPercent(value)).toBe(false);
    expect(() => percent(value)).toThrow(RangeError);
  });
});
