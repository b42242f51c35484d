import { codeKey, codesOf, type Codes, type HeldCode, type TriedCode } from "./code.ts";
import type { RefKind } from "./condition.ts";
import { emailKey } from "./email.ts";
import type { AttributionFact, CarriedRef, CodeUseFact, EarningFact, Fact, RefPlace } from "./fact.ts";
import { REF_PLACES } from "./fact.ts";
import { slugKey } from "./partner.ts";
import { ATTRIBUTION_SLACK_MS, compare, mostReliableFirst, type PaymentState } from "./payment-state.ts";
import type { ProgramRules } from "./rules.ts";

/** The key of a stored reference, the nearest first; `email` is the customer's address in an import. */
const STORED_FOR = ["subscription", "customer", "email"] as const;
type StoredFor = (typeof STORED_FOR)[number];

/** The source of a reference; `payment` is one that an erasure inserted (`core/customers/erase.ts`). */
export const CANDIDATE_SOURCES = [
  ...REF_PLACES,
  "promotion_code",
  "payment",
  ...STORED_FOR.map((of) => `remembered_${of}` as const),
  "code_given_later",
] as const;
export type CandidateSource = RefPlace | "promotion_code" | "payment" | `remembered_${StoredFor}` | "code_given_later";

/** One reference that a payment was tried with. */
export interface Candidate {
  ref: string;
  source: CandidateSource;
  /** Its partner; null if it leads to no partner. */
  partner_id: string | null;
}

/** The short source of a reference: the payment itself, its promotion code, or a stored reference. */
export const REF_SOURCES = ["payment", "code", ...STORED_FOR] as const;
export type RefSource = (typeof REF_SOURCES)[number];

/** How a chosen reference came to the payment, as conditions of flows compare it (FLOW-4). */
function kindOf({ of, fact }: Pick<Tried<unknown>, "of" | "fact">, isReported: boolean): RefKind {
  if (of === "payment") return isReported ? "api" : "link";
  if (of === "code") return "code";
  if (fact && isGranted(fact)) return "manual";
  return fact && isImported(fact) ? "import" : "remembered";
}

export interface ChosenReference<Partner> {
  /** A promotion code's name, else its id at the vendor. */
  ref: string | null;
  ref_source: RefSource | null;
  ref_kind?: RefKind;
  /** The id of the partner's promotion code, if a code led to the partner. */
  code_id?: string;
  partner: Partner | null;
  /** Sorted as they were tried. */
  candidates: Candidate[];
}

/** Finds the partners of references and codes. */
export interface Leads<Partner> {
  byRef: (ref: string) => Partner | null;
  /** Only of a reference that the payment itself carries. */
  byOwnRef: (ref: string) => Partner | null;
  byId: (id: string) => Partner | null;
  codes: Codes;
}

/** The parts of a payment that stored references match. */
type Served = Pick<PaymentState, "event" | "occurred_at" | "subscription_id" | "customer_id" | "customer_email">;

/** A candidate and its partner. */
interface Tried<Partner> {
  ref: string;
  source: CandidateSource;
  of: RefSource;
  partner: Partner | null;
  /** The code that leads to the partner. */
  held?: HeldCode;
  /** The report that a stored reference comes from. */
  fact?: AttributionFact | CodeUseFact;
}

/**
 * Chooses the reference of a payment. Candidates are all references that it carries (REF-1), then its promotion codes
 * (CODE-1), then the stored reference. The first that leads to a partner of the program counts. One that leads to no
 * partner appears in the trace, does not hide others and is never stored (REF-2). A code given to a partner only after
 * the payment decides if no other candidate does (CODE-3). If none leads to a partner, the first that the payment
 * carries is reported. `granted` are the partners whose claim of this payment was granted. `isReported`: the
 * owner's server reported the payment.
 */
