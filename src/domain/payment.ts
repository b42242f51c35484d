import { amountFor, REVIEW_REASONS, type Rate, type ReviewReason } from "./commission.ts";
import { sameAddress } from "./email.ts";
import type { CancellationFact, Fact } from "./fact.ts";
import { actionOf, matchFlow, type Flow, type FlowEvent, type FlowSubject, type FlowTrace } from "./flow.ts";
import { add, LARGEST, NOTHING, type Cents, type Percent } from "./money.ts";
import type { PartnerStatus } from "./partner.ts";
import { adjustedTotal, isDisputed, paymentState, type PaymentState } from "./payment-state.ts";
import type { ProviderName } from "./provider-name.ts";
import type { PartnerRules, ProgramRules } from "./rules.ts";
import { isPossibleDuplicate, type TwinFact } from "./twin.ts";
import { chooseReference, type Candidate, type ChosenReference, type Leads } from "./reference.ts";

/** The outcome of a payment: a commission, or the reason why not (PAY-14). */
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

/** What is another program's: of a payment its outcome, of an event without one why it is ignored (IN-1). */
export const CLAIMED_ELSEWHERE = "claimed_elsewhere" satisfies Outcome;

/** A payment that is counted under another name or by another program: it is no sale, and nobody decides on it. */
export const COUNTED_ELSEWHERE: readonly Outcome[] = ["merged", CLAIMED_ELSEWHERE];

/** What a provider's event came to: the outcome of the payment that it is about, or what else it did. */
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

