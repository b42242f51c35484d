/** Payouts in one currency (OUT-36 to OUT-39). */
import { env } from "cloudflare:workers";
import { sql } from "drizzle-orm";
import * as fc from "fast-check";
import { afterEach, describe, expect, it, vi } from "vitest";
import { convertedSql, ratesTable } from "../../src/core/payouts/exchange.ts";
import { generatePayouts } from "../../src/core/payouts/generate.ts";
import { generateMonthlyPayouts } from "../../src/core/payouts/month.ts";
import { readOpenPayouts } from "../../src/core/payouts/open.ts";
import { payPayout } from "../../src/core/payouts/pay.ts";
import { convert, readRate, type ExchangeRate, type SourceAmount } from "../../src/domain/exchange.ts";
import { cents, LARGEST_BALANCE } from "../../src/domain/money.ts";
import { iso } from "../../src/lib/time.ts";
import { serveAll } from "../support/jobs.ts";
import {
  clientOf,
  commissionsOf,
  db,
  makeCommissions,
  makePayingProgram,
  payoutById,
  payoutsOf,
} from "../support/payouts.ts";
import {
  makePartner,
  makeProgram,
  programContext,
  testContext,
  type ProgramFields,
  type TestProgram,
} from "../support/program.ts";
import { differencesOf } from "../support/reconcile.ts";

afterEach(() => vi.restoreAllMocks());

interface Sum {
  id?: string;
  partner_id: string;
  currency: string;
  amount_cents: number;
  commission_count: number;
  source_amounts: SourceAmount[] | null;
}

interface GenerationBody {
  payout_currency: string | null;
  payouts: Sum[];
  skipped: (Sum & { reason: string })[];
  totals: { currency: string; payouts: number; amount_cents: number; skipped: number; skipped_cents: number }[];
}

const generate = async (program: TestProgram, body: object = {}) =>
  (await program.api<GenerationBody>("POST", "/api/v1/payouts/generate", body)).body;
const setRates = (program: TestProgram, rates: object, base = "EUR") =>
  program.api("PUT", "/api/v1/rates", { base, rates });

async function makeEuroProgram(fields: ProgramFields = {}, rates: object = { USD: 1.25, JPY: "160", KWD: 0.3333 }) {
  const program = await makeProgram({ payout_currency: "EUR", ...fields });
  expect((await setRates(program, rates)).status).toBe(200);
  return program;
}

/** A payout of 80.00 + 6.25 + 30.00 − 3.00 EUR. */
async function makeThree(program: TestProgram, partner_id: string) {
  await makeCommissions(program, partner_id, [
    { amount_cents: 10_000, currency: "USD" },
    { amount_cents: 1_000, currency: "JPY" },
    { amount_cents: 3_000, currency: "EUR" },
    { amount_cents: -1_000, currency: "KWD", kind: "clawback" },
  ]);
}

