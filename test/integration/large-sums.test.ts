/** The largest amounts and balances: larger ones are refused or reported, and amounts stay exact (PAY-22). */
import { env } from "cloudflare:workers";
import { sql } from "drizzle-orm";
import { afterEach, describe, expect, it, vi } from "vitest";
import { approveDueCommissions } from "../../src/core/commissions/auto-approve.ts";
import { generatePayouts } from "../../src/core/payouts/generate.ts";
import { generateMonthlyPayouts } from "../../src/core/payouts/month.ts";
import { payPayout } from "../../src/core/payouts/pay.ts";
import { LARGEST_BALANCE } from "../../src/domain/money.ts";
import { amount, selectRows } from "../../src/db/rows.ts";
import { DAY, iso } from "../../src/lib/time.ts";
import { serveAll } from "../support/jobs.ts";
import { ledgerOf, sendA } from "../support/ledger.ts";
import {
  clientOf,
  commissionsOf,
  makeCommissions,
  makePayingProgram,
  payoutsOf,
  reconcileAt,
} from "../support/payouts.ts";
import { makePartner, makeProgram, programContext, testContext, type TestProgram } from "../support/program.ts";
import { sessionCompleted } from "../support/provider-a.ts";
import { differencesOf } from "../support/reconcile.ts";
import { saidSale } from "../support/sale.ts";
import { signInOwner, signInPartner, textOf } from "../support/visitor.ts";

afterEach(() => vi.restoreAllMocks());

const LARGEST = 1_000_000_000_000;
const MOST: number = LARGEST_BALANCE;

interface Refused {
  error: { code: string; details?: { path: string }[] };
}

const balancesOf = async (program: TestProgram) => {
  const rows = env.DB.prepare("select partner_id, account, amount_cents from balances where program_id = ?");
  return (await rows.bind(program.id).all()).results;
};

describe("an amount above the largest", () => {
  it("is 422 in a request, and a payment of it earns nothing, says why and is kept (PAY-22)", async () => {
    const program = await makeProgram();
    const { id: partner_id, slug: ref } = await makePartner(program);
    const flow = { name: "Flat", conditions: [], action_type: "flat" };
    for (const [path, field, bodyOf] of [
      ["track/sale", "amount_cents", (amount_cents: number) => ({ ...saidSale(ref), amount_cents })],
      ["commissions", "amount_cents", (amount_cents: number) => ({ partner_id, amount_cents, note: "Bonus" })],
      ["flows", "action_value", (action_value: number) => ({ ...flow, action_value })],
    ] as const) {
      const { status, body } = await program.api<Refused>("POST", `/api/v1/${path}`, bodyOf(LARGEST + 1));
      expect([path, status, body.error?.details?.map((one) => one.path)]).toEqual([path, 422, [field]]);
      expect([path, (await program.api("POST", `/api/v1/${path}`, bodyOf(LARGEST))).status < 300]).toEqual([
        path,
        true,
      ]);
    }
    const paid = await sendA(program, sessionCompleted({ ref, amount: LARGEST + 1 }));
    expect([paid.status, paid.body.outcome]).toEqual([200, "too_large"]);
    const { payments } = await ledgerOf(program);
    const kept = payments.find(({ outcome }) => outcome === "too_large")!;
    expect(kept.txn_amount_cents).toBe(LARGEST + 1);
    const { body } = await program.api<{ trace: object }>("GET", `/api/v1/payments/${kept.id}`);
    expect(body.trace).toMatchObject({ outcome: "too_large", rate: null });
    const owner = await signInOwner(program);
    await owner.get(`/dashboard/payments/${kept.id}`);
    expect(textOf(owner.html)).toContain("exceeds the limit of this service");
  });
});

