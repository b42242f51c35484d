import * as z from "zod";
import type { programs } from "../db/schema.ts";
import {
  APPLICATION_MODES,
  MAX_QUESTION,
  MAX_QUESTIONS,
  MAX_TERMS,
  PROGRAM_SLUG_PATTERN,
} from "../domain/application.ts";
import { ASSET_KINDS, assetProblem, MAX_ASSET_CONTENT, MAX_ASSET_NAME, MAX_ASSETS } from "../domain/asset.ts";
import { BIC_PATTERN, ibanProblem, tidyIban } from "../domain/iban.ts";
import { maskIban } from "../domain/mask.ts";
import {
  ATTRIBUTIONS,
  CODE_PRECEDENCES,
  MAX_MIN_PAYOUTS,
  normalDomain,
  PAYOUT_TERM_PATTERN,
  SALE_AMOUNTS,
} from "../domain/program.ts";
import { sepaName } from "../domain/sepa-text.ts";
import { normalTimeZone } from "../domain/time-zone.ts";
import { SELF_BILLING } from "../domain/tax.ts";
import { resource } from "./field.ts";
import { byCurrency, cents as centsInput, country, currency, percentage, text, trimmed, visibleText } from "./input.ts";
import {
  cents,
  currencyCode,
  EXAMPLE_TIME,
  idColumn,
  INTERNAL,
  nullableString,
  string,
  TIME,
  timestamp,
} from "./output.ts";

export type ProgramColumns = typeof programs.$inferSelect;

const name = visibleText(200);

/** A host name, stored in lower case. */
const domain = text(253).transform((value, issues) => {
  const normal = normalDomain(value);
  if (normal !== null) return normal;
  issues.addIssue({ code: "custom", message: "This must be a host name, such as shop.example.com." });
  return z.NEVER;
});

