import { CODE } from "../../resources/code.ts";
import { ENDPOINT } from "../../resources/endpoint.ts";
import { exampleOf, pick } from "../../resources/field.ts";
import { FLOW } from "../../resources/flow.ts";
import { GROUP } from "../../resources/group.ts";
import { EXAMPLE_TIME, exampleId as id } from "../../resources/output.ts";
import { PARTNER } from "../../resources/partner.ts";
import { API_KEY, MEMBER } from "../../resources/team.ts";

const memberCreate = pick(exampleOf(MEMBER), ["email", "role"]);
const partnerCreate = pick(exampleOf(PARTNER), ["email", "slug", "first_name", "commission_pct"]);
const codeCreate = pick(exampleOf(CODE), ["code", "provider", "provider_code_id"]);
const flowCreate = pick(exampleOf(FLOW), ["name", "action_type", "action_value", "conditions", "priority"]);
const groupCreate = pick(exampleOf(GROUP), ["name", "slug", "commission_pct", "hold_days"]);
const endpointCreate = pick(exampleOf(ENDPOINT), ["url", "events"]);
const apiKeyCreate = pick(exampleOf(API_KEY), ["name", "scopes", "expires_at"]);

const EXAMPLES = {
  ProgramCreate: { name: "Example Shop", owner_email: "owner@example.com", domain: "shop.example.com" },
  SignInLinkCreate: { email: "owner@example.com" },
  Reconcile: {},
  ProgramUpdate: { default_commission_pct: 25, payout_term: "NET-30" },
  ApiKeyCreate: apiKeyCreate,
  MemberCreate: memberCreate,
  MemberUpdate: { role: "viewer" },
  PartnerCreate: partnerCreate,
  PartnerUpdate: { status: "active" },
  OnboardingStart: { country: "DE" },
  AccountForget: { account_id: "acct_1RTa2b" },
  PayoutDetailsSet: {
    ...{ method: "bank_transfer", account_holder: "Jane Doe", country: "DE", currency: "EUR" },
    iban: "DE89 3704 0044 0532 0130 00",
  },
  ExchangeRatesSet: { base: "EUR", rates: { GBP: 0.8412, USD: 1.0853 } },
  TaxDataSet: {
    ...{ legal_name: "Jane Doe GmbH", address: "Hauptstr. 1, 10115 Berlin", country: "DE", kind: "business" },
    ...{ tax_id: "DE123456789", vat_rate: 19 },
  },
  ApplicationDecline: { note: "We take no coupon sites." },
  ApplicationsDecide: { ids: [id("app")], status: "approved" },
  CodeCreate: codeCreate,
  FlowCreate: flowCreate,
  FlowUpdate: { active: false },
  FlowSimulate: { flow: flowCreate, last: 100 },
  GroupCreate: groupCreate,
  GroupUpdate: { commission_pct: 35 },
  LeadReport: { external_id: "signup-7001", ref: "jane", customer: { id: "user-7001", email: "customer@example.com" } },
  SaleReport: {
    external_id: "order-9001",
    ref: "jane",
    customer: { id: "user-7001" },
    amount_cents: 12000,
    currency: "USD",
    net_of_tax: true,
    items: [{ product_id: "plan-pro", amount_cents: 12000 }],
    occurred_at: EXAMPLE_TIME,
  },
  RefundReport: { external_id: "refund-301", sale_external_id: "order-9001", amount_cents: 4000 },
  CommissionCreate: { partner_id: id("par"), amount_cents: 2500, note: "Bonus for March" },
  CommissionUpdate: { status: "rejected", reason: "Ordered by the partner" },
  CommissionBulk: { ids: [id("com")], status: "approved" },
  PayoutDetailsAsk: {},
  PayoutGenerate: { period_end: "2026-03-31", dry_run: true },
  ClaimGrant: { payment_id: id("pmt") },
  ClaimDecline: { note: "This customer came through our newsletter." },
  PayoutMarkPaid: { reference: "Transfer 4711" },
  PayoutReturned: { reason: "Account closed" },
  PayoutExportCreate: { format: "wallet", currency: "USD" },
  PayoutExportPaid: { reference: "Batch 4711" },
  PayoutResultFile: `payout_id,status,reason\n${id("pay")},failed,Account closed\n`,
  PayoutConclude: { made: true, reference: "tr_1RTa2b" },
  EndpointCreate: endpointCreate,
  EndpointUpdate: { active: true },
  Recover: { since: "2026-03-01T00:00:00Z" },
  ListRead: { since: "2026-03-01T00:00:00Z" },
  DestinationMake: { replace: false },
  Nothing: {},
  ImportFile: "email,first_name,ref_id,status\njane@example.com,Jane,jane,approved\n",
  CustomerErase: { email: "customer@example.com" },
  Click: { program_id: id("prog"), ref: "jane", landing: "/pricing", referrer: "https://blog.example.com/review" },
};

/** The name of a request body's schema: a name without an example does not compile. */
export type RequestName = keyof typeof EXAMPLES;

/** An example of each request body of the API and the operator, by the name of its schema. */
export const REQUEST_EXAMPLES: Readonly<Record<string, unknown>> = EXAMPLES;
