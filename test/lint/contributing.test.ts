/** CONTRIBUTING is true: each file, name, rule and script that it names exists, and it stays short. */
import assert from "node:assert/strict";
import { existsSync, globSync, readFileSync } from "node:fs";
import { basename } from "node:path";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const read = (file: string) => readFileSync(`${ROOT}${file}`, "utf8");
const files = globSync(["src/**/*.{ts,tsx}", "test/**/*.{ts,tsx}", "oxlint.config.ts", "vitest.config.ts"], {
  cwd: ROOT,
});
const sources = files.filter((file) => basename(file) !== "contributing.test.ts").map(read);
const names = new Set(files.map((file) => basename(file)));
const { scripts } = JSON.parse(read("package.json")) as { scripts: Record<string, string> };

/** The names in a text's code, and its rules, that do not exist. */
function missingIn(text: string): string[] {
  const rules = [...text.matchAll(/\b[A-Z]+-\d+\b/g)].map(([rule]) => rule);
  const codes = [...text.matchAll(/`([^`]+)`/g)].map(([, code = ""]) => code.replace(/^node /, ""));
  return [
    ...rules.filter((rule) => !read("src/docs/specification.md").includes(`**${rule}**`)),
    ...codes.filter((code) => !isThere(code)),
  ];
}

function isThere(code: string): boolean {
  const script = /^(?:npm run )?([a-z]+:[a-z]+)\b/.exec(code)?.[1];
  if (script !== undefined) return scripts[script] !== undefined;
  // A pattern, an address of a page, a command: these do not contain paths.
  if (/[<*\s]|^\/|^''$/.test(code)) return true;
  if (code.includes("/")) return existsSync(`${ROOT}${code}`) || existsSync(`${ROOT}src/${code}`);
  if (/\.tsx?$/.test(code)) return names.has(code);
  const word = /^\w+/.exec(code.replace(/^\./, ""))?.[0] ?? code;
  return sources.some((source) => new RegExp(String.raw`\b${word}\b`).test(source));
}

describe("CONTRIBUTING", () => {
  const text = read(".github/CONTRIBUTING.md");

  it("names only what is there", () => {
    assert.deepEqual(missingIn(text), []);
    const planted =
      "`src/core/none.ts` `none.test.ts` `NO_SUCH_NAME` `build:nothing` `npm run db:nothing` NONE-1 `test/support/*.ts`";
    assert.deepEqual(missingIn(planted), [
      "NONE-1",
      ...["src/core/none.ts", "none.test.ts", "NO_SUCH_NAME", "build:nothing", "npm run db:nothing"],
    ]);
  });

  it("has at most 80 lines", () => {
    assert.ok(text.trimEnd().split("\n").length <= 80);
  });
});
