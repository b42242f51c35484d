import { bySecretSet, byVendor, SECRET_SETTINGS } from "../../providers/registry.ts";
import { exampleId as id } from "./example-id.ts";
import type { ReplyName } from "./replies.ts";
import {
  apiKeyCreate,
  codeCreate,
  endpointCreate,
  EXAMPLE_TIME,
  flowCreate,
  memberCreate,
  partnerCreate,
  PROVIDER,
} from "./request-examples.ts";

const AT = EXAMPLE_TIME;
const LATER = "2026-03-31T00:00:00.000Z";

const listOf = (item: unknown) => ({ data: [item], total: 1, page: 1, per_page: 20, next_cursor: null });

const own = { program_id: id("prog") };
const stamps = { created_at: AT, updated_at: AT };

const program = {
  id: id("prog"),
  name: "Example Shop",
  owner_email: "owner@example.com",
  domain: "shop.example.com",
  currency: "USD",
  default_commission_pct: 20,
  payout_term: "NET-15",
  min_payout_cents: 5000,
  cookie_days: 60,
  attribution: "last",
  code_precedence: "link",
  auto_approve_days: 30,
  live_only: true,
  brand_color: "#0f766e",
  time_zone: "Europe/Berlin",
  applications: "review",
  slug: "example-shop",
  questions: ["Who reads you?", "How did you hear of us? (optional)"],
  terms: "Do not bid on our name.",
  terms_version: 2,
  sale_amounts: "shown",
  assets: [{ name: "Wide banner", kind: "banner", content: "https://cdn.shop.example/wide.png" }],
  ...bySecretSet((of) => of === SECRET_SETTINGS[0]),
  api_key_last4: "x9Qw",
  api_key_last_used_at: AT,
  ...stamps,
};
const member = { id: id("mem"), ...own, ...memberCreate, ...stamps };
const partner = {
  id: id("par"),
  ...own,
  ...partnerCreate,
  last_name: null,
  status: "invited",
  payout_method: null,
  payout_email: null,
  provider_a_account_id: null,
  metadata: null,
  ...stamps,
};
const applicationData = {
  ...{ id: id("app"), ...own, status: "approved", partner_id: id("par"), created_at: AT, decided_at: LATER },
};
const application = {
  ...{ ...applicationData, email: "jane@example.com", name: "Jane Roe", website: "https://jane.example.com/" },
  answers: [{ question: "Who reads you?", answer: "People who bake." }],
  ...{ terms_version: 2, consented_at: AT, note: null, updated_at: LATER },
};
const code = { id: id("cod"), ...own, partner_id: id("par"), ...codeCreate, created_at: AT };
const sums = {
  total_commissions: 3,
  total_earned_cents: 6000,
  pending_cents: 2000,
  approved_cents: 4000,
  paid_cents: 0,
};
const flow = { id: id("flw"), ...own, ...flowCreate, event: "transaction_completed", active: true, ...stamps };
const rate = { source: "flow", action_type: "percentage", action_value: 30 };
const commission = {
  id: id("com"),
  ...own,
  partner_id: id("par"),
  payment_id: id("pmt"),
  flow_id: id("flw"),
  payout_id: null,
  kind: "sale",
  source_commission_id: null,
  status: "approved",
  flagged: false,
  review_reason: null,
  rejected_reason: null,
  amount_cents: 3600,
  txn_amount_cents: 12000,
  currency: "USD",
  provider: PROVIDER,
  provider_transaction_id: "in_1RTa2b",
  subscription_id: null,
  customer_email: "customer@example.com",
  rate,
  note: null,
  created_at: AT,
  approved_at: AT,
  paid_at: null,
  updated_at: AT,
  hold_until: null,
};
const payment = {
  id: id("pmt"),
  ...own,
  provider: PROVIDER,
  provider_transaction_id: "in_1RTa2b",
  outcome: "commission",
  partner_id: id("par"),
  ref: "jane",
  code_id: null,
  currency: "USD",
  txn_amount_cents: 12000,
  adjusted_cents: 0,
  customer_email: "customer@example.com",
  customer_id: "cus_9s6XKz",
  subscription_id: null,
  ...stamps,
  event: "transaction_completed",
};
const claimData = {
  ...{ id: id("clm"), program_id: id("prog"), partner_id: id("par"), status: "granted", payment_id: id("pmt") },
  ...{ created_at: AT, decided_at: LATER },
};
const claim = { ...claimData, order_id: "order-9001", day: null, email_domain: null, note: null };
const condition = { field: "txn_amount_cents", op: "gt", value: 10000, saw: 12000, held: true };
const paymentWithTrace = {
  ...payment,
  trace: {
    outcome: "commission",
    ref: "jane",
    ref_source: "payment",
    candidates: [{ ref: "jane", source: "client_reference_id", partner_id: id("par") }],
    partner_id: id("par"),
    partner_slug: "jane",
    flows: [{ flow_id: id("flw"), name: "Big orders", priority: 10, matched: true, conditions: [condition] }],
    flow_id: id("flw"),
    rate,
    txn_amount_cents: 12000,
    adjusted_cents: 0,
    amount_cents: 3600,
    arithmetic: "30 % of 12000 = 3600",
  },
  commissions: [commission],
};
const payout = {
  id: id("pay"),
  ...own,
  partner_id: id("par"),
  amount_cents: 3600,
  currency: "USD",
  status: "pending",
  method: "wallet",
  recipient: "j****e@example.com",
  period_start: null,
  period_end: LATER,
  due_at: "2026-04-15T00:00:00.000Z",
  commission_count: 1,
  reference: null,
  failure_code: null,
  failure_message: null,
  created_at: LATER,
  paid_at: null,
  updated_at: LATER,
};
const event = {
  id: id("evt"),
  ...own,
  type: "partner.created",
  payload: { partner_id: id("par"), email: "jane@example.com", slug: "jane", status: "invited" },
  actor: { type: "api_key", id: "key_5f3c9a1e7b20d846", name: "x9Qw" },
  changes: null,
  created_at: AT,
};
const dropped = {
  ...{ bot: 6, duplicate: 1, flood: 0, unknown_ref: 0, partner_deactivated: 0, over_budget: 0, database_full: 0 },
};
const endpoint = {
  id: id("whe"),
  ...own,
  ...endpointCreate,
  description: null,
  active: true,
  disabled_at: null,
  ...stamps,
};
const secret = "whsec_c2lnbmluZyBzZWNyZXQsIDMyIHJhbmRvbSBieXRlcy4=";
const commissionData = {
  id: id("com"),
  partner_id: id("par"),
  amount: 3600,
  revenue: 12000,
  status: "pending",
  currency: "USD",
};
const pingData = { id: id("evt"), endpoint_id: id("whe"), description: null };
const delivery = {
  id: id("dlv"),
  event_id: id("evt"),
  event: "commission.created",
  status: "succeeded",
  attempt_count: 1,
  next_attempt_at: null,
  created_at: AT,
  completed_at: AT,
  payload: { event: "commission.created", timestamp: AT, data: commissionData },
  attempts: [{ number: 1, started_at: AT, duration_ms: 84, status_code: 200, error: null, response_excerpt: "ok" }],
};
const again = { at: AT, since: AT };
const listRead = {
  ...{ api_key_set: true, complete_from: "2026-02-01T09:30:00.000Z", complete_until: AT, recovered: 3 },
  ...{ is_reading: false, read_failure: null, unanswered: { reason: "permission_missing", ...again } },
  unparsable: [{ event_id: "evt_1", event_type: "charge.refunded", occurred_at: AT, problem: "No amount.", ...again }],
};
const connected = {
  configured: true,
  webhook_secret_set: true,
  last_event_at: AT,
  is_last_event_test: false,
  event_types: [
    { type: "invoice.paid", need: "required", last_seen_at: AT },
    { type: "charge.refunded", need: "recommended", last_seen_at: null },
  ],
  refused: 2,
  last_refusal: { at: AT, reason: "wrong_signature" },
  ...listRead,
};
const unconnected = {
  configured: false,
  webhook_secret_set: false,
  last_event_at: null,
  is_last_event_test: false,
  event_types: [{ type: "transaction.completed", need: "required", last_seen_at: null }],
  refused: 0,
  last_refusal: null,
  ...{ api_key_set: true, complete_from: null, complete_until: null, recovered: 0, is_reading: false },
  read_failure: { reason: "api_key_refused", ...again },
  ...{ unanswered: null, unparsable: [] },
};
const api_key = "sk_6c2Vb0pQyq1uE8mJt3sRkHn5wXzD4aLfGoTi7Yv9x9Qw";

