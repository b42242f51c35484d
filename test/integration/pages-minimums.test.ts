import { expect, it } from "vitest";
import type { TestProgram } from "../support/program.ts";
import { programOfOwner } from "../support/visitor.ts";

async function me(of: TestProgram) {
  return (await of.api<Record<string, unknown>>("GET", "/api/v1/programs/me")).body;
}

it("settings take minimum payouts in other currencies in rows, and say which row is wrong (OUT-19)", async () => {
  const [own, boss] = await programOfOwner({ min_payout_cents: 5_050, min_payouts: { EUR: 700 } });
  const rows = (...typed: [currency: string, amount: string][]) =>
    Object.fromEntries(
      typed.flatMap(([currency, amount], i) => [
        [`min_payouts.${i}.currency`, currency],
        [`min_payouts.${i}.amount`, amount],
      ]),
    );
  const { body } = await boss.get("/dashboard/settings/payouts");
  expect(body).toMatch(/name="min_payouts\.0\.currency"[^>]*value="EUR"/);
  expect(body).toMatch(/name="min_payouts\.0\.amount"[^>]*value="7\.00"/);
  const save = (typed: Record<string, string>) => boss.post("/dashboard/settings/payouts", typed);
  expect((await save(rows(["jpy", "6,000"], ["", ""], ["KWD", "1.5"]))).status).toBe(303);
  expect(await me(own)).toMatchObject({ min_payouts: { JPY: 6_000, KWD: 1_500 } });
  expect((await save({})).status).toBe(303);
  expect(await me(own)).toMatchObject({ min_payouts: { JPY: 6_000, KWD: 1_500 } });
  const wrong: [rows: [string, string][], field: string][] = [
    [[["", "5"]], "0-currency"],
    [[["EURO", "5"]], "0-currency"],
    [[["USD", "5"]], "0-currency"],
    [
      [
        ["EUR", "5"],
        ["EUR", "6"],
      ],
      "1-currency",
    ],
    [
      [
        ["GBP", "1"],
        ["EUR", ""],
      ],
      "1-amount",
    ],
    [[["EUR", "-1"]], "0-amount"],
    [[["JPY", "1.5"]], "0-amount"],
    [[["EUR", "10000000000.01"]], "0-amount"],
  ];
  for (const [typed, field] of wrong) {
    await boss.get("/dashboard/settings/payouts");
    const reply = await save(rows(...typed));
    const marked = [...reply.body.matchAll(/id="f-min_payouts-([^"]*)"[^>]*aria-invalid="true"/g)];
    expect([typed, reply.status, marked.map(([, name]) => name)]).toEqual([typed, 422, [field]]);
    expect(reply.body).toContain(`id="f-min_payouts-${field}-problem"`);
  }
  await boss.get("/dashboard/settings/payouts");
  expect((await save(rows(["", ""]))).status).toBe(303);
  expect(await me(own)).toMatchObject({ min_payouts: {} });
});
