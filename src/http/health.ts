import { Hono } from "hono";
import type { AppEnv } from "../env.ts";
import { isReachable } from "../core/health.ts";
import { AppError } from "../lib/errors.ts";

/** `GET /healthz`: 200 after a trivial database read (contract §2). */
export const health = new Hono<AppEnv>().get("/healthz", async (c) => {
  if (!(await isReachable(c.var.base))) throw new AppError("storage_unavailable", "The database does not answer.");
  return c.json({ status: "ok" });
});
