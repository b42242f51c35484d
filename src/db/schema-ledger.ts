/** The vendors' reports, and the money that follows from them. */
import { sql } from "drizzle-orm";
import { index, integer, primaryKey, sqliteTable, text, uniqueIndex } from "drizzle-orm/sqlite-core";
import type { Rate, CommissionKind, CommissionStatus } from "../domain/commission.ts";
import type { SourceAmount } from "../domain/exchange.ts";
import type { FlowEvent } from "../domain/flow.ts";
import type { Cents } from "../domain/money.ts";
import type { PayoutMethod } from "../domain/partner.ts";
import type { Outcome, PaymentDecision } from "../domain/payment.ts";
import type { PayoutStatus } from "../domain/payout.ts";
import type { ProviderName } from "../domain/provider-name.ts";
import type { Sealed } from "../lib/seal.ts";
import { emailDomain } from "./email-domain.ts";
import type { ErasedScope, FactScope } from "./fact-scopes.ts";
import { programs, partners } from "./schema-program.ts";

/** One row per verified vendor event; `audit_event_id` is null until its audit event is written. WITHOUT ROWID. */
export const providerEvents = sqliteTable(
  "provider_events",
  {
    program_id: text().notNull(),
    provider: text().$type<ProviderName>().notNull(),
    event_id: text().notNull(),
    event_type: text().notNull(),
    occurred_at: text().notNull(),
    received_at: text().notNull(),
    recorded_by: text().notNull(),
    outcome: text(),
    ignored: text(),
    audit_event_id: text(),
    body: text(),
  },
  (t) => [
    primaryKey({ columns: [t.program_id, t.provider, t.event_id] }),
    index("provider_events_open")
      .on(t.received_at)
      .where(sql`audit_event_id is null`),
    index("provider_events_body")
      .on(t.received_at)
      .where(sql`body is not null`),
  ],
);

/** The vendors' reports, append-only, under the vendors' own ids. WITHOUT ROWID. */
export const facts = sqliteTable(
  "facts",
  {
    program_id: text().notNull(),
    provider: text().$type<ProviderName>().notNull(),
    /** `<vendor event id>#<position>`; for an imported fact the customer, so that there is one for each. */
    fact_id: text().notNull(),
    kind: text().notNull(),
    occurred_at: text().notNull(),
    /** The reference in lower case, to look up its partner; the code's id for a fact about a code. */
    ref_key: text(),
    data: text().notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.program_id, t.provider, t.fact_id] }),
    // The report about a code in force at a payment's time: reads one row, however many reports there are.
    index("facts_of_code")
      .on(t.program_id, t.provider, t.ref_key, t.occurred_at)
      .where(sql`kind = 'code'`),
  ],
);

/** Vendor ids that find a fact: facts that share a payment alias are about one payment. WITHOUT ROWID. */
export const factSubjects = sqliteTable(
  "fact_subjects",
  {
    program_id: text().notNull(),
    provider: text().$type<ProviderName>().notNull(),
    scope: text().$type<FactScope>().notNull(),
    subject: text().notNull(),
    fact_id: text().notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.program_id, t.provider, t.scope, t.subject, t.fact_id] }),
    index("fact_subjects_fact").on(t.program_id, t.provider, t.fact_id),
  ],
);

/** Hashes of erased ids and addresses: later reports about them lose body and address. WITHOUT ROWID. */
export const erasedSubjects = sqliteTable(
  "erased_subjects",
  {
    program_id: text().notNull(),
    provider: text().$type<ProviderName>().notNull(),
    scope: text().$type<ErasedScope>().notNull(),
    subject: text().notNull(),
    erased_at: text().notNull(),
  },
  (t) => [primaryKey({ columns: [t.program_id, t.provider, t.scope, t.subject] })],
);

/**
 * Programs in which an event waits for its subject, by the subject's vendor id. At provider B, the transaction or
 * subscription may arrive in another program of the same vendor account, also in another database. At provider A, the
 * payment may have another id, and the service asks the vendor for it. The prefixes of these questions are in
 * `core/inbound/questions.ts`, those of codes reported in other programs in `core/inbound/seen-codes.ts`.
 * WITHOUT ROWID.
 */
export const waitingEvents = sqliteTable(
  "waiting_events",
  {
    provider: text().$type<ProviderName>().notNull(),
    subject: text().notNull(),
    program_id: text().notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.provider, t.subject, t.program_id] }),
    index("waiting_events_of_program").on(t.program_id, t.provider, t.subject),
  ],
);

/** Subscriptions of provider B that claim another program than their address: so do later payments. WITHOUT ROWID. */
export const claimedSubscriptions = sqliteTable(
  "claimed_subscriptions",
  {
    subscription_id: text().notNull(),
    program_id: text().notNull(),
  },
  (t) => [primaryKey({ columns: [t.subscription_id, t.program_id] })],
);

/** Condition on a payment that stored references of its customer's address can change. */
export const ASKED_BY_EMAIL = "(partner_id is null or coalesce(decision ->> 'ref_source', '') <> 'payment')";

