/**
 * Every rule of the specification is numbered once and named by a test, and every number cited by a comment, a title or
 * a page exists. Tests name the rules that they prove in their titles: `it("… (HOOK-5)")`, `describe("… (PAY-7,
 * PAY-8)")`.
 */
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const SPECIFICATION = "src/docs/specification.md";
/** It contains the searched words itself. */
const THIS = "test/lint/rules.test.ts";

const read = (file: string): string => readFileSync(`${ROOT}${file}`, "utf8");

/** The numbers of the rules, in the order in which they are stated. */
const RULES = [...read(SPECIFICATION).matchAll(/^- \*\*([A-Z]+-\d+)\*\* \S/gm)].map(([, rule = ""]) => rule);
const GROUPS = [...new Set(RULES.map((rule) => rule.split("-")[0]!))];

const NUMBER = `(?:${GROUPS.join("|")})-\\d+`;
const CITED = new RegExp(`(?<![\\w-])${NUMBER}(?![\\w-])`, "g");
const NAMED = new RegExp(`\\((${NUMBER}(?:, ${NUMBER})*)\\)[^"'\`]*["'\`],`, "g");
const COMMENT = /^\s*(?:\/\/|\/\*|\*)/;

/** Numbers of a text that are no rule's. */
function unknownIn(text: string): string[] {
  return (text.match(CITED) ?? []).filter((rule) => !RULES.includes(rule));
}

/** The rules that the titles of a test file name. */
function namedIn(text: string): string[] {
  const code = text.split("\n").filter((line) => !COMMENT.test(line));
  return [...code.join("\n").matchAll(NAMED)].flatMap(([, list = ""]) => list.split(", "));
}

/** Texts outside the repository, which a newcomer cannot find. */
const OUTSIDE = [
  /§/,
  /\binterface\.md\b/,
  /\(interface[,;:)]/,
  /\bthe interface(?:'s| specification|,)/i,
  /\(issue(?:: ["'`]|\):)|\bissue \d/i,
  /\bcontract(?:-2|\.md|'s)\b|\b(?:the|this) contract\b/i,
];

/** The lines of a text that cite such a text. */
function outsideIn(text: string): string[] {
  return text.split("\n").filter((line) => OUTSIDE.some((pattern) => pattern.test(line)));
}

const FILES = globSync(["{src,test,.github,.ci}/**/*", "*.{md,ts,toml}"], { cwd: ROOT })
  .map((file) => file.replaceAll("\\", "/"))
  .filter((file) => /\.(?:tsx?|js|md|css|toml|yml|txt)$|^\.ci\/\w+$/.test(file) && !file.startsWith("node_modules/"));

describe("the rules of the specification", () => {
  it("are numbered once, and count up in each group", () => {
    assert.ok(RULES.length > 200 && GROUPS.length > 15);
    for (const group of GROUPS) {
      const numbers = RULES.filter((rule) => rule.startsWith(`${group}-`)).map((rule) => Number(rule.split("-")[1]));
      assert.deepEqual(
        numbers,
        [...new Set(numbers)].toSorted((a, b) => a - b),
        group,
      );
    }
  });

  it("are all that is cited", () => {
    assert.ok(FILES.length > 500 && FILES.includes("README.md") && FILES.includes("src/docs/decisions/README.md"));
    const unknown = FILES.filter((file) => file !== THIS).flatMap((file) =>
      unknownIn(read(file)).map((rule) => `${file}: ${rule}`),
    );
    assert.deepEqual(unknown, []);
  });

  it("are each named by the title of a test", () => {
    const tests = FILES.filter((file) => file.endsWith(".test.ts") && file !== THIS);
    const named = new Set(tests.flatMap((file) => namedIn(read(file))));
    assert.deepEqual(
      RULES.filter((rule) => !named.has(rule)),
      [],
    );
  });

  it("are cited in place of texts outside the repository", () => {
    const outside = FILES.filter((file) => file !== THIS).flatMap((file) =>
      outsideIn(read(file)).map((line) => `${file}: ${line.trim()}`),
    );
    assert.deepEqual(outside, []);
  });
});

describe("a citation", () => {
  it("of a rule that is not there is found", () => {
    assert.deepEqual(unknownIn("/** (PAY-1, PAY-999) */"), ["PAY-999"]);
    assert.deepEqual(unknownIn("X-PAY-999, PAY-999x, UTF-8, NET-15, SHA-256"), []);
  });

  it("names a rule in a title alone", () => {
    assert.deepEqual(namedIn('it("is so (PAY-1, PAY-2)", () => {'), ["PAY-1", "PAY-2"]);
    assert.deepEqual(namedIn("  ] as const)('is %s (PAY-8): %s', (a) => {"), ["PAY-8"]);
    assert.deepEqual(namedIn('/** As "(PAY-1)", it says. */\n  // it("(PAY-2)", () => {\nconst a = 1; // PAY-3'), []);
  });

  it("of a text outside is found in every form", () => {
    for (const line of [
      "/** (contract §5) */",
      "// Contract-2: so",
      "see interface.md",
      'describe("flows (interface)"',
      "the interface's defaults",
      "The contract says",
      "clicks (issue 5: 'once')",
    ]) {
      assert.deepEqual(outsideIn(line), [line]);
    }
    assert.deepEqual(outsideIn("interface Row {\nexpand first, contract later"), []);
  });
});
