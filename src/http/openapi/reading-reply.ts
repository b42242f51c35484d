import * as z from "zod";
import { READ_TROUBLES, VENDOR_TROUBLES } from "../../domain/read-trouble.ts";
import { timestamp } from "../../resources/output.ts";

/** The fields about the reading of a provider's list of events. */
export const readingFields = () => ({
  api_key_set: z.boolean(),
  complete_from: timestamp.nullable(),
  complete_until: timestamp
    .nullable()
    .describe(
      "Everything that the provider reported from `complete_from` until then has been taken in, even if its webhooks did not arrive. Null until its list of events has been read to the end, which needs an API key.",
    ),
  recovered: z
    .int()
    .min(0)
    .describe(
      "How many events were taken in that no webhook had delivered, of the types that the provider should send.",
    ),
  is_reading: z.boolean().describe("Whether the list is being read now; its events are taken in step by step."),
  read_failure: z
    .strictObject({ reason: z.enum(READ_TROUBLES), at: timestamp, since: timestamp })
    .nullable()
    .describe("Why the list could not be read at the last attempt, and since when; it is tried again."),
  unanswered: z
    .strictObject({ reason: z.enum(VENDOR_TROUBLES), at: timestamp, since: timestamp })
    .nullable()
    .describe(
      "Why the provider did not say which payments refunds are of, or what codes are called, and since when; they wait, and it is asked again.",
    ),
  unparsable: z
    .array(
      z.strictObject({
        event_id: z.string(),
        event_type: z.string().nullable(),
        occurred_at: timestamp,
        problem: z.string(),
        at: timestamp,
        since: timestamp,
      }),
    )
    .describe(
      "Listed events that are not taken in, as they are of no documented shape; the oldest 20, oldest first. Everything before them is and, where they are fewer, everything after them. They are read again every day, and with each `reconcile`.",
    ),
});
