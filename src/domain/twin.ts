/** Detects payments that may be the same one, which the vendor reports under two ids without linking them (PAY-25). */
import type { Fact, PaymentFact } from "./fact.ts";
import { NOTHING, type Cents } from "./money.ts";
import { compare } from "./payment-state.ts";

const HOUR_MS = 3_600_000;
const WEEK_MS = 7 * 24 * HOUR_MS;

/**
 * A report of money beside another (PAY-25). `outside`: may be any payment's receipt. `invoice`: does not name its
 * payment. `money`: may pay an invoice.
 */
type Role = "outside" | "invoice" | "money" | "plain";

/** Pairs of reports that are compared, with their greatest distance in time, in either order. */
export const COMPARED: readonly { role: Role; other: Role; within_ms: number }[] = [
  { role: "outside", other: "outside", within_ms: WEEK_MS },
  ...inBothOrders("outside", "invoice", WEEK_MS),
  ...inBothOrders("outside", "money", WEEK_MS),
  ...inBothOrders("outside", "plain", WEEK_MS),
  ...inBothOrders("invoice", "money", HOUR_MS),
];

function inBothOrders(role: Role, other: Role, within_ms: number) {
  return [
    { role, other, within_ms },
    { role: other, other: role, within_ms },
  ];
}

/** A fact of another payment of the same customer. */
export interface TwinFact {
  /** Equal for all facts of one payment. */
  payment: string;
  fact: Fact;
}

/** A fact by which a payment is compared with others. */
export type ComparedFact = PaymentFact & { customer_id: string };

/** The facts by which a payment is compared with others: money of a known customer was taken. */
export function comparedFacts(facts: readonly Fact[]): ComparedFact[] {
  return facts.filter(
    (fact): fact is ComparedFact =>
      fact.kind === "payment" &&
      fact.source !== "transaction" &&
      fact.paid &&
      fact.customer_id !== null &&
      amountTaken(fact) > NOTHING,
  );
}

/** The amount taken, including tax, on which two reports of one payment agree. */
export function amountTaken({ gross_cents, taken_cents = gross_cents }: PaymentFact): Cents {
  return taken_cents;
}

/** The role by the fact alone; other facts of the payment may change it. */
export function roleOf(fact: PaymentFact): Role {
  if (fact.source === "invoice") {
    if (fact.tie === "outside") return "outside";
    return fact.aliases.length > 1 ? "plain" : "invoice";
  }
  if (fact.source === "session" && fact.subscription_id !== null) return "invoice";
  return fact.tie === "open" ? "money" : "plain";
}

/** Whether these facts may repeat a payment under another id: the later, or greater id, is the duplicate for both. */
export function isPossibleDuplicate(facts: readonly Fact[], twins: readonly TwinFact[]): boolean {
  if (twins.length === 0) return false;
  const own = sidesOf(facts);
  const others = [...Map.groupBy(twins, ({ payment }) => payment).values()];
  return others.some((other) => {
    const sides = sidesOf(other.map(({ fact }) => fact));
    return [...own].some(([sum, side]) => sides.has(sum) && isSecond(side, sides.get(sum)!));
  });
}

/** One payment's reports of one sum, each in its role. */
type Side = { fact: ComparedFact; role: Role }[];

/** The sums that a payment's facts report, with the reports of each. */
function sidesOf(facts: readonly Fact[]): Map<string, Side> {
  const sums = Map.groupBy(comparedFacts(facts), sumOf);
  return new Map([...sums].map(([sum, said]) => [sum, sideOf(said, facts)]));
}

function sumOf(fact: ComparedFact): string {
  return JSON.stringify([fact.customer_id, fact.currency, amountTaken(fact)]);
}

/** An invoice is tied if a fact names its payment. A session shows better than its intent if one will follow. */
function sideOf(said: readonly ComparedFact[], facts: readonly Fact[]): Side {
  const roles = said.map((fact) => ({ fact, role: roleOf(fact) }));
  const isTied = facts.some(
    (fact) =>
      fact.kind === "link" ||
      (fact.kind === "payment" &&
        (fact.source === "intent" || (fact.source === "invoice" && roleOf(fact) === "plain"))),
  );
  const isOfInvoice = roles.some(({ fact, role }) => fact.source === "invoice" || role === "invoice");
  const sessions = said.filter(({ source }) => source === "session");
  const isOpen = sessions.length === 0 || sessions.some(({ tie }) => tie === "open");
  return roles.map(({ fact, role }) => {
    if (role === "invoice" && isTied) return { fact, role: "plain" };
    if (role === "money" && (isOfInvoice || !isOpen)) return { fact, role: "plain" };
    return { fact, role };
  });
}

function isSecond(own: Side, other: Side): boolean {
  const mayBeOne = own.some((mine) => other.some((theirs) => isCompared(mine, theirs)));
  return mayBeOne && byTime(earliest(own), earliest(other)) > 0;
}

function isCompared(one: Side[number], two: Side[number]): boolean {
  const apart = Math.abs(Date.parse(one.fact.occurred_at) - Date.parse(two.fact.occurred_at));
  return COMPARED.some(({ role, other, within_ms }) => role === one.role && other === two.role && apart <= within_ms);
}

function earliest(side: Side): ComparedFact {
  return side.map(({ fact }) => fact).toSorted(byTime)[0]!;
}

function byTime(a: ComparedFact, b: ComparedFact): number {
  return compare(a.occurred_at, b.occurred_at) || compare(a.key, b.key);
}
