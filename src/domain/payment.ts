import { amountFor, REVIEW_REASONS, type Rate, type ReviewReason } from "./commission.ts";
import { emailKey } from "./email.ts";
import type { AdjustmentFact, AttributionFact, CancellationFact, Fact, PaymentFact } from "./fact.ts";
import { matchFlow, type Flow, type FlowSubject, type FlowTrace } from "./flow.ts";
import { mulDivHalfUp } from "./money.ts";
import { slugKey, type PartnerStatus } from "./partner.ts";
import type { ProviderName } from "./provider-name.ts";

/** What became of a payment: a commission, or the reason why not (contract §5). */
export const OUTCOMES = [
  "commission",
  "no_ref",
  "unknown_ref",
  "partner_not_active",
  "partner_deactivated",
  "zero_amount",
  "unpaid",
  "merged",
] as const;
export type Outcome = (typeof OUTCOMES)[number];

/**
 * A reference remembered for a subscription or customer serves a payment made no earlier than this before it: the
 * vendor's events of one purchase carry times seconds apart, in either order.
 */
export const ATTRIBUTION_SLACK_MS = 3_600_000;

/** How a payment was decided, in full: what its trace shows, and what a later settling compares with. */
export interface PaymentDecision {
  ref: string | null;
  /** Where the reference came from. */
  ref_source: "payment" | "subscription" | "customer" | "email" | null;
  partner_id: string | null;
  partner_slug: string | null;
  flow_id: string | null;
  rate: Rate | null;
  /** Flows in the order tried, each condition with the value it saw. */
  flows: FlowTrace[];
  /** What the rule was decided on; the same again keeps the recorded rule, whatever the flows say by then. */
  decided_on: string | null;
  self_referral: boolean;
  amount_cents: number | null;
  /** The arithmetic in words of numbers: `20 % of (10000 - 2500) = 1500`. */
  arithmetic: string | null;
}

/** One payment put together from all its facts. */
export interface PaymentState {
  paid: boolean;
  occurred_at: string;
  currency: string;
  base_cents: number;
  gross_cents: number;
  /** References the payment itself carries, the strongest first. */
  refs: string[];
  customer_email: string | null;
  customer_id: string | null;
  subscription_id: string | null;
}

export interface LedgerPartner {
  id: string;
  slug: string;
  email: string;
  status: PartnerStatus;
  commission_pct: number | null;
}

export interface DecisionInput {
  provider: ProviderName;
  program: { default_commission_pct: number; attribution: "last" | "first" };
  facts: readonly Fact[];
  /** Partners by `slugKey` of every reference in the facts, and by their id. */
  partnerByRef: (ref: string) => LedgerPartner | null;
  flows: readonly Flow[];
  previous: { outcome: Outcome | null; decision: PaymentDecision | null; erased: boolean };
  /** The partners that already have a commission row for this payment: a decision once taken is not asked again whether the partner is active. */
  commissionedPartners: readonly string[];
}

export interface Decision {
  state: PaymentState;
  outcome: Outcome;
  adjusted_cents: number;
  /** Why a person should look, the gravest first; facts only, the owner's dismissals are applied by the caller. */
  review_reasons: ReviewReason[];
  record: PaymentDecision;
}

/**
 * What a payment earns and why, as a function of the set of its facts: neither their order nor their repetition matters
 * (contract §5, "The ledger is a function of the set of facts"). Null when no fact speaks of a payment yet.
 */
export function decidePayment(input: DecisionInput): Decision | null {
  const state = paymentState(input.facts);
  if (!state) return null;
  const adjusted_cents = adjustedTotal(input.facts, state);
  const chosen = chooseReference(input, state);
  const partner = chosen.ref === null ? null : input.partnerByRef(chosen.ref);
  const outcome = judge(input, state, chosen.ref, partner);
  const record: PaymentDecision = {
    ...chosen,
    partner_id: partner?.id ?? null,
    partner_slug: partner?.slug ?? null,
    flow_id: null,
    rate: null,
    flows: [],
    decided_on: null,
    self_referral: false,
    amount_cents: null,
    arithmetic: null,
  };
  if (outcome === "commission" && partner) decideRate(record, input, state, partner, adjusted_cents);
  return {
    state,
    outcome,
    adjusted_cents,
    review_reasons: reviewReasons(input, state, adjusted_cents, record),
    record,
  };
}

