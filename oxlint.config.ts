import { readdirSync } from "node:fs";
import { defineConfig, type OxlintOverride } from "oxlint";

interface Row {
  /** Folders and root files of src that the folder may import, beside itself. */
  may: string[];
  /** Those of which it may import types only. */
  types?: string[];
  /** Packages of the guarded list that it may import. */
  packages?: string[];
  /** It may also import what lies beside src. */
  outside?: true;
}

/**
 * The folder table: what each folder of src may import. What no row names is imported by no folder: `index.ts`,
 * `app.ts`, `jobs.ts`, `site`, `dev`. test/lint/folders.test.ts plants a violation of every row.
 */
const FOLDERS = {
  domain: { may: [] },
  lib: { may: [] },
  db: { may: ["lib"], types: ["domain"], packages: ["drizzle"] },
  providers: { may: ["domain", "lib"] },
  resources: { may: ["domain", "lib", "providers"], types: ["db"] },
  core: { may: ["db", "domain", "lib", "providers", "resources"], packages: ["drizzle"] },
  outbound: { may: ["core", "domain", "lib"], types: ["env.ts"] },
  clicks: { may: ["core", "domain", "lib"], types: ["env.ts"], packages: ["cloudflare"] },
  http: {
    may: ["core", "providers", "clicks", "lib", "domain", "resources"],
    types: ["env.ts"],
    packages: ["hono"],
  },
  // Made into files before a deployment: nothing of it is in the Worker.
  site: { may: ["http", "domain", "lib", "docs"], packages: ["hono"] },
  // A plain script for the owner's pages: it can import nothing.
  tracker: { may: [] },
  // What owners' own servers import; written from the routes.
  client: { may: [] },
  // Programs for Node around the service: they call it over HTTP, check its schema, and sign vendor events with the
  // tests' makers.
  dev: { may: ["db", "http", "providers"], packages: ["node"], outside: true },
} satisfies Record<string, Row>;

/**
 * The rooms of core: which other rooms each may import. All import `kernel`, which imports none; seven floors, each of
 * which imports lower ones only.
 */
const ROOMS: Record<string, string[]> = {
  kernel: [],
  jobs: [],
  mails: [],
  clicks: [],
  events: [],
  ledger: ["mails"],
  programs: ["ledger"],
  webhooks: [],
  claims: ["ledger"],
  commissions: ["ledger"],
  customers: ["ledger", "mails"],
  inbound: ["ledger", "payouts", "programs"],
  partners: ["ledger", "payouts"],
  payouts: ["ledger"],
  imports: ["ledger", "partners", "payouts"],
  reconcile: ["ledger", "payouts", "programs"],
  sessions: ["ledger", "partners"],
  applications: ["partners", "sessions"],
  operations: ["jobs", "ledger", "sessions"],
  overview: ["clicks", "customers", "inbound", "ledger", "mails", "partners", "payouts", "reconcile"],
};

/** Packages that belong to certain folders only. */
const GUARDED: Record<string, string[]> = {
  drizzle: ["drizzle-orm", "drizzle-orm/**"],
  hono: ["hono", "hono/**", "@hono/**"],
  cloudflare: ["cloudflare:*"],
  node: ["node:*"],
};

/** The deepest folder below src/<folder> that the rules follow. */
const DEPTHS = [0, 1, 2];

const inSrc = readdirSync(new URL("./src", import.meta.url));

interface Pattern {
  regex?: string;
  group?: string[];
  allowTypeImports?: boolean;
  message: string;
}

function rulesOf(folder: string, row: Row): OxlintOverride[] {
  return DEPTHS.map((depth) => ({
    files: [`src/${folder}/${"*/".repeat(depth)}*.{ts,tsx,js}`],
    rules: { "no-restricted-imports": ["error", { patterns: patternsOf(folder, row, depth) }] },
  }));
}

/** A room is one folder deep; what the row of core says holds in it too. */
function rulesOfRoom([room, may]: [string, string[]]): OxlintOverride {
  const allowed = room === "kernel" ? [] : ["kernel", ...may];
  const forbidden = Object.keys(ROOMS).filter((name) => name !== room && !allowed.includes(name));
  const message = `core/${room} imports ${allowed.join(", ") || "no other room"} (the rooms of core, oxlint.config.ts).`;
  return {
    files: [`src/core/${room}/*.ts`],
    rules: {
      "no-restricted-imports": [
        "error",
        {
          patterns: [
            ...patternsOf("core", FOLDERS.core, 1),
            { regex: `^\\.\\./(${anyOf(forbidden)})`, message },
            { regex: `^(\\.\\./)+core/|^\\.\\./${room}/`, message: "Write the shortest path to a file." },
          ],
        },
      ],
    },
  };
}

