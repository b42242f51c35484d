import { TRANSFER_METHOD } from "../../domain/partner.ts";
import { bySecretSet, byVendor, SECRET_SETTINGS } from "../../providers/registry.ts";
import { APPLICATION } from "../../resources/application.ts";
import { CLAIM } from "../../resources/claim.ts";
import { CODE } from "../../resources/code.ts";
import { COMMISSION, RATE_EXAMPLE } from "../../resources/commission.ts";
import { ENDPOINT } from "../../resources/endpoint.ts";
import { EVENT } from "../../resources/event.ts";
import { exampleOf, pick } from "../../resources/field.ts";
import { FLOW } from "../../resources/flow.ts";
import { GROUP } from "../../resources/group.ts";
import {
  EXAMPLE_LATER,
  EXAMPLE_PROVIDER as PROVIDER,
  EXAMPLE_TIME as AT,
  exampleId as id,
} from "../../resources/output.ts";
import { PARTNER } from "../../resources/partner.ts";
import { PAYMENT } from "../../resources/payment.ts";
import { PRODUCT } from "../../resources/product.ts";
import { OF_STATEMENT, PAYOUT } from "../../resources/payout.ts";
import { PAYOUT_EXPORT } from "../../resources/payout-export.ts";
import { PROGRAM } from "../../resources/program.ts";
import { API_KEY, MEMBER } from "../../resources/team.ts";
import type { ReplyName } from "./replies.ts";

const listOf = (item: unknown) => ({ data: [item], total: 1, page: 1, per_page: 20, next_cursor: null });

