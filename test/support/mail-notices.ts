/** One notice of each kind of e-mail: a new kind does not compile without its own. */
import type { NoticeOf } from "../../src/core/kernel/notices.ts";
import type { PayoutDetailsChange } from "../../src/core/kernel/payout-details.ts";
import type { Application, Endpoint, Member, Partner, Program, SaleClaim } from "../../src/core/kernel/rows.ts";
import { actors } from "../../src/domain/actor.ts";
import type { MailKind } from "../../src/domain/mail.ts";
import { cents } from "../../src/domain/money.ts";
import { offerOf } from "../../src/domain/offer.ts";
import { unplain } from "./plain.ts";

/** A name with special characters. */
export const NAMED = `Ottilie & "Søns" <Ltd>`;

export const PROGRAM = unplain<Program>({
  id: "prog_sample",
  name: NAMED,
  owner_email: "owner@shop.example",
  domain: "shop.example",
  currency: "EUR",
  default_commission_pct: 20,
  payout_term: "NET-15",
  min_payout_cents: 0,
  cookie_days: 60,
  attribution: "last",
  code_precedence: "link",
  auto_approve_days: null,
  live_only: true,
  brand_color: "#0f766e",
  time_zone: "Europe/Berlin",
  applications: "review",
  slug: null,
  questions: null,
  terms: null,
  sale_amounts: "shown",
  partner_links: false,
  assets: null,
  default_group_id: "",
  payments_compared: 0,
  min_payouts: {},
  payout_currency: null,
  debtor_name: null,
  debtor_iban: null,
  debtor_iban_sealed: null,
  debtor_bic: null,
  ...{ self_billing: "off", self_billing_prefix: "", require_tax_data: false },
  ...{ payer_name: null, payer_address: null, payer_country: null, payer_tax_id: null },
  payout_change_hold_days: 3,
  terms_version: 0,
  shard: 0,
  api_key_hash: "0",
  api_key_last4: "x9Qw",
  api_key_created_at: "2026-01-01T00:00:00.000Z",
  api_key_last_used_at: null,
  connections: {},
  created_at: "2026-01-01T00:00:00.000Z",
  updated_at: "2026-01-01T00:00:00.000Z",
});

const ENDPOINT = {
  id: "whe_sample",
  url: "https://hooks.shop.example/affiliates",
  failing_since: "2026-11-01T00:00:00.000Z",
  failure_count: 42,
} as Endpoint;

const CHANGE: PayoutDetailsChange = {
  partner: { id: "ptn_sample", email: "jane@partners.example", first_name: "Jane", last_name: NAMED, status: "active" },
  addresses: ["jane@partners.example", "old@wallet.example"],
  changes: { payout_email: ["o**@wallet.example", "n**@wallet.example"] },
  taken: 2,
  held_until: "2026-12-02T00:00:00.000Z",
};

const APPLICATION = {
  id: "app_sample",
  email: "jane@partners.example",
  name: NAMED,
  note: `No coupon sites,\n${NAMED}`,
} as Application;

const PARTNER = { id: "par_sample", email: "jane@partners.example", slug: "jane" } as Partner;
const LINK = { token: "A".repeat(43), expires_at: "2026-11-30T00:00:00.000Z" };

const MEMBER = { id: "mem_sample", email: "accounts@shop.example", role: "finance" } as Member;

const CLAIM = { id: "clm_sample", status: "declined", order_id: "order-9001", day: null, note: NAMED } as SaleClaim;

const PAYOUT = {
  partner: { id: "ptn_sample", email: "jane@partners.example" },
  payout: {
    ...{ id: "po_sample", amount_cents: cents(123_456_789), currency: "EUR", due_at: "2026-12-15T00:00:00.000Z" },
    source_amounts: null,
    ...{ reference: "bank 2026-12-03", method: "wallet" as const, recipient: "w•••@wallet.example" },
  },
};

const refusals = JSON.stringify({ time: { at: "2026-11-22T09:41:00.000Z", count: 4, event_id: "evt_sample" } });
const REFUSING = { ...PROGRAM, connections: { provider_a: { refusals } } } as unknown as Program;

const AMOUNTS = [
  { currency: "EUR", amount_cents: cents(123_456) },
  { currency: "JPY", amount_cents: cents(-500) },
];

