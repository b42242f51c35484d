/** Each mistake of `test/mutants/list.ts` can be put into the source; the nightly run shows that its suite finds it. */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { it } from "node:test";
import { ROOT } from "../../src/dev/root.ts";
import { MUTANTS } from "../mutants/list.ts";

it("each mistake is of an expression that its file has once, and of a suite that exists", () => {
  assert.ok(MUTANTS.length >= 60);
  const wrong = MUTANTS.filter(({ file, from, suite }) => {
    const parts = readFileSync(join(ROOT, "src", file), "utf8").split(from);
    return parts.length !== 2 || !existsSync(join(ROOT, "test", `${suite}.test.ts`));
  });
  assert.deepEqual(wrong, []);
});
