import { Hono } from "hono";
import * as z from "zod";
import { summarizeClicks } from "../../core/clicks/summary.ts";
import type { AppEnv } from "../../env.ts";
import { invalidField } from "../../lib/errors.ts";
import { DAY } from "../../lib/time.ts";
import { query, timeRange } from "../validate.ts";

export const summaryQuery = z.strictObject({ ...timeRange.shape, partner_id: z.string().optional() });

const MAX_DAYS = 366;
const DEFAULT_DAYS = 30;

/**
 * `/api/v1/clicks/summary?from=&to=&partner_id=`: clicks per day, recorded and dropped by reason. The last thirty days
 * by default, 366 at most.
 */
export const clicks = new Hono<AppEnv>().get("/summary", query(summaryQuery), async (c) => {
  const { from: asked, to: until, partner_id } = c.req.valid("query");
  const to = until ?? (asked === undefined ? c.var.now : Math.max(c.var.now, asked));
  const from = asked ?? to - DEFAULT_DAYS * DAY;
  if (to - from > MAX_DAYS * DAY) throw invalidField("from", `must be at most ${MAX_DAYS} days before to`);
  return c.json(await summarizeClicks(c.var.ctx, { from, to: Math.max(from, to), partner_id }));
});