/** Outcomes of payments that count: completed, with an amount above 0, and of this program (FLOW-14). */
export const COUNTED_OUTCOMES = [
  "commission",
  "no_ref",
  "unknown_ref",
  "unknown_code",
  "partner_not_active",
  "partner_deactivated",
  "no_flow",
  "too_large",
] as const satisfies readonly Outcome[];

/** Condition on a payment that counts as one of its customer (FLOW-14). */
export const COUNTED = `event = 'transaction_completed' and (coalesce(outcome, '') in ('${COUNTED_OUTCOMES.join("', '")}') or (coalesce(outcome, '') = 'zero_amount' and txn_amount_cents > 0))`;

export const payments = sqliteTable(
  "payments",
  {
    id: text().primaryKey(),
    program_id: text()
      .notNull()
      .references(() => programs.id),
    provider: text().$type<ProviderName>().notNull(),
    provider_transaction_id: text().notNull(),
    outcome: text().$type<Outcome>(),
    partner_id: text(),
    ref: text(),
    currency: text().notNull(),
    txn_amount_cents: integer().$type<Cents>().notNull(),
    gross_cents: integer().$type<Cents>().notNull(),
    /** Approved adjustments net of tax, never above `txn_amount_cents`. */
    adjusted_cents: integer().default(0).$type<Cents>().notNull(),
    customer_email: text(),
    customer_id: text(),
    subscription_id: text(),
    decision: text({ mode: "json" }).$type<PaymentDecision>(),
    /** Incremented by every recorded fact about the payment; settling is a compare-and-set on it. */
    facts_revision: integer().notNull().default(0),
    settled_revision: integer().notNull().default(0),
    erased_at: text(),
    created_at: text().notNull(),
    updated_at: text().notNull(),
    /** The newest of `past_rules` when it was first reported as paid (`UNPAID_SEEN`). */
    rules_seen: integer().notNull().default(0),
    /** The version of a partner's promotion code that decided it, as in `decision`; kept when it is merged. */
    code_id: text(),
    /** A payment, or a lead, which is decided by lead flows alone. */
    event: text().$type<FlowEvent>().notNull().default("transaction_completed"),
    /** When the service first stored a fact of it, of any date; rows that are one payment keep their own. */
    seen_at: text().notNull().default(""),
  },
  (t) => [
    uniqueIndex("payments_transaction").on(t.program_id, t.provider, t.provider_transaction_id),
    index("payments_list").on(t.program_id, t.id),
    index("payments_outcome").on(t.program_id, t.outcome, t.id),
    // Vendor ids come first: provider B's events need not name their program.
    index("payments_of_b")
      .on(t.provider_transaction_id, t.program_id)
      .where(sql`provider = 'provider_b'`),
    index("payments_by_subscription")
      .on(t.subscription_id, t.program_id)
      .where(sql`subscription_id is not null`),
    // This is the order in which a customer's payments count (`ledger/counted-payments.ts`).
    index("payments_by_customer")
      .on(t.customer_id, t.program_id, t.created_at, t.provider_transaction_id)
      .where(sql`customer_id is not null`),
    // Payments that stored references can change (`ledger/concerned-payments.ts`): one that names its partner is not in the index.
    index("payments_by_email")
      .on(sql`lower(${t.customer_email})`, t.program_id)
      .where(sql.raw(`customer_email is not null and ${ASKED_BY_EMAIL}`)),
    // The other payments with an address, for a search by it.
    index("payments_by_named_email")
      .on(sql`lower(${t.customer_email})`, t.program_id)
      .where(sql.raw(`customer_email is not null and not ${ASKED_BY_EMAIL}`)),
    // Payments that a claim by day and domain can match (`core/claims`): a partner's payment is not in the index.
    index("payments_by_domain")
      .on(t.program_id, emailDomain(t.customer_email), t.created_at)
      .where(sql`customer_email is not null and (partner_id is null or coalesce(outcome, '') = 'partner_deactivated')`),
    // Leads only, which are few.
    index("payments_leads")
      .on(t.program_id, t.id)
      .where(sql`event = 'lead_created'`),
    // Its last columns find a partner's last sale.
    index("payments_partner")
      .on(t.partner_id, t.outcome, t.event, t.created_at)
      .where(sql`partner_id is not null`),
    // Payments that a code decided, which are few: by id for the triggers of `code_days`, by code for its recount.
    index("payments_coded")
      .on(t.id, t.code_id)
      .where(sql`code_id is not null`),
    index("payments_sold")
      .on(t.partner_id, t.customer_id, t.provider, t.created_at, t.id)
      .where(sql`customer_id is not null and coalesce(outcome, '') = 'commission' and event <> 'lead_created'`),
    index("payments_code")
      .on(t.code_id)
      .where(sql`code_id is not null`),
    // The same for the payments of an address.
    index("payments_counted_email")
      .on(sql`lower(${t.customer_email})`, t.program_id, t.created_at, t.provider_transaction_id)
      .where(sql.raw(`customer_email is not null and ${COUNTED}`)),
    index("payments_unsettled")
      .on(t.updated_at)
      .where(sql`settled_revision < facts_revision`),
  ],
);

