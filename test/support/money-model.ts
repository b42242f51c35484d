/**
 * The expected earnings of a program, from the true story: written from the specification and the vendors'
 * documentation, without the code under test. Amounts are in smallest units of the currency.
 */

import { share } from "./money-share.ts";
import { PLACES, type Said, type Truth } from "./money-truth.ts";
import { TEST_VENDORS } from "./vendors/index.ts";

export interface ModelPartner {
  slug: string;
  status: "active" | "invited" | "deactivated";
  /** Percent, at most four decimals. */
  commission_pct: number | null;
  /** The slug of the group; `default` unless given. */
  group?: string;
}

export interface ModelGroup {
  slug: string;
  commission_pct: number | null;
}

export interface ModelFlow {
  action_type: "percentage" | "flat";
  action_value: number;
  priority: number;
  /** The lower limit, net (exclusive). */
  above: number;
  provider: Truth["provider"] | null;
  /** Conditions of some flows only: the group's slug, and the seconds from which and before which payments count. */
  group?: string | null;
  from?: number | null;
  until?: number | null;
}

/** The time from which a code belongs to a partner, until it is given to the next (seconds). */
export interface ModelCode {
  provider: Truth["provider"];
  code: string;
  slug: string;
  since: number;
}

export interface ModelProgram {
  /** All assignments, in the order of their times; empty unless given. */
  codes?: readonly ModelCode[];
  /** Links unless given. */
  code_precedence?: "link" | "code";
  partners: ModelPartner[];
  /** Without rates unless given. */
  groups?: readonly ModelGroup[];
  flows: ModelFlow[];
  default_pct: number;
  attribution: "first" | "last";
}

export interface Expected {
  outcome: string;
  partner: string | null;
  /** Null if the payment never earned, unlike 0: all of it went back. */
  amount: number | null;
  /** The gravest reason why a person should look. */
  reason: string | null;
  /** The promotion code that decided the partner, and the net amount that remains. */
  code: string | null;
  revenue: number;
}

/** The identity of the payment that an identity is of. */
export function keyOf(truths: readonly Pick<Truth, "key" | "also">[]): (key: string) => string {
  const keys = new Map(truths.flatMap(({ key, also }) => (also === undefined ? [] : [[also, key] as const])));
  return (key) => keys.get(key) ?? key;
}

/** The expected result of each payment, by the program as it was when the payment was made (PAY-16). */
export function expectedOf(programAt: (at: number) => ModelProgram, truths: readonly Truth[], said: readonly Said[]) {
  return new Map(truths.map((truth) => [truth.key, expectedFor(programAt(truth.at), truth, said)]));
}

function expectedFor(program: ModelProgram, truth: Truth, said: readonly Said[]): Expected {
  const chosen = referenceOf(program, truth, said);
  const partner = chosen === null || chosen.isCode ? null : partnerOf(program, chosen.slug);
  const net = netOf(truth);
  const none = { partner: partner?.slug ?? null, amount: null, reason: null, code: null, revenue: 0 };
  if (!truth.paid) return { ...none, outcome: "unpaid" };
  if (net === 0) return { ...none, outcome: "zero_amount" };
  if (chosen === null) return { ...none, outcome: "no_ref" };
  if (!partner) return { ...none, outcome: chosen.isCode ? "unknown_code" : "unknown_ref" };
  if (partner.status === "deactivated") return { ...none, outcome: "partner_deactivated" };
  if (partner.status === "invited") return { ...none, outcome: "partner_not_active" };
  const gone = Math.min(truth.net_back ?? share(Math.min(truth.back, truth.charged), net, truth.charged), net);
  return {
    outcome: "commission",
    partner: partner.slug,
    amount: earned(program, partner, truth, net, net - gone),
    reason: reasonOf(truth, partner, net, gone),
    code: chosen.code,
    revenue: net - gone,
  };
}

