import * as z from "zod";
import { getApplication, listApplications } from "../../core/applications/applications.ts";
import { approveApplication, decideApplications, declineApplication } from "../../core/applications/decide.ts";
import { viewApplication, viewApplicationData } from "../../core/kernel/views.ts";
import { pageReply } from "../page-reply.ts";
import { applicationQuery } from "../queries.ts";
import { json, NOTHING, ok, optionalJson, route } from "../route.ts";
import { visibleText } from "../../resources/input.ts";
import { givenId } from "../validate.ts";

/** As many as a page of the list shows: each is a transaction of its own. */
export const MAX_DECIDED = 20;

/** The note that the applicant reads beside the decision. */
export const declineNote = visibleText(1_000);

export const applicationDecline = z.strictObject({ note: declineNote.optional() });

export const applicationsDecide = z
  .strictObject({
    ids: z
      .array(givenId)
      .min(1)
      .max(MAX_DECIDED)
      .refine((ids) => new Set(ids).size === ids.length, "Name each application once."),
    status: z.enum(["approved", "declined"]),
    note: declineNote.optional(),
  })
  .refine(({ status, note }) => note === undefined || status === "declined", {
    path: ["note"],
    message: "A note belongs to the status declined.",
  });

/** `/api/v1/applications` (JOIN-6, JOIN-7). */
export const applications = [
  route("GET /api/v1/applications", {
    operation: "listApplications",
    tag: "Partners",
    scope: ["read"],
    summary: "List applications",
    description: "People who applied at `/join/<slug or id>` and confirmed their address, newest first.",
    query: applicationQuery,
    reply: ok("ApplicationList", "A page of applications."),
    handle: async ({ ctx, query, c }) => pageReply(c, await listApplications(ctx, query)),
  }),
  route("POST /api/v1/applications/bulk", {
    operation: "decideApplications",
    tag: "Partners",
    scope: ["write"],
    summary: "Decide on several applications",
    description: "At most 20, each on its own: one that is refused does not affect the others.",
    body: json("ApplicationsDecide", applicationsDecide),
    reply: ok("ApplicationsDecided", "The result for each."),
    errors: ["not_configured"],
    handle: async ({ ctx, body }) => ({
      data: await decideApplications(ctx, body.ids, body.status, body.note ?? null),
    }),
  }),
  route("GET /api/v1/applications/:id", {
    operation: "getApplication",
    tag: "Partners",
    scope: ["read"],
    summary: "Get an application",
    reply: ok("Application", "The application."),
    errors: ["not_found"],
    view: viewApplication,
    handle: ({ ctx, params }) => getApplication(ctx, params.id),
  }),
  route("POST /api/v1/applications/:id/approve", {
    operation: "approveApplication",
    tag: "Partners",
    scope: ["write"],
    summary: "Approve an application",
    description: "Makes the person an active partner, and e-mails them their referral link and a sign-in link.",
    body: NOTHING,
    reply: ok("ApplicationData", "The application; `partner_id` is the new partner."),
    errors: ["not_found", "invalid_transition", "already_exists", "not_configured"],
    view: viewApplicationData,
    handle: ({ ctx, params }) => approveApplication(ctx, params.id),
  }),
  route("POST /api/v1/applications/:id/decline", {
    operation: "declineApplication",
    tag: "Partners",
    scope: ["write"],
    summary: "Decline an application",
    description: "The applicant gets an e-mail with the note. What they wrote is deleted after 90 days.",
    body: optionalJson("ApplicationDecline", applicationDecline),
    reply: ok("ApplicationData", "The application."),
    errors: ["not_found", "invalid_transition"],
    view: viewApplicationData,
    handle: ({ ctx, params, body }) => declineApplication(ctx, params.id, body.note ?? null),
  }),
];
