/** What the vendors said, and the money that follows from it. */
import { sql } from "drizzle-orm";
import { index, integer, primaryKey, sqliteTable, text, uniqueIndex } from "drizzle-orm/sqlite-core";
import type { Rate, CommissionKind, CommissionStatus } from "../domain/commission.ts";
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

/** What the vendors said, append-only, under the vendor's own ids. WITHOUT ROWID. */
export const facts = sqliteTable(
  "facts",
  {
    program_id: text().notNull(),
    provider: text().$type<ProviderName>().notNull(),
    /** `<vendor event id>#<position>`; of an imported one what it binds, so that there is one for each customer. */
    fact_id: text().notNull(),
    kind: text().notNull(),
    occurred_at: text().notNull(),
    /** The reference in lower case, for the look-up of its partner; of what is said of a code, its id. */
    ref_key: text(),
    data: text().notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.program_id, t.provider, t.fact_id] }),
    // What was said of a code by the time of a payment: one row, however often it was said.
    index("facts_of_code")
      .on(t.program_id, t.provider, t.ref_key, t.occurred_at)
      .where(sql`kind = 'code'`),
  ],
);

/** By which vendor ids a fact is found: two facts that share a payment alias are about one payment. WITHOUT ROWID. */
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

/**
 * The vendor ids of erased customers and their payments, and the addresses they were asked to be erased by, as hashes:
 * what a vendor says of them later is stored without its body and without an address. WITHOUT ROWID.
 */
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
 * Programs in which an event waits for what it changes, by the vendor's id of that. At provider B, the transaction or
 * subscription may come to another program of the same vendor account, also in another database; at provider A, the
 * payment may go by another id, which the vendor is asked for. Such questions have the prefixes of
 * `core/inbound/questions.ts`; what is said of a code to other programs has those of `core/inbound/heard-codes.ts`.
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

/**
 * Subscriptions of provider B whose payments come to the address of one program and are claimed by another: their
 * payments that claim nothing are the other's as well. WITHOUT ROWID.
 */
export const claimedSubscriptions = sqliteTable(
  "claimed_subscriptions",
  {
    subscription_id: text().notNull(),
    program_id: text().notNull(),
  },
  (t) => [primaryKey({ columns: [t.subscription_id, t.program_id] })],
);

/** Of a payment that what is remembered of its customer's address can serve. */
export const ASKED_BY_EMAIL = "(partner_id is null or coalesce(decision ->> 'ref_source', '') <> 'payment')";

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
    /** Bumped by every recorded fact that concerns the payment; settling is a compare-and-set on it. */
    facts_revision: integer().notNull().default(0),
    settled_revision: integer().notNull().default(0),
    erased_at: text(),
    created_at: text().notNull(),
    updated_at: text().notNull(),
    /** The newest of `past_rules` when it was first heard of as paid (`UNPAID_SEEN`). */
    rules_seen: integer().notNull().default(0),
    /** The version of a partner's promotion code that decided it, as in `decision`; kept when it is merged. */
    code_id: text(),
    /** What it is: a payment, or a lead, which is decided by the flows of leads alone. */
    event: text().$type<FlowEvent>().notNull().default("transaction_completed"),
    /** When the service first stored a fact of it, whatever its date; of rows that are one payment, each its own. */
    seen_at: text().notNull().default(""),
  },
  (t) => [
    uniqueIndex("payments_transaction").on(t.program_id, t.provider, t.provider_transaction_id),
    index("payments_list").on(t.program_id, t.id),
    index("payments_outcome").on(t.program_id, t.outcome, t.id),
    // By the vendor's ids first: provider B's events need not name their program.
    index("payments_of_b")
      .on(t.provider_transaction_id, t.program_id)
      .where(sql`provider = 'provider_b'`),
    index("payments_by_subscription")
      .on(t.subscription_id, t.program_id)
      .where(sql`subscription_id is not null`),
    index("payments_by_customer")
      .on(t.customer_id, t.program_id)
      .where(sql`customer_id is not null`),
    // Those that what is remembered can serve (`ledger/served.ts`): nothing is written for one that names its partner.
    index("payments_by_email")
      .on(sql`lower(${t.customer_email})`, t.program_id)
      .where(sql.raw(`customer_email is not null and ${ASKED_BY_EMAIL}`)),
    // The others with an address, for a search by it.
    index("payments_by_named_email")
      .on(sql`lower(${t.customer_email})`, t.program_id)
      .where(sql.raw(`customer_email is not null and not ${ASKED_BY_EMAIL}`)),
    // Those that a claim by day and domain can be about (`core/claims`): nothing is written for one that is a partner's.
    index("payments_by_domain")
      .on(t.program_id, emailDomain(t.customer_email), t.created_at)
      .where(sql`customer_email is not null and (partner_id is null or coalesce(outcome, '') = 'partner_deactivated')`),
    // The few that are leads: nothing is written for any other.
    index("payments_leads")
      .on(t.program_id, t.id)
      .where(sql`event = 'lead_created'`),
    index("payments_partner")
      .on(t.partner_id, t.outcome)
      .where(sql`partner_id is not null`),
    // Of the few that a code decided: by their ids for the triggers of `code_days`, by the code for its recount.
    index("payments_coded")
      .on(t.id, t.code_id)
      .where(sql`code_id is not null`),
    index("payments_sold")
      .on(t.partner_id, t.customer_id, t.provider, t.created_at, t.id)
      .where(sql`customer_id is not null and coalesce(outcome, '') = 'commission' and event <> 'lead_created'`),
    index("payments_code")
      .on(t.code_id)
      .where(sql`code_id is not null`),
    index("payments_unsettled")
      .on(t.updated_at)
      .where(sql`settled_revision < facts_revision`),
  ],
);

/** SQL for when the hold of a commission begins (COM-6): the later of its payment's date and the time at which it was first seen. */
export const HOLD_BEGINS = sql.raw("case when seen_at > created_at then seen_at else created_at end");

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
    /** Reasons the owner has cleared, comma-separated; the same fact does not flag again. */
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
    /** All that flag it, the gravest first, comma-separated; `review_reason` is the first. */
    review_reasons: text().notNull().default(""),
    /** The audit event of its last change of money: the entries that the change posts name it. */
    event_id: text(),
    /** When the service first saw its payment; empty of a manual one. The hold begins then if that is later than `created_at`. */
    seen_at: text().notNull().default(""),
  },
  (t) => [
    index("commissions_list").on(t.program_id, t.id),
    index("commissions_status").on(t.program_id, t.status, t.id),
    // What the owner is to review: few, so almost nothing is written for it.
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
      .on(t.partner_id, t.flagged, t.currency, HOLD_BEGINS)
      .where(sql`status = 'pending'`),
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
    /** The same as everybody may see it: by its method, masked. */
    recipient: text(),
  },
  (t) => [
    index("payouts_list").on(t.program_id, t.id),
    index("payouts_status").on(t.program_id, t.status, t.id),
    index("payouts_partner").on(t.partner_id, t.id),
    index("payouts_processing")
      .on(t.reconcile_at)
      .where(sql`status = 'processing'`),
    // Those that take the partner's payout details when they are added.
    index("payouts_without_details")
      .on(t.partner_id, t.id)
      .where(sql`status = 'pending' and recipient is null and (method is null or method in ('wallet', 'provider_a'))`),
  ],
);
