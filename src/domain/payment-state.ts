import {
  isEarning,
  type AdjustmentFact,
  type CustomerFact,
  type EarningFact,
  type Fact,
  type LeadFact,
  type LinkFact,
  type PaymentFact,
  type PaymentSource,
} from "./fact.ts";
import type { FlowEvent } from "./flow.ts";
import { compareAmounts, larger, mulDivHalfUp, negate, NOTHING, smaller, sumWithin, type Cents } from "./money.ts";

/**
 * The vendor's events of one purchase carry times seconds apart, in either order: what was said of a subscription or a
 * customer serves a payment made no earlier than this before it.
 */
export const ATTRIBUTION_SLACK_MS = 3_600_000;

/** One payment put together from all its facts. */
export interface PaymentState {
  /** What it is: a payment, or a lead, of which nothing is paid and nothing goes back. */
  event: FlowEvent;
  paid: boolean;
  /** Only test events report it. */
  test: boolean;
  occurred_at: string;
  currency: string;
  base_cents: Cents;
  gross_cents: Cents;
  customer_email: string | null;
  customer_id: string | null;
  subscription_id: string | null;
}

/** How well a source knows the money that was paid, and the customer who paid. */
const KNOWS_MONEY: Record<PaymentSource, number> = { invoice: 3, session: 2, transaction: 2, intent: 1 };
const KNOWS_CUSTOMER: Record<PaymentSource, number> = { session: 3, invoice: 2, transaction: 2, intent: 1 };

/** The payment according to its facts: the invoice's amounts before the session's, the newest within a source. */
export function paymentState(facts: readonly Fact[]): PaymentState | null {
  const lead = facts.find((fact) => fact.kind === "lead");
  if (lead) return leadState(facts, lead);
  const all = facts.filter((fact): fact is PaymentFact => fact.kind === "payment");
  if (all.length === 0) return null;
  const paid = all.filter((fact) => fact.paid);
  // What an intent is for is said better by what is not paid yet: the same sum, with its tax.
  const known = all.filter(({ source }) => source !== "intent");
  const stating = [paid.filter(({ source }) => source !== "intent"), known, paid, all].find(
    ({ length }) => length > 0,
  )!;
  const money = stating.toSorted(knowsMoneyFirst)[0]!;
  const first = <T>(pick: (fact: PaymentFact) => T | null): T | null => {
    for (const fact of spokenFirst(all)) {
      const value = pick(fact);
      if (value !== null) return value;
    }
    return null;
  };
  const occurred_at = (paid.length > 0 ? paid : all).map((fact) => fact.occurred_at).toSorted()[0]!;
  const customer_id = first((fact) => fact.customer_id);
  return {
    event: "transaction_completed",
    paid: paid.length > 0,
    test: all.every((fact) => fact.test),
    occurred_at,
    currency: money.currency,
    ...moneyIn(money, stating, paid.map(receiptOf)),
    customer_email: first((fact) => fact.customer_email) ?? addressAt(facts, customer_id, occurred_at),
    customer_id,
    subscription_id: first((fact) => fact.subscription_id),
  };
}

/** An invoice that was written off may still be paid, and is final then. */
function knowsMoneyFirst(a: PaymentFact, b: PaymentFact): number {
  return (
    KNOWS_MONEY[b.source] - KNOWS_MONEY[a.source] ||
    Number(a.written_off ?? false) - Number(b.written_off ?? false) ||
    newestFirst(a, b)
  );
}

/** That an intent took money, whatever it was for. */
interface Receipt {
  intent: string;
  occurred_at: string;
  amount_cents: Cents;
  currency: string;
}

function receiptOf({ key: intent, occurred_at, gross_cents: amount_cents, currency }: PaymentFact): Receipt {
  return { intent, occurred_at, amount_cents, currency };
}

/**
 * What charges, and intents of invoices, say that was taken, of each the most. They pay nothing, and have no time: where an
 * intent says what it received, that counts before.
 */
function movedIn(facts: readonly Fact[]): Receipt[] {
  return facts.flatMap((fact) => {
    if ((fact.kind !== "adjustment" && fact.kind !== "link") || !fact.moved) return [];
    const { by: intent, ...money } = fact.moved;
    return [{ intent, occurred_at: "", ...money }];
  });
}

