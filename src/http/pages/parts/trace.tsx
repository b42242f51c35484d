import type { Child } from "../../jsx.ts";
import type { Commission, Payment } from "../../../core/kernel/rows.ts";
import type { LaterFlow } from "../../../core/ledger/rules.ts";
import { amountOf } from "../../../domain/amount.ts";
import { amountFor, currentReasons, type Hold, type Rate } from "../../../domain/commission.ts";
import type { FlowTrace } from "../../../domain/flow.ts";
import { NOTHING } from "../../../domain/money.ts";
import type { Counted } from "../../../domain/lines.ts";
import { matchingOf, type PaymentDecision } from "../../../domain/payment.ts";
import type { Candidate, RefSource } from "../../../domain/reference.ts";
import { Badge, Money, moneyText, plural, providerText, rateText, When, type MoneyFormat } from "./figures.tsx";
import { Table } from "./table.tsx";
import { LaterFlows, NextStep, Unknowns } from "./trace-next.tsx";
import {
  CANDIDATE_TEXTS,
  conditionText,
  conditionValueText,
  OUTCOME_TEXTS,
  REVIEW_TEXTS,
  SKIP_TEXTS,
  SOURCE_TEXTS,
} from "./words.ts";

interface TraceProps {
  payment: Payment;
  rows: readonly Commission[];
  partner: { id: string; name: string } | null;
  /** The row of the page; absent on the payment's own page. */
  current?: string;
  /** Absent in a claim: the decision about it is the next step. */
  later?: { flows: readonly LaterFlow[]; time_zone: string };
}

/** Explains step by step how a payment became a commission, or why it did not (PAY-14). */
export function Trace({ payment, rows, partner, current, later }: TraceProps) {
  const { decision } = payment;
  const tried = decision ? <FlowsTried payment={payment} decision={decision} later={later} /> : null;
  const steps = [
    payment.event === "lead_created" ? leadStep(payment) : paidStep(payment),
    payment.outcome === "claimed_elsewhere" ? elsewhereStep() : partnerStep(payment, decision, partner),
    ...(decision?.rate
      ? [
          rateStep(payment, decision, decision.rate, tried),
          sumStep(payment, decision, decision.rate, rows),
          ...(decision.hold ? [holdStep(decision.hold, rows)] : []),
        ]
      : []),
    ...(payment.outcome === "no_flow" ? [noFlowStep(tried)] : []),
  ];
  return (
    <>
      <ol class="steps">
        {steps.map((step) => (
          <li class={`step ${step.tone}`}>
            <span class="step-mark" aria-hidden="true">
              {step.tone === "yes" ? "✓" : step.tone === "no" ? "✕" : "·"}
            </span>
            <div class="step-body">
              <p class="step-title">{step.title}</p>
              {step.body}
            </div>
          </li>
        ))}
      </ol>
      {later ? <NextStep payment={payment} rows={rows} partner={partner} current={current} /> : null}
      {rows.length > 1 ? <Rows rows={rows} current={current} /> : null}
    </>
  );
}

/** Answers in one sentence "why was this commission 18.50?". */
export function whyText(commission: Commission, payment: Payment | null): string {
  const { rate, kind } = commission;
  const amount = moneyText(commission);
  if (kind === "manual") return `${amount}, entered by hand.`;
  if (kind === "clawback") {
    return `${amount} corrects a commission that was already paid or in a payout, usually after a refund.`;
  }
  const of = BY[rate.source];
  if (!payment) return `${amount}, by ${of}.`;
  const money = moneyOf(payment);
  const counted = countedOf(payment);
  const net = `${money(counted.base_cents)}${commission.base_cents === null ? "" : ", the products that count,"}`;
  if (kind === "sale" && !isOfWhole(commission, payment)) return `${amount}, by ${of}${elsewhereText(commission)}`;
  const refunded = counted.adjusted_cents > 0 ? ` less ${money(counted.adjusted_cents)} refunded` : "";
  if (kind === "lead") return `${amount}, the flat amount of ${of}, for a lead.`;
  if (rate.action_type === "flat") return `${amount}, the flat amount of ${of}, for a payment of ${net}${refunded}.`;
  return `${amount} is ${rate.action_value}\u00a0% (${of}) of ${net} net of tax${refunded}.`;
}

/** The part of a payment that its flow counts: the whole payment, or the matching lines. */
function countedOf({ decision, txn_amount_cents: base_cents, adjusted_cents }: Payment): Counted {
  const whole = { base_cents, adjusted_cents };
  return (decision && matchingOf(decision.flows, decision.lines ?? null, whole)) ?? whole;
}

/** Whether a sale's amount is its rate applied to the payment's current amount. */
function isOfWhole({ rate, amount_cents, currency }: Commission, payment: Payment): boolean {
  const { base_cents, adjusted_cents } = countedOf(payment);
  return currency === payment.currency && amount_cents === amountFor(rate, base_cents, adjusted_cents);
}

