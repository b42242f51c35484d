import { codeKey, codesOf, type Codes, type HeldCode, type TriedCode } from "./code.ts";
import { emailKey } from "./email.ts";
import type { AttributionFact, CarriedRef, CodeUseFact, EarningFact, Fact, RefPlace } from "./fact.ts";
import { REF_PLACES } from "./fact.ts";
import { slugKey } from "./partner.ts";
import { ATTRIBUTION_SLACK_MS, compare, spokenFirst, type PaymentState } from "./payment-state.ts";
import type { ProgramRules } from "./rules.ts";

/** What a reference was remembered for, the nearest first; `email` is an import's, for the customer's address. */
const REMEMBERED = ["subscription", "customer", "email"] as const;
type Remembered = (typeof REMEMBERED)[number];

/** Where a reference came from; `payment` is one that an erasure put in (`core/customers/erase.ts`). */
export const CANDIDATE_SOURCES = [
  ...REF_PLACES,
  "promotion_code",
  "payment",
  ...REMEMBERED.map((of) => `remembered_${of}` as const),
  "code_given_later",
] as const;
export type CandidateSource = RefPlace | "promotion_code" | "payment" | `remembered_${Remembered}` | "code_given_later";

/** One reference that a payment was tried with. */
export interface Candidate {
  ref: string;
  source: CandidateSource;
  /** The partner that it leads to; null where it leads to nobody. */
  partner_id: string | null;
}

/** Where a reference came from, in short: the payment itself, its promotion code, or what it was remembered for. */
export const REF_SOURCES = ["payment", "code", ...REMEMBERED] as const;
export type RefSource = (typeof REF_SOURCES)[number];

export interface ChosenReference<Partner> {
  /** Of a promotion code its name, else its id at the vendor. */
  ref: string | null;
  ref_source: RefSource | null;
  /** The id of the partner's promotion code, where one led to the partner. */
  code_id?: string;
  partner: Partner | null;
  /** In the order in which they were tried. */
  candidates: Candidate[];
}

/** Where references and codes lead. */
export interface Leads<Partner> {
  byRef: (ref: string) => Partner | null;
  /** Of a reference that the payment itself carries. */
  byOwnRef: (ref: string) => Partner | null;
  byId: (id: string) => Partner | null;
  codes: Codes;
}

/** What a payment is served by. */
type Served = Pick<PaymentState, "event" | "occurred_at" | "subscription_id" | "customer_id" | "customer_email">;

/** One candidate, and where it leads. */
interface Tried<Partner> {
  ref: string;
  source: CandidateSource;
  of: RefSource;
  partner: Partner | null;
  /** The code by which it does. */
  held?: HeldCode;
}

/**
 * All references that a payment carries are candidates (REF-1), then its promotion codes (CODE-1), last the remembered one. The
 * first that leads to a partner of the program counts. One that leads to nobody is named in the trace, hides no other and is
 * never remembered (REF-2). A code that was given to a partner only after the payment decides it where nothing else
 * does (CODE-3). Where none leads to a partner, the first that the payment carries is named. `granted` are the partners whose
 * claim of this payment was granted.
 */
export function chooseReference<Partner extends { id: string }>(
  facts: readonly Fact[],
  state: Served,
  { attribution, code_precedence }: Pick<ProgramRules, "attribution" | "code_precedence">,
  leads: Leads<Partner>,
  granted: readonly string[],
): ChosenReference<Partner> {
  const refs = carriedOf(facts).map(({ ref, place }): Tried<Partner> => {
    return { ref, source: place, of: "payment", partner: leads.byOwnRef(ref) };
  });
  const codes = ownCodes(facts, state, leads);
  const inTime = codes.map((code) => (isInTime(code, state) ? code : { ...code, partner: null }));
  const own = code_precedence === "code" ? [...inTime, ...refs] : [...refs, ...inTime];
  const known = own.find(({ partner }) => partner !== null);
  // A lead earns by its own reference: what it binds the customer by is not asked whose the customer was.
  const said = known || state.event === "lead_created" ? [] : saidBy(facts, state, leads, { code_precedence, granted });
  const remembered = rememberedOf(
    said.filter((one) => isInTime(one, state)),
    attribution,
  );
  const later = known || remembered ? undefined : firstGiven([...codes, ...said]);
  const last = remembered ?? later;
  const chosen = known ?? last ?? own[0];
  return {
    ref: chosen?.ref ?? null,
    ref_source: chosen?.of ?? null,
    ...(chosen?.partner && chosen.held ? { code_id: chosen.held.id } : {}),
    partner: chosen?.partner ?? null,
    candidates: [...own, ...(last ? [last] : [])].map(({ ref, source, partner }) => ({
      ref,
      source,
      partner_id: partner?.id ?? null,
    })),
  };
}

