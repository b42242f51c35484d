import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { after, before, describe, it } from "node:test";
import type { Page } from "playwright-core";
import { PLACES, withoutPage } from "../support/looked-at.ts";
import { seedProgram, type SeededProgram } from "./pages-seed.ts";
import { signInOwner, signInPartner, startPagesWorld, type PagesWorld } from "./pages-world.ts";

const AXE = createRequire(import.meta.url).resolve("axe-core/axe.min.js");
const OWNER = "owner@northwind.example";
const FRESH = "fresh@northwind.example";
/** A name of the maximum length without a space to break at. */
const LONG_NAME = "Donaudampfschifffahrtsgesellschaftskapitänsmützenabzeichen";

interface Finding {
  id: string;
  impact: string;
  nodes: { html: string; failureSummary: string }[];
}

interface WithAxe {
  axe: { run: (context: unknown, options: unknown) => Promise<{ violations: Finding[] }> };
}

let world: PagesWorld;
let seeded: SeededProgram;

before(async () => {
  world = await startPagesWorld();
  seeded = await seedProgram(world, OWNER);
  await world.createProgram({ name: LONG_NAME, owner_email: FRESH });
});
after(() => world.close());

/**
 * Serious and critical findings of axe-core, elements wider than the screen or out of place, duplicate ids, and broken
 * words.
 */
async function problemsOf(page: Page): Promise<string[]> {
  const wider = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
  const broken = await page.evaluate(brokenWords);
  const out = await page.evaluate(outOfPlace);
  const twice = await page.evaluate(() => {
    const ids = [...document.querySelectorAll("[id]")].map(({ id }) => id);
    return ids.filter((id, i) => ids.indexOf(id) !== i);
  });
  return [
    ...(wider > 0 ? [`wider than the screen by ${wider} px`] : []),
    ...out.map((text) => `runs out of its place: ${text}`),
    ...twice.map((id) => `two elements have the id ${id}`),
    ...broken.map((word) => `a line ends inside the word ${word}`),
    ...(await graveFindings(page, {})),
  ];
}

/** Serious and critical findings of axe-core. */
async function graveFindings(page: Page, options: { runOnly?: string[] }): Promise<string[]> {
  // The page's own policy forbids foreign script, so the checker is injected through the debugger.
  await page.evaluate(await readAxe());
  // The passed rules are not reported.
  const all = { resultTypes: ["violations"], selectors: false, ...options };
  const { violations } = await page.evaluate(
    (given) => (globalThis as unknown as WithAxe).axe.run(document, given),
    all,
  );
  const grave = violations.filter(({ impact }) => impact === "serious" || impact === "critical");
  return grave.flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) => `${id}: ${html}\n${failureSummary}`));
}

/** Dark mode changes only a page's colors. */
async function darkProblemsOf(page: Page): Promise<string[]> {
  await page.emulateMedia({ colorScheme: "dark" });
  const found = await graveFindings(page, { runOnly: ["color-contrast", "link-in-text-block"] });
  await page.emulateMedia({ colorScheme: "light" });
  return found.map((text) => `dark: ${text}`);
}

/** Runs in the page: words on two lines. Only addresses, names of fields and events, and texts longer than a word may be broken. */
function brokenWords(): string[] {
  const found: string[] = [];
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = texts.nextNode(); node; node = texts.nextNode()) {
    const place = node.parentElement;
    if (!place?.checkVisibility() || place.closest("pre, .copy, .visually-hidden")) continue;
    for (const { 0: word, index } of (node.nodeValue ?? "").matchAll(/[^\s\u2010-\u2014-]+/g)) {
      if (word.length > 24 || /[@/?_":]|\w\.\w/.test(word)) continue;
      const range = document.createRange();
      range.setStart(node, index);
      range.setEnd(node, index + word.length);
      const lines = new Set([...range.getClientRects()].map(({ top }) => Math.round(top)));
      if (lines.size > 1) found.push(word);
    }
  }
  return found;
}

/** Runs in the page: texts that are cut off, or cover their neighbors, except texts that scroll or end in an ellipsis. */
function outOfPlace(): string[] {
  const found = new Set<string>();
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = texts.nextNode(); node; node = texts.nextNode()) {
    const within = node.parentElement;
    if (
      !within?.checkVisibility() ||
      within.closest("pre, svg, select, textarea, .visually-hidden, .list thead, .account-who")
    )
      continue;
    const place = within.closest("td, th, dd, dt, li, .stat, .card, main");
    if (!place || !node.nodeValue?.trim()) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const text = range.getBoundingClientRect();
    const room = place.getBoundingClientRect();
    if (text.left < room.left - 1 || text.right > room.right + 1) found.add(node.nodeValue.trim());
  }
  return [...found];
}

