/** The flow that decides a payment and its amount, written from the specification alone (flows, products and holds). */
export interface Rule {
  type: "percentage" | "flat";
  value: number;
  /** The conditions whose lines count; absent if the whole payment does. */
  counts?: readonly Condition[];
}

type Single = string | number | boolean;
export interface Condition {
  field: keyof Compared;
  op: "eq" | "neq" | "gt" | "gte" | "lt" | "lte" | "contains" | "in" | "not_in";
  value: Single | readonly Single[];
}

/** `id` is the service's, once it has shown it. */
export interface Flow extends Rule {
  id?: string;
  name: string;
  priority: number;
  active: boolean;
  conditions: readonly Condition[];
  currency: string | null;
  starts: number | null;
  ends: number | null;
  /** The days of its hold. */
  hold: number | null;
}

export interface Line {
  products: readonly string[];
  amount: number;
}

/** A payment's place among its customer's counted payments. */
export interface Place {
  payment_number: number;
  months_since_first_payment: number;
  new_customer: boolean;
}

/** The values of a payment that conditions compare; null: unknown. */
export interface Compared extends Place {
  txn_amount_cents: number;
  customer_email: string | null;
  partner_slug: string;
  partner_group: string;
  provider: string;
  currency: string;
  product_id: readonly string[] | null;
  ref_source: "link" | "remembered" | "import";
}

/** The flow that decides: "by priority, highest first, the older first among equals. The first that matches decides". */
export function flowFor(flows: readonly Flow[], payment: Compared, at: number): Flow | null {
  const applies = ({ active, starts, ends, currency, conditions }: Flow) =>
    active &&
    (starts === null || at >= starts) &&
    (ends === null || at < ends) &&
    (currency === null || currency === payment.currency) &&
    conditions.every((one) => holds(one, payment[one.field]));
  return flows.toSorted((a, b) => b.priority - a.priority).find(applies) ?? null;
}

/** "Texts compare ignoring case. A field that the payment lacks matches `neq` and `not_in` only." */
function holds({ op, value }: Condition, saw: Compared[keyof Compared]): boolean {
  const same = (one: Single) => (typeof one === "string" ? one.toLowerCase() : one);
  const isNegative = op === "neq" || op === "not_in";
  if (saw === null) return isNegative;
  const values = (typeof saw === "object" ? saw : [saw]).map(same);
  const asked = (typeof value === "object" ? value : [value]).map(same);
  const [left, right] = [values[0]!, asked[0]!];
  if (op === "contains") return String(left).includes(String(right));
  if (op === "gt" || op === "lte") return left > right === (op === "gt");
  if (op === "gte" || op === "lt") return left >= right === (op === "gte");
  return values.some((one) => asked.includes(one)) !== isNegative;
}

/** The sum of the lines that a rule counts, from 0 to the base; the base if it counts all of the payment. */
export function partOf({ counts }: Rule, lines: readonly Line[] | null, base: number): number {
  if (!counts || lines === null) return base;
  const named = counts.filter(({ field, op }) => field === "product_id" && (op === "eq" || op === "in"));
  const own = lines.filter(({ products }) => named.length === 0 || named.some((one) => holds(one, products)));
  const sum = own.reduce((total, { amount }) => total + amount, 0);
  return Math.min(Math.max(sum, 0), base);
}

/**
 * Half up, of whole percents, of the rest of the part: returned money lowers it in proportion. "A flat amount stays
 * unless the payment is fully refunded, then 0".
 */
export function amountOf(
  { type, value }: Rule,
  part: number,
  { base, taken }: { base: number; taken: number },
): number {
  const rest = Math.floor((2 * part * (base - taken) + base) / (2 * base));
  if (type === "flat") return rest > 0 ? value : 0;
  return Math.floor((rest * value + 50) / 100);
}

/** A counted payment. */
export interface Counted {
  at: number;
  /** The vendor's. */
  id: string;
  hasPartner: boolean;
}

/** The place of a payment behind its customer's other counted ones. */
export function placeAmong(own: { at: number; id: string }, others: readonly Counted[]): Place {
  const isBefore = (one: { at: number; id: string }) => one.at < own.at || (one.at === own.at && one.id < own.id);
  const earlier = others.filter(isBefore).toSorted((a, b) => a.at - b.at || (a.id < b.id ? -1 : 1));
  const [first] = earlier;
  return {
    payment_number: earlier.length + 1,
    months_since_first_payment: first ? monthsBetween(first.at, own.at) : 0,
    new_customer: first?.hasPartner ?? true,
  };
}

/** "a month has passed at the same day and time, or at the end of a shorter month", in UTC. */
function monthsBetween(from: number, to: number): number {
  const start = new Date(from);
  const [year, month, day] = [start.getUTCFullYear(), start.getUTCMonth(), start.getUTCDate()];
  const time = from - Date.UTC(year, month, day);
  for (let months = 0; ; months++) {
    const last = new Date(Date.UTC(year, month + months + 2, 0)).getUTCDate();
    if (Date.UTC(year, month + months + 1, Math.min(day, last)) + time > to) return months;
  }
}
