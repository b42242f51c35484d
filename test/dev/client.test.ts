/** The typed client in an owner's project: hono and the served file, compiled as strictly as a project may. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { compileSite } from "../../src/dev/build-site.ts";
import { ROOT } from "./process.ts";

describe("the typed client in a project of its own", () => {
  let folder: string;
  let example: string;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "affiliate-client-"));
    const guide = await readFile(join(ROOT, "src", "docs", "integrate.md"), "utf8");
    example = /```ts\n(.*?)```/s.exec(guide.slice(guide.indexOf("## From TypeScript")))?.[1] ?? "";
    const { "client.d.ts": types = "" } = (await compileSite())(null);
    await writeFile(join(folder, "client.d.ts"), types);
    await mkdir(join(folder, "node_modules"));
    await symlink(join(ROOT, "node_modules", "hono"), join(folder, "node_modules", "hono"));
    const config = {
      compilerOptions: {
        ...{ target: "ES2022", module: "NodeNext", lib: ["ES2022", "DOM", "DOM.AsyncIterable"], types: [] },
        ...{ strict: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true, noEmit: true },
        ...{ preserveSymlinks: true, skipLibCheck: false },
      },
      include: ["*.ts"],
    };
    await writeFile(join(folder, "tsconfig.json"), JSON.stringify(config));
    await writeFile(join(folder, "package.json"), JSON.stringify({ type: "module" }));
  });
  after(() => rm(folder, { recursive: true, force: true }));

  /** The compiler's errors for a file there, without the service's source and with the types of the package checked. */
  async function compile(code: string): Promise<string> {
    await writeFile(join(folder, "owner.ts"), code);
    const tsc = join(ROOT, "node_modules", "typescript", "bin", "tsc");
    const { stdout } = spawnSync(process.execPath, [tsc, "-p", folder], { encoding: "utf8" });
    return stdout;
  }

  it("compiles the guide's example, and reports what is wrong with a changed one", async () => {
    assert.equal(await compile(example), "");
    for (const [right, wrong, expected] of [
      ["commission_pct: 25", "commission_percent: 25", "commission_percent"],
      ['status: "active"', 'status: "paid"', '"paid"'],
      ["{ amount_cents, currency }", "{ amount, currency }", "amount"],
      ["api.v1.commissions.$get", "api.v1.commission.$get", "commission"],
      ["  if (!earned.ok) throw", "  if (earned.ok) throw", "data"],
    ] as const) {
      assert.ok(example.includes(right));
      const complaint = await compile(example.replace(right, wrong));
      assert.match(complaint, /error TS\d+/, wrong);
      assert.ok(complaint.includes(expected), complaint);
    }
  });
});
