/**
 * Row → API object: what leaves the service, by the API and by outbound webhooks alike, is decided here, once. A view has
 * every column but those that its type leaves out.
 */

import { VISITOR, type Actor } from "../../domain/actor.ts";
import type { Asset } from "../../domain/asset.ts";
import { holdUntil } from "../../domain/commission.ts";
import type { EVENTS, OutboundEventType } from "../../domain/event.ts";
import { givenConditions, type Condition } from "../../domain/flow.ts";
import { maskAccount, maskAddress } from "../../domain/mask.ts";
import { NOTHING, type Cents } from "../../domain/money.ts";
import { bySecretSet } from "../../providers/registry.ts";
import { connectionOf } from "./connections.ts";
import type { PayoutDetail } from "./payout-details.ts";
import type {
  ApiKey,
  Application,
  AuditEvent,
  Commission,
  Decided,
  Endpoint,
  Flow,
  Member,
  Partner,
  PartnerCode,
  Payment,
  Payout,
  Program,
  SaleClaim,
} from "./rows.ts";

/** Left out: what follows from other columns. */
export function viewPartner(partner: Partner): Omit<Partner, "search_text"> {
  return {
    id: partner.id,
    program_id: partner.program_id,
    email: partner.email,
    first_name: partner.first_name,
    last_name: partner.last_name,
    slug: partner.slug,
    status: partner.status,
    commission_pct: partner.commission_pct,
    payout_method: partner.payout_method,
    payout_email: partner.payout_email,
    provider_a_account_id: partner.provider_a_account_id,
    metadata: partner.metadata,
    created_at: partner.created_at,
    updated_at: partner.updated_at,
  };
}

export type PartnerView = ReturnType<typeof viewPartner>;

/** How a detail is shown in part; which method it is says nothing of where. */
const MASKS: Record<Exclude<PayoutDetail, "payout_method">, (detail: string) => string> = {
  payout_email: maskAddress,
  provider_a_account_id: maskAccount,
};

/** What a reader without the scope `payouts` sees of a partner: payout details in part. The same object where it has none. */
export function withoutPayoutDetails<P extends Partial<PartnerView>>(partner: P): P {
  const details = Object.entries(MASKS).flatMap(([name, mask]) => {
    const detail = partner[name as keyof typeof MASKS];
    return detail ? [[name, mask(detail)]] : [];
  });
  return details.length === 0 ? partner : { ...partner, ...Object.fromEntries(details) };
}

/** Commissions of one currency as the API's `stats` counts them: every one that is not rejected (PART-7). */
export interface CurrencyStats {
  currency: string;
  total_commissions: number;
  total_earned_cents: Cents;
  pending_cents: Cents;
  approved_cents: Cents;
  paid_cents: Cents;
}

/** `stats` in the program's currency; other currencies are listed separately (PART-7). */
export function viewStats(stats: readonly CurrencyStats[], currency: string, clicks: number) {
  const own = stats.find((row) => row.currency === currency);
  return {
    total_commissions: own?.total_commissions ?? 0,
    total_earned_cents: own?.total_earned_cents ?? NOTHING,
    pending_cents: own?.pending_cents ?? NOTHING,
    approved_cents: own?.approved_cents ?? NOTHING,
    paid_cents: own?.paid_cents ?? NOTHING,
    clicks,
    other_currencies: stats.filter((row) => row.currency !== currency),
  };
}

export function viewMember(member: Member): Member {
  return {
    id: member.id,
    program_id: member.program_id,
    email: member.email,
    role: member.role,
    created_at: member.created_at,
    updated_at: member.updated_at,
  };
}

export function viewFlow(flow: Flow): Omit<Flow, "conditions"> & { conditions: Condition[] } {
  return {
    id: flow.id,
    program_id: flow.program_id,
    name: flow.name,
    event: flow.event,
    action_type: flow.action_type,
    action_value: flow.action_value,
    conditions: givenConditions(flow),
    priority: flow.priority,
    active: flow.active,
    created_at: flow.created_at,
    updated_at: flow.updated_at,
  };
}

