import { amountFor, REVIEW_REASONS, type Hold, type Rate, type ReviewReason } from "./commission.ts";
import { sameAddress } from "./email.ts";
import type { CancellationFact, Fact } from "./fact.ts";
import { isMatching, type RefKind } from "./condition.ts";
import { historyOf, type CountedPayment } from "./customer.ts";
import { actionOf, matchFlow, type Flow, type FlowEvent, type FlowSubject, type FlowTrace } from "./flow.ts";
import { countMatching, productsOf, type Counted, type Line } from "./lines.ts";
import { add, LARGEST, NOTHING, type Cents } from "./money.ts";
import type { PartnerStatus } from "./partner.ts";
import { adjustedTotal, isDisputed, paymentState, type PaymentState } from "./payment-state.ts";
import type { ProviderName } from "./provider-name.ts";
import type { GroupRules, PartnerRules, ProgramRules } from "./rules.ts";
import { isPossibleDuplicate, type TwinFact } from "./twin.ts";
import { chooseReference, type Candidate, type ChosenReference, type Leads } from "./reference.ts";

/** The outcome of a payment: a commission, or the reason why it earns no commission (PAY-14). */
export const OUTCOMES = [
  "commission",
  "no_ref",
  "unknown_ref",
  "unknown_code",
  "partner_not_active",
  "partner_deactivated",
  "zero_amount",
  "unpaid",
  "merged",
  "test_mode",
  "no_flow",
  "too_large",
  "claimed_elsewhere",
] as const;
export type Outcome = (typeof OUTCOMES)[number];

/** Belongs to another program: the outcome of a payment, or the reason why an event without one is ignored (IN-1). */
export const CLAIMED_ELSEWHERE = "claimed_elsewhere" satisfies Outcome;

/** Outcomes of payments that count under another id or in another program: they are not sales, and are not decided. */
export const COUNTED_ELSEWHERE: readonly Outcome[] = ["merged", CLAIMED_ELSEWHERE];

/** The outcome of a provider's event: that of its payment, or the event's other effect. */
export const EVENT_OUTCOMES = [
  ...OUTCOMES,
  "adjusted",
  "waiting",
  "flagged",
  "remembered",
  "linked",
  "ignored",
] as const;
export type EventOutcome = (typeof EVENT_OUTCOMES)[number];

/** The full decision about a payment, shown in its trace and compared by a later settling. */
export interface PaymentDecision {
  ref: string | null;
  ref_source: ChosenReference<LedgerPartner>["ref_source"];
  /** The same as conditions of flows compare it; absent if it leads to no partner. */
  ref_kind?: RefKind;
  /** Every reference that was tried. */
  candidates: Candidate[];
  /** The partner's promotion code that decided it. */
  code_id?: string;
  /** The currency of a lead's flow. */
  lead_currency?: string;
  partner_id: string | null;
  partner_slug: string | null;
  /** The partner's group when the payment was made, if a rule was chosen; missing in decisions before groups existed. */
  group_id?: string | null;
  group_slug?: string | null;
  flow_id: string | null;
  rate: Rate | null;
  /** The hold of the commission; null without one. Missing in older decisions. */
  hold?: Hold | null;
  /** Flows in the order of evaluation, each condition with the value it compared. */
  flows: FlowTrace[];
  /**
   * The input of `self_referral`, whose result is kept for it, even if the partner's addresses change. Null without a
   * rule, and since an erasure, which removes the values that the rule compared.
   */
  decided_on: string | null;
  /** The newest change applied from an earlier time (`Rules`) that took part in the choice of the rule. */
  applied?: number;
  self_referral: boolean;
  amount_cents: Cents | null;
  /** The lines; absent while they are unknown. */
  lines?: Line[];
  /** The amount of the matching lines, if the flow counts only these (LINE-5). */
  base_cents?: Cents;
  /** The arithmetic in words of numbers: `20 % of (10000 - 2500) = 1500`. */
  arithmetic: string | null;
}

