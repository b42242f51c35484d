/** The page that reads a result file, and the debtor's settings (OUT-27, OUT-28). */
import { expect, it } from "vitest";
import {
  DEBTOR,
  EXPORTS,
  IBAN_ACCOUNT,
  makeFile,
  rowsOf,
  statusesOf,
  withBankPayouts,
} from "../support/bank-payouts.ts";
import { programOfOwner, signInOwner, textOf } from "../support/visitor.ts";

it("a result file is previewed, then applied with one button (OUT-28)", async () => {
  const program = await withBankPayouts([
    { account: IBAN_ACCOUNT },
    { account: IBAN_ACCOUNT },
    { account: IBAN_ACCOUNT },
  ]);
  const { body: file } = await makeFile(program);
  const owner = await signInOwner(program);
  const at = `/dashboard/payouts/exports/${file.id}/results`;
  expect(textOf((await owner.get(at)).body)).toContain("3 payouts, 30.00 EUR open");
  const [a, b] = await rowsOf(program);
  const text = `payout_id,status,reason\n${a?.id},paid,\n${b?.id},rejected,<b>Closed</b>\nnobody,paid,\n`;
  const preview = await owner.post(at, { text });
  expect(textOf(preview.body)).toContain("1 paid, 1 failed, 0 returned, 0 unchanged, 1 with problems.");
  expect(preview.body).toContain("&lt;b&gt;Closed&lt;/b&gt;");
  expect(textOf(preview.body)).toContain("Apply to 2 payouts");
  expect(await statusesOf(program)).toEqual({ processing: 3 });
  const applied = await owner.post(at, { text, confirmed: "yes" });
  expect([applied.status, applied.headers.get("location")]).toEqual([303, `${at}?done=results`]);
  expect(textOf((await owner.get(`${at}?done=results`)).body)).toContain("Results applied.");
  expect(await statusesOf(program)).toEqual({ paid: 1, failed: 1, processing: 1 });
  expect(textOf((await owner.post(at, { text })).body)).not.toContain("Apply to");
});

it("the payouts that a result has decided are not offered to be marked as paid (PAGE-36)", async () => {
  const program = await withBankPayouts([1, 2, 4, 8].map((n) => ({ account: IBAN_ACCOUNT, amount_cents: n * 1_000 })));
  const { body: file } = await makeFile(program);
  const [a, b, c, d] = await rowsOf(program);
  const results = `payout_id,status\n${a?.id},paid\n${b?.id},failed\n`;
  await program.api("POST", `${EXPORTS}/${file.id}/results`, results, { "content-type": "text/csv" });
  const owner = await signInOwner(program);
  expect(textOf((await owner.get("/dashboard/payouts/pay")).body)).toContain("Mark these 2 as paid · 120.00 EUR");
  const { body } = await owner.get(`/dashboard/payouts/exports/${file.id}`);
  const offered = [a, b, c, d].map((row) => body.includes(`name="except" value="${row?.id}"`));
  expect(offered).toEqual([false, false, true, true]);
});

it("a result file that cannot be read is named beside its text, which stays (OUT-28)", async () => {
  const program = await withBankPayouts([{ account: IBAN_ACCOUNT }]);
  const { body: file } = await makeFile(program);
  const owner = await signInOwner(program);
  const at = `/dashboard/payouts/exports/${file.id}/results`;
  const refused = await owner.post(at, { text: "payout_id,reason\nx,y\n" });
  expect(refused.status).toBe(422);
  expect(textOf(refused.body)).toContain("Line 1: A column with the status is missing");
  expect(refused.body).toContain("payout_id,reason");
  expect((await owner.post(at, { text: "" })).status).toBe(422);
  expect((await owner.get("/dashboard/payouts/exports/exp_00000000000000000000000000/results")).status).toBe(404);
});

it("settings take the debtor, and show the IBAN masked (OUT-27)", async () => {
  const [program, owner] = await programOfOwner();
  const at = "/dashboard/settings/payouts";
  await owner.get(at);
  expect((await owner.post(at, DEBTOR)).status).toBe(303);
  const shown = (await owner.get(at)).body;
  expect(shown).toContain("DE** **** **** **** **30 00");
  expect(shown).not.toContain(DEBTOR.debtor_iban);
  // Saved as it is shown, it stays.
  const { debtor_name } = DEBTOR;
  expect(
    (await owner.post(at, { debtor_name, debtor_iban: "DE** **** **** **** **30 00", debtor_bic: "" })).status,
  ).toBe(303);
  const me = await program.api<Record<string, unknown>>("GET", "/api/v1/programs/me");
  expect(me.body).toMatchObject({ debtor_name, debtor_iban: "DE** **** **** **** **30 00", debtor_bic: null });
  await owner.get(at);
  const refused = await owner.post(at, { debtor_iban: "DE00 1234" });
  expect([refused.status, textOf(refused.body)]).toMatchObject([422, expect.stringContaining("An IBAN of DE has 22")]);
});
