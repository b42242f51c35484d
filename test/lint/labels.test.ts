/** The labels of pages are nouns and verbs, not clauses (the rules of words in `words.test.ts` apply as well). */
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** Labels of fields and columns, titles and buttons, as attributes, properties or the text of an element. */
const LABELS = [
  /\b(?:label|submit|title|heading|cancel)(?:=|: ?)"([^"]+)"/g,
  /<(?:h[1-3]|summary|legend|button|dt)(?: [^>]*)?>\s*([A-Z][^<{]*?)\s*</g,
  /\[\s*"([^"]+)", <When/g,
];

/** A clause in place of a noun, and participles for dates. */
const CLAUSE = /\b(?:what|who|whose|which|those|such|alone|becomes?|nobody|none of)\b|\bthat (?:is|are|was|were)\b/i;
const PARTICIPLE = /^(?:made|dated|given|proved|ends(?: on)?)$/i;

/** Questions, and sentences to agree with. */
const EXCEPTIONS = ["Who", "What", "See why, and try again"];

function labelsIn(source: string): string[] {
  return LABELS.flatMap((pattern) => [...source.matchAll(pattern)].map(([, label]) => label!.replaceAll(/\s+/g, " ")));
}

function isFaulty(label: string): boolean {
  return !EXCEPTIONS.includes(label) && !label.endsWith("?") && (CLAUSE.test(label) || PARTICIPLE.test(label));
}

describe("the labels of pages", () => {
  it("are nouns and verbs", () => {
    const files = globSync("src/http/pages/**/*.tsx", { cwd: ROOT });
    const labels = files.flatMap((file) => labelsIn(readFileSync(`${ROOT}${file}`, "utf8")));
    assert.ok(labels.length > 500);
    assert.deepEqual([...new Set(labels.filter(isFaulty))], []);
  });

  it("are found in each form", () => {
    const source = `<Field label="What is left" /> { label: "Made" } <h2>\n  Those that wait\n</h2> ["Dated", <When at={at} />]`;
    assert.deepEqual(labelsIn(source).filter(isFaulty), ["What is left", "Made", "Those that wait", "Dated"]);
  });
});