const program = { ...exampleOf(PROGRAM), ...bySecretSet((of) => of === SECRET_SETTINGS[0]) };
const partner = exampleOf(PARTNER);
const application = exampleOf(APPLICATION);
const applicationData = pick(application, ["id", "program_id", "status", "partner_id", "created_at", "decided_at"]);
const sums = {
  total_commissions: 3,
  total_earned_cents: 6000,
  pending_cents: 2000,
  approved_cents: 4000,
  paid_cents: 0,
};
const commission = exampleOf(COMMISSION);
const payment = exampleOf(PAYMENT);
const claim = exampleOf(CLAIM);
const taxData = {
  ...{ legal_name: "Jane Doe GmbH", address: "Hauptstr. 1, 10115 Berlin", country: "DE", kind: "business" },
  ...{ tax_id: "DE123456789", vat_rate: 19 },
};
const claimData = pick(claim, ["id", "program_id", "partner_id", "status", "payment_id", "created_at", "decided_at"]);
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
    ...{ group_id: id("grp"), group_slug: "creators" },
    flows: [{ flow_id: id("flw"), name: "Big orders", priority: 10, matched: true, conditions: [condition] }],
    flow_id: id("flw"),
    rate: RATE_EXAMPLE,
    hold: { source: "program", days: 30 },
    txn_amount_cents: 12000,
    adjusted_cents: 0,
    lines: [{ products: ["prod_Ss45LY8HsRvKY5", "price_1RwJxfGaouLfVOpU"], amount_cents: 12000 }],
    base_cents: null,
    amount_cents: 3600,
    arithmetic: "30 % of 12000 = 3600",
    later_flows: [],
  },
  commissions: [commission],
};
const payout = exampleOf(PAYOUT);
const simulatedSum = { currency: "USD", payments: 1, old_amount_cents: 2400, new_amount_cents: 3600 };
const payoutExport = exampleOf(PAYOUT_EXPORT);
const dropped = {
  ...{ bot: 6, duplicate: 1, flood: 0, unknown_ref: 0, partner_deactivated: 0, over_budget: 0, database_full: 0 },
};
const endpoint = exampleOf(ENDPOINT);
const secret = "whsec_c2lnbmluZyBzZWNyZXQsIDMyIHJhbmRvbSBieXRlcy4=";
const commissionData = {
  id: id("com"),
  partner_id: id("par"),
  amount: 3600,
  revenue: 12000,
  status: "pending",
  currency: "USD",
  hold_until: "2026-04-01T09:30:00.000Z",
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

const key = exampleOf(API_KEY);

/** An example of each reply; tests compare them with their schemas. */
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
  PartnerWithStats: { ...partner, slugs: [partner.slug], stats: { ...sums, clicks: 214, other_currencies: [] } },
  Onboarding: {
    partner_id: id("par"),
    provider_a_account_id: "acct_1RTa2b",
    url: "https://connect.example.com/setup/e/acct_1RTa2b",
    expires_at: AT,
  },
  PayoutDetails: {
    ...{ partner_id: id("par"), method: "bank_transfer", wallet: null, [TRANSFER_METHOD]: null, crypto: null },
    bank_transfer: {
      ...{ account_holder: "Ja****oe", country: "DE", currency: "EUR" },
      iban: "DE** **** **** **** **30 00",
    },
  },
  TaxData: { partner_id: id("par"), ...taxData },
  Statement: {
    payout_id: id("pay"),
    ...pick(payout, OF_STATEMENT),
    ...{ status: "paid", paid_at: "2026-04-15T09:30:00.000Z", reference: "bank transfer 1" },
    payer: { name: "Example Shop Ltd", address: "1 High Street, Dublin", country: "IE", tax_id: "IE1234567T" },
    payee: { name: taxData.legal_name, ...pick(taxData, ["address", "country", "kind", "tax_id"]) },
    ...{ invoice_number: "SB-INV-000001", credit_note_number: null, credited_at: null },
    vat: {
      ...{ treatment: "reverse_charge", rate: 0, net_cents: payout["amount_cents"], vat_cents: 0 },
      note: "Reverse charge: the recipient of the service is liable for the VAT.",
    },
    lines: [
      {
        ...{ commission_id: id("com"), kind: "sale", amount_cents: payout["amount_cents"], currency: "USD" },
        created_at: AT,
      },
    ],
    next_cursor: null,
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
  Code: exampleOf(CODE),
  CodeList: { data: [exampleOf(CODE)] },
  CodeSummary: {
    data: [
      {
        ...{ code_id: id("cod"), partner_id: id("par"), provider: PROVIDER, code: "JANE20", ended_at: null },
        ...{ currency: "USD", sales: 3, revenue_cents: 36000, earned_cents: 7200 },
      },
    ],
  },
  Member: exampleOf(MEMBER),
  MemberList: { data: [exampleOf(MEMBER)] },
  ProductList: { data: [exampleOf(PRODUCT)] },
  Flow: exampleOf(FLOW),
  Group: exampleOf(GROUP),
  GroupList: { data: [exampleOf(GROUP)] },
  SavedFlow: { ...exampleOf(FLOW), warnings: [] },
  FlowList: { data: [exampleOf(FLOW)] },
  ClickTaken: { known: true },
  ClickSummary: { data: [{ day: "2026-03-02", recorded: 40, dropped }], recorded: 40, dropped },
  Event: exampleOf(EVENT),
  EventList: listOf(exampleOf(EVENT)),
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
    payout_currency: null,
    period_start: null,
    period_end: EXAMPLE_LATER,
    due_at: PAYOUT.due_at.example,
    payouts: [payout],
    skipped: [],
    totals: [{ currency: "USD", payouts: 1, amount_cents: 3600, skipped: 0, skipped_cents: 0 }],
    without_details: { partners: 0, payouts: 0, partner_ids: [] },
  },
  ExchangeRates: {
    ...{ base: "EUR", rates: { GBP: "0.8412", USD: "1.0853" }, rated_at: AT, payout_currency: "EUR" },
    in_force: [
      { currency: "GBP", rate: "1.188778", rate_source: "owner", rate_at: AT },
      { currency: "USD", rate: "0.9214042", rate_source: "owner", rate_at: AT },
    ],
  },
  PayoutDetailsAsked: { asked: 107, asked_recently: 3, not_active: 0, has_details: 0, remaining: 0 },
  PayoutExport: payoutExport,
  PayoutExportList: listOf(payoutExport),
  PayoutExportMade: { ...payoutExport, left_out: [{ payout_id: id("pay"), reason: "details_missing" }] },
  PayoutResults: {
    dry_run: false,
    counts: { paid: 0, failed: 1, returned: 0, unchanged: 0, problem: 0 },
    lines: [{ line: 2, payout_id: id("pay"), said: "failed", outcome: "failed", message: "Account closed" }],
    remaining: 0,
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
        old_rate: { source: "program", action_type: "percentage", action_value: 20 },
        new_rate: RATE_EXAMPLE,
        ...{ new_currency: "USD", rule_changed: true, created_at: AT },
      },
    ],
    sums: [simulatedSum],
    partners: [{ partner_id: id("par"), slug: "jane", first_name: "Jane", last_name: "Doe", ...simulatedSum }],
    ...{ partner_count: 1, changed_count: 1, from: AT, to: AT, more: false },
  },
};
