/** Planted mistakes replace texts of the source: who moves one moves the plant. And some of them are found. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { promisify } from "node:util";
import { ROOT } from "../../src/dev/root.ts";
import { PLANTS, STORY_PLANTS } from "./plants.ts";

/** Plants one mistake, and fails if the first seeds do not show it. */
async function isFound(script: string, plants: readonly { name: string }[], name: string, size: string[]) {
  assert.equal(plants.filter((one) => one.name.includes(name)).length, 1);
  const args = [join(ROOT, "test", "simulate", script), `--plants=${name}`, ...size];
  const { stdout } = await promisify(execFile)(process.execPath, args).catch((error: { stdout: string }) => error);
  assert.match(stdout, /^1 passed, 0 failed$/m, stdout);
}

describe("the planted mistakes", () => {
  for (const { name, patches } of [...PLANTS, ...STORY_PLANTS]) {
    it(`have their place in the source: ${name}`, () => {
      for (const { file, find, put } of patches) {
        assert.equal(readFileSync(join(ROOT, file), "utf8").split(find).length - 1, 1, `${file}: ${find}`);
        assert.notEqual(find, put);
      }
    });
  }
});

describe("a planted mistake is found", () => {
  for (const name of ["commit: only the first message of a change is sent", "settle: tax is refunded"]) {
    it(`by the simulation: ${name}`, () => isFound("simulate.ts", PLANTS, name, ["--steps=100", "--for=60"]));
  }

  it("by a story: provider B: the tax of a refund", () =>
    isFound("story.ts", STORY_PLANTS, "the tax of a refund", ["--customers=20", "--months=6", "--seeds=5"]));
});
