/** Planted mistakes replace texts of the source: who moves one moves the plant. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { ROOT } from "../../src/dev/root.ts";
import { PLANTS, STORY_PLANTS } from "./plants.ts";

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
