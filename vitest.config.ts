import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { cloudflareTest, readD1Migrations } from "@cloudflare/vitest-pool-workers";
import { defineConfig } from "vitest/config";
import { quietWrangler } from "./src/dev/quiet.ts";

quietWrangler();
process.env["WRANGLER_LOG"] ??= "warn";
const { PROPERTY_RUNS = "30", PROPERTY_SEED, FUZZ_RUNS = "2000", FUZZ_SEED, MONTH_DAYS = "1" } = process.env;
const wrangler = { configPath: "./wrangler.toml" };
const bindings = {
  ENVIRONMENT: "development",
  CLICK_FLUSH_SECONDS: "1",
  PUBLIC_URL: "https://service.example",
  // The resolver that the tests play.
  DNS_RESOLVER_URL: "https://resolver.test/dns-query",
  ADMIN_TOKEN: "test-admin-token",
  ENCRYPTION_KEY: "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=",
  TEST_MIGRATIONS: await readD1Migrations("./migrations"),
  // How many runs a property test makes, and its seed.
  PROPERTY_RUNS,
  ...(PROPERTY_SEED ? { PROPERTY_SEED } : {}),
  // How many days of traffic have their totals compared.
  MONTH_DAYS,
  // How many requests the fuzz sends, and its seed.
  FUZZ_RUNS,
  ...(FUZZ_SEED ? { FUZZ_SEED } : {}),
};
// Wake-ups of the Worker wait for a day: a test runs the deliveries when it wants them, and no other sees them run.
const queueProducers = { DELIVERIES: { queueName: "deliveries", deliveryDelay: 86_400 } };
const r2Buckets = ["ARCHIVE"];
const workers = cloudflareTest({ wrangler, miniflare: { queueProducers, r2Buckets, bindings } });
// A second database, as `wrangler.toml` shows it in a comment.
const d1Databases = { DB_1: "affiliate-program-1" };
const twoDatabases = cloudflareTest({ wrangler, miniflare: { queueProducers, d1Databases, bindings } });
// As many databases as a deployment can have.
const furtherDatabases = Object.fromEntries(
  Array.from({ length: 31 }, (_, i) => [`DB_${i + 1}`, `affiliate-program-${i + 1}`]),
);
const allDatabases = cloudflareTest({
  wrangler,
  miniflare: { queueProducers, r2Buckets, d1Databases: furtherDatabases, bindings },
});
// Bundled once, these load as a few modules in every runtime; file by file they are over a thousand.
const packages = [
  ...["zod", "hono", "hono/body-limit", "hono/cookie", "hono/html", "hono/http-exception", "hono/jsx"],
  ...["hono/route", "hono/jsx/jsx-runtime", "hono/jsx/jsx-dev-runtime", "isbot", "ipaddr.js"],
  ...["drizzle-orm", "drizzle-orm/d1", "drizzle-orm/sqlite-core"],
  ...["fast-check", "stripe", "@paddle/paddle-node-sdk", "standardwebhooks"],
];
// What they try acts on all programs at once (crons, queues, objects): each has a runtime and a database of its own.
const DEPLOYMENT_WIDE = [
  "test/integration/{admin,audit-trail,click-archive,click-flush,click-month,click-roll-up,click-split,click-wake,commissions-approve,endpoint-health,erasure,journal,large-sums,overview,recount,reprocess-erasure,reseal,retention,rows-read,schema,worker-handlers}.test.ts",
  "test/integration/{outbound,payouts,sweep}-*.test.ts",
  "test/integration/read-list*.test.ts",
  "test/integration/reconcile*.test.ts",
];
const SHARDED = "test/integration/shard*.test.ts";
const JOBS = "test/integration/jobs*.test.ts";
// The line of a provider that only the tests have, in the list of providers; nothing else of the source is changed.
const EXAMPLE_PROVIDER = "test/integration/example-provider.test.ts";
const exampleProvider = {
  name: "example-provider",
  transform: (code: string, id: string) =>
    id.endsWith("/src/providers/list.ts")
      ? `${code}export { providerExample } from "../../test/support/example-provider.ts";\n`
      : undefined,
};
// Property suites that need only the database: in Node, on SQLite in the process, they take 40 % of the CPU time.
const IN_PROCESS = [
  "test/integration/{codes,ledger-interleavings,ledger-money,ledger-order,payouts-conservation,payouts-transfer,reported-facts}.property.test.ts",
  "test/integration/read-list-death.test.ts",
];
const platform = fileURLToPath(new URL("test/simulate/platform.ts", import.meta.url));
// As wrangler's rules load them.
const texts = {
  name: "texts",
  enforce: "pre" as const,
  load: async (id: string) =>
    /\.(txt|css)$/.test(id) ? `export default ${JSON.stringify(await readFile(id, "utf8"))};` : undefined,
};
const { TEST_MIGRATIONS: _, ...variables } = bindings;
const setupFiles = ["./test/support/seed.ts", "./test/support/setup.ts"];