/** What was paid, by the fact that knows it best: intents may each have paid a part. */
function moneyIn(best: PaymentFact, stating: readonly PaymentFact[], receipts: readonly Receipt[]) {
  if (best.source === "intent") return takenByIntents(stating, best.currency);
  return best.paid ? moneyOf(best) : moneyTaken(best, receipts);
}

function takenByIntents(
  stating: readonly PaymentFact[],
  currency: string,
): Pick<PaymentState, "base_cents" | "gross_cents"> {
  const own = stating.filter((fact) => fact.currency === currency);
  const each = firstOfEach(own.toSorted(newestFirst), ({ key }) => key);
  return {
    base_cents: withinMost(each.map(({ base_cents }) => base_cents)),
    gross_cents: withinMost(each.map(({ gross_cents }) => gross_cents)),
  };
}

function withinMost(amounts: readonly Cents[]): Cents {
  return sumWithin(amounts, NOTHING);
}

/** Of what is said of each intent the first: an intent may be reported again. */
function firstOfEach<Said>(said: readonly Said[], intentOf: (one: Said) => string): Said[] {
  return [...Map.groupBy(said, intentOf).values()].map(([first]) => first!);
}

function moneyOf({ base_cents, gross_cents }: PaymentFact): Pick<PaymentState, "base_cents" | "gross_cents"> {
  return { base_cents, gross_cents };
}

/** What was taken of the sum that was asked for, with its part of the tax: of what was held a part may be let go. */
function moneyTaken(asked: PaymentFact, receipts: readonly Receipt[]) {
  const taken = takenIn(asked.currency, receipts);
  if (taken.length === 0 || asked.gross_cents === NOTHING) return moneyOf(asked);
  const gross_cents = withinMost(taken);
  return { base_cents: mulDivHalfUp(asked.base_cents, gross_cents, asked.gross_cents), gross_cents };
}

/** What each intent took in a currency, as it was said last. */
function takenIn(of: string, receipts: readonly Receipt[]): Cents[] {
  const taken = receipts
    .filter(({ currency }) => currency === of)
    .toSorted((a, b) => compare(b.occurred_at, a.occurred_at) || compareAmounts(b.amount_cents, a.amount_cents));
  return firstOfEach(taken, ({ intent }) => intent).map(({ amount_cents }) => amount_cents);
}

function leadState(
  facts: readonly Fact[],
  { occurred_at, currency, customer_id, customer_email }: LeadFact,
): PaymentState {
  return {
    ...{ event: "lead_created", paid: true, test: false },
    ...{ occurred_at, currency, base_cents: NOTHING, gross_cents: NOTHING },
    customer_email: customer_email ?? addressAt(facts, customer_id, occurred_at),
    ...{ customer_id, subscription_id: null },
  };
}

/** Those that describe the payment itself: those that know most of the customer first, then the newest. */
export function spokenFirst<Spoken extends EarningFact>(facts: readonly (Spoken | Fact)[]): Spoken[] {
  const knows = (fact: EarningFact) => (fact.kind === "payment" ? KNOWS_CUSTOMER[fact.source] : 0);
  return facts
    .filter((fact): fact is Spoken => isEarning(fact))
    .toSorted((a, b) => knows(b) - knows(a) || newestFirst(a, b));
}

/** The sum of approved adjustments net of tax, between 0 and the base (PAY-7, PAY-8). */
export function adjustedTotal(facts: readonly Fact[], state: PaymentState): Cents {
  const singles = newestAdjustments(facts).filter((fact) => fact.mode === "single");
  const deducted = singles.filter((fact) => fact.effective && fact.direction === "deduct");
  const disputed = deducted.filter((fact) => !fact.net_of_tax).map((fact) => amountIn(fact, facts, state));
  const gross = [...disputed, ...refundedIn(facts, state)];
  const fromGross = sumWithin(gross, NOTHING, state.gross_cents);
  const net = [...amountsOf(deducted.filter((fact) => fact.net_of_tax)), ...reversals(singles)];
  if (state.gross_cents > 0) net.push(mulDivHalfUp(fromGross, state.base_cents, state.gross_cents));
  return sumWithin(net, NOTHING, state.base_cents);
}

