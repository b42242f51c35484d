/** The commands that rotate ENCRYPTION_KEY, as the guide to operating has them, run by a shell (ACCESS-7). */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { ROOT } from "./process.ts";

interface Bulk {
  ENCRYPTION_KEY?: string;
  ENCRYPTION_KEY_PREVIOUS: string;
}

describe("the rotation of ENCRYPTION_KEY (ACCESS-7)", () => {
  let folder: string;
  let commands: string;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "affiliate-rotation-"));
    const guide = await readFile(join(ROOT, "src/docs/operate.md"), "utf8");
    commands = /```sh\n(OLD=[\s\S]*?)```/.exec(guide)?.[1] ?? "";
    const stubs = { npx: `cat >> "${folder}/set"; echo >> "${folder}/set"`, sleep: ":", curl: `echo '{"left":0}'` };
    for (const [name, script] of Object.entries(stubs)) {
      await writeFile(join(folder, name), `#!/bin/sh\n${script}\n`);
      await chmod(join(folder, name), 0o755);
    }
  });
  after(() => rm(folder, { recursive: true, force: true }));

  for (const previous of [[], ["second"], ["second", "first"]]) {
    it(`takes no key away where ${previous.length} are there`, async () => {
      await rm(join(folder, "set"), { force: true });
      const filled = commands
        .replace(/^OLD=….*$/m, "OLD=present")
        .replace(/^PREVIOUS=….*$/m, `PREVIOUS=${previous.join(",")}`);
      const env = { ...process.env, PATH: `${folder}:${process.env["PATH"]}`, BASE_URL: "x", ADMIN_TOKEN: "x" };
      const { status, stderr } = spawnSync("sh", ["-eu", "-c", filled], { env, encoding: "utf8" });
      assert.equal(status, 0, stderr);
      const [first, last] = (await readFile(join(folder, "set"), "utf8"))
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line) as Bulk);
      const made = last!.ENCRYPTION_KEY!;
      assert.equal(Buffer.from(made, "base64").length, 32);
      // First the new key only opens, beside all earlier keys; the present one still seals.
      assert.deepEqual(first, { ENCRYPTION_KEY_PREVIOUS: [made, ...previous].join(",") });
      assert.equal(last!.ENCRYPTION_KEY_PREVIOUS, ["present", ...previous].join(","));
    });
  }
});
