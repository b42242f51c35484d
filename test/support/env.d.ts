declare namespace Cloudflare {
  interface Env {
    TEST_MIGRATIONS: import("cloudflare:test").D1Migration[];
    /** How many runs a property test makes, and its seed; from the environment of the test run. */
    PROPERTY_RUNS?: string;
    PROPERTY_SEED?: string;
    /** In the project "shards" only. */
    DB_1?: D1Database | undefined;
    ADMIN_TOKEN: string;
    ENCRYPTION_KEY: string;
  }
}
