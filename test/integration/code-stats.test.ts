/** Sales, revenue and earnings by promotion code, from stored sums (CODE-6). */
import { beforeEach, describe, expect, it } from "vitest";
import type { CodeStats } from "../../src/core/partners/code-stats.ts";
import { recountCodes } from "../../src/core/operations/recount-codes.ts";
import { DAY, iso, utcDay } from "../../src/lib/time.ts";
import { BY_CODE } from "../support/by-code.ts";
import { giveCode } from "../support/codes.ts";
import { serveAll } from "../support/jobs.ts";
import { sendA, sendB } from "../support/ledger.ts";
import { makePartner, makeProgram, programContext, type TestProgram } from "../support/program.ts";
import { chargeRefunded, invoicePaid, invoicePaymentPaid, sessionCompleted } from "../support/provider-a.ts";
import { transactionCompleted } from "../support/provider-b.ts";
import { all } from "../support/rows.ts";
import { uniqueId } from "../support/vendor.ts";
import { signInOwner, signInPartner, textOf } from "../support/visitor.ts";

const NOW = Date.now();
const CODE_A = { code: "JANE20", provider: "provider_a", provider_code_id: "promo_1" } as const;
const CODE_B = { code: "JANE20", provider: "provider_b", provider_code_id: "dsc_1" } as const;
const discounts = [{ promotion_code: "promo_1", coupon: null }];

let program: TestProgram;
let jane: { id: string; email: string };
let joe: { id: string; email: string };

beforeEach(async () => {
  program = await makeProgram();
  jane = await makePartner(program, { slug: "jane", email: `${uniqueId("jane")}@partners.example` });
  joe = await makePartner(program, { slug: "joe", email: `${uniqueId("joe")}@partners.example` });
});

/** `age` is in days. */
const soldA = (age: number, fields: Parameters<typeof sessionCompleted>[0] = {}) =>
  sendA(
    program,
    sessionCompleted({
      created: Math.floor((NOW - age * DAY) / 1_000),
      ...fields,
      object: { discounts, ...fields.object },
    }),
  );

const summary = async (query = "") => {
  const { body } = await program.api<{ data: CodeStats[] }>("GET", `/api/v1/codes/summary${query}`);
  return body.data;
};

const short = (rows: readonly CodeStats[]) =>
  rows.map((row) => `${row.provider} ${row.currency} ${row.sales} ${row.revenue_cents} ${row.earned_cents}`);

/** The stored sums, and the same sums from the rows. */
async function kept(): Promise<[unknown[], unknown[]]> {
  const sums = (revenue: string, earned: string) => `select day, code_id, currency, sum(sales) as sales,
    sum(${revenue}) as revenue, sum(${earned}) as earned from`;
  const rest = `where program_id = ? group by 1, 2, 3 having sales <> 0 or revenue <> 0 or earned <> 0 order by 1, 2, 3`;
  return [
    await all(`${sums("revenue_cents", "earned_cents")} code_days ${rest}`, program.id),
    await all(`${sums("revenue", "earned")} (${BY_CODE}) ${rest}`, program.id),
  ];
}

