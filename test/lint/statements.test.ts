/** Forms of SQL with a misleading meaning, and statements whose size is not in their text. */
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** A column of `json_each` without its table, given to `json_each`: it is the column of the inner one, which is null. */
const OWN_COLUMN = /\bjson_(?:each|tree)\(\s*(?:key|value|type|atom|id|parent|fullkey|path)\b/i;

/** The lines that have it. */
function wrongIn(text: string): string[] {
  return text.split("\n").filter((line) => OWN_COLUMN.test(line));
}

describe("a table-valued function", () => {
  it("is given no column that is its own", () => {
    const files = globSync(["src/**/*.{ts,tsx}", "migrations/*.sql"], { cwd: ROOT });
    assert.ok(files.length > 150);
    const found = files.flatMap((file) =>
      wrongIn(readFileSync(`${ROOT}${file}`, "utf8")).map((line) => `${file}: ${line.trim()}`),
    );
    assert.deepEqual(found, []);
  });

  it("is found where it is", () => {
    for (const line of ["select 1 from json_each(value, '$.stronger')", "from JSON_TREE( value )"]) {
      assert.deepEqual(wrongIn(line), [line]);
    }
    for (const line of ["from json_each(f.value, '$.ids')", "from json_each(?)", "json_each(h.minutes)"]) {
      assert.deepEqual(wrongIn(line), []);
    }
  });
});

/**
 * A statement with as many parts as a list has: `src/db/parts.ts` alone makes one, from the largest possible list. Its
 * tests detect other such statements, a list among the values of a text or several rows of an insert, when they are
 * sent.
 */
const OF_PARTS = [
  /\bsql\.join\(/,
  // Each of a list of values is a parameter, unless it is a select.
  /\b(?:notI|i)nArray\((?!\s*[\w.]+,\s*(?:sql`|\w*\.?select))/,
  /\b(?:and|or|union|unionAll)\(\s*\.\.\./,
  // A length that the list has by chance.
  /\b(?:joined|unionOf)\(\s*(\w+)\b[\s\S]{0,60}?\b\1\.length/,
];

function ofPartsIn(text: string): string[] {
  return OF_PARTS.flatMap((pattern) => new RegExp(pattern, "g")[Symbol.match](text) ?? []);
}

describe("a statement of as many parts as a list has", () => {
  it("says how many they are at most", () => {
    const files = globSync("src/**/*.{ts,tsx}", { cwd: ROOT }).filter(
      (file) => !/^src[\\/](?:dev|tracker)|parts\.ts$/.test(file),
    );
    assert.ok(files.length > 150);
    const found = files.flatMap((file) =>
      ofPartsIn(readFileSync(`${ROOT}${file}`, "utf8")).map((part) => `${file}: ${part}`),
    );
    assert.deepEqual(found, []);
  });

  it("is found where it does not", () => {
    for (const text of [
      "sql.join(rows, sql`, `)",
      "inArray(partners.id, ids)",
      "notInArray(\n  partners.id,\n  ids)",
      "and(...conditions)",
      "joined(rows, sql`, `, rows.length)",
      "unionOf(rows, rows.length)",
    ]) {
      assert.equal(ofPartsIn(text).length, 1, text);
    }
    for (const text of [
      "inArray(\n  partnerCodes.id,\n  sql`(select 1)`)",
      'joined(counts, sql` + `, "different")',
      "and(isNull(a), b)",
    ]) {
      assert.deepEqual(ofPartsIn(text), [], text);
    }
  });
});
