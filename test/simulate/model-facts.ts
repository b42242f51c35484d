/** The specification's reading of vendors' facts: the partner of a purchase, and the paid and returned amounts. */

import type { ListedVendor } from "../../src/providers/registry.ts";
import type { Compared, Line } from "./model-flows.ts";

/** An event's data about a payment. */
export interface Said {
  /** The event's. */
  id: string;
  source: "session" | "invoice" | "transaction" | "intent";
  at: number;
  paid: boolean;
  ref: string | null;
  currency: string;
  base: number;
  gross: number;
  email: string | null;
  /** Null if it does not state them. */
  lines: readonly Line[] | null;
}

/** An event's data about returned or disputed money. */
export interface Adjustment {
  id: string;
  at: number;
  /** The later stage of two at one moment counts. */
  stage: number;
  amount: number;
  /** Tax included, as provider A reports it. */
  gross: boolean;
  counts: boolean;
  /** A reversal returns the amounts of others, as far as they can be reversed. */
  gives: boolean;
  reversible: boolean;
  open: boolean;
}

export interface Purchase {
  provider: ListedVendor;
  customer: string | null;
  subscription: string | null;
  /** Its id until its session or invoice arrives. */
  intent: string | null;
  said: Said[];
  adjustments: Adjustment[];
}

/** A reference that an event left for a customer and a subscription. */
export interface Remembered {
  /** The event's. */
  id: string;
  provider: string;
  at: number;
  slug: string;
  customer: string | null;
  subscription: string | null;
  /** The subscription, if it has and repeats the reference. */
  keeper?: string | null;
  /** Reported by the owner for a customer without a partner: a vendor's report counts more. */
  imported?: boolean;
}

/** Which of the references that were remembered counts. */
export type Attribution = "first" | "last";

/** Events of one purchase have times seconds apart, so a reference serves payments up to an hour before it. */
const SLACK = 3_600_000;

export function occurredAt({ said }: Purchase): number {
  const paid = said.filter((one) => one.paid);
  return Math.min(...(paid.length > 0 ? paid : said).map(({ at }) => at));
}

/** An intent has the taken amount without its tax, which a waiting session has. */
export function moneyOf({ said }: Purchase): { base: number; gross: number; currency: string } {
  const paid = said.filter((one) => one.paid && one.source !== "intent");
  const others = said.filter(({ source }) => source !== "intent");
  const all = [paid, others, said].find(({ length }) => length > 0)!;
  return all.find(({ source }) => source === "invoice") ?? all[0]!;
}

/** "A payment without stated lines has unknown products"; an unpaid session and an intent do not state lines. */
export function linesOf({ said }: Purchase): readonly Line[] | null {
  return said.map(({ lines }) => lines).find((lines) => lines !== null) ?? null;
}

/** The vendor's id of the payment. */
export function idOf(key: string, { said, intent }: Purchase): string {
  return said.every(({ source }) => source === "intent") ? (intent ?? key) : key;
}

export function emailOf({ said }: Purchase): string | null {
  return said.map(({ email }) => email).find((email) => email !== null) ?? null;
}

/** The first reference that it carries and that leads to a partner; else the first or last remembered by then. */
export function chosenPartner(
  purchase: Purchase,
  remembered: readonly Remembered[],
  attribution: Attribution,
  leads: (ref: string) => string | null,
): { ref: string | null; slug: string | null; source: Compared["ref_source"] } {
  const order = ["session", "invoice", "transaction", "intent"];
  const own = purchase.said
    .toSorted((a, b) => order.indexOf(a.source) - order.indexOf(b.source) || b.at - a.at)
    .flatMap(({ ref }) => (ref === null ? [] : [ref]));
  const known = own.find((ref) => leads(ref) !== null);
  if (known !== undefined) return { ref: known, slug: leads(known), source: "link" };
  const paid = occurredAt(purchase);
  const said = remembered
    .filter(({ provider, at, imported }) => provider === purchase.provider && at <= (imported ? paid : paid + SLACK))
    .toSorted(
      (a, b) =>
        a.at - b.at ||
        Number(a.imported ?? false) - Number(b.imported ?? false) ||
        (a.slug.toLowerCase() < b.slug.toLowerCase() ? -1 : 1),
    );
  const pick = (among: Remembered[]) => {
    const news = among.filter((one, i) => !isAgain(one, among.slice(0, i)));
    return attribution === "first" ? news[0] : (news.findLast(({ imported }) => !imported) ?? news[0]);
  };
  const found =
    (purchase.subscription !== null && pick(said.filter((one) => one.subscription === purchase.subscription))) ||
    (purchase.customer !== null && pick(said.filter((one) => one.customer === purchase.customer)));
  if (found) return { ref: found.slug, slug: found.slug, source: found.imported ? "import" : "remembered" };
  return { ref: own[0] ?? null, slug: null, source: "link" };
}

/** A subscription's repeated reference is no news. */
function isAgain({ keeper, slug }: Remembered, before: readonly Remembered[]): boolean {
  const last = before.findLast((one) => keeper && one.keeper === keeper);
  return last?.slug.toLowerCase() === slug.toLowerCase();
}

/** "the sum of approved adjustments, net of tax", from 0 to the total; "reversals add back" chargebacks. */
export function adjusted({ adjustments }: Purchase, { base, gross }: { base: number; gross: number }): number {
  const within = (amount: number, most: number) => Math.min(Math.max(amount, 0), most);
  const sum = (which: (one: Adjustment) => boolean) =>
    adjustments.filter((one) => one.counts && which(one)).reduce((total, { amount }) => total + amount, 0);
  const part = within(
    sum((one) => one.gross),
    gross,
  );
  const net = gross > 0 ? Math.floor((2 * part * base + gross) / (2 * gross)) : 0;
  const taken = sum((one) => !one.gross && !one.gives);
  const back = within(
    sum((one) => one.gives),
    sum((one) => one.reversible && !one.gives),
  );
  return within(net + taken - back, base);
}

/** The purchase with an adjustment's version taken in: the newest counts. */
export function adjust(purchase: Purchase, version: Adjustment): Purchase {
  const known = purchase.adjustments.find(({ id }) => id === version.id);
  const rank = (one: Adjustment) => [one.at, one.stage, one.amount];
  if (known && compare(rank(version), rank(known)) <= 0) return purchase;
  const others = purchase.adjustments.filter((one) => one !== known);
  return { ...purchase, adjustments: [...others, version] };
}

function compare(a: number[], b: number[]): number {
  const at = a.findIndex((part, i) => part !== b[i]);
  return at < 0 ? 0 : a[at]! - b[at]!;
}
