/**
 * Facts: normalized statements of a payment provider, append-only. The ledger is a function of their set (LAW-1).
 */
import type { Cents } from "./money.ts";

/** What every fact carries: when the vendor says it happened (ISO 8601, milliseconds, UTC). */
interface FactBase {
  occurred_at: string;
}

/** Where a payment carries a reference, the strongest first (REF-1); `metadata` is its own, or its custom data. */
export const REF_PLACES = [
  "client_reference_id",
  "metadata",
  "subscription_metadata",
  "line_metadata",
  "invoice_metadata",
  "customer_metadata",
] as const;
export type RefPlace = (typeof REF_PLACES)[number];

/** What keeps a reference, and says it again with each of its events. */
export type Keeper = "subscription" | "customer";

/** Where a provider's payments carry what their subscription or their customer keeps. */
export type KeptBy = ReadonlyMap<string, Keeper>;

/** A reference (partner slug, as sent) and where it was found. */
export interface CarriedRef {
  ref: string;
  place: RefPlace;
}

/** What says that a customer paid: an `intent`, or a charge that has none, counts if nothing else reports the payment. */
export type PaymentSource = "session" | "invoice" | "transaction" | "intent";

/**
 * A statement that a customer paid (or began to pay) once. Several facts may be about one payment: the session and the
 * invoice of a first subscription payment share their `key`.
 */
export interface PaymentFact extends FactBase {
  kind: "payment";
  /** The payment's identity at the vendor: invoice id, else session id, else payment intent or charge id (A); transaction id (B). */
  key: string;
  source: PaymentSource;
  /** Every vendor id by which later events may name this payment, `key` included: session, invoice, payment intent, charge. */
  aliases: string[];
  /** False while a delayed payment method has not paid. */
  paid: boolean;
  /** ISO 4217, upper case. */
  currency: string;
  /** The money base: what was paid net of tax, smallest units (PAY-1). */
  base_cents: Cents;
  /** What was paid tax included, smallest units: refunds given gross are brought to net by base/gross. */
  gross_cents: Cents;
  /** The first of `refs`, unless an erasure put in the partner that an import had bound to the address. */
  ref: string | null;
  /** What the payment itself carries, each slug once, the strongest first. */
  refs: CarriedRef[];
  /** The vendor's ids of the promotion codes, coupons and discounts that lowered it, each once; absent where none did. */
  codes?: string[];
  customer_email: string | null;
  customer_id: string | null;
  subscription_id: string | null;
  /** Of an invoice: it was written off, and this is what had been paid of it. That it was paid counts before this. */
  written_off?: true;
  /** Of an intent: what was held of the customer's money and never taken; absent where all was. */
  released_cents?: Cents;
  /**
   * Of an intent, `open`: its shape does not say whether it pays an invoice; of a session, an invoice is made of it later. Of an
   * invoice, `outside`: it was made by hand and marked as paid outside the vendor (PAY-25).
   */
  tie?: "open" | "outside";
  /** Of an invoice: what was taken for it, if that is not `gross_cents`. */
  taken_cents?: Cents;
  /** Of an invoice: it has further lines, which the vendor's events leave out. */
  more_lines?: true;
  /** From a test event to a program that takes only live ones. */
  test?: true;
  /** The lines of a sale that the owner's server reported, where it named them. */
  items?: { product_id: string; amount_cents: Cents }[];
}

/**
 * A customer that a partner brought, as the owner's server reports it. It is decided as a payment is, of nothing: what it
 * earns is what a flow of leads gives.
 */
export interface LeadFact extends FactBase {
  kind: "lead";
  /** Its identity: no id of a sale is of this form. */
  key: string;
  /** `key` alone: no refund and no other event names it. */
  aliases: string[];
  /** The program's when it was reported: that of what it earns. */
  currency: string;
  ref: string | null;
  refs: CarriedRef[];
  customer_email: string | null;
  customer_id: string | null;
}

