/**
 * What the rules about everything that happens to a program, written from the specification (its laws, partners, flows,
 * payments, references, commissions and payouts), and from nothing else in src. A state is plain data; `apply` changes it by one event.
 */
import {
  adjusted,
  chosenPartner,
  emailOf,
  moneyOf,
  occurredAt,
  type Attribution,
  type Purchase,
  type Remembered,
} from "./model-facts.ts";

export type Status = "pending" | "approved" | "paid" | "rejected";
export type PartnerStatus = "invited" | "active" | "deactivated";

export interface Rule {
  type: "percentage" | "flat";
  value: number;
}

/** `id` is the service's, once it has shown it. */
export interface Flow extends Rule {
  id?: string;
  name: string;
  priority: number;
  active: boolean;
  /** Applies to the partner who is called so, above this amount, and to customers of this address. */
  slug: string | null;
  above: number | null;
  email: string | null;
}

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
  count: number;
  status: "pending" | "processing" | "paid" | "failed" | "canceled";
  period_end: number;
  changed: number;
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
  /** The customer is erased: decisions are not made again. */
  erased: boolean;
  rule: Rule | null;
  /** The days of the hold. */
  hold: number | null;
  isSelf: boolean;
}

/** A partner's inputs of a decision; `slug` changes, so that keys use the first slug. */
interface PartnerRule {
  status: PartnerStatus;
  pct: number | null;
  called: string;
  group: string;
}

/** The rules of a group; `id` is the service's. */
interface Group {
  id: string;
  pct: number | null;
  hold: number | null;
}

/** The inputs of a purchase's decision. */
interface Rules {
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

export interface State extends Rules {
  min_payout_cents: number;
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
  };
}

const UNHEARD = {
  ...{ outcome: null, partner: null, adjusted: 0, heard: null, seen: null, at: null, erased: false },
  ...{ rule: null, hold: null, isSelf: false },
};
const DAY = 86_400_000;
const REASONS = ["disputed", "self_referral", "mostly_refunded", "subscription_canceled", "manual"];

/** Makes the rows of a purchase match its facts and decisions, by the rules of its moment. */
export function settle(state: State, key: string, now: number, isRequested = false): void {
  const purchase = state.purchases[key];
  if (!purchase || purchase.said.length === 0) return;
  const before = state.sales[key] ?? UNHEARD;
  const isPaid = purchase.said.some(({ paid }) => paid);
  const seen = before.seen ?? now;
  const heard = before.heard ?? (isPaid ? state.changes.length : null);
  const then = rulesAt(state, occurredAt(purchase), heard);
  const { ref, slug } = chosenPartner(purchase, state.remembered, then.attribution, (named) => slugOf(state, named));
  const partner = slug === null ? null : state.partners[slug]!;
  const has = (whose: string | null) =>
    state.rows.some((row) => row.kind === "sale" && row.sale === key && row.slug === whose);
  const money = moneyOf(purchase);
  const outcome = (() => {
    if (!isPaid) return "unpaid";
    if (money.base <= 0) return "zero_amount";
    if (!partner) return ref === null ? "no_ref" : "unknown_ref";
    if (has(slug) && isStill(state, slug!, then, before)) return "commission";
    return admitted(state, slug!, then, { at: occurredAt(purchase), heard, isRequested });
  })();
  const taken = adjusted(purchase, money);
  const earns = outcome === "commission" && slug !== null;
  const kept = before.erased && before.partner === slug && before.rule ? before : null;
  const rule = earns ? (kept?.rule ?? ruleFor(then, slug, { ...money, email: emailOf(purchase) })) : null;
  const hold = earns ? (kept ? kept.hold : holdFor(then, slug)) : null;
  const email = emailOf(purchase);
  const isSelf = earns && (kept ? kept.isSelf : email !== null && email === partner?.email);
  const at = occurredAt(purchase);
  state.sales[key] = { ...before, outcome, partner: slug, adjusted: taken, heard, seen, at, rule, hold, isSelf };
  const holds: Record<string, boolean> = {
    disputed: purchase.adjustments.some(({ open }) => open),
    self_referral: isSelf,
    mostly_refunded: taken * 2 > money.base,
    subscription_canceled: state.ended.includes(`${purchase.provider} ${purchase.subscription}`),
  };
  const reasons = REASONS.filter((reason) => holds[reason]);
  const target = rule ? amountOf(rule, money.base - taken) : null;
  if (earns && !state.rows.some((row) => row.sale === key && row.slug === slug)) {
    const judged = state.judgements[`${key} ${slug}`];
    state.rows.push({
      kind: "sale",
      slug,
      sale: key,
      currency: money.currency,
      status: judged?.status ?? "pending",
      amount: target ?? 0,
      payout: null,
      reasons: judged?.manual ? ["manual"] : [],
      dismissed: judged?.dismissed ?? [],
      ...{ created: at, held: at, until: null, approved: judged?.approved ?? null },
    });
  }
  for (const whose of new Set(state.rows.filter((row) => row.sale === key).map((row) => row.slug))) {
    settlePartner(state, key, whose, whose === slug ? target : null, now);
  }
  for (const row of state.rows.filter((one) => one.sale === key && one.kind === "sale" && one.status !== "paid")) {
    row.reasons = [
      ...reasons.filter((reason) => row.slug === slug && !row.dismissed.includes(reason)),
      ...row.reasons.filter((reason) => reason === "manual"),
    ];
    if (row.payout === null) setDates(row, at, seen, row.slug === slug ? hold : null);
  }
  for (const row of state.rows.filter((one) => one.sale === key && one.kind === "clawback")) {
    if (isFixed(row)) continue;
    const isGiven = row.amount > 0 && row.status !== "rejected";
    const isHeld = holds["disputed"] && isGiven && !row.dismissed.includes("disputed");
    row.reasons = [...(isHeld ? ["disputed"] : []), ...row.reasons.filter((reason) => reason === "manual")];
  }
}

