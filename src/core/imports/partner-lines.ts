import { codeKey, MAX_CODES } from "../../domain/code.ts";
import { emailKey } from "../../domain/email.ts";
import { COLUMN_OF, type BankDetails } from "../../domain/payout-details.ts";
import { slugKey, type PartnerStatus } from "../../domain/partner.ts";
import type { VendorName } from "../../domain/provider-name.ts";
import { SliceCounter } from "../../lib/slices.ts";
import { PARTNER_TEXTS, type PartnerText } from "../../resources/partner.ts";
import type { Partner } from "../kernel/rows.ts";
import { searchTextOf, type PartnerInput } from "../partners/partners.ts";

/** A line's fields of a partner, without the codes and the state. */
type LineInput = Omit<PartnerInput, "slug" | "metadata"> & {
  /** The bank account, checked. */
  bank?: BankDetails | null;
};

/** A promotion code of a provider. */
export interface GivenCode {
  provider: VendorName;
  code: string;
}

export interface PartnerLine {
  line: number;
  input: LineInput;
  /** The references in the partner's links. */
  codes: readonly string[];
  promotion_codes: readonly GivenCode[];
  /** The slug of a new partner's group; null for the default group. */
  group: string | null;
  /** The state of a new partner; null if the line has no state, `unread` if its state cannot be read. */
  status: PartnerStatus | "unread" | null;
}

/** The details that an import fills in if they are empty. */
const DETAILS: readonly Detail[] = [...PARTNER_TEXTS, "payout"];
type Detail = PartnerText | "payout";

/**
 * The result of a line. `new`: a new partner. `completed`: an existing partner gets missing details. `known`: all of it
 * is stored already. `refused`: it cannot be imported. `fills` are the details that come from the line, `gives` counts
 * the codes that the partner gets from it.
 */
export type PartnerVerdict = { line: number } & (
  | { verdict: "new" | "completed"; fills: readonly Detail[]; gives: Given }
  | { verdict: "known" }
  | { verdict: "refused"; field: HeldField | keyof typeof EXCLUSIVE; message: string }
);

/** The number of slugs beside the partner's first one, and of promotion codes. */
export interface Given {
  further_slugs: number;
  promotion_codes: number;
}

/** The values that only one partner can have: the words in links, and promotion codes. */
type HeldField = "code" | "promotion_codes";

/** Such a value in a line. Two values are the same if their `key` is. */
interface Held {
  field: HeldField;
  key: string;
  text: string;
}

/** Differs from the key of every slug, because a slug has no blank. */
export function promotionKey({ provider, code }: GivenCode): string {
  return `${provider} ${codeKey(code)}`;
}

function heldBy({ codes, promotion_codes }: PartnerLine): Held[] {
  return [
    ...codes.map((code): Held => ({ field: "code", key: slugKey(code), text: code })),
    ...promotion_codes.map((one): Held => ({ field: "promotion_codes", key: promotionKey(one), text: one.code })),
  ];
}

/** A partner without the column that an import neither reads nor changes. */
export type KnownPartner = Omit<Partner, "metadata">;

/**
 * Stored data: `partners` by `emailKey`, `holders` by `slugKey` and `promotionKey`, `counts` of codes by partner, the ids
 * of `groups` by `slugKey`.
 */
export interface Known {
  partners: ReadonlyMap<string, KnownPartner>;
  counts: ReadonlyMap<string, number>;
  holders: ReadonlyMap<string, string>;
  groups: ReadonlyMap<string, string>;
}

export interface ChangedPartner {
  before: KnownPartner | null;
  after: KnownPartner;
  /** The codes that become this partner's, by their `slugKey`. */
  codes: readonly string[];
  /** The promotion codes that become this partner's. */
  promotion_codes: readonly GivenCode[];
  /** The bank account that becomes this partner's. */
  bank: BankDetails | null;
  lines: readonly PartnerLine[];
}

/**
 * Decides the verdict of each line, and the partners that they add or change. Lines with one address are one partner.
 * The partners are a function of the set of lines; their order decides only which line counts as the one that adds a
 * partner. So contradicting lines are all refused: a code for two addresses, or a partner with two rates, states or
 * payout destinations.
 */
export function* decidePartnerLines(
  lines: readonly PartnerLine[],
  known: Known,
  register: (input: PartnerInput, status: PartnerStatus | null) => KnownPartner,
): Generator<void, { verdicts: PartnerVerdict[]; changed: ChangedPartner[] }, void> {
  const slice = new SliceCounter();
  const claims = new Map<string, Claim>();
  for (const line of lines) {
    addClaims(claims, line);
    if (slice.add(LINE_WORK)) yield;
  }
  const verdicts = new Map<number, PartnerVerdict>();
  const taken = new Map<string, PartnerLine[]>();
  for (const line of lines) {
    const key = emailKey(line.input.email);
    const refusal = refusedGroup(line, known) ?? refusedCode(line, known, claims);
    const others = taken.get(key);
    if (refusal !== null) verdicts.set(line.line, refused(line, refusal.field, refusal.message));
    else if (others) others.push(line);
    else taken.set(key, [line]);
    if (slice.add(LINE_WORK)) yield;
  }
  const changed: ChangedPartner[] = [];
  for (const [key, own] of taken) {
    const partner = decidePartner(own, known.partners.get(key) ?? null, known, register);
    for (const verdict of partner.verdicts) verdicts.set(verdict.line, verdict);
    if (partner.changed) changed.push(partner.changed);
    if (slice.add(LINE_WORK * own.length)) yield;
  }
  return { verdicts: lines.map(({ line }) => verdicts.get(line)!), changed };
}

