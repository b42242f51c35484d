import { sql } from "drizzle-orm";
import { slugKey } from "../domain/partner.ts";
import { AppError } from "../lib/errors.ts";
import { commit, CommitConflict } from "./commit.ts";
import type { ProgramCtx } from "./context.ts";
import { newPartner, partnerOccurrence, type PartnerInput } from "./partners.ts";

/** How many lines one import takes. */
export const MAX_IMPORT_LINES = 1_000;

export interface ImportLine {
  /** Its number in the file, for people. */
  line: number;
  input: PartnerInput;
}

/** What becomes of a line: a new partner, nothing because that partner is there, or why it cannot be one. */
export type ImportVerdict = ImportLine &
  ({ verdict: "new" } | { verdict: "known"; partner_id: string } | { verdict: "refused"; message: string });

/**
 * What an import of these lines would do, in their order. A partner with the same e-mail and slug is known already and
 * stays as it is, so a rerun changes nothing. Writes nothing.
 */
export async function judgeImport(ctx: ProgramCtx, lines: readonly ImportLine[]): Promise<ImportVerdict[]> {
  const keys = lines.map(({ input }) => ({ email: input.email.toLowerCase(), slug: slugKey(input.slug) }));
  const given = JSON.stringify(keys);
  const [byEmail, bySlug] = await ctx.read(
    ctx.db.all<{ id: string; email: string }>(sql`select p.id as id, lower(p.email) as email
      from json_each(${given}) j
      cross join partners p on p.program_id = ${ctx.programId} and lower(p.email) = j.value ->> 'email'`),
    ctx.db.all<{ id: string; slug: string }>(sql`select s.partner_id as id, s.slug_key as slug
      from json_each(${given}) j
      cross join partner_slugs s on s.program_id = ${ctx.programId} and s.slug_key = j.value ->> 'slug'`),
  );
  const holders = {
    email: new Map(byEmail.map((row) => [row.email, row.id])),
    slug: new Map(bySlug.map((row) => [row.slug, row.id])),
  };
  const firstLine = { email: new Map<string, number>(), slug: new Map<string, number>() };
  return lines.map((given, i): ImportVerdict => {
    const key = keys[i] ?? { email: "", slug: "" };
    for (const field of ["email", "slug"] as const) {
      const first = firstLine[field].get(key[field]);
      if (first !== undefined) return refused(given, `The same ${FIELD[field]} stands on line ${first}.`);
    }
    firstLine.email.set(key.email, given.line);
    firstLine.slug.set(key.slug, given.line);
    const [emailHolder, slugHolder] = [holders.email.get(key.email), holders.slug.get(key.slug)];
    if (emailHolder !== undefined && emailHolder === slugHolder) {
      return { ...given, verdict: "known", partner_id: emailHolder };
    }
    if (emailHolder !== undefined) return refused(given, "A partner with another slug has this e-mail address.");
    if (slugHolder !== undefined) return refused(given, "Another partner has or had this slug.");
    return { ...given, verdict: "new" };
  });
}

/**
 * Registers the new ones among the lines as `invited`, all in one transaction with their audit events; lines that are
 * known or refused are left out. Returns how many were added.
 */
export async function importPartners(ctx: ProgramCtx, lines: readonly ImportLine[]): Promise<{ added: number }> {
  if (lines.length > MAX_IMPORT_LINES) {
    throw new AppError("validation_failed", `An import has at most ${MAX_IMPORT_LINES} lines.`);
  }
  for (let races = 0; ; races++) {
    const verdicts = await judgeImport(ctx, lines);
    const added = verdicts.filter(({ verdict }) => verdict === "new").map(({ input }) => newPartner(ctx, input));
    if (added.length === 0) return { added: 0 };
    const rows = JSON.stringify(added);
    const slugs = JSON.stringify(added.map(({ id, slug }) => ({ id, slug_key: slugKey(slug) })));
    try {
      await commit(ctx, {
        writes: [
          { statement: ctx.db.run(insertPartners(ctx, rows)), expect: added.length },
          {
            statement: ctx.db.run(sql`insert into partner_slugs (program_id, slug_key, partner_id)
              select ${ctx.program.id}, value ->> 'slug_key', value ->> 'id' from json_each(${slugs})`),
            expect: added.length,
          },
        ],
        occurrences: added.map((partner) => partnerOccurrence("partner.created", partner)),
      });
      return { added: added.length };
    } catch (error) {
      // Someone registered one of them meanwhile: judged again, that line is known or refused.
      if (!(error instanceof CommitConflict) || races >= MAX_RACES) throw error;
    }
  }
}

const MAX_RACES = 10;
const FIELD = { email: "e-mail address", slug: "slug" } as const;

function refused(line: ImportLine, message: string): ImportVerdict {
  return { ...line, verdict: "refused", message };
}

/** One parameter for all rows: a statement takes no more than a hundred. */
function insertPartners(ctx: ProgramCtx, rows: string) {
  const columns = [
    ...["id", "email", "first_name", "last_name", "slug", "status", "commission_pct", "payout_method", "payout_email"],
    ...["search_text", "created_at", "updated_at"],
  ];
  const names = sql.raw(columns.join(", "));
  const values = sql.raw(columns.map((column) => `value ->> '${column}'`).join(", "));
  return sql`insert into partners (program_id, ${names}) select ${ctx.program.id}, ${values} from json_each(${rows})`;
}
