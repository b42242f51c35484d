/**
 * The folder table of src/docs/architecture.md is held by oxlint.config.ts. Each row is written here a second time,
 * and every import that it forbids or allows is planted in a copy of the tree.
 */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readdirSync, statSync } from "node:fs";
import { copyFile, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

const MAY_IMPORT: Record<string, string[]> = {
  domain: ["domain"],
  lib: ["lib"],
  db: ["db", "lib"],
  providers: ["providers", "domain", "lib"],
  core: ["core", "db", "domain", "lib", "providers"],
  outbound: ["outbound", "core", "domain", "lib"],
  clicks: ["clicks", "core", "domain", "lib"],
  http: ["http", "core", "providers", "clicks", "lib", "domain", "tracker"],
  tracker: ["tracker"],
  client: ["client"],
  dev: ["dev", "db"],
};
const MAY_IMPORT_TYPES: Record<string, string[]> = {
  db: ["domain"],
  outbound: ["env.ts"],
  clicks: ["env.ts"],
  http: ["env.ts"],
};
const MAY_USE: Record<string, string[]> = {
  "drizzle-orm": ["db", "core"],
  "drizzle-orm/sqlite-core": ["db", "core"],
  hono: ["http"],
  "hono/body-limit": ["http"],
  "@hono/zod-validator": ["http"],
  "cloudflare:workers": ["clicks"],
  "node:fs": ["dev"],
};
const TARGETS = [...Object.keys(MAY_IMPORT), "env.ts", "app.ts", "index.ts"];

interface Planted {
  file: string;
  code: string;
  allowed: boolean;
}

/** Every import between two folders, at each depth and in each form, and every guarded package in each folder. */
function plant(): Planted[] {
  const planted: Planted[] = [];
  const add = (folder: string, code: string, allowed: boolean) =>
    planted.push({ file: join("src", folder, `planted-${planted.length}.ts`), code, allowed });
  for (const folder of Object.keys(MAY_IMPORT)) {
    for (const target of TARGETS) {
      const may = MAY_IMPORT[folder]?.includes(target) ?? false;
      const mayType = may || (MAY_IMPORT_TYPES[folder]?.includes(target) ?? false);
      for (const [below, up] of [
        ["", "../"],
        ["/api", "../../"],
        ["/pages/parts", "../../../"],
      ] as const) {
        const path = `${up}${target.endsWith(".ts") ? target : `${target}/x.ts`}`;
        add(folder + below, `import { x } from "${path}";\nexport const y = x;\n`, may);
        add(folder + below, `import type { x } from "${path}";\nexport type y = x;\n`, mayType);
        add(folder + below, `export { x } from "${path}";\n`, may);
        add(folder + below, `export * from "${path}";\n`, may);
        add(folder + below, `export const y = await import("${path}");\n`, may);
      }
    }
    for (const [name, folders] of Object.entries(MAY_USE)) {
      add(folder, `import { x } from "${name}";\nexport const y = x;\n`, folders.includes(folder));
      add(folder, `import type { x } from "${name}";\nexport type y = x;\n`, folders.includes(folder));
    }
    for (const detour of ["..", `./../${folder}/x.ts`, `../domain/../db/x.ts`]) {
      add(folder, `import { x } from "${detour}";\nexport const y = x;\n`, false);
    }
    add(folder, `import { x } from "../../test/support/x.ts";\nexport const y = x;\n`, folder === "dev");
  }
  for (const path of ["./dev/x.ts", "../test/support/x.ts", "drizzle-orm", "node:fs"]) {
    add("", `import { x } from "${path}";\nexport const y = x;\n`, false);
  }
  for (const path of ["./http/x.ts", "./core/x.ts", "./outbound/x.ts", "./clicks/x.ts", "hono"]) {
    add("", `import { x } from "${path}";\nexport const y = x;\n`, true);
  }
  return planted;
}

const FAULTS: Record<string, string> = {
  "typescript(no-floating-promises)": "export function f(): void {\n  Promise.resolve(1);\n}\n",
  "typescript(no-misused-promises)": "export const f = () => {\n  if (Promise.resolve(false)) throw new Error();\n};\n",
  "typescript(no-explicit-any)": "export const f = (x: any): unknown => x;\n",
  "typescript(ban-ts-comment)": "// @ts-ignore\nexport const f = 1;\n",
  "typescript(switch-exhaustiveness-check)":
    'export function f(x: "a" | "b"): number {\n  switch (x) {\n    case "a":\n      return 1;\n  }\n  return 2;\n}\n',
  // Of the file itself; a cycle of types is one as well.
  "import(no-cycle)": 'import type { F } from "./cycle.ts";\nexport interface G {\n  f: F;\n}\n',
};

describe("the folder table", () => {
  let copy: string;
  let found: Map<string, Set<string>>;
  const planted = plant();

  before(async () => {
    copy = await mkdtemp(join(tmpdir(), "affiliate-lint-"));
    for (const name of ["oxlint.config.ts", "tsconfig.json"]) await copyFile(join(ROOT, name), join(copy, name));
    await symlink(join(ROOT, "node_modules"), join(copy, "node_modules"), "junction");
    for (const name of readdirSync(join(ROOT, "src"))) {
      const isFolder = statSync(join(ROOT, "src", name)).isDirectory();
      await write(join(copy, "src", name, ...(isFolder ? ["x.ts"] : [])), "export const x = 1;\n");
    }
    for (const { file, code } of planted) await write(join(copy, file), code);
    const last = Object.keys(FAULTS).indexOf("import(no-cycle)");
    const back = `import type { G } from "./fault-${last}.ts";\nexport interface F {\n  g: G;\n}\n`;
    await write(join(copy, "src", "cycle.ts"), back);
    for (const [i, code] of Object.values(FAULTS).entries()) await write(join(copy, "src", `fault-${i}.ts`), code);
    found = await lint(copy);
  });
  after(() => rm(copy, { recursive: true, force: true }));

  for (const folder of ["", ...Object.keys(MAY_IMPORT)]) {
    it(`holds for ${folder === "" ? "the files of src itself" : `src/${folder}`}`, () => {
      const own = planted.filter(({ file }) => file.split(/[\\/]/).slice(1, -1)[0] === (folder || undefined));
      assert.ok(own.some(({ allowed }) => !allowed));
      for (const { file, code, allowed } of own) {
        const refused = found.get(file.replaceAll("\\", "/"))?.has("eslint(no-restricted-imports)") ?? false;
        assert.equal(
          refused,
          !allowed,
          `${allowed ? "should pass" : "should be refused"} in ${dirname(file)}: ${code}`,
        );
      }
    });
  }

  for (const [i, rule] of Object.keys(FAULTS).entries()) {
    it(`has ${rule} as an error`, () => {
      assert.ok(found.get(`src/fault-${i}.ts`)?.has(rule), [...(found.get(`src/fault-${i}.ts`) ?? [])].join());
    });
  }

  it("has a row for every folder of code", () => {
    const folders = readdirSync(join(ROOT, "src"), { withFileTypes: true }).filter((entry) => entry.isDirectory());
    const names = folders.map(({ name }) => name).filter((name) => name !== "docs");
    assert.deepEqual(names.toSorted(), Object.keys(MAY_IMPORT).toSorted());
  });

  it("is kept by the real tree", async () => {
    const broken = [...(await lint(ROOT))].filter(([, rules]) => rules.has("eslint(no-restricted-imports)"));
    assert.deepEqual(
      broken.map(([file]) => file),
      [],
    );
  });
});

async function write(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, text);
}

/** The rules that oxlint reports as errors, per file under src. */
async function lint(cwd: string): Promise<Map<string, Set<string>>> {
  const oxlint = join(ROOT, "node_modules", "oxlint", "bin", "oxlint");
  const output = await new Promise<string>((resolve) => {
    execFile(
      process.execPath,
      [oxlint, "--format=json", "src"],
      { cwd, maxBuffer: 256 * 1024 * 1024 },
      (_error, stdout) => resolve(stdout),
    );
  });
  const { diagnostics } = JSON.parse(output) as {
    diagnostics: { code: string; severity: string; filename: string }[];
  };
  const rules = new Map<string, Set<string>>();
  for (const { code, severity, filename } of diagnostics) {
    if (severity !== "error") continue;
    const file = filename.replaceAll("\\", "/");
    rules.set(file, (rules.get(file) ?? new Set()).add(code));
  }
  return rules;
}
