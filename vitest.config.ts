import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { cloudflareTest, readD1Migrations } from "@cloudflare/vitest-pool-workers";
import { defineConfig } from "vitest/config";
import { unstable_readConfig } from "wrangler";
import { buildSite } from "./src/dev/build-site.ts";
import { quietWrangler } from "./src/dev/quiet.ts";
import { mutantsPlugin, ROUNDS } from "./test/mutants/rounds.ts";

quietWrangler();
process.env["WRANGLER_LOG"] ??= "warn";
const {
  PROPERTY_RUNS = "30",
  PROPERTY_SEED = String(Date.now() % 2 ** 31),
  FUZZ_RUNS = "2000",
  FUZZ_SEED,
  MONTH_DAYS = "30",
  TEST_RUNTIME,
  MUTANTS_ROUND,
} = process.env;
const PUBLIC_URL = "https://service.example";
await buildSite("build/site", PUBLIC_URL);
const wrangler = { configPath: "./wrangler.toml" };
const bindings = {
  ENVIRONMENT: "development",
  CLICK_FLUSH_SECONDS: "1",
  PUBLIC_URL,
  // The resolver that the tests play.
  DNS_RESOLVER_URL: "https://resolver.test/dns-query",
  ADMIN_TOKEN: "test-admin-token",
  ENCRYPTION_KEY: "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=",
  TEST_MIGRATIONS: await readD1Migrations("./migrations"),
  // How many runs a property test makes, and its seed.
  PROPERTY_RUNS,
  PROPERTY_SEED,
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
  ...["zod", "hono", "hono/body-limit", "hono/cookie", "hono/http-exception"],
  ...["hono/route", "@hono/zod-validator", "isbot", "ipaddr.js"],
  ...["drizzle-orm", "drizzle-orm/d1", "drizzle-orm/sqlite-core"],
  ...["fast-check", "stripe", "@paddle/paddle-node-sdk", "standardwebhooks"],
];
// What needs the Workers runtime itself: its streams, rate limits, alarms, cryptography and rewriter of HTML, the rows that
// D1 counts and the plans that its SQLite makes.
const IN_WORKERS = [
  "test/conformance/**/*.test.ts",
  "test/integration/{body-limits,click,http,inbound-stranger,installation,openapi-live,outbound-delivery,outbound-lanes,pages-posted,passkeys,passkeys-written,periodic-mails,storage-down}.test.ts",
  "test/integration/click-{archive,budget,flush,flush-time,known,roll-up,split,wake}.test.ts",
  "test/integration/{claims,claims-matches,customers-rows,event-counts,journal,overview,pages-events,pages-money,pages-walk,partners,query-plans,reconcile-round,recount}.test.ts",
  "test/integration/rows-read*.test.ts",
  // The static files are served by the platform.
  "test/integration/{docs,event-catalogue,guides,known-parameters,list-page,openapi,openapi-examples,openapi-texts,pages-names,security-headers}.test.ts",
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
const platform = fileURLToPath(new URL("test/simulate/platform.ts", import.meta.url));
// As wrangler's rules load them.
const texts = {
  name: "texts",
  enforce: "pre" as const,
  load: async (id: string) =>
    id.endsWith(".txt") ? `export default ${JSON.stringify(await readFile(id, "utf8"))};` : undefined,
};
const { TEST_MIGRATIONS: _, ...given } = bindings;
const { vars } = unstable_readConfig({ config: wrangler.configPath });
const setupFiles = ["./test/support/seed.ts", "./test/support/reset.ts", "./test/support/setup.ts"];
const setup = { setupFiles, sequence: { setupFiles: "list" as const }, isolate: false };
// The database is SQLite in the process: a suite takes a tenth of its time in the Workers runtime.
const inNode = {
  extends: true as const,
  resolve: { alias: { "cloudflare:workers": platform, "cloudflare:test": platform } },
  test: {
    ...setup,
    // hono is to be one module for what is bundled and for what is not.
    deps: { optimizer: { ssr: { enabled: false } } },
    provide: {
      bindings: { ...(vars as Record<string, string>), ...given },
      // Databases beside the first one.
      furtherDatabases: [
        ["/integration/shard", 1],
        ["/integration/jobs-run", 31],
      ] as [suite: string, count: number][],
    },
  },
};

const inWorkers = (name: string, plugin: typeof workers, include: string[], exclude: string[] = []) => ({
  extends: true as const,
  plugins: [plugin],
  test: { ...setup, name, include, exclude },
});
/** Each suite with a mistake that it is to find, only where a round is asked for: they are to fail. */
function suitesOfMutants(round: number) {
  const mutantOf = ROUNDS[round] ?? new Map<string, number>();
  return {
    ...inNode,
    plugins: [texts, mutantsPlugin(round)],
    test: {
      ...inNode.test,
      name: "apart-mutants",
      include: [...mutantOf.keys()].map((suite) => `test/${suite}.test.ts`),
      setupFiles: [...setupFiles, "./test/mutants/setup.ts"],
      // A mistake may make a test wait for what does not come.
      testTimeout: 30_000,
      hookTimeout: 30_000,
      provide: { ...inNode.test.provide, mutantOf: Object.fromEntries(mutantOf) },
    },
  };
}
const mutants = MUTANTS_ROUND === undefined ? [] : [suitesOfMutants(Number(MUTANTS_ROUND))];
const PROGRAMS = ["test/integration/**/*.test.ts"];
// The nightly run has the Workers runtime for all of them.
const integration =
  TEST_RUNTIME === "workers"
    ? [
        inWorkers("programs", workers, PROGRAMS, [...IN_WORKERS, EXAMPLE_PROVIDER, SHARDED, JOBS]),
        inWorkers("shards", twoDatabases, [SHARDED]),
        inWorkers("jobs", allDatabases, [JOBS]),
      ]
    : [
        {
          ...inNode,
          plugins: [texts],
          test: { ...inNode.test, name: "programs", include: PROGRAMS, exclude: [...IN_WORKERS, EXAMPLE_PROVIDER] },
        },
      ];

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
      inWorkers("workers", workers, IN_WORKERS),
      ...integration,
      // A service with one provider more.
      {
        ...inNode,
        plugins: [texts, exampleProvider],
        test: { ...inNode.test, name: "example-provider", include: [EXAMPLE_PROVIDER] },
      },
      // Here the queue runs unasked.
      inWorkers("journey", cloudflareTest({ wrangler, miniflare: { bindings } }), ["test/journey/**/*.test.ts"]),
      // Those from here on are left out of `npm test`, which is to be quick.
      inWorkers("apart-nightly", workers, ["test/nightly/**/*.test.ts"]),
      inWorkers("apart-fuzz", workers, ["test/fuzz/**/*.test.ts"]),
      ...mutants,
    ],
  },
});
