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
import { linesOf, type Line } from "./lines.ts";
import { compareAmounts, larger, mulDivHalfUp, negate, NOTHING, smaller, sumWithin, type Cents } from "./money.ts";

/**
 * A report about a subscription or customer applies to payments at most this long before it: one purchase's events have
 * times seconds apart.
 */
export const ATTRIBUTION_SLACK_MS = 3_600_000;

/** The state of one payment, computed from all its facts. */
export interface PaymentState {
  /** A payment, or a lead, which has no amount paid and no refunds. */
  event: FlowEvent;
  paid: boolean;
  /** Only test events report it. */
  test: boolean;
  occurred_at: string;
  currency: string;
  base_cents: Cents;
  gross_cents: Cents;
  /** The parts of the base by product; null while they are unknown. They need not add up to it, for example if it has shipping. */
  lines: Line[] | null;
  customer_email: string | null;
  customer_id: string | null;
  subscription_id: string | null;
}

/** How reliably a source reports the money paid, and the customer who paid. */
const KNOWS_MONEY: Record<PaymentSource, number> = { invoice: 3, session: 2, transaction: 2, intent: 1 };
const KNOWS_CUSTOMER: Record<PaymentSource, number> = { session: 3, invoice: 2, transaction: 2, intent: 1 };

/** A payment's state: the invoice's amounts before the session's, newer facts before older of a source. */
export function paymentState(facts: readonly Fact[]): PaymentState | null {
  const lead = facts.find((fact) => fact.kind === "lead");
  if (lead) return leadState(facts, lead);
  const all = facts.filter((fact): fact is PaymentFact => fact.kind === "payment");
  if (all.length === 0) return null;
  const paid = all.filter((fact) => fact.paid);
  // An unpaid report states the amount due with its tax, which an intent lacks.
  const known = all.filter(({ source }) => source !== "intent");
  const stating = [paid.filter(({ source }) => source !== "intent"), known, paid, all].find(
    ({ length }) => length > 0,
  )!;
  const money = stating.toSorted(knowsMoneyFirst)[0]!;
  const first = <T>(pick: (fact: PaymentFact) => T | null): T | null => {
    for (const fact of mostReliableFirst(all)) {
      const value = pick(fact);
      if (value !== null) return value;
    }
    return null;
  };
  const occurred_at = (paid.length > 0 ? paid : all).map((fact) => fact.occurred_at).toSorted()[0]!;
  const customer_id = first((fact) => fact.customer_id);
  const amounts = moneyIn(money, stating, paid.map(receiptOf));
  const byMoney = all.toSorted((a, b) => Number(b.paid) - Number(a.paid) || knowsMoneyFirst(a, b));
  return {
    event: "transaction_completed",
    paid: paid.length > 0,
    test: all.every((fact) => fact.test),
    occurred_at,
    currency: money.currency,
    ...amounts,
    lines: linesOf(byMoney, newestAdjustments(facts), amounts.base_cents),
    customer_email: first((fact) => fact.customer_email) ?? addressAt(facts, customer_id, occurred_at),
    customer_id,
    subscription_id: first((fact) => fact.subscription_id),
  };
}

/** An invoice that was written off may still be paid; then that is final. */
function knowsMoneyFirst(a: PaymentFact, b: PaymentFact): number {
  return (
    KNOWS_MONEY[b.source] - KNOWS_MONEY[a.source] ||
    Number(a.written_off ?? false) - Number(b.written_off ?? false) ||
    newestFirst(a, b)
  );
}

/** Money that an intent took, for any purpose. */
interface Receipt {
  intent: string;
  occurred_at: string;
  amount_cents: Cents;
  currency: string;
}

function receiptOf({ key: intent, occurred_at, gross_cents: amount_cents, currency }: PaymentFact): Receipt {
  return { intent, occurred_at, amount_cents, currency };
}

/** Amounts taken by invoices' charges and intents, the largest of each. An intent's received amount goes first. */
function listReceipts(facts: readonly Fact[]): Receipt[] {
  return facts.flatMap((fact) => {
    if ((fact.kind !== "adjustment" && fact.kind !== "link") || !fact.moved) return [];
    const { by: intent, ...money } = fact.moved;
    return [{ intent, occurred_at: "", ...money }];
  });
}

