/** Row → API object, in the API and in outbound webhooks alike: the columns that the row's resource reads. */

import { VISITOR, type Actor } from "../../domain/actor.ts";
import type { Condition } from "../../domain/condition.ts";
import type { EVENTS, EventPayloads, OutboundEventType } from "../../domain/event.ts";
import type { Warning } from "./condition-names.ts";
import { givenConditions } from "../../domain/flow.ts";
import { NOTHING, type Cents } from "../../domain/money.ts";
import { bySecretSet } from "../../providers/registry.ts";
import { APPLICATION } from "../../resources/application.ts";
import { CLAIM } from "../../resources/claim.ts";
import { CODE } from "../../resources/code.ts";
import { COMMISSION } from "../../resources/commission.ts";
import { ENDPOINT } from "../../resources/endpoint.ts";
import { EVENT } from "../../resources/event.ts";
import { columnsWith, pick, type Fields, type ViewOf } from "../../resources/field.ts";
import { FLOW } from "../../resources/flow.ts";
import { GROUP } from "../../resources/group.ts";
import { PARTNER } from "../../resources/partner.ts";
import { PAYMENT } from "../../resources/payment.ts";
import { PRODUCT } from "../../resources/product.ts";
import { PAYOUT } from "../../resources/payout.ts";
import { PAYOUT_EXPORT } from "../../resources/payout-export.ts";
import { PROGRAM } from "../../resources/program.ts";
import { API_KEY, MEMBER } from "../../resources/team.ts";
import { connectionOf } from "./connections.ts";
import { MASKED_DETAILS } from "./payout-details.ts";
import type {
  ApiKey,
  Application,
  AuditEvent,
  Commission,
  Endpoint,
  Flow,
  Group,
  Member,
  Partner,
  PartnerCode,
  Product,
  Payment,
  Payout,
  PayoutExport,
  PayoutRow,
  Program,
  SaleClaim,
} from "./rows.ts";

/** The view of a row: the unchanged columns that its resource reads. */
function viewBy<Row extends object, F extends Fields>(fields: F): (row: Row) => ViewOf<Row, F> {
  const columns = columnsWith(fields, "read") as (keyof ViewOf<Row, F>)[];
  return (row) => pick<Row, keyof ViewOf<Row, F>>(row, columns);
}

export const viewPartner = viewBy<Partner, typeof PARTNER>(PARTNER);
export type PartnerView = ReturnType<typeof viewPartner>;

