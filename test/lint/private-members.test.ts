/**
 * The service uses no private member of a package. The compiler refuses one that is declared private, `no-underscore-dangle`
 * one whose name begins so, and this test the cast that would declare either again.
 */
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** A cast to members that the type of the value does not have. */
const CAST = /\bas unknown as (?:Readonly<)?\{/g;

function castsIn(source: string): string[] {
  return source.match(CAST) ?? [];
}

describe("a private member of a package", () => {
  it("is declared again by no cast", () => {
    const found = globSync("src/**/*.{ts,tsx}", { cwd: ROOT }).filter(
      (file) => castsIn(readFileSync(join(ROOT, file), "utf8")).length > 0,
    );
    assert.deepEqual(found, []);
  });

  it("would be found", () => {
    assert.equal(castsIn("(database as unknown as { dialect: Dialect }).dialect").length, 1);
    assert.deepEqual(castsIn("found as unknown as SecurityEvent[]"), []);
  });
});