export default defineConfig({
  // The vendors' packages name source files that they do not ship.
  logLevel: "error",
  test: {
    maxWorkers: 2,
    // On a busy machine everything takes longer, and nothing else is different: no result depends on speed, and no test
    // has a time-out of its own.
    testTimeout: 1_200_000,
    hookTimeout: 1_200_000,
    expect: { poll: { timeout: 90_000 } },
    deps: { optimizer: { ssr: { enabled: true, include: packages } } },
    projects: [
      // Pure functions share one runtime: starting it is most of their time.
      {
        extends: true,
        plugins: [workers],
        test: {
          name: "unit",
          include: ["test/unit/**/*.test.ts"],
          setupFiles: ["./test/support/seed.ts"],
          isolate: false,
        },
      },
      // Each test in a program of its own: they share a runtime and its database, as programs share a deployment.
      {
        extends: true,
        plugins: [workers],
        test: {
          name: "programs",
          include: ["test/{integration,conformance}/**/*.test.ts"],
          exclude: [...DEPLOYMENT_WIDE, ...IN_PROCESS, SHARDED, JOBS, EXAMPLE_PROVIDER],
          setupFiles,
          isolate: false,
        },
      },
      {
        extends: true,
        plugins: [workers],
        test: {
          name: "deployment",
          include: DEPLOYMENT_WIDE,
          exclude: IN_PROCESS,
          setupFiles: ["./test/support/reset.ts", ...setupFiles],
          sequence: { setupFiles: "list" },
          isolate: false,
        },
      },
      {
        extends: true,
        plugins: [texts],
        resolve: { alias: { "cloudflare:workers": platform, "cloudflare:test": platform } },
        test: {
          name: "in-process",
          include: IN_PROCESS,
          setupFiles: ["./test/support/reset.ts", ...setupFiles],
          sequence: { setupFiles: "list" },
          isolate: false,
          provide: { bindings: variables },
        },
      },
      // A service with one provider more.
      {
        extends: true,
        plugins: [workers, exampleProvider],
        test: { name: "example-provider", include: [EXAMPLE_PROVIDER], setupFiles },
      },
      // These two are left out of `npm test`, which is to be quick.
      {
        extends: true,
        plugins: [workers],
        test: { name: "apart-nightly", include: ["test/nightly/**/*.test.ts"], isolate: false },
      },
      {
        extends: true,
        plugins: [workers],
        test: { name: "apart-fuzz", include: ["test/fuzz/**/*.test.ts"], setupFiles },
      },
      // A deployment of two databases.
      {
        extends: true,
        plugins: [twoDatabases],
        test: { name: "shards", include: [SHARDED], setupFiles, isolate: false },
      },
      // A deployment of 32 databases.
      {
        extends: true,
        plugins: [allDatabases],
        test: { name: "jobs", include: [JOBS], setupFiles, isolate: false },
      },
      // Here the queue runs unasked.
      {
        extends: true,
        plugins: [cloudflareTest({ wrangler, miniflare: { bindings } })],
        test: { name: "journey", include: ["test/journey/**/*.test.ts"], setupFiles },
      },
    ],
  },
});
