import * as z from "zod";
import type { events } from "../db/schema.ts";
import { ACTOR_TYPES } from "../domain/actor.ts";
import { AUDIT_EVENT_TYPES } from "../providers/registry.ts";
import { resource } from "./field.ts";
import { bag, exampleId, idColumn, TIME } from "./output.ts";

export type AuditEvent = Omit<typeof events.$inferSelect, "uncounted">;

const actor = () =>
  z.strictObject({
    type: z.enum(ACTOR_TYPES),
    id: z.string().nullable().describe("A partner's id, a member's address, or the id of a provider's event."),
    name: z.string().nullable(),
  });

export const EVENT = resource<AuditEvent>()({
  id: idColumn("event"),
  program_id: idColumn("program"),
  type: { audit: null, read: () => z.enum(AUDIT_EVENT_TYPES), example: "partner.created", text: "What happened." },
  payload: {
    ...{ audit: null, read: () => bag },
    example: { partner_id: exampleId("par"), email: "jane@example.com", slug: "jane", status: "invited" },
    text: "Its fields depend on the type. A click has `ref`, `landing`, `referrer`, `partner_id`, `sub` if the link has one, and `country`: the visitor's (ISO 3166-1 alpha-2), null if it is not known.",
  },
  actor: {
    ...{ audit: null, read: () => actor().nullable() },
    example: { type: "api_key", id: "key_5f3c9a1e7b20d846", name: "x9Qw" },
    text: "Who did it; null for events from before this was recorded.",
  },
  changes: {
    ...{ audit: null, read: () => z.record(z.string(), z.tuple([z.unknown(), z.unknown()])).nullable(), example: null },
    text: "For a change, each field's old and new value; secrets and payout details are masked.",
  },
  created_at: TIME,
});
