import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Page } from "playwright-core";
import { sessionCompleted } from "../support/provider-a.ts";
import { seedProgram } from "./pages-seed.ts";
import { mailedLink, SECRET_A, signInOwner, signInPartner, startPagesWorld, type PagesWorld } from "./pages-world.ts";
import { startShop, type Shop, type ShopPage } from "./shop.ts";

let world: PagesWorld;
let shop: Shop;

before(async () => {
  world = await startPagesWorld();
  shop = await startShop();
});
after(async () => {
  shop.close();
  await world.close();
});

const heading = (page: Page, name: string | RegExp) => page.getByRole("heading", { level: 1, name });
const see = (page: Page, text: string | RegExp) => page.getByText(text).first().waitFor();

async function go(page: Page, place: string): Promise<void> {
  await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: place }).click();
  await heading(page, place).waitFor();
}

describe("an owner's first run", () => {
  it("leads from an empty program to the first commission, each step ticking itself", async () => {
    const owner_email = "first@shop.example";
    const program = await world.createProgram({ name: "First Shop", owner_email });
    const page = await world.visitor();
    await signInOwner(world, page, owner_email);
    await see(page, "0 of 6 done");

    await page.getByRole("link", { name: "Open settings" }).first().click();
    await page.getByLabel("Domain").fill("Shop.Example");
    await page.getByRole("button", { name: "Save" }).first().click();
    await see(page, "Saved.");
    await page.getByRole("link", { name: "Stripe and Paddle" }).click();
    const secret = page.locator("#provider_a").getByLabel("Webhook signing secret");
    await secret.fill(SECRET_A);
    await secret.press("Enter");
    await see(page, "Secret saved.");

    await go(page, "Partners");
    await page.getByRole("link", { name: "Add your first partner" }).click();
    await page.getByLabel("E-mail address").fill("jane@partners.example");
    await page.getByLabel("Slug").fill("jane");
    await page.getByRole("button", { name: "Add partner" }).click();
    await see(page, "Partner added.");
    await see(page, "https://shop.example/?ref=jane");

    await go(page, "Integration");
    shop.html = (await page.getByRole("region", { name: "Script tag" }).textContent()) ?? "";
    assert.match(
      shop.html,
      /^<script src="http:\/\/localhost:\d+\/service\.js" data-program="prog_\w+" defer><\/script>$/,
    );
    const visitor = await world.visitor();
    await visitor.goto(`${shop.url}/?ref=jane`);
    await visitor.waitForFunction(() => "Service" in globalThis);
    await visitor.goto(`${shop.url}/checkout`);
    const ref = await visitor.evaluate(() => (globalThis as unknown as ShopPage).Service.getRef());
    assert.equal(ref, "jane");

    // The partner signs in for the first time, and turns active.
    const partner = await world.visitor();
    await signInPartner(world, partner, "jane@partners.example");
    await heading(partner, "Your overview").waitFor();
    await program.sendA(sessionCompleted({ ref, amount: 10_000 }));

    await go(page, "Overview");
    // The click is about to be counted; then the setup is complete, and its list disappears.
    const setup = page.getByText("Set up your program");
    for (let i = 0; i < 240 && (await setup.count()) > 0; i++) {
      await sleep(250);
      await page.reload();
    }
    assert.equal(await setup.count(), 0);
    await see(page, "20.00 USD");
    await go(page, "Commissions");
    await page.getByRole("table", { name: "Commissions" }).getByRole("row").nth(1).getByRole("link").first().click();
    await see(page, "20.00 USD is 20 % (the program's rate) of 100.00 USD net of tax.");
    await partner.reload();
    await see(partner, "20.00 USD");
    for (const one of [page, visitor, partner]) await one.context().close();
  });
});