/** What a commission can be earned by. */
export type EarningFact = PaymentFact | LeadFact;

export function isEarning(fact: Fact): fact is EarningFact {
  return fact.kind === "payment" || fact.kind === "lead";
}

/** What an intent took, or a charge that has none: it says what the payment was in that currency, and pays nothing. */
export interface Moved {
  /** The intent's id, else the charge's. */
  by: string;
  amount_cents: Cents;
  currency: string;
}

/** Money going back (or coming back) on a payment. Facts with the same `adjustment_id` are versions of one adjustment. */
export interface AdjustmentFact extends FactBase {
  kind: "adjustment";
  adjustment_id: string;
  /** Vendor ids of the payment it belongs to (payment intent, invoice, charge, transaction). */
  aliases: string[];
  /**
   * How versions and amounts combine:
   * - `cumulative`: the total refunded of one charge as of `occurred_at`; the newest version wins, the larger on a tie.
   * - `refund_failed`: one refund of a charge. Effective where it failed, which is final: it is added back to
   *   cumulative versions not newer than that. Else it holds, and a charge's total is no less than what holds of it.
   * - `single`: an amount of its own; the newest version wins.
   */
  mode: "cumulative" | "refund_failed" | "single";
  /** Smallest units, never negative. */
  amount_cents: Cents;
  /** ISO 4217, upper case; absent if the report states none: then it is the payment's. */
  currency?: string;
  /** Of a charge: what was held and never taken, which the vendor counts among its refunds; absent where all was taken. */
  released_cents?: Cents;
  /** Of a charge that states its currency. */
  moved?: Moved;
  /** True when `amount_cents` already excludes tax. */
  net_of_tax: boolean;
  /** `reverse` adds back what an earlier deduction took. */
  direction: "deduct" | "reverse";
  /**
   * Of a deduction: whether a reversal can give it back, as of a dispute and not of a refund, or has done so. Absent at
   * provider A, whose disputes state what they took and kept.
   */
  reversal?: "never" | "possible" | "done";
  /** How far the adjustment has come: of two versions at one instant the later stage counts. */
  stage: number;
  /** Only effective versions count (approved, lost); a newer ineffective version withdraws an older effective one. */
  effective: boolean;
  /** A dispute about the money that is not decided yet: nothing is deducted, and nothing may be paid on it. */
  open?: true;
}

/** A reference to remember for a subscription or a customer. */
export interface AttributionFact extends FactBase {
  kind: "attribution";
  ref: string;
  /** The vendor ids of the payment that carries it, as its `aliases`; absent if no payment does. */
  payment?: string[];
  subscription_id: string | null;
  customer_id: string | null;
  /** Which of these two keeps it, and may say it again; absent of what is said once. */
  kept_by?: Keeper;
  /** Of an imported one, or of a lead: the `emailKey` of the customer, and then no id. */
  customer_email?: string;
  /**
   * The owner brought it along from another product: it serves payments made after it, none before, and gives way to
   * what a vendor had said by then.
   */
  imported?: true;
  /** The owner granted the customer's payment to who claimed it: it gives way to all that anybody else says. */
  granted?: true;
  /** Of a lead: it serves the payments of every provider, by the customer's id there or by the address. */
  any_provider?: true;
}

/** What keeps a reference that was found at a place, where the vendor names it: of an attribution. */
export function keeperAt(
  place: string,
  { subscription_id, customer_id }: Pick<AttributionFact, "subscription_id" | "customer_id">,
  kept: KeptBy,
): Pick<AttributionFact, "kept_by"> {
  const kept_by = kept.get(place);
  if (kept_by === undefined) return {};
  return (kept_by === "subscription" ? subscription_id : customer_id) === null ? {} : { kept_by };
}

/** Promotion codes to remember for a subscription and a customer; whose they are may be said later. */
export interface CodeUseFact extends FactBase {
  kind: "code_use";
  /** As of a payment. */
  codes: string[];
  /** As of an attribution. */
  payment?: string[];
  subscription_id: string | null;
  customer_id: string | null;
}