/** True for all but a code that was given to its partner after the payment. */
function isInTime({ held }: Pick<Tried<unknown>, "held">, { occurred_at }: Served): boolean {
  return held === undefined || held.created_at <= occurred_at;
}

/** The code that was the first to be given to a partner, of those given after the payment: whatever comes later changes nothing. */
function firstGiven<Partner>(tried: readonly Tried<Partner>[]): Tried<Partner> | undefined {
  const given = tried.filter(({ held, partner }) => held !== undefined && partner !== null);
  const [first] = given.toSorted((a, b) => compare(a.held!.created_at, b.held!.created_at));
  return first && { ...first, source: first.of === "code" ? "code_given_later" : first.source };
}

/** The codes of a payment, in their order, each once; of a renewal each as it led when the subscription used it first. */
function ownCodes<Partner>(facts: readonly Fact[], state: Served, leads: Leads<Partner>): Tried<Partner>[] {
  const { occurred_at: at } = state;
  const carried = spokenFirst(facts).flatMap((fact) => {
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

/** What the subscription of a payment used by then, each code as it led at its first use. */
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

/** What the facts of one payment carry, each slug once: by its place, then in the order of the facts. */
function carriedOf(facts: readonly Fact[]): { ref: string; place: RefPlace | "payment" }[] {
  return eachSlugOnce(
    spokenFirst(facts)
      .flatMap(refsOf)
      .toSorted((a, b) => rank(a.place) - rank(b.place)),
  );
}

/** Where, and when, the facts of one payment say a reference, the earliest first. */
export function saidIn(facts: readonly Fact[], ref: string): { place: RefPlace | "payment"; occurred_at: string }[] {
  const said = spokenFirst(facts).flatMap((fact) =>
    refsOf(fact).map((carried) => ({ ...carried, occurred_at: fact.occurred_at })),
  );
  const same = said.filter((one) => slugKey(one.ref) === slugKey(ref));
  return same.toSorted((a, b) => compare(a.occurred_at, b.occurred_at));
}

/** Of references that are the same slug only the first. */
export function eachSlugOnce<T extends { ref: string }>(refs: readonly T[]): T[] {
  const seen = new Set<string>();
  return refs.filter(({ ref }) => seen.size < seen.add(slugKey(ref)).size);
}

/** All that a fact carries; what an erasure put in comes last. */
function refsOf({ ref, refs }: EarningFact): (CarriedRef | { ref: string; place: "payment" })[] {
  if (ref === null || refs.some((carried) => carried.ref === ref)) return refs;
  return [...refs, { ref, place: "payment" }];
}

function rank(place: RefPlace | "payment"): number {
  return place === "payment" ? REF_PLACES.length : REF_PLACES.indexOf(place);
}

/** What was said of whose a customer or subscription is. */
interface Said<Partner> extends Tried<Partner> {
  of: Remembered;
  fact: AttributionFact | CodeUseFact;
}

/**
 * References and codes that can serve a payment which carries none of a partner's: what was said of its subscription and
 * customer by its time, never of nobody's, the earliest first, without what is merely repeated. Of a reference and a code of
 * one sale the weaker is left out.
 */
function saidBy<Partner extends { id: string }>(
  facts: readonly Fact[],
  { occurred_at, subscription_id, customer_id, customer_email }: Served,
  leads: Leads<Partner>,
  { code_precedence, granted }: Pick<ProgramRules, "code_precedence"> & { granted: readonly string[] },
): Said<Partner>[] {
  const paidAt = Date.parse(occurred_at);
  const about: Record<Remembered, (fact: AttributionFact | CodeUseFact) => boolean> = {
    subscription: (fact) => subscription_id !== null && fact.subscription_id === subscription_id,
    customer: (fact) => customer_id !== null && fact.customer_id === customer_id,
    email: (fact) =>
      fact.kind === "attribution" && customer_email !== null && fact.customer_email === emailKey(customer_email),
  };
  const said = facts.flatMap((fact): Omit<Said<Partner>, "of" | "source">[] => {
    if (fact.kind !== "attribution" && fact.kind !== "code_use") return [];
    const isLate = Date.parse(fact.occurred_at) > (isImported(fact) ? paidAt : paidAt + ATTRIBUTION_SLACK_MS);
    if (isLate && !isGranted(fact)) return [];
    const led = fact.kind === "attribution" ? { ref: fact.ref, partner: leads.byRef(fact.ref) } : usedCode(fact, leads);
    // A claim is granted of this payment, whenever it turns out to have been made.
    return led.partner === null || (isLate && !granted.includes(led.partner.id)) ? [] : [{ ...led, fact }];
  });
  const weak = code_precedence === "code" ? "attribution" : "code_use";
  const strong = said.filter(({ fact }) => fact.kind !== weak);
  const isOfOneSale = salesIn(said.map(({ fact }) => fact));
  const isWeaker = ({ fact, held }: (typeof said)[number]) =>
    fact.kind === weak &&
    strong.some(
      (other) =>
        isOfOneSale(other.fact, fact) &&
        (other.held === undefined || (held === undefined && other.held.created_at <= occurred_at)),
    );
  const ordered = said.toSorted(
    (a, b) =>
      compare(a.fact.occurred_at, b.fact.occurred_at) ||
      Number(isImported(a.fact)) - Number(isImported(b.fact)) ||
      compare(slugKey(a.ref), slugKey(b.ref)),
  );
  return REMEMBERED.flatMap((of) =>
    withoutRepeats(ordered.filter(({ fact }) => about[of](fact)))
      .filter((one) => !isWeaker(one))
      .map((one) => ({ ...one, of, source: `remembered_${of}` as const })),
  );
}

/**
 * What was said, in order, without what a customer or a subscription said again: the slug that it had said last. A
 * change of its address or its plan, and each renewal, repeats it, and is no word about whose the customer is.
 */
function withoutRepeats<One extends { ref: string; fact: AttributionFact | CodeUseFact }>(said: readonly One[]): One[] {
  const last = new Map<string, string>();
  return said.filter(({ ref, fact }) => {
    if (fact.kind === "code_use" || fact.kept_by === undefined) return true;
    const { kept_by, subscription_id, customer_id } = fact;
    const keeper = `${kept_by}:${kept_by === "subscription" ? subscription_id : customer_id}`;
    const isRepeat = last.get(keeper) === slugKey(ref);
    last.set(keeper, slugKey(ref));
    return !isRepeat;
  });
}

/**
 * Whether two things were said at one sale, of which the vendor may make several events: by one payment, whatever their
 * times; or, if one names none, of one subscription, within the slack.
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

/** Not what an import, a lead or a claim says: these are of no sale. */
function isOfSale(fact: AttributionFact | CodeUseFact): boolean {
  return fact.kind === "code_use" || !(fact.imported || fact.granted || fact.any_provider);
}

/** Where the codes of a sale led at its time, the first that did. */
function usedCode<Partner>(fact: CodeUseFact, leads: Leads<Partner>): Pick<Said<Partner>, "ref" | "partner" | "held"> {
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

/** The one that counts; what a claim was granted by only where nothing else was said: it takes no payment from anybody. */
function rememberedOf<Partner>(
  said: readonly Said<Partner>[],
  attribution: ProgramRules["attribution"],
): Said<Partner> | undefined {
  return (
    nearestOf(
      said.filter(({ fact }) => !isGranted(fact)),
      attribution,
    ) ?? nearestOf(said, attribution)
  );
}

/** Of the nearest that anything was said of, the earliest or the newest. */
function nearestOf<Partner>(
  said: readonly Said<Partner>[],
  attribution: ProgramRules["attribution"],
): Said<Partner> | undefined {
  for (const of of REMEMBERED) {
    const among = said.filter((one) => one.of === of);
    // An imported one never takes a customer from the partner a vendor named before it, nor from one named later where
    // the last counts.
    const newest = among.findLast(({ fact }) => !isImported(fact)) ?? among[0];
    const pick = attribution === "first" ? among[0] : newest;
    if (pick) return pick;
  }
  return undefined;
}