export interface LedgerPartner {
  id: string;
  slug: string;
  email: string;
  payout_email: string | null;
  status: PartnerStatus;
}

/** The rules of a partner as of a moment. `group` is null only if it is deleted and its rules are unknown. */
interface RulesOfPartner extends Omit<PartnerRules, "group_id"> {
  group: GroupRules | null;
  hasTurnedActive: boolean;
}

/** The rules that decide a payment, as of one moment. */
export interface Rules {
  program: ProgramRules;
  flows: readonly Flow[];
  /** The rules of a partner that `leads` returns, and whether the partner turned active since that moment. */
  ofPartner: (id: string) => RulesOfPartner;
  /** The newest change that applies to the payment from an earlier time, or 0. */
  applied: number;
}

export interface DecisionInput {
  provider: ProviderName;
  provider_transaction_id: string;
  /** Whether the owner's server reports the payment. */
  isReported: boolean;
  live_only: boolean;
  facts: readonly Fact[];
  /** The first counted payments of the customer without this one, and how many were read (`historyOf`). */
  counted: readonly CountedPayment[];
  payments_compared: number;
  /** Other payments that may be the same one; defaults to an empty list. */
  twins?: readonly TwinFact[];
  /** Partners by every reference in the facts and by id, and the holders of the codes in the facts. */
  leads: Leads<LedgerPartner>;
  /** The rules in force when the payment was made, whenever its facts arrive (PAY-16). */
  rulesOf: (state: PaymentState) => Rules;
  previous: {
    outcome: Outcome | null;
    decision: PaymentDecision | null;
    /** The rules of that decision: of the payment's time as then known, without changes applied since. */
    rules: () => Rules;
  };
  /** The owner requested it: a refused partner is decided by the current status (PART-4). */
  isRequested: boolean;
  /** Partners whose claim of this payment the owner granted (CLAIM-5), which counts as a lasting request. */
  granted: readonly string[];
  /** The partners that already have a commission row for this payment. */
  commissionedPartners: readonly string[];
  /** The partner's statuses at the payment's time, by the commission's decision; empty if it refused the partner. */
  admittedAs: (id: string) => readonly PartnerStatus[];
}

export interface Decision {
  state: PaymentState;
  outcome: Outcome;
  adjusted_cents: Cents;
  /** Reasons for a review, the gravest first; from facts only, the caller applies the owner's dismissals. */
  review_reasons: ReviewReason[];
  record: PaymentDecision;
}

/** The part of a decision that a rule fills in. */
const NO_RULE = {
  ...{ group_id: null, group_slug: null, flow_id: null, rate: null, hold: null, flows: [], decided_on: null },
  ...{ amount_cents: null, arithmetic: null },
} as const satisfies Partial<Record<keyof PaymentDecision, unknown>>;

/** Changes a decision whose commission would exceed a balance's limit (PAY-22) to one without. */
export function refuseTooLarge({ record, ...decision }: Decision): Decision {
  return { ...decision, outcome: "too_large", record: { ...record, ...NO_RULE, flows: [] } };
}

/** Decides a payment's earnings with reasons, by the set of its facts alone (LAW-1). Null without a payment. */
export function decidePayment(input: DecisionInput): Decision | null {
  const state = paymentState(input.facts);
  if (!state) return null;
  const adjusted_cents = adjustedTotal(input.facts, state);
  const rules = input.rulesOf(state);
  const isElsewhere = input.facts.some(({ kind }) => kind === "elsewhere");
  const { partner, ...chosen } = isElsewhere
    ? NOBODY
    : chooseReference(input.facts, state, rules.program, input.leads, input.granted, input.isReported);
  const outcome = isElsewhere ? CLAIMED_ELSEWHERE : outcomeOf(input, rules, state, chosen, partner);
  const record: PaymentDecision = {
    ...chosen,
    partner_id: partner?.id ?? null,
    partner_slug: partner?.slug ?? null,
    ...NO_RULE,
    flows: [],
    self_referral: false,
    ...(state.lines ? { lines: state.lines } : {}),
  };
  if (outcome === "commission" && partner) decideRate(record, input, rules, state, partner, adjusted_cents);
  return {
    state: { ...state, currency: record.lead_currency ?? state.currency },
    outcome: outcome === "commission" ? outcomeByRule(record) : outcome,
    adjusted_cents,
    review_reasons: reviewReasons(input, state, adjusted_cents, record),
    record,
  };
}

