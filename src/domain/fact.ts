/** Facts: normalized, append-only statements of a provider. The ledger is a function of their set (LAW-1). */
import type { Cents } from "./money.ts";

/** Fields of every fact; `occurred_at` is the vendor's time of the event (ISO 8601, milliseconds, UTC). */
interface FactBase {
  occurred_at: string;
}

/** The places of a reference, strongest first (REF-1); `metadata` is the payment's, or its custom data. */
export const REF_PLACES = [
  "client_reference_id",
  "metadata",
  "subscription_metadata",
  "line_metadata",
  "invoice_metadata",
  "customer_metadata",
] as const;
export type RefPlace = (typeof REF_PLACES)[number];

/** The vendor object that stores a reference and repeats it with each of its events. */
export type Keeper = "subscription" | "customer";

/** The object that keeps the reference of a payment, by the place in which the payment carries it. */
export type KeptBy = ReadonlyMap<string, Keeper>;

/** A reference (partner slug, as sent) and its place. */
export interface CarriedRef {
  ref: string;
  place: RefPlace;
}

/** The kind of report. An `intent`, or a charge without one, counts only if it alone describes the payment. */
export type PaymentSource = "session" | "invoice" | "transaction" | "intent";

/**
 * A report that a customer paid (or began to pay) once. Several facts may describe one payment: the session and the
 * invoice of a first subscription payment share their `key`.
 */
export interface PaymentFact extends FactBase {
  kind: "payment";
  /** The payment's id. Provider A: of invoice, else session, else intent or charge; provider B: of the transaction. */
  key: string;
  source: PaymentSource;
  /** Every vendor id by which later events may name this payment, `key` included: session, invoice, payment intent, charge. */
  aliases: string[];
  /** False while a delayed payment method has not paid. */
  paid: boolean;
  /** ISO 4217, upper case. */
  currency: string;
  /** The money base: the amount paid net of tax, in smallest units (PAY-1). */
  base_cents: Cents;
  /** The amount paid including tax, in smallest units: gross refunds are converted to net by base/gross. */
  gross_cents: Cents;
  /** The first of `refs`, unless an erasure replaced it by the partner that an import had bound to the address. */
  ref: string | null;
  /** References that the payment itself carries, each slug once, the strongest first. */
  refs: CarriedRef[];
  /** The vendor's ids of codes, coupons and discounts that lowered it, each once; absent without a discount. */
  codes?: string[];
  customer_email: string | null;
  customer_id: string | null;
  subscription_id: string | null;
  /** An invoice that was written off after this part had been paid. A report that it was paid takes precedence. */
  written_off?: true;
  /** An intent's authorized amount that was never captured; absent if all was captured. */
  released_cents?: Cents;
  /**
   * `open`: an intent whose shape does not show whether it pays an invoice, or a session that gets an invoice later.
   * `outside`: an invoice made by hand and marked as paid outside the vendor (PAY-25).
   */
  tie?: "open" | "outside";
  /** The amount collected for an invoice, if that differs from `gross_cents`. */
  taken_cents?: Cents;
  /** The vendor's events of an invoice omit some of its lines. */
  more_lines?: true;
  /** A test event of a program that accepts only live ones. */
  test?: true;
  /** Absent while they are unknown: the report omits them, or some of them (`more_lines`). */
  lines?: PaymentLine[];
  /** The net total that the lines make up, if `base_cents` is another amount, for example the paid part of an invoice. */
  lines_cents?: Cents;
}

/** A line of a payment, as its fact states it. */
export interface PaymentLine {
  /** The vendor's id of the line, if a refund can name it. */
  id?: string;
  /** The vendor's ids of the product and its price. */
  products: string[];
  /** Their names in the same order, if the vendor states any. */
  names?: (string | null)[];
  /** Net of tax, after discounts, in smallest units of the payment's currency; negative for a proration credit. */
  amount_cents: Cents;
}

/** A customer referred by a partner, by the owner's server; decided like a payment of 0, by a lead flow's amount. */
export interface LeadFact extends FactBase {
  kind: "lead";
  /** The lead's identity; no sale id has this form. */
  key: string;
  /** Only `key`: neither a refund nor any other event names a lead. */
  aliases: string[];
  /** The program's currency when the lead was reported, and so the currency of its commission. */
  currency: string;
  ref: string | null;
  refs: CarriedRef[];
  customer_email: string | null;
  customer_id: string | null;
}

/** Facts that can earn a commission. */
export type EarningFact = PaymentFact | LeadFact;

export function isEarning(fact: Fact): fact is EarningFact {
  return fact.kind === "payment" || fact.kind === "lead";
}

/** The amount an intent or lone charge took: the payment's amount in that currency; no payment of its own. */
export interface Moved {
  /** The intent's id, else the charge's. */
  by: string;
  amount_cents: Cents;
  currency: string;
}

