import { Hono } from "hono";
import type { AppEnv } from "../env.ts";
import { unreachableShards } from "../core/health.ts";
import { AppError } from "../lib/errors.ts";
import { newProgramShard } from "./new-program-shard.ts";

/** `GET /healthz`: 200 after a trivial read of each database (contract §2), where new programs have one to go to. */
export const health = new Hono<AppEnv>().get("/healthz", async (c) => {
  const away = await unreachableShards(c.var.base);
  if (away.length > 0) {
    const names = away.map((shard) => (shard === 0 ? "DB" : `DB_${shard}`)).join(", ");
    throw new AppError("storage_unavailable", `The database does not answer: ${names}.`);
  }
  const chosen = newProgramShard(c.env);
  if ("problem" in chosen) throw new AppError("storage_unavailable", chosen.problem);
  return c.json({ status: "ok" });
});
