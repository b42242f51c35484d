import * as z from "zod";
import type { Vendor } from "../provider.ts";
import { providerAConnect } from "./connect.ts";
import { providerADestinations } from "./destinations.ts";
import { READ_TYPES, webhooks } from "./events.ts";
import { KEPT_BY } from "./payment.ts";
import { providerAReads } from "./reads.ts";
import { texts } from "./texts.ts";

/** Provider A: Stripe (IN-9). */
export const providerA = {
  name: "provider_a" as const,
  text: "Stripe",
  reported_by: "webhook" as const,
  kept_by: KEPT_BY,
  ...webhooks,
  read_types: READ_TYPES,
  ...texts,
  customers: { id_pattern: /^cus_[A-Za-z0-9_]{1,250}$/, id_prefix: "cus_", has_email: true },
  document: {
    description:
      "`Stripe-Signature` is taken as well. At most 1 MiB. Repeated events change nothing. Thin events are read with the program's API key.",
    event: z.looseObject({
      id: z.string().describe("The event's id."),
      type: z
        .string()
        .describe("The type: `checkout.session.completed`, `invoice.paid`, `charge.refunded`, and others."),
      created: z.union([z.int(), z.string()]),
      data: z
        .looseObject({ object: z.looseObject({}) })
        .describe("What happened.")
        .optional(),
    }),
    example: {
      id: "evt_1RTa2b",
      type: "checkout.session.completed",
      created: 1772443800,
      data: { object: { id: "cs_1RTa2b", client_reference_id: "jane", amount_total: 12000, currency: "usd" } },
    },
  },
  connect: providerAConnect,
  reads: providerAReads,
  destinations: providerADestinations,
} satisfies Vendor;
