import * as z from "zod";
import type { webhookEndpoints } from "../db/schema.ts";
import { SUBSCRIPTIONS } from "../domain/event.ts";
import { checkTargetUrl, MAX_TARGET_URL_LENGTH } from "../domain/target-url.ts";
import { resource } from "./field.ts";
import { text } from "./input.ts";
import { idColumn, INTERNAL, nullableString, string, TIME, timestamp } from "./output.ts";

export type Endpoint = typeof webhookEndpoints.$inferSelect;

/** Validated in create and PATCH requests alike (HOOK-7); the resolver is queried before every attempt. */
const url = text(MAX_TARGET_URL_LENGTH).superRefine((value, issues) => {
  const checked = checkTargetUrl(value);
  if (!checked.ok) issues.addIssue({ code: "custom", message: `The URL ${checked.reason}.` });
});

export const ENDPOINT = resource<Endpoint>()({
  id: idColumn("endpoint"),
  program_id: idColumn("program"),
  url: {
    ...{ audit: "plain", read: string, example: "https://hooks.example.com/affiliates", write: url, needed: true },
    text: "Where events are sent: https, a public address.",
  },
  // Only the replies to create and rotate show it.
  secret: { audit: "secret" },
  secret_previous: INTERNAL,
  secret_previous_until: INTERNAL,
  events: {
    ...{ audit: "plain", read: () => z.array(z.enum(SUBSCRIPTIONS)), example: ["commission.created"] },
    ...{ write: z.array(z.enum(SUBSCRIPTIONS)).min(1), needed: true },
    text: "The event types to send; `*` means all.",
  },
  description: {
    ...{ audit: "plain", read: nullableString, example: null, write: text(500, 0).nullable() },
    text: "A description of your own.",
  },
  active: {
    ...{ audit: "plain", read: () => z.boolean(), example: true, write: z.boolean(), only: "patch" },
    text: "Whether events are sent to the endpoint.",
  },
  failing_since: INTERNAL,
  failure_count: INTERNAL,
  disabled_at: {
    ...{ audit: null, read: () => timestamp.nullable(), example: null },
    text: "When it was disabled because deliveries failed.",
  },
  deleted_at: INTERNAL,
  created_at: TIME,
  updated_at: TIME,
});
