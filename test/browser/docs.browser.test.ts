import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Locator } from "playwright-core";
import { startPagesWorld, type PagesWorld } from "./pages-world.ts";

const SECTION = "/docs/api/partners";

let world: PagesWorld;

before(async () => {
  world = await startPagesWorld();
});
after(() => world.close());

describe("the reference on a phone (HTTP-33)", () => {
  it("leads to an operation by two taps from the first page, and by one from its section", async () => {
    const page = await world.visitor({ width: 360, scripts: false });
    await page.goto(`${world.url}/docs`);
    const main = page.getByRole("main");
    await main.getByText("Partners", { exact: true }).first().click();
    await main.getByRole("link", { name: "Approve an application" }).click();
    await page.waitForURL(/#approveApplication$/);
    assert.ok(await isOnScreen(page.locator("#approveApplication h2")));
    await page.goto(world.url + SECTION);
    await page
      .getByRole("navigation", { name: "In this section" })
      .getByRole("link", { name: "List partners" })
      .click();
    assert.ok(await isOnScreen(page.locator("#listPartners h2")));
    await page.context().close();
  });

  it("folds the fields and samples of every operation and event until they are asked for", async () => {
    const page = await world.visitor({ width: 360, scripts: false });
    await page.goto(`${world.url}/docs`);
    const hrefs = await page
      .locator('main a[href^="/docs/api/"]')
      .evaluateAll((all) => all.map((a) => a.getAttribute("href") ?? ""));
    const sections = [...new Set(hrefs.map((href) => href.split("#")[0] ?? ""))];
    assert.ok(sections.includes(SECTION));
    for (const section of sections) {
      await page.goto(world.url + section);
      const unfolded = page.locator(".operation :is(.field-list, pre)").filter({ visible: true });
      assert.deepEqual([section, await unfolded.count()], [section, 0]);
    }
    await page.goto(world.url + SECTION);
    const field = page.locator("#createPartner").getByText("The first name.").first();
    const sample = page.getByRole("region", { name: "curl for POST /api/v1/partners", exact: true });
    assert.deepEqual([await field.isVisible(), await sample.isVisible()], [false, false]);
    for (const folded of [/^Body$/, /^Samples$/]) {
      await page.locator("#createPartner summary").filter({ hasText: folded }).click();
    }
    assert.deepEqual([await field.isVisible(), await sample.isVisible()], [true, true]);
    await page.context().close();
  });

  it("folds nothing where there is room", async () => {
    const page = await world.visitor({ width: 1280, scripts: false });
    await page.goto(world.url + SECTION);
    assert.ok(await page.locator("#createPartner").getByText("The first name.").first().isVisible());
    assert.ok(await page.getByRole("region", { name: "curl for POST /api/v1/partners", exact: true }).isVisible());
    assert.equal(await page.getByRole("navigation", { name: "In this section" }).isVisible(), false);
    await page.context().close();
  });
});

describe("the search of the documentation (HTTP-34)", () => {
  it("shows the best results while a query is typed, the same as the page of results", async () => {
    const page = await world.visitor({ width: 1280 });
    for (const [query, title] of [
      ["pagination", "Pagination"],
      ["verify signature python", "Python"],
    ] as const) {
      await page.goto(`${world.url}/docs`);
      const field = page.getByRole("searchbox", { name: "Search the documentation" });
      await field.pressSequentially(query);
      const list = page.getByRole("list", { name: "Found" });
      await list.getByRole("link", { name: title, exact: true }).waitFor();
      const shown = (await list.getByRole("link").allTextContents()).slice(0, 3);
      assert.ok(shown.includes(title), `${query}: ${shown.join()}`);
      await field.press("Enter");
      await page.waitForURL(/\/docs\/search\?q=/);
      const found = page.getByRole("main").getByRole("listitem").getByRole("link");
      assert.deepEqual((await found.allTextContents()).slice(0, 3), shown);
      await found.filter({ hasText: title }).first().click();
      await page.waitForURL(title === "Python" ? /signatures#python$/ : /\/docs#pagination$/);
    }
    await page.context().close();
  });

  it("finds the same without a script", async () => {
    const page = await world.visitor({ width: 1280, scripts: false });
    await page.goto(`${world.url}/docs/start`);
    await page.getByRole("searchbox", { name: "Search the documentation" }).fill("pagination");
    await page.getByRole("searchbox", { name: "Search the documentation" }).press("Enter");
    await page.waitForURL(/\/docs\/search\?q=pagination/);
    assert.equal(await page.getByRole("main").getByRole("link").first().textContent(), "Pagination");
    await page.context().close();
  });
});

describe("a code block of the documentation", () => {
  it("has a Copy button, which is hidden without a script", async () => {
    const page = await world.visitor({ width: 1280 });
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await page.goto(`${world.url}/docs/signatures`);
    const blocks = await page.locator("main pre").count();
    assert.equal(await page.locator("main pre").filter({ visible: true }).count(), blocks);
    assert.equal(await page.getByRole("button", { name: /^Copy / }).count(), blocks);
    await page.getByRole("button", { name: "Copy Ruby: Ruby" }).click();
    await page.getByRole("button", { name: "Copy Ruby: Ruby" }).filter({ hasText: "Copied" }).waitFor();
    const copied = await page.evaluate(() => navigator.clipboard.readText());
    assert.equal(copied, await page.getByRole("region", { name: "Ruby: Ruby" }).textContent());
    await page.context().close();
    const plain = await world.visitor({ width: 1280, scripts: false });
    await plain.goto(`${world.url}/docs/signatures`);
    assert.equal(await plain.getByRole("button", { name: /^Copy / }).count(), 0);
    await plain.context().close();
  });
});

/** Below the bar that stays at the top. */
async function isOnScreen(place: Locator): Promise<boolean> {
  return place.evaluate((element) => {
    const { top, bottom } = element.getBoundingClientRect();
    return top >= (document.querySelector("header")?.getBoundingClientRect().bottom ?? 0) && bottom <= innerHeight;
  });
}