let axe: string | undefined;

async function readAxe(): Promise<string> {
  const { readFile } = await import("node:fs/promises");
  return (axe ??= await readFile(AXE, "utf8"));
}

async function visit(page: Page, pages: Record<string, string>): Promise<void> {
  const said: string[] = [];
  const problems: Record<string, string[]> = {};
  page.on("console", (message) => {
    // The browser reports this for the missing page.
    if (message.type() === "error" && !message.text().includes("404")) said.push(message.text());
  });
  page.on("pageerror", (error) => said.push(String(error)));
  for (const [name, path] of Object.entries(pages)) {
    await page.goto(world.url + path);
    await page.locator("details").evaluateAll((all) => all.forEach((one) => one.setAttribute("open", "")));
    const found = [...(await problemsOf(page)), ...(await darkProblemsOf(page))];
    if (found.length > 0) problems[name] = found;
  }
  assert.deepEqual(problems, {});
  assert.deepEqual(said, [], "what the pages complained of");
}

it("has an address for every page that is to be looked at", () => {
  const { owner, partner } = seeded.pages;
  assert.deepEqual(withoutPage([...Object.values(owner), ...Object.values(partner)]), []);
});

for (const width of [1280, 360]) {
  describe(`axe-core, ${width} px, light and dark (PAGE-1)`, () => {
    it("finds nothing serious on the owner's pages", async () => {
      const page = await world.visitor({ width });
      await signInOwner(world, page, OWNER);
      await visit(page, seeded.pages.owner);
      await page.context().close();
    });

    it("finds nothing serious on the pages of a program that has nothing yet", async () => {
      const page = await world.visitor({ width });
      await signInOwner(world, page, FRESH);
      await visit(page, Object.fromEntries([...PLACES, "/switch"].map((place) => [place, place])));
      await page.context().close();
    });

    it("finds nothing serious on the partner's pages, and where one signs in", async () => {
      const page = await world.visitor({ width });
      await visit(page, { "sign in": "/sign-in", "use a link": `/sign-in?token=${"A".repeat(43)}` });
      await page.goto(`${world.url}/sign-in`);
      await page.getByLabel("E-mail address").fill("nonsense");
      await page.getByRole("button", { name: "E-mail me a link" }).click();
      assert.deepEqual(await problemsOf(page), []);
      await signInPartner(world, page, seeded.partner_email);
      await visit(page, seeded.pages.partner);
      await page.context().close();
    });
  });
}

describe("an import", () => {
  for (const width of [1280, 360]) {
    it(`is accessible in its preview and at its end, ${width} px`, async () => {
      const page = await world.visitor({ width });
      await signInOwner(world, page, OWNER);
      await page.goto(`${world.url}/dashboard/partners/import`);
      await page.getByLabel("The file is from").selectOption("Post Affiliate Pro");
      await page.getByLabel("Or paste it here").fill(`email,code,clicks\na${width}@x.example,a${width},7\nbroken,x,\n`);
      await page.getByRole("button", { name: "Preview" }).click();
      await page.getByText("columns matched").click();
      assert.deepEqual(await problemsOf(page), []);
      await page.getByRole("button", { name: "Import 1 line" }).click();
      await page.getByText('data-param="a_aid|ref"').waitFor();
      assert.deepEqual(await problemsOf(page), []);
      await page.context().close();
    });
  }
});

describe("the list of shortcuts", () => {
  for (const [width, dark] of [
    [1280, false],
    [1280, true],
    [360, false],
    [360, true],
  ] as const) {
    it(`is accessible, ${dark ? "dark" : "light"}, ${width} px`, async () => {
      const page = await world.visitor({ width, dark });
      await signInOwner(world, page, OWNER);
      await page.keyboard.press("?");
      await page.getByRole("dialog", { name: "Keyboard shortcuts" }).waitFor();
      assert.deepEqual(await problemsOf(page), []);
      await page.context().close();
    });
  }
});