export const commissions = sqliteTable(
  "commissions",
  {
    id: text().primaryKey(),
    program_id: text()
      .notNull()
      .references(() => programs.id),
    partner_id: text()
      .notNull()
      .references(() => partners.id),
    payment_id: text().references(() => payments.id),
    flow_id: text(),
    payout_id: text().references(() => payouts.id),
    kind: text().$type<CommissionKind>().notNull(),
    source_commission_id: text(),
    status: text().$type<CommissionStatus>().notNull(),
    flagged: integer({ mode: "boolean" }).notNull().default(false),
    review_reason: text(),
    /** Reasons that the owner dismissed, comma-separated; the same fact does not flag again. */
    dismissed_reasons: text().notNull().default(""),
    rejected_reason: text(),
    amount_cents: integer().$type<Cents>().notNull(),
    txn_amount_cents: integer().$type<Cents>().notNull(),
    currency: text().notNull(),
    provider: text().$type<ProviderName>(),
    provider_transaction_id: text(),
    subscription_id: text(),
    customer_email: text(),
    rate: text({ mode: "json" }).$type<Rate>().notNull(),
    note: text(),
    created_at: text().notNull(),
    approved_at: text(),
    paid_at: text(),
    updated_at: text().notNull(),
    /** Every current reason, the gravest first, comma-separated; `review_reason` is the first. */
    review_reasons: text().notNull().default(""),
    /** The audit event of its last change of money, which the change's entries name. */
    event_id: text(),
    /**
     * When its payment was first seen; empty for a manual one. The hold begins at the later of this and `created_at`.
     */
    seen_at: text().notNull().default(""),
    /** The end of the hold, before which time does not approve it (COM-6); null without a hold. */
    hold_until: text(),
    /** The amount of the matching lines, if its flow counts only these; null: all of `txn_amount_cents`. */
    base_cents: integer().$type<Cents>(),
  },
  (t) => [
    index("commissions_list").on(t.program_id, t.id),
    index("commissions_status").on(t.program_id, t.status, t.id),
    // Commissions to review, which are few.
    index("commissions_flagged")
      .on(t.program_id, t.id)
      .where(sql`flagged = 1`),
    index("commissions_partner").on(t.partner_id, t.id),
    index("commissions_payment").on(t.payment_id),
    index("commissions_payout")
      .on(t.payout_id)
      .where(sql`payout_id is not null`),
    index("commissions_payable")
      .on(t.program_id, t.partner_id, t.currency, t.created_at)
      .where(sql`status = 'approved' and payout_id is null`),
    index("commissions_waiting")
      .on(t.partner_id, t.flagged, t.currency, t.hold_until)
      .where(sql`status = 'pending'`),
    // Those that time approves, and first those whose hold is still to be set.
    index("commissions_held")
      .on(t.program_id, t.hold_until)
      .where(sql`status = 'pending' and flagged = 0`),
    uniqueIndex("commissions_one_sale")
      .on(t.payment_id, t.partner_id)
      .where(sql`kind = 'sale'`),
  ],
);

export const payouts = sqliteTable(
  "payouts",
  {
    id: text().primaryKey(),
    program_id: text()
      .notNull()
      .references(() => programs.id),
    partner_id: text()
      .notNull()
      .references(() => partners.id),
    amount_cents: integer().$type<Cents>().notNull(),
    currency: text().notNull(),
    status: text().$type<PayoutStatus>().notNull(),
    method: text().$type<PayoutMethod>(),
    period_start: text(),
    period_end: text().notNull(),
    due_at: text().notNull(),
    commission_count: integer().notNull(),
    reference: text(),
    failure_code: text(),
    failure_message: text(),
    /** The transfer attempt: its number and frozen parameters are stored before the vendor is called. */
    attempt: integer().notNull().default(0),
    attempt_params: text(),
    attempt_started_at: text(),
    reconcile_at: text(),
    created_at: text().notNull(),
    paid_at: text(),
    updated_at: text().notNull(),
    /** Its recipient, frozen when it is generated. */
    recipient_sealed: text().$type<Sealed>().notNull(),
    /** The recipient in masked form, by its method. */
    recipient: text(),
    /** Its commissions' sums by currency and their conversions, fixed when it is generated; null for a payout as earned. */
    source_amounts: text({ mode: "json" }).$type<SourceAmount[]>(),
  },
  (t) => [
    index("payouts_list").on(t.program_id, t.id),
    index("payouts_status").on(t.program_id, t.status, t.id),
    index("payouts_partner").on(t.partner_id, t.id),
    index("payouts_processing")
      .on(t.reconcile_at)
      .where(sql`status = 'processing'`),
    // Payouts that a file takes (`core/payouts/exports.ts`).
    index("payouts_to_export")
      .on(t.program_id, t.method, t.currency, t.id)
      .where(sql`status = 'pending'`),
    // Payouts that receive the partner's payout details when they are added.
    index("payouts_without_details")
      .on(t.partner_id, t.id)
      .where(sql`status = 'pending' and recipient is null`),
  ],
);