/** The charged amount, net of tax (PAY-1): if credit paid a part, the tax counts in proportion. */
function netOf(truth: Truth): number {
  if (truth.charged <= 0 || truth.total <= 0) return 0;
  // The owner's server reports amounts without tax.
  return truth.provider === "api" ? truth.charged : TEST_VENDORS[truth.provider].netOf(truth);
}

/** The partner of a reference, and since when: a code may be given to a partner after it was used. */
interface Lead {
  slug: string;
  since: number;
  /** The code, of one. */
  code: string | null;
}

interface Chosen extends Pick<Lead, "slug" | "code"> {
  /** Whether it is an unassigned code. */
  isCode: boolean;
}

/**
 * The first reference that leads to a partner of the program counts; an unknown one does not hide another (REF-2). Codes
 * come after links or before them (CODE-1), then the remembered reference (REF-3), last a code that was given to a
 * partner only later (CODE-3).
 */
function referenceOf(program: ModelProgram, truth: Truth, said: readonly Said[]): Chosen | null {
  const { at, provider } = truth;
  const own = PLACES.flatMap((place) => truth.carried.filter((one) => one.place === place)).map(({ slug }) => slug);
  const codes = truth.codes.flatMap((code) => holderOf(program, provider, code, firstUse(truth, said, code)) ?? []);
  const slug = own.find((one) => partnerOf(program, one));
  const known = slug === undefined ? undefined : linkTo(slug);
  const code = codes.find(({ since }) => since <= at);
  const carried = program.code_precedence === "code" ? (code ?? known) : (known ?? code);
  if (carried) return { ...carried, isCode: false };
  const about = said.filter((one) => (one.provider === provider || one.lead) && one.chapter <= truth.chapter);
  const heard = (isAbout: (one: Said) => boolean) => {
    const ordered = about.filter(isAbout).toSorted((a, b) => a.at - b.at);
    return ordered.flatMap((one, i) => {
      const news = isAgain(program, one, ordered.slice(0, i)) ? { ...one, slugs: [] } : one;
      return leadOf(program, news, saleOf(one, about), at);
    });
  };
  const by = (field: "customer" | "subscription") =>
    heard((one) => truth[field] !== null && one[field] === truth[field]);
  const byAddress = heard(({ lead }) => truth.email !== null && lead?.email === truth.email);
  // References of the subscription come before references of its customer, and those of an address come last.
  const inTime = [by("subscription"), by("customer"), byAddress].map((leads) =>
    leads.filter(({ since }) => since <= at),
  );
  const remembered = inTime.find((leads) => leads.length > 0) ?? [];
  const counts = program.attribution === "first" ? remembered[0] : remembered.at(-1);
  const later = [...codes, ...by("subscription"), ...by("customer")].toSorted((a, b) => a.since - b.since)[0];
  const last = counts ?? later;
  if (last) return { ...last, isCode: false };
  const isCode = truth.codes.length > 0 && (own.length === 0 || program.code_precedence === "code");
  const nobodys = isCode ? truth.codes[0] : own[0];
  return nobodys === undefined ? null : { slug: nobodys, code: null, isCode };
}

/** Whether it repeats the last slug of the customer or the subscription (REF-4). */
function isAgain(program: ModelProgram, one: Said, before: readonly Said[]): boolean {
  const linkOf = ({ slugs }: Said) => slugs.find((slug) => partnerOf(program, slug))?.toLowerCase();
  const own = before.filter(({ keeper }) => keeper && keeper === one.keeper);
  const last = own.map(linkOf).findLast((slug) => slug !== undefined);
  return last !== undefined && last === linkOf(one);
}

const linkTo = (slug: string): Lead => ({ slug, since: 0, code: null });

/** When the code of a payment was first used: of a renewal by its subscription (CODE-3). */
function firstUse({ provider, subscription, at, chapter }: Truth, said: readonly Said[], code: string): number {
  const uses = said.filter(
    (one) =>
      subscription !== null &&
      one.provider === provider &&
      one.subscription === subscription &&
      one.chapter <= chapter &&
      one.codes.includes(code),
  );
  return Math.min(at, ...uses.map((one) => one.at));
}

