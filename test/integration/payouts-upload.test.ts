/** The file that PayPal takes for mass payments as it is: of one currency, without a header (OUT-8). */
import { describe, expect, it } from "vitest";
import { inArray, sql } from "drizzle-orm";
import { payouts } from "../../src/db/schema.ts";
import { readCsv } from "../support/csv.ts";
import { db, makeCommissions } from "../support/payouts.ts";
import { makePartner, makeProgram, type TestProgram } from "../support/program.ts";

const EXPORT = "/api/v1/payouts/export.csv";

/** Each partner gets a pending payout. */
async function payingByWallet(...sums: [payout_email: string, amount_cents: number, currency: string][]) {
  const program = await makeProgram();
  for (const [payout_email, amount_cents, currency] of sums) {
    const partner = await makePartner(program, { payout_method: "wallet", payout_email, first_name: "Wanda" });
    await makeCommissions(program, partner.id, [{ amount_cents, currency }]);
  }
  await program.api("POST", "/api/v1/payouts/generate");
  return program;
}

const fileOf = (program: TestProgram, query: string) => program.api<string>("GET", `${EXPORT}?${query}`);

async function idsOf(program: TestProgram, currency: string): Promise<string[]> {
  const { body } = await fileOf(program, `currency=${currency}`);
  return readCsv(body)
    .slice(1)
    .map(([id = ""]) => id);
}

describe("the file for an upload (OUT-8)", () => {
  it("has a line for each payout of the currency: address, amount, currency, id, no note, the wallet", async () => {
    const program = await payingByWallet(
      ["a@wallet.example", 10_050, "USD"],
      ["b@wallet.example", 2_000, "EUR"],
      ["-c@wallet.example", 500, "USD"],
    );
    for (const [currency, wanted] of [
      ["USD", { "a@wallet.example": "100.50", "-c@wallet.example": "5.00" }],
      ["EUR", { "b@wallet.example": "20.00" }],
      ["JPY", {}],
    ] as const) {
      const { headers, body } = await fileOf(program, `format=wallet&currency=${currency}`);
      expect(headers.get("content-type")).toContain("header=absent");
      expect(headers.get("content-disposition")).toContain(`filename="payouts-${currency}.csv"`);
      const lines = readCsv(body);
      expect(Object.fromEntries(lines.map(([email, amount]) => [email, amount]))).toEqual(wanted);
      expect(lines.map((line) => line.slice(2))).toEqual(
        (await idsOf(program, currency)).map((id) => [currency, id, "", "PAYPAL"]),
      );
    }
    // "30 character maximum. Cannot contain spaces."
    for (const id of await idsOf(program, "USD")) expect(id).toMatch(/^\S{1,30}$/);
    const { body } = await program.api<{ data: { payload: unknown }[] }>("GET", "/api/v1/events?type=payout.exported");
    expect(body.data.map(({ payload }) => payload)).toContainEqual({
      ...{ format: "wallet", status: null, currency: "USD", count: 2 },
    });
  });

  it("is not what is read without a currency: that has its header and all currencies, as it always had", async () => {
    const program = await payingByWallet(["a@wallet.example", 1_000, "USD"], ["b@wallet.example", 2_000, "EUR"]);
    const { headers, body } = await fileOf(program, "format=wallet");
    expect(headers.get("content-type")).toContain("header=present");
    const [header, ...lines] = readCsv(body);
    expect(header).toEqual(["recipient_email", "amount", "currency", "reference", "recipient_name", "amount_cents"]);
    expect(Object.fromEntries(lines.map(([email, _amount, ...rest]) => [email, rest.toSpliced(1, 1)]))).toEqual({
      "a@wallet.example": ["USD", "Wanda", "1000"],
      "b@wallet.example": ["EUR", "Wanda", "2000"],
    });
    for (const currency of ["usd", "DOLLAR", ""]) {
      expect((await fileOf(program, `format=wallet&currency=${currency}`)).status).toBe(422);
    }
  });

  it("has no more than the 5,000 oldest, and says so in its event; the rest follows once they are paid", async () => {
    const program = await payingByWallet(["a@wallet.example", 1_000, "USD"]);
    await db.run(sql`with recursive n(i) as (select 1 union all select i + 1 from n where i < 5001)
      insert into payouts (id, program_id, partner_id, amount_cents, currency, status, method, recipient, recipient_sealed,
        period_end, due_at, commission_count, attempt, created_at, updated_at)
      select 'pay_' || printf('%06d', i) || substr(y.id, 5, 20), program_id, partner_id, i, currency, status, method, recipient,
        recipient_sealed, period_end, due_at, commission_count, attempt, created_at, updated_at
      from n, payouts y where y.program_id = ${program.id}`);
    // Only lines are counted: the copies' recipients are sealed for another id.
    const count = async () => readCsv((await fileOf(program, "format=wallet&currency=USD")).body).length;
    expect(await count()).toBe(5_000);
    const { body } = await program.api<{ data: { payload: { count: number } }[] }>(
      "GET",
      "/api/v1/events?type=payout.exported",
    );
    expect(body.data[0]!.payload.count).toBe(5_000);
    const oldest = sql`(select id from payouts where program_id = ${program.id} order by id limit 5000)`;
    await db.update(payouts).set({ status: "paid" }).where(inArray(payouts.id, oldest));
    expect(await count()).toBe(2);
  });
});