export const NOTICES: { [K in MailKind]: NoticeOf<K> } = {
  payout_details: {
    kind: "payout_details",
    program: PROGRAM,
    actor: actors.apiKey(PROGRAM),
    owners: [PROGRAM.owner_email],
    changed: [CHANGE],
  },
  payout_change_link: {
    ...{ kind: "payout_change_link", program: PROGRAM, partner: PARTNER, link: LINK },
    changes: { payout_email: ["o**@wallet.example", "n**@wallet.example"] },
  },
  application_address: {
    kind: "application_address",
    program: PROGRAM,
    email: "jane@partners.example",
    state: { is: "new", token: LINK.token },
  },
  application_received: { kind: "application_received", program: PROGRAM, application: APPLICATION },
  application_approved: { kind: "application_approved", program: PROGRAM, partner: PARTNER, link: LINK },
  application_declined: { kind: "application_declined", program: PROGRAM, application: APPLICATION },
  invitation: {
    kind: "invitation",
    ...{ program: PROGRAM, partner: PARTNER, link: LINK },
    offer: offerOf(PROGRAM, { slug: "default", commission_pct: 25, hold_days: null }, [], LINK.expires_at),
  },
  member_invited: { kind: "member_invited", program: PROGRAM, member: MEMBER, link: LINK },
  endpoint_disabled: { kind: "endpoint_disabled", program: PROGRAM, endpoint: ENDPOINT },
  security: {
    kind: "security",
    program: PROGRAM,
    recipient: "former@shop.example",
    events: [
      {
        type: "member.removed",
        payload: { member_id: "mem_sample", email: "former@shop.example", role: "owner" },
        changes: null,
        actor: actors.member("accounts@shop.example"),
        created_at: "2026-11-28T09:30:00.000Z",
      },
      {
        type: "program.updated",
        payload: { program_id: PROGRAM.id, changed: ["owner_email"] },
        changes: { owner_email: ["former@shop.example", "owner@shop.example"] },
        actor: actors.member("accounts@shop.example"),
        created_at: "2026-11-28T09:30:00.000Z",
      },
    ],
  },
  ledger_differs: {
    kind: "ledger_differs",
    program: PROGRAM,
    differences: [{ check: "balance", subject: "ptn_sample", expected: { USD: 1 }, found: { USD: 2 } }],
  },
  claim_decided: { kind: "claim_decided", program: PROGRAM, partner: PARTNER, claim: CLAIM, answer: "no_ref" },
  payout_generated: { kind: "payout_generated", program: PROGRAM, ...PAYOUT },
  payout_paid: { kind: "payout_paid", program: PROGRAM, ...PAYOUT },
  payout_failed: { kind: "payout_failed", program: PROGRAM, ...PAYOUT },
  payout_returned: { kind: "payout_returned", program: PROGRAM, ...PAYOUT },
  payout_details_asked: { kind: "payout_details_asked", program: PROGRAM, partner: PAYOUT.partner },
  applications_waiting: { kind: "applications_waiting", program: PROGRAM, count: 3 },
  claims_waiting: { kind: "claims_waiting", program: PROGRAM, count: 1 },
  payouts_held: { kind: "payouts_held", program: PROGRAM, count: 2 },
  webhooks_refused: { kind: "webhooks_refused", program: REFUSING },
  clicks_over_budget: { kind: "clicks_over_budget", program: PROGRAM, day: "2026-11-22", count: 48_211 },
  weekly_summary: {
    kind: "weekly_summary",
    program: REFUSING,
    ...{ from: "2026-11-16", until: "2026-11-23" },
    waiting: { applications: 3, claims: 0, held: 1, commissions: 12, payouts: 2, codes: 1 },
    pending: AMOUNTS,
    in_payout: AMOUNTS.slice(1),
    earned: AMOUNTS.map((one) => ({ ...one, commissions: 7 })),
  },
  commissions_earned: {
    kind: "commissions_earned",
    program: PROGRAM,
    partner: PAYOUT.partner,
    ...{ since: "2026-11-21T23:00:00.000Z", until: "2026-11-22T23:00:00.000Z" },
    earned: AMOUNTS,
  },
  codes_unknown: {
    kind: "codes_unknown",
    program: PROGRAM,
    codes: Array.from({ length: 12 }, (_, i) => ({ provider: "provider_a", code: `${NAMED}${i}`, payments: i + 1 })),
  },
};
