/** Forms of SQL that mean something else than they seem to. */
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