function setDates(row: Row, at: number, seen: number, hold: number | null): void {
  Object.assign(row, { created: at, held: Math.max(at, seen) });
  if (hold !== null) row.until = row.held + hold * DAY;
}

/** Whether a partner who earned was the same at the time of the payment as it was known then, and was not refused since. */
function isStill(state: State, slug: string, then: Rules, { at, heard, outcome, partner }: Sale): boolean {
  if (at === null || (partner === slug && outcome?.startsWith("partner_"))) return false;
  return rulesAt(state, at, heard).partners[slug]!.status === then.partners[slug]!.status;
}

/** A partner's outcome of a first payment, by the status then and since. */
function admitted(
  { changes, partners }: State,
  slug: string,
  then: Rules,
  of: { at: number; heard: number | null; isRequested: boolean },
): string {
  const { status: now } = partners[slug]!;
  const { status } = then.partners[slug]!;
  if (status === "active") return "commission";
  if (!of.isRequested && status === "deactivated") return "partner_deactivated";
  if (status !== "invited") return now === "active" ? "commission" : "partner_deactivated";
  const were = changes.flatMap(({ at, undo: { partner } }, i) =>
    partner?.[0] === slug && (i >= (of.heard ?? Infinity) || at > of.at + CLOSE) ? [partner[1].status] : [],
  );
  return [...were, now].slice(1).includes("active") ? "commission" : "partner_not_active";
}

function slugOf(state: State, named: string): string | null {
  return Object.keys(state.partners).find((slug) => slug.toLowerCase() === named.toLowerCase()) ?? null;
}

/** Vendors date events to the second: closer ones are ordered by arrival. */
const CLOSE = 1_000;

/** Those in force when the payment was made, whenever its facts arrive (PAY-16). */
function rulesAt(state: State, at: number, heard: number | null): Rules {
  const { pct, attribution, auto_approve_days, partners, groups, flows, changes } = state;
  const then: Rules = { pct, attribution, auto_approve_days, partners: { ...partners }, groups, flows };
  const applied = new Set<string>();
  for (const [i, { at: changed, undo, applies }] of [...changes.entries()].toReversed()) {
    if (applies && applies[1] <= at) applied.add(applies[0]);
    if (i < (heard ?? Infinity) && changed <= at + CLOSE) continue;
    if (undo.pct !== undefined && !applied.has("the program's")) then.pct = undo.pct;
    if (undo.days !== undefined) then.auto_approve_days = undo.days;
    if (undo.group) then.groups = { ...then.groups, [undo.group[0]]: undo.group[1] };
    if (undo.attribution) then.attribution = undo.attribution;
    if (undo.partner) {
      const [slug, was] = undo.partner;
      then.partners[slug] = { ...was, pct: applied.has(slug) ? then.partners[slug]!.pct : was.pct };
    }
    const [name, before] = undo.flow ?? [];
    if (name !== undefined && !applied.has(name))
      then.flows = then.flows.flatMap((flow) => (flow.name === name ? (before ?? []) : flow));
  }
  return then;
}