function patternsOf(folder: string, { may, types = [], packages = [], outside }: Row, depth: number): Pattern[] {
  const allowed = [folder, ...may, ...types];
  const forbidden = inSrc.filter((name) => !allowed.includes(name));
  const list = [...may, ...types.map((name) => `types of ${name}`)].join(", ") || "nothing else of src";
  const message = `${folder} imports ${list} (the folder table, oxlint.config.ts).`;
  const guarded = Object.entries(GUARDED).flatMap(([name, globs]) => (packages.includes(name) ? [] : globs));
  const up = `^${"\\.\\./".repeat(depth + 1)}`;
  return [
    ...(types.length > 0 ? [{ regex: `${up}(${anyOf(types)})`, allowTypeImports: true, message }] : []),
    { regex: `${up}(${anyOf(forbidden)})`, message },
    ...(outside ? [] : [{ regex: `${up}\\.\\.(/|$)`, message: "The Worker imports nothing from outside src." }]),
    { regex: "^\\./\\.\\.|[^./]/\\.\\.|/\\./|\\.\\.$", message: "Write the shortest path to a file." },
    { group: guarded, message: `${folder} does not import this package (oxlint.config.ts).` },
  ];
}

function anyOf(names: string[]): string {
  return names.map((name) => (name.endsWith(".ts") ? `${name.replace(".", "\\.")}$` : `${name}(/|$)`)).join("|");
}

export default defineConfig({
  plugins: ["typescript", "unicorn", "oxc", "import", "promise"],
  options: { typeAware: true, denyWarnings: true, reportUnusedDisableDirectives: "error" },
  categories: { correctness: "error", suspicious: "error" },
  ignorePatterns: ["src/worker-configuration.d.ts", "src/client/index.d.ts"],
  rules: {
    eqeqeq: ["error", "always", { null: "ignore" }],
    "import/no-cycle": ["error", { ignoreTypes: false }],
    "max-lines": ["error", { max: 450 }],
    "max-lines-per-function": ["error", { max: 70 }],
    "no-unused-vars": ["error", { argsIgnorePattern: "^_", ignoreRestSiblings: true }],
    "typescript/ban-ts-comment": "error",
    "typescript/consistent-type-imports": "error",
    "typescript/no-explicit-any": "error",
    "typescript/no-floating-promises": [
      "error",
      { allowForKnownSafeCalls: [{ from: "package", package: "node:test", name: ["describe", "it"] }] },
    ],
    "typescript/no-misused-promises": "error",
    "typescript/only-throw-error": "error",
    "typescript/switch-exhaustiveness-check": "error",
    // A middleware is a named function inside the function of the same name that makes it.
    "no-shadow": "off",
    // A member that begins so is the private part of a package. zod documents this one for readers of schemas.
    "no-underscore-dangle": ["error", { allow: ["_zod"] }],
    // JSON from the database and the wire is cast where it is read.
    "typescript/no-unsafe-type-assertion": "off",
    "unicorn/consistent-function-scoping": "off",
    // Long lists are broken into rows by spreading.
    "unicorn/no-useless-spread": "off",
    // A switch over a closed union returns in every case; the compiler knows, this rule does not.
    "typescript/consistent-return": "off",
    // A type parameter used once still ties a caller's function to its argument.
    "typescript/no-unnecessary-type-parameters": "off",
    // They misread packages that export one object both by name and as default.
    "import/no-named-as-default": "off",
    "import/no-named-as-default-member": "off",
  },
  overrides: [
    { files: ["**/*.d.ts"], rules: { "typescript/consistent-type-imports": "off" } },
    {
      // Tests spread alphabets into letters, sort short lists of words and codes, and wrap methods that they put back.
      files: ["test/**"],
      rules: {
        // `?raw` imports are texts.
        "import/default": "off",
        "typescript/no-misused-spread": "off",
        "typescript/require-array-sort-compare": "off",
        "typescript/unbound-method": "off",
      },
    },
    {
      // One function of tests holds many, and these say one thing from top to bottom: a journey, a vendor's shape, laws.
      files: [
        "test/**/*.test.ts",
        "src/dev/demo/journey.ts",
        ...[
          "bench/year/measure",
          "simulate/compare",
          "support/ledger-world",
          "support/provider-a",
          "support/provider-b",
        ].map((name) => `test/${name}.ts`),
      ],
      rules: { "max-lines-per-function": "off" },
    },
    {
      // Every byte of the tracking script is sent to every visitor; all of it is one function.
      files: ["src/tracker/*.js"],
      rules: { eqeqeq: "off", "max-lines-per-function": "off", "typescript/no-misused-promises": "off" },
    },
    ...Object.entries(FOLDERS).flatMap(([folder, row]) => rulesOf(folder, row)),
    ...Object.entries(ROOMS).map(rulesOfRoom),
    {
      // The entry and its types sit above the folders. hono belongs to http and app; env names its types.
      files: ["src/*.ts"],
      rules: {
        "no-restricted-imports": [
          "error",
          {
            patterns: [
              { regex: "^(\\./dev/|\\.\\.)", message: "The Worker imports nothing of the tools around it." },
              { group: ["drizzle-orm", "drizzle-orm/**", "node:*"], message: "The database is reached through core." },
            ],
          },
        ],
      },
    },
  ],
});
