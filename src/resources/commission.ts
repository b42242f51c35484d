import * as z from "zod";
import type { commissions } from "../db/schema.ts";
import { COMMISSION_KINDS, COMMISSION_STATUSES, REVIEW_REASONS } from "../domain/commission.ts";
import { FLOW_ACTION_TYPES } from "../domain/flow.ts";
import { PROVIDER_NAMES } from "../providers/registry.ts";
import { resource } from "./field.ts";
import {
  actionValue,
  CENTS,
  cents,
  currencyCode,
  EXAMPLE_PROVIDER,
  EXAMPLE_TIME,
  exampleId,
  idColumn,
  idOf,
  INTERNAL,
  nullableString,
  TIME,
  TIME_OR_NULL,
  timestamp,
} from "./output.ts";

export type Commission = typeof commissions.$inferSelect;

export const rateSchema = () =>
  z.strictObject({
    source: z.enum(["flow", "partner", "group", "program", "manual"]),
    action_type: z.enum(FLOW_ACTION_TYPES),
    action_value: actionValue,
  });

export const RATE_EXAMPLE = { source: "flow", action_type: "percentage", action_value: 30 };

export const COMMISSION = resource<Commission>()({
  id: idColumn("commission"),
  program_id: idColumn("program"),
  partner_id: { ...idColumn("partner"), audit: "plain" },
  payment_id: { audit: "plain", read: () => idOf("payment").nullable(), example: exampleId("pmt") },
  flow_id: { audit: "plain", read: () => idOf("flow").nullable(), example: exampleId("flw") },
  payout_id: {
    ...{ audit: "plain", read: () => idOf("payout").nullable(), example: null },
    text: "The payout that holds it; as long as one does, it cannot change.",
  },
  kind: {
    ...{ audit: null, read: () => z.enum(COMMISSION_KINDS), example: "sale" },
    text: "A `clawback` corrects a commission that is already paid; a `lead` comes from a flow for leads.",
  },
  source_commission_id: {
    ...{ audit: null, read: () => idOf("commission").nullable(), example: null },
    text: "For a clawback, the commission that it corrects: what it takes back or, above 0, adds.",
  },
  status: {
    ...{ audit: "plain", read: () => z.enum(COMMISSION_STATUSES), example: "approved" },
    text: "`pending`, then `approved`, then `paid`; or `rejected`.",
  },
  flagged: {
    ...{ audit: "plain", read: () => z.boolean(), example: false },
    text: "Flagged commissions are never approved automatically.",
  },
  review_reason: {
    ...{ audit: "plain", read: () => z.enum([...REVIEW_REASONS, "manual"]).nullable(), example: null },
    text: "Why a person should look at it; `manual` if a person flagged it.",
  },
  review_reasons: INTERNAL,
  dismissed_reasons: INTERNAL,
  rejected_reason: { audit: "plain", read: nullableString, example: null, text: "Why it was rejected." },
  amount_cents: {
    ...CENTS,
    ...{ audit: "plain", example: 3600 },
    text: "What the partner earns; a negative amount is taken back. Smallest units of the currency.",
  },
  txn_amount_cents: { ...CENTS, audit: "plain", example: 12000 },
  base_cents: {
    ...{ audit: "plain", read: () => cents.nullable(), example: null },
    text: "What the matching lines of the payment come to, if its flow counts only these; null if the whole payment counts. Smallest units of the currency.",
  },
  currency: { audit: "plain", read: () => currencyCode, example: "USD" },
  provider: { audit: null, read: () => z.enum(PROVIDER_NAMES).nullable(), example: EXAMPLE_PROVIDER },
  provider_transaction_id: { audit: "plain", read: nullableString, example: "in_1RTa2b" },
  subscription_id: { audit: "plain", read: nullableString, example: null },
  customer_email: { audit: null, read: nullableString, example: "customer@example.com" },
  rate: { audit: "plain", read: rateSchema, example: RATE_EXAMPLE },
  note: { audit: "plain", read: nullableString, example: null },
  event_id: INTERNAL,
  created_at: TIME,
  seen_at: INTERNAL,
  hold_until: {
    ...{ audit: "plain", read: () => timestamp.nullable(), example: "2026-04-01T09:30:00.000Z" },
    text: "The end of the hold: time does not approve it before, and only if the program has `auto_approve_days`. Null without a hold.",
  },
  approved_at: {
    ...{ audit: null, read: () => timestamp.nullable(), example: EXAMPLE_TIME },
    text: "When it was approved.",
  },
  paid_at: TIME_OR_NULL,
  updated_at: TIME,
});