/** A partner without the scope `payouts`: details are masked. Without details the same object. */
export function withoutPayoutDetails<P extends Partial<PartnerView>>(partner: P): P {
  const details = MASKED_DETAILS.flatMap(([name, mask]) => {
    const detail = partner[name];
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

export const viewMember = viewBy<Member, typeof MEMBER>(MEMBER);

const viewFlowRow = viewBy<Flow, typeof FLOW>(FLOW);

export function viewFlow(flow: Flow): Omit<Flow, "conditions"> & { conditions: Condition[] } {
  return { ...viewFlowRow(flow), conditions: givenConditions(flow) };
}

export function viewSavedFlow({ warnings, ...flow }: Flow & { warnings: readonly Warning[] }) {
  return { ...viewFlow(flow), warnings };
}

export const viewGroup = viewBy<Group, typeof GROUP>(GROUP);

export const viewCode = viewBy<PartnerCode, typeof CODE>(CODE);
export const viewProduct = viewBy<Product, typeof PRODUCT>(PRODUCT);

export const viewApplication = viewBy<Application, typeof APPLICATION>(APPLICATION);
export type ApplicationView = ReturnType<typeof viewApplication>;

/** An application in webhooks and decisions (JOIN-7): without the person's texts, which erasure would miss there. */
export function viewApplicationData(application: Application) {
  return pick(application, ["id", "program_id", "status", "partner_id", "created_at", "decided_at"]);
}

const viewProgramRow = viewBy<Program, typeof PROGRAM>(PROGRAM);

/** Every setting; secrets only as `*_set` (PROG-4). */
export function viewProgram(program: Program) {
  return {
    ...viewProgramRow(program),
    questions: program.questions ?? [],
    assets: program.assets ?? [],
    ...bySecretSet(({ provider, secret }) => connectionOf(program, provider.name)[secret] !== null),
  };
}

export const viewApiKey = viewBy<ApiKey, typeof API_KEY>(API_KEY);

const viewEventRow = viewBy<AuditEvent, typeof EVENT>(EVENT);

export function viewEvent(event: AuditEvent): Omit<AuditEvent, "actor"> & { actor: Actor | null } {
  const row = viewEventRow(event);
  if (event.type !== "click") return row;
  return { ...row, payload: { ...event.payload, country: event.payload["country"] ?? null }, actor: VISITOR };
}

/** The signing secret is not among the fields: only the create and rotate replies show it. */
export const viewEndpoint = viewBy<Endpoint, typeof ENDPOINT>(ENDPOINT);

/** The full record (COM-9). */
export const viewCommission = viewBy<Commission, typeof COMMISSION>(COMMISSION);
export type CommissionView = ReturnType<typeof viewCommission>;

/** A commission's part of an audit event. */
export function commissionPayload(commission: Commission): EventPayloads["commission.created"] {
  return {
    commission_id: commission.id,
    partner_id: commission.partner_id,
    amount_cents: commission.amount_cents,
    txn_amount_cents: commission.txn_amount_cents,
    provider: commission.provider,
    currency: commission.currency,
    status: commission.status,
    kind: commission.kind,
    payment_id: commission.payment_id,
    flagged: commission.flagged,
  };
}

/** A commission in outbound webhooks (HOOK-2): few fields, and no customer. */
export function viewCommissionData(commission: Commission) {
  return {
    id: commission.id,
    partner_id: commission.partner_id,
    amount: commission.amount_cents,
    revenue: commission.txn_amount_cents,
    status: commission.status,
    currency: commission.currency,
    hold_until: commission.hold_until,
  };
}

export const viewPayout = viewBy<Payout, typeof PAYOUT>(PAYOUT);
const { held_until: _, ...PAYOUT_COLUMNS } = PAYOUT;
/** Without `held_until`, which `payoutJson` adds. */
export const viewPayoutRow = viewBy<PayoutRow, typeof PAYOUT_COLUMNS>(PAYOUT_COLUMNS);
export type PayoutView = ReturnType<typeof viewPayout>;

export const viewPayoutExport = viewBy<PayoutExport, typeof PAYOUT_EXPORT>(PAYOUT_EXPORT);
export type PayoutExportView = ReturnType<typeof viewPayoutExport>;

/** `data` of each outbound event: the object of the API that the catalogue names, which has its line in `SentObjects`. */
export type OutboundData = { [E in OutboundEventType]: SentObjects[(typeof EVENTS)[E]["data"]] };

interface SentObjects {
  ApplicationData: ReturnType<typeof viewApplicationData>;
  ClaimData: ReturnType<typeof viewClaimData>;
  CommissionData: ReturnType<typeof viewCommissionData>;
  Partner: PartnerView;
  Payout: PayoutView;
}

/** A whole claim: its note is for the partner. */
export const viewClaim = viewBy<SaleClaim, typeof CLAIM>(CLAIM);
export type ClaimView = ReturnType<typeof viewClaim>;

/** A claim in outbound webhooks: without data that would have to be erased with a customer. */
export function viewClaimData(claim: SaleClaim) {
  return pick(claim, ["id", "program_id", "partner_id", "status", "payment_id", "created_at", "decided_at"]);
}

export interface PingData {
  /** The id of the event. */
  id: string;
  endpoint_id: string;
  description: string | null;
}

/** A payment in lists; only a single one has `trace`. */
export const viewPayment = viewBy<Payment, typeof PAYMENT>(PAYMENT);
export type PaymentView = ReturnType<typeof viewPayment>;

/**
 * A payment with its trace: the references and the flows tried in order, each condition with the value it saw and whether it held, the
 * rate and the arithmetic, or the reason why there is no commission (PAY-14).
 */
export function viewPaymentWithTrace(
  payment: Payment,
  rows: readonly Commission[],
  later_flows?: { flow_id: string; name: string; created_at: string }[],
) {
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
      group_id: decision?.group_id ?? null,
      group_slug: decision?.group_slug ?? null,
      flows: decision?.flows ?? [],
      flow_id: decision?.flow_id ?? null,
      rate: decision?.rate ?? null,
      hold: decision?.hold ?? null,
      txn_amount_cents: payment.txn_amount_cents,
      adjusted_cents: payment.adjusted_cents,
      lines: decision?.lines ?? null,
      base_cents: decision?.base_cents ?? null,
      amount_cents: decision?.amount_cents ?? null,
      arithmetic: decision?.arithmetic ?? null,
      ...(later_flows ? { later_flows } : {}),
    },
    commissions: rows.map(viewCommission),
  };
}

/** A claim with the payments that it can be about, as `viewPaymentWithTrace` shows each. */
export function viewClaimWithPayments(
  claim: SaleClaim,
  payments: readonly { payment: Payment; commissions: readonly Commission[] }[],
) {
  return {
    ...viewClaim(claim),
    payments: payments.map(({ payment, commissions }) => viewPaymentWithTrace(payment, commissions)),
  };
}
