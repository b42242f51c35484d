import { emailKey } from "./email.ts";
import type { AttributionFact, CarriedRef, Fact, PaymentFact, RefPlace } from "./fact.ts";
import { REF_PLACES } from "./fact.ts";
import { slugKey } from "./partner.ts";
import { ATTRIBUTION_SLACK_MS, compare, spokenFirst, type PaymentState } from "./payment-state.ts";

/** What a reference was remembered for, the nearest first; `email` is an import's, for the customer's address. */
const REMEMBERED = ["subscription", "customer", "email"] as const;
type Remembered = (typeof REMEMBERED)[number];

/** Where a reference came from; `payment` is the payment itself, where a fact of an earlier version says no more. */
export const CANDIDATE_SOURCES = [
  ...REF_PLACES,
  "payment",
  ...REMEMBERED.map((of) => `remembered_${of}` as const),
] as const;
export type CandidateSource = RefPlace | "payment" | `remembered_${Remembered}`;

/** One reference that a payment was tried with. */
export interface Candidate {
  ref: string;
  source: CandidateSource;
  /** The partner that it leads to; null where it leads to nobody. */
  partner_id: string | null;
}

export interface ChosenReference<Partner> {
  ref: string | null;
  /** Where it came from, in short: the payment itself, or what it was remembered for. */
  ref_source: "payment" | Remembered | null;
  partner: Partner | null;
  /** In the order in which they were tried. */
  candidates: Candidate[];
}

/**
 * All references that a payment carries are candidates (REF-1), last the remembered one. The first that leads to a partner of
 * the program counts. One that leads to nobody is named in the trace, hides no other and is never remembered
 * (REF-2). Where none leads to a partner, the first that the payment carries is named.
 */
export function chooseReference<Partner extends { id: string }>(
  facts: readonly Fact[],
  state: PaymentState,
  attribution: "first" | "last",
  partnerByRef: (ref: string) => Partner | null,
): ChosenReference<Partner> {
  const tried = ({ ref, source }: Omit<Candidate, "partner_id">) => ({ ref, source, partner: partnerByRef(ref) });
  const own = carriedOf(facts).map(({ ref, place }) => tried({ ref, source: place }));
  const known = own.find(({ partner }) => partner !== null);
  const remembered = known ? null : rememberedFor(facts, state, attribution, (ref) => partnerByRef(ref) !== null);
  const last = remembered && tried({ ref: remembered.ref, source: `remembered_${remembered.of}` });
  const chosen = known ?? last ?? own[0];
  return {
    ref: chosen?.ref ?? null,
    ref_source: remembered?.of ?? (chosen ? "payment" : null),
    partner: chosen?.partner ?? null,
    candidates: [...own, ...(last ? [last] : [])].map(({ partner, ...rest }) => ({
      ...rest,
      partner_id: partner?.id ?? null,
    })),
  };
}

/** What the facts of one payment carry, each slug once: by its place, then in the order of the facts. */
function carriedOf(facts: readonly Fact[]): { ref: string; place: RefPlace | "payment" }[] {
  return eachSlugOnce(
    spokenFirst(facts)
      .flatMap(refsOf)
      .toSorted((a, b) => rank(a.place) - rank(b.place)),
  );
}

/** Of references that are the same slug only the first. */
export function eachSlugOnce<T extends { ref: string }>(refs: readonly T[]): T[] {
  const seen = new Set<string>();
  return refs.filter(({ ref }) => seen.size < seen.add(slugKey(ref)).size);
}

/** All that a fact carries: what erasure put in comes last, and a fact of an earlier version has no other. */
function refsOf({ ref, refs = [] }: PaymentFact): (CarriedRef | { ref: string; place: "payment" })[] {
  if (ref === null || refs.some((carried) => carried.ref === ref)) return refs;
  return [...refs, { ref, place: "payment" }];
}

function rank(place: RefPlace | "payment"): number {
  return place === "payment" ? REF_PLACES.length : REF_PLACES.indexOf(place);
}

/** The reference that serves a payment which carries none of a partner's: of what was said by its time, never of nobody's. */
function rememberedFor(
  facts: readonly Fact[],
  { occurred_at, subscription_id, customer_id, customer_email }: PaymentState,
  attribution: "first" | "last",
  leads: (ref: string) => boolean,
): { ref: string; of: Remembered } | null {
  const paidAt = Date.parse(occurred_at);
  const said = facts
    .filter((fact): fact is AttributionFact => fact.kind === "attribution" && leads(fact.ref))
    .filter((fact) => Date.parse(fact.occurred_at) <= (fact.imported ? paidAt : paidAt + ATTRIBUTION_SLACK_MS))
    .toSorted(
      (a, b) =>
        compare(a.occurred_at, b.occurred_at) ||
        Number(a.imported ?? false) - Number(b.imported ?? false) ||
        compare(slugKey(a.ref), slugKey(b.ref)),
    );
  const isAbout: Record<Remembered, (fact: AttributionFact) => boolean> = {
    subscription: (fact) => subscription_id !== null && fact.subscription_id === subscription_id,
    customer: (fact) => customer_id !== null && fact.customer_id === customer_id,
    email: (fact) => customer_email !== null && fact.customer_email === emailKey(customer_email),
  };
  for (const of of REMEMBERED) {
    const among = said.filter(isAbout[of]);
    // An imported one never takes a customer from the partner a vendor named before it, nor from one named later where
    // the last counts.
    const pick = attribution === "first" ? among[0] : (among.findLast((fact) => !fact.imported) ?? among[0]);
    if (pick) return { ref: pick.ref, of };
  }
  return null;
}
