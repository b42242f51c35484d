import * as z from "zod";
import type { claims } from "../db/schema.ts";
import { CLAIM_STATUSES } from "../domain/claim.ts";
import { resource } from "./field.ts";
import { EXAMPLE_LATER, exampleId, idColumn, idOf, nullableString, TIME, timestamp } from "./output.ts";

export type SaleClaim = typeof claims.$inferSelect;

export const CLAIM = resource<SaleClaim>()({
  id: idColumn("claim"),
  program_id: idColumn("program"),
  partner_id: idColumn("partner"),
  status: {
    ...{ audit: "plain", read: () => z.enum(CLAIM_STATUSES), example: "granted" },
    text: "`open` until it is decided.",
  },
  order_id: {
    ...{ audit: null, read: nullableString, example: "order-9001" },
    text: "As the partner entered it. Null if the claim names a day.",
  },
  day: {
    ...{ audit: null, read: nullableString, example: null },
    text: "The day of the sale that the partner entered: 2026-11-02.",
  },
  email_domain: {
    ...{ audit: null, read: nullableString, example: null },
    text: "With `day`, the domain of the customer's e-mail address.",
  },
  payment_id: {
    audit: "plain",
    read: () => idOf("payment").nullable().describe("The payment that was decided on."),
    example: exampleId("pmt"),
  },
  note: { audit: null, read: nullableString, example: null, text: "A note to the partner with the answer." },
  created_at: TIME,
  decided_at: { audit: null, read: () => timestamp.nullable(), example: EXAMPLE_LATER },
});