describe("a run with a payout currency (OUT-36)", () => {
  it("makes one payout of all currencies, with the conversions, which add up (OUT-39)", async () => {
    const program = await makeEuroProgram();
    const jane = await makePartner(program, { payout_method: "wallet" });
    await makeThree(program, jane.id);
    const planned = await generate(program, { dry_run: true });
    const { payouts, skipped, totals, payout_currency } = await generate(program);
    const own = { rate_source: "owner", rate_at: expect.any(String) };
    expect(payouts).toMatchObject([
      {
        ...{ partner_id: jane.id, currency: "EUR", amount_cents: 11_325, commission_count: 4 },
        source_amounts: [
          { currency: "EUR", amount_cents: 3_000, rate: "1", rate_source: null, rate_at: null, converted_cents: 3_000 },
          { currency: "JPY", amount_cents: 1_000, rate: "0.00625", ...own, converted_cents: 625 },
          { currency: "KWD", amount_cents: -1_000, rate: "3.0003", ...own, converted_cents: -300 },
          { currency: "USD", amount_cents: 10_000, rate: "0.8", ...own, converted_cents: 8_000 },
        ],
      },
    ]);
    const { partner_id, currency, amount_cents, commission_count, source_amounts } = payouts[0]!;
    expect(planned.payouts).toMatchObject([{ partner_id, currency, amount_cents, commission_count, source_amounts }]);
    expect([payout_currency, skipped]).toEqual(["EUR", []]);
    expect(totals).toEqual([{ currency: "EUR", payouts: 1, amount_cents: 11_325, skipped: 0, skipped_cents: 0 }]);
    expect((await commissionsOf(program)).every((row) => row.payout_id === payouts[0]?.id)).toBe(true);
    expect((await generate(program)).payouts).toEqual([]);
    expect(await differencesOf(programContext(program))).toEqual([]);
  });

  it("leaves what was earned in that currency alone as it is", async () => {
    const program = await makeEuroProgram();
    const jane = await makePartner(program);
    await makeCommissions(program, jane.id, [{ currency: "EUR" }, { currency: "EUR" }]);
    expect((await generate(program)).payouts).toMatchObject([
      { currency: "EUR", amount_cents: 2_000, source_amounts: null },
    ]);
  });

  it("skips only what has no rate, of earnings and debts (OUT-2)", async () => {
    const program = await makeEuroProgram();
    const jane = await makePartner(program);
    await makeCommissions(program, jane.id, [
      { currency: "USD" },
      { amount_cents: 700, currency: "GBP" },
      { amount_cents: -200, currency: "CHF", kind: "clawback" },
      { amount_cents: 900, currency: "USD", flagged: true, review_reason: "disputed", review_reasons: "disputed" },
    ]);
    const { payouts, skipped } = await generate(program);
    expect(payouts).toMatchObject([{ currency: "EUR", amount_cents: 800, commission_count: 1 }]);
    expect(skipped.map(({ currency, amount_cents, reason }) => [currency, amount_cents, reason])).toEqual([
      ["CHF", -200, "rate_missing"],
      ["GBP", 700, "rate_missing"],
      ["USD", 900, "disputed"],
    ]);
    await setRates(program, { GBP: 0.8, CHF: 1 });
    expect((await generate(program)).payouts).toMatchObject([{ currency: "EUR", amount_cents: 675 }]);
  });

  it("applies the minimum, a debt and an invitation to the converted sum (OUT-2, OUT-19)", async () => {
    const program = await makeEuroProgram({
      currency: "USD",
      min_payout_cents: 5_000,
      min_payouts: { EUR: 850 },
    });
    const [low, enough, owing] = [await makePartner(program), await makePartner(program), await makePartner(program)];
    const invited = await makePartner(program, {}, "invited");
    await makeCommissions(program, low.id, [{ currency: "USD" }, { amount_cents: 49, currency: "EUR" }]);
    await makeCommissions(program, enough.id, [{ currency: "USD" }, { amount_cents: 50, currency: "EUR" }]);
    await makeCommissions(program, owing.id, [
      { currency: "EUR" },
      { amount_cents: -1_250, currency: "USD", kind: "clawback" },
    ]);
    await makeCommissions(program, invited.id, [{ currency: "USD" }]);
    const { payouts, skipped, totals } = await generate(program);
    expect(payouts.map((row) => [row.partner_id, row.amount_cents])).toEqual([[enough.id, 850]]);
    expect(
      Object.fromEntries(skipped.map((row) => [row.partner_id, [row.reason, row.currency, row.amount_cents]])),
    ).toEqual({
      [low.id]: ["below_minimum", "EUR", 849],
      [owing.id]: ["not_positive", "EUR", 0],
      [invited.id]: ["partner_invited", "EUR", 800],
    });
    expect(totals).toEqual([{ currency: "EUR", payouts: 1, amount_cents: 850, skipped: 3, skipped_cents: 1_649 }]);
  });

  it("skips what the conversion makes larger than a balance may be (PAY-22)", async () => {
    const program = await makeEuroProgram({}, { USD: "0.0001", JPY: 160 });
    const jane = await makePartner(program);
    await makeCommissions(program, jane.id, [
      { amount_cents: 900_000_000_000, currency: "USD" },
      { amount_cents: 160, currency: "JPY" },
    ]);
    const { payouts, skipped } = await generate(program);
    expect(payouts).toMatchObject([{ currency: "EUR", amount_cents: 100 }]);
    expect(skipped).toMatchObject([{ currency: "USD", amount_cents: 900_000_000_000, reason: "too_large" }]);
  });

  it("keeps the sums of all conversions within that limit: a wrong rate can be seen, and undone (PAY-22)", async () => {
    const program = await makeEuroProgram({}, { IDR: "0.0000576", JPY: 160 });
    for (let i = 0; i < 6; i++) {
      const { id } = await makePartner(program);
      await makeCommissions(program, id, [
        { amount_cents: 120_000_000_000, currency: "IDR" },
        { amount_cents: 160, currency: "JPY" },
      ]);
    }
    const each = 208_333_320_000_000 * 10 + 100;
    const skipped = [
      { currency: "IDR", payouts: 0, amount_cents: 0, skipped: 5, skipped_cents: 600_000_000_000 },
      { currency: "JPY", payouts: 0, amount_cents: 0, skipped: 5, skipped_cents: 800 },
    ];
    const planned = await generate(program, { dry_run: true });
    expect(planned.totals).toEqual([
      { currency: "EUR", payouts: 1, amount_cents: each, skipped: 0, skipped_cents: 0 },
      ...skipped,
    ]);
    expect(new Set(planned.skipped.map(({ reason }) => reason))).toEqual(new Set(["too_large"]));
    expect((await generate(program)).totals).toEqual(planned.totals);
    expect((await readOpenPayouts(programContext(program))).groups).toMatchObject([{ amount_cents: each }]);
  });

  it("uses the rates at its own moment, not those of the preview (OUT-38)", async () => {
    const program = await makeEuroProgram();
    const jane = await makePartner(program);
    await makeCommissions(program, jane.id, [{ currency: "USD" }]);
    const planned = await generate(program, { dry_run: true });
    await setRates(program, { USD: 2 });
    const made = await generate(program);
    expect([planned.payouts[0]?.amount_cents, made.payouts[0]?.amount_cents]).toEqual([800, 500]);
  });

  it.each([
    ["rates", (program: TestProgram) => setRates(program, { USD: 2 }), ["EUR", 500]],
    [
      "a payout currency",
      (program: TestProgram) => program.api("PATCH", "/api/v1/programs/me", { payout_currency: null }),
      ["USD", 1_000],
    ],
  ] as const)("begins again if %s arrive in between (OUT-38)", async (_, change, expected) => {
    const program = await makeEuroProgram();
    const jane = await makePartner(program);
    await makeCommissions(program, jane.id, [{ currency: "USD" }]);
    const ctx = programContext(program);
    let changed = false;
    const read: typeof ctx.read = async (...statements) => {
      const rows = await ctx.read(...statements);
      // After the sums are read, before they are written.
      if (!changed && JSON.stringify(rows).includes('"seen"')) {
        changed = true;
        await change(program);
      }
      return rows;
    };
    const racing = { ...ctx, read };
    await generatePayouts(racing, { period_start: null, period_end: ctx.now, dry_run: false });
    expect(changed).toBe(true);
    const [made] = await payoutsOf(program);
    expect([made?.currency, made?.amount_cents]).toEqual(expected);
  });

  it("pays as earned again once the setting is null, and leaves the payouts that exist (OUT-36)", async () => {
    const program = await makeEuroProgram();
    const jane = await makePartner(program);
    await makeCommissions(program, jane.id, [{ currency: "USD" }]);
    const [first] = (await generate(program)).payouts;
    expect((await program.api("PATCH", "/api/v1/programs/me", { payout_currency: null })).status).toBe(200);
    await makeCommissions(program, jane.id, [{ currency: "USD" }, { currency: "JPY" }]);
    const { payouts, payout_currency } = await generate(program);
    expect(payout_currency).toBeNull();
    expect(payouts.map((row) => [row.currency, row.amount_cents, row.source_amounts])).toEqual([
      ["JPY", 1_000, null],
      ["USD", 1_000, null],
    ]);
    expect((await payoutById(first!.id!)).currency).toBe("EUR");
    expect(await differencesOf(programContext(program))).toEqual([]);
  });

  it("is the month's too, and waits for a canceled payout's period (OUT-3)", async () => {
    const end = Date.UTC(new Date().getUTCFullYear(), new Date().getUTCMonth());
    const program = await makeEuroProgram({ created_at: iso(end - 40 * 86_400_000) });
    const jane = await makePartner(program);
    await makeCommissions(program, jane.id, [{ currency: "USD", created_at: iso(end - 86_400_000) }]);
    const { id } = (await generate(program, { period_end: iso(end) })).payouts[0]!;
    await program.api("POST", `/api/v1/payouts/${id}/cancel`);
    await serveAll(generateMonthlyPayouts(testContext(Date.now())));
    expect((await payoutsOf(program)).map(({ status }) => status)).toEqual(["canceled"]);
    const bob = await makePartner(program);
    await makeCommissions(program, bob.id, [{ currency: "USD", created_at: iso(end - 86_400_000) }]);
    await env.DB.prepare("delete from payout_runs where program_id = ?").bind(program.id).run();
    await serveAll(generateMonthlyPayouts(testContext(Date.now())));
    expect((await payoutsOf(program)).filter(({ status }) => status === "pending")).toMatchObject([
      { partner_id: bob.id, currency: "EUR", amount_cents: 800 },
    ]);
  });
});

