import { sql } from "drizzle-orm";
import { literal } from "../../db/client.ts";
import { selectRows, text } from "../../db/rows.ts";
import { partners } from "../../db/schema.ts";
import { resemblesName, suggestedSlugs, wordsOf } from "../../domain/code.ts";
import { slugKey } from "../../domain/partner.ts";
import type { ProviderName } from "../../domain/provider-name.ts";
import { invalidField } from "../../lib/errors.ts";
import type { Caller, ProgramCtx } from "../kernel/context.ts";
import type { Partner } from "../kernel/rows.ts";
import { seenCodes } from "../kernel/seen-codes.ts";
import { createCode } from "./codes.ts";
import { selectSearchedPartners } from "../kernel/partner-search.ts";
import { readPartnerNames, type PartnerName } from "./display-names.ts";

/** A code that payments wait for, because no partner has it. */
export interface UnknownCode {
  provider: ProviderName;
  /** Its name or, without one, its id at the vendor. */
  code: string;
  payments: number;
  /** The newest of the payments. */
  last_payment_id: string;
  last_at: string;
  /** Partners whose slugs it resembles, then those whose first or last name it contains. */
  suggested: PartnerName[];
}

const NAMED = { slug_key: text, partner_id: text };

/** Reads the codes of the newest waiting payments, those of the newest first. */
export async function readUnknownCodes(ctx: ProgramCtx): Promise<UnknownCode[]> {
  const [found] = await ctx.read(seenCodes(ctx));
  if (found.length === 0) return [];
  const slugs = [...new Set(found.flatMap(({ code }) => suggestedSlugs(code)))];
  const [named] = await ctx.read(
    selectRows(
      ctx.db,
      NAMED,
      sql`select s.slug_key, s.partner_id from json_each(${JSON.stringify(slugs)}) n
      cross join partner_slugs s on s.program_id = ${ctx.programId} and s.slug_key = n.value`,
    ),
  );
  const namesakes = await readNamesakes(
    ctx,
    found.map(({ code }) => code),
  );
  const names = await readPartnerNames(ctx, [...named.map(({ partner_id }) => partner_id), ...namesakes]);
  const bySlug = new Map(named.map(({ slug_key, partner_id }) => [slug_key, names.get(partner_id)]));
  return found.map((one) => ({
    ...one,
    suggested: [
      ...new Set([
        ...suggestedSlugs(one.code).flatMap((slug) => bySlug.get(slug) ?? []),
        ...namesakes.flatMap((id) => names.get(id) ?? []).filter((partner) => isNamedIn(one.code, partner)),
      ]),
    ].slice(0, MOST_SUGGESTED),
  }));
}

const MOST_SUGGESTED = 5;
/** The most words of codes searched for in partners' names, the newest codes' first, and the most partners for each. */
const WORDS = 20;
const NAMESAKES = 10;

/** Finds partners whose texts contain a word of the codes, as `search` does. */
async function readNamesakes(ctx: ProgramCtx, codes: readonly string[]): Promise<string[]> {
  const words = [...new Set(codes.flatMap(wordsOf))].slice(0, WORDS);
  if (words.length === 0) return [];
  const found = await ctx.read(
    ...words.map((word) =>
      selectRows(
        ctx.db,
        { id: text },
        sql`select id from partners where program_id = ${ctx.programId} and ${selectSearchedPartners(ctx, word)}
          limit ${literal(NAMESAKES)}`,
      ),
    ),
  );
  return [...new Set(found.flat().map(({ id }) => id))];
}

function isNamedIn(code: string, { first_name, last_name }: PartnerName): boolean {
  return resemblesName(wordsOf(code), [first_name, last_name]);
}

/** Calls `createCode` for the partner with a slug. @throws `validation_failed` without such a partner */
export async function giveCodeToSlug(
  caller: Caller,
  { slug, ...input }: { slug: string; code: string; provider: ProviderName },
): Promise<Pick<Partner, "id" | "status">> {
  const [[partner]] = await caller.read(
    caller.db
      .select({ id: partners.id, status: partners.status })
      .from(partners)
      .where(
        sql`${partners.program_id} = ${caller.programId} and ${partners.id} = (select partner_id from partner_slugs
          where program_id = ${caller.programId} and slug_key = ${slugKey(slug)})`,
      ),
  );
  if (!partner) throw invalidField("slug", "No partner has this slug.");
  await createCode(caller, partner.id, input);
  return partner;
}
