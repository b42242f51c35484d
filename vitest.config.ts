import { cloudflareTest, readD1Migrations } from "@cloudflare/vitest-pool-workers";
import { defineConfig } from "vitest/config";
const migrations = await readD1Migrations("./migrations");
export default defineConfig({
  plugins: [
    cloudflareTest({
      wrangler: { configPath: "./wrangler.toml" },
      miniflare: {
        bindings: {
          ENVIRONMENT: "development",
          ADMIN_TOKEN: "test-admin-token",
          ENCRYPTION_KEY: "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=",
          TEST_MIGRATIONS: migrations,
          PROPERTY_RUNS: process.env.PROPERTY_RUNS ?? "100",
          ...(process.env.PROPERTY_SEED ? { PROPERTY_SEED: process.env.PROPERTY_SEED } : {}),
        },
      },
    }),
  ],
  test: {
    include: ["test/{unit,integration,conformance}/**/*.test.ts"],
    setupFiles: ["./test/support/setup.ts"],
  },
});