const key = { id: id("key"), ...own, ...apiKeyCreate, last4: "x9Qw", created_at: AT, last_used_at: null };

/** One of each reply; tests hold them to their schemas. */
export const REPLY_EXAMPLES: Record<ReplyName, unknown> = {
  Error: {
    error: {
      code: "validation_failed",
      message: "The request is not valid.",
      details: [{ path: "conditions.0.value", message: "txn_amount_cents is compared with a whole number of cents" }],
      request_id: id("req"),
    },
  },
  Health: { status: "ok" },
  Program: program,
  ProgramList: listOf(program),
  ProgramWithKey: { program, api_key },
  ApiKeyList: { data: [key] },
  ApiKeyWithText: { ...key, api_key: `${api_key.slice(0, -5)}0x9Qw` },
  SignInLink: { url: "https://service.example.com/sign-in?token=…", expires_at: AT },
  Resealing: {
    resealed: 42,
    left: 1,
    unreadable: [{ program_id: id("prog"), field: "provider_connections.api_key", id: PROVIDER }],
  },
  Reconciling: {
    checked: { commissions: 310, payments: 290, partners: 12, payouts: 9, transfers: 2 },
    differences: [
      {
        program_id: id("prog"),
        check: "payout",
        subject: id("pay"),
        expected: { amount_cents: 3000, commission_count: 2, other_status: 0, entered_cents: 3000 },
        found: { amount_cents: 2000, commission_count: 1, other_status: 0, entered_cents: 2000 },
        found_at: AT,
      },
    ],
    repaired: [],
    next: null,
  },
  Installation: {
    url: "https://shop.example/",
    installed: false,
    checks: [{ check: "page", result: "failed", reason: "status", text: "The page answers with HTTP 404." }],
  },
  Integrations: {
    ...byVendor((name) => (name === PROVIDER ? connected : unconnected)),
    reconciled_at: AT,
    differences: 0,
    deliveries_left: 0,
    email: { configured: true, last_refusal: null },
  },
  Partner: partner,
  PartnerList: listOf(partner),
  PartnerWithStats: { ...partner, stats: { ...sums, clicks: 214, other_currencies: [] } },
  Onboarding: {
    partner_id: id("par"),
    provider_a_account_id: "acct_1RTa2b",
    url: "https://connect.example.com/setup/e/acct_1RTa2b",
    expires_at: AT,
  },
  Application: application,
  ApplicationList: listOf(application),
  ApplicationData: applicationData,
  ApplicationsDecided: {
    data: [
      { id: id("app"), ok: true, status: "approved" },
      { id: "app_unknown", ok: false, error: { code: "not_found", message: "No such application." } },
    ],
  },
  Code: code,
  CodeList: { data: [code] },
  CodeSummary: {
    data: [
      {
        ...{ code_id: id("cod"), partner_id: id("par"), provider: PROVIDER, code: "JANE20", ended_at: null },
        ...{ currency: "USD", sales: 3, revenue_cents: 36000, earned_cents: 7200 },
      },
    ],
  },
  Member: member,
  MemberList: { data: [member] },
  Flow: flow,
  FlowList: { data: [flow] },
  ClickTaken: { known: true },
  ClickSummary: { data: [{ day: "2026-03-02", recorded: 40, dropped }], recorded: 40, dropped },
  Event: event,
  EventList: listOf(event),
  Endpoint: endpoint,
  EndpointList: { data: [endpoint] },
  EndpointWithSecret: { ...endpoint, secret },
  EndpointWithNewSecret: { ...endpoint, secret, previous_secret_valid_until: AT },
  EndpointWithDeliveries: { ...endpoint, deliveries: [delivery] },
  PingData: pingData,
  Delivery: delivery,
  DeliveryList: listOf(delivery),
  Recovered: { recovered: 12, has_more: false },
  ListReading: listRead,
  Destination: {
    ...{ provider: PROVIDER, destination_id: "we_1RTa2b", url: `https://service.example/webhooks/${PROVIDER}` },
    ...{ outcome: "created", event_types_added: ["invoice.paid"], test: false, secret: "stored", not_removed: 0 },
    other_programs: 0,
  },
  Deleted: { id: id("flw"), deleted: true },
  Import: {
    kind: "partners",
    product: "firstpromoter",
    dry_run: true,
    data_param: "fpr|ref",
    lines: 2,
    added: 1,
    completed: 0,
    unchanged: 0,
    left_out: 0,
    refused: 1,
    columns: [
      { column: "email", taken_as: "email", unread: 0 },
      { column: "ref_id", taken_as: "code", unread: 0 },
      { column: "clicks", taken_as: null, unread: 0 },
    ],
    problems: [{ line: 3, column: "email", outcome: "refused", message: "This must be an e-mail address." }],
    notes: [],
  },
  Erased: { erased: { payments: 1, commissions: 1, provider_events: 2 } },
  Received: { received: true, outcome: "commission" },
  Commission: commission,
  CommissionData: commissionData,
  CommissionList: listOf(commission),
  BalanceList: {
    data: [
      {
        currency: "USD",
        pending_cents: 0,
        payable_cents: 3600,
        in_payout_cents: 0,
        paid_cents: 12000,
        forgiven_cents: 0,
      },
    ],
  },
  EntryList: listOf({
    id: id("ent"),
    partner_id: id("par"),
    commission_id: id("com"),
    payout_id: null,
    currency: "USD",
    from_account: "pending",
    to_account: "payable",
    amount_cents: 3600,
    posted_at: AT,
    event_id: id("evt"),
  }),
  BulkResults: {
    data: [
      { id: id("com"), ok: true, status: "approved" },
      { id: "com_unknown", ok: false, error: { code: "not_found", message: "No such commission." } },
    ],
    matched: 1,
    changed: 1,
    skipped: 0,
    remaining: 0,
  },
  Payment: payment,
  PaymentList: listOf(payment),
  PaymentWithTrace: paymentWithTrace,
  Claim: claim,
  ClaimData: claimData,
  ClaimList: listOf(claim),
  ClaimWithPayments: { ...claim, payments: [paymentWithTrace] },
  Payout: payout,
  PayoutList: listOf(payout),
  PayoutWithCommissions: { ...payout, commissions: [{ ...commission, payout_id: id("pay") }] },
  PayoutGeneration: {
    dry_run: false,
    period_start: null,
    period_end: LATER,
    due_at: payout.due_at,
    payouts: [payout],
    skipped: [],
    totals: [{ currency: "USD", payouts: 1, amount_cents: 3600, skipped: 0, skipped_cents: 0 }],
    without_details: { partners: 0, payouts: 0, partner_ids: [] },
  },
  Simulation: {
    payments: [
      {
        payment_id: id("pmt"),
        outcome: "commission",
        partner_id: id("par"),
        currency: "USD",
        txn_amount_cents: 12000,
        adjusted_cents: 0,
        old_amount_cents: 2400,
        new_amount_cents: 3600,
        old_flow_id: null,
        new_flow_id: "new",
      },
    ],
    sums: [{ currency: "USD", payments: 1, old_amount_cents: 2400, new_amount_cents: 3600 }],
    more: false,
  },
};
