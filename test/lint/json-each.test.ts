/**
 * What `json_each` is given is a parameter or a column with its table's name. A bare `value` inside it is its own column,
 * not that of the `json_each` around it: the statement runs, and finds nothing.
 */
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

function bareIn(text: string): string[] {
  return [...text.matchAll(/json_(?:each|tree)\(\s*([a-z]\w*)\s*[,)]/gi)].map(([found]) => found);
}

describe("json_each", () => {
  it("is given no bare column", () => {
    const files = globSync("src/**/*.{ts,tsx,sql}", { cwd: ROOT });
    assert.ok(files.length > 150);
    assert.deepEqual(
      files.flatMap((file) => bareIn(readFileSync(`${ROOT}${file}`, "utf8")).map((found) => `${file}: ${found}`)),
      [],
    );
  });

  it("is found where it is given one", () => {
    for (const text of ["json_each(value, '$.refs')", "json_each(minutes)", "JSON_TREE( value )"]) {
      assert.equal(bareIn(text).length, 1, text);
    }
    for (const text of ["json_each(j.value, '$.refs')", "json_each(${rows})", "json_each(h.minutes)"]) {
      assert.deepEqual(bareIn(text), [], text);
    }
  });
});