export interface RuleChange {
  pct?: number;
  days?: number | null;
  attribution?: Attribution;
  partner?: [slug: string, pct: number | null];
  group?: [slug: string, change: Partial<Group>];
  flow?: Flow;
}

/** Sets a partner's status; false if unchanged. */
export function putPartner(state: State, slug: string, change: Partial<PartnerRule>, now: number): boolean {
  const { email, ...was } = state.partners[slug]!;
  const is = { ...was, ...change };
  if (is.status === was.status && is.pct === was.pct && is.called === was.called && is.group === was.group)
    return false;
  state.changes = [...state.changes, { at: now, undo: { partner: [slug, was] } }];
  state.partners = { ...state.partners, [slug]: { ...is, email } };
  return true;
}

/** A change of the program's rate or attribution, a partner's rate or a flow, from now on. */
export function changeRules(
  state: State,
  now: number,
  { pct, days, attribution, partner, group, flow }: RuleChange,
): void {
  if (attribution && attribution !== state.attribution) {
    state.changes = [...state.changes, { at: now, undo: { attribution: state.attribution } }];
    state.attribution = attribution;
  }
  if (pct !== undefined && pct !== state.pct) {
    state.changes = [...state.changes, { at: now, undo: { pct: state.pct } }];
    state.pct = pct;
  }
  if (days !== undefined && days !== state.auto_approve_days) {
    state.changes = [...state.changes, { at: now, undo: { days: state.auto_approve_days } }];
    state.auto_approve_days = days;
  }
  if (partner) {
    const [slug, pct] = partner;
    putPartner(state, slug, { pct }, now);
  }
  if (group) {
    const was = state.groups[group[0]]!;
    const is = { ...was, ...group[1] };
    if (is.pct !== was.pct || is.hold !== was.hold) {
      state.changes = [...state.changes, { at: now, undo: { group: [group[0], was] } }];
      state.groups = { ...state.groups, [group[0]]: is };
    }
  }
  if (flow) {
    const before = state.flows.find(({ name }) => name === flow.name) ?? null;
    state.changes = [...state.changes, { at: now, undo: { flow: [flow.name, before] } }];
    state.flows = before ? state.flows.map((one) => (one === before ? flow : one)) : [...state.flows, flow];
  }
}

type Money = ReturnType<typeof moneyOf> & { email: string | null };
/** "highest priority first, then the older; first match wins; else the partner's rate, else the group's, else the program's". */
function ruleFor(state: Rules, slug: string, { base, currency, email }: Money): Rule {
  const { pct, called, group } = state.partners[slug]!;
  const flow = state.flows
    .toSorted((a, b) => b.priority - a.priority)
    .find(
      (one) =>
        one.active &&
        (currency.toUpperCase() === "USD" || (one.type === "percentage" && one.above === null)) &&
        (one.slug ?? called) === called &&
        (one.above === null || base > one.above) &&
        (one.email ?? email) === email,
    );
  if (flow) return { type: flow.type, value: flow.value };
  return { type: "percentage", value: pct ?? state.groups[group]!.pct ?? state.pct };
}

const holdFor = (then: Rules, slug: string) => then.groups[then.partners[slug]!.group]!.hold ?? then.auto_approve_days;

/** Half up, of whole percents; "a flat amount stays unless the payment is fully refunded, then 0". */
function amountOf({ type, value }: Rule, rest: number): number {
  if (type === "flat") return rest > 0 ? value : 0;
  return Math.floor((rest * value + 50) / 100);
}