/** A row in a payout is not edited any more (LAW-4). */
function elsewhereText({ status, payout_id }: Commission): string {
  return status === "paid" || payout_id !== null
    ? ", the amount in its payout. Later changes are in another commission of this payment."
    : ". The rest is in the payment's other commissions.";
}

function moneyOf(payment: Payment): MoneyFormat {
  return (amount_cents) => moneyText(amountOf(payment, amount_cents));
}

const BY: Record<Rate["source"], string> = {
  flow: "the flow that matched",
  partner: "the partner's own rate",
  group: "the rate of the partner's group",
  program: "the program's rate",
  manual: "hand",
};

interface Step {
  tone: "yes" | "no" | "neutral";
  title: Child;
  body: Child;
}

function leadStep(payment: Payment): Step {
  return {
    tone: "yes",
    title: "A lead was reported",
    body: (
      <p class="muted">
        {providerText(payment.provider)}, <When at={payment.created_at} />,{" "}
        <code>{payment.provider_transaction_id}</code>
        {payment.customer_email === null ? "" : `, ${payment.customer_email}`}
      </p>
    ),
  };
}

function noFlowStep(body: Child): Step {
  return { tone: "no", title: OUTCOME_TEXTS.no_flow.why, body };
}

function paidStep(payment: Payment): Step {
  const isPaid = payment.decision?.rate
    ? true
    : !["unpaid", "zero_amount", "too_large"].includes(payment.outcome ?? "");
  return {
    tone: isPaid ? "yes" : "no",
    title: isPaid ? (
      <>
        The customer paid <Money of={amountOf(payment, payment.txn_amount_cents)} /> net of tax
      </>
    ) : (
      OUTCOME_TEXTS[payment.outcome ?? "unpaid"].why
    ),
    body: (
      <p class="muted">
        {providerText(payment.provider)}, <When at={payment.created_at} />,{" "}
        <code>{payment.provider_transaction_id}</code>
        {payment.customer_email === null ? "" : `, ${payment.customer_email}`}
        {payment.gross_cents === payment.txn_amount_cents
          ? ""
          : `. With tax it was ${moneyOf(payment)(payment.gross_cents)}`}
      </p>
    ),
  };
}

function elsewhereStep(): Step {
  return { tone: "no", title: "It belongs to another program", body: <p>{OUTCOME_TEXTS.claimed_elsewhere.why}</p> };
}

const REF_TEXTS: Record<RefSource, string> = {
  payment: "The reference came with the payment itself.",
  code: "The customer used a promotion code.",
  subscription: "The payment had no partner's reference; this one is stored for its subscription.",
  customer: "The payment had no partner's reference; this one is stored for the customer.",
  email:
    "The payment had no partner's reference; this one is stored for the customer's e-mail address, from an import, a lead or a claim.",
};

/** Every reference that was tried; one without a partner is not an error of the payment. */
function Candidates({ candidates }: { candidates: readonly Candidate[] }) {
  return (
    <ul class="flows-tried">
      {candidates.map(({ ref, source, partner_id }) => (
        <li>
          <Mark yes={partner_id !== null} /> <code>{ref}</code>, {CANDIDATE_TEXTS[source]}
          {partner_id === null ? ": matches no partner" : ""}
        </li>
      ))}
    </ul>
  );
}

function partnerStep(payment: Payment, decision: PaymentDecision | null, partner: TraceProps["partner"]): Step {
  const { outcome } = payment;
  const ref = decision?.ref ?? payment.ref;
  const source = decision?.ref_source;
  const earns = outcome === "commission" || outcome === "no_flow";
  return {
    tone: earns ? "yes" : outcome === "unpaid" || outcome === "zero_amount" ? "neutral" : "no",
    title:
      ref === null ? (
        "No referral code"
      ) : (
        <>
          Referral code <code>{ref}</code> ·{" "}
          {partner ? <a href={`/dashboard/partners/${partner.id}`}>{partner.name}</a> : "matches no partner"}
        </>
      ),
    body: (
      <>
        {source ? <p class="muted">{REF_TEXTS[source]}</p> : null}
        {decision?.candidates.length ? <Candidates candidates={decision.candidates} /> : null}
        {earns || outcome === null || outcome === "unpaid" || outcome === "zero_amount" ? null : (
          <p>{OUTCOME_TEXTS[outcome].why}</p>
        )}
      </>
    ),
  };
}

function rateStep(payment: Payment, decision: PaymentDecision, rate: Rate, tried: Child): Step {
  const matched = decision.flows.find((flow) => flow.matched);
  const named =
    rate.source === "flow" ? `The flow “${matched?.name ?? decision.flow_id ?? ""}”` : SOURCE_TEXTS[rate.source];
  const { group_slug = null } = decision;
  return {
    tone: "yes",
    title: `${named} applies: ${rateText(rate, moneyOf(payment))}`,
    body: (
      <>
        {group_slug === null ? null : (
          <p class="muted">
            Group at the time: <code>{group_slug}</code>.
          </p>
        )}
        {tried}
      </>
    ),
  };
}

