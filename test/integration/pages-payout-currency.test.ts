/** The pages of payouts in one currency (OUT-36 to OUT-39). */
import { describe, expect, it } from "vitest";
import { payoutGeneratedLetters } from "../../src/http/mails/payouts.ts";
import { viewPayout } from "../../src/core/kernel/views.ts";
import { signInPartner, programOfOwner, textOf, type Visitor } from "../support/visitor.ts";
import { makeCommissions, payoutsOf } from "../support/payouts.ts";
import { makePartner, type TestProgram } from "../support/program.ts";
import { uniqueId } from "../support/vendor.ts";

const SETTINGS = "/dashboard/settings/payouts";
const shown = async (visitor: Visitor, path: string) => textOf((await visitor.get(path)).body);

async function makeWorld(): Promise<{ program: TestProgram; boss: Visitor; partner: { id: string; email: string } }> {
  const [program, boss] = await programOfOwner({ payout_currency: "EUR" });
  const email = `${uniqueId("jane")}@partners.example`;
  const partner = await makePartner(program, { email, payout_method: "wallet", payout_email: "jane@pay.example" });
  await makeCommissions(program, partner.id, [
    { amount_cents: 10_000, currency: "USD" },
    { amount_cents: 4_000, currency: "EUR" },
    { amount_cents: 900, currency: "GBP" },
  ]);
  return { program, boss, partner };
}

describe("the settings page", () => {
  it("takes a payout currency, then rates in lines or pasted, and says which is wrong (OUT-37)", async () => {
    const [program, boss] = await programOfOwner();
    expect((await boss.get(SETTINGS)).body).not.toContain('id="rates"');
    expect((await boss.post(SETTINGS, { payout_currency: "eur" })).status).toBe(303);
    expect((await boss.get(SETTINGS)).body).toContain('id="rates"');
    const save = (rates: string, base = "eur") => boss.post("/dashboard/settings/rates", { base, rates });
    const saved = await save('usd 1.25\n{"JPY": 160.5,\n  "GBP": "0.8"}\n\n');
    expect([saved.status, saved.headers.get("location")]).toEqual([303, `${SETTINGS}?done=saved#rates`]);
    const rates = async () => (await program.api("GET", "/api/v1/rates")).body;
    expect(await rates()).toMatchObject({ base: "EUR", rates: { GBP: "0.8", JPY: "160.5", USD: "1.25" } });
    const page = await boss.get(SETTINGS);
    expect(page.body).toContain("GBP 0.8\nJPY 160.5\nUSD 1.25</textarea>");
    expect(textOf(page.body)).toMatch(/USD 0\.8 you/);
    for (const [typed, base, message] of [
      ["USD", "EUR", "USD: "],
      ["USD 1.25\nusd 1.3", "EUR", "usd 1.3: "],
      ["XYZ 1", "EUR", "XYZ: This must be an ISO 4217 code"],
      ["EUR 1", "EUR", "EUR: This is the base"],
      ["USD 1,25", "EUR", "USD 1,25: "],
      ["USD 1", "XYZ", "This must be an ISO 4217 code"],
    ] as const) {
      await boss.get(SETTINGS);
      const refused = await save(typed, base);
      expect([typed, refused.status]).toEqual([typed, 422]);
      expect(textOf(refused.body)).toContain(message);
      expect(refused.body).toContain(`${typed}</textarea>`);
    }
    expect(await rates()).toMatchObject({ rates: { USD: "1.25" } });
    await boss.get(SETTINGS);
    expect((await boss.post(SETTINGS, { payout_currency: "" })).status).toBe(303);
    expect((await program.api("GET", "/api/v1/programs/me")).body["payout_currency"]).toBeNull();
  });
});

describe("the preview of payouts", () => {
  it("shows what is converted, the rates with source and day, and what lacks one (OUT-36)", async () => {
    const { program, boss } = await makeWorld();
    await program.api("PUT", "/api/v1/rates", { base: "EUR", rates: { USD: 1.25 } });
    const { body } = await boss.get("/dashboard/payouts/new");
    const text = textOf(body);
    expect(text).toContain("one payout per partner, in EUR");
    expect(text).toContain("120.00 EUR for 40.00 EUR and 100.00 USD");
    expect(text).toMatch(/Exchange rates: 1 USD = 0\.8 EUR \(you, \S/);
    expect(text).toContain("1 amount in GBP rolls over: there is no exchange rate to EUR");
    expect(body).toContain('href="/dashboard/settings/payouts#rates"');
    expect(text).toMatch(/no exchange rate 9\.00 GBP/);
  });
});

describe("a converted payout", () => {
  it("shows what was earned and its conversion to the owner and to the partner (OUT-39)", async () => {
    const { program, boss, partner } = await makeWorld();
    await program.api("PUT", "/api/v1/rates", { base: "EUR", rates: { USD: 1.25 } });
    await program.api("POST", "/api/v1/payouts/generate", {});
    const [payout] = await payoutsOf(program);
    const { id } = payout!;
    expect(await shown(boss, "/dashboard/payouts")).toContain("120.00 EUR for 40.00 EUR and 100.00 USD");
    for (const path of [`/dashboard/payouts/${id}`, `/dashboard/payouts/${id}/statement`]) {
      const text = await shown(boss, path);
      expect(text).toContain("Conversion to EUR");
      expect(text).toMatch(/100\.00 USD 0\.8 .{4,20} 80\.00 EUR/);
      expect(text).toContain("Sum: 120.00 EUR");
    }
    const jane = await signInPartner(partner.email);
    expect(await shown(jane, "/portal/payouts")).toContain("120.00 EUR for 40.00 EUR and 100.00 USD");
    expect(await shown(jane, "/portal")).toContain("Next payout 120.00 EUR due ");
    const own = await shown(jane, `/portal/payouts/${id}`);
    expect(own).toContain("120.00 EUR for 40.00 EUR and 100.00 USD");
    expect(own).toContain("Conversion to EUR");
    const lines = (await jane.get(`/portal/payouts/${id}/statement.csv`)).body.trim().split("\r\n");
    expect(lines[0]).toMatch(/currency,rate,rate_at,converted,converted_currency$/);
    expect(lines.at(-1)).toMatch(/^,,conversion,,100\.00,USD,0\.8,[^,]+,80\.00,EUR$/);
    const notice = { kind: "payout_generated" as const, program: program.program, partner, payout: payout! };
    expect(JSON.stringify(payoutGeneratedLetters(notice, null))).toContain('["For","40.00 EUR, 100.00 USD"]');
    const webhook = viewPayout(payout!);
    expect(webhook.source_amounts).toHaveLength(2);
  });
});
