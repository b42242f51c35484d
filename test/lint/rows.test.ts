/** Rows of raw SQL get their types in one place, `shaped` of `src/db/rows.ts`, which tests hold against the rows. */
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

describe("rows of raw SQL", () => {
  it("get their types in one place", () => {
    const files = globSync("src/**/*.{ts,tsx}", { cwd: ROOT })
      .map((file) => file.replaceAll("\\", "/"))
      .filter((file) => !file.startsWith("src/dev/"));
    assert.ok(files.length > 200);
    const typed = files.filter((file) => /\.all</.test(readFileSync(`${ROOT}${file}`, "utf8")));
    assert.deepEqual(typed, ["src/db/rows.ts"]);
  });
});