/** Left out: how it is compared, and when it ended, for only those that hold are shown. */
export function viewCode(code: PartnerCode): Omit<PartnerCode, "code_key" | "ended_at"> {
  return {
    id: code.id,
    program_id: code.program_id,
    partner_id: code.partner_id,
    provider: code.provider,
    code: code.code,
    provider_code_id: code.provider_code_id,
    created_at: code.created_at,
  };
}

/** Left out: what proved the address. */
export function viewApplication(application: Application): Omit<Application, "token_hash"> {
  return {
    id: application.id,
    program_id: application.program_id,
    status: application.status,
    email: application.email,
    name: application.name,
    website: application.website,
    answers: application.answers,
    terms_version: application.terms_version,
    consented_at: application.consented_at,
    partner_id: application.partner_id,
    note: application.note,
    created_at: application.created_at,
    decided_at: application.decided_at,
    updated_at: application.updated_at,
  };
}

export type ApplicationView = ReturnType<typeof viewApplication>;

/** What an application's webhook holds: nothing that the person wrote, which would have to be forgotten there too. */
type SentOfApplication = Decided<
  Application,
  "id" | "program_id" | "status" | "partner_id" | "created_at" | "decided_at",
  ("email" | "name" | "website" | "answers" | "terms_version" | "consented_at") | ("note" | "token_hash" | "updated_at")
>;

/** An application in outbound webhooks, and in the reply to a decision (JOIN-7). */
export function viewApplicationData(application: SentOfApplication) {
  return {
    id: application.id,
    program_id: application.program_id,
    status: application.status,
    partner_id: application.partner_id,
    created_at: application.created_at,
    decided_at: application.decided_at,
  };
}

/** Left out: where its rows are, and what proves its key. */
type ProgramView = Omit<
  Program,
  "connections" | "questions" | "assets" | "shard" | "api_key_hash" | "api_key_created_at"
> & {
  questions: string[];
  assets: Asset[];
} & ReturnType<typeof bySecretSet<boolean>>;

/** Every setting; secrets only as `*_set` (PROG-4). */
export function viewProgram(program: Program): ProgramView {
  return {
    id: program.id,
    name: program.name,
    owner_email: program.owner_email,
    domain: program.domain,
    currency: program.currency,
    default_commission_pct: program.default_commission_pct,
    payout_term: program.payout_term,
    min_payout_cents: program.min_payout_cents,
    cookie_days: program.cookie_days,
    attribution: program.attribution,
    code_precedence: program.code_precedence,
    auto_approve_days: program.auto_approve_days,
    live_only: program.live_only,
    brand_color: program.brand_color,
    time_zone: program.time_zone,
    applications: program.applications,
    slug: program.slug,
    questions: program.questions ?? [],
    terms: program.terms,
    terms_version: program.terms_version,
    sale_amounts: program.sale_amounts,
    assets: program.assets ?? [],
    ...bySecretSet(({ provider, secret }) => connectionOf(program, provider.name)[secret] !== null),
    api_key_last4: program.api_key_last4,
    api_key_last_used_at: program.api_key_last_used_at,
    created_at: program.created_at,
    updated_at: program.updated_at,
  };
}

/** Left out: what proves the key. */
export function viewApiKey(key: ApiKey): Omit<ApiKey, "hash"> {
  return {
    id: key.id,
    program_id: key.program_id,
    name: key.name,
    scopes: key.scopes,
    last4: key.last4,
    created_at: key.created_at,
    expires_at: key.expires_at,
    last_used_at: key.last_used_at,
  };
}

export function viewEvent(event: AuditEvent): Omit<AuditEvent, "actor"> & { actor: Actor | null } {
  return {
    id: event.id,
    program_id: event.program_id,
    type: event.type,
    payload: event.type === "click" ? { ...event.payload, country: event.payload["country"] ?? null } : event.payload,
    actor: event.type === "click" ? VISITOR : event.actor,
    changes: event.changes,
    created_at: event.created_at,
  };
}

type EndpointSecret = "secret" | "secret_previous" | "secret_previous_until";
type EndpointInternal = "failing_since" | "failure_count" | "deleted_at";