/** What the vendor says of a promotion code, a coupon or a discount. */
export interface CodeFact extends FactBase {
  kind: "code";
  code_id: string;
  /** What a customer types or reads; null where it has none. */
  name: string | null;
  /** What it was made from, the nearest first: of a discount its promotion code and coupon, of a promotion code its coupon. */
  parents: string[];
  /** Of a discount whose customer the vendor names: by it an erasure knows the event. */
  customer_id?: string;
}

/** The address of a customer, where the vendor's payments carry none. */
export interface CustomerFact extends FactBase {
  kind: "customer";
  customer_id: string;
  /** As the vendor wrote it; null once it was erased. */
  email: string | null;
}

/** The subscription ended. */
export interface CancellationFact extends FactBase {
  kind: "cancellation";
  subscription_id: string;
}

/** Two or more vendor ids name the same payment. */
export interface LinkFact extends FactBase {
  kind: "link";
  aliases: string[];
  /** Of a charge, and of an intent whose invoice says what is paid. */
  moved?: Moved;
  /** As of a payment. */
  released_cents?: Cents;
}

/**
 * The payment is another program's: the event of it claims that program, which has received the very event by a secret of its
 * own (IN-1).
 */
export interface ElsewhereFact extends FactBase {
  kind: "elsewhere";
  /** As of the payment. */
  aliases: string[];
  /** Whose it is. */
  program_id: string;
}

export type Fact =
  | PaymentFact
  | LeadFact
  | AdjustmentFact
  | AttributionFact
  | CodeUseFact
  | CodeFact
  | CustomerFact
  | CancellationFact
  | LinkFact
  | ElsewhereFact;

/** Before every id that a test event names: a simulated event may name a real payment, and must not touch it. */
const TEST = "test:";

/** A fact of a test event, in a world of its own: it meets no fact of a live event. */
export function testFact(fact: Fact): Fact {
  const own = <T extends string | null>(id: T) => (id === null ? id : `${TEST}${id}`) as T;
  const moved = ({ moved: of }: { moved?: Moved }) => (of ? { moved: { ...of, by: own(of.by) } } : {});
  switch (fact.kind) {
    case "payment": {
      const { key, aliases, customer_id, subscription_id } = fact;
      const ids = { customer_id: own(customer_id), subscription_id: own(subscription_id) };
      const codes = fact.codes ? { codes: fact.codes.map(own) } : {};
      return { ...fact, ...ids, ...codes, key: own(key), aliases: aliases.map(own), test: true };
    }
    case "lead": {
      return { ...fact, key: own(fact.key), aliases: fact.aliases.map(own), customer_id: own(fact.customer_id) };
    }
    case "adjustment":
      return { ...fact, ...moved(fact), adjustment_id: own(fact.adjustment_id), aliases: fact.aliases.map(own) };
    case "attribution":
    case "code_use": {
      const ids = { subscription_id: own(fact.subscription_id), customer_id: own(fact.customer_id) };
      const payment = fact.payment ? { payment: fact.payment.map(own) } : {};
      if (fact.kind === "attribution") return { ...fact, ...ids, ...payment };
      return { ...fact, ...ids, ...payment, codes: fact.codes.map(own) };
    }
    case "code": {
      const customer = fact.customer_id === undefined ? {} : { customer_id: own(fact.customer_id) };
      return { ...fact, ...customer, code_id: own(fact.code_id), parents: fact.parents.map(own) };
    }
    case "customer":
      return { ...fact, customer_id: own(fact.customer_id) };
    case "cancellation":
      return { ...fact, subscription_id: own(fact.subscription_id) };
    case "link":
      return { ...fact, ...moved(fact), aliases: fact.aliases.map(own) };
    case "elsewhere":
      return { ...fact, aliases: fact.aliases.map(own) };
  }
}