describe("a converted payout", () => {
  it("is never priced again by a retry; canceled and prepared again it is (OUT-39)", async () => {
    const world = await makePayingProgram();
    const { program, vendor } = world;
    await program.api("PATCH", "/api/v1/programs/me", { payout_currency: "EUR" });
    await setRates(program, { USD: 1.25 });
    await makeCommissions(program, world.partner_id, [{ currency: "USD" }]);
    const { id } = (await generate(program)).payouts[0]!;
    const before = await payoutById(id!);
    await setRates(program, { USD: 2 });
    vendor.balance.set("eur", 0);
    const ctx = programContext(program);
    expect((await payPayout(ctx, id!, clientOf(vendor))).status).toBe("failed");
    vendor.balance.delete("eur");
    expect((await payPayout(ctx, id!, clientOf(vendor))).status).toBe("paid");
    const { currency, amount_cents, source_amounts } = await payoutById(id!);
    expect([currency, amount_cents, source_amounts]).toEqual(["EUR", 800, before.source_amounts]);
    expect(vendor.transfers).toMatchObject([{ amount: 800, currency: "eur" }]);
  });

  it("is in the export in its own currency (OUT-8)", async () => {
    const program = await makeEuroProgram();
    const jane = await makePartner(program);
    await makeThree(program, jane.id);
    const { id } = (await generate(program)).payouts[0]!;
    const { status, body } = await program.api<string>("GET", "/api/v1/payouts/export.csv?format=generic&currency=EUR");
    expect(status).toBe(200);
    expect(body.trim().split("\r\n")).toEqual([
      expect.stringContaining("payout_id,"),
      expect.stringMatching(`^${id},.*,113\\.25,11325,EUR,4,`),
    ]);
  });

  it("releases its commissions when it is canceled, and the next run prices again", async () => {
    const program = await makeEuroProgram();
    const jane = await makePartner(program);
    await makeThree(program, jane.id);
    const { id } = (await generate(program)).payouts[0]!;
    await setRates(program, { USD: 2, JPY: 100, KWD: 0.3333 });
    await program.api("POST", `/api/v1/payouts/${id}/cancel`);
    const { payouts } = await generate(program);
    expect(payouts.map(({ amount_cents }) => amount_cents)).toEqual([3_000 + 1_000 - 300 + 5_000]);
    expect((await payoutById(id!)).amount_cents).toBe(11_325);
    expect(await differencesOf(programContext(program))).toEqual([]);
  });

  it("has a statement whose lines add up in each currency, paid and returned (OUT-32)", async () => {
    const program = await makeEuroProgram();
    const jane = await makePartner(program);
    await makeThree(program, jane.id);
    const { id } = (await generate(program)).payouts[0]!;
    await program.api("POST", `/api/v1/payouts/${id}/mark-paid`, {});
    const check = async () => {
      const { body } = await program.api<{
        lines: { amount_cents: number; currency: string }[];
        amount_cents: number;
        source_amounts: SourceAmount[];
      }>("GET", `/api/v1/payouts/${id}/statement`);
      const sums = Map.groupBy(body.lines, ({ currency }) => currency);
      for (const { currency, amount_cents } of body.source_amounts) {
        expect(sums.get(currency)?.reduce((sum, line) => sum + line.amount_cents, 0)).toBe(amount_cents);
      }
      expect(body.lines).toHaveLength(4);
      expect(body.source_amounts.reduce((sum, part) => sum + part.converted_cents, 0)).toBe(body.amount_cents);
    };
    await check();
    const csv = (await program.api<string>("GET", `/api/v1/payouts/${id}/statement?format=csv`)).body;
    const lines = csv.trim().split("\r\n");
    expect(lines).toHaveLength(1 + 4 + 4);
    expect(lines.at(-1)).toMatch(/,conversion,100\.00,10000,USD,0\.8,owner,[^,]+,80\.00,8000,EUR$/);
    await program.api("POST", `/api/v1/payouts/${id}/returned`, { reason: "closed account" });
    await check();
    expect(await differencesOf(programContext(program))).toEqual([]);
  });

  it("has an invoice and its VAT in its own currency, on the converted total (OUT-34, OUT-35)", async () => {
    const payer = { payer_name: "Shop", payer_address: "Road 1", payer_country: "DE", payer_tax_id: "DE1" };
    const program = await makeEuroProgram({ ...payer, self_billing: "on" });
    const jane = await makePartner(program);
    const tax = { legal_name: "Jane", address: "Road 2", country: "DE", kind: "business", tax_id: "DE2", vat_rate: 19 };
    expect((await program.api("PUT", `/api/v1/partners/${jane.id}/tax-data`, tax)).status).toBe(200);
    await makeThree(program, jane.id);
    const { id } = (await generate(program)).payouts[0]!;
    await program.api("POST", `/api/v1/payouts/${id}/mark-paid`, {});
    const { body } = await program.api("GET", `/api/v1/payouts/${id}/statement`);
    expect(body).toMatchObject({ currency: "EUR", amount_cents: 11_325, vat: { net_cents: 9_517, vat_cents: 1_808 } });
  });

  it("is checked in each currency, and its conversions are computed again (LAW-8)", async () => {
    const program = await makeEuroProgram();
    const jane = await makePartner(program);
    await makeThree(program, jane.id);
    const { id } = (await generate(program)).payouts[0]!;
    const plant = async (change: string, undo: string, name: string) => {
      await env.DB.prepare(`update payouts set source_amounts = ${change} where id = ?`).bind(id).run();
      const found = await differencesOf(programContext(program));
      expect(found.map((one) => [one.kind, one.subject])).toEqual([["payout", id]]);
      expect((found[0]!.expected as Record<string, unknown>)[name]).not.toEqual(
        (found[0]!.found as Record<string, unknown>)[name],
      );
      await env.DB.prepare(`update payouts set source_amounts = ${undo} where id = ?`).bind(id).run();
      expect(await differencesOf(programContext(program))).toEqual([]);
    };
    const set = (path: string, value: string) => `json_set(source_amounts, '${path}', ${value})`;
    await plant(set("$[3].amount_cents", "10001"), set("$[3].amount_cents", "10000"), "USD amount_cents");
    await plant(set("$[3].converted_cents", "8001"), set("$[3].converted_cents", "8000"), "USD converted_cents");
    await plant(set("$[3].rate", "'0.9'"), set("$[3].rate", "'0.8'"), "USD converted_cents");
  });
});

