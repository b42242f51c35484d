/** Input of the verbs, with a value for each field: a new field does not compile without a value here. */
import type { PartnerInput } from "../../src/core/partners/partners.ts";
import type { SecretPatch } from "../../src/core/kernel/provider-secrets.ts";
import type { ApplyFrom } from "../../src/core/ledger/apply-from.ts";
import type { ProgramPatch } from "../../src/core/programs/programs.ts";
import type { FlowInput } from "../../src/core/programs/flows.ts";
import type { EndpointInput } from "../../src/core/webhooks/endpoints.ts";
import { cents, percent } from "../../src/domain/money.ts";

type Given<T> = { [K in keyof T]-?: Exclude<T[K], undefined> };

/** Every setting differs from its default. */
export const PROGRAM: Given<Omit<ProgramPatch, keyof SecretPatch | keyof ApplyFrom>> = {
  name: "Forms of before",
  domain: "forms.example",
  currency: "EUR",
  default_commission_pct: percent(12.5),
  payout_term: "NET-30",
  min_payout_cents: cents(2_500),
  min_payouts: { JPY: cents(700) },
  payout_currency: "EUR",
  cookie_days: 31,
  attribution: "first",
  code_precedence: "code",
  auto_approve_days: 14,
  payout_change_hold_days: 5,
  live_only: false,
  brand_color: "#0f766e",
  time_zone: "America/New_York",
  applications: "review",
  slug: "forms-of-before",
  questions: ["Who reads you?", "What else? (optional)"],
  terms: "Bid on no names of ours.",
  sale_amounts: "hidden",
  partner_links: true,
  assets: [{ name: "A text of before", kind: "text", content: "Try it at {link}" }],
  debtor_name: "Forms GmbH",
  debtor_iban: "DE89370400440532013000",
  debtor_bic: "COBADEFF",
  self_billing: "on",
  self_billing_prefix: "F-",
  payer_name: "Forms GmbH",
  payer_address: "Main Street 1, 10115 Berlin",
  payer_country: "DE",
  payer_tax_id: "DE123456789",
  require_tax_data: true,
};

/** Without the group, whose id a test makes. */
export const PARTNER: Required<Omit<PartnerInput, "group_id">> = {
  email: "ottilie@partners.example",
  slug: "ottilie-q",
  first_name: "Ottilie",
  last_name: "Quandt",
  commission_pct: percent(31.25),
  payout_method: "bank_transfer",
  payout_email: "wallet@partners.example",
  metadata: { tier: "first-circle" },
};

export const FLOW: Required<FlowInput> = {
  name: "Large orders",
  event: "transaction_completed",
  action_type: "percentage",
  action_value: 37,
  conditions: [{ field: "partner_slug", op: "neq", value: "somebody" }],
  priority: 43,
  active: true,
  hold_days: 47,
  starts_at: "2026-01-01T00:00:00.000Z",
  ends_at: "2027-01-01T00:00:00.000Z",
  currency: "CHF",
  base: "payment",
};

export const ENDPOINT: Required<EndpointInput> = {
  url: "https://receiver.example.com/fields",
  events: ["payout.paid"],
  description: "The one of the warehouse",
};
