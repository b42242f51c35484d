/** The state of the model: plain data. */
import type { Exchange, SourcePart } from "./model-exchange.ts";
import type { Attribution, Purchase, Remembered } from "./model-facts.ts";
import type { Flow, Place, Rule } from "./model-flows.ts";

export type Status = "pending" | "approved" | "paid" | "rejected";
export type PartnerStatus = "invited" | "active" | "deactivated";

export interface Row {
  id?: string;
  kind: "sale" | "clawback" | "manual";
  slug: string;
  /** The purchase; empty of a manual one. */
  sale: string;
  currency: string;
  status: Status;
  amount: number;
  payout: number | null;
  /** Why it is flagged, the gravest first. */
  reasons: string[];
  dismissed: string[];
  created: number;
  /** When its hold begins: never before its payment was first seen. */
  held: number;
  /** When its hold ends; null without one. */
  until: number | null;
  approved: number | null;
}

/** The owner's decision about one partner's commission of one purchase; it outlives the row. */
export interface Judgement {
  status: "pending" | "approved" | "rejected";
  approved: number | null;
  manual: boolean;
  dismissed: string[];
}

export interface Payout {
  id?: string;
  slug: string;
  currency: string;
  amount: number;
  /** The source amounts, sorted by currency; null for a payout as earned. */
  parts: readonly SourcePart[] | null;
  count: number;
  status: "pending" | "processing" | "paid" | "failed" | "canceled" | "returned";
  period_end: number;
  changed: number;
}

/** A file by which payouts are paid. */
export interface PayoutFile {
  id?: string;
  currency: string;
  status: "open" | "paid" | "canceled";
  items: { payout: number; status: "open" | "paid" | "failed" | "back" }[];
}

export interface Sale {
  id?: string;
  outcome: string | null;
  partner: string | null;
  adjusted: number;
  /** The number of rule changes at its first report as paid; null until then. */
  heard: number | null;
  /** When the first fact of it came. */
  seen: number | null;
  /** When it was made, as far as was known when it was decided. */
  at: number | null;
  /** The rule was chosen before the customer was erased: it is not chosen again for this partner. */
  kept: boolean;
  rule: Rule | null;
  /** The days of the hold. */
  hold: number | null;
  isSelf: boolean;
  /** Among the customer's payments, as it was decided. */
  place: Place;
}

/** A partner's inputs of a decision; `slug` changes, so that keys use the first slug. */
export interface PartnerRule {
  status: PartnerStatus;
  pct: number | null;
  called: string;
  group: string;
}

/** The rules of a group; a deleted one still decides the payments of its time. */
export interface Group {
  pct: number | null;
  hold: number | null;
  deleted?: true;
}

/** The inputs of a purchase's decision. */
export interface Rules {
  pct: number;
  auto_approve_days: number | null;
  groups: Readonly<Record<string, Readonly<Group>>>;
  attribution: Attribution;
  partners: Record<string, PartnerRule>;
  flows: Flow[];
}

/** A rule changed at a moment; `before` is its earlier value. */
export interface Change {
  at: number;
  undo: {
    pct?: number;
    days?: number | null;
    attribution?: Attribution;
    partner?: [slug: string, was: PartnerRule];
    group?: [slug: string, was: Group];
    flow?: [string, Flow | null];
  };
  /** The rule of this name, as it is now, applies to all payments since then. */
  applies?: [rule: string, from: number];
}

/** The erased, by vendor and customer; and addresses, each with its last erasure. */
interface Erased {
  customers: string[];
  addresses: Record<string, number>;
}

export interface State extends Rules, Exchange {
  min_payout_cents: number;
  /** The group of new partners. */
  default_group: string;
  partners: Readonly<Record<string, Readonly<PartnerRule & { email: string }>>>;
  /** Sorted by their creation. */
  changes: readonly Change[];
  purchases: Record<string, Purchase>;
  sales: Record<string, Sale>;
  remembered: readonly Remembered[];
  /** Ids of the vendors' events that it knows. */
  learned: readonly string[];
  /** Subscriptions that ended. */
  ended: readonly string[];
  erased: Erased;
  judgements: Record<string, Judgement>;
  rows: Row[];
  payouts: Payout[];
  files: PayoutFile[];
  /** The end of each partner's last hold of payouts. */
  held: Readonly<Record<string, number>>;
  /** Ends of months for which the cron has generated. */
  months: readonly number[];
}

/** Copies the parts that change in place; others are shared. */
export function copyOf(state: State): State {
  return {
    ...state,
    purchases: { ...state.purchases },
    sales: { ...state.sales },
    judgements: { ...state.judgements },
    rows: state.rows.map((row) => ({ ...row })),
    payouts: state.payouts.map((payout) => ({ ...payout })),
    files: state.files.map((file) => ({ ...file, items: file.items.map((item) => ({ ...item })) })),
  };
}
