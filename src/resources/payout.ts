import * as z from "zod";
import type { payouts } from "../db/schema.ts";
import { RATE_SOURCES } from "../domain/exchange.ts";
import { PAYOUT_METHODS } from "../domain/partner.ts";
import { PAYOUT_STATUSES } from "../domain/payout.ts";
import { resource } from "./field.ts";
import {
  cents,
  CENTS,
  CURRENCY,
  currencyCode,
  EXAMPLE_LATER,
  exchangeRate,
  idColumn,
  INTERNAL,
  nullableString,
  TIME,
  TIME_OR_NULL,
  timestamp,
} from "./output.ts";

/** `held_until` is the hold of its partner, which is no column (`core/payouts/hold.ts`). */
export type Payout = PayoutRow & { held_until: string | null };
export type PayoutRow = typeof payouts.$inferSelect;

const sourceAmount = z.object({
  currency: currencyCode,
  amount_cents: cents,
  rate: exchangeRate.describe("The value of one unit in the payout's currency."),
  rate_source: z.enum(RATE_SOURCES).nullable().describe("Null for the payout's own currency."),
  rate_at: timestamp
    .nullable()
    .describe("When you set the rate, or the provider used it; null for the payout's own currency."),
  converted_cents: cents.describe("The amount times the rate, in the payout's currency, rounded half away from zero."),
});

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
  source_amounts: {
    ...{ audit: null, read: () => z.array(sourceAmount).nullable(), example: null },
    text: "What was earned in each currency, and its conversion: the parts add up to `amount_cents`. Fixed when the payout was generated; null if nothing was converted.",
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
  held_until: {
    ...TIME_OR_NULL,
    text: "It cannot be paid before this time, because the partner's payout destination changed. Null if it is not held.",
  },
});

/** The columns that a payout's statement repeats. */
export const OF_STATEMENT = [
  ...(["program_id", "partner_id", "status", "amount_cents", "currency", "commission_count", "method"] as const),
  ...(["source_amounts", "reference", "period_start", "period_end", "created_at", "paid_at"] as const),
] as const;
