import { summarizeClicks } from "../../core/clicks/summary.ts";
import { summaryQuery } from "../queries.ts";
import { ok, route } from "../route.ts";
import { summaryRange } from "../validate.ts";

/** `/api/v1/clicks/summary?from=&to=&partner_id=`: clicks a day and dropped by reason; 30 days, 366 at most. */
export const clicks = [
  route("GET /api/v1/clicks/summary", {
    operation: "getClickSummary",
    tag: "Clicks",
    scope: ["read"],
    summary: "Summarize clicks by day",
    description:
      "Recorded clicks, and dropped ones by reason, for each UTC day. The last 30 days by default, at most 366. With `partner_id` only recorded clicks, because a dropped click belongs to no partner.",
    query: summaryQuery,
    reply: ok("ClickSummary", "The days in the range, oldest first."),
    handle: ({ ctx, query, c }) =>
      summarizeClicks(ctx, { ...summaryRange(query, c.var.now), partner_id: query.partner_id }),
  }),
];
