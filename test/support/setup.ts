import { applyD1Migrations } from "cloudflare:test";
import { env } from "cloudflare:workers";

await applyD1Migrations(env.DB, env.TEST_MIGRATIONS);
if (env.DB_1) await applyD1Migrations(env.DB_1, env.TEST_MIGRATIONS);
