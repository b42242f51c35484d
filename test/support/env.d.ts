declare namespace Cloudflare {
  interface Env {
    TEST_MIGRATIONS: import("cloudflare:test").D1Migration[];
    /** How many runs a property test makes, and its seed; from the environment of the test run. */
    PROPERTY_RUNS?: string;
    PROPERTY_SEED?: string;
    /** How many days of traffic have their totals compared at every hour. */
    MONTH_DAYS: string;
    /** How many requests the fuzz sends, and its seed. */
    FUZZ_RUNS: string;
    FUZZ_SEED?: string;
    ARCHIVE: R2Bucket;
    ADMIN_TOKEN: string;
    ENCRYPTION_KEY: string;
  }
}