describe("conversion in the database", () => {
  it("agrees with the exact one, for any amount, rate and currencies (OUT-39)", async () => {
    const currency = fc.constantFrom("USD", "JPY", "KWD", "EUR");
    const size = fc.oneof(
      fc.integer({ min: 0, max: 2_000 }),
      fc.integer({ min: 0, max: LARGEST_BALANCE }),
      fc.constantFrom(LARGEST_BALANCE, LARGEST_BALANCE - 1, 99_999_999, 100_000_000, 100_000_001),
    );
    const rate = fc
      .tuple(fc.integer({ min: 1, max: 9_999_999 }), fc.integer({ min: -1, max: 15 }))
      .map(([digits, scale]) => readRate(`${digits}e${scale > 0 ? "-" : "+"}${Math.abs(scale)}`))
      .filter((one): one is ExchangeRate => one !== null);
    const cases = fc.sample(fc.tuple(size, fc.boolean(), rate, currency, currency), 3_000);
    const byTo = Map.groupBy(cases, ([, , , , to]) => to);
    for (const [to, own] of byTo) {
      const rows = own.map(([amount, negative, one, from], i) => ({
        i,
        amount: negative ? 0 - amount : amount,
        one,
        from,
      }));
      // Each case has a rate row of its own.
      const table = sql`(select r.*, j.value ->> 'amount' as amount, j.value ->> 'i' as i
        from json_each(${JSON.stringify(rows)}) j cross join ${ratesOf(rows, to)} r on r.i = j.value ->> 'i')`;
      const found = await db.all<{ i: number; made: number }>(
        sql`select x.i as i, ${convertedSql(sql.raw("x.amount"), "x")} as made from ${table} x`,
      );
      expect(found).toHaveLength(rows.length);
      for (const { i, made } of found) {
        const { amount, one, from } = rows[i]!;
        const exact = convert(cents(amount), one, from, to);
        expect([amount, one, from, to, Math.abs(made) > LARGEST_BALANCE ? null : made]).toEqual([
          amount,
          one,
          from,
          to,
          exact,
        ]);
      }
    }
  });
});

/** The service's table of rates, with the number of each row. */
function ratesOf(rows: readonly { one: ExchangeRate; from: string }[], to: string) {
  const rates = rows.map(({ one, from }) => ({
    currency: from,
    rate: one,
    rate_source: "owner" as const,
    rate_at: "",
  }));
  // The first row is the payout currency's own.
  return sql`(select *, row_number() over () - 2 as i from ${ratesTable(to, rates)})`;
}