/** The cost of a line for `SliceCounter`. */
const LINE_WORK = 200;

/** The first line that names a code, and the first that names it for another address. */
interface Claim {
  address: string;
  line: number;
  other: number | null;
}

function addClaims(claims: Map<string, Claim>, own: PartnerLine): void {
  const address = emailKey(own.input.email);
  for (const { key } of heldBy(own)) {
    const claim = claims.get(key);
    if (!claim) claims.set(key, { address, line: own.line, other: null });
    else if (claim.address !== address) claim.other ??= own.line;
  }
}

function refusedGroup({ group }: PartnerLine, { groups }: Known): { field: "group"; message: string } | null {
  return group === null || groups.has(slugKey(group))
    ? null
    : { field: "group", message: `No group has the slug ${group}.` };
}

/** Why one of the line's codes cannot be its partner's, or null. A holder keeps a code regardless of lines. */
function refusedCode(
  line: PartnerLine,
  known: Known,
  claims: ReadonlyMap<string, Claim>,
): { field: HeldField; message: string } | null {
  const address = emailKey(line.input.email);
  for (const { field, key, text } of heldBy(line)) {
    const holder = known.holders.get(key);
    if (holder !== undefined) {
      const has = field === "code" ? "has or had" : "has";
      if (holder !== known.partners.get(address)?.id) return { field, message: `Another partner ${has} ${text}.` };
      continue;
    }
    const claim = claims.get(key);
    if (claim && claim.other !== null) {
      const other = claim.address === address ? claim.other : claim.line;
      return { field, message: `${text} is on line ${other} for another partner.` };
    }
  }
  return null;
}

/** Decides the lines of one address whose codes are accepted. */
function decidePartner(
  lines: readonly PartnerLine[],
  before: KnownPartner | null,
  { holders, counts, groups }: Known,
  register: (input: PartnerInput, status: PartnerStatus | null) => KnownPartner,
): { verdicts: PartnerVerdict[]; changed: ChangedPartner | null } {
  const refuseAll = (field: RefusedField, message: string) => ({
    verdicts: lines.map((line) => refused(line, field, message)),
    changed: null,
  });
  const contradiction = contradictionOf(lines, before);
  if (contradiction) return refuseAll(contradiction.field, contradiction.message);
  const ordered = lines.length > 1 ? byContent(lines) : lines;
  const slug = ordered[0]?.codes[0];
  if (!before && slug === undefined) return refuseAll("code", "A new partner needs the code in its links.");
  const isNew = ({ key }: Held) => !holders.has(key);
  const given = lines.flatMap((line) => line.promotion_codes.map((one) => [promotionKey(one), one] as const));
  const promotion_codes = [
    ...new Map(
      // Chooses the same of two spellings in any order of the lines.
      given.filter(([key]) => !holders.has(key)).toSorted(([, a], [, b]) => compare(a.code, b.code)),
    ).values(),
  ];
  if ((counts.get(before?.id ?? "") ?? 0) + promotion_codes.length > MAX_CODES) {
    return refuseAll("promotion_codes", `A partner has at most ${MAX_CODES} promotion codes.`);
  }
  const stated = statedBy(ordered, groups);
  const { bank = null, ...input } = stated;
  const after = before ? filledIn(before, input) : register({ ...input, slug: slug ?? "" }, statusOf(lines));
  const newBank = !before || lacks(before, "payout") ? bank : null;
  const codes = [...new Set(lines.flatMap((line) => line.codes.map(slugKey).filter((key) => !holders.has(key))))];
  const verdicts = verdictsOf(lines, before, after, isNew);
  const isChanged = verdicts.some(({ verdict }) => verdict !== "known");
  return { verdicts, changed: isChanged ? { before, after, codes, promotion_codes, bank: newBank, lines } : null };
}

/** The values that must not differ between two lines; null if the line has no value. */
const EXCLUSIVE: Record<"commission_pct" | "group" | "status" | "payout_email", (line: PartnerLine) => string | null> =
  {
    group: ({ group }) => group && slugKey(group),
    commission_pct: ({ input }) => (input.commission_pct == null ? null : String(input.commission_pct)),
    status: ({ status }) => (status === "unread" ? null : status),
    payout_email: (line) =>
      states(line, "payout")
        ? JSON.stringify([line.input.payout_method, emailKey(line.input.payout_email ?? ""), line.input.bank])
        : null,
  };