/**
 * What went back, tax included, in the payment's currency. In another it is a part of what the payment was in that, as a
 * session or an invoice says it, else what its intents and charges are known to have taken: no more than it was, so that no less than its
 * part counts. Where nothing says what it was, it takes all.
 */
function amountIn(
  { amount_cents, currency }: Pick<AdjustmentFact, "amount_cents" | "currency">,
  facts: readonly Fact[],
  state: PaymentState,
): Cents {
  if (currency === undefined || currency === state.currency || amount_cents === NOTHING) return amount_cents;
  const own = facts.filter((fact) => fact.kind !== "payment" || fact.currency === currency);
  const saying = own.filter((fact) => fact.kind === "payment");
  const stated = saying.some(({ source }) => source !== "intent") ? paymentState(own)!.gross_cents : NOTHING;
  const receipts = [...saying.filter(({ paid }) => paid).map(receiptOf), ...movedIn(facts)];
  const whole = stated || withinMost(takenIn(currency, receipts));
  if (whole === NOTHING) return state.gross_cents;
  return mulDivHalfUp(state.gross_cents, smaller(amount_cents, whole), whole);
}

/** What was refunded, tax included, of each currency what it is in the payment's. */
function refundedIn(facts: readonly Fact[], state: PaymentState): Cents[] {
  const byCurrency = Map.groupBy(facts, (fact) => currencyOf(fact) ?? state.currency);
  return [...byCurrency].map(([currency, own]) => {
    const refunded = sumWithin([...refundedTotals(own), negate(releasedIn(own))], NOTHING);
    return amountIn({ amount_cents: refunded, currency }, facts, state);
  });
}

function currencyOf(fact: Fact): string | undefined {
  return fact.kind === "payment" || fact.kind === "adjustment" ? fact.currency : undefined;
}

function amountsOf(facts: readonly AdjustmentFact[]): Cents[] {
  return facts.map((fact) => fact.amount_cents);
}

/**
 * What reversals add to the deductions, below 0 where they give back. A vendor may report one by an adjustment of its own,
 * by the state of what it reverses, or by both: it counts once, and never gives back what was refunded beside it.
 */
function reversals(singles: readonly AdjustmentFact[]): Cents[] {
  const deducted = singles.filter((fact) => fact.direction === "deduct");
  const done = sumWithin(amountsOf(deducted.filter((fact) => fact.reversal === "done")));
  const taken = sumWithin(amountsOf(deducted.filter((fact) => fact.effective && fact.reversal === "possible")));
  const stated = sumWithin(amountsOf(singles.filter((fact) => fact.effective && fact.direction === "reverse")));
  const returned = larger(stated, done);
  const most = sumWithin([done, taken]);
  // Those that are done were not deducted.
  return [done, negate(smaller(returned, most))];
}

interface Refund {
  amount_cents: Cents;
  aliases: string[];
  /** When it failed or was canceled; null where it holds. */
  failed_at: string | null;
}

/**
 * What was refunded of each charge, tax included: its newest total less the refunds that failed since, and no less than
 * the refunds that hold. The vendor's owner may have asked for the events of the charge, of its refunds, or for both.
 */
function refundedTotals(facts: readonly Fact[]): Cents[] {
  const charges = chargesIn(facts);
  const byCharge = Map.groupBy(refundsIn(facts), (refund) => chargeOf(refund, charges));
  const standing = (charge: AdjustmentFact | null) =>
    sumWithin(amountsWhere(byCharge.get(charge), ({ failed_at }) => failed_at === null));
  return [
    standing(null),
    ...charges.map((charge) => {
      const back = amountsWhere(
        byCharge.get(charge),
        ({ failed_at }) => failed_at !== null && failed_at >= charge.occurred_at,
      );
      const left = sumWithin([charge.amount_cents, ...back.map((amount) => negate(amount))]);
      return larger(left, standing(charge));
    }),
  ];
}

function chargesIn(facts: readonly Fact[]): AdjustmentFact[] {
  return newestAdjustments(facts)
    .filter((fact) => fact.mode === "cumulative")
    .toSorted((a, b) => compare(a.adjustment_id, b.adjustment_id));
}

