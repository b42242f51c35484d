import { Hono } from "hono";
import { integrationStatus } from "../../core/overview/integrations.ts";
import type { AppEnv } from "../../env.ts";

/** `GET /api/v1/integrations/status` (PROG-6, PROG-10). */
export const integrations = new Hono<AppEnv>().get("/status", async (c) => {
  const providers = await integrationStatus(c.var.ctx);
  return c.json({ ...providers, email: { configured: c.env.EMAIL !== undefined && Boolean(c.env.EMAIL_FROM) } });
});
