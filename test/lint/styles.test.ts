/** The style sheet of the pages: every class in it is one that a page has. */
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** Classes that a page makes of parts: `tone-${tone}`. */
const MADE = /^tone-/;

function classesOf(styles: string): string[] {
  const bare = styles.replaceAll(/\/\*[^]*?\*\/|url\([^)]*\)/g, "");
  const selectors = [...bare.matchAll(/([^{}]+)\{/g)].map(([, selector]) => selector ?? "");
  return [
    ...new Set(selectors.flatMap((selector) => [...selector.matchAll(/\.([a-z][\w-]*)/g)].map(([, name]) => name!))),
  ];
}

/** The classes that are not a whole word of the source. */
function unusedIn(styles: string, source: string): string[] {
  const words = new Set(source.split(/[^\w-]+/));
  return classesOf(styles).filter((name) => !MADE.test(name) && !words.has(name));
}

describe("the style sheet", () => {
  it("has no class that no page has", () => {
    const files = globSync("src/{http,site,dev}/**/*.{ts,tsx,txt}", { cwd: ROOT });
    const source = files.map((file) => readFileSync(`${ROOT}${file}`, "utf8")).join("\n");
    const styles = readFileSync(`${ROOT}src/http/pages/styles.css`, "utf8");
    assert.deepEqual(unusedIn(styles, source), []);
  });

  it("is read as it is written: a class that is gone is found, one within other words is no use of it", () => {
    const styles = ".card > .gone, .list td:has(.flag) { color: red } /* .no { */ @media (width) { .brief { top: 0 } }";
    assert.deepEqual(unusedIn(styles, '<p class="card list">Gone</p> classes("flag") "briefly"'), ["gone", "brief"]);
  });
});
