import { sql } from "drizzle-orm";
import type { PartnerStatus } from "../domain/partner.ts";
import { searchText, slugKey } from "../domain/partner.ts";
import { AppError } from "../lib/errors.ts";
import { commit, CommitConflict, type Write } from "./commit.ts";
import type { ProgramCtx } from "./context.ts";
import { newPartner, partnerOccurrence, type Partner, type PartnerInput } from "./partners.ts";
import { nextStamp } from "./stamps.ts";
import { alsoOfProgram } from "./tenant.ts";

/** How many lines one import takes. */
export const MAX_IMPORT_LINES = 5_000;

/** How many partners or customers one transaction takes: a bound text has an end. */
export const IMPORT_CHUNK = 1_000;

export interface PartnerLine {
  /** Its number in the file, for people. */
  line: number;
  input: Omit<PartnerInput, "slug">;
  /** What the partner's links carry, the first of which becomes the slug of a new one. */
  codes: readonly string[];
  /** The state of a new partner. */
  status: PartnerStatus;
}

/**
 * What becomes of a line: a new partner; one who is there gets what was missing; nothing, for all of it is there
 * already; or why it cannot be.
 */
export type PartnerVerdict = { line: number } & (
  | { verdict: "new" | "completed" | "known" }
  | { verdict: "refused"; field: "email" | "code"; message: string }
);

/** One partner of the file, however many lines speak of it. */
interface Person {
  before: Partner | null;
  lines: PartnerLine[];
  /** The codes that are not yet this partner's, by their `slugKey`. */
  codes: Map<string, string>;
  after: Partner;
}

/**
 * What an import of these lines would do, in their order. Partners are told apart by their e-mail address, and lines
 * with the same one are one partner with several codes. Who is there already keeps everything, status and rate too:
 * only an empty name, empty payout details and further codes are filled in, so a rerun changes nothing. Writes nothing.
 */
export async function judgePartners(ctx: ProgramCtx, lines: readonly PartnerLine[]): Promise<PartnerVerdict[]> {
  return (await judge(ctx, lines)).verdicts;
}

/**
 * Does what `judgePartners` says, with the audit events, a thousand partners in one transaction; lines that are known or
 * refused are left out. Returns how many partners were added and completed. Ended in the middle, a rerun does the rest.
 */
export async function importPartners(
  ctx: ProgramCtx,
  lines: readonly PartnerLine[],
): Promise<{ added: number; completed: number }> {
  if (lines.length > MAX_IMPORT_LINES) {
    throw new AppError("validation_failed", `An import has at most ${MAX_IMPORT_LINES} lines.`);
  }
  const { people } = await judge(ctx, lines);
  const done = { added: 0, completed: 0 };
  for (let at = 0; at < people.length; at += IMPORT_CHUNK) {
    const { added, completed } = await store(ctx, people.slice(at, at + IMPORT_CHUNK));
    done.added += added;
    done.completed += completed;
  }
  return done;
}

async function judge(
  ctx: ProgramCtx,
  lines: readonly PartnerLine[],
): Promise<{ verdicts: PartnerVerdict[]; people: Person[] }> {
  const emails = JSON.stringify(lines.map(({ input }) => input.email.toLowerCase()));
  const codes = JSON.stringify(lines.flatMap((line) => line.codes.map(slugKey)));
  const [rows, holders] = await ctx.read(
    ctx.db.all<Omit<Partner, "metadata"> & { metadata: string | null }>(sql`select distinct p.*
      from json_each(${emails}) j
      cross join partners p on p.program_id = ${ctx.programId} and lower(p.email) = j.value`),
    ctx.db.all<{ partner_id: string; slug_key: string }>(sql`select distinct s.partner_id, s.slug_key
      from json_each(${codes}) j
      cross join partner_slugs s on s.program_id = ${ctx.programId} and s.slug_key = j.value`),
  );
  const there = new Map(rows.map((row) => [row.email.toLowerCase(), parsed(row)]));
  const holderOf = new Map(holders.map((row) => [row.slug_key, row.partner_id]));
  const people = new Map<string, Person>();
  const claims = new Map<string, { person: Person; line: number }>();
  const verdicts = lines.map((line): PartnerVerdict => {
    const key = line.input.email.toLowerCase();
    const before = there.get(key) ?? null;
    const person = people.get(key) ?? begin(ctx, line, before);
    for (const code of line.codes) {
      const claim = claims.get(slugKey(code));
      if (claim && claim.person !== person) {
        return refused(line, "code", `${code} stands on line ${claim.line} for another partner.`);
      }
      const holder = holderOf.get(slugKey(code));
      if (holder !== undefined && holder !== before?.id) {
        return refused(line, "code", `Another partner has or had ${code}.`);
      }
    }
    if (!person) return refused(line, "code", "A new partner needs the code in its links.");
    const isNew = !people.has(key) && !before;
    people.set(key, person);
    return { line: line.line, verdict: add(person, line, claims, holderOf) ? (isNew ? "new" : "completed") : "known" };
  });
  return { verdicts, people: [...people.values()].filter((person) => hasChanged(person)) };
}