function outcomeByRule({ rate, base_cents }: PaymentDecision): Outcome {
  if (rate === null) return "no_flow";
  return base_cents !== undefined && base_cents <= 0 ? "zero_amount" : "commission";
}

/** The reference of a payment that another program decides: it leads to no partner of this program. */
const NOBODY: ChosenReference<LedgerPartner> = { ref: null, ref_source: null, partner: null, candidates: [] };

function outcomeOf(
  input: DecisionInput,
  rules: Rules,
  state: PaymentState,
  { ref, ref_source }: Pick<PaymentDecision, "ref" | "ref_source">,
  partner: LedgerPartner | null,
): Outcome {
  // The setting does not take back a commission earned while the program accepted test payments.
  if (state.test && input.live_only && input.commissionedPartners.length === 0) return "test_mode";
  if (!state.paid) return "unpaid";
  if (state.event === "transaction_completed" && state.base_cents <= 0) return "zero_amount";
  if (state.base_cents > LARGEST) return "too_large";
  if (ref === null) return "no_ref";
  if (!partner) return ref_source === "code" ? "unknown_code" : "unknown_ref";
  return isAdmitted(input, rules, partner.id) ? "commission" : outcomeByStatus(input, rules, partner);
}

/** An earlier decision holds as long as it was made for the status at the payment's time. */
function isAdmitted({ commissionedPartners, admittedAs }: DecisionInput, rules: Rules, id: string): boolean {
  return commissionedPartners.includes(id) && admittedAs(id).includes(rules.ofPartner(id).status);
}

/** Whether a partner earns: active at the payment, or invited then and active later, despite later changes. */
function outcomeByStatus(
  { previous, granted, ...input }: DecisionInput,
  rules: Rules,
  partner: LedgerPartner,
): Outcome {
  const { status: then, hasTurnedActive } = rules.ofPartner(partner.id);
  if (then === "active") return "commission";
  // A payment of a deactivated partner earns only if the owner requests it (PART-4).
  const isGranted = granted.includes(partner.id);
  const isRequested = input.isRequested || isGranted;
  const isRefused =
    previous.outcome === "partner_deactivated" &&
    previous.decision?.partner_id === partner.id &&
    previous.rules().ofPartner(partner.id).status === then;
  if (!isRequested && (isRefused || then === "deactivated")) return "partner_deactivated";
  if (then === "invited") return hasTurnedActive ? "commission" : "partner_not_active";
  if (partner.status === "active") return "commission";
  // A grant is stored and can wait; a request is not, and the vendor's next event would end the wait.
  return isGranted ? "partner_not_active" : "partner_deactivated";
}

/**
 * Applies the rule of the payment's time. A rule that was chosen before an erasure is kept: the compared values are
 * gone. One that was chosen since is not: it may be of a moment at which the customer's other payments were unsettled.
 */
function decideRate(
  record: PaymentDecision,
  input: DecisionInput,
  rules: Rules,
  state: PaymentState,
  partner: LedgerPartner,
  adjusted_cents: Cents,
): void {
  const decided_on = JSON.stringify([partner.id, state.base_cents, state.currency, state.customer_email]);
  const { decision, outcome } = input.previous;
  const isRecorded = decision?.partner_id === partner.id && (decision.rate !== null || outcome === "no_flow");
  const recorded = isRecorded ? decision : null;
  const isErased = recorded?.decided_on === null;
  const isSame = recorded !== null && (isErased || recorded.decided_on === decided_on);
  const rule = recorded && isErased ? recordedRule(recorded) : chosenRule(rules, partner.id, input, state, record);
  Object.assign(record, rule, {
    decided_on: isSame ? recorded.decided_on : decided_on,
    self_referral: isSame ? recorded.self_referral : isPartner(state.customer_email, partner),
  });
  Object.assign(record, earnedBy(rule, state, adjusted_cents));
}