/** What was let go of money that was held, as the charge says it or its intent: it was never taken and counts as refunded there. */
function releasedIn(facts: readonly Fact[]): Cents {
  const intents = facts.filter(
    (fact): fact is PaymentFact | LinkFact => fact.kind === "payment" || fact.kind === "link",
  );
  const released = intents
    .map(({ aliases, released_cents = NOTHING }) => ({ intent: aliases[0]!, released_cents }))
    .toSorted((a, b) => compareAmounts(b.released_cents, a.released_cents));
  const stated: Cents[] = [
    sumWithin(chargesIn(facts).map(({ released_cents = NOTHING }) => released_cents)),
    sumWithin(firstOfEach(released, ({ intent }) => intent).map(({ released_cents }) => released_cents)),
  ];
  return stated.toSorted((a, b) => compareAmounts(b, a))[0]!;
}

function amountsWhere(refunds: readonly Refund[] = [], holds: (refund: Refund) => boolean): Cents[] {
  return refunds.filter(holds).map((refund) => refund.amount_cents);
}

/** A refund that failed stays failed, and since it first did, whatever is said of it afterwards. */
function refundsIn(facts: readonly Fact[]): Refund[] {
  const refunds = versionsOf(facts.filter((fact) => fact.kind === "adjustment" && fact.mode === "refund_failed"));
  return refunds.map((versions) => {
    const failed = versions.filter((fact) => fact.effective).map((fact) => fact.occurred_at);
    const { amount_cents } = newestVersion(versions);
    return { amount_cents, aliases: versions.flatMap((fact) => fact.aliases), failed_at: failed.toSorted()[0] ?? null };
  });
}

/** The charge with which a refund has most ids in common; null where it has none in common with any. */
function chargeOf(refund: Refund, charges: readonly AdjustmentFact[]): AdjustmentFact | null {
  const common = (charge: AdjustmentFact) => charge.aliases.filter((alias) => refund.aliases.includes(alias)).length;
  const [nearest] = charges.toSorted((a, b) => common(b) - common(a));
  return nearest && common(nearest) > 0 ? nearest : null;
}

/** True while a dispute about the payment is open. */
export function isDisputed(facts: readonly Fact[]): boolean {
  return newestAdjustments(facts).some(({ open }) => open);
}

/** Of each adjustment the version that counts. */
function newestAdjustments(facts: readonly Fact[]): AdjustmentFact[] {
  return versionsOf(facts).map(newestVersion);
}

/** All that was said of each adjustment. */
function versionsOf(facts: readonly Fact[]): AdjustmentFact[][] {
  const adjustments = facts.filter((fact): fact is AdjustmentFact => fact.kind === "adjustment");
  return [...Map.groupBy(adjustments, (fact) => fact.adjustment_id).values()];
}

/** The newest version counts; of two at one instant the one further on, then the larger: order never matters. */
function newestVersion(versions: AdjustmentFact[]): AdjustmentFact {
  return versions.toSorted(
    (a, b) =>
      compare(b.occurred_at, a.occurred_at) ||
      b.stage - a.stage ||
      compareAmounts(b.amount_cents, a.amount_cents) ||
      Number(a.effective) - Number(b.effective) ||
      Number(b.open ?? false) - Number(a.open ?? false),
  )[0]!;
}

/**
 * The address of the payment's customer, where the vendor reports it apart from payments: the one that was in force when
 * the payment was made, else the first that was said after it. A change of address changes no payment before it.
 */
function addressAt(facts: readonly Fact[], customer_id: string | null, paidAt: string): string | null {
  const said = facts
    .filter((fact): fact is CustomerFact => fact.kind === "customer" && fact.customer_id === customer_id)
    .toSorted((a, b) => compare(a.occurred_at, b.occurred_at) || compare(a.email ?? "", b.email ?? ""));
  const until = Date.parse(paidAt) + ATTRIBUTION_SLACK_MS;
  const inForce = said.findLast((fact) => Date.parse(fact.occurred_at) <= until) ?? said[0];
  return inForce?.email ?? null;
}

function newestFirst(a: EarningFact, b: EarningFact): number {
  return compare(b.occurred_at, a.occurred_at) || compare(JSON.stringify(b), JSON.stringify(a));
}

/** The order of two texts, as `toSorted` wants it. */
export function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
