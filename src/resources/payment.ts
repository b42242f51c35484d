import * as z from "zod";
import type { payments } from "../db/schema.ts";
import { FLOW_EVENTS } from "../domain/flow.ts";
import { OUTCOMES } from "../domain/payment.ts";
import { PROVIDER_NAMES } from "../providers/registry.ts";
import { resource } from "./field.ts";
import {
  CENTS,
  CURRENCY,
  EXAMPLE_PROVIDER,
  exampleId,
  idColumn,
  idOf,
  INTERNAL,
  nullableString,
  string,
  TIME,
} from "./output.ts";

export type Payment = typeof payments.$inferSelect;

export const PAYMENT = resource<Payment>()({
  id: idColumn("payment"),
  program_id: idColumn("program"),
  provider: { audit: null, read: () => z.enum(PROVIDER_NAMES), example: EXAMPLE_PROVIDER },
  provider_transaction_id: { audit: null, read: string, example: "in_1RTa2b" },
  outcome: { audit: null, read: () => z.enum(OUTCOMES).nullable(), example: "commission" },
  partner_id: { audit: null, read: () => idOf("partner").nullable(), example: exampleId("par") },
  ref: { audit: null, read: nullableString, example: "jane" },
  code_id: {
    ...{ audit: null, read: () => idOf("code").nullable(), example: null },
    text: "The partner's promotion code that decided it.",
  },
  currency: CURRENCY,
  txn_amount_cents: { ...CENTS, example: 12000 },
  gross_cents: INTERNAL,
  adjusted_cents: { ...CENTS, example: 0 },
  customer_email: { audit: null, read: nullableString, example: "customer@example.com" },
  customer_id: { audit: null, read: nullableString, example: "cus_9s6XKz", text: "The provider's id of the customer." },
  subscription_id: { audit: null, read: nullableString, example: null },
  // Shown only in the trace of a single payment.
  decision: INTERNAL,
  facts_revision: INTERNAL,
  settled_revision: INTERNAL,
  erased_at: INTERNAL,
  created_at: TIME,
  updated_at: TIME,
  rules_seen: INTERNAL,
  event: {
    ...{ audit: null, read: () => z.enum(FLOW_EVENTS), example: "transaction_completed" },
    text: "A payment, or a lead that your server reported, which has the amount 0.",
  },
  seen_at: INTERNAL,
});