/** The amount that a rule gives for a payment, with `base_cents` if only matching lines count; empty without a rate. */
export function earnedBy(
  { rate, flows }: Pick<PaymentDecision, "rate" | "flows">,
  { event, base_cents, lines }: Pick<PaymentState, "event" | "base_cents" | "lines">,
  adjusted_cents: Cents,
): Partial<Pick<PaymentDecision, "base_cents" | "amount_cents" | "arithmetic">> {
  if (rate === null) return {};
  const whole = { base_cents, adjusted_cents };
  const matching = matchingOf(flows, lines, whole);
  const counted = matching ?? whole;
  const amount_cents = amountEarned(rate, event, counted);
  const earned = { amount_cents, arithmetic: arithmetic(rate, counted, amount_cents) };
  return matching ? { ...earned, base_cents: matching.base_cents } : earned;
}

/** The part of a payment that the lines matched by the deciding flow make up; null if the whole payment counts. */
export function matchingOf(tried: readonly FlowTrace[], lines: readonly Line[] | null, whole: Counted): Counted | null {
  const flow = tried.find(({ matched }) => matched);
  if (flow?.base !== "matching_items" || lines === null) return null;
  return countMatching(lines, isMatching(flow.conditions), whole);
}

/** The amount that a rule gives for a payment (`amountFor`) or a lead, which has no refunds. */
function amountEarned(rate: Rate, event: FlowEvent, { base_cents, adjusted_cents }: Counted): Cents {
  if (event === "transaction_completed") return amountFor(rate, base_cents, adjusted_cents);
  return rate.action_type === "flat" ? rate.action_value : NOTHING;
}

/** `rate` is null if no lead flow applies to a lead. */
export type Rule = Pick<
  PaymentDecision,
  "flow_id" | "flows" | "partner_slug" | "group_id" | "group_slug" | "applied" | "rate" | "hold" | "lead_currency"
>;

/** The input for choosing the rule of a payment, apart from the rules. */
export type RuledPayment = Pick<
  DecisionInput,
  "provider" | "provider_transaction_id" | "counted" | "payments_compared"
>;
export type RuledState = Pick<
  PaymentState,
  "event" | "occurred_at" | "base_cents" | "currency" | "customer_email" | "customer_id" | "lines"
>;

/** The rule for a payment of a partner (FLOW-2, FLOW-3), with the flows tried. */
export function chosenRule(
  rules: Rules,
  partner_id: string,
  { provider, provider_transaction_id, counted, payments_compared }: RuledPayment,
  state: RuledState,
  { ref_kind = "link" }: Pick<PaymentDecision, "ref_kind">,
): Rule {
  const { applied } = rules;
  const partner = rules.ofPartner(partner_id);
  const { slug: partner_slug } = partner;
  const { event, occurred_at, base_cents, currency, customer_email } = state;
  const subject: FlowSubject = {
    ...{ event, occurred_at, txn_amount_cents: base_cents, currency, customer_email, partner_slug, provider },
    ...{ ref_source: ref_kind, partner_group: partner.group?.slug ?? null },
    product_id: state.lines && productsOf(state.lines),
    ...historyOf({ ...state, provider_transaction_id }, counted, payments_compared),
  };
  const { flow, ...chosen } = chooseRate(rules.flows, partner, rules.program, subject);
  return {
    ...chosen,
    partner_slug,
    group_id: partner.group?.id ?? null,
    group_slug: partner.group?.slug ?? null,
    ...(applied > 0 ? { applied } : {}),
    ...(event === "lead_created" && flow?.currency ? { lead_currency: flow.currency } : {}),
  };
}

