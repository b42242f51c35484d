import { Hono } from "hono";
import { getEvent, listEvents } from "../../core/events/events.ts";
import { viewEvent } from "../../core/kernel/views.ts";
import type { AppEnv } from "../../env.ts";
import { eventQuery } from "../queries.ts";
import { query } from "../validate.ts";

/** `/api/v1/events` (EVT-6). */
export const events = new Hono<AppEnv>()
  .get("/", query(eventQuery), async (c) => {
    const page = await listEvents(c.var.ctx, c.req.valid("query"));
    return c.json({ ...page, data: page.data.map(viewEvent) });
  })
  .get("/:id", async (c) => c.json(viewEvent(await getEvent(c.var.ctx, c.req.param("id")))));