/** The payment as its facts tell it: the invoice's amounts before the session's, the newest within a source. */
export function paymentState(facts: readonly Fact[]): PaymentState | null {
  const all = facts.filter((fact): fact is PaymentFact => fact.kind === "payment");
  if (all.length === 0) return null;
  const paid = all.filter((fact) => fact.paid);
  const money = (paid.length > 0 ? paid : all).toSorted(
    (a, b) => Number(b.source === "invoice") - Number(a.source === "invoice") || newestFirst(a, b),
  )[0]!;
  const spoken = all.toSorted(
    (a, b) => Number(b.source === "session") - Number(a.source === "session") || newestFirst(a, b),
  );
  const first = <T>(pick: (fact: PaymentFact) => T | null): T | null => {
    for (const fact of spoken) {
      const value = pick(fact);
      if (value !== null) return value;
    }
    return null;
  };
  return {
    paid: paid.length > 0,
    occurred_at: (paid.length > 0 ? paid : all).map((fact) => fact.occurred_at).toSorted()[0]!,
    currency: money.currency,
    base_cents: money.base_cents,
    gross_cents: money.gross_cents,
    refs: [...new Set(spoken.flatMap((fact) => (fact.ref === null ? [] : [fact.ref])))],
    customer_email: first((fact) => fact.customer_email),
    customer_id: first((fact) => fact.customer_id),
    subscription_id: first((fact) => fact.subscription_id),
  };
}

/** The sum of approved adjustments net of tax, between 0 and the base (contract §5). */
export function adjustedTotal(facts: readonly Fact[], state: PaymentState): number {
  const versions = Map.groupBy(
    facts.filter((fact): fact is AdjustmentFact => fact.kind === "adjustment"),
    (fact) => fact.adjustment_id,
  );
  const failed = [...versions.values()].map(newestVersion).filter((fact) => fact.mode === "refund_failed");
  let net = 0;
  let gross = 0;
  for (const fact of [...versions.values()].map(newestVersion)) {
    if (!fact.effective || fact.mode === "refund_failed") continue;
    let amount = fact.amount_cents;
    if (fact.mode === "cumulative") {
      const back = failed.filter(
        (other) => other.effective && other.occurred_at >= fact.occurred_at && sharesAlias(other, fact),
      );
      amount = Math.max(0, amount - back.reduce((sum, other) => sum + other.amount_cents, 0));
    }
    if (fact.direction === "reverse") amount = -amount;
    if (fact.net_of_tax) net += amount;
    else gross += amount;
  }
  const fromGross = Math.min(Math.max(gross, 0), state.gross_cents);
  if (state.gross_cents > 0) net += mulDivHalfUp(fromGross, state.base_cents, state.gross_cents);
  return Math.min(Math.max(net, 0), state.base_cents);
}

/** The newest version counts; of two at one instant the one further on, then the larger: order never matters. */
function newestVersion(versions: AdjustmentFact[]): AdjustmentFact {
  return versions.toSorted(
    (a, b) =>
      compare(b.occurred_at, a.occurred_at) ||
      b.stage - a.stage ||
      b.amount_cents - a.amount_cents ||
      Number(a.effective) - Number(b.effective),
  )[0]!;
}

function sharesAlias(a: AdjustmentFact, b: AdjustmentFact): boolean {
  return a.aliases.some((alias) => b.aliases.includes(alias));
}

/**
 * The payment's own reference (of several the first that names a partner), else the one remembered for its
 * subscription, else for its customer, else the one imported for the customer's e-mail address.
 */
function chooseReference(input: DecisionInput, state: PaymentState): Pick<PaymentDecision, "ref" | "ref_source"> {
  const own = state.refs.find((ref) => input.partnerByRef(ref) !== null) ?? state.refs[0];
  if (own !== undefined) return { ref: own, ref_source: "payment" };
  const paidAt = Date.parse(state.occurred_at);
  const remembered = input.facts
    .filter((fact): fact is AttributionFact => fact.kind === "attribution")
    .filter((fact) => Date.parse(fact.occurred_at) <= (fact.imported ? paidAt : paidAt + ATTRIBUTION_SLACK_MS))
    .toSorted(
      (a, b) =>
        compare(a.occurred_at, b.occurred_at) ||
        Number(a.imported ?? false) - Number(b.imported ?? false) ||
        compare(slugKey(a.ref), slugKey(b.ref)),
    );
  // An imported one never takes a customer from the partner a vendor named before it, nor from one named later where
  // the last counts.
  const pick = (among: AttributionFact[]) =>
    (input.program.attribution === "first" ? among[0] : (among.findLast((fact) => !fact.imported) ?? among[0]))?.ref ??
    null;
  const { subscription_id, customer_id, customer_email } = state;
  if (subscription_id !== null) {
    const ref = pick(remembered.filter((fact) => fact.subscription_id === subscription_id));
    if (ref !== null) return { ref, ref_source: "subscription" };
  }
  if (customer_id !== null) {
    const ref = pick(remembered.filter((fact) => fact.customer_id === customer_id));
    if (ref !== null) return { ref, ref_source: "customer" };
  }
  if (customer_email !== null) {
    const key = emailKey(customer_email);
    const ref = pick(remembered.filter((fact) => fact.customer_email === key));
    if (ref !== null) return { ref, ref_source: "email" };
  }
  return { ref: null, ref_source: null };
}