describe("what a code brought (CODE-6)", () => {
  it("is summed up by code, currency and days, with refunds and without what is rejected", async () => {
    const a = await giveCode(program, jane.id, CODE_A, NOW - 100 * DAY);
    await giveCode(program, joe.id, CODE_B, NOW - 100 * DAY);
    await soldA(1, { payment_intent: "pi_1", amount: 10_000 });
    await soldA(2, { amount: 5_000, currency: "jpy" });
    await soldA(3, { amount: 2_000_000 });
    await soldA(50, { amount: 700 });
    await sendA(program, sessionCompleted({ ref: "jane", amount: 99_900 }));
    await sendB(program, transactionCompleted({ occurred_at: iso(NOW - DAY), data: { discount_id: "dsc_1" } }));
    await sendA(program, chargeRefunded({ payment_intent: "pi_1", refunded: 4_000 }));
    expect(short(await summary())).toEqual([
      "provider_a JPY 1 5000 1000",
      "provider_a USD 2 2006000 401200",
      "provider_b USD 1 10000 2000",
    ]);
    expect(short(await summary(`?from=${utcDay(NOW - 60 * DAY)}&to=${utcDay(NOW - 40 * DAY)}`))).toEqual([
      "provider_a USD 1 700 140",
    ]);
    expect(short(await summary(`?partner_id=${joe.id}`))).toEqual(["provider_b USD 1 10000 2000"]);
    const { body } = await program.api<{ data: { id: string; txn_amount_cents: number }[] }>(
      "GET",
      `/api/v1/commissions?partner_id=${jane.id}`,
    );
    const large = body.data.find(({ txn_amount_cents }) => txn_amount_cents === 2_000_000)!;
    await program.api("PATCH", `/api/v1/commissions/${large.id}`, { status: "rejected" });
    const [, dollars] = await summary(`?partner_id=${jane.id}`);
    expect(dollars).toEqual({
      ...{ code_id: a.id, partner_id: jane.id, provider: "provider_a", code: "JANE20", ended_at: null },
      ...{ currency: "USD", sales: 2, revenue_cents: 2_006_000, earned_cents: 1_200 },
    });
    const [is, must] = await kept();
    expect(is).toEqual(must);
    const payments = await program.api<{ data: { code_id: string | null }[] }>(
      "GET",
      "/api/v1/payments?provider=provider_a",
    );
    expect(payments.body.data.map(({ code_id }) => code_id).filter(Boolean)).toEqual(Array(4).fill(a.id));
  });

  it("is of thirty days unless asked otherwise", async () => {
    await giveCode(program, jane.id, CODE_A, NOW - 100 * DAY);
    await soldA(20);
    await soldA(30);
    expect((await summary()).map(({ sales }) => sales)).toEqual([1]);
  });

  it("refuses a range of more than 366 days, and gives nothing for what is not the program's", async () => {
    const reply = await program.api<{ error: { code: string } }>(
      "GET",
      "/api/v1/codes/summary?from=2024-01-01&to=2026-01-01",
    );
    expect([reply.status, reply.body.error.code]).toEqual([422, "validation_failed"]);
    await giveCode(program, jane.id, CODE_A, NOW - 100 * DAY);
    await soldA(1);
    const [today, tomorrow] = [utcDay(NOW), utcDay(NOW + DAY)];
    await soldA(0);
    expect((await summary(`?from=${today}&to=${tomorrow}`)).map(({ sales }) => sales)).toEqual([1]);
    expect(await summary(`?from=${today}&to=${today}T00:00:00Z`)).toEqual([]);
    expect(await summary(`?from=${today}T23:00:00Z&to=${today}T01:00:00Z`)).toEqual([]);
    expect(await summary(`?from=${tomorrow}&to=${utcDay(NOW - 40 * DAY)}`)).toEqual([]);
    const other = await makeProgram();
    expect(
      (await other.api<{ data: unknown[] }>("GET", `/api/v1/codes/summary?partner_id=${jane.id}`)).body.data,
    ).toEqual([]);
  });

  it("stays with who had the code then, and follows a payment whose code is another's", async () => {
    const first = await giveCode(program, jane.id, CODE_A, NOW - 10 * DAY);
    await soldA(9);
    const second = await giveCode(program, joe.id, { ...CODE_A, move: true }, NOW - 5 * DAY);
    await soldA(3, { id: "cs_late" });
    expect((await summary()).map((row) => [row.code_id, row.sales, row.ended_at !== null])).toEqual(
      [first.id, second.id].toSorted().map((id) => [id, 1, id === first.id]),
    );
    // A late reference takes the payment from the code.
    await sendA(
      program,
      sessionCompleted({ id: "cs_late", ref: "jane", created: Math.floor((NOW - 3 * DAY) / 1_000) }),
    );
    const [is, must] = await kept();
    expect(is).toEqual(must);
    await serveAll(recountCodes(programContext(program)));
    expect((await kept())[0]).toEqual(is);
  });

  it("counts once what two events of one purchase say, also where the commission was paid before", async () => {
    await giveCode(program, jane.id, CODE_A, NOW - 10 * DAY);
    const [invoice, payment_intent] = [`in_${program.id}`, `pi_${program.id}`];
    await soldA(3, { payment_intent, amount: 10_000 });
    const { body } = await program.api<{ data: { id: string }[] }>("GET", "/api/v1/commissions");
    await program.api("PATCH", `/api/v1/commissions/${body.data[0]!.id}`, { status: "approved" });
    await program.api("POST", "/api/v1/payouts/generate", {});
    const payouts = await program.api<{ data: { id: string }[] }>("GET", "/api/v1/payouts");
    await program.api("POST", `/api/v1/payouts/${payouts.body.data[0]!.id}/mark-paid`);
    const created = Math.floor((NOW - 3 * DAY) / 1_000);
    await sendA(program, invoicePaid({ id: invoice, amount: 10_000, created, object: { discounts } }));
    expect(short(await summary())).toEqual(["provider_a USD 2 20000 4000"]);
    await sendA(program, invoicePaymentPaid({ invoice, payment_intent }));
    const merged = await program.api<{ total: number }>("GET", "/api/v1/payments?outcome=merged");
    expect(merged.body.total).toBe(1);
    expect(short(await summary())).toEqual(["provider_a USD 1 10000 2000"]);
    const [is, must] = await kept();
    expect(is).toEqual(must);
  });

  it("writes nothing for a payment without a code", async () => {
    await giveCode(program, jane.id, CODE_A, NOW - 10 * DAY);
    await sendA(program, sessionCompleted({ ref: "jane" }));
    expect(await all("select * from code_days where program_id = ?", program.id)).toEqual([]);
  });
});

describe("the pages of what codes brought (CODE-6)", () => {
  it("show it to the owner by partner and for all, and to each partner their own", async () => {
    await giveCode(program, jane.id, CODE_A, NOW - 100 * DAY);
    await giveCode(program, joe.id, { ...CODE_B, code: "JOE10" }, NOW - 100 * DAY);
    await soldA(1, { amount: 12_300 });
    await soldA(50, { amount: 45_600 });
    await sendB(program, transactionCompleted({ occurred_at: iso(NOW - DAY), data: { discount_id: "dsc_1" } }));
    const owner = await signInOwner(program);
    const mine = textOf((await owner.get(`/dashboard/partners/${jane.id}/codes`)).body);
    expect(mine).toContain("Results of codes, 30 days");
    expect(mine).toContain("JANE20 1 123.00 USD 24.60 USD");
    expect(mine).not.toContain("JOE10");
    const longer = textOf((await owner.get(`/dashboard/partners/${jane.id}/codes?days=90`)).body);
    expect(longer).toContain("JANE20 2 579.00 USD 115.80 USD");
    const [day] = iso(NOW - DAY).split("T");
    const one = textOf((await owner.get(`/dashboard/payments/codes?from=${day}&to=${day}`)).body);
    expect(one).toContain("Results of codes, 1 day ");
    const every = textOf((await owner.get("/dashboard/payments/codes")).body);
    for (const text of ["JANE20", "JOE10", "123.00", "100.00"]) expect(every).toContain(text);
    const portal = textOf((await (await signInPartner(jane.email)).get("/portal/statistics")).body);
    expect(portal).toContain("JANE20 1 123.00 USD 24.60 USD");
    expect(portal).not.toContain("JOE10");
  });
});