export function chooseReference<Partner extends { id: string }>(
  facts: readonly Fact[],
  state: Served,
  { attribution, code_precedence }: Pick<ProgramRules, "attribution" | "code_precedence">,
  leads: Leads<Partner>,
  granted: readonly string[],
  isReported: boolean,
): ChosenReference<Partner> {
  const refs = carriedReferences(facts).map(({ ref, place }): Tried<Partner> => {
    return { ref, source: place, of: "payment", partner: leads.byOwnRef(ref) };
  });
  const codes = ownCodes(facts, state, leads);
  const inTime = codes.map((code) => (isInTime(code, state) ? code : { ...code, partner: null }));
  const own = code_precedence === "code" ? [...inTime, ...refs] : [...refs, ...inTime];
  const known = own.find(({ partner }) => partner !== null);
  // A lead earns by its own reference: it binds the customer again.
  const stored =
    known || state.event === "lead_created"
      ? []
      : listStoredReferences(facts, state, leads, { code_precedence, granted });
  const remembered = chooseStored(
    stored.filter((one) => isInTime(one, state)),
    attribution,
  );
  const later = known || remembered ? undefined : firstLaterCode([...codes, ...stored]);
  const last = remembered ?? later;
  const chosen = known ?? last ?? own[0];
  return {
    ref: chosen?.ref ?? null,
    ref_source: chosen?.of ?? null,
    ...(chosen?.partner ? { ref_kind: kindOf(chosen, isReported) } : {}),
    ...(chosen?.partner && chosen.held ? { code_id: chosen.held.id } : {}),
    partner: chosen?.partner ?? null,
    candidates: [...own, ...(last ? [last] : [])].map(({ ref, source, partner }) => ({
      ref,
      source,
      partner_id: partner?.id ?? null,
    })),
  };
}

/** False only for a code that was given to its partner after the payment. */
function isInTime({ held }: Pick<Tried<unknown>, "held">, { occurred_at }: Served): boolean {
  return held === undefined || held.created_at <= occurred_at;
}

/** The code given to a partner first, among those given after the payment; later changes have no effect. */
function firstLaterCode<Partner>(tried: readonly Tried<Partner>[]): Tried<Partner> | undefined {
  const given = tried.filter(({ held, partner }) => held !== undefined && partner !== null);
  const [first] = given.toSorted((a, b) => compare(a.held!.created_at, b.held!.created_at));
  return first && { ...first, source: first.of === "code" ? "code_given_later" : first.source };
}

/** A payment's codes in order, each once; a renewal's have the partner of the subscription's first use. */
function ownCodes<Partner>(facts: readonly Fact[], state: Served, leads: Leads<Partner>): Tried<Partner>[] {
  const { occurred_at: at } = state;
  const carried = mostReliableFirst(facts).flatMap((fact) => {
    const { codes = [] } = fact.kind === "payment" ? fact : {};
    return codesOf({ codes, said_at: fact.occurred_at, at }, leads.codes);
  });
  const each = [...new Map(carried.toReversed().map((code) => [codeKey(code.text), code])).values()].toReversed();
  const used = firstUses(facts, state, leads);
  return each.map((code) => {
    const { text, held } = used.get(codeKey(code.text)) ?? code;
    return {
      ...{ ref: text, source: "promotion_code", of: "code" },
      ...{ partner: held && leads.byId(held.partner_id), ...(held ? { held } : {}) },
    };
  });
}

/** The codes that the payment's subscription had used by then, each as of its first use. */
function firstUses<Partner>(
  facts: readonly Fact[],
  { subscription_id, occurred_at: at }: Served,
  leads: Leads<Partner>,
): Map<string, TriedCode> {
  const uses = facts.filter(
    (fact): fact is CodeUseFact =>
      fact.kind === "code_use" &&
      subscription_id !== null &&
      fact.subscription_id === subscription_id &&
      fact.occurred_at <= at,
  );
  const newestFirst = uses.toSorted(
    (a, b) => compare(b.occurred_at, a.occurred_at) || compare(JSON.stringify(b), JSON.stringify(a)),
  );
  const codes = newestFirst.flatMap(({ codes: ids, occurred_at }) =>
    codesOf({ codes: ids, said_at: occurred_at, at: occurred_at }, leads.codes),
  );
  return new Map(codes.map((code) => [codeKey(code.text), code]));
}

/** References in the facts of one payment, each slug once: by place, then in the order of the facts. */
function carriedReferences(facts: readonly Fact[]): { ref: string; place: RefPlace | "payment" }[] {
  return eachSlugOnce(
    mostReliableFirst(facts)
      .flatMap(refsOf)
      .toSorted((a, b) => rank(a.place) - rank(b.place)),
  );
}