function judge(input: DecisionInput, state: PaymentState, ref: string | null, partner: LedgerPartner | null): Outcome {
  if (!state.paid) return "unpaid";
  if (state.base_cents <= 0) return "zero_amount";
  if (ref === null) return "no_ref";
  if (!partner) return "unknown_ref";
  if (input.commissionedPartners.includes(partner.id)) return "commission";
  const { outcome, decision } = input.previous;
  // A payment that once named a deactivated partner never becomes a commission of that partner (contract §4).
  if (outcome === "partner_deactivated" && decision?.partner_id === partner.id) return "partner_deactivated";
  if (partner.status === "deactivated") return "partner_deactivated";
  if (partner.status === "invited") return "partner_not_active";
  return "commission";
}

function decideRate(
  record: PaymentDecision,
  input: DecisionInput,
  state: PaymentState,
  partner: LedgerPartner,
  adjusted_cents: number,
): void {
  const { decision, erased } = input.previous;
  const recorded = decision?.partner_id === partner.id && decision.rate ? decision : null;
  const decided_on = JSON.stringify([partner.id, state.base_cents, state.currency, state.customer_email]);
  let rate = recorded?.rate ?? null;
  if (recorded && rate && (erased || recorded.decided_on === decided_on)) {
    Object.assign(record, {
      flow_id: recorded.flow_id,
      flows: recorded.flows,
      decided_on: recorded.decided_on,
      self_referral: recorded.self_referral,
      partner_slug: recorded.partner_slug,
    });
  } else {
    const chosen = chooseRate(input.flows, partner, input.program, {
      txn_amount_cents: state.base_cents,
      customer_email: state.customer_email,
      partner_slug: partner.slug,
      provider: input.provider,
    });
    rate = chosen.rate;
    record.flow_id = chosen.flow_id;
    record.flows = chosen.tried;
    record.decided_on = decided_on;
    record.self_referral = state.customer_email?.toLowerCase() === partner.email.toLowerCase();
  }
  record.rate = rate;
  record.amount_cents = amountFor(rate, state.base_cents, adjusted_cents);
  record.arithmetic = arithmetic(rate, state.base_cents, adjusted_cents, record.amount_cents);
}

/**
 * The rate of a payment: the first matching flow's, else the partner's own, else the program's default (interface,
 * "Evaluation order").
 */
export function chooseRate(
  flows: readonly Flow[],
  partner: { commission_pct: number | null },
  program: { default_commission_pct: number },
  subject: FlowSubject,
): { rate: Rate; flow_id: string | null; tried: FlowTrace[] } {
  const { flow, tried } = matchFlow(flows, subject);
  const rate: Rate = flow
    ? { source: "flow", action_type: flow.action_type, action_value: flow.action_value }
    : partner.commission_pct !== null
      ? { source: "partner", action_type: "percentage", action_value: partner.commission_pct }
      : { source: "program", action_type: "percentage", action_value: program.default_commission_pct };
  return { rate, flow_id: flow?.id ?? null, tried };
}

function reviewReasons(
  input: DecisionInput,
  state: PaymentState,
  adjusted_cents: number,
  record: PaymentDecision,
): ReviewReason[] {
  const canceled = input.facts.some(
    (fact): fact is CancellationFact => fact.kind === "cancellation" && fact.subscription_id === state.subscription_id,
  );
  const holds: Record<ReviewReason, boolean> = {
    self_referral: record.self_referral,
    mostly_refunded: adjusted_cents * 2 > state.base_cents,
    subscription_canceled: canceled,
  };
  return REVIEW_REASONS.filter((reason) => holds[reason]);
}

/** The sum as a person would write it, in smallest units. */
function arithmetic(rate: Rate, base: number, adjusted: number, amount: number): string {
  const of = adjusted > 0 ? `(${base} - ${adjusted})` : `${base}`;
  if (rate.action_type === "percentage") return `${rate.action_value} % of ${of} = ${amount}`;
  return adjusted > 0
    ? `flat ${rate.action_value}, of ${of} left = ${amount}`
    : `flat ${rate.action_value} = ${amount}`;
}

function newestFirst(a: PaymentFact, b: PaymentFact): number {
  return compare(b.occurred_at, a.occurred_at) || compare(JSON.stringify(b), JSON.stringify(a));
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
