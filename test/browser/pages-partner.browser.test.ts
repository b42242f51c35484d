/** From "I would like to be a partner" to the first paid commission, in pages and e-mails alone. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { BrowserContext, Locator, Page } from "playwright-core";
import { signInOwner, startPagesWorld, type OwnedProgram, type PagesWorld } from "./pages-world.ts";
import { startShop, type Shop, type ShopPage } from "./shop.ts";

const DOMAIN = "bakery.example";
const QUESTION = "Who reads you?";
/** The key that moves the cursor to the end of a field. */
const END = "End";

let world: PagesWorld;
/** Plays the site of the program, with the tracking script in its pages. */
let shop: Shop;

before(async () => {
  world = await startPagesWorld();
  shop = await startShop();
});
after(async () => {
  shop.close();
  await world.close();
});

const heading = (page: Page, name: string | RegExp) => page.getByRole("heading", { level: 1, name }).waitFor();
const see = (page: Page, text: string | RegExp) => page.getByText(text).first().waitFor();
const press = (page: Page, name: string | RegExp) => page.getByRole("button", { name }).first().click();

async function go(page: Page, place: string): Promise<void> {
  await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: place }).click();
  await heading(page, place);
}

/** Reloads a page until it contains the expected element. */
async function reloadUntil(page: Page, seen: Locator): Promise<void> {
  for (let i = 0; i < 480 && (await seen.count()) === 0; i++) {
    await sleep(250);
    await page.reload();
  }
  assert.ok((await seen.count()) > 0, `${String(seen)} does not appear at ${page.url()}`);
}

/** Opens the e-mail of this subject to this address, as it is shown, and follows its button. */
async function openMail(context: BrowserContext, to: string, subject: string, button: string): Promise<Page> {
  const mailbox = await context.newPage();
  await mailbox.goto(`${world.url}/dev/mails`);
  const item = mailbox.getByRole("row").filter({ hasText: to });
  const mail = item.getByRole("link", { name: subject, exact: true });
  await reloadUntil(mailbox, mail);
  assert.equal(await mail.count(), 1, `one e-mail says "${subject}"`);
  await mail.click();
  await heading(mailbox, subject);
  const [opened] = await Promise.all([
    context.waitForEvent("page"),
    mailbox.frameLocator("iframe").getByRole("link", { name: button, exact: true }).click(),
  ]);
  await opened.waitForLoadState();
  await mailbox.close();
  return opened;
}

/** Presses Tab until the wanted element has the focus. */
async function tabTo(page: Page, wanted: Locator): Promise<void> {
  for (let i = 0; i < 40; i++) {
    if (await wanted.evaluate((element) => element === document.activeElement)) return;
    await page.keyboard.press("Tab");
  }
  assert.fail(`Tab does not lead to ${String(wanted)}`);
}

async function type(page: Page, label: string, text: string): Promise<void> {
  await tabTo(page, page.getByLabel(label));
  await page.keyboard.press(END);
  await page.keyboard.type(text);
}

