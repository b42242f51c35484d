import { applyD1Migrations } from "cloudflare:test";
import { env } from "cloudflare:workers";

await applyD1Migrations(env.DB, env.TEST_MIGRATIONS);
const { DB_1 } = env as { DB_1?: D1Database };
if (DB_1) await applyD1Migrations(DB_1, env.TEST_MIGRATIONS);
