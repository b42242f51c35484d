/** The access to a program: its members and its further API keys. */
import * as z from "zod";
import type { apiKeys, programMembers } from "../db/schema.ts";
import { MEMBER_ROLES } from "../domain/member.ts";
import { MAX_API_KEY_NAME, SCOPES } from "../domain/scope.ts";
import { resource } from "./field.ts";
import { email, visibleText } from "./input.ts";
import { idColumn, INTERNAL, string, TIME, timestamp } from "./output.ts";

/** A user of the dashboard. */
export type Member = typeof programMembers.$inferSelect;

export const MEMBER = resource<Member>()({
  id: idColumn("member"),
  program_id: idColumn("program"),
  email: {
    ...{ audit: "plain", read: string, example: "accounts@example.com", write: email, needed: true, only: "create" },
    text: "The address that the member signs in to the dashboard with.",
  },
  role: {
    ...{ audit: "plain", read: () => z.enum(MEMBER_ROLES), example: "finance" },
    ...{ write: z.enum(MEMBER_ROLES), needed: true },
    text: "`owner` may do everything; `finance` reads everything and decides on commissions and payouts; `viewer` reads everything but payout details.",
  },
  created_at: TIME,
  updated_at: TIME,
});

/** A program's key beside its first. */
export type ApiKey = typeof apiKeys.$inferSelect;

export const API_KEY = resource<ApiKey>()({
  id: idColumn("api_key"),
  program_id: idColumn("program"),
  name: {
    ...{ audit: null, read: string, example: "Reporting", write: visibleText(MAX_API_KEY_NAME), needed: true },
    text: "What the key is for; the audit log shows this name.",
  },
  scopes: {
    ...{ audit: null, read: () => z.array(z.enum(SCOPES)), example: ["read"], needed: true },
    write: z
      .array(z.enum(SCOPES))
      .min(1)
      .max(SCOPES.length)
      .refine((given) => new Set(given).size === given.length, "Name each scope once.")
      .describe("What the key may do: nothing that the calling key may not do."),
    text: "What the key may do.",
  },
  last4: { audit: null, read: string, example: "x9Qw", text: "The last four characters of the key." },
  created_at: TIME,
  expires_at: {
    ...{ audit: null, read: () => timestamp.nullable(), example: "2036-12-31T00:00:00.000Z" },
    text: "When the key stops working; null: never.",
  },
  last_used_at: {
    ...{ audit: null, read: () => timestamp.nullable(), example: null },
    text: "When the key was last used, to the hour; null: never.",
  },
  hash: INTERNAL,
});
