import type { AdjustmentFact, CustomerFact, Fact, PaymentFact } from "./fact.ts";
import { addUp, clamp, mulDivHalfUp, type Sum } from "./money.ts";

/**
 * The vendor's events of one purchase carry times seconds apart, in either order: what was said of a subscription or a
 * customer serves a payment made no earlier than this before it.
 */
export const ATTRIBUTION_SLACK_MS = 3_600_000;

/** One payment put together from all its facts. */
export interface PaymentState {
  paid: boolean;
  /** Only test events tell of it. */
  test: boolean;
  occurred_at: string;
  currency: string;
  base_cents: number;
  gross_cents: number;
  customer_email: string | null;
  customer_id: string | null;
  subscription_id: string | null;
}

/** The payment as its facts tell it: the invoice's amounts before the session's, the newest within a source. */
export function paymentState(facts: readonly Fact[]): PaymentState | null {
  const all = facts.filter((fact): fact is PaymentFact => fact.kind === "payment");
  if (all.length === 0) return null;
  const paid = all.filter((fact) => fact.paid);
  const money = (paid.length > 0 ? paid : all).toSorted(
    (a, b) => Number(b.source === "invoice") - Number(a.source === "invoice") || newestFirst(a, b),
  )[0]!;
  const first = <T>(pick: (fact: PaymentFact) => T | null): T | null => {
    for (const fact of spokenFirst(facts)) {
      const value = pick(fact);
      if (value !== null) return value;
    }
    return null;
  };
  const occurred_at = (paid.length > 0 ? paid : all).map((fact) => fact.occurred_at).toSorted()[0]!;
  const customer_id = first((fact) => fact.customer_id);
  return {
    paid: paid.length > 0,
    test: all.every((fact) => fact.test),
    occurred_at,
    currency: money.currency,
    base_cents: money.base_cents,
    gross_cents: money.gross_cents,
    customer_email: first((fact) => fact.customer_email) ?? addressAt(facts, customer_id, occurred_at),
    customer_id,
    subscription_id: first((fact) => fact.subscription_id),
  };
}

/** Those that tell of the payment itself: a session before an invoice, which knows less of the customer, the newest first. */
export function spokenFirst(facts: readonly Fact[]): PaymentFact[] {
  return facts
    .filter((fact): fact is PaymentFact => fact.kind === "payment")
    .toSorted((a, b) => Number(b.source === "session") - Number(a.source === "session") || newestFirst(a, b));
}

/** The sum of approved adjustments net of tax, between 0 and the base (contract §5). */
export function adjustedTotal(facts: readonly Fact[], state: PaymentState): number {
  const newest = newestAdjustments(facts);
  const failed = newest.filter((fact) => fact.mode === "refund_failed");
  const net: Sum[] = [];
  const gross: Sum[] = [];
  for (const fact of newest) {
    if (!fact.effective || fact.mode === "refund_failed") continue;
    let amount = fact.amount_cents;
    if (fact.mode === "cumulative") {
      const back = failed.filter(
        (other) => other.effective && other.occurred_at >= fact.occurred_at && sharesAlias(other, fact),
      );
      amount = clamp(addUp([amount, ...back.map((other) => -other.amount_cents)]), 0, amount);
    }
    if (fact.direction === "reverse") amount = -amount;
    (fact.net_of_tax ? net : gross).push(amount);
  }
  const fromGross = clamp(addUp(gross), 0, state.gross_cents);
  if (state.gross_cents > 0) net.push(mulDivHalfUp(fromGross, state.base_cents, state.gross_cents));
  return clamp(addUp(net), 0, state.base_cents);
}

/** True while a dispute about the payment is open. */
export function isDisputed(facts: readonly Fact[]): boolean {
  return newestAdjustments(facts).some(({ open }) => open);
}

/** Of each adjustment the version that counts. */
function newestAdjustments(facts: readonly Fact[]): AdjustmentFact[] {
  const versions = Map.groupBy(
    facts.filter((fact): fact is AdjustmentFact => fact.kind === "adjustment"),
    (fact) => fact.adjustment_id,
  );
  return [...versions.values()].map(newestVersion);
}

/** The newest version counts; of two at one instant the one further on, then the larger: order never matters. */
function newestVersion(versions: AdjustmentFact[]): AdjustmentFact {
  return versions.toSorted(
    (a, b) =>
      compare(b.occurred_at, a.occurred_at) ||
      b.stage - a.stage ||
      b.amount_cents - a.amount_cents ||
      Number(a.effective) - Number(b.effective) ||
      Number(b.open ?? false) - Number(a.open ?? false),
  )[0]!;
}

function sharesAlias(a: AdjustmentFact, b: AdjustmentFact): boolean {
  return a.aliases.some((alias) => b.aliases.includes(alias));
}

/**
 * The address of the payment's customer, where the vendor tells it apart from payments: the one that was in force when
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

function newestFirst(a: PaymentFact, b: PaymentFact): number {
  return compare(b.occurred_at, a.occurred_at) || compare(JSON.stringify(b), JSON.stringify(a));
}

/** The order of two texts, as `toSorted` wants it. */
export function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
