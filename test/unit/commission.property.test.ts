/** The rows of a payment always sum to the amount of the rule, and frozen rows are not edited (LAW-2, LAW-4). */
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  amountFor,
  COMMISSION_STATUSES,
  planRows,
  type Desired,
  type LedgerRow,
  type RowPlan,
} from "../../src/domain/commission.ts";
import { addUp, cents, larger, NOTHING, percent, subtract, type Cents } from "../../src/domain/money.ts";

const PARTNERS = ["par_a", "par_b", "par_c"];
const partner = fc.constantFrom(...PARTNERS);
/** Small ones, and ones of which a row holds all that a history moves at once. */
const LARGE = 2 ** 46;
const amount = fc.oneof(
  fc.nat({ max: 1_000 }).map(cents),
  fc.nat({ max: 1_000 }).map((less) => cents(LARGE - less)),
);
const desired = fc.option(fc.record({ partner_id: partner, amount_cents: amount }));
const CURRENCIES = ["EUR", "JPY"] as const;
/** Nearly always a payment stays in its currency. */
const currency = fc.oneof({ weight: 4, arbitrary: fc.constant(CURRENCIES[0]) }, fc.constantFrom(...CURRENCIES));

function sumOf(rows: readonly LedgerRow[]): Cents {
  return addUp(rows.map((row) => row.amount_cents));
}

let minted = 0;

function apply(rows: readonly LedgerRow[], plan: RowPlan, wanted: Desired | null, paidIn: string = CURRENCIES[0]) {
  const after = rows
    .filter((row) => !plan.withdrawn.includes(row.id))
    .map((row): LedgerRow => {
      const sale = plan.sales.find(({ id }) => id === row.id);
      const clawback = plan.clawbacks.find(({ id }) => id === row.id);
      return {
        ...row,
        ...sale,
        ...(sale ? { currency: paidIn } : {}),
        ...(clawback ? { amount_cents: clawback.amount_cents } : {}),
      };
    });
  const add = (fields: Pick<LedgerRow, "partner_id" | "amount_cents" | "currency" | "kind" | "status">) =>
    after.push({ id: `com_${minted++}`, payout_id: null, ...fields });
  if (plan.insert_sale && wanted) add({ ...wanted, currency: paidIn, kind: "sale", status: "pending" });
  for (const { partner_id, amount_cents, currency: of } of plan.insert_clawbacks) {
    add({ partner_id, amount_cents, currency: of, kind: "clawback", status: "approved" });
  }
  return after;
}

/** Histories of one payment: the desired amount changes, and between the changes rows are paid, held, freed, rejected. */
const history = fc.array(
  fc.record({
    wanted: desired,
    paidIn: currency,
    fate: fc.array(
      fc.record({ status: fc.constantFrom(...COMMISSION_STATUSES), held: fc.boolean(), touches: fc.boolean() }),
      { minLength: 12, maxLength: 12 },
    ),
  }),
  { minLength: 1, maxLength: 6 },
);

