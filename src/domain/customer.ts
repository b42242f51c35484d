/** The earlier payments of a customer, which conditions of flows compare (FLOW-14). */
import { emailKey } from "./email.ts";

/** A counted payment, as its row was settled. */
export interface CountedPayment {
  id: string;
  provider_transaction_id: string;
  /** When it was made. */
  created_at: string;
  partner_id: string | null;
  /** The customer's id, if the compared payment's customers have the same ids. */
  customer_id: string | null;
  customer_email: string | null;
}

/** The compared payment. */
export interface PaymentOfCustomer {
  provider_transaction_id: string;
  occurred_at: string;
  customer_id: string | null;
  customer_email: string | null;
}

export interface CustomerHistory {
  /** 1 for the customer's first counted payment; exact up to one more than the payments that were read. */
  payment_number: number;
  months_since_first_payment: number;
  /** False if the customer's first counted payment had no partner. */
  new_customer: boolean;
}

/**
 * The place of a payment among its customer's counted payments: those with the same customer id or address, by time and
 * then by the vendor's id. `others` are the first `most` counted payments of each, without the payment itself. A payment
 * of an unknown customer is the first.
 */
export function historyOf(
  payment: PaymentOfCustomer,
  others: readonly CountedPayment[],
  most: number,
): CustomerHistory {
  const earlier = earlierOf(payment, others);
  const [first] = earlier;
  return {
    payment_number: Math.min(earlier.length, most) + 1,
    months_since_first_payment: first ? monthsBetween(first.created_at, payment.occurred_at) : 0,
    new_customer: !first || first.partner_id !== null,
  };
}

/** The customer's payments before this one, in order. */
export function earlierOf(payment: PaymentOfCustomer, others: readonly CountedPayment[]): CountedPayment[] {
  const place = `${payment.occurred_at} ${payment.provider_transaction_id}`;
  const placeOf = (one: CountedPayment) => `${one.created_at} ${one.provider_transaction_id}`;
  return others
    .filter((one) => isSameCustomer(payment, one) && placeOf(one) < place)
    .toSorted((a, b) => (placeOf(a) < placeOf(b) ? -1 : 1));
}

function isSameCustomer(payment: PaymentOfCustomer, other: CountedPayment): boolean {
  if (payment.customer_id !== null && payment.customer_id === other.customer_id) return true;
  const [own, others] = [payment.customer_email, other.customer_email];
  return own !== null && others !== null && emailKey(own) === emailKey(others);
}

/**
 * Whole calendar months from one time to a later one, ISO 8601 in UTC: a month has passed at the same day and time, at
 * the last day of a month that is too short.
 */
export function monthsBetween(from: string, to: string): number {
  const [start, end] = [new Date(from), new Date(to)];
  const months = (end.getUTCFullYear() - start.getUTCFullYear()) * 12 + end.getUTCMonth() - start.getUTCMonth();
  return Math.max(0, addMonths(start, months) > end.getTime() ? months - 1 : months);
}

/** The same day and time so many months later, in milliseconds; the last day of a month that is too short. */
function addMonths(start: Date, months: number): number {
  const year = start.getUTCFullYear();
  const month = start.getUTCMonth() + months;
  const lastDay = new Date(Date.UTC(year, month + 1, 0)).getUTCDate();
  const moved = new Date(start);
  moved.setUTCFullYear(year, month, Math.min(start.getUTCDate(), lastDay));
  return moved.getTime();
}
