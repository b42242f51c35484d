/** Examples of what is sent. */
import { VENDOR_NAMES } from "../../providers/registry.ts";
import { exampleId as id } from "./example-id.ts";

export const [PROVIDER] = VENDOR_NAMES;

export const EXAMPLE_TIME = "2026-03-02T09:30:00.000Z";

export const memberCreate = { email: "accounts@example.com", role: "finance" };
export const partnerCreate = { email: "jane@example.com", slug: "jane", first_name: "Jane", commission_pct: 25 };
export const codeCreate = { code: "JANE20", provider: PROVIDER, provider_code_id: "promo_1RTa2b" };
export const flowCreate = {
  name: "Big orders",
  action_type: "percentage",
  action_value: 30,
  conditions: [{ field: "txn_amount_cents", op: "gt", value: 10000 }],
  priority: 10,
};
export const endpointCreate = { url: "https://hooks.example.com/affiliates", events: ["commission.created"] };
export const apiKeyCreate = { name: "Reporting", scopes: ["read"], expires_at: "2036-12-31T00:00:00.000Z" };

/** One of each request body of the API and the operator, by the name of its schema. */
export const REQUEST_EXAMPLES: Record<string, unknown> = {
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
  ApplicationDecline: { note: "We take no coupon sites." },
  ApplicationsDecide: { ids: [id("app")], status: "approved" },
  CodeCreate: codeCreate,
  FlowCreate: flowCreate,
  FlowUpdate: { active: false },
  FlowSimulate: { flow: flowCreate, last: 100 },
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
  PayoutGenerate: { period_end: "2026-03-31", dry_run: true },
  ClaimGrant: { payment_id: id("pmt") },
  ClaimDecline: { note: "This customer came through our newsletter." },
  PayoutMarkPaid: { reference: "Transfer 4711" },
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
