/** A short share of `npm run simulate`, in a process of its own because it replaces clock and chance. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { join } from "node:path";
import { describe, it } from "node:test";
import { promisify } from "node:util";
import { ROOT } from "../../src/dev/root.ts";

const SEEDS = 6;

describe("the simulation", () => {
  it("shows what the model says, whatever fails, in the first seeds", async () => {
    const script = join(ROOT, "test", "simulate", "simulate.ts");
    const run = promisify(execFile)(process.execPath, [script, "--seed=1", `--seeds=${SEEDS}`, "--steps=150"]);
    const { stdout } = await run.catch((error: { stdout: string }) => error);
    assert.match(stdout, new RegExp(`^${SEEDS} passed, 0 failed$`, "m"), stdout);
  });
});
