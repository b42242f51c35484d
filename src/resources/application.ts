import * as z from "zod";
import type { applications } from "../db/schema.ts";
import { APPLICATION_STATUSES, type Answer } from "../domain/application.ts";
import { resource } from "./field.ts";
import {
  EXAMPLE_LATER,
  EXAMPLE_TIME,
  exampleId,
  idColumn,
  idOf,
  INTERNAL,
  nullableString,
  TIME,
  timestamp,
} from "./output.ts";

export type Application = typeof applications.$inferSelect;

const answer = () =>
  z.strictObject({ question: z.string(), answer: z.string() } satisfies Record<keyof Answer, unknown>);

export const APPLICATION = resource<Application>()({
  id: idColumn("application"),
  program_id: idColumn("program"),
  status: {
    ...{ audit: "plain", read: () => z.enum(APPLICATION_STATUSES), example: "approved" },
    text: "`pending` until it is decided.",
  },
  email: {
    ...{ audit: null, read: nullableString, example: "jane@example.com" },
    text: "Confirmed by a link. Null, like everything the person wrote, once it has been deleted.",
  },
  name: { audit: null, read: nullableString, example: "Jane Roe", text: "The name that the person gave." },
  website: {
    ...{ audit: null, read: nullableString, example: "https://jane.example.com/" },
    text: "The website where the person wants to promote the program.",
  },
  answers: {
    ...{ audit: null, read: () => z.array(answer()).nullable() },
    example: [{ question: "Who reads you?", answer: "People who bake." }],
    text: "The answers to the program's questions.",
  },
  terms_version: {
    ...{ audit: null, read: () => z.int().nullable(), example: 2 },
    text: "The version of the terms that were agreed to.",
  },
  consented_at: {
    ...{ audit: null, read: () => timestamp.nullable(), example: EXAMPLE_TIME },
    text: "When the terms were agreed to.",
  },
  partner_id: {
    ...{ audit: "plain", read: () => idOf("partner").nullable(), example: exampleId("par") },
    text: "The partner who was made of it, by id; null unless it is approved.",
  },
  note: {
    ...{ audit: null, read: nullableString, example: null },
    text: "The note to the person when the application was declined.",
  },
  group_slug: {
    ...{ audit: null, read: nullableString, example: null },
    text: "The group that the link to the form named, by slug; null: none.",
  },
  token_hash: INTERNAL,
  created_at: TIME,
  decided_at: { audit: null, read: () => timestamp.nullable(), example: EXAMPLE_LATER },
  updated_at: { ...TIME, example: EXAMPLE_LATER },
});
