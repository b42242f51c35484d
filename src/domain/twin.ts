/** Payments that may be one, which the vendor reports under two ids and does not link (PAY-25). */
import type { Fact, PaymentFact } from "./fact.ts";
import { NOTHING, type Cents } from "./money.ts";
import { compare } from "./payment-state.ts";

/** The vendor reports an intent and the invoice that it pays within seconds. */
const OPEN_WITHIN_MS = 3_600_000;
/** An invoice that is made as the receipt of a payment follows it within days. */
export const OUTSIDE_WITHIN_DAYS = 7;
const OUTSIDE_WITHIN_MS = OUTSIDE_WITHIN_DAYS * 86_400_000;

/** What another payment says of the same sum of the same customer. */
export interface TwinFact {
  /** The same for all facts of one payment. */
  payment: string;
  fact: PaymentFact;
  /** Whether something says what it was paid by: an intent of it, or a link. */
  is_linked: boolean;
}

/**
 * How a payment is tied to what else reports it: `linked` if the vendor names that, `open` if it may report the payment
 * under another id too, `outside` of what may be the receipt of another payment.
 */
type Tie = "linked" | "open" | "outside";

/** A payment by which a sum is compared: the earliest that says it. */
interface Side extends Pick<PaymentFact, "key" | "occurred_at"> {
  tie: Tie;
  /** Whether it is an invoice's, or an intent's or a session's that may be of an invoice. */
  isInvoice: boolean;
}

/** The facts by which a payment is compared with others: money of a customer who is known was taken. */
export function comparedFacts(facts: readonly Fact[]): (PaymentFact & { customer_id: string })[] {
  return facts.filter(
    (fact): fact is PaymentFact & { customer_id: string } =>
      fact.kind === "payment" &&
      fact.source !== "transaction" &&
      fact.paid &&
      fact.customer_id !== null &&
      takenBy(fact) > NOTHING,
  );
}

/** What was taken, tax included: two reports of one payment agree on it. */
export function takenBy({ gross_cents, taken_cents = gross_cents }: PaymentFact): Cents {
  return taken_cents;
}

/**
 * Whether the payment of these facts may be one that was reported before under another id: of two that may be one, the
 * later is, or of the same instant the one whose id is greater. Each of the two comes to the same answer.
 */
export function isPossibleDuplicate(facts: readonly Fact[], twins: readonly TwinFact[]): boolean {
  if (twins.length === 0) return false;
  const isLinked = namesItsPayer(facts);
  const own = [...Map.groupBy(comparedFacts(facts), sumOf)];
  const others = [...Map.groupBy(twins, ({ payment }) => payment).values()];
  return own.some(([sum, said]) =>
    others.some((other) => {
      const same = comparedFacts(other.map(({ fact }) => fact)).filter((fact) => sumOf(fact) === sum);
      if (same.length === 0) return false;
      return isSecond(
        sideOf(said, isLinked),
        sideOf(
          same,
          other.some(({ is_linked }) => is_linked),
        ),
      );
    }),
  );
}

/** Whether something says what paid an invoice: links do nothing else. */
function namesItsPayer(facts: readonly Fact[]): boolean {
  return facts.some((fact) => fact.kind === "link" || (fact.kind === "payment" && fact.source === "intent"));
}

function sumOf(fact: PaymentFact): string {
  return JSON.stringify([fact.customer_id, fact.currency, takenBy(fact)]);
}

function sideOf(said: readonly PaymentFact[], isLinked: boolean): Side {
  const [first] = said.toSorted((a, b) => compare(a.occurred_at, b.occurred_at) || compare(a.key, b.key));
  const ofInvoice = said.filter(isOfInvoice);
  const isInvoice = ofInvoice.length > 0;
  return { ...first!, isInvoice, tie: isInvoice ? invoiceTie(ofInvoice, isLinked) : moneyTie(said) };
}

/** The session that begins a subscription is of its first invoice. */
function isOfInvoice({ source, subscription_id }: PaymentFact): boolean {
  return source === "invoice" || (source === "session" && subscription_id !== null);
}

/** An invoice that names nothing else does not say what paid it. */
function invoiceTie(said: readonly PaymentFact[], isLinked: boolean): Tie {
  if (said.some(({ tie }) => tie === "outside")) return "outside";
  const namesPayer = said.some(({ source, aliases }) => source === "invoice" && aliases.length > 1);
  return isLinked || namesPayer ? "linked" : "open";
}

/** A session knows better than its intent whether there is to be an invoice. */
function moneyTie(said: readonly PaymentFact[]): Tie {
  const sessions = said.filter(({ source }) => source === "session");
  return (sessions.length > 0 ? sessions : said).some(({ tie }) => tie === "open") ? "open" : "linked";
}

function isSecond(own: Side, other: Side): boolean {
  const apart = Math.abs(Date.parse(own.occurred_at) - Date.parse(other.occurred_at));
  const isOpen = own.tie === "open" && other.tie === "open" && own.isInvoice !== other.isInvoice;
  const isOutside = own.tie === "outside" || other.tie === "outside";
  const mayBeOne = (isOpen && apart <= OPEN_WITHIN_MS) || (isOutside && apart <= OUTSIDE_WITHIN_MS);
  return mayBeOne && (compare(own.occurred_at, other.occurred_at) || compare(own.key, other.key)) > 0;
}
