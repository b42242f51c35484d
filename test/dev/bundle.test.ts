/** The deployed bundle stays small: a Worker's size is paid at every cold start. */
import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { gzipSync } from "node:zlib";
import { runScript } from "./process.ts";

/** Bytes of the Worker's module at the last release, gzipped. Lowered with a release; raised only with the owner's reason in the changelog. */
const RELEASED = 516_100;
/** The accepted growth since the last release. */
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

  /** Every module with bytes in the bundle. */
  async function sources(): Promise<string[]> {
    const { outputs } = JSON.parse(await readFile(join(folder, "meta.json"), "utf8")) as {
      outputs: Record<string, { inputs: Record<string, { bytesInOutput: number }> }>;
    };
    const inputs = Object.values(outputs).flatMap(({ inputs: of }) => Object.entries(of));
    return inputs.filter(([, { bytesInOutput }]) => bytesInOutput > 0).map(([path]) => path);
  }

  it("fits its budget", async () => {
    const modules = (await readdir(folder)).filter((name) => /\.(js|txt)$/.test(name));
    const texts = await Promise.all(modules.map((name) => readFile(join(folder, name))));
    const size = texts.reduce((sum, text) => sum + gzipSync(text).length, 0);
    assert.ok(size <= RELEASED + TOLERATED, `${size} bytes gzipped, ${size - RELEASED} more than at the last release`);
  });

  it("holds one language of zod's messages: the others come with `import { z }`, not with `import * as z`", async () => {
    const languages = (await sources()).filter((path) => path.includes("zod/v4/locales"));
    assert.deepEqual(
      languages.map((path) => path.split("/").at(-1)),
      ["en.js"],
    );
  });

  it("holds nothing of the static files: no documentation, no OpenAPI document, no style sheet", async () => {
    const own = (await sources()).filter((path) => /(?:^|\/)src\//.test(path) && !path.includes("node_modules"));
    assert.ok(own.length > 200);
    const ofSite = /src\/(?:site|docs)\/|http\/openapi\/(?:document|examples|example-states|field-texts)|\.css$/;
    assert.deepEqual(
      own.filter((path) => ofSite.test(path)),
      [],
    );
  });
});
