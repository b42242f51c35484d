/** What is deployed stays small: a Worker's size is paid at every cold start. */
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { gzipSync } from "node:zlib";
import { runScript } from "./process.ts";

/** Bytes of the Worker's module at the last release, gzipped. Lowered with a release; raised only with the owner's reason in the changelog. */
const RELEASED = 501_705;
/** So much a change may add unasked. */
const TOLERATED = 2 * 1024;

describe("the bundle", () => {
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "affiliate-bundle-"));
    const build = runScript("src/dev/deploy.ts", {}, [
      "--dry-run",
      "--outdir",
      folder,
      `--metafile=${folder}/meta.json`,
    ]);
    assert.equal(await build.ended, 0, build.printed.err);
  });
  after(() => rm(folder, { recursive: true, force: true }));

  it("fits its budget", async () => {
    const size = gzipSync(await readFile(join(folder, "index.js"))).length;
    assert.ok(size <= RELEASED + TOLERATED, `${size} bytes gzipped, ${size - RELEASED} more than at the last release`);
  });

  it("holds one language of zod's messages: the others come with `import { z }`, not with `import * as z`", async () => {
    const meta = JSON.parse(await readFile(join(folder, "meta.json"), "utf8")) as {
      outputs: Record<string, { inputs: Record<string, { bytesInOutput: number }> }>;
    };
    const inputs = Object.values(meta.outputs).flatMap(({ inputs: of }) => Object.entries(of));
    const languages = inputs.filter(([path, { bytesInOutput }]) => /zod\/v4\/locales/.test(path) && bytesInOutput > 0);
    assert.deepEqual(
      languages.map(([path]) => path.split("/").at(-1)),
      ["en.js"],
    );
  });
});
