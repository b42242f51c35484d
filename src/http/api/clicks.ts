import { Hono } from "hono";
import { summarizeClicks } from "../../core/clicks/summary.ts";
import type { AppEnv } from "../../env.ts";
import { summaryQuery } from "../queries.ts";
import { query, summaryRange } from "../validate.ts";

/**
 * `/api/v1/clicks/summary?from=&to=&partner_id=`: clicks per day, recorded and dropped by reason. The last thirty days
 * by default, 366 at most.
 */
export const clicks = new Hono<AppEnv>().get("/summary", query(summaryQuery), async (c) => {
  const asked = c.req.valid("query");
  const { partner_id } = asked;
  return c.json(await summarizeClicks(c.var.ctx, { ...summaryRange(asked, c.var.now), partner_id }));
});
