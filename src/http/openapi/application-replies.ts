import * as z from "zod";
import type { ApplicationResult } from "../../core/applications/decide.ts";
import type { ApplicationView, viewApplicationData } from "../../core/kernel/views.ts";
import { APPLICATION_STATUSES, type Answer } from "../../domain/application.ts";
import { allOf, idOf, listOf, once, shows, timestamp } from "./fields.ts";

const application = once(() =>
  shows<ApplicationView>()({
    id: idOf("application"),
    program_id: idOf("program"),
    status: z.enum(APPLICATION_STATUSES),
    email: z
      .string()
      .nullable()
      .describe("Confirmed by a link. Null, like everything the person wrote, once it has been deleted."),
    name: z.string().nullable(),
    website: z.string().nullable(),
    answers: z.array(shows<Answer>()({ question: z.string(), answer: z.string() })).nullable(),
    terms_version: z.int().nullable().describe("The version of the terms that were agreed to."),
    consented_at: timestamp.nullable(),
    partner_id: idOf("partner")
      .nullable()
      .describe("The partner who was made of it, by id; null unless it is approved."),
    note: z.string().nullable(),
    created_at: timestamp,
    decided_at: timestamp.nullable(),
    updated_at: timestamp,
  }),
);

/** What webhooks and decisions show. */
const applicationData = once(() =>
  shows<ReturnType<typeof viewApplicationData>>()({
    id: idOf("application"),
    program_id: idOf("program"),
    status: z.enum(APPLICATION_STATUSES),
    partner_id: idOf("partner").nullable(),
    created_at: timestamp,
    decided_at: timestamp.nullable(),
  }),
);

/** The result for one of several. */
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

/** Of the routes of applications. */
export const applicationReplies = () => ({
  Application: application(),
  ApplicationList: listOf(application()),
  ApplicationData: applicationData(),
  ApplicationsDecided: allOf(result()),
});
