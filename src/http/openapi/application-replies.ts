import * as z from "zod";
import type { ApplicationResult } from "../../core/applications/decide.ts";
import type { ApplicationView, viewApplicationData } from "../../core/kernel/views.ts";
import { APPLICATION } from "../../resources/application.ts";
import { pick, readShape } from "../../resources/field.ts";
import { allOf, listOf, once, shows } from "./fields.ts";

const application = once(() => shows<ApplicationView>()(readShape(APPLICATION)));

/** The application in webhooks and decisions. */
const applicationData = once(() =>
  shows<ReturnType<typeof viewApplicationData>>()(
    pick(readShape(APPLICATION), ["id", "program_id", "status", "partner_id", "created_at", "decided_at"]),
  ),
);

/** The result for one of several applications. */
const result = () =>
  z.union([
    shows<Extract<ApplicationResult, { ok: true }>>()({
      id: z.string(),
      ok: z.literal(true),
      status: z.enum(["approved", "declined"]),
    }),
    shows<Extract<ApplicationResult, { ok: false }>>()({
      id: z.string(),
      ok: z.literal(false),
      error: z.strictObject({
        code: z.enum(["not_found", "invalid_transition", "already_exists"]),
        message: z.string(),
      }),
    }),
  ]);

export const applicationReplies = () => ({
  Application: application(),
  ApplicationList: listOf(application()),
  ApplicationData: applicationData(),
  ApplicationsDecided: allOf(result()),
});