/** Money returned or taken back again. Facts with one `adjustment_id` are versions of one adjustment. */
export interface AdjustmentFact extends FactBase {
  kind: "adjustment";
  adjustment_id: string;
  /** Vendor ids of its payment (payment intent, invoice, charge, transaction). */
  aliases: string[];
  /**
   * How versions and amounts combine:
   * - `cumulative`: the total refunded of one charge as of `occurred_at`; the newest version wins, the larger on a tie.
   * - `refund_failed`: one refund of a charge. Effective if it failed, which is final: it is added back to cumulative
   * versions that are not newer. Otherwise the refund counts, and a charge's total is at least the sum of its
   * refunds.
   * - `single`: an amount of its own; the newest version wins.
   */
  mode: "cumulative" | "refund_failed" | "single";
  /** Smallest units, never negative. */
  amount_cents: Cents;
  /** ISO 4217, upper case; absent if the report does not state one: then it is the payment's currency. */
  currency?: string;
  /** A charge's authorized but never captured amount, a refund to the vendor; absent if all was captured. */
  released_cents?: Cents;
  /** Only of a charge that states its currency. */
  moved?: Moved;
  /** True when `amount_cents` already excludes tax. */
  net_of_tax: boolean;
  /** `reverse` adds back an amount that an earlier deduction took. */
  direction: "deduct" | "reverse";
  /**
   * Whether a reversal can return a deduction (a dispute) or did. Absent at provider A, whose disputes state amounts.
   */
  reversal?: "never" | "possible" | "done";
  /** The stage of the adjustment: of two versions at one instant the later stage counts. */
  stage: number;
  /** Only effective versions count (approved, lost); a newer ineffective version withdraws an older effective one. */
  effective: boolean;
  /** The lines that a refund returns, by id, each with its part of `amount_cents` net of tax; absent for a refund of the whole. */
  lines?: { id: string; amount_cents: Cents }[];
  /** A dispute that is not decided yet: it is not deducted, and its payment's commissions cannot be paid. */
  open?: true;
}

/** A reference to store for a subscription or a customer. */
export interface AttributionFact extends FactBase {
  kind: "attribution";
  ref: string;
  /** The `aliases` of the payment that carries it; absent if it is not on a payment. */
  payment?: string[];
  subscription_id: string | null;
  customer_id: string | null;
  /** The object that stores it and may repeat it; absent if it is reported once. */
  kept_by?: Keeper;
  /** Only of an import or a lead: the customer's `emailKey`, without an id. */
  customer_email?: string;
  /** Imported by the owner: only for later payments, and second to any earlier report of a vendor. */
  imported?: true;
  /** The owner granted a partner's claim of the customer's payment; any other report takes precedence. */
  granted?: true;
  /** From a lead: it applies to payments of every provider, by the customer's id there or by the address. */
  any_provider?: true;
}

/** The vendor object that stores a reference found at this place, if the vendor names it. */
export function keeperAt(
  place: string,
  { subscription_id, customer_id }: Pick<AttributionFact, "subscription_id" | "customer_id">,
  kept: KeptBy,
): Pick<AttributionFact, "kept_by"> {
  const kept_by = kept.get(place);
  if (kept_by === undefined) return {};
  return (kept_by === "subscription" ? subscription_id : customer_id) === null ? {} : { kept_by };
}

/** Promotion codes to store for a subscription and a customer; their holder may be reported later. */
export interface CodeUseFact extends FactBase {
  kind: "code_use";
  /** As in a payment. */
  codes: string[];
  /** As in an attribution. */
  payment?: string[];
  subscription_id: string | null;
  customer_id: string | null;
}

/** The vendor's description of a promotion code, a coupon or a discount. */
export interface CodeFact extends FactBase {
  kind: "code";
  code_id: string;
  /** The name that a customer types or reads, or null. */
  name: string | null;
  /** The objects it was made from, nearest first: of a discount its code and coupon, of a code its coupon. */
  parents: string[];
  /** The customer of a discount, if the vendor names one, by which an erasure finds the event. */
  customer_id?: string;
}

/** A customer's address, for vendors whose payments do not carry it. */
export interface CustomerFact extends FactBase {
  kind: "customer";
  customer_id: string;
  /** As the vendor wrote it; null once erased. */
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
  /** Only of a charge, and of an intent whose invoice states the amount paid. */
  moved?: Moved;
  /** As in a payment. */
  released_cents?: Cents;
}

/** The payment belongs to another program, which its event names and which has it by its own secret (IN-1). */
export interface ElsewhereFact extends FactBase {
  kind: "elsewhere";
  /** As in the payment. */
  aliases: string[];
  /** The program that owns the payment. */
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

/** Prefix of every id in a test event: a simulated event may name a real payment, and must not change it. */
const TEST = "test:";

/** Isolates a test event's fact: its ids match no live fact. */
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
