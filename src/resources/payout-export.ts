import * as z from "zod";
import type { payoutExports } from "../db/schema.ts";
import { EXPORT_STATUSES, FILE_FORMATS } from "../domain/payout-export.ts";
import { resource } from "./field.ts";
import { CENTS, CURRENCY, EXAMPLE_LATER, idColumn, nullableString, TIME } from "./output.ts";

export type PayoutExport = typeof payoutExports.$inferSelect;

export const PAYOUT_EXPORT = resource<PayoutExport>()({
  id: idColumn("export"),
  program_id: idColumn("program"),
  format: { audit: null, read: () => z.enum(FILE_FORMATS), example: "wallet", text: "The form of the file." },
  currency: CURRENCY,
  count: { audit: null, read: () => z.int(), example: 40, text: "How many payouts are in the file." },
  amount_cents: { ...CENTS, example: 937730, text: "Their sum, in smallest units of the currency." },
  status: {
    ...{ audit: null, read: () => z.enum(EXPORT_STATUSES), example: "open" },
    text: "`open` until it is marked as paid or canceled.",
  },
  reference: {
    ...{ audit: null, read: nullableString, example: null },
    text: "Your own note of the payment, which its payouts have too.",
  },
  debtor_sealed: { audit: null },
  created_at: { ...TIME, example: EXAMPLE_LATER },
  updated_at: { ...TIME, example: EXAMPLE_LATER },
});
