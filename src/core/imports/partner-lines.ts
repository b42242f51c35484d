import { emailKey } from "../../domain/email.ts";
import { slugKey, type PartnerStatus } from "../../domain/partner.ts";
import { SliceCounter } from "../../lib/slices.ts";
import type { Partner } from "../kernel/rows.ts";
import { searchTextOf, type PartnerInput } from "../partners/partners.ts";

/** What a line can say of a partner beside the codes and the state. */
type LineInput = Omit<PartnerInput, "slug" | "metadata">;

/** A line of a file of partners. */
export interface PartnerLine {
  /** Its number in the file, for people. */
  line: number;
  input: LineInput;
  /** What the partner's links carry. */
  codes: readonly string[];
  /** The state of a new partner; null where the line does not say. */
  status: PartnerStatus | null;
}

type FilledText = Exclude<keyof LineInput, "email" | "commission_pct" | "payout_method" | "payout_email">;

const FILLED: Record<FilledText, true> = { first_name: true, last_name: true };

/** The columns that are filled in each separately where a partner has none. */
export const FILLED_TEXTS = Object.keys(FILLED) as FilledText[];

/** What is filled in where a partner has none. */
const DETAILS: readonly Detail[] = [...FILLED_TEXTS, "payout"];
type Detail = FilledText | "payout";

/**
 * The result of a line: a new partner; one who is there gets what was missing; nothing, for all of it is there
 * already; or why it cannot be. `fills` are the details that are the line's now.
 */
export type PartnerVerdict = { line: number } & (
  | { verdict: "new" | "completed"; fills: readonly Detail[] }
  | { verdict: "known" }
  | { verdict: "refused"; field: "code" | "status" | "commission_pct" | "payout_email"; message: string }
);

/** A partner without what an import neither reads nor changes. */
export type KnownPartner = Omit<Partner, "metadata">;

/** What is there already: partners by `emailKey`, and by `slugKey` the id of the partner whose code it is or was. */
export interface Known {
  partners: ReadonlyMap<string, KnownPartner>;
  holders: ReadonlyMap<string, string>;
}

/** A partner that lines add or change. */
export interface ChangedPartner {
  before: KnownPartner | null;
  after: KnownPartner;
  /** The codes that become this partner's, by their `slugKey`. */
  codes: readonly string[];
  lines: readonly PartnerLine[];
}

/**
 * What lines come to: each one's verdict, and the partners they add or change. Lines with one address are one partner.
 * The partners are a function of the set of lines; their order decides only which line counts as the one that adds a
 * partner. So nothing is taken of lines that contradict each other: a code that is used for two addresses, or a partner
 * with two rates, states or places to be paid at.
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
    const refusal = refusedCode(line, known, claims);
    const others = taken.get(key);
    if (refusal !== null) verdicts.set(line.line, refused(line, "code", refusal));
    else if (others) others.push(line);
    else taken.set(key, [line]);
    if (slice.add(LINE_WORK)) yield;
  }
  const changed: ChangedPartner[] = [];
  for (const [key, own] of taken) {
    const partner = decidePartner(own, known.partners.get(key) ?? null, known.holders, register);
    for (const verdict of partner.verdicts) verdicts.set(verdict.line, verdict);
    if (partner.changed) changed.push(partner.changed);
    if (slice.add(LINE_WORK * own.length)) yield;
  }
  return { verdicts: lines.map(({ line }) => verdicts.get(line)!), changed };
}

/** Of one line, in the measure of `SliceCounter`. */
const LINE_WORK = 200;

/** The first line that names a code, and the first that names it for another address. */
interface Claim {
  address: string;
  line: number;
  other: number | null;
}

function addClaims(claims: Map<string, Claim>, { line, input, codes }: PartnerLine): void {
  const address = emailKey(input.email);
  for (const code of codes) {
    const claim = claims.get(slugKey(code));
    if (!claim) claims.set(slugKey(code), { address, line, other: null });
    else if (claim.address !== address) claim.other ??= line;
  }
}