describe("a balance at its largest", () => {
  it("takes no more: a change by hand is 422, a payment is kept as too_large and credited once there is room (PAY-22)", async () => {
    const program = await makeProgram({ default_commission_pct: 100 });
    const { id: partner_id, slug: ref } = await makePartner(program);
    const [first] = await makeCommissions(program, partner_id, [
      { status: "pending", approved_at: null, amount_cents: MOST - 10 },
    ]);
    const before = await balancesOf(program);
    const manual = (amount_cents: number) => ({ partner_id, amount_cents, note: "By hand" });
    const refused = await program.api<Refused>("POST", "/api/v1/commissions", manual(11));
    expect([refused.status, refused.body.error.code]).toEqual([422, "validation_failed"]);
    const event = sessionCompleted({ ref, amount: 11 });
    for (let i = 0; i < 2; i++) {
      const { status, body } = await sendA(program, event);
      expect([status, body.outcome]).toEqual([200, "too_large"]);
    }
    expect(await balancesOf(program)).toEqual(before);
    expect(await commissionsOf(program)).toHaveLength(1);
    const owner = await signInOwner(program);
    for (const page of [
      "/dashboard",
      "/dashboard/commissions",
      "/dashboard/payouts/new",
      `/dashboard/partners/${partner_id}`,
    ]) {
      expect([page, (await owner.get(page)).status]).toEqual([page, 200]);
    }
    // Another partner's commission exceeds the program's balance too; a rejection, which lowers the balance, is accepted.
    const other = await makePartner(program);
    expect((await program.api("POST", "/api/v1/commissions", { ...manual(11), partner_id: other.id })).status).toBe(
      422,
    );
    expect((await program.api("PATCH", `/api/v1/commissions/${first!.id}`, { status: "rejected" })).status).toBe(200);
    const { payments } = await ledgerOf(program);
    const again = await program.api<{ outcome: string }>("POST", `/api/v1/payments/${payments[0]!.id}/reprocess`);
    expect([again.status, again.body.outcome]).toEqual([200, "commission"]);
    expect((await commissionsOf(program)).map(({ amount_cents }) => Number(amount_cents)).toSorted()).toEqual([
      11,
      MOST - 10,
    ]);
    expect(await differencesOf(programContext(program))).toEqual([]);
  });

  it("leaves a commission as it is that a later fact would take beyond it", async () => {
    const program = await makeProgram({ default_commission_pct: 100 });
    const { id: partner_id, slug: ref } = await makePartner(program);
    const sold = { id: "cs_grows", ref, payment_intent: "pi_grows" };
    await sendA(program, sessionCompleted({ ...sold, amount: 10 }));
    await makeCommissions(program, partner_id, [{ status: "pending", approved_at: null, amount_cents: MOST - 10 }]);
    const before = await commissionsOf(program);
    const [payment] = (await ledgerOf(program)).payments;
    const { body } = await program.api<{ id: string }>("POST", "/api/v1/flows", {
      name: "All",
      conditions: [],
      action_type: "flat",
      action_value: 50,
      apply_from: "2020-01-01",
    });
    expect(body.id).toBeDefined();
    const reread = await program.api<{ outcome: string }>("GET", `/api/v1/payments/${payment!.id}`);
    expect(reread.body.outcome).toBe("too_large");
    expect(await commissionsOf(program)).toEqual(before);
  });
});