/** Fills in the form for applications with the keyboard alone: first with mistakes, then without. */
async function apply(page: Page, address: string): Promise<void> {
  const name = page.getByLabel("Your name");
  const email = page.getByLabel("E-mail address");
  const apply = page.getByRole("button", { name: "Apply" });
  await type(page, "Your name", "Rosa Baker");
  await type(page, "E-mail address", "rosa at home");
  await type(page, "Website or profile", "not a site");
  await tabTo(page, apply);
  await page.keyboard.press("Enter");
  await page.getByRole("alert").waitFor();
  // Each error is beside its field, and the typed text is kept.
  for (const [label, mistake] of [
    ["E-mail address", /e-mail address/],
    ["Website or profile", /web address/],
    [QUESTION, /./],
    ["I have read these terms", /agree to the terms/],
  ] as const) {
    const field = page.getByLabel(label);
    assert.equal(await field.getAttribute("aria-invalid"), "true", label);
    const ids = (await field.getAttribute("aria-describedby"))?.split(" ") ?? [];
    const said = await Promise.all(ids.map((id) => page.locator(`#${id}`).textContent()));
    assert.match(said.join(" "), mistake, label);
  }
  assert.equal(await name.inputValue(), "Rosa Baker");
  assert.equal(await email.inputValue(), "rosa at home");
  assert.equal(await page.getByLabel("Website or profile").inputValue(), "not a site");

  for (const label of ["E-mail address", "Website or profile"]) {
    await tabTo(page, page.getByLabel(label));
    await page.keyboard.press("Control+A");
    await page.keyboard.type(label === "E-mail address" ? address : "rosa.example/bread");
  }
  await type(page, QUESTION, "Bakers, and who eats bread.");
  await tabTo(page, page.getByLabel("I have read these terms"));
  await page.keyboard.press("Space");
  await tabTo(page, apply);
  await page.keyboard.press("Enter");
  // A sender faster than a person must send it again: the form is as it was.
  const sent = page.getByRole("heading", { level: 1, name: "Check your e-mail" });
  const again = page.getByRole("alert").filter({ hasText: "That was very quick" });
  for (let i = 0; i < 100; i++) {
    await sent.or(again).waitFor();
    if ((await sent.count()) > 0) return;
    await tabTo(page, apply);
    await page.keyboard.press("Enter");
    await page.waitForLoadState();
  }
  assert.fail("the form is never taken");
}

async function openProgram(slug: string): Promise<OwnedProgram> {
  const program = await world.createProgram({ name: "Bakery", owner_email: `${slug}@bakery.example`, domain: DOMAIN });
  await program.api("PATCH", "/programs/me", {
    ...{ applications: "review", slug, questions: [QUESTION, "Where? (optional)"], terms: "Bid on no names of ours." },
  });
  return program;
}

/** Comes by a partner's link to the site of the program, and gives the reference that its checkout has. */
async function visitShop(program: OwnedProgram, link: string): Promise<string | null> {
  const visitor = await world.visitor();
  shop.html = `<!doctype html><title>Bakery</title><script src="${world.url}/service.js" data-program="${program.id}" defer></script>`;
  await visitor.goto(`${shop.url}/${new URL(link).search}`);
  await visitor.waitForFunction(() => "Service" in globalThis);
  await visitor.goto(`${shop.url}/checkout`);
  const ref = await visitor.evaluate(() => (globalThis as unknown as ShopPage).Service.getRef());
  await visitor.context().close();
  return ref;
}

/** Sees the application among those that wait, reads it and approves it. */
async function approve(owner: Page): Promise<void> {
  await heading(owner, "Applications");
  await owner.getByRole("link", { name: "Rosa Baker" }).click();
  await see(owner, "Bakers, and who eats bread.");
  await see(owner, "https://rosa.example/bread");
  await press(owner, "Approve");
  await see(owner, "Application approved. We e-mailed the partner their link");
}

/** The partner's first page: the link is copied in one click. */
async function copyLink(partner: Page): Promise<string> {
  await partner.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await press(partner, "Copy your link");
  const link = await partner.evaluate(() => navigator.clipboard.readText());
  assert.match(link, new RegExp(`^https://${DOMAIN}/\\?ref=`));
  return link;
}

/** Approves the one commission, prepares its payout and marks it as paid. */
async function pay(owner: Page): Promise<void> {
  await go(owner, "Commissions");
  await owner.getByRole("checkbox", { name: /^Choose the commission/ }).check();
  await press(owner, "Approve chosen");
  await heading(owner, "Commissions");
  await see(owner, "approved");
  await go(owner, "Payouts");
  await owner.getByRole("link", { name: "Prepare payouts" }).first().click();
  await press(owner, "Prepare 1 payout");
  await heading(owner, "Pay");
  await go(owner, "Payouts");
  await owner.getByRole("checkbox", { name: /^Choose the payout/ }).check();
  await press(owner, "Mark chosen as paid…");
  await owner.getByLabel("Reference").fill("SEPA 2026-11");
  await press(owner, /^Mark as paid: /);
  await see(owner, /^1 payout marked as paid: /);
}

