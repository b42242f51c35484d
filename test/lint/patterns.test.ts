/**
 * The Worker does not contain regular expressions whose forms take time that grows with the square of the text, or
 * worse. Other forms are measured (test/nightly/linear-time.test.ts).
 */
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

const LITERAL =
  /(?<=[(,=:?&|!\s[])\/(?![/*\s])((?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n[])+)\/([dgimsuvy]*)(?=[\s.,;)\]:])/g;

/** One character of a pattern: a class, an escape or itself; and a repetition without an end. */
const ONE = String.raw`(?:\\p\{\w+\}|\\.|\[(?:\\.|[^\]\\])*\]|[^\\[\](){}|*+?^$])`;
const MANY = String.raw`(?:[*+]|\{\d+,\})\??`;

const BEGINS = new RegExp(`^(?:\\((?:\\?:)?)?${ONE}${MANY}(.*)$`, "s");
const NESTED = new RegExp(`\\((?:\\?:|\\?<\\w+>)?${ONE}${MANY}\\)${MANY}`);
const TWICE = new RegExp(`(${ONE})${MANY}(${ONE}?)[?*]?\\1${MANY}`, "g");

/** The reason why a pattern may take longer than linear time; null if it has no known form. */
function faultOf(source: string, flags: string): string | null {
  const rest = flags.includes("y") ? undefined : BEGINS.exec(source)?.[1];
  if (rest !== undefined && !takesNothing(rest.replace(/^\)/, ""), flags)) {
    return "is tried again at each character of the repetition that it begins with";
  }
  if (NESTED.test(source)) return "repeats a repetition";
  for (const [, class_ = "", between = ""] of source.matchAll(TWICE)) {
    const sample = between.replace(/^\\(?=\W)/, "");
    if (sample.length !== 1 || new RegExp(`^${class_}$`, flags).test(sample)) return `repeats ${class_} twice`;
  }
  return null;
}

/** A part that can match the empty text never fails, so it does not backtrack. */
function takesNothing(rest: string, flags: string): boolean {
  return new RegExp(`^(?:${rest})$`, flags).test("") && !rest.endsWith("$");
}

/** Between the alternatives of a whole pattern. */
const ALTERNATIVES = /\|(?![^(]*\)|[^[]*\])/;

function faultsIn(text: string): string[] {
  return [...text.matchAll(LITERAL)].flatMap(([, source = "", flags = ""]) =>
    source.split(ALTERNATIVES).flatMap((each) => {
      const fault = faultOf(each, flags);
      return fault === null ? [] : [`/${source}/ ${fault}`];
    }),
  );
}

describe("the patterns of the Worker", () => {
  it("have no form that takes longer than linear time", () => {
    const files = globSync("src/**/*.{ts,tsx}", { cwd: ROOT }).filter(
      (file) => !/^src[\\/](dev|client)[\\/]/.test(file),
    );
    assert.ok(files.length > 150);
    assert.deepEqual(
      files.flatMap((file) => faultsIn(readFileSync(`${ROOT}${file}`, "utf8"))),
      [],
    );
  });

  it("are found where they have one", () => {
    for (const text of [
      "text.replace(/\\s+$/, '')",
      "text.replace(/^\\s+|\\s+$/g, '')",
      "const A = /[^\\s@]+@[a-z]+/g;",
      "const A = /([^@]+)@/;",
      "const A = /^(a+)+$/;",
      "const A = /^(?:\\d*)*x/;",
      "const A = /^[0-9a-f:.]*:[0-9a-f:.]*$/i;",
      "const A = /^\\d+\\d+$/;",
    ]) {
      assert.equal(faultsIn(text).length, 1, text);
    }
    for (const text of [
      "text.split(/[\\s,;|]+/)",
      "const A = /^[^\\s@]+@[^\\s@]+$/u;",
      "const A = /^[a-z]+:\\/\\/[^/]+\\/click/;",
      "const A = /[^A-Z]+([A-Z]?)/g;",
      "const A = /[^\\r\\n]*(?:\\r\\n?|\\n)?/y;",
      "const A = /^(?:\\.[^.]+)+$/;",
    ]) {
      assert.deepEqual(faultsIn(text), [], text);
    }
  });
});