/** Stored in lower case. */
const brandColor = z
  .string()
  .regex(/^#[0-9a-fA-F]{6}$/, "This must be # and six hexadecimal digits, such as #3730a3.")
  .transform((value) => value.toLowerCase());

/** Stored as the tz database writes it. */
const timeZone = text(64).transform((value, issues) => {
  const normal = normalTimeZone(value);
  if (normal !== null) return normal;
  issues.addIssue({ code: "custom", message: "This must be a time zone of the tz database, such as Europe/Berlin." });
  return z.NEVER;
});

/** An empty list is stored as null. */
const questions = z
  .array(z.string().meta({ minLength: 1, maxLength: MAX_QUESTION }))
  .max(MAX_QUESTIONS, `A program asks at most ${MAX_QUESTIONS} questions of its own.`)
  .refine(
    (asked) => asked.every((one) => visibleText(MAX_QUESTION).safeParse(one).success),
    `A question has 1 to ${MAX_QUESTION} characters.`,
  )
  .refine((asked) => new Set(asked).size === asked.length, "Ask each question once.")
  .transform((asked) => (asked.length > 0 ? asked : null));

/** An empty list is stored as null. */
const assets = z
  .array(
    z.strictObject({ name: visibleText(MAX_ASSET_NAME), kind: z.enum(ASSET_KINDS), content: text(MAX_ASSET_CONTENT) }),
  )
  .max(MAX_ASSETS, `A program has at most ${MAX_ASSETS} of them.`)
  .superRefine((listed, issues) => {
    for (const [i, asset] of listed.entries()) {
      const problem = assetProblem(asset);
      if (problem !== null) issues.addIssue({ code: "custom", message: `Number ${i + 1}: ${problem}` });
    }
  })
  .transform((listed) => (listed.length > 0 ? listed : null));

const minPayouts = byCurrency(centsInput.min(0), MAX_MIN_PAYOUTS, `A program has at most ${MAX_MIN_PAYOUTS} of them.`);

const debtorName = trimmed(140).refine(
  (value) => sepaName(value) !== null,
  "This must have a letter or digit that banks can write.",
);

/** Without spaces, in upper case; or the masked text as it is shown, which does not change the IBAN. */
const debtorIban = text(64).transform((value, issues) => {
  const tidy = tidyIban(value);
  if (tidy.includes("*")) return maskIban(tidy);
  const problem = ibanProblem(tidy);
  if (problem === null) return tidy;
  issues.addIssue({ code: "custom", message: problem });
  return z.NEVER;
});

const debtorBic = text(11)
  .transform(tidyIban)
  .refine((value) => BIC_PATTERN.test(value), "A BIC has 8 or 11 letters and digits.");

export const PROGRAM = resource<ProgramColumns>()({
  id: idColumn("program"),
  name: {
    ...{ audit: "plain", read: string, example: "Example Shop", write: name },
    text: "The program's name in pages and e-mails.",
  },
  owner_email: {
    ...{ audit: "plain", read: string, example: "owner@example.com" },
    text: "The address that receives the program's e-mails: always an owner's.",
  },
  domain: {
    ...{ audit: "plain", read: nullableString, example: "shop.example.com", write: domain.nullable() },
    text: "The host name of the site that links lead to, without a scheme.",
  },
  currency: {
    ...{ audit: "plain", read: () => currencyCode, example: "USD" },
    write: currency,
    text: "The currency of what leads earn and of commissions added by hand, as ISO 4217. Fixed once there is a commission or a lead.",
  },
  default_commission_pct: {
    ...{ audit: "plain", read: () => percentage, example: 20, write: percentage },
    text: "The percentage for payments that neither a flow nor a partner's own rate decides.",
  },
  payout_term: {
    ...{ audit: "plain", read: string, example: "NET-15" },
    write: z.string().regex(PAYOUT_TERM_PATTERN, "This must be NET- and the days, 0 to 365: NET-30."),
    text: "`NET-` and the number of days (0 to 365) from the end of a period until its payouts are due.",
  },
  min_payout_cents: {
    ...{ audit: "plain", read: () => cents, example: 5000, write: centsInput.min(0) },
    text: "A smaller payout is carried forward to the next one. In other currencies: `min_payouts`.",
  },
  min_payouts: {
    ...{ audit: "plain", read: () => z.record(z.string(), cents), example: { EUR: 4500 }, write: minPayouts },
    text: `\`min_payout_cents\` of other currencies, by ISO 4217 code; ${MAX_MIN_PAYOUTS} at most. One that is not listed has the same number of major units, rounded half up.`,
  },
  payout_currency: {
    ...{ audit: "plain", read: () => currencyCode.nullable(), example: null, write: currency.nullable() },
    text: "The currency of new payouts: amounts in others are converted with the rates of `PUT /api/v1/rates`. Null: one payout in each currency, as earned.",
  },
  self_billing: {
    ...{ audit: "plain", read: () => z.enum(SELF_BILLING), example: "off", write: z.enum(SELF_BILLING) },
    text: "`on`: each payout gets an invoice number when it is paid. Needs `payer_name`, `payer_address` and `payer_country`.",
  },
  self_billing_prefix: {
    ...{ audit: "plain", read: string, example: "SB-" },
    write: z
      .string()
      .regex(
        /^(?:[A-Za-z0-9][\w./-]{0,19})?$/,
        "This must be up to 20 letters, digits, ., /, - or _, a letter or digit first.",
      ),
    text: "What invoice and credit note numbers begin with: `SB-` gives `SB-INV-000001`.",
  },
  payer_name: {
    ...{ audit: "plain", read: nullableString, example: "Example Shop Ltd", write: visibleText(200).nullable() },
    text: "The name on statements, of who pays. Null: the program's name.",
  },
  payer_address: {
    ...{ audit: "plain", read: nullableString, example: "1 High Street, Dublin" },
    write: visibleText(500).nullable(),
    text: "The address on statements.",
  },
  payer_country: {
    ...{ audit: "plain", read: nullableString, example: "IE", write: country.nullable() },
    text: "The payer's country, as ISO 3166-1: two letters. It decides the VAT lines.",
  },
  payer_tax_id: {
    ...{ audit: "plain", read: nullableString, example: "IE1234567T", write: visibleText(50).nullable() },
    text: "The payer's tax id, as given.",
  },
  require_tax_data: {
    ...{ audit: "plain", read: () => z.boolean(), example: false, write: z.boolean() },
    text: "True: partners without tax data get no payouts.",
  },
  cookie_days: {
    ...{ audit: "plain", read: () => z.int(), example: 60, write: z.int().min(1).max(365) },
    text: "How many days the script keeps a partner's reference in the browser.",
  },
  attribution: {
    ...{ audit: "plain", read: () => z.enum(ATTRIBUTIONS), example: "last", write: z.enum(ATTRIBUTIONS) },
    text: "Whether the first link that a visitor followed counts, or the last.",
  },
  code_precedence: {
    ...{ audit: "plain", read: () => z.enum(CODE_PRECEDENCES), example: "link", write: z.enum(CODE_PRECEDENCES) },
    text: "Which one counts when a payment has both a link's reference and a promotion code.",
  },
  auto_approve_days: {
    ...{ audit: "plain", read: () => z.int().nullable(), example: 30, write: z.int().min(0).max(365).nullable() },
    text: "How many days after the payment, or after its first report if that is later, a commission without a flag is approved. Null: commissions are approved by hand.",
  },
  payout_change_hold_days: {
    ...{ audit: "plain", read: () => z.int(), example: 3, write: z.int().min(0).max(30) },
    text: "How many days a partner's payouts are held after a change of their destination. 0: no hold.",
  },
  live_only: {
    ...{ audit: "plain", read: () => z.boolean(), example: true, write: z.boolean() },
    text: "True: the providers' test events make no commission.",
  },
  brand_color: {
    ...{ audit: "plain", read: nullableString, example: "#0f766e", write: brandColor.nullable() },
    text: "The color of e-mails to partners, as `#rrggbb`; null for the default.",
  },
  time_zone: {
    ...{ audit: "plain", read: string, example: "Europe/Berlin", write: timeZone },
    text: "The time zone of the times on pages and of the days in e-mails, such as Europe/Berlin.",
  },
  applications: {
    ...{ audit: "plain", read: () => z.enum(APPLICATION_MODES), example: "review", write: z.enum(APPLICATION_MODES) },
    text: "Whether people can apply at `/join/<slug or id>`, and how that is decided.",
  },
  slug: {
    ...{ audit: "plain", read: nullableString, example: "example-shop" },
    write: z
      .string()
      .regex(PROGRAM_SLUG_PATTERN, "This must be 1 to 64 small letters, digits or -, with no - at either end.")
      .nullable(),
    text: "The program's name in the address of its application page; null: its id is used.",
  },
  questions: {
    ...{ audit: "plain", read: () => z.array(z.string()), write: questions.nullable() },
    example: ["Who reads you?", "How did you hear of us? (optional)"],
    text: "The questions for applicants; one that ends with `(optional)` may be left unanswered.",
  },
  terms: {
    ...{
      audit: "plain",
      read: nullableString,
      example: "Do not bid on our name.",
      write: visibleText(MAX_TERMS).nullable(),
    },
    text: "What applicants agree to.",
  },
  terms_version: {
    ...{ audit: "plain", read: () => z.int(), example: 2 },
    text: "Counts up when the terms change.",
  },
  sale_amounts: {
    ...{ audit: "plain", read: () => z.enum(SALE_AMOUNTS), example: "shown", write: z.enum(SALE_AMOUNTS) },
    text: "Whether partners see in the portal what their customers paid.",
  },
  partner_links: {
    ...{ audit: "plain", read: () => z.boolean(), example: false, write: z.boolean() },
    text: "Whether partners may add links with names of their choice.",
  },
  payments_compared: INTERNAL,
  assets: {
    audit: "plain",
    read: () => z.array(z.object({ name: z.string(), kind: z.enum(ASSET_KINDS), content: z.string() })),
    example: [{ name: "Wide banner", kind: "banner", content: "https://cdn.shop.example/wide.png" }],
    write: assets.nullable(),
    text: "Material for partners: the https address of a picture or page, or a text with `{link}` in it.",
  },
  debtor_name: {
    ...{ audit: "plain", read: nullableString, example: "Example Shop GmbH", write: debtorName.nullable() },
    text: "The holder of the account that SEPA files pay from.",
  },
  debtor_iban: {
    ...{ audit: "sealed", read: nullableString, example: "DE** **** **** **** **30 00" },
    write: debtorIban.nullable(),
    text: "The IBAN of that account. It is shown masked; the masked text does not change it.",
  },
  debtor_iban_sealed: { audit: null },
  debtor_bic: {
    ...{ audit: "plain", read: nullableString, example: "COBADEFFXXX", write: debtorBic.nullable() },
    text: "The BIC of that account, if your bank wants it.",
  },
  default_group_id: INTERNAL,
  shard: INTERNAL,
  api_key_hash: INTERNAL,
  api_key_last4: {
    ...{ audit: "plain", read: string, example: "x9Qw" },
    text: "The last four characters of the program's API key.",
  },
  api_key_created_at: INTERNAL,
  api_key_last_used_at: {
    ...{ audit: null, read: () => timestamp.nullable(), example: EXAMPLE_TIME },
    text: "When the API was last called with this key.",
  },
  created_at: TIME,
  updated_at: TIME,
});
