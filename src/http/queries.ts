/** The query parameters of the lists, for the API and the pages. */
import * as z from "zod";
import { EXPORT_FORMATS } from "../core/payouts/export.ts";
import { APPLICATION_STATUSES } from "../domain/application.ts";
import { CLAIM_STATUSES } from "../domain/claim.ts";
import { COMMISSION_STATUSES } from "../domain/commission.ts";
import { DELIVERY_STATUSES } from "../domain/delivery.ts";
import { PARTNER_STATUSES, PAYOUT_METHODS } from "../domain/partner.ts";
import { OUTCOMES } from "../domain/payment.ts";
import { PAYOUT_STATUSES } from "../domain/payout.ts";
import { EXPORT_STATUSES } from "../domain/payout-export.ts";
import { AUDIT_EVENT_TYPES, PROVIDER_NAMES } from "../providers/registry.ts";
import { givenId, pageQuery, timeRange } from "./validate.ts";

const id = givenId.optional();

export const partnerQuery = pageQuery.extend({
  status: z.enum(PARTNER_STATUSES).optional(),
  group_id: id,
  search: z.string().max(200).optional(),
});

export const applicationQuery = pageQuery.extend({
  status: z.enum(APPLICATION_STATUSES).optional(),
  ...timeRange.shape,
});

export const paymentQuery = pageQuery.extend({
  search: z.string().max(200).optional(),
  outcome: z.enum(OUTCOMES).optional(),
  provider: z.enum(PROVIDER_NAMES).optional(),
  partner_id: id,
  ...timeRange.shape,
});

export const leadQuery = pageQuery.extend({
  credited: z
    .enum(["true", "false"])
    .transform((value) => value === "true")
    .optional(),
  partner_id: id,
  ...timeRange.shape,
});

/** Only a page has this list: the API has no list of customers. */
export const customerQuery = pageQuery.extend({
  search: z.string().max(200).optional(),
  provider: z.enum(PROVIDER_NAMES).optional(),
  partner_id: id,
  ...timeRange.shape,
});

export const claimQuery = pageQuery.extend({ status: z.enum(CLAIM_STATUSES).optional(), partner_id: id });

export const commissionQuery = pageQuery.extend({
  status: z.enum(COMMISSION_STATUSES).optional(),
  partner_id: id,
  payout_id: id,
  provider: z.enum(PROVIDER_NAMES).optional(),
  flagged: z
    .enum(["true", "false"])
    .transform((value) => value === "true")
    .optional(),
  ...timeRange.shape,
});

// Accepts any code: providers may name a currency that this version does not know.
const currency = z
  .string()
  .regex(/^[A-Z]{3}$/, "This must be an ISO 4217 code in upper case, such as USD.")
  .optional();

export const payoutQuery = pageQuery.extend({
  status: z.enum(PAYOUT_STATUSES).optional(),
  method: z.enum(PAYOUT_METHODS).optional(),
  currency,
  partner_id: id,
  ...timeRange.shape,
});

export const payoutExportQuery = pageQuery.extend({ status: z.enum(EXPORT_STATUSES).optional() });

export const statementQuery = z.object({
  format: z.enum(["json", "csv"]).default("json"),
  cursor: pageQuery.shape.cursor,
});

export const exportQuery = z.object({
  status: payoutQuery.shape.status,
  format: z.enum(EXPORT_FORMATS).default("generic"),
  currency,
});

export const eventQuery = pageQuery.extend({ type: z.enum(AUDIT_EVENT_TYPES).optional(), ...timeRange.shape });

export const deliveryQuery = pageQuery.extend({ status: z.enum(DELIVERY_STATUSES).optional() });

/** Sums by day; the default range is the last thirty days. */
export const summaryQuery = z.object({ ...timeRange.shape, partner_id: id });
