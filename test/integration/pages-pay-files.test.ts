/** The formats of files and the payouts left out of a file, on the pay page (PAGE-36). */
import { expect, it } from "vitest";
import { env } from "cloudflare:workers";
import { DEBTOR, IBAN_ACCOUNT, withBankPayouts } from "../support/bank-payouts.ts";
import { signInOwner, textOf } from "../support/visitor.ts";

const PAY = "/dashboard/payouts/pay";
const SETTINGS = '<a href="/dashboard/settings/payouts">Add them</a>';
const LACKS = "SEPA files need your account holder and IBAN. Add them";

it("offers SEPA only with the account that pays, and otherwise leads to its settings (OUT-27)", async () => {
  const program = await withBankPayouts([{ account: IBAN_ACCOUNT }]);
  const owner = await signInOwner(program);
  const { body } = await owner.get(PAY);
  expect(body).not.toContain('value="sepa"');
  expect([body.split(SETTINGS).length - 1, textOf(body).includes(LACKS)]).toEqual([1, true]);
  // The form of an older tab.
  const refused = await owner.post(PAY, { format: "sepa", currency: "EUR" });
  expect([refused.status, refused.body.split(SETTINGS).length - 1]).toEqual([422, 1]);
  expect(textOf(refused.body)).toContain(LACKS);
  await program.api("PATCH", "/api/v1/programs/me", DEBTOR);
  const ready = (await owner.get(PAY)).body;
  expect([ready.includes('value="sepa"'), ready.includes(SETTINGS)]).toEqual([true, false]);
});

it("names each reason for which payouts are not in the file", async () => {
  const program = await withBankPayouts([
    { account: IBAN_ACCOUNT },
    { account: IBAN_ACCOUNT },
    { account: IBAN_ACCOUNT },
  ]);
  const owner = await signInOwner(program);
  await env.DB.prepare(
    "update partners set payouts_held_until = '2999-01-01T00:00:00.000Z' where id = (select min(id) from partners where program_id = ?)",
  )
    .bind(program.id)
    .run();
  await env.DB.prepare(
    "update payouts set recipient_sealed = 'lost' where partner_id = (select max(id) from partners where program_id = ?)",
  )
    .bind(program.id)
    .run();
  await owner.get(PAY);
  const made = await owner.post(PAY, { format: "bank", currency: "EUR" });
  const text = textOf((await owner.get(made.headers.get("location") ?? "")).body);
  expect(text).toContain("1 payout is not in it: on hold, because the partner's payout details were added or changed.");
  expect(text).toContain("1 payout is not in it: the payout details can no longer be read.");
});

it("names the reasons if there is no file for them", async () => {
  const program = await withBankPayouts([{ account: IBAN_ACCOUNT }, { account: IBAN_ACCOUNT }]);
  const owner = await signInOwner(program);
  await owner.get(PAY);
  await env.DB.prepare("update partners set payouts_held_until = '2999-01-01T00:00:00.000Z' where program_id = ?")
    .bind(program.id)
    .run();
  const refused = await owner.post(PAY, { format: "bank", currency: "EUR" });
  expect(refused.status).toBe(422);
  expect(textOf(refused.body)).toContain(
    "There is no file. 2 payouts are not in it: on hold, because the partner's payout details were added or changed.",
  );
});