function holdStep({ source, days }: Hold, rows: TraceProps["rows"]): Step {
  const row = rows.find(({ kind }) => kind !== "clawback");
  const of = { flow: "flow", group: "partner's group", program: "program" }[source];
  return {
    tone: "neutral",
    title: `It is held for ${plural(days, "day")}, by the ${of}`,
    body:
      row?.hold_until == null ? null : (
        <p class="muted">
          Payable from <When at={row.hold_until} />
        </p>
      ),
  };
}

interface TriedProps {
  payment: Payment;
  decision: PaymentDecision;
  later: TraceProps["later"];
}

function FlowsTried({ payment, decision: { flows }, later }: TriedProps) {
  return (
    <>
      {flows.length === 0 ? (
        later?.flows.length ? null : (
          <p class="muted">No flow was active.</p>
        )
      ) : (
        <ul class="flows-tried">
          {flows.map((flow) => (
            <FlowTried flow={flow} money={moneyOf(payment)} />
          ))}
        </ul>
      )}
      <Unknowns payment={payment} flows={flows} />
      {later ? <LaterFlows payment={payment} {...later} /> : null}
    </>
  );
}

function FlowTried({ flow, money }: { flow: FlowTrace; money: MoneyFormat }) {
  return (
    <li>
      <Mark yes={flow.matched} /> Flow “{flow.name}”{flow.matched ? " matched" : " did not match"}
      {flow.skipped ? `: ${SKIP_TEXTS[flow.skipped]}` : null}
      {flow.conditions.length === 0 && !flow.skipped ? " (it has no conditions)" : null}
      {flow.conditions.length > 0 ? (
        <ul>
          {flow.conditions.map((condition) => (
            <li>
              <Mark yes={condition.held} /> {conditionText(condition, money)}
              {condition.held && condition.op === "eq"
                ? ": matches"
                : `; it was ${conditionValueText(condition.field, condition.saw, money)}`}
            </li>
          ))}
        </ul>
      ) : null}
    </li>
  );
}

function Mark({ yes }: { yes: boolean }) {
  return (
    <span class={yes ? "tick" : "cross"}>
      <span aria-hidden="true">{yes ? "✓" : "✕"}</span>
      <span class="visually-hidden">{yes ? "yes:" : "no:"}</span>
    </span>
  );
}

/** If there are several commissions, each may differ from the payment's earnings. */
function sumStep(payment: Payment, decision: PaymentDecision, rate: Rate, rows: TraceProps["rows"]): Step {
  const { base_cents, adjusted_cents } = countedOf(payment);
  const money = moneyOf(payment);
  const base = money(base_cents);
  const rest = adjusted_cents > 0 ? `(${base} \u2212 ${money(adjusted_cents)} refunded)` : base;
  const amount = money(decision.amount_cents ?? NOTHING);
  return {
    tone: "yes",
    title: rows.length > 1 ? `So the payment earns ${amount}` : `So the commission is ${amount}`,
    body: (
      <p class="sum">
        {decision.base_cents === undefined
          ? null
          : `Of ${money(payment.txn_amount_cents)}, ${money(decision.base_cents)} is for the products that the flow counts. `}
        {rate.action_type === "percentage"
          ? `${rate.action_value}\u00a0% of ${rest} = ${amount}`
          : `${money(rate.action_value)} flat${adjusted_cents > 0 ? `, of ${rest}` : ""} = ${amount}`}
      </p>
    ),
  };
}

function Rows({ rows, current }: { rows: readonly Commission[]; current: string | undefined }) {
  return (
    <div class="rows-of-payment">
      <h3>All commissions of this payment</h3>
      <Table
        label="Commissions of this payment"
        columns={[{ label: "Kind" }, { label: "Created" }, { label: "Status" }, { label: "Amount", align: "end" }]}
        rows={rows.map((row) => [
          row.id === current ? (
            <strong>{row.kind} (this one)</strong>
          ) : (
            <a href={`/dashboard/commissions/${row.id}`}>{row.kind}</a>
          ),
          <When at={row.created_at} only="day" />,
          <Badge state={row.status} />,
          <Money of={row} />,
        ])}
      />
    </div>
  );
}

/** The reason why a commission waits for a person, if it does: in a list the gravest one, on its own page all. */
export function reviewText({
  flagged,
  review_reason,
  review_reasons = review_reason ?? "",
}: Pick<Commission, "flagged" | "review_reason"> & { review_reasons?: string }): string | null {
  if (!flagged) return null;
  const texts = currentReasons({ review_reasons }).flatMap((reason) => REVIEW_TEXTS[reason] ?? []);
  return texts.length > 0 ? texts.join(" ") : "Flagged for review.";
}
