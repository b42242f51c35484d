import { Hono } from "hono";
import * as z from "zod";
import { getEvent, listEvents } from "../../core/events.ts";
import { viewEvent } from "../../core/views.ts";
import { AUDIT_EVENT_TYPES } from "../../domain/event.ts";
import type { AppEnv } from "../../env.ts";
import { pageQuery, query, timeRange } from "../validate.ts";

export const eventQuery = pageQuery.extend({ type: z.enum(AUDIT_EVENT_TYPES).optional(), ...timeRange.shape });

/** `/api/v1/events` (EVT-6). */
export const events = new Hono<AppEnv>()
  .get("/", query(eventQuery), async (c) => {
    const page = await listEvents(c.var.ctx, c.req.valid("query"));
    return c.json({ ...page, data: page.data.map(viewEvent) });
  })
  .get("/:id", async (c) => c.json(viewEvent(await getEvent(c.var.ctx, c.req.param("id")))));