/** The signing secret is not among the fields: only the create and rotate replies show it. */
export function viewEndpoint(endpoint: Endpoint): Omit<Endpoint, EndpointSecret | EndpointInternal> {
  return {
    id: endpoint.id,
    program_id: endpoint.program_id,
    url: endpoint.url,
    events: endpoint.events,
    description: endpoint.description,
    active: endpoint.active,
    disabled_at: endpoint.disabled_at,
    created_at: endpoint.created_at,
    updated_at: endpoint.updated_at,
  };
}

/** What makes others, and what the journal keeps of it. */
type CommissionInternal = "review_reasons" | "dismissed_reasons" | "event_id" | "seen_at";

/** Of the record its columns. */
export function viewCommissionRow(commission: Commission): Omit<Commission, CommissionInternal> {
  return {
    id: commission.id,
    program_id: commission.program_id,
    partner_id: commission.partner_id,
    payment_id: commission.payment_id,
    flow_id: commission.flow_id,
    payout_id: commission.payout_id,
    kind: commission.kind,
    source_commission_id: commission.source_commission_id,
    status: commission.status,
    flagged: commission.flagged,
    review_reason: commission.review_reason,
    rejected_reason: commission.rejected_reason,
    amount_cents: commission.amount_cents,
    txn_amount_cents: commission.txn_amount_cents,
    currency: commission.currency,
    provider: commission.provider,
    provider_transaction_id: commission.provider_transaction_id,
    subscription_id: commission.subscription_id,
    customer_email: commission.customer_email,
    rate: commission.rate,
    note: commission.note,
    created_at: commission.created_at,
    approved_at: commission.approved_at,
    paid_at: commission.paid_at,
    updated_at: commission.updated_at,
  };
}

/** What of the program says how long a commission is on hold. */
type HoldRules = Pick<Program, "auto_approve_days">;

/** The full record (COM-9), by the settings of now. */
export function viewCommission(commission: Commission, { auto_approve_days }: HoldRules) {
  return { ...viewCommissionRow(commission), hold_until: holdUntil(commission, auto_approve_days) };
}

export type CommissionView = ReturnType<typeof viewCommission>;

/** What a commission's webhook holds: few fields, and no customer. */
type Sent = Decided<
  Commission,
  "id" | "partner_id" | "amount_cents" | "txn_amount_cents" | "status" | "currency",
  | CommissionInternal
  | ("program_id" | "payment_id" | "flow_id" | "payout_id" | "source_commission_id" | "kind" | "rate" | "note")
  | ("flagged" | "review_reason" | "rejected_reason" | "provider" | "provider_transaction_id" | "subscription_id")
  | ("customer_email" | "created_at" | "approved_at" | "paid_at" | "updated_at")
>;

/** A commission in outbound webhooks (HOOK-2). */
export function viewCommissionData(commission: Sent) {
  return {
    id: commission.id,
    partner_id: commission.partner_id,
    amount: commission.amount_cents,
    revenue: commission.txn_amount_cents,
    status: commission.status,
    currency: commission.currency,
  };
}

/** The sealed recipient, of which `recipient` is the masked form, and how its transfer goes on. */
type PayoutInternal = "recipient_sealed" | "attempt" | "attempt_params" | "attempt_started_at" | "reconcile_at";

export function viewPayout(payout: Payout): Omit<Payout, PayoutInternal> {
  return {
    id: payout.id,
    program_id: payout.program_id,
    partner_id: payout.partner_id,
    amount_cents: payout.amount_cents,
    currency: payout.currency,
    status: payout.status,
    method: payout.method,
    recipient: payout.recipient,
    period_start: payout.period_start,
    period_end: payout.period_end,
    due_at: payout.due_at,
    commission_count: payout.commission_count,
    reference: payout.reference,
    failure_code: payout.failure_code,
    failure_message: payout.failure_message,
    created_at: payout.created_at,
    paid_at: payout.paid_at,
    updated_at: payout.updated_at,
  };
}

export type PayoutView = ReturnType<typeof viewPayout>;

/** `data` of each outbound event: the object of the API that the catalogue names, which has its line in `SentObjects`. */
export type OutboundData = { [E in OutboundEventType]: SentObjects[(typeof EVENTS)[E]["data"]] };

