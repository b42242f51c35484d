/**
 * The tables of src/docs/architecture.md, of the folders and of the rooms of core, are held by oxlint.config.ts. Each row
 * is written here a second time, and every import that it forbids or allows is planted in a copy of the tree.
 */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readdirSync, statSync } from "node:fs";
import { copyFile, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

const MAY_IMPORT: Record<string, string[]> = {
  domain: ["domain"],
  lib: ["lib"],
  db: ["db", "lib"],
  providers: ["providers", "domain", "lib"],
  resources: ["resources", "domain", "lib", "providers"],
  core: ["core", "db", "domain", "lib", "providers", "resources"],
  outbound: ["outbound", "core", "domain", "lib"],
  clicks: ["clicks", "core", "domain", "lib"],
  http: ["http", "core", "providers", "clicks", "lib", "domain", "resources"],
  site: ["site", "http", "domain", "lib"],
  tracker: ["tracker"],
  client: ["client"],
  dev: ["dev", "db", "http", "providers"],
};
const MAY_IMPORT_TYPES: Record<string, string[]> = {
  db: ["domain"],
  resources: ["db"],
  outbound: ["env.ts"],
  clicks: ["env.ts"],
  http: ["env.ts"],
};
const MAY_USE: Record<string, string[]> = {
  "drizzle-orm": ["db", "core"],
  "drizzle-orm/sqlite-core": ["db", "core"],
  hono: ["http", "site"],
  "hono/body-limit": ["http", "site"],
  "cloudflare:workers": ["clicks"],
  "node:fs": ["dev"],
};
/** The rooms of core from the ground up, by floors: each lists its allowed imports beside itself and the kernel. */
const FLOORS: Record<string, string[]>[] = [
  { kernel: [] },
  { clicks: [], events: [], jobs: [], mails: [], webhooks: [] },
  { ledger: ["mails"] },
  {
    claims: ["ledger"],
    commissions: ["ledger"],
    customers: ["ledger", "mails"],
    payouts: ["ledger"],
    programs: ["ledger"],
  },
  {
    inbound: ["ledger", "payouts", "programs"],
    partners: ["ledger", "payouts"],
    reconcile: ["ledger", "payouts", "programs"],
  },
  {
    imports: ["ledger", "partners", "payouts"],
    overview: ["clicks", "customers", "inbound", "ledger", "mails", "partners", "payouts", "reconcile"],
    sessions: ["ledger", "partners"],
  },
  {
    applications: ["partners", "sessions"],
    operations: ["jobs", "ledger", "sessions"],
  },
];
const ROOMS: Record<string, string[]> = Object.assign({}, ...FLOORS);
const TARGETS = [...Object.keys(MAY_IMPORT), "env.ts", "app.ts", "index.ts"];

interface Planted {
  file: string;
  code: string;
  allowed: boolean;
}

/** The forms of an import of `x` from `path`: whether each is one of types only, and its code. */
function formsOf(path: string): [isOfTypes: boolean, code: string][] {
  return [
    [false, `import { x } from "${path}";\nexport const y = x;\n`],
    [true, `import type { x } from "${path}";\nexport type y = x;\n`],
    [false, `export { x } from "${path}";\n`],
    [false, `export * from "${path}";\n`],
    [false, `export const y = await import("${path}");\n`],
  ];
}

/** Every import between two rooms of core, and between a room and a folder of src. */
function plantInRooms(add: (folder: string, code: string, allowed: boolean) => void): void {
  for (const [room, may] of Object.entries(ROOMS)) {
    const folder = `core/${room}`;
    for (const target of Object.keys(ROOMS)) {
      if (target === room) continue;
      const allowed = room !== "kernel" && (target === "kernel" || may.includes(target));
      for (const [, code] of formsOf(`../${target}/x.ts`)) add(folder, code, allowed);
    }
    for (const target of TARGETS.filter((name) => name !== "core")) {
      const isMay = MAY_IMPORT["core"]?.includes(target) ?? false;
      const isMayType = isMay || (MAY_IMPORT_TYPES["core"]?.includes(target) ?? false);
      const path = `../../${target.endsWith(".ts") ? target : `${target}/x.ts`}`;
      for (const [isOfTypes, code] of formsOf(path)) add(folder, code, isOfTypes ? isMayType : isMay);
    }
    for (const detour of ["../../core/kernel/x.ts", `../${room}/x.ts`, `../../core/${room}/x.ts`]) {
      add(folder, `import { x } from "${detour}";\nexport const y = x;\n`, false);
    }
    for (const [name, folders] of Object.entries(MAY_USE)) {
      add(folder, `import { x } from "${name}";\nexport const y = x;\n`, folders.includes("core"));
    }
  }
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
        for (const [isOfTypes, code] of formsOf(path)) add(folder + below, code, isOfTypes ? mayType : may);
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
  plantInRooms(add);
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
  "eslint(max-lines)": `export const f = 1;\n${"//\n".repeat(450)}`,
  // An import of the file itself; a cycle of types counts as well.
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
    for (const room of Object.keys(ROOMS)) await write(join(copy, "src/core", room, "x.ts"), "export const x = 1;\n");
    for (const { file, code } of planted) await write(join(copy, file), code);
    const last = Object.keys(FAULTS).indexOf("import(no-cycle)");
    const back = `import type { G } from "./fault-${last}.ts";\nexport interface F {\n  g: G;\n}\n`;
    await write(join(copy, "src", "cycle.ts"), back);
    for (const [i, code] of Object.values(FAULTS).entries()) await write(join(copy, "src", `fault-${i}.ts`), code);
    await write(join(copy, "test", "long.test.ts"), FAULTS["eslint(max-lines)"]!);
    found = await lint(copy, "test");
  });
  after(() => rm(copy, { recursive: true, force: true }));

  const rooms = Object.keys(ROOMS).map((room) => `core/${room}`);
  for (const folder of ["", ...Object.keys(MAY_IMPORT), ...rooms]) {
    it(`holds for ${folder === "" ? "the files of src itself" : `src/${folder}`}`, () => {
      const own = planted.filter(({ file }) => placeOf(file) === folder);
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

  it("has the same limit of lines for tests", () => {
    assert.ok(found.get("test/long.test.ts")?.has("eslint(max-lines)"));
  });

  it("has a row for every folder of code", () => {
    const folders = readdirSync(join(ROOT, "src"), { withFileTypes: true }).filter((entry) => entry.isDirectory());
    const names = folders.map(({ name }) => name).filter((name) => name !== "docs");
    assert.deepEqual(names.toSorted(), Object.keys(MAY_IMPORT).toSorted());
  });

  it("has a row for every room of core, and every file of core is in one", () => {
    const files = readdirSync(join(ROOT, "src/core"), { recursive: true, withFileTypes: true }).filter((entry) =>
      entry.isFile(),
    );
    const places = files.map(({ parentPath }) => relative(join(ROOT, "src/core"), parentPath));
    assert.deepEqual([...new Set(places)].toSorted(), Object.keys(ROOMS).toSorted());
  });

  it("has floors: a room imports those of lower floors only", () => {
    const below = new Set<string>();
    for (const floor of FLOORS) {
      for (const [room, may] of Object.entries(floor))
        assert.ok(
          may.every((name) => below.has(name)),
          room,
        );
      for (const room of Object.keys(floor)) below.add(room);
    }
  });

  it("is kept by the real tree", async () => {
    const broken = [...(await lint(ROOT))].filter(([, rules]) => rules.has("eslint(no-restricted-imports)"));
    assert.deepEqual(
      broken.map(([file]) => file),
      [],
    );
  });
});

/** The folder of src or the room of core that a planted file is in. */
function placeOf(file: string): string {
  const [first = "", second = ""] = file.split(/[\\/]/).slice(1, -1);
  return first === "core" && second in ROOMS ? `core/${second}` : first;
}

async function write(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, text);
}

/** The rules that oxlint reports as errors, per file under src and these folders. */
async function lint(cwd: string, ...folders: string[]): Promise<Map<string, Set<string>>> {
  const oxlint = join(ROOT, "node_modules", "oxlint", "bin", "oxlint");
  const output = await new Promise<string>((resolve) => {
    execFile(
      process.execPath,
      [oxlint, "--format=json", "src", ...folders],
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
