/** The script of the pages: keys that lead from page to page (PAGE-26), buttons that wait (PAGE-39), notes (PAGE-47). */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Page } from "playwright-core";
import { mailedLink, signInOwner, startPagesWorld, type OwnedProgram, type PagesWorld } from "./pages-world.ts";

let world: PagesWorld;
let program: OwnedProgram;

before(async () => {
  world = await startPagesWorld();
  program = await world.createProgram({ name: "Keys", owner_email: "owner@keys.example" });
});
after(() => world.close());

async function owner(options: { scripts?: boolean; width?: number } = {}): Promise<Page> {
  const page = await world.visitor(options);
  await signInOwner(world, page, program.owner_email);
  return page;
}

async function press(page: Page, keys: string): Promise<void> {
  for (const key of keys.split(" ")) await page.keyboard.press(key);
}

/** The navigation's links by their keys, and their texts in the list. */
async function linksOf(page: Page): Promise<[keys: string, label: string, path: string][]> {
  return page
    .locator("nav[aria-label=Main] a[aria-keyshortcuts]")
    .evaluateAll((links) =>
      links.map((link) => [
        link.getAttribute("aria-keyshortcuts") ?? "",
        link.textContent ?? "",
        new URL((link as HTMLAnchorElement).href).pathname,
      ]),
    );
}

const list = (page: Page) => page.getByRole("dialog", { name: "Keyboard shortcuts" });

describe("shortcuts (PAGE-26)", () => {
  it("lead to every page of the navigation, each by a letter of its own", async () => {
    const page = await owner();
    const links = await linksOf(page);
    const all = await page.getByRole("navigation", { name: "Main" }).getByRole("link").count();
    assert.equal(links.length, all);
    assert.equal(new Set(links.map(([keys]) => keys)).size, all);
    for (const [keys, label, path] of links.toReversed()) {
      assert.ok(label.toLowerCase().includes(keys.at(-1)!), `${keys} for ${label}`);
      await press(page, keys);
      await page.waitForURL(world.url + path);
    }
    await page.context().close();
  });

  it("are listed as text by ?, with a button that shows the list too", async () => {
    const page = await owner({ width: 360 });
    const links = await linksOf(page);
    await press(page, "?");
    await list(page).waitFor();
    const named = await list(page).locator("dl > div").allInnerTexts();
    assert.deepEqual(
      named.map((text) => text.replaceAll(/\s+/g, " ").trim()),
      [...links.map(([keys, label]) => `${keys.replace(" ", " then ")} ${label}`), "/ Find", "? This list"],
    );
    await page.keyboard.press("Escape");
    await list(page).waitFor({ state: "hidden" });
    await page.getByText("Menu", { exact: true }).click();
    await page.getByRole("button", { name: "Keyboard shortcuts" }).click();
    await press(page, "g p");
    await page.waitForURL("**/dashboard/partners");
    await page.context().close();
  });

  it("do nothing within a field, with a modifier, or after another key", async () => {
    const page = await owner();
    const field = page.getByLabel("E-mail address of a new partner");
    await field.focus();
    await press(page, "g p ? /");
    assert.equal(await field.inputValue(), "gp?/");
    await field.blur();
    await press(page, "g Control+p g Alt+p g Meta+p Control+g p g x p g Shift+p Control+? Alt+?");
    await press(page, "g");
    await field.focus();
    await field.blur();
    await press(page, "p");
    assert.equal(await list(page).isVisible(), false);
    await press(page, "/");
    await page.waitForFunction(() => document.activeElement?.getAttribute("name") === "search");
    assert.equal(new URL(page.url()).pathname, "/dashboard");
    await page.context().close();
  });

  it("are switched off in the list and on again, for all pages of the browser", async () => {
    const page = await owner();
    await press(page, "?");
    await list(page).getByLabel("On in this browser").uncheck();
    await list(page).getByRole("button", { name: "Close" }).click();
    await page.goto(`${world.url}/dashboard/flows`);
    await press(page, "g p ? /");
    assert.equal(await list(page).isVisible(), false);
    await page.getByRole("button", { name: "Keyboard shortcuts" }).click();
    await list(page).getByLabel("On in this browser").check();
    await page.keyboard.press("Escape");
    assert.equal(new URL(page.url()).pathname, "/dashboard/flows");
    await press(page, "g p");
    await page.waitForURL("**/dashboard/partners");
    await page.context().close();
  });

  it("lead a viewer to no page that a viewer may not see", async () => {
    const email = "viewer@keys.example";
    await program.api("POST", "/members", { email, role: "viewer" });
    const page = await world.visitor();
    await page.goto(await mailedLink(world, email));
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.waitForURL("**/dashboard");
    const labels = (await linksOf(page)).map(([, label]) => label);
    assert.deepEqual([labels.includes("Import"), labels.includes("API keys")], [false, true]);
    await press(page, "g i ?");
    await list(page).waitFor();
    assert.equal(await list(page).getByText("Import").count(), 0);
    assert.equal(new URL(page.url()).pathname, "/dashboard");
    await page.context().close();
  });

  it("are not offered without scripts, where the links lead there", async () => {
    const page = await owner({ scripts: false });
    assert.equal(await page.getByRole("button", { name: "Keyboard shortcuts" }).count(), 0);
    assert.equal(await list(page).count(), 0);
    await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Import" }).click();
    await page.waitForURL("**/dashboard/partners/import");
    await page.context().close();
  });
});

