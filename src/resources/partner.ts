import * as z from "zod";
import type { partners } from "../db/schema.ts";
import { PARTNER_STATUSES, PAYOUT_METHODS, SLUG_PATTERN, WALLET_SERVICE } from "../domain/partner.ts";
import { bytesIn } from "../lib/slices.ts";
import { columnsWith, resource, type AnyField, type ColumnsWith } from "./field.ts";
import { email, percentage, text } from "./input.ts";
import { bag, exampleId, idColumn, idOf, INTERNAL, nullableString, string, TIME, TIME_OR_NULL } from "./output.ts";

/** The columns of `partners`, except the one that only the onboarding reads. */
export type Partner = Omit<typeof partners.$inferSelect, "accounts_forgotten">;

const MAX_METADATA_BYTES = 8 * 1024;

/** Accepted as it is: a schema that walks the fields would drop one named `__proto__`. */
const metadata = z
  .custom<Record<string, unknown>>((value) => typeof value === "object" && value !== null && !Array.isArray(value), {
    message: "This must be a JSON object.",
    abort: true,
  })
  .refine((value) => jsonBytes(value) <= MAX_METADATA_BYTES, "Metadata is at most 8 KiB of JSON.")
  .meta({ type: "object" });

/** Infinite if the value is nested too deeply for JSON. */
function jsonBytes(value: unknown): number {
  try {
    return bytesIn(JSON.stringify(value));
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

const detail = () => z.string().nullable().describe("Masked for a key without the scope `payouts`.");

export const PARTNER = resource<Partner>()({
  id: idColumn("partner"),
  program_id: idColumn("program"),
  email: {
    ...{ audit: "plain", read: string, example: "jane@example.com", write: email, needed: true },
    form: { label: "E-mail address", hint: "The partner signs in with it.", type: "email" },
    import: {
      label: "E-mail",
      names: [
        "email",
        "e-mail",
        "email address",
        "partner email",
        "affiliate email",
        "promoter email",
        "contact email",
      ],
    },
  },
  first_name: {
    ...{ audit: "plain", read: nullableString, example: "Jane", write: text(200, 0).nullable() },
    text: "The first name.",
    form: { label: "First name" },
    import: { names: ["first name", "given name", "partner first name", "affiliate first name"] },
  },
  last_name: {
    ...{ audit: "plain", read: nullableString, example: null, write: text(200, 0).nullable() },
    text: "The last name.",
    form: { label: "Last name" },
    import: { names: ["last name", "surname", "family name", "partner last name", "affiliate last name"] },
  },
  slug: {
    ...{ audit: "plain", read: string, example: "jane" },
    write: z.string().regex(SLUG_PATTERN, "A slug is 1 to 64 letters, digits, - or _."),
    needed: true,
    text: "The partner's reference in links: 1 to 64 letters, digits, - or _. Unique in the program, ignoring case.",
    form: { label: "Slug" },
  },
  status: {
    ...{ audit: "plain", read: () => z.enum(PARTNER_STATUSES), example: "invited" },
    ...{ write: z.enum(PARTNER_STATUSES), only: "patch" },
    text: "Only `active` partners earn. A new one is `invited`.",
    import: {
      label: "State",
      names: ["status", "state", "account status", "partner status", "affiliate status", "enrollment status"],
    },
  },
  commission_pct: {
    ...{ audit: "plain", read: () => percentage.nullable(), example: 25, write: percentage.nullable() },
    text: "The partner's own percentage. Null: the program's default.",
    form: { label: "Own commission rate", type: "number" },
    import: {
      label: "Commission in percent",
      names: ["commission_pct", "commission rate", "commission percent", "commission percentage", "commission %"],
    },
  },
  payout_method: {
    ...{ audit: "plain", payout_detail: true },
    ...{ read: () => z.enum(PAYOUT_METHODS).nullable(), example: null, write: z.enum(PAYOUT_METHODS).nullable() },
    text: "How the partner is paid; null while none is chosen.",
    form: { label: "Paid by" },
    import: {
      label: "Payout method",
      names: ["payout method", "payment method", "payout type", "preferred payout method", "payout option"],
    },
  },
  payout_email: {
    ...{ audit: "address", payout_detail: true, read: detail, example: null, write: email.nullable() },
    text: "The address that `wallet` payouts go to.",
    form: { label: `E-mail at ${WALLET_SERVICE}`, type: "email" },
    import: {
      label: "E-mail for payouts",
      names: ["payout email", "paypal email", "paypal", "payment email", "affiliate paypal email", "wise email"],
    },
  },
  provider_a_account_id: { audit: "account", payout_detail: true, read: detail, example: null },
  metadata: {
    ...{ audit: "plain", read: () => bag.nullable(), example: null, write: metadata.nullable() },
    text: "A JSON object of your own, of up to 8 KiB.",
  },
  group_id: {
    ...{
      audit: "plain",
      read: () => idOf("group"),
      example: exampleId("grp"),
      write: z.string().regex(/^grp_[0-9a-z]{26}$/, "This must be the id of a group."),
    },
    text: "The group that the partner belongs to, by id. Default: the program's default group.",
    form: { label: "Group" },
  },
  bank_account_sealed: INTERNAL,
  bank_account: {
    ...{ audit: "sealed", payout_detail: true, read: nullableString, example: "DE** **** **** **** **30 00" },
    text: "The bank account of `bank_transfer` payouts, masked.",
  },
  crypto_address_sealed: INTERNAL,
  crypto_address: {
    ...{ audit: "sealed", payout_detail: true, read: nullableString, example: null },
    text: "The address of `crypto` payouts, masked.",
  },
  // The log has the version, not the data.
  tax_data_id: { audit: "plain" },
  payouts_held_until: {
    ...TIME_OR_NULL,
    audit: "plain",
    text: "The partner's payouts are held until this time, because their destination changed. Null or past: no hold.",
  },
  search_text: INTERNAL,
  created_at: TIME,
  updated_at: TIME,
});

/** The columns with a partner's payout method and destination. */
export type PayoutDetail = ColumnsWith<typeof PARTNER, "payout_detail">;
export const PAYOUT_DETAILS = columnsWith(PARTNER, "payout_detail");

/** Texts about the partner that a form and an import fill in, and that may be empty. */
export type PartnerText = Exclude<TypedText, PayoutDetail>;
type TypedText = {
  [C in ColumnsWith<typeof PARTNER, "form">]: string extends Partner[C] ? (null extends Partner[C] ? C : never) : never;
}[ColumnsWith<typeof PARTNER, "form">];

export const PARTNER_TEXTS = columnsWith(PARTNER, "form").filter((column): column is PartnerText => {
  const field: AnyField = PARTNER[column];
  return !field.needed && !field.payout_detail && field.import !== undefined && field.form?.type !== "number";
});