/** How a payment was decided, in full: what its trace shows, and what a later settling compares with. */
export interface PaymentDecision {
  ref: string | null;
  ref_source: ChosenReference<LedgerPartner>["ref_source"];
  /** Every reference that was tried. */
  candidates: Candidate[];
  /** The partner's promotion code that decided it. */
  code_id?: string;
  partner_id: string | null;
  partner_slug: string | null;
  flow_id: string | null;
  rate: Rate | null;
  /** Flows in the order tried, each condition with the value it saw. */
  flows: FlowTrace[];
  /** What `self_referral` was judged on: the same again is not judged by what the partner's addresses are by then. */
  decided_on: string | null;
  /** The newest change applied from an earlier time (`Rules`) that the rule was chosen by. */
  applied?: number;
  self_referral: boolean;
  amount_cents: Cents | null;
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

/** What decides a payment, as it was at one moment. */
export interface Rules {
  program: ProgramRules;
  flows: readonly Flow[];
  /** Of a partner that `leads` gives; and whether they turned active since that moment. */
  ofPartner: (id: string) => PartnerRules & { hasTurnedActive: boolean };
  /** The newest change that was applied to the payment from an earlier time; 0 where there is none. */
  applied: number;
}

export interface DecisionInput {
  provider: ProviderName;
  live_only: boolean;
  facts: readonly Fact[];
  /** Of other payments that may be this one; none unless given. */
  twins?: readonly TwinFact[];
  /** Partners by every reference in the facts and by their id, and whose the codes in the facts are. */
  leads: Leads<LedgerPartner>;
  /** Those in force when the payment was made, whenever its facts arrive (PAY-16). */
  rulesOf: (state: PaymentState) => Rules;
  previous: {
    outcome: Outcome | null;
    decision: PaymentDecision | null;
    erased: boolean;
    /** Those that it was decided by: of when it was known to be made, and without what was applied to it since. */
    rules: () => Rules;
  };
  /** The owner asks: a refused partner is judged by what it is now (PART-4). */
  isRequested: boolean;
  /** Partners whose claim of this payment the owner granted (CLAIM-5): of them this is asked for good. */
  granted: readonly string[];
  /** The partners that already have a commission row for this payment. */
  commissionedPartners: readonly string[];
  /** What one of these was when the payment was made, by the decision that its commission goes by; none by one that refused them. */
  admittedAs: (id: string) => readonly PartnerStatus[];
}

export interface Decision {
  state: PaymentState;
  outcome: Outcome;
  adjusted_cents: Cents;
  /** Why a person should look, the gravest first; facts only, the owner's dismissals are applied by the caller. */
  review_reasons: ReviewReason[];
  record: PaymentDecision;
}

/** What is decided of a payment whose commission would take a balance beyond what is kept (PAY-22): it earns nothing. */
export function tooLarge({ record, ...decision }: Decision): Decision {
  const earnsNothing = { flow_id: null, rate: null, flows: [], decided_on: null, amount_cents: null, arithmetic: null };
  return { ...decision, outcome: "too_large", record: { ...record, ...earnsNothing } };
}

/**
 * What a payment earns and why, as a function of the set of its facts: neither their order nor their repetition matters
 * (LAW-1). Null when no fact is about a payment yet.
 */
export function decidePayment(input: DecisionInput): Decision | null {
  const state = paymentState(input.facts);
  if (!state) return null;
  const adjusted_cents = adjustedTotal(input.facts, state);
  const rules = input.rulesOf(state);
  const isElsewhere = input.facts.some(({ kind }) => kind === "elsewhere");
  const { partner, ...chosen } = isElsewhere
    ? NOBODY
    : chooseReference(input.facts, state, rules.program, input.leads, input.granted);
  const outcome = isElsewhere ? CLAIMED_ELSEWHERE : outcomeOf(input, rules, state, chosen, partner);
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
  if (outcome === "commission" && partner) decideRate(record, input, rules, state, partner, adjusted_cents);
  return {
    state,
    outcome: outcome === "commission" && record.rate === null ? "no_flow" : outcome,
    adjusted_cents,
    review_reasons: reviewReasons(input, state, adjusted_cents, record),
    record,
  };
}

/** What another program decides leads to no partner of this one. */
const NOBODY: ChosenReference<LedgerPartner> = { ref: null, ref_source: null, partner: null, candidates: [] };

function outcomeOf(
  input: DecisionInput,
  rules: Rules,
  state: PaymentState,
  { ref, ref_source }: Pick<PaymentDecision, "ref" | "ref_source">,
  partner: LedgerPartner | null,
): Outcome {
  // What once earned, while the program took test payments, is not taken back by the setting.
  if (state.test && input.live_only && input.commissionedPartners.length === 0) return "test_mode";
  if (!state.paid) return "unpaid";
  if (state.event === "transaction_completed" && state.base_cents <= 0) return "zero_amount";
  if (state.base_cents > LARGEST) return "too_large";
  if (ref === null) return "no_ref";
  if (!partner) return ref_source === "code" ? "unknown_code" : "unknown_ref";
  return isAdmitted(input, rules, partner.id) ? "commission" : admitted(input, rules, partner);
}

/** A decision once taken is not asked again, as long as it is of the time at which the payment turns out to be made. */
function isAdmitted({ commissionedPartners, admittedAs }: DecisionInput, rules: Rules, id: string): boolean {
  return commissionedPartners.includes(id) && admittedAs(id).includes(rules.ofPartner(id).status);
}

/**
 * Whether a partner earns: one who was active when the payment was made does, and one who was invited then and turned
 * active since, whatever happened to them afterwards.
 */
function admitted({ previous, granted, ...input }: DecisionInput, rules: Rules, partner: LedgerPartner): Outcome {
  const { status: then, hasTurnedActive } = rules.ofPartner(partner.id);
  if (then === "active") return "commission";
  // What named a deactivated partner earns only where the owner asks for it (PART-4).
  const isGranted = granted.includes(partner.id);
  const isRequested = input.isRequested || isGranted;
  const isRefused =
    previous.outcome === "partner_deactivated" &&
    previous.decision?.partner_id === partner.id &&
    previous.rules().ofPartner(partner.id).status === then;
  if (!isRequested && (isRefused || then === "deactivated")) return "partner_deactivated";
  if (then === "invited") return hasTurnedActive ? "commission" : "partner_not_active";
  if (partner.status === "active") return "commission";
  // A grant is kept and can wait; a request is not, and whatever the vendor says next would undo the wait.
  return isGranted ? "partner_not_active" : "partner_deactivated";
}

/** The rule by the payment's time. An erased payment keeps the recorded one: what its flows asked for is gone. */
function decideRate(
  record: PaymentDecision,
  input: DecisionInput,
  rules: Rules,
  state: PaymentState,
  partner: LedgerPartner,
  adjusted_cents: Cents,
): void {
  const decided_on = JSON.stringify([partner.id, state.base_cents, state.currency, state.customer_email]);
  const { decision, erased, outcome } = input.previous;
  const isRecorded = decision?.partner_id === partner.id && (decision.rate !== null || outcome === "no_flow");
  const recorded = isRecorded ? decision : null;
  const isSame = recorded !== null && (erased || recorded.decided_on === decided_on);
  const rule = recorded && erased ? recordedRule(recorded) : chosenRule(rules, partner.id, input.provider, state);
  Object.assign(record, rule, {
    decided_on: isSame ? recorded.decided_on : decided_on,
    self_referral: isSame ? recorded.self_referral : isPartner(state.customer_email, partner),
  });
  if (rule.rate === null) return;
  record.amount_cents = earnedBy(rule.rate, state.event, state.base_cents, adjusted_cents);
  record.arithmetic = arithmetic(rule.rate, state.base_cents, adjusted_cents, record.amount_cents);
}

/** What a rule gives for a payment (`amountFor`), or for a lead, of which nothing can be given back. */
export function earnedBy(rate: Rate, event: FlowEvent, base_cents: Cents, adjusted_cents: Cents): Cents {
  if (event === "transaction_completed") return amountFor(rate, base_cents, adjusted_cents);
  return rate.action_type === "flat" ? rate.action_value : NOTHING;
}

/** `rate` is null where no flow of leads applies to a lead. */
type Rule = Pick<PaymentDecision, "flow_id" | "flows" | "partner_slug" | "applied" | "rate">;

function chosenRule(
  rules: Rules,
  partner_id: string,
  provider: ProviderName,
  { event, base_cents, customer_email }: PaymentState,
): Rule {
  const { applied } = rules;
  const partner = rules.ofPartner(partner_id);
  const { slug: partner_slug } = partner;
  const subject: FlowSubject = { event, txn_amount_cents: base_cents, customer_email, partner_slug, provider };
  return {
    ...chooseRate(rules.flows, partner, rules.program, subject),
    partner_slug,
    ...(applied > 0 ? { applied } : {}),
  };
}

function recordedRule({ rate, flow_id, flows, partner_slug, applied }: PaymentDecision): Rule {
  return { rate, flow_id, flows, partner_slug, ...(applied === undefined ? {} : { applied }) };
}

/** Whether two rules give the same, by the same flow. */
export function isSameRule(...rules: readonly Pick<PaymentDecision, "flow_id" | "rate">[]): boolean {
  return new Set(rules.map(({ flow_id, rate }) => JSON.stringify([flow_id, rate]))).size === 1;
}

/** True for an address of the partner's own. */
function isPartner(address: string | null, { email, payout_email }: LedgerPartner): boolean {
  return sameAddress(address, email) || sameAddress(address, payout_email);
}

/**
 * The rate of a payment: the first matching flow's, else the partner's own, else the program's default
 * (FLOW-2, FLOW-3). Of a lead that of a flow alone, null without one.
 */
export function chooseRate(
  flows: readonly Flow[],
  partner: { commission_pct: Percent | null },
  program: { default_commission_pct: Percent },
  subject: FlowSubject,
): { rate: Rate | null; flow_id: string | null; flows: FlowTrace[] } {
  const { flow, tried } = matchFlow(flows, subject);
  if (!flow && subject.event !== "transaction_completed") return { rate: null, flow_id: null, flows: tried };
  const rate: Rate = flow
    ? { source: "flow", ...actionOf(flow) }
    : partner.commission_pct !== null
      ? { source: "partner", action_type: "percentage", action_value: partner.commission_pct }
      : { source: "program", action_type: "percentage", action_value: program.default_commission_pct };
  return { rate, flow_id: flow?.id ?? null, flows: tried };
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

/** The sum as a person would write it, in smallest units. */
function arithmetic(rate: Rate, base: Cents, adjusted: Cents, amount: Cents): string {
  const of = adjusted > 0 ? `(${base} - ${adjusted})` : `${base}`;
  if (rate.action_type === "percentage") return `${rate.action_value} % of ${of} = ${amount}`;
  return adjusted > 0
    ? `flat ${rate.action_value}, of ${of} left = ${amount}`
    : `flat ${rate.action_value} = ${amount}`;
}
