/**
 * What the rules about everything that happens to a program, written from the specification (its laws, partners, flows,
 * payments, references, commissions and payouts), and from nothing else in src. A state is plain data; `apply` changes it by one event.
 */
import { ofCustomer, placeOf } from "./model-customers.ts";
import { adjusted, chosenPartner, emailOf, linesOf, moneyOf, occurredAt, type Purchase } from "./model-facts.ts";
import { amountOf, partOf, placeAmong } from "./model-flows.ts";
import { CLOSE, decideBy, rulesAt } from "./model-rules.ts";
import type { Row, Rules, Sale, State, Status } from "./model-state.ts";

type Decided = ReturnType<typeof decide>["sale"];

const UNHEARD: Sale = {
  ...{ outcome: null, partner: null, adjusted: 0, heard: null, seen: null, at: null, kept: false },
  ...{ rule: null, hold: null, isSelf: false, place: placeAmong({ at: 0, id: "" }, []) },
};
const DAY = 86_400_000;
const REASONS = ["disputed", "self_referral", "mostly_refunded", "subscription_canceled", "manual"];

/** Makes the rows of a purchase match its facts and decisions, by the rules of its moment. */
export function settle(state: State, key: string, now: number, isRequested = false): void {
  const purchase = state.purchases[key];
  if (!purchase || purchase.said.length === 0) return;
  const { sale, part } = decide(state, key, purchase, now, isRequested);
  state.sales[key] = sale;
  const { partner: slug, adjusted: taken, at } = sale;
  const rule = sale.outcome === "commission" ? sale.rule : null;
  const { base, currency } = moneyOf(purchase);
  const target = rule ? amountOf(rule, part, { base, taken }) : null;
  if (rule && slug !== null && !state.rows.some((row) => row.sale === key && row.slug === slug)) {
    const judged = state.judgements[`${key} ${slug}`];
    state.rows.push({
      kind: "sale",
      slug,
      sale: key,
      currency,
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
  review(state, key, purchase, sale);
  // A payment that comes late, or changes, moves the customer's later ones.
  for (const other of ofCustomer(state, key)) {
    const place = state.sales[other]?.place;
    if (place && JSON.stringify(placeOf(state, other)) !== JSON.stringify(place)) settle(state, other, now);
  }
}

/** The outcome and the rule of a purchase, and the part of it that the rule counts. */
function decide(state: State, key: string, purchase: Purchase, now: number, isRequested: boolean) {
  const before = state.sales[key] ?? UNHEARD;
  const isPaid = purchase.said.some(({ paid }) => paid);
  const heard = before.heard ?? (isPaid ? state.changes.length : null);
  const at = occurredAt(purchase);
  const then = rulesAt(state, at, heard);
  const leads = (named: string) => slugOf(state, named);
  const { ref, slug, source } = chosenPartner(purchase, state.remembered, then.attribution, leads);
  const has = (whose: string | null) =>
    state.rows.some((row) => row.kind === "sale" && row.sale === key && row.slug === whose);
  const money = moneyOf(purchase);
  const email = emailOf(purchase);
  const lines = linesOf(purchase);
  const place = placeOf(state, key);
  const kept = before.kept && before.partner === slug ? before : null;
  const compared = {
    ...{ txn_amount_cents: money.base, customer_email: email, provider: purchase.provider, ref_source: source },
    ...{ currency: money.currency, product_id: lines && lines.flatMap(({ products }) => products), ...place },
  };
  const decided = kept ?? (slug === null ? null : decideBy(then, slug, compared, at));
  const part = decided?.rule ? partOf(decided.rule, lines, money.base) : money.base;
  const outcome = (() => {
    if (!isPaid) return "unpaid";
    if (money.base <= 0) return "zero_amount";
    if (slug === null) return ref === null ? "no_ref" : "unknown_ref";
    const isEarning = has(slug) && isStill(state, slug, then, before);
    const admission = isEarning ? "commission" : admitted(state, slug, then, { at, heard, isRequested });
    return admission === "commission" && part <= 0 ? "zero_amount" : admission;
  })();
  // A payment of which no line earns by its rule has one too.
  const isRuled = slug !== null && (outcome === "commission" || (outcome === "zero_amount" && money.base > 0));
  const { rule, hold } = (isRuled ? decided : null) ?? { rule: null, hold: null };
  const isSelf = isRuled && (kept ? kept.isSelf : email !== null && email === state.partners[slug]!.email);
  const taken = adjusted(purchase, money);
  const facts = { outcome, partner: slug, adjusted: taken, heard, seen: before.seen ?? now, at };
  return { part, sale: { ...before, ...facts, rule, hold, isSelf, place, kept: isRuled && kept !== null } };
}

/** Sets why the rows of a purchase are held, and until when. */
function review(state: State, key: string, purchase: Purchase, sale: Decided): void {
  const { partner: slug, adjusted: taken, at, seen } = sale;
  const earns = sale.outcome === "commission";
  const holds: Record<string, boolean> = {
    disputed: purchase.adjustments.some(({ open }) => open),
    self_referral: earns && sale.isSelf,
    mostly_refunded: taken * 2 > moneyOf(purchase).base,
    subscription_canceled: state.ended.includes(`${purchase.provider} ${purchase.subscription}`),
  };
  const reasons = REASONS.filter((reason) => holds[reason]);
  for (const row of state.rows.filter((one) => one.sale === key && one.kind === "sale" && one.status !== "paid")) {
    row.reasons = [
      ...reasons.filter((reason) => row.slug === slug && !row.dismissed.includes(reason)),
      ...row.reasons.filter((reason) => reason === "manual"),
    ];
    if (row.payout === null) setDates(row, at, seen, row.slug === slug && earns ? sale.hold : null);
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