/** The partner that a first line speaks of; null where a new one has no code. */
function begin(ctx: ProgramCtx, line: PartnerLine, before: Partner | null): Person | null {
  if (before) return { before, lines: [], codes: new Map(), after: { ...before } };
  const [slug] = line.codes;
  if (slug === undefined) return null;
  const after = { ...newPartner(ctx, { ...line.input, slug }), status: line.status };
  return { before, lines: [], codes: new Map(), after };
}

/** Adds what a line tells to its partner; false where it tells nothing that is not there. */
function add(
  person: Person,
  line: PartnerLine,
  claims: Map<string, { person: Person; line: number }>,
  holderOf: ReadonlyMap<string, string>,
): boolean {
  const told = JSON.stringify(person.after);
  const known = person.codes.size;
  for (const code of line.codes) {
    const key = slugKey(code);
    if (!claims.has(key)) claims.set(key, { person, line: line.line });
    if (!holderOf.has(key) && !person.codes.has(key)) person.codes.set(key, code);
  }
  const { first_name, last_name, payout_method, payout_email } = line.input;
  const { after } = person;
  after.first_name ||= first_name ?? null;
  after.last_name ||= last_name ?? null;
  if (after.payout_method === null && after.payout_email === null) {
    after.payout_method = payout_method ?? null;
    after.payout_email = payout_email ?? null;
  }
  after.search_text = searchText(after);
  person.lines.push(line);
  return person.lines.length === 1 && !person.before
    ? true
    : JSON.stringify(after) !== told || person.codes.size > known;
}

function hasChanged({ before, after, codes }: Person): boolean {
  return before === null || codes.size > 0 || JSON.stringify(before) !== JSON.stringify(after);
}

async function store(ctx: ProgramCtx, people: readonly Person[]): Promise<{ added: number; completed: number }> {
  const lines = people.flatMap((person) => person.lines);
  let chunk = people;
  for (let races = 0; chunk.length > 0; races++) {
    const added = chunk.filter(({ before }) => before === null).map(({ after }) => after);
    const completed = chunk.flatMap(({ before, after }) =>
      before ? [{ ...after, before: before.updated_at, updated_at: nextStamp(before.updated_at, ctx.now) }] : [],
    );
    const slugs = chunk.flatMap(({ after, codes }) =>
      [...codes.keys()].map((slug_key) => ({ id: after.id, slug_key })),
    );
    const writes: Write[] = [];
    if (added.length > 0) writes.push({ statement: insertPartners(ctx, added), expect: added.length });
    if (completed.length > 0) writes.push({ statement: completePartners(ctx, completed), expect: completed.length });
    if (slugs.length > 0) writes.push({ statement: claimSlugs(ctx, slugs), expect: slugs.length });
    try {
      await commit(ctx, {
        writes,
        occurrences: [
          ...added.map((partner) => partnerOccurrence("partner.created", partner)),
          ...completed.map(({ before: _, ...partner }) => partnerOccurrence("partner.updated", partner)),
        ],
      });
      return { added: added.length, completed: completed.length };
    } catch (error) {
      // Someone registered or changed one of them meanwhile: judged again, that line is known, completed or refused.
      if (!(error instanceof CommitConflict) || races >= MAX_RACES) throw error;
      chunk = (await judge(ctx, lines)).people;
    }
  }
  return { added: 0, completed: 0 };
}

const MAX_RACES = 10;

function refused(line: PartnerLine, field: "email" | "code", message: string): PartnerVerdict {
  return { line: line.line, verdict: "refused", field, message };
}

/** A row as raw SQL gives it. */
function parsed({ metadata, ...row }: Omit<Partner, "metadata"> & { metadata: string | null }): Partner {
  return { ...row, metadata: metadata === null ? null : (JSON.parse(metadata) as Record<string, unknown>) };
}

/** One parameter for all rows: a statement takes no more than a hundred. */
function insertPartners(ctx: ProgramCtx, rows: readonly Partner[]) {
  const columns = [
    ...["id", "email", "first_name", "last_name", "slug", "status", "commission_pct", "payout_method", "payout_email"],
    ...["search_text", "created_at", "updated_at"],
  ];
  const names = sql.raw(columns.join(", "));
  const values = sql.raw(columns.map((column) => `value ->> '${column}'`).join(", "));
  return ctx.db.run(sql`insert into partners (program_id, ${names})
    select ${ctx.program.id}, ${values} from json_each(${JSON.stringify(rows)})`);
}

/** A compare-and-set on every row: one that changed meanwhile is not counted, and the commit does not stand. */
function completePartners(ctx: ProgramCtx, rows: readonly (Partner & { before: string })[]) {
  const columns = ["first_name", "last_name", "payout_method", "payout_email", "search_text", "updated_at"];
  const given = rows.map(({ metadata: _, ...row }) => row);
  const set = sql.raw(columns.map((column) => `${column} = j.value ->> '${column}'`).join(", "));
  return ctx.db.run(sql`update partners set ${set} from json_each(${JSON.stringify(given)}) j
    where partners.id = j.value ->> 'id' and ${alsoOfProgram(ctx, sql`partners.program_id`)}
      and partners.updated_at = j.value ->> 'before'`);
}

function claimSlugs(ctx: ProgramCtx, slugs: readonly { id: string; slug_key: string }[]) {
  return ctx.db.run(sql`insert into partner_slugs (program_id, slug_key, partner_id)
    select ${ctx.program.id}, value ->> 'slug_key', value ->> 'id' from json_each(${JSON.stringify(slugs)})`);
}