/** Places and times at which the facts of one payment carry a reference, the earliest first. */
export function findReference(
  facts: readonly Fact[],
  ref: string,
): { place: RefPlace | "payment"; occurred_at: string }[] {
  const found = mostReliableFirst(facts).flatMap((fact) =>
    refsOf(fact).map((carried) => ({ ...carried, occurred_at: fact.occurred_at })),
  );
  const same = found.filter((one) => slugKey(one.ref) === slugKey(ref));
  return same.toSorted((a, b) => compare(a.occurred_at, b.occurred_at));
}

/** Removes repeated slugs, keeping the first. */
export function eachSlugOnce<T extends { ref: string }>(refs: readonly T[]): T[] {
  const seen = new Set<string>();
  return refs.filter(({ ref }) => seen.size < seen.add(slugKey(ref)).size);
}

/** Every reference of a fact; one inserted by an erasure comes last. */
function refsOf({ ref, refs }: EarningFact): (CarriedRef | { ref: string; place: "payment" })[] {
  if (ref === null || refs.some((carried) => carried.ref === ref)) return refs;
  return [...refs, { ref, place: "payment" }];
}

function rank(place: RefPlace | "payment"): number {
  return place === "payment" ? REF_PLACES.length : REF_PLACES.indexOf(place);
}

/** A stored reference of a customer or subscription. */
interface StoredReference<Partner> extends Tried<Partner> {
  of: StoredFor;
  fact: AttributionFact | CodeUseFact;
}

/**
 * Stored references and codes for a payment that carries no partner's: those reported for its subscription and customer
 * by its time that lead to a partner, the earliest first, without mere repetitions. Of a reference and a code from one
 * sale the weaker is left out.
 */
function listStoredReferences<Partner extends { id: string }>(
  facts: readonly Fact[],
  { occurred_at, subscription_id, customer_id, customer_email }: Served,
  leads: Leads<Partner>,
  { code_precedence, granted }: Pick<ProgramRules, "code_precedence"> & { granted: readonly string[] },
): StoredReference<Partner>[] {
  const paidAt = Date.parse(occurred_at);
  const about: Record<StoredFor, (fact: AttributionFact | CodeUseFact) => boolean> = {
    subscription: (fact) => subscription_id !== null && fact.subscription_id === subscription_id,
    customer: (fact) => customer_id !== null && fact.customer_id === customer_id,
    email: (fact) =>
      fact.kind === "attribution" && customer_email !== null && fact.customer_email === emailKey(customer_email),
  };
  const stored = facts.flatMap((fact): Omit<StoredReference<Partner>, "of" | "source">[] => {
    if (fact.kind !== "attribution" && fact.kind !== "code_use") return [];
    const isLate = Date.parse(fact.occurred_at) > (isImported(fact) ? paidAt : paidAt + ATTRIBUTION_SLACK_MS);
    if (isLate && !isGranted(fact)) return [];
    const led = fact.kind === "attribution" ? { ref: fact.ref, partner: leads.byRef(fact.ref) } : usedCode(fact, leads);
    // A granted claim applies to this payment, whenever the payment turns out to have been made.
    return led.partner === null || (isLate && !granted.includes(led.partner.id)) ? [] : [{ ...led, fact }];
  });
  const weak = code_precedence === "code" ? "attribution" : "code_use";
  const strong = stored.filter(({ fact }) => fact.kind !== weak);
  const isOfOneSale = salesIn(stored.map(({ fact }) => fact));
  const isWeaker = ({ fact, held }: (typeof stored)[number]) =>
    fact.kind === weak &&
    strong.some(
      (other) =>
        isOfOneSale(other.fact, fact) &&
        (other.held === undefined || (held === undefined && other.held.created_at <= occurred_at)),
    );
  const ordered = stored.toSorted(
    (a, b) =>
      compare(a.fact.occurred_at, b.fact.occurred_at) ||
      Number(isImported(a.fact)) - Number(isImported(b.fact)) ||
      compare(slugKey(a.ref), slugKey(b.ref)),
  );
  return STORED_FOR.flatMap((of) =>
    withoutRepeats(ordered.filter(({ fact }) => about[of](fact)))
      .filter((one) => !isWeaker(one))
      .map((one) => ({ ...one, of, source: `remembered_${of}` as const })),
  );
}

