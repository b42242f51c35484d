import { Hono } from "hono";
import { getEvent, listEvents } from "../../core/events/events.ts";
import type { Reader } from "../../core/kernel/context.ts";
import { withDetailsInPart } from "../../core/kernel/payout-details.ts";
import type { AuditEvent } from "../../core/kernel/rows.ts";
import { viewEvent } from "../../core/kernel/views.ts";
import type { AppEnv } from "../../env.ts";
import { eventQuery } from "../queries.ts";
import { query } from "../validate.ts";

function shown(event: AuditEvent, ctx: Pick<Reader, "may">) {
  const view = viewEvent(event);
  return ctx.may("payouts") ? view : withDetailsInPart(view);
}

/** `/api/v1/events` (EVT-6). */
export const events = new Hono<AppEnv>()
  .get("/", query(eventQuery), async (c) => {
    const page = await listEvents(c.var.ctx, c.req.valid("query"));
    return c.json({ ...page, data: page.data.map((event) => shown(event, c.var.ctx)) });
  })
  .get("/:id", async (c) => c.json(shown(await getEvent(c.var.ctx, c.req.param("id")), c.var.ctx)));