interface SentObjects {
  ApplicationData: ReturnType<typeof viewApplicationData>;
  ClaimData: ReturnType<typeof viewClaimData>;
  CommissionData: ReturnType<typeof viewCommissionData>;
  Partner: PartnerView;
  Payout: PayoutView;
}

/** A claim, whole: its note is for the partner. */
export function viewClaim(claim: SaleClaim): SaleClaim {
  return {
    id: claim.id,
    program_id: claim.program_id,
    partner_id: claim.partner_id,
    status: claim.status,
    order_id: claim.order_id,
    day: claim.day,
    email_domain: claim.email_domain,
    payment_id: claim.payment_id,
    note: claim.note,
    created_at: claim.created_at,
    decided_at: claim.decided_at,
  };
}

export type ClaimView = ReturnType<typeof viewClaim>;

/** What a claim's webhook holds: nothing that would have to be forgotten with a customer. */
type SentClaim = Decided<
  SaleClaim,
  "id" | "program_id" | "partner_id" | "status" | "payment_id" | "created_at" | "decided_at",
  "order_id" | "day" | "email_domain" | "note"
>;

/** A claim in outbound webhooks. */
export function viewClaimData(claim: SentClaim) {
  return {
    id: claim.id,
    program_id: claim.program_id,
    partner_id: claim.partner_id,
    status: claim.status,
    payment_id: claim.payment_id,
    created_at: claim.created_at,
    decided_at: claim.decided_at,
  };
}

export interface PingData {
  /** Of the event. */
  id: string;
  endpoint_id: string;
  description: string | null;
}

/** `decision` is in the trace; the others are how it is settled. */
type PaymentInternal =
  | ("decision" | "gross_cents" | "rules_seen" | "seen_at")
  | ("facts_revision" | "settled_revision" | "erased_at");

/** A payment in lists; only a single one has `trace`. */
export function viewPayment(payment: Payment): Omit<Payment, PaymentInternal> {
  return {
    id: payment.id,
    program_id: payment.program_id,
    provider: payment.provider,
    provider_transaction_id: payment.provider_transaction_id,
    outcome: payment.outcome,
    partner_id: payment.partner_id,
    ref: payment.ref,
    code_id: payment.code_id,
    currency: payment.currency,
    txn_amount_cents: payment.txn_amount_cents,
    adjusted_cents: payment.adjusted_cents,
    customer_email: payment.customer_email,
    customer_id: payment.customer_id,
    subscription_id: payment.subscription_id,
    created_at: payment.created_at,
    updated_at: payment.updated_at,
    event: payment.event,
  };
}

export type PaymentView = ReturnType<typeof viewPayment>;

/**
 * A payment with its trace: the references and the flows tried in order, each condition with the value it saw and whether it held, the
 * rate and the arithmetic, or the reason why there is no commission (PAY-14).
 */
export function viewPaymentWithTrace(payment: Payment, rows: readonly Commission[], program: HoldRules) {
  const { decision } = payment;
  return {
    ...viewPayment(payment),
    trace: {
      outcome: payment.outcome,
      ref: payment.ref,
      ref_source: decision?.ref_source ?? null,
      candidates: decision?.candidates ?? [],
      partner_id: payment.partner_id,
      partner_slug: decision?.partner_slug ?? null,
      flows: decision?.flows ?? [],
      flow_id: decision?.flow_id ?? null,
      rate: decision?.rate ?? null,
      txn_amount_cents: payment.txn_amount_cents,
      adjusted_cents: payment.adjusted_cents,
      amount_cents: decision?.amount_cents ?? null,
      arithmetic: decision?.arithmetic ?? null,
    },
    commissions: rows.map((row) => viewCommission(row, program)),
  };
}

/** A claim with the payments that it can be about, as `viewPaymentWithTrace` shows each. */
export function viewClaimWithPayments(
  claim: SaleClaim,
  payments: readonly { payment: Payment; commissions: readonly Commission[] }[],
  program: HoldRules,
) {
  return {
    ...viewClaim(claim),
    payments: payments.map(({ payment, commissions }) => viewPaymentWithTrace(payment, commissions, program)),
  };
}
