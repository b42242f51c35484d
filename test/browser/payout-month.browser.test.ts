/**
 * A partner's money in Chromium: payout details, a month's payout by a bank's file, money that came back, the second
 * payment, and the documents about both (OUT-20, OUT-22, OUT-25, OUT-26, OUT-28, OUT-34).
 */
import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import type { Page } from "playwright-core";
import {
  mailedLink,
  signInOwner,
  signInPartner,
  startPagesWorld,
  type OwnedProgram,
  type PagesWorld,
} from "./pages-world.ts";

const OWNER = "owner@month.example";
const PARTNER = "noor@partners.example";
const IBAN = "DE89370400440532013000";

let world: PagesWorld;
before(async () => {
  world = await startPagesWorld();
});
after(() => world.close());

const press = (page: Page, name: string | RegExp) => page.getByRole("button", { name }).first().click();
const see = (page: Page, text: string | RegExp) => page.getByText(text).first().waitFor();

/** The partner adds a bank account in the portal, and confirms it from the e-mail. */
async function addBankAccount(): Promise<void> {
  const page = await world.visitor();
  await signInPartner(world, page, PARTNER);
  await page.goto(`${world.url}/portal/details`);
  await page.getByLabel("Pay me by").selectOption({ label: "Bank transfer" });
  for (const [label, text] of Object.entries({
    ...{ "Account holder": "Noor Jansen", Country: "DE", Currency: "EUR" },
    IBAN,
  })) {
    await page
      .getByRole("group", { name: "Bank account" })
      .getByLabel(new RegExp(`^${label}`))
      .fill(text);
  }
  const mailed = world.log.length;
  await press(page, "Save");
  await see(page, "Nothing has changed yet");
  await page.goto(await mailedLink(world, PARTNER, mailed));
  await press(page, "Confirm");
  await see(page, "Your payouts are held until");
  await page.context().close();
}

/** Prepares the month, downloads the bank's file and marks it as paid. Returns the file. */
async function payByFile(page: Page): Promise<string> {
  await page.goto(`${world.url}/dashboard/payouts/new`);
  await press(page, "Prepare 1 payout");
  const row = page.getByRole("row").filter({ hasText: "Bank transfer" });
  await row.locator("select").selectOption({ label: "CSV" });
  const [file] = await Promise.all([
    page.waitForEvent("download"),
    row.getByRole("button", { name: /^Download/ }).click(),
  ]);
  await press(page, "Mark this one as paid");
  await see(page, "1 payout marked as paid: ");
  const chunks: Buffer[] = [];
  for await (const chunk of await file.createReadStream()) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8");
}

interface Listed {
  id: string;
  status: string;
}

async function payoutsOf(program: OwnedProgram): Promise<Listed[]> {
  return (await program.api<{ data: Listed[] }>("GET", "/payouts")).data;
}

it("goes from payout details to a payment that bounced, the second payment, invoice and credit note", async () => {
  const program = await world.createProgram({ name: "Month", owner_email: OWNER, domain: "month.example" });
  await program.api("PATCH", "/programs/me", {
    ...{ self_billing: "on", self_billing_prefix: "SB-" },
    ...{ payer_name: "Month GmbH", payer_address: "Main Street 1, Berlin", payer_country: "DE" },
  });
  const { id: partner_id } = await program.api("POST", "/partners", {
    ...{ email: PARTNER, slug: "noor", first_name: "Noor", last_name: "Jansen" },
  });
  await program.api("PATCH", `/partners/${partner_id}`, { status: "active" });
  await addBankAccount();
  const sale = { partner_id, amount_cents: 12_500, currency: "EUR", note: "November" };
  const { id: commission } = await program.api("POST", "/commissions", sale);
  await program.api("PATCH", `/commissions/${commission}`, { status: "approved" });

  const owner = await world.visitor();
  await signInOwner(world, owner, OWNER);
  await owner.goto(`${world.url}/dashboard/payouts/new`);
  await see(owner, "1 payout is on hold once prepared");
  await owner.goto(`${world.url}/dashboard/partners/${partner_id}`);
  await press(owner, "Release the hold");
  await see(owner, "Hold released.");

  const file = await payByFile(owner);
  assert.ok(file.includes(IBAN) && file.includes("125.00"), file);
  const [first] = await payoutsOf(program);

  await owner.getByRole("link", { name: "The file's page" }).click();
  await owner.getByRole("link", { name: "Import results" }).click();
  await owner.getByLabel("Or paste it here").fill(`payout_id,status,reason\n${first!.id},returned,Account closed\n`);
  await press(owner, "Preview");
  await press(owner, /^Apply/);
  await see(owner, "Results applied.");
  assert.deepEqual(
    (await payoutsOf(program)).map(({ status }) => status),
    ["returned"],
  );

  await payByFile(owner);
  const [second] = await payoutsOf(program);
  assert.equal(second!.status, "paid");
  for (const [id, numbers] of [
    [first!.id, ["SB-INV-000001", "SB-CN-000001"]],
    [second!.id, ["SB-INV-000002"]],
  ] as const) {
    await owner.goto(`${world.url}/dashboard/payouts/${id}/statement`);
    const text = (await owner.getByRole("main").innerText()).replaceAll("\u00a0", " ");
    assert.deepEqual([...new Set(text.match(/SB-(?:INV|CN)-\d+/g))], numbers);
    assert.ok(text.includes("Month GmbH") && text.includes("Noor Jansen") && text.includes("125.00 EUR"), text);
  }
  await owner.context().close();
});