const isFixed = (row: Row) => row.status === "paid" || row.payout !== null;
export const sum = (rows: readonly Row[]) => rows.reduce((total, row) => total + row.amount, 0);

/**
 * One partner's rows of one purchase. What was never paid is simply worth what the facts say. What is paid or in a
 * payout stays, and one row beside it carries the difference, less what the owner forgave or denied.
 */
function settlePartner(state: State, key: string, slug: string, target: number | null, now: number): void {
  const own = state.rows.filter((row) => row.sale === key && row.slug === slug);
  const drop = (gone: (row: Row) => boolean) => {
    state.rows = state.rows.filter((row) => !(own.includes(row) && gone(row)));
  };
  const sale = own.find((row) => row.kind === "sale");
  const fixed = own.filter(isFixed);
  if (fixed.length === 0) {
    drop((row) => row.kind === "clawback" || target === null);
    if (sale && target !== null) sale.amount = target;
    return;
  }
  const loose = own.filter((row) => row.kind === "clawback" && !isFixed(row));
  const waived = loose.filter((row) => row.status === "rejected");
  const forgiven = -sum(waived.filter((row) => row.amount < 0));
  const denied = sum(waived.filter((row) => row.amount > 0));
  const due = sale?.status === "rejected" ? 0 : Math.max((target ?? 0) - denied, 0);
  const worth = Math.max(due, Math.min(due + forgiven, sum(fixed)));
  const difference = worth - sum(fixed);
  let left = difference;
  if (sale && !isFixed(sale)) {
    if (sale.status === "rejected") sale.amount = target ?? 0;
    else {
      sale.amount = difference;
      left = 0;
    }
  }
  const [carrier, ...spare] = loose.filter((row) => row.status !== "rejected");
  drop((row) => spare.includes(row) || (left === 0 && row === carrier));
  if (left === 0) return;
  if (carrier) carrier.amount = left;
  else {
    state.rows.push({
      ...(sale ?? fixed[0]!),
      kind: "clawback",
      status: "approved",
      amount: left,
      payout: null,
      reasons: [],
      dismissed: [],
      created: now,
      ...{ held: now, until: null },
      approved: now,
    });
  }
}

const CHANGES: Record<string, { from: Status[]; to: Status }> = {
  approve: { from: ["pending"], to: "approved" },
  reject: { from: ["pending", "approved"], to: "rejected" },
  reopen: { from: ["rejected"], to: "pending" },
};

/** The owner's decision on a commission; false if the rules refuse it. */
export function judge(state: State, row: Row, what: "approve" | "reject" | "reopen", now: number): boolean {
  const { from, to } = CHANGES[what]!;
  if (!from.includes(row.status) || row.payout !== null) return false;
  row.status = to;
  row.approved = to === "approved" ? now : null;
  remember(state, row);
  settle(state, row.sale, now);
  return true;
}

/** The owner flags a commission, or dismisses its reasons for good. */
export function flag(state: State, row: Row, flagged: boolean, now: number): boolean {
  if (flagged === row.reasons.length > 0) return true;
  if (row.payout !== null) return false;
  if (flagged) row.reasons = ["manual"];
  else {
    row.dismissed = [...new Set([...row.dismissed, ...row.reasons.filter((reason) => reason !== "manual")])];
    row.reasons = [];
  }
  remember(state, row);
  settle(state, row.sale, now);
  return true;
}

function remember(state: State, row: Row): void {
  if (row.kind !== "sale") return;
  state.judgements[`${row.sale} ${row.slug}`] = {
    status: row.status === "paid" ? "approved" : row.status,
    approved: row.approved,
    manual: row.reasons.includes("manual"),
    dismissed: row.dismissed,
  };
}

/** Approval by time (COM-6). Commissions that are changing wait for the next run. */
export function approveDue(state: State, now: number, beside?: { without: readonly string[] }): void {
  if (state.auto_approve_days === null) return;
  for (const row of state.rows) {
    if (row.status !== "pending" || row.reasons.length > 0) continue;
    row.until ??= row.held + state.auto_approve_days * DAY;
    if (row.until > now) continue;
    if (beside?.without.includes(row.sale)) continue;
    row.status = "approved";
    row.approved = now;
    remember(state, row);
  }
}