function recordedRule({
  rate,
  flow_id,
  flows,
  partner_slug,
  applied,
  lead_currency,
  ...recorded
}: PaymentDecision): Rule {
  const { group_id = null, group_slug = null, hold = null } = recorded;
  const rule = { rate, flow_id, flows, partner_slug, group_id, group_slug, hold };
  return {
    ...rule,
    ...(applied === undefined ? {} : { applied }),
    ...(lead_currency === undefined ? {} : { lead_currency }),
  };
}

/** Whether rules give the same rate by the same flow. */
export function isSameRule(...rules: readonly Pick<PaymentDecision, "flow_id" | "rate">[]): boolean {
  return new Set(rules.map(({ flow_id, rate }) => JSON.stringify([flow_id, rate]))).size === 1;
}

/** Whether the address is one of the partner's own. */
function isPartner(address: string | null, { email, payout_email }: LedgerPartner): boolean {
  return sameAddress(address, email) || sameAddress(address, payout_email);
}

/**
 * The rate: the first matching flow's, else the partner's, else the group's, else the default (FLOW-2, FLOW-3); of a
 * lead only a flow's.
 */
export function chooseRate(
  flows: readonly Flow[],
  partner: Pick<RulesOfPartner, "commission_pct" | "group">,
  program: Pick<ProgramRules, "default_commission_pct" | "auto_approve_days">,
  subject: FlowSubject,
): Pick<PaymentDecision, "rate" | "flow_id" | "flows"> & { hold: Hold | null; flow: Flow | null } {
  const { flow, tried } = matchFlow(flows, subject);
  if (!flow && subject.event !== "transaction_completed")
    return { rate: null, hold: null, flow_id: null, flows: tried, flow };
  const ofGroup = partner.group?.commission_pct ?? null;
  const rate: Rate = flow
    ? { source: "flow", ...actionOf(flow) }
    : partner.commission_pct !== null
      ? { source: "partner", action_type: "percentage", action_value: partner.commission_pct }
      : ofGroup !== null
        ? { source: "group", action_type: "percentage", action_value: ofGroup }
        : { source: "program", action_type: "percentage", action_value: program.default_commission_pct };
  return { rate, hold: chooseHold(flow, partner.group, program), flow_id: flow?.id ?? null, flows: tried, flow };
}

/** Chooses the hold of a commission: the flow's, else the group's, else the program's (COM-6); null without one. */
function chooseHold(
  flow: Pick<Flow, "hold_days"> | null,
  group: Pick<GroupRules, "hold_days"> | null,
  { auto_approve_days }: Pick<ProgramRules, "auto_approve_days">,
): Hold | null {
  const days = { flow: flow?.hold_days ?? null, group: group?.hold_days ?? null, program: auto_approve_days };
  const source = (["flow", "group", "program"] as const).find((of) => days[of] !== null);
  return source === undefined ? null : { source, days: days[source]! };
}

function reviewReasons(
  input: DecisionInput,
  state: PaymentState,
  adjusted_cents: Cents,
  record: PaymentDecision,
): ReviewReason[] {
  const canceled = input.facts.some(
    (fact): fact is CancellationFact => fact.kind === "cancellation" && fact.subscription_id === state.subscription_id,
  );
  const holds: Record<ReviewReason, boolean> = {
    disputed: isDisputed(input.facts),
    possible_duplicate: isPossibleDuplicate(input.facts, input.twins ?? []),
    self_referral: record.self_referral,
    mostly_refunded: add(adjusted_cents, adjusted_cents) > state.base_cents,
    subscription_canceled: canceled,
  };
  return REVIEW_REASONS.filter((reason) => holds[reason]);
}

/** The calculation as a person would write it, in smallest units. */
function arithmetic(rate: Rate, { base_cents: base, adjusted_cents: adjusted }: Counted, amount: Cents): string {
  const of = adjusted > 0 ? `(${base} - ${adjusted})` : `${base}`;
  if (rate.action_type === "percentage") return `${rate.action_value} % of ${of} = ${amount}`;
  return adjusted > 0
    ? `flat ${rate.action_value}, of ${of} left = ${amount}`
    : `flat ${rate.action_value} = ${amount}`;
}