describe("a job at the bound of a balance", () => {
  it("approves for every other account, and reports the one that waits (COM-6)", async () => {
    const error = vi.spyOn(console, "error").mockImplementation(() => {});
    const program = await makeProgram({ auto_approve_days: 1 });
    const [full, other] = [await makePartner(program), await makePartner(program)];
    const due = { status: "pending", approved_at: null, amount_cents: 11 } as const;
    const created_at = iso(Date.now() - 7 * DAY);
    await makeCommissions(program, full.id, [
      { amount_cents: MOST - 10 },
      { ...due, created_at },
      { ...due, created_at, currency: "EUR" },
    ]);
    await makeCommissions(program, other.id, [{ ...due, created_at, amount_cents: 10 }]);
    await serveAll(approveDueCommissions(testContext()));
    const waiting = (await commissionsOf(program)).filter(({ status }) => status === "pending");
    expect(waiting.map(({ partner_id, currency }) => [partner_id, currency])).toEqual([[full.id, "USD"]]);
    expect(JSON.stringify(error.mock.calls)).toContain("approvals are too large for a balance");
    expect(await differencesOf(programContext(program))).toEqual([]);
  });

  it("makes every payout that fits, and skips the others as too_large (OUT-2, OUT-3)", async () => {
    const program = await makeProgram();
    const full = await makePartner(program);
    await makeCommissions(program, full.id, [{ amount_cents: MOST - 10 }]);
    expect((await program.api("POST", "/api/v1/payouts/generate", {})).status).toBe(200);
    const created_at = "2028-02-10T00:00:00.000Z";
    await makeCommissions(program, full.id, [
      { amount_cents: 11, created_at },
      { amount_cents: 11, created_at, currency: "EUR" },
    ]);
    // Each of them fits alone.
    for (let i = 0; i < 5; i++) {
      const { id } = await makePartner(program);
      await makeCommissions(program, id, [{ amount_cents: 6, created_at }]);
    }
    const now = Date.parse("2028-03-01T00:23:00.000Z");
    await serveAll(generateMonthlyPayouts(testContext(now)));
    const made = (await payoutsOf(program)).map((row) => `${row.amount_cents} ${row.currency}`);
    expect(made.toSorted()).toEqual(["11 EUR", `${MOST - 10} USD`, "6 USD"]);
    const input = { period_start: null, period_end: now, dry_run: false };
    const { payouts, skipped } = await generatePayouts({ ...programContext(program), now }, input);
    expect([payouts, skipped.map(({ reason }) => reason)]).toEqual([[], Array.from({ length: 5 }, () => "too_large")]);
    expect(await differencesOf(programContext(program))).toEqual([]);
  });

  it("records every other transfer, and one that was made waits with the reason (OUT-14)", async () => {
    const { program, vendor, partner_id } = await makePayingProgram();
    await makeCommissions(program, partner_id, [
      { amount_cents: MOST - 10, status: "paid", paid_at: iso(Date.now()) },
      { currency: "EUR" },
      { currency: "USD" },
    ]);
    const ctx = programContext(program);
    await generatePayouts(ctx, { period_start: null, period_end: ctx.now, dry_run: false });
    for (const { id } of await payoutsOf(program)) await payPayout(ctx, id, clientOf(vendor));
    const outcomes = async () =>
      (await payoutsOf(program)).map((row) => `${row.currency} ${row.status} ${row.failure_code}`).toSorted();
    expect(await outcomes()).toEqual(["EUR paid null", "USD processing balance_too_large"]);
    await reconcileAt(vendor, Date.now() + DAY);
    expect(await outcomes()).toEqual(["EUR paid null", "USD processing balance_too_large"]);
    expect(vendor.transfers).toHaveLength(2);
  });
});

describe("the sum of all balances", () => {
  it("is exact where each is at its largest (PAY-22)", async () => {
    const program = await makeProgram();
    const { id, email } = await makePartner(program);
    await makeCommissions(program, id, [{ amount_cents: MOST }]);
    expect((await program.api("POST", "/api/v1/payouts/generate", {})).status).toBe(200);
    await makeCommissions(program, id, [
      { amount_cents: MOST },
      { amount_cents: MOST, status: "paid", paid_at: iso(Date.now()) },
      { amount_cents: MOST, status: "pending", approved_at: null },
    ]);
    const { status, body } = await program.api<{ stats: object }>("GET", `/api/v1/partners/${id}`);
    expect([status, body.stats]).toMatchObject([200, { total_earned_cents: 4 * MOST }]);
    const [owner, partner] = [await signInOwner(program), await signInPartner(email)];
    for (const path of ["/dashboard", "/dashboard/commissions", `/dashboard/partners/${id}`]) {
      expect([path, (await owner.get(path)).status]).toEqual([path, 200]);
    }
    for (const path of ["/portal", "/portal/commissions", "/portal/payouts"]) {
      expect([path, (await partner.get(path)).status]).toEqual([path, 200]);
    }
    expect(await differencesOf(programContext(program))).toEqual([]);
  });
});

describe("a sum of other rows", () => {
  it("is an error beyond 2^53 - 1, and never a rounded number (PAY-22)", async () => {
    const rows = sql`select sum(value) as total from json_each('[9007199254740991, 1]')`;
    await expect(selectRows(testContext().db, { total: amount }, rows)).rejects.toThrow("not an exact amount");
  });
});