for (const scripts of [true, false]) {
  describe(`with scripts ${scripts ? "on" : "off"}`, () => {
    it("a plot says each day and its value to the keyboard, as one stop, and to the pointer (PAGE-17)", async () => {
      const owner_email = `plot-${scripts}@shop.example`;
      const program = await world.createProgram({ name: "Plots", owner_email, domain: "shop.example" });
      await program.api("PATCH", "/programs/me", { provider_a_webhook_secret: SECRET_A });
      const jane = await program.api("POST", "/partners", { slug: "jane", email: `jane-${scripts}@partners.example` });
      await program.api("PATCH", `/partners/${jane.id}`, { status: "active" });
      await program.sendA(sessionCompleted({ ref: "jane", amount: 10_000 }));
      const page = await world.visitor({ scripts });
      await signInOwner(world, page, owner_email);
      await page.goto(`${world.url}/dashboard?days=7`);
      const plot = page.getByRole("radiogroup", { name: /^Sales/ });
      const says = () =>
        plot.locator(".plot-says").evaluateAll((all) => all.map((one) => getComputedStyle(one).opacity));
      assert.deepEqual(
        await says(),
        Array.from({ length: 7 }, () => "0"),
      );
      await plot.getByRole("radio", { name: /: 1$/ }).focus();
      assert.equal((await says()).lastIndexOf("1"), 6);
      await page.keyboard.press("ArrowLeft");
      assert.equal((await says()).indexOf("1"), 5);
      await page.keyboard.press("Tab");
      assert.equal(await page.evaluate(() => document.activeElement?.textContent), "As a table");
      await plot.locator(".plot-point").nth(2).hover();
      assert.equal((await says()).indexOf("1"), 2);
      await page.context().close();
    });

    it("month end: approve, preview, prepare, mark as paid, export", async () => {
      const owner_email = `month-${scripts}@shop.example`;
      const { program } = await seedProgram(world, owner_email);
      const page = await world.visitor({ scripts });
      await signInOwner(world, page, owner_email);
      await go(page, "Commissions");
      await page.getByText("+ Filter").click();
      await page.getByRole("combobox", { name: "Status", exact: true }).selectOption("pending");
      await page.getByRole("button", { name: "Apply" }).click();
      await page.getByRole("link", { name: "Remove the filter Status: Pending" }).waitFor();
      assert.equal(page.url(), `${world.url}/dashboard/commissions?status=pending`);
      const all = page.getByLabel("All on this page that are not flagged");
      if (scripts) await all.check();
      else assert.equal(await all.isVisible(), false, "a box that does nothing is not shown");
      assert.equal(await page.locator("input[data-flagged]:checked").count(), 0);
      // Choosing the flagged ones one by one asks for confirmation again.
      for (const box of await page.getByRole("checkbox", { name: /^Choose the commission/ }).all()) await box.check();
      await page.getByRole("button", { name: "Approve chosen" }).click();
      await heading(page, /^\d+ commissions approved$/).waitFor();
      await see(page, "2 flagged");
      await page.getByRole("link", { name: "Leave them" }).click();
      await heading(page, "Commissions").waitFor();
      const left = await program.api<{ data: { flagged: boolean }[] }>("GET", "/commissions?status=pending");
      assert.deepEqual(
        left.data.map(({ flagged }) => flagged),
        [true, true],
      );

      await go(page, "Payouts");
      await page.getByRole("link", { name: "Prepare payouts" }).click();
      await see(page, /^\d+ payouts?: /);
      await page.getByRole("button", { name: /^Prepare \d+ payout/ }).click();
      await heading(page, "Pay").waitFor();
      await go(page, "Payouts");
      await page.getByRole("link", { name: "Pending", exact: true }).click();
      await page.getByRole("link", { name: "Remove the filter Status: Pending" }).waitFor();
      const boxes = page.getByRole("checkbox", { name: /^Choose the payout/ });
      const count = await boxes.count();
      for (const box of await boxes.all()) await box.check();
      await page.getByRole("button", { name: "Mark chosen as paid…" }).click();
      await heading(page, "Mark as paid?").waitFor();
      await page.getByLabel("Reference for all of them").fill("SEPA batch 11");
      await page.getByRole("button", { name: /^Mark as paid: / }).click();
      await see(page, new RegExp(`^${count} payouts marked as paid: `));
      const { data } = await program.api<{ data: { reference: string }[] }>("GET", "/payouts?status=paid");
      assert.deepEqual([data.length, data.every(({ reference }) => reference === "SEPA batch 11")], [count, true]);

      await go(page, "Payouts");
      await page.getByText("Export", { exact: true }).click();
      const [download] = await Promise.all([
        page.waitForEvent("download"),
        page.getByRole("link", { name: "CSV with everything" }).click(),
      ]);
      assert.equal(download.suggestedFilename(), "payouts.csv");
      await page.context().close();
    });

    it("a partner's first sign-in and payout details (PAGE-1)", async () => {
      const owner_email = `portal-${scripts}@shop.example`;
      const program = await world.createProgram({ name: "Portal Shop", owner_email, domain: "portal.example" });
      const email = `new-${scripts}@partners.example`;
      const made = await program.api<{ id: string }>("POST", "/partners", { email, slug: "new", first_name: "Noor" });
      const page = await world.visitor({ scripts });
      await signInPartner(world, page, email);
      await heading(page, "Hello Noor").waitFor();
      const { status } = await program.api<{ status: string }>("GET", `/partners/${made.id}`);
      assert.equal(status, "active");
      await see(page, "https://portal.example/?ref=new");
      assert.equal(await page.getByRole("button", { name: "Copy your link" }).isVisible(), scripts);
      if (scripts) {
        await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
        await page.getByRole("button", { name: "Copy your link" }).click();
        await see(page, "Copied");
        assert.equal(await page.evaluate(() => navigator.clipboard.readText()), "https://portal.example/?ref=new");
      }
      await page.getByRole("link", { name: "Add your payout details" }).click();
      await page.getByLabel("Pay me by").selectOption({ label: "PayPal" });
      await page.getByRole("button", { name: "Save" }).click();
      await see(page, "A payout by PayPal needs the e-mail address of your account there.");
      await page.getByLabel("E-mail at PayPal").fill("noor@wallet.example");
      const used = await mailedLink(world, email);
      const before = world.log.length;
      await page.getByRole("button", { name: "Save" }).click();
      await see(page, "Nothing has changed yet");
      await page.goto(await mailedLink(world, email, before));
      await page.getByRole("button", { name: "Confirm" }).click();
      await see(page, "New payouts go there.");
      await page.getByRole("link", { name: "See your payout details" }).click();
      const saved = await program.api<Record<string, unknown>>("GET", `/partners/${made.id}`);
      assert.equal(saved["payout_email"], "noor@wallet.example");

      await page.getByRole("button", { name: "Sign out" }).click();
      await heading(page, "Sign in").waitFor();
      await page.goto(used);
      await page.getByRole("button", { name: "Sign in" }).click();
      await heading(page, "This link no longer works").waitFor();
      await page.context().close();
    });

    it("an import with a preview, and a flow tried on past payments and applied to them", async () => {
      const owner_email = `import-${scripts}@shop.example`;
      await seedProgram(world, owner_email);
      const page = await world.visitor({ scripts });
      await signInOwner(world, page, owner_email);
      await go(page, "Partners");
      await page.getByRole("link", { name: "Import CSV" }).click();
      const csv = "email,slug\nlin@import.example,lin\nbroken,x y\n";
      await page
        .getByLabel("CSV file")
        .setInputFiles({ name: "p.csv", mimeType: "text/csv", buffer: Buffer.from(csv) });
      await page.getByRole("button", { name: "Preview" }).click();
      await see(page, "1 new partner, 0 updated, 0 lines unchanged, 1 line with");
      await page.getByRole("button", { name: "Import 1 line" }).click();
      await see(page, "1 partner added, 0 completed.");
      await page.getByRole("link", { name: "import the customers" }).click();
      await page.getByLabel("The file is from").selectOption("FirstPromoter");
      await page.getByLabel("Content").selectOption("customers");
      await page.getByLabel("Or paste it here").fill("uid,whose\ncus_1,lin\n");
      await page.getByRole("button", { name: "Preview" }).click();
      await see(page, "No column has the partner.");
      await page.getByLabel("whose").selectOption("Partner's code or link");
      await page.getByRole("button", { name: "Preview again" }).click();
      await see(page, "1 customer to assign to partners");
      await page.getByRole("button", { name: "Bind 1 customer" }).click();
      await see(page, "1 customer assigned.");
      await go(page, "Flows");
      await page.getByRole("link", { name: "Add flow" }).click();
      await page.getByLabel("Name").fill("Double");
      await page.getByLabel("Amount").fill("40");
      await page.getByRole("button", { name: "Preview on past payments" }).click();
      await see(page, "Preview: nothing is saved yet");
      await page.getByRole("button", { name: "Add flow" }).click();
      await see(page, "The flow was added.");
      await page.getByLabel("Amount").fill("50");
      await page.getByLabel("Apply from").fill(new Date(Date.now() - 9 * 86_400_000).toISOString().slice(0, 10));
      await page.getByRole("button", { name: "Save" }).click();
      await see(page, "Nothing has changed yet.");
      await page.getByRole("button", { name: "Back" }).click();
      await page.getByLabel("Amount").fill("60");
      await page.getByRole("button", { name: "Save" }).click();
      await page.getByRole("button", { name: "Apply" }).click();
      await see(page, "Saved and applied.");
      await page.context().close();
    });
  });
}

