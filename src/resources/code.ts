import * as z from "zod";
import type { partnerCodes } from "../db/schema.ts";
import { MAX_CODE } from "../domain/code.ts";
import { VENDOR_NAMES } from "../providers/registry.ts";
import { resource } from "./field.ts";
import { trimmed } from "./input.ts";
import { EXAMPLE_PROVIDER, idColumn, INTERNAL, nullableString, string, TIME } from "./output.ts";

export type PartnerCode = typeof partnerCodes.$inferSelect;

export const CODE = resource<PartnerCode>()({
  id: idColumn("code"),
  program_id: idColumn("program"),
  partner_id: { ...idColumn("partner"), audit: "plain", text: "The partner who has it, by id." },
  provider: {
    ...{ audit: null, read: () => z.enum(VENDOR_NAMES), example: EXAMPLE_PROVIDER },
    ...{ write: z.enum(VENDOR_NAMES), needed: true },
    text: "The provider that has the code.",
  },
  code: {
    ...{ audit: "plain", read: string, example: "JANE20", write: trimmed(MAX_CODE), needed: true },
    text: "The code that customers enter.",
  },
  provider_code_id: {
    ...{ audit: "plain", read: nullableString, example: "promo_1RTa2b", write: trimmed(255).nullable() },
    text: "The provider's id of the promotion code, coupon or discount.",
  },
  code_key: INTERNAL,
  created_at: TIME,
  ended_at: INTERNAL,
});
