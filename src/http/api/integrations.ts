import { Hono } from "hono";
import * as z from "zod";
import { reconcileEvents } from "../../core/inbound/read-list.ts";
import { integrationStatus } from "../../core/overview/integrations.ts";
import type { AppEnv } from "../../env.ts";
import { readsOf } from "../connect.ts";
import { optionalJson } from "../optional-json.ts";
import { timeRange } from "../validate.ts";

/** How far back a provider's list of events is to be read. */
export const listReadBody = z.strictObject({ since: timeRange.shape.from });

/** `/api/v1/integrations` (PROG-6, PROG-10, IN-16). */
export const integrations = new Hono<AppEnv>()
  .get("/status", async (c) => {
    const providers = await integrationStatus(c.var.ctx);
    return c.json({ ...providers, email: { configured: c.env.EMAIL !== undefined && Boolean(c.env.EMAIL_FROM) } });
  })
  .post("/:provider/reconcile", optionalJson(listReadBody), async (c) => {
    const { since } = c.req.valid("json");
    return c.json(await reconcileEvents(c.var.ctx, { provider: c.req.param("provider"), since }, readsOf(c.env)));
  });