describe("times", () => {
  it("are in the program's zone, whatever the visitor's is, with the instant on hover (PAGE-23)", async () => {
    const owner_email = "times@shop.example";
    const { program } = await seedProgram(world, owner_email);
    const { data } = await program.api<{ data: { created_at: string }[] }>("GET", "/payments?per_page=1");
    const at = data[0]?.created_at ?? "";
    await program.api("PATCH", "/programs/me", { time_zone: "Asia/Kathmandu" });
    const zone = { timeZone: "Asia/Kathmandu", dateStyle: "medium", timeStyle: "short" } as const;
    const text = new Intl.DateTimeFormat("en-GB", zone).format(new Date(at));
    for (const scripts of [true, false]) {
      const page = await world.visitor({ scripts });
      await signInOwner(world, page, owner_email);
      await go(page, "Payments");
      const time = page.locator("main time").first();
      assert.equal(await time.getAttribute("title"), at);
      assert.equal(await time.textContent(), text);
      const note = page.getByText("Times are in the time zone");
      await note.waitFor();
      await page.goto(`${world.url}/dashboard/webhooks/new`);
      assert.equal(await note.isVisible(), false);
      await page.context().close();
    }
  });
});

describe("the keyboard", () => {
  it("alone signs in, skips to the content, opens the menu on a phone, fills and sends a form (PAGE-1)", async () => {
    const owner_email = "keys@shop.example";
    await world.createProgram({ name: "Keys", owner_email });
    const page = await world.visitor({ width: 360 });
    await page.goto(await world.ownerLink(owner_email));
    // The only button of the page has the focus, once the browser has moved it there.
    await page.waitForFunction(() => document.activeElement?.tagName === "BUTTON");
    await page.keyboard.press("Enter");
    await page.waitForURL("**/dashboard");
    await page.keyboard.press("Tab");
    assert.equal(await page.evaluate(() => document.activeElement?.textContent), "Skip to content");
    await page.keyboard.press("Enter");
    assert.equal(await page.evaluate(() => document.activeElement?.id), "main");
    await page.goto(`${world.url}/dashboard`);
    await page.keyboard.press("Tab");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.getByRole("navigation", { name: "Menu" }).waitFor();
    // The field that finds payments, the overview, the partners.
    for (let i = 0; i < 3; i++) await page.keyboard.press("Tab");
    const focused = () => page.evaluate(() => document.activeElement?.textContent?.trim());
    assert.equal(await focused(), "Partners");
    const outline = await page.evaluate(() => getComputedStyle(document.activeElement ?? document.body).outlineStyle);
    assert.equal(outline, "solid", "one sees where the focus is");
    await page.keyboard.press("Enter");
    await heading(page, "Partners").waitFor();
    await page.getByRole("link", { name: "Add your first partner" }).focus();
    await page.keyboard.press("Enter");
    await page.getByLabel("E-mail address").focus();
    await page.keyboard.type("kay@partners.example");
    await page.keyboard.press("Tab");
    await page.keyboard.type("kay");
    await page.keyboard.press("Enter");
    await see(page, "Partner added.");
    await page.context().close();
  });

  it("finds a payment from any page, in the side and in the menu of a phone (PAY-21)", async () => {
    const owner_email = "find@shop.example";
    const { program } = await seedProgram(world, owner_email);
    const { data } = await program.api<{ data: Record<"id" | "provider_transaction_id", string>[] }>(
      "GET",
      "/payments?per_page=1",
    );
    const [payment] = data;
    for (const width of [1280, 360]) {
      const page = await world.visitor({ width });
      await signInOwner(world, page, owner_email);
      await page.goto(`${world.url}/dashboard/flows`);
      if (width === 360) await page.locator("summary", { hasText: "Menu" }).click();
      await page.keyboard.press("/");
      await page.keyboard.type(payment?.provider_transaction_id ?? "");
      await page.keyboard.press("Enter");
      await heading(page, "Find").waitFor();
      const rows = page.getByRole("table", { name: "Payments" }).getByRole("row");
      assert.equal(await rows.count(), 2);
      await rows.nth(1).getByRole("link").first().click();
      await page.waitForURL(`**/payments/${payment?.id}`);
      await page.context().close();
    }
  });
});
