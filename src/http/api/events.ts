import { getEvent, listEvents } from "../../core/events/events.ts";
import type { Reader } from "../../core/kernel/context.ts";
import { withDetailsInPart } from "../../core/kernel/payout-details.ts";
import type { AuditEvent } from "../../core/kernel/rows.ts";
import { viewEvent } from "../../core/kernel/views.ts";
import { eventQuery } from "../queries.ts";
import { ok, route } from "../route.ts";

function shown(event: AuditEvent, ctx: Pick<Reader, "may">) {
  const view = viewEvent(event);
  return ctx.may("payouts") ? view : withDetailsInPart(view);
}

/** `/api/v1/events` (EVT-6). */
export const events = [
  route("GET /api/v1/events", {
    operation: "listEvents",
    tag: "Events",
    scope: ["read"],
    summary: "List events",
    description: "Newest first; `total` is exact.",
    query: eventQuery,
    reply: ok("EventList", "A page of events."),
    handle: async ({ ctx, query }) => {
      const page = await listEvents(ctx, query);
      return { ...page, data: page.data.map((event) => shown(event, ctx)) };
    },
  }),
  route("GET /api/v1/events/:id", {
    operation: "getEvent",
    tag: "Events",
    scope: ["read"],
    summary: "Get an event",
    reply: ok("Event", "The event."),
    errors: ["not_found"],
    view: shown,
    handle: ({ ctx, params }) => getEvent(ctx, params.id),
  }),
];
