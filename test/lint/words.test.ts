/**
 * The words of the project: plain technical English in code, comments, messages, pages and guides, and one meaning for
 * each name. Banned words are in lists, each entry with its replacement; `EXCEPTIONS` are the places with a justified
 * use.
 */
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { basename } from "node:path";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { BANNED } from "../support/banned-words.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

const FILES = ["README.md", "{src,test,.github,.ci}/**/*.{ts,tsx,js,css,md,txt}", ".ci/run", "*.ts", "wrangler.toml"];

/** Written by a tool, or a list of the banned words itself. */
const LEFT_OUT = ["src/worker-configuration.d.ts", "test/lint/words.test.ts", "test/support/banned-words.ts"];

/** Ambiguous names in src, by the replacement for each. */
const OVERLOADED: Record<string, RegExp> = {
  "what the function returns or checks (parse, check, decide, verify)": /\bjudge(?:[A-Z]\w*)?\s*[(<]/,
  "the thing recorded (`Record` is TypeScript's)": /\b(?:type|interface|class) Record\b/,
  "what is sharded: a shard is a database": /\bSHARDS\b/,
  "`open…` for a context, `find…` for a row": /\bfindProgram(?:ById)?\(/,
  "the thing itself, as in TypeScript's field":
    /\b(?:type|interface|class) (?:\w+Story|Data|Info|Item|Thing|Manager|Helper|Utils)\b/,
};

/** File names that do not describe the content. */
const EMPTY_NAMES = /^(?:story|names|stamps|unfinished|utils?|helpers?|misc|common|shared|manager|stuff|tools)\.tsx?$/;

/** Justified uses of a banned word: file, text, reason. */
const EXCEPTIONS: { file: RegExp; text: string; why: string }[] = [
  { file: /^src\/dev\/test\.ts$/, text: 'count("cancelled")', why: "the word of Node's test runner" },
  { file: /^src\/domain\/import-cell\.ts$/, text: '"cancelled"', why: "a state in files of other products" },
  { file: /^test\/(?:unit|integration)\/import/, text: "cancelled", why: "the same" },
];

function faultsIn(file: string, text: string): string[] {
  return text.split("\n").flatMap((line, i) => {
    const left = EXCEPTIONS.filter((exception) => exception.file.test(file)).reduce(
      (rest, exception) => rest.replaceAll(exception.text, ""),
      line,
    );
    return Object.entries(BANNED).flatMap(([instead, pattern]) => {
      const found = pattern.exec(left);
      return found ? [`${file}:${i + 1}: "${found[0]}": write: ${instead}`] : [];
    });
  });
}

function overloadsIn(file: string, text: string): string[] {
  return text.split("\n").flatMap((line, i) =>
    Object.entries(OVERLOADED).flatMap(([instead, pattern]) => {
      const found = pattern.exec(line);
      return found ? [`${file}:${i + 1}: "${found[0]}": name it for ${instead}`] : [];
    }),
  );
}

const files = globSync(FILES, { cwd: ROOT })
  .map((file) => file.replaceAll("\\", "/"))
  .filter((file) => !LEFT_OUT.includes(file));

describe("the words of the project", () => {
  it("are plain technical English", () => {
    assert.ok(files.length > 500);
    const faults = files.flatMap((file) => faultsIn(file, readFileSync(`${ROOT}${file}`, "utf8")));
    assert.deepEqual(faults, []);
  });

  it("are found where they are not", () => {
    for (const text of [
      "// What the vendor tells us.",
      'it("is told once", () => {});',
      "const told = 1;",
      "/** Where the link stands. */",
      "<p>What became of it</p>",
      "keeps it for ever",
      "the partner whom it names",
      "never approved by itself",
      "its colour",
    ]) {
      assert.equal(faultsIn("x.ts", text).length, 1, text);
    }
    for (const text of [
      "the stand-in for D1",
      "`*` stands for all",
      "for every row",
      "standard",
      "understands",
      "teller",
    ]) {
      assert.deepEqual(faultsIn("x.ts", text), [], text);
    }
  });

  it("name one thing each in src", () => {
    const src = files.filter((file) => /^src\/.*\.tsx?$/.test(file));
    assert.ok(src.length > 250);
    const faults = src.flatMap((file) => [
      ...(EMPTY_NAMES.test(basename(file)) ? [`${file}: name it for what is in it`] : []),
      ...overloadsIn(file, readFileSync(`${ROOT}${file}`, "utf8")),
    ]);
    assert.deepEqual(faults, []);
    for (const text of [
      "function judge(x",
      "judgeLines(a",
      "type Record = 1",
      "const SHARDS = 4",
      "findProgram(ctx)",
    ]) {
      assert.equal(overloadsIn("x.ts", text).length, 1, text);
    }
    assert.deepEqual(overloadsIn("x.ts", "const rows: Record<string, number> = {}"), []);
  });

  it("have no exception that is not needed", () => {
    for (const { file, text, why } of EXCEPTIONS) {
      const found = files.filter((name) => file.test(name) && readFileSync(`${ROOT}${name}`, "utf8").includes(text));
      assert.ok(found.length > 0 && why !== "", `${file} ${text}`);
    }
  });
});