describe("somebody who would like to be a partner", () => {
  it("applies, is approved, sells, and is paid (JOIN-2, JOIN-6, MAIL-10, MAIL-11)", async () => {
    const program = await openProgram("bakery");
    await program.api("PATCH", "/programs/me", { payout_change_hold_days: 0 });
    const applicant = await world.visitor({ scripts: false });
    await applicant.goto(`${world.url}/join/bakery`);
    await see(applicant, "Earn 20 % of every sale.");
    await see(applicant, "Payouts are prepared on the first of each month and due 15 days later.");
    await apply(applicant, "rosa@bread.example");
    const proof = await openMail(
      applicant.context(),
      "rosa@bread.example",
      "Confirm your application to Bakery",
      "Confirm your address",
    );
    await press(proof, "Send my application");
    await heading(proof, "Thank you");
    await see(proof, "Bakery reviews your application and e-mails you the decision.");
    await applicant.context().close();

    const owner = await world.visitor();
    await signInOwner(world, owner, program.owner_email);
    const queue = await openMail(
      owner.context(),
      program.owner_email,
      "1 application to Bakery waits",
      "See the applications",
    );
    await approve(queue);
    await queue.close();

    const context = (await world.visitor()).context();
    const partner = await openMail(context, "rosa@bread.example", "You are a partner of Bakery", "Sign in");
    await press(partner, "Sign in");
    await heading(partner, "Hello Rosa");
    const link = await copyLink(partner);
    await partner.getByRole("link", { name: "Add your payout details" }).click();
    await partner.getByLabel("Pay me by").selectOption({ label: "PayPal" });
    await partner.getByLabel("E-mail at PayPal").fill("rosa@wallet.example");
    await press(partner, "Save");
    await see(partner, "Nothing has changed yet");
    const change = await openMail(
      context,
      "rosa@bread.example",
      "Confirm your payout details at Bakery",
      "Review the change",
    );
    await press(change, "Confirm");
    await see(change, "New payouts go there.");
    await change.close();

    const ref = await visitShop(program, link);
    assert.equal(ref, new URL(link).searchParams.get("ref"));
    const sale = { external_id: "order-1", ref, amount_cents: 50_000, currency: "USD", net_of_tax: true };
    await program.api("POST", "/track/sale", { ...sale, customer: { id: "c1", email: "eve@customers.example" } });

    await go(partner, "Commissions");
    await see(partner, "20 % of a sale of 500.00 USD, the program's rate");
    assert.ok(!(await partner.content()).includes("eve@"), "the partner sees no customer");
    await go(partner, "Statistics");
    const clicks = partner.locator(".stat").filter({ hasText: /^Clicks/ });
    await reloadUntil(partner, clicks.locator(".stat-value").filter({ hasText: /^1$/ }));

    await go(owner, "Overview");
    await pay(owner);

    const paid = "Your payout of 100.00 USD at Bakery was paid";
    const payouts = await openMail(context, "rosa@bread.example", paid, "See your payouts");
    await heading(payouts, "Payouts");
    await payouts.getByRole("table").getByRole("link").first().click();
    await see(payouts, "SEPA 2026-11");
    await see(payouts, "100.00 USD");
    await see(payouts, "20 % of a sale of 500.00 USD, the program's rate");
    await Promise.all([context.close(), owner.context().close()]);
  });

  it("applies with scripts too; of a second time the e-mail alone says that the first waits (JOIN-4)", async () => {
    await openProgram("second");
    const page = await world.visitor({ width: 390 });
    await page.goto(`${world.url}/join/second`);
    await apply(page, "twice@bread.example");
    const proof = await openMail(
      page.context(),
      "twice@bread.example",
      "Confirm your application to Bakery",
      "Confirm your address",
    );
    // The only button of the page has the focus, once the browser has moved it there.
    await proof.bringToFront();
    await proof.waitForFunction(() => document.activeElement?.tagName === "BUTTON");
    await proof.keyboard.press("Enter");
    await heading(proof, "Thank you");
    await page.goto(`${world.url}/join/second`);
    await apply(page, "twice@bread.example");
    await page.goto(`${world.url}/dev/mails`);
    const waiting = page.getByRole("row").filter({ hasText: "twice@bread.example" });
    await reloadUntil(page, waiting.filter({ hasText: "Your application to Bakery is waiting" }));
    await page.context().close();
  });
});