/** The amount paid, by the most reliable fact; intents may each have paid a part. */
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

/** The first report of each intent, which may be reported again. */
function firstOfEach<Report>(reports: readonly Report[], intentOf: (one: Report) => string): Report[] {
  return [...Map.groupBy(reports, intentOf).values()].map(([first]) => first!);
}

function moneyOf({ base_cents, gross_cents }: PaymentFact): Pick<PaymentState, "base_cents" | "gross_cents"> {
  return { base_cents, gross_cents };
}

/** The part of the requested sum that was taken, with its tax: part of an authorized amount may be released. */
function moneyTaken(asked: PaymentFact, receipts: readonly Receipt[]) {
  const taken = amountsTakenIn(asked.currency, receipts);
  if (taken.length === 0 || asked.gross_cents === NOTHING) return moneyOf(asked);
  const gross_cents = withinMost(taken);
  return { base_cents: mulDivHalfUp(asked.base_cents, gross_cents, asked.gross_cents), gross_cents };
}

/** The last reported amount of each intent in a currency. */
function amountsTakenIn(of: string, receipts: readonly Receipt[]): Cents[] {
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
    ...{ occurred_at, currency, base_cents: NOTHING, gross_cents: NOTHING, lines: null },
    customer_email: customer_email ?? addressAt(facts, customer_id, occurred_at),
    ...{ customer_id, subscription_id: null },
  };
}

/** Facts that describe the payment itself: the most reliable about the customer first, then the newest. */
export function mostReliableFirst<Described extends EarningFact>(facts: readonly (Described | Fact)[]): Described[] {
  const knows = (fact: EarningFact) => (fact.kind === "payment" ? KNOWS_CUSTOMER[fact.source] : 0);
  return facts
    .filter((fact): fact is Described => isEarning(fact))
    .toSorted((a, b) => knows(b) - knows(a) || newestFirst(a, b));
}

/** The sum of approved adjustments net of tax, between 0 and the base (PAY-7, PAY-8). */
export function adjustedTotal(facts: readonly Fact[], state: PaymentState): Cents {
  const singles = newestAdjustments(facts).filter((fact) => fact.mode === "single");
  const deducted = singles.filter((fact) => fact.effective && fact.direction === "deduct");
  const disputed = deducted.filter((fact) => !fact.net_of_tax).map((fact) => amountIn(fact, facts, state));
  const gross = [...disputed, ...refundedAmounts(facts, state)];
  const fromGross = sumWithin(gross, NOTHING, state.gross_cents);
  const net = [...amountsOf(deducted.filter((fact) => fact.net_of_tax)), ...reversals(singles)];
  if (state.gross_cents > 0) net.push(mulDivHalfUp(fromGross, state.base_cents, state.gross_cents));
  return sumWithin(net, NOTHING, state.base_cents);
}