/** An unreadable state may be any, so its partner is not active before somebody signs in or activates them. */
function statusOf(lines: readonly PartnerLine[]): PartnerStatus | null {
  const stated = lines.flatMap(({ status }) => status ?? []);
  return stated.find((status) => status !== "unread") ?? (stated.length > 0 ? "invited" : null);
}

/** Lines about an existing partner only have to agree on its missing details. */
function contradictionOf(lines: readonly PartnerLine[], before: KnownPartner | null) {
  for (const field of ["payout_email", "commission_pct", "group", "status"] as const) {
    if (before && (field !== "payout_email" || !lacks(before, "payout"))) continue;
    const stated = lines.flatMap((line) => {
      const value = EXCLUSIVE[field](line);
      return value === null ? [] : [{ line: line.line, value }];
    });
    const other = stated.find(({ value }) => value !== stated[0]?.value);
    if (!stated[0] || !other) continue;
    return { field, message: `Lines ${stated[0].line} and ${other.line} differ in this for the same partner.` };
  }
  return null;
}

function lacks(partner: KnownPartner, detail: Detail): boolean {
  if (detail !== "payout") return !partner[detail];
  return partner.payout_method === null && Object.values(COLUMN_OF).every((column) => partner[column] === null);
}

function states({ input }: PartnerLine, detail: Detail): boolean {
  return Boolean(detail === "payout" ? (input.payout_method ?? input.payout_email ?? input.bank) : input[detail]);
}

/** Sorts lines by their content alone: first the line whose code is the partner's slug, if it is new. */
function byContent(lines: readonly PartnerLine[]): PartnerLine[] {
  const keyed = lines.map((line) => {
    const { email, payout_method, payout_email, bank } = line.input;
    const texts = PARTNER_TEXTS.map((column) => line.input[column]);
    const [code] = line.codes;
    const promotion = line.promotion_codes.map(promotionKey);
    const said = JSON.stringify([
      code,
      ...texts,
      payout_method,
      payout_email,
      bank ?? null,
      email,
      line.codes,
      promotion,
    ]);
    return { line, code: code === undefined ? null : slugKey(code), said };
  });
  return keyed
    .toSorted(
      (a, b) =>
        Number(a.code === null) - Number(b.code === null) ||
        compare(a.code ?? "", b.code ?? "") ||
        compare(b.said, a.said),
    )
    .map(({ line }) => line);
}

/** The first value of each field among the lines. */
function statedBy(ordered: readonly PartnerLine[], groups: Known["groups"]): LineInput {
  const first = (detail: Detail) => ordered.find((line) => states(line, detail))?.input;
  const payout = first("payout");
  const group = ordered.find((line) => line.group !== null)?.group;
  return {
    email: ordered[0]!.input.email,
    ...Object.fromEntries(PARTNER_TEXTS.map((column) => [column, first(column)?.[column]])),
    commission_pct: ordered.find(({ input }) => input.commission_pct != null)?.input.commission_pct,
    payout_method: payout?.payout_method,
    payout_email: payout?.payout_email,
    group_id: group ? groups.get(slugKey(group)) : undefined,
    bank: payout?.bank ?? null,
  };
}

function filledIn(before: KnownPartner, stated: Omit<LineInput, "bank">): KnownPartner {
  const after = { ...before };
  for (const column of PARTNER_TEXTS) if (lacks(before, column)) after[column] = stated[column] ?? before[column];
  if (lacks(before, "payout")) {
    after.payout_method = stated.payout_method ?? null;
    after.payout_email = stated.payout_email ?? null;
  }
  return { ...after, search_text: searchTextOf(after) };
}

function verdictsOf(
  lines: readonly PartnerLine[],
  before: KnownPartner | null,
  after: KnownPartner,
  isNew: (held: Held) => boolean,
): PartnerVerdict[] {
  const filled = new Set<Detail>();
  const claimed = new Set<string>();
  return lines.map((line, i): PartnerVerdict => {
    const fills = DETAILS.filter(
      (detail) =>
        !filled.has(detail) &&
        (before === null || lacks(before, detail)) &&
        states(line, detail) &&
        (detail === "payout" || line.input[detail] === after[detail]),
    );
    const codes = heldBy(line).filter((held) => isNew(held) && !claimed.has(held.key));
    for (const detail of fills) filled.add(detail);
    for (const { key } of codes) claimed.add(key);
    const slugs = codes.filter(({ field }) => field === "code");
    const gives = {
      further_slugs: slugs.filter(({ key }) => key !== slugKey(after.slug)).length,
      promotion_codes: codes.length - slugs.length,
    };
    if (before === null && i === 0) return { line: line.line, verdict: "new", fills, gives };
    if (fills.length === 0 && codes.length === 0) return { line: line.line, verdict: "known" };
    return { line: line.line, verdict: "completed", fills, gives };
  });
}

type RefusedField = Extract<PartnerVerdict, { verdict: "refused" }>["field"];

function refused({ line }: PartnerLine, field: RefusedField, message: string): PartnerVerdict {
  return { line, verdict: "refused", field, message };
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
