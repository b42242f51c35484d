import { Hono } from "hono";
import * as z from "zod";
import { getApplication, listApplications } from "../../core/applications/applications.ts";
import {
  approveApplication,
  decideApplications,
  declineApplication,
  type ApplicationResult,
} from "../../core/applications/decide.ts";
import { viewApplication, viewApplicationData } from "../../core/kernel/views.ts";
import type { AppEnv } from "../../env.ts";
import { replies } from "../idempotency.ts";
import { nothing, optionalJson } from "../optional-json.ts";
import { pageReply } from "../page-reply.ts";
import { applicationQuery } from "../queries.ts";
import { givenId, jsonBody, query, requireJson, text } from "../validate.ts";

/** As many as a page of the list shows: each is a transaction of its own. */
export const MAX_DECIDED = 20;

/** What the applicant reads beside the decision. */
export const declineNote = text(1_000);

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

function viewDecided(data: ApplicationResult[]) {
  return { data };
}

/** `/api/v1/applications` (JOIN-6, JOIN-7). */
export const applications = new Hono<AppEnv>()
  .get("/", query(applicationQuery), async (c) => pageReply(c, await listApplications(c.var.ctx, c.req.valid("query"))))
  .post("/bulk", requireJson, jsonBody(applicationsDecide), async (c) => {
    const { ids, status, note } = c.req.valid("json");
    return c.json(viewDecided(await decideApplications(c.var.ctx, ids, status, note ?? null)));
  })
  .get("/:id", async (c) => c.json(viewApplication(await getApplication(c.var.ctx, c.req.param("id")))))
  .post("/:id/approve", optionalJson(nothing), replies(viewApplicationData, 200), async (c) =>
    c.json(viewApplicationData(await approveApplication(c.var.ctx, c.req.param("id")))),
  )
  .post("/:id/decline", optionalJson(applicationDecline), replies(viewApplicationData, 200), async (c) => {
    const { note = null } = c.req.valid("json");
    return c.json(viewApplicationData(await declineApplication(c.var.ctx, c.req.param("id"), note)));
  });
