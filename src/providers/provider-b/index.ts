import * as z from "zod";
import type { Vendor } from "../provider.ts";
import { providerBDestinations } from "./destinations.ts";
import { KEPT_BY, READ_TYPES, webhooks } from "./events.ts";
import { providerBReads } from "./reads.ts";
import { texts } from "./texts.ts";

/** Provider B: Paddle Billing (IN-9). */
export const providerB = {
  name: "provider_b" as const,
  text: "Paddle",
  reported_by: "webhook" as const,
  kept_by: KEPT_BY,
  ...webhooks,
  read_types: READ_TYPES,
  ...texts,
  customers: { id_pattern: /^ctm_[A-Za-z0-9_]{1,250}$/, id_prefix: "ctm_", has_email: false },
  document: {
    description:
      "`Paddle-Signature` is taken as well. The program is `custom_data.service_program`, else that of the transaction or subscription named, else `program_id`: the first whose secret verifies. At most 1 MiB.",
    event: z.looseObject({
      event_id: z.string().describe("The event's id."),
      event_type: z
        .string()
        .describe("The type: `transaction.completed`, `subscription.canceled`, `adjustment.updated`, and others."),
      occurred_at: z.string(),
      data: z.looseObject({}).describe("What happened.").optional(),
    }),
    example: {
      event_id: "evt_01kj41r9q0",
      event_type: "transaction.completed",
      occurred_at: "2026-03-02T09:30:00Z",
      data: {
        id: "txn_01kj41r9q0",
        custom_data: { service_ref: "jane", service_program: "prog_01kj41r9q0x5v7n2m8w3d6t4bz" },
      },
    },
  },
  reads: providerBReads,
  destinations: providerBDestinations,
} satisfies Vendor;