/**
 * The amount returned, including tax, in the payment's currency. An amount in another currency is converted by its
 * share of the payment's amount in that currency, as a session or an invoice states it, else as its intents and charges
 * took it. The smallest known amount is used, so that at least the true share counts. If no fact states an amount, all
 * of the payment counts as returned.
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
  const receipts = [...saying.filter(({ paid }) => paid).map(receiptOf), ...listReceipts(facts)];
  const whole = stated || withinMost(amountsTakenIn(currency, receipts));
  if (amount_cents >= whole) return state.gross_cents;
  return mulDivHalfUp(state.gross_cents, amount_cents, whole);
}

/** The amount refunded, including tax: for each currency its value in the payment's currency. */
function refundedAmounts(facts: readonly Fact[], state: PaymentState): Cents[] {
  const byCurrency = Map.groupBy(facts, (fact) => currencyOf(fact) ?? state.currency);
  return [...byCurrency].map(([currency, own]) => {
    const refunded = sumWithin([...refundedTotals(own), negate(releasedAmount(own))], NOTHING);
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
 * The amounts that reversals add to the deductions, negative if they give back. A vendor may report a reversal as an
 * adjustment of its own, as the state of the reversed one, or as both: it counts once, and never gives back amounts
 * that were refunded separately.
 */
function reversals(singles: readonly AdjustmentFact[]): Cents[] {
  const deducted = singles.filter((fact) => fact.direction === "deduct");
  const done = sumWithin(amountsOf(deducted.filter((fact) => fact.reversal === "done")));
  const taken = sumWithin(amountsOf(deducted.filter((fact) => fact.effective && fact.reversal === "possible")));
  const stated = sumWithin(amountsOf(singles.filter((fact) => fact.effective && fact.direction === "reverse")));
  const returned = larger(stated, done);
  const most = sumWithin([done, taken]);
  // Completed reversals were not deducted.
  return [done, negate(smaller(returned, most))];
}

interface Refund {
  amount_cents: Cents;
  aliases: string[];
  /** When it failed or was canceled; null while it is in force. */
  failed_at: string | null;
}

/**
 * The refunded total of each charge, with tax: its newest less later failures, at least the refunds that count, because
 * an endpoint may receive only one kind.
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

/** The released part of an authorized amount, by charge or intent: never captured, counts as refunded. */
function releasedAmount(facts: readonly Fact[]): Cents {
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

/** A refund that failed stays failed from its first failure on, despite any later report. */
function refundsIn(facts: readonly Fact[]): Refund[] {
  const refunds = versionsOf(facts.filter((fact) => fact.kind === "adjustment" && fact.mode === "refund_failed"));
  return refunds.map((versions) => {
    const failed = versions.filter((fact) => fact.effective).map((fact) => fact.occurred_at);
    const { amount_cents } = newestVersion(versions);
    return { amount_cents, aliases: versions.flatMap((fact) => fact.aliases), failed_at: failed.toSorted()[0] ?? null };
  });
}

/** The charge that shares the most ids with a refund; null if no charge shares any. */
function chargeOf(refund: Refund, charges: readonly AdjustmentFact[]): AdjustmentFact | null {
  const common = (charge: AdjustmentFact) => charge.aliases.filter((alias) => refund.aliases.includes(alias)).length;
  const [nearest] = charges.toSorted((a, b) => common(b) - common(a));
  return nearest && common(nearest) > 0 ? nearest : null;
}

/** True while a dispute about the payment is open. */
export function isDisputed(facts: readonly Fact[]): boolean {
  return newestAdjustments(facts).some(({ open }) => open);
}

/** The version that counts, for each adjustment. */
function newestAdjustments(facts: readonly Fact[]): AdjustmentFact[] {
  return versionsOf(facts).map(newestVersion);
}

/** Every version of each adjustment. */
function versionsOf(facts: readonly Fact[]): AdjustmentFact[][] {
  const adjustments = facts.filter((fact): fact is AdjustmentFact => fact.kind === "adjustment");
  return [...Map.groupBy(adjustments, (fact) => fact.adjustment_id).values()];
}

/** The newest version; of one instant the later stage, then the larger amount: never the order of arrival. */
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
 * A customer's address, if reported apart: at the payment's time, else the first after. Later changes do not matter.
 */
function addressAt(facts: readonly Fact[], customer_id: string | null, paidAt: string): string | null {
  const reports = facts
    .filter((fact): fact is CustomerFact => fact.kind === "customer" && fact.customer_id === customer_id)
    .toSorted((a, b) => compare(a.occurred_at, b.occurred_at) || compare(a.email ?? "", b.email ?? ""));
  const until = Date.parse(paidAt) + ATTRIBUTION_SLACK_MS;
  const inForce = reports.findLast((fact) => Date.parse(fact.occurred_at) <= until) ?? reports[0];
  return inForce?.email ?? null;
}

function newestFirst(a: EarningFact, b: EarningFact): number {
  return compare(b.occurred_at, a.occurred_at) || compare(JSON.stringify(b), JSON.stringify(a));
}

/** Compares texts for `toSorted`. */
export function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