describe("a button that waits (PAGE-39)", () => {
  it("is busy until the reply, sends once, and is ready again after Back", async () => {
    const page = await owner();
    await page.goto(`${world.url}/dashboard/partners/new`);
    const posts: string[] = [];
    page.on("request", (request) => {
      if (request.method() === "POST") posts.push(request.url());
    });
    await page.getByLabel("E-mail address").fill("busy@partners.example");
    await page.getByLabel("Slug").fill("busy");
    const add = page.getByRole("button", { name: "Add partner" });
    const state = await add.evaluate((button) => {
      (button as HTMLButtonElement).click();
      const busy = button.getAttribute("aria-busy");
      (button as HTMLButtonElement).click();
      return busy;
    });
    assert.equal(state, "true");
    await page.waitForURL("**/dashboard/partners/par_*");
    assert.equal(posts.length, 1);
    await page.goBack();
    await add.waitFor();
    assert.equal(await page.locator("[aria-busy]").count(), 0);
    await page.context().close();
  });
});

describe("the note about an action (PAGE-47)", () => {
  const LIST = "/dashboard/commissions?status=pending";

  async function approve(scripts: boolean): Promise<Page> {
    const slug = scripts ? "noted" : "kept";
    const { id } = await program.api("POST", "/partners", { slug, email: `${slug}@partners.example` });
    await program.api("PATCH", `/partners/${id}`, { status: "active" });
    await program.api("PATCH", "/programs/me", { auto_approve_days: null });
    await program.api("POST", "/commissions", { partner_id: id, amount_cents: 500, currency: "EUR", note: slug });
    const page = await owner({ scripts });
    await page.goto(world.url + LIST);
    await page.locator("tbody button", { hasText: "Approve" }).first().click();
    await page.getByText("Approved.").waitFor();
    return page;
  }

  it("stays on the page, but not in its address: a reload, Back and a shared link do not repeat it", async () => {
    const page = await approve(true);
    assert.equal(page.url(), world.url + LIST);
    await page.reload();
    assert.equal(await page.getByText("Approved.").count(), 0);
    await page.goto(`${world.url}/dashboard/flows`);
    await page.goBack();
    assert.equal(page.url(), world.url + LIST);
    assert.equal(await page.getByText("Approved.").count(), 0);
    for (const [query, left] of [
      ["?to=2026-03-31&asked=1&asked_recently=0", "?to=2026-03-31"],
      ["?method=wallet&moved=pay&at=1&left=pay_1", "?method=wallet"],
      ["?made=exp_1&no_details=2#f-reference", "#f-reference"],
      ["?&bulk=approved&count=2", ""],
      ["?done=saved", ""],
    ] as const) {
      await page.goto(`${world.url}/dashboard/payouts/pay${query}`);
      assert.equal(page.url(), `${world.url}/dashboard/payouts/pay${left}`);
    }
    await page.context().close();
  });

  it("is part of the address without scripts", async () => {
    const page = await approve(false);
    assert.equal(page.url(), `${world.url}${LIST}&done=approved`);
    await page.context().close();
  });
});
