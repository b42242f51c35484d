/** A short share of `npm run story`, in a process of its own because it replaces clock and chance. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { join } from "node:path";
import { describe, it } from "node:test";
import { promisify } from "node:util";
import { ROOT } from "../../src/dev/root.ts";

describe("a story of customers over months", () => {
  it("ends in what a model computes from the money that moved (LAW-2, IN-15)", async () => {
    const script = join(ROOT, "test", "simulate", "story.ts");
    const run = promisify(execFile)(process.execPath, [script, "--seed=1", "--customers=20", "--months=6"]);
    const { stdout } = await run.catch((error: { stdout: string }) => error);
    assert.match(stdout, /^1 passed, 0 failed$/m, stdout);
  });
});