/** Why one of the line's codes cannot be its partner's, or null. Who has a code already has it whatever lines say. */
function refusedCode({ input, codes }: PartnerLine, known: Known, claims: ReadonlyMap<string, Claim>): string | null {
  const address = emailKey(input.email);
  for (const code of codes) {
    const holder = known.holders.get(slugKey(code));
    if (holder !== undefined) {
      if (holder !== known.partners.get(address)?.id) return `Another partner has or had ${code}.`;
      continue;
    }
    const claim = claims.get(slugKey(code));
    if (claim && claim.other !== null) {
      return `${code} is on line ${claim.address === address ? claim.other : claim.line} for another partner.`;
    }
  }
  return null;
}

/** Judges the lines of one address whose codes are good. */
function decidePartner(
  lines: readonly PartnerLine[],
  before: KnownPartner | null,
  holders: Known["holders"],
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
  const stated = statedBy(ordered);
  const status = ordered.find((line) => line.status !== null)?.status ?? null;
  const after = before ? filledIn(before, stated) : register({ ...stated, slug: slug ?? "" }, status);
  const isNewCode = (code: string) => !holders.has(slugKey(code));
  const codes = [...new Set(lines.flatMap((line) => line.codes.filter(isNewCode).map(slugKey)))];
  const verdicts = verdictsOf(lines, before, after, isNewCode);
  const isChanged = verdicts.some(({ verdict }) => verdict !== "known");
  return { verdicts, changed: isChanged ? { before, after, codes, lines } : null };
}

/** What a line says that only one of two can be right about, or null where it says nothing. */
const EXCLUSIVE: Record<"commission_pct" | "status" | "payout_email", (line: PartnerLine) => string | null> = {
  commission_pct: ({ input }) => (input.commission_pct == null ? null : String(input.commission_pct)),
  status: ({ status }) => status,
  payout_email: (line) =>
    states(line, "payout") ? JSON.stringify([line.input.payout_method, emailKey(line.input.payout_email ?? "")]) : null,
};

/** Of who is there only what is missing is looked for in the lines. */
function contradictionOf(lines: readonly PartnerLine[], before: KnownPartner | null) {
  for (const field of ["payout_email", "commission_pct", "status"] as const) {
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
  return detail === "payout" ? partner.payout_method === null && partner.payout_email === null : !partner[detail];
}

function states({ input }: PartnerLine, detail: Detail): boolean {
  return detail === "payout" ? Boolean(input.payout_method ?? input.payout_email) : Boolean(input[detail]);
}

/** In an order that only what they say decides: first the line whose code is the partner's slug, if it is new. */
function byContent(lines: readonly PartnerLine[]): PartnerLine[] {
  const keyed = lines.map((line) => {
    const { email, payout_method, payout_email } = line.input;
    const texts = FILLED_TEXTS.map((column) => line.input[column]);
    const [code] = line.codes;
    const said = JSON.stringify([code, ...texts, payout_method, payout_email, email, line.codes]);
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

/** Of each field the first value among the lines. */
function statedBy(ordered: readonly PartnerLine[]): LineInput {
  const first = (detail: Detail) => ordered.find((line) => states(line, detail))?.input;
  const payout = first("payout");
  return {
    email: ordered[0]!.input.email,
    ...Object.fromEntries(FILLED_TEXTS.map((column) => [column, first(column)?.[column]])),
    commission_pct: ordered.find(({ input }) => input.commission_pct != null)?.input.commission_pct,
    payout_method: payout?.payout_method,
    payout_email: payout?.payout_email,
  };
}

function filledIn(before: KnownPartner, stated: LineInput): KnownPartner {
  const after = { ...before };
  for (const column of FILLED_TEXTS) if (lacks(before, column)) after[column] = stated[column] ?? before[column];
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
  isNewCode: (code: string) => boolean,
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
    const codes = line.codes.map(slugKey).filter((code) => isNewCode(code) && !claimed.has(code));
    for (const detail of fills) filled.add(detail);
    for (const code of codes) claimed.add(code);
    if (before === null && i === 0) return { line: line.line, verdict: "new", fills };
    if (fills.length === 0 && codes.length === 0) return { line: line.line, verdict: "known" };
    return { line: line.line, verdict: "completed", fills };
  });
}

type RefusedField = Extract<PartnerVerdict, { verdict: "refused" }>["field"];

function refused({ line }: PartnerLine, field: RefusedField, message: string): PartnerVerdict {
  return { line, verdict: "refused", field, message };
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