/**
 * Removes repeats of a customer's or subscription's last slug: changes and renewals repeat it without a new referral.
 */
function withoutRepeats<One extends { ref: string; fact: AttributionFact | CodeUseFact }>(
  stored: readonly One[],
): One[] {
  const last = new Map<string, string>();
  return stored.filter(({ ref, fact }) => {
    if (fact.kind === "code_use" || fact.kept_by === undefined) return true;
    const { kept_by, subscription_id, customer_id } = fact;
    const keeper = `${kept_by}:${kept_by === "subscription" ? subscription_id : customer_id}`;
    const isRepeat = last.get(keeper) === slugKey(ref);
    last.set(keeper, slugKey(ref));
    return !isRepeat;
  });
}

/**
 * Whether two reports are of one sale: they name one payment or else, if one lacks it, one subscription within the slack.
 */
function salesIn(facts: readonly (AttributionFact | CodeUseFact)[]) {
  const named = new Map<string, ReadonlySet<string>>();
  for (const { payment = [] } of facts) {
    const together = new Set(payment.flatMap((id) => [...(named.get(id) ?? [id])]));
    for (const id of together) named.set(id, together);
  }
  return (a: AttributionFact | CodeUseFact, b: AttributionFact | CodeUseFact): boolean => {
    if (!isOfSale(a) || !isOfSale(b)) return false;
    const [one, other] = [a.payment?.[0], b.payment?.[0]];
    if (one !== undefined && other !== undefined) return named.get(one) === named.get(other);
    if (a.subscription_id === null || a.subscription_id !== b.subscription_id) return false;
    return Math.abs(Date.parse(a.occurred_at) - Date.parse(b.occurred_at)) <= ATTRIBUTION_SLACK_MS;
  };
}

/** Imports, leads and claims are not part of a sale. */
function isOfSale(fact: AttributionFact | CodeUseFact): boolean {
  return fact.kind === "code_use" || !(fact.imported || fact.granted || fact.any_provider);
}

/** The partner of a sale's codes at its time: that of the first code with a holder. */
function usedCode<Partner>(
  fact: CodeUseFact,
  leads: Leads<Partner>,
): Pick<StoredReference<Partner>, "ref" | "partner" | "held"> {
  const { codes, occurred_at } = fact;
  const tried = codesOf({ codes, said_at: occurred_at, at: occurred_at }, leads.codes);
  const used =
    tried.find(({ held }) => held !== null && held.created_at <= occurred_at) ??
    tried.filter(({ held }) => held !== null).toSorted((a, b) => compare(a.held!.created_at, b.held!.created_at))[0];
  if (!used?.held) return { ref: "", partner: null };
  return { ref: used.text, partner: leads.byId(used.held.partner_id), held: used.held };
}

function isGranted(fact: AttributionFact | CodeUseFact): boolean {
  return fact.kind === "attribution" && fact.granted === true;
}

function isImported(fact: AttributionFact | CodeUseFact): boolean {
  return fact.kind === "attribution" && fact.imported === true;
}

/** The stored reference that counts; a granted claim's only without another, as it takes no payment away. */
function chooseStored<Partner>(
  stored: readonly StoredReference<Partner>[],
  attribution: ProgramRules["attribution"],
): StoredReference<Partner> | undefined {
  return (
    nearestOf(
      stored.filter(({ fact }) => !isGranted(fact)),
      attribution,
    ) ?? nearestOf(stored, attribution)
  );
}

/** The earliest or newest report for the nearest key that has any. */
function nearestOf<Partner>(
  stored: readonly StoredReference<Partner>[],
  attribution: ProgramRules["attribution"],
): StoredReference<Partner> | undefined {
  for (const of of STORED_FOR) {
    const among = stored.filter((one) => one.of === of);
    // An import never takes a customer from a partner named before, nor from one named later if the last counts.
    const newest = among.findLast(({ fact }) => !isImported(fact)) ?? among[0];
    const pick = attribution === "first" ? among[0] : newest;
    if (pick) return pick;
  }
  return undefined;
}
