import { applyD1Migrations } from "cloudflare:test";
import { env } from "cloudflare:workers";

const databases = Object.entries(env as object).filter(([name]) => /^DB(_\d+)?$/.test(name));
await Promise.all(
  databases.map(async ([, database]) => applyD1Migrations(database as D1Database, env.TEST_MIGRATIONS)),
);
