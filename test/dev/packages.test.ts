/** The dependencies of the tools around the service, as `package-lock.json` pins them. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { ROOT } from "./process.ts";

const read = async <T>(name: string) => JSON.parse(await readFile(join(ROOT, name), "utf8")) as T;

describe("the packages of the tools", () => {
  it("have one esbuild, the pinned one: no older one comes along with another tool", async () => {
    const { devDependencies } = await read<{ devDependencies: Record<string, string> }>("package.json");
    const { packages } = await read<{ packages: Record<string, { version: string }> }>("package-lock.json");
    const found = Object.entries(packages).filter(([path]) => /(^|\/)node_modules\/esbuild$/.test(path));
    assert.deepEqual(
      found.map(([path, { version }]) => [path, version]),
      [["node_modules/esbuild", devDependencies["esbuild"]]],
    );
  });
});