describe("a rate that is applied from an earlier day", () => {
  for (const width of [1280, 360]) {
    it(`is accessible in its preview, and typed as before after Back, ${width} px`, async () => {
      const page = await world.visitor({ width });
      await signInOwner(world, page, OWNER);
      await page.goto(`${world.url}/dashboard/settings/commissions`);
      const day = new Date(Date.now() - 9 * 86_400_000).toISOString().slice(0, 10);
      await page.getByLabel("Commission rate").fill("27.5");
      await page.getByLabel("Apply from").fill(day);
      await page.getByRole("button", { name: "Save", exact: true }).first().click();
      await page.getByText("Nothing has changed yet.").waitFor();
      assert.deepEqual(await problemsOf(page), []);
      await page.getByRole("button", { name: "Back" }).click();
      assert.equal(await page.getByLabel("Apply from").inputValue(), day);
      assert.equal(await page.getByLabel("Commission rate").inputValue(), "27.5");
      assert.deepEqual(await problemsOf(page), []);
      await page.context().close();
    });
  }
});

describe("flags", () => {
  for (const width of [1280, 360]) {
    it(`mark their row from top to bottom, ${width} px`, async () => {
      const page = await world.visitor({ width });
      await signInOwner(world, page, OWNER);
      await page.goto(`${world.url}/dashboard/commissions?flagged=true`);
      const bars = await page.locator("tbody tr").evaluateAll((rows) =>
        rows.map((row) => {
          const marked = [row, ...row.children].filter((element) => getComputedStyle(element).boxShadow !== "none");
          return marked.map((element) => element.getBoundingClientRect().height / row.getBoundingClientRect().height);
        }),
      );
      assert.deepEqual(bars, [[1], [1]]);
      await page.context().close();
    });
  }
});

it("a list on a phone has its rows' names below each other, and no room for boxes that it lacks (PAGE-1)", async () => {
  const page = await world.visitor({ width: 360 });
  await signInOwner(world, page, OWNER);
  const starts = async (list: string) => {
    await page.goto(`${world.url}/dashboard/${list}`);
    const table = (await page.locator("main table").boundingBox())!;
    const lefts = await page
      .locator("tbody .at-lead")
      .evaluateAll((all) => all.map((one) => Math.round(one.getBoundingClientRect().left)));
    return [...new Set(lefts)].map((left) => left - Math.round(table.x));
  };
  const [[boxed, ...others], [boxless], [approved]] = [
    await starts("commissions"),
    await starts("partners"),
    await starts("commissions?status=approved"),
  ];
  assert.deepEqual([others, boxed! > boxless!, approved], [[], true, boxless]);
  await page.context().close();
});

describe("the checker itself", () => {
  it("finds a planted mistake, a broken word, a text out of its place, an id twice, and a page that is too wide", async () => {
    const page = await world.visitor({ width: 360 });
    await page.goto(`${world.url}/sign-in`);
    assert.deepEqual(await problemsOf(page), []);
    await page.evaluate(() => {
      const main = document.querySelector("main");
      main?.insertAdjacentHTML("beforeend", "<p>approved</p><img src='data:,'><pre>" + "x".repeat(200));
      main?.insertAdjacentHTML("beforeend", "<ul><li id='main'><span class='money'>9,000.00 USD");
      // The page's own policy forbids the style of a tag.
      for (const planted of main?.querySelectorAll<HTMLElement>("p:has(+ img), li") ?? []) planted.style.width = "1em";
    });
    const found = await problemsOf(page);
    assert.match(found[0] ?? "", /^wider than the screen by \d+ px$/);
    assert.deepEqual(found.slice(1, 4), [
      "runs out of its place: 9,000.00 USD",
      "two elements have the id main",
      "a line ends inside the word approved",
    ]);
    assert.match(found[4] ?? "", /^image-alt: /);
    await page.context().close();
  });
});

describe("forms with mistakes", () => {
  it("are accessible too, and link each mistake to its field", async () => {
    const page = await world.visitor();
    await signInOwner(world, page, OWNER);
    await page.goto(`${world.url}/dashboard/partners/new`);
    await page.getByLabel("Slug").fill("not a slug");
    await page.getByRole("button", { name: "Add partner" }).click();
    assert.deepEqual(await problemsOf(page), []);
    await page.getByRole("alert").getByRole("link").first().click();
    assert.equal(await page.evaluate(() => document.activeElement?.id), "f-email");
    await page.context().close();
  });
});