describe("the rows of a payment", () => {
  it("sum, for each partner, to what the rule gives, after any history; locked rows stay (LAW-2, LAW-4)", () => {
    fc.assert(
      fc.property(history, (steps) => {
        let rows: LedgerRow[] = [];
        for (const { wanted, paidIn, fate } of steps) {
          const plan = planRows(rows, wanted, paidIn);
          const after = apply(rows, plan, wanted, paidIn);
          const isLocked = (row: LedgerRow) => row.status === "paid" || row.payout_id !== null;
          for (const row of rows) if (isLocked(row)) expect(after).toContainEqual(row);
          const isDenied = (row: LedgerRow) =>
            row.kind === "clawback" && row.status === "rejected" && row.amount_cents > 0;
          for (const row of rows.filter(isDenied)) {
            // A denied amount stays denied, in any currency.
            const isGiven = rows.some((other) => other.partner_id === row.partner_id && isLocked(other));
            if (isGiven) expect(after).toContainEqual(row);
          }
          for (const [partner_id, counted] of PARTNERS.flatMap((id) => CURRENCIES.map((one) => [id, one] as const))) {
            const all = after.filter((row) => row.partner_id === partner_id);
            const own = all.filter((row) => row.currency === counted);
            const sum = sumOf(own.filter(({ status }) => status !== "rejected"));
            const earned = wanted?.partner_id === partner_id && counted === paidIn ? wanted.amount_cents : NOTHING;
            const rejections = all.filter(({ status }) => status === "rejected");
            if (rejections.length === 0) expect(sum).toBe(earned);
            // Money that was never paid is never owed back (LAW-5).
            expect(sum).toBeGreaterThanOrEqual(0);
            const sale = rejections.find(({ kind }) => kind === "sale");
            const given = sumOf(own.filter(isLocked));
            if (sale) expect(sum).toBeLessThanOrEqual(larger(given, NOTHING));
            // A forgiven amount is neither claimed back nor given twice.
            else if (rejections.length > 0) {
              const left = larger(subtract(earned, sumOf(own.filter(isDenied))), NOTHING);
              expect(sum).toBeLessThanOrEqual(larger(left, given));
            }
          }
          // Settling again does not change the rows.
          const again = planRows(after, wanted, paidIn);
          expect([again.insert_sale, again.insert_clawbacks, again.withdrawn]).toEqual([false, [], []]);
          expect(apply(after, again, wanted, paidIn)).toEqual(after);
          rows = after.map((row, i) => {
            const { status, held, touches } = fate[i % fate.length]!;
            if (!touches || row.status === "paid") return row;
            return { ...row, status, payout_id: held && status === "approved" ? "pay_1" : null };
          });
        }
      }),
      { numRuns: 500 },
    );
  });

  const judged = fc.constantFrom(
    { status: "pending" as const, payout_id: null },
    { status: "approved" as const, payout_id: null },
    { status: "approved" as const, payout_id: "pay_1" },
    { status: "paid" as const, payout_id: "pay_1" },
    { status: "rejected" as const, payout_id: null },
  );

  it("that turn out to be one of two earn once, unless both are rejected, whichever the owner has judged before", () => {
    fc.assert(
      fc.property(fc.array(judged, { minLength: 2, maxLength: 3 }), (states) => {
        const wanted: Desired = { partner_id: "par_a", amount_cents: cents(2_000) };
        const rows = states.map((state, i): LedgerRow => ({
          id: `com_${i}`,
          kind: "sale",
          currency: "EUR",
          ...wanted,
          ...state,
        }));
        const after = apply(rows, planRows(rows, wanted, "EUR"), wanted);
        const isRejected = states.every(({ status }) => status === "rejected");
        expect(sumOf(after.filter(({ status }) => status !== "rejected"))).toBe(isRejected ? 0 : 2_000);
        // An approved amount does not need a second approval.
        const isApproved = states.some(({ status }) => status === "approved" || status === "paid");
        expect(after.some(({ status }) => status === "approved" || status === "paid")).toBe(isApproved);
        expect(apply(after, planRows(after, wanted, "EUR"), wanted)).toEqual(after);
      }),
      { numRuns: 500 },
    );
  });

  it("a percentage lies between 0 and what is left of the base; a flat amount stays until nothing is left", () => {
    fc.assert(
      fc.property(
        fc.nat({ max: 10 ** 12 }).map(cents),
        fc.nat({ max: 10 ** 12 }).map(cents),
        fc.nat({ max: 1_000_000 }),
        (base, adjusted, units) => {
          const rest = Math.max(base - adjusted, 0);
          const percentage = amountFor(
            { source: "program", action_type: "percentage", action_value: percent(units / 10_000) },
            base,
            adjusted,
          );
          expect(percentage).toBeGreaterThanOrEqual(0);
          expect(percentage).toBeLessThanOrEqual(rest);
          const flat = amountFor({ source: "flow", action_type: "flat", action_value: cents(700) }, base, adjusted);
          expect(flat).toBe(rest > 0 ? 700 : 0);
        },
      ),
    );
  });
});