/**
 * The references of the sale that one event reports: of its subscription within an hour, or of its payment, a chapter
 * (CODE-1).
 */
function saleOf(one: Said, said: readonly Said[]): Said[] {
  if (one.lead) return [one];
  return said.filter(
    (other) =>
      !other.lead &&
      other.subscription === one.subscription &&
      (one.subscription === null
        ? other.customer === one.customer && other.chapter === one.chapter
        : Math.abs(other.at - one.at) <= 3_600),
  );
}

/**
 * The partner of one event's references, for a payment: its link or its code, unless the other has precedence at its
 * sale; empty if both are unknown.
 */
function leadOf(
  program: ModelProgram,
  { slugs, codes, provider, at }: Said,
  sale: readonly Said[],
  paidAt: number,
): Lead[] {
  const linkOf = (one: Pick<Said, "slugs">) => one.slugs.find((slug) => partnerOf(program, slug));
  const codeOf = (one: Pick<Said, "codes" | "at">) =>
    one.codes.flatMap((code) => holderOf(program, provider, code, one.at) ?? [])[0] ?? null;
  const slug = linkOf({ slugs });
  const code = codeOf({ codes, at });
  const isLinked = sale.some((one) => linkOf(one) !== undefined);
  const isCoded = sale.map(codeOf).some((one) => one !== null && one.since <= paidAt);
  const byCode = program.code_precedence === "code";
  if (code !== null && (byCode ? code.since <= paidAt || !isLinked : !isLinked)) return [code];
  return slug !== undefined && !(byCode && isCoded) ? [linkTo(slug)] : [];
}

/** The partner who had a code at a time, or else the next one to get it. */
function holderOf({ codes = [] }: ModelProgram, provider: string, code: string, at: number): Lead | null {
  const own = codes.filter((one) => one.provider === provider && one.code === code);
  return own.findLast(({ since }) => since <= at) ?? own[0] ?? null;
}

function partnerOf(program: ModelProgram, slug: string): ModelPartner | undefined {
  return program.partners.find((partner) => partner.slug.toLowerCase() === slug.toLowerCase());
}

/**
 * The rule of the first flow that matches, the highest priority and then the oldest first; else the partner's rate, the
 * group's or the program's. All flows compare amounts, and so are for the program's currency.
 */
function earned(program: ModelProgram, partner: ModelPartner, truth: Truth, net: number, rest: number): number {
  const flow = program.flows
    .toSorted((a, b) => b.priority - a.priority)
    .filter(() => truth.currency.toUpperCase() === "USD")
    .filter(({ group = null }) => group === null || group === groupOf(partner))
    .filter(({ from, until }) => (from ?? 0) <= truth.at && truth.at < (until ?? Infinity))
    .find(({ above, provider }) => net > above && (provider === null || provider === truth.provider));
  if (flow?.action_type === "flat") return rest > 0 ? flow.action_value : 0;
  const group = program.groups?.find(({ slug }) => slug === groupOf(partner));
  const pct = flow?.action_value ?? partner.commission_pct ?? group?.commission_pct ?? program.default_pct;
  return share(rest, Math.round(pct * 10_000), 1_000_000);
}

const groupOf = ({ group = "default" }: ModelPartner) => group;

/** The gravest first: disputed, the partner's own purchase, more than half gone back, the subscription canceled. */
function reasonOf(truth: Truth, partner: ModelPartner, net: number, gone: number): string | null {
  if (truth.open) return "disputed";
  if (truth.email?.toLowerCase() === `${partner.slug.toLowerCase()}@partners.example`) return "self_referral";
  if (gone * 2 > net) return "mostly_refunded";
  return truth.canceled ? "subscription_canceled" : null;
}
