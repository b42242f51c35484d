import * as z from "zod";
import type { payouts } from "../db/schema.ts";
import { PAYOUT_METHODS } from "../domain/partner.ts";
import { PAYOUT_STATUSES } from "../domain/payout.ts";
import { resource } from "./field.ts";
import {
  CENTS,
  CURRENCY,
  EXAMPLE_LATER,
  idColumn,
  INTERNAL,
  nullableString,
  TIME,
  TIME_OR_NULL,
  timestamp,
} from "./output.ts";

export type Payout = typeof payouts.$inferSelect;

export const PAYOUT = resource<Payout>()({
  id: idColumn("payout"),
  program_id: idColumn("program"),
  partner_id: idColumn("partner"),
  amount_cents: { ...CENTS, example: 3600 },
  currency: CURRENCY,
  status: {
    ...{ audit: "plain", read: () => z.enum(PAYOUT_STATUSES), example: "pending" },
    text: "`pending`, then `processing`, `paid`, `failed` or `canceled`. A paid one whose money came back is `returned`.",
  },
  method: {
    ...{ audit: "plain", read: () => z.enum(PAYOUT_METHODS).nullable(), example: "wallet" },
    text: "How it is paid; null if the partner has chosen no method.",
  },
  // Its masked form is `recipient`.
  recipient_sealed: { audit: "secret" },
  recipient: {
    ...{ audit: "plain", read: nullableString, example: "j****e@example.com" },
    text: "Where the money goes, masked; fixed when the payout was generated. Null if the partner had no details for the method.",
  },
  period_start: {
    ...{ audit: null, read: () => timestamp.nullable(), example: null },
    text: "The beginning of the period; null: from the first commission on.",
  },
  period_end: { ...TIME, example: EXAMPLE_LATER, text: "The end of the period." },
  due_at: {
    ...{ ...TIME, example: "2026-04-15T00:00:00.000Z" },
    text: "When it is due: the end of the period plus the payout term.",
  },
  commission_count: { audit: null, read: () => z.int(), example: 1, text: "How many commissions it holds." },
  reference: {
    ...{ audit: "plain", read: nullableString, example: null },
    text: "Your own note of the payment, such as the bank's reference.",
  },
  failure_code: {
    ...{ audit: "plain", read: nullableString, example: null },
    text: "Why the transfer failed or the money came back, as a code.",
  },
  failure_message: {
    ...{ audit: "plain", read: nullableString, example: null },
    text: "The same in words: the provider's, or yours for a payout that you reported as returned.",
  },
  attempt: INTERNAL,
  attempt_params: INTERNAL,
  attempt_started_at: INTERNAL,
  reconcile_at: INTERNAL,
  created_at: { ...TIME, example: EXAMPLE_LATER },
  paid_at: TIME_OR_NULL,
  updated_at: { ...TIME, example: EXAMPLE_LATER },
});
