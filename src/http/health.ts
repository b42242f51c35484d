import { Hono } from "hono";
import type { AppEnv } from "../env.ts";
import { readHealth, type Health } from "../core/operations/health.ts";
import { bindingName } from "../domain/shard.ts";
import { AppError } from "../lib/errors.ts";
import { publicUrl } from "../lib/public-url.ts";
import { newProgramShard } from "./new-program-shard.ts";

/** `GET /healthz`: 200 after a read of each database (HTTP-18). Names jobs an hour behind and databases 70 % full. */
export const health = new Hono<AppEnv>().get("/healthz", async (c) => {
  const { away, behind, filling } = await readHealth(c.var.base);
  if (away.length > 0) {
    const names = away.map(bindingName).join(", ");
    throw new AppError("storage_unavailable", `The database does not answer: ${names}.`);
  }
  const chosen = newProgramShard(c.env);
  if ("problem" in chosen) throw new AppError("storage_unavailable", chosen.problem);
  publicUrl(c.env);
  return c.json({
    status: "ok" as const,
    ...(behind.length > 0 ? { jobs: { behind: behind.map(viewLate) } } : {}),
    ...(filling.length > 0 ? { databases: { filling: filling.map(viewFilling) } } : {}),
  });
});

export function viewLate({ job, shard, since, left, failed }: Health["behind"][number]) {
  return { job, database: bindingName(shard), since, left, failed };
}

export function viewFilling({ shard, percent }: Health["filling"][number]) {
  return { database: bindingName(shard), percent };
}
