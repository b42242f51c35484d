/** The mutants of the nightly run have their place in the source, and each names a suite. */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { it } from "node:test";
import { fileURLToPath } from "node:url";
import { MUTANTS } from "../mutants/list.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

it("each mutant changes one place in the source, and names a suite", () => {
  const stale = MUTANTS.filter(({ file, from, suite }) => {
    const places = readFileSync(`${ROOT}src/${file}`, "utf8").split(from).length - 1;
    return places !== 1 || !existsSync(`${ROOT}test/${suite}.test.ts`);
  });
  assert.deepEqual(stale, []);
});
