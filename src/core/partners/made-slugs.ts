/** The one rule by which the service itself makes slugs; those that people type are theirs. */
import { sql } from "drizzle-orm";
import { literal } from "../../db/client.ts";
import { shaped, text } from "../../db/rows.ts";
import { isPlaceholderSlug, slugStem } from "../../domain/application.ts";
import { slugKey } from "../../domain/partner.ts";
import { randomToken } from "../../lib/crypto.ts";
import type { ProgramCtx } from "../kernel/context.ts";

/** Numbers that are tried after a slug that is taken; then comes chance. */
const NUMBERED = 20;

/** Payments, the newest of those whose references led to nobody, that are asked for a slug: no index finds one by it. */
const UNKNOWN_SEEN = 1_000;

/**
 * A slug for a new partner who was given none: the name, else the address before its @, else one with a number after it, that
 * is nobody's; with chance after it where all are taken, and where others carry it already: the partner would earn on what
 * they never brought (JOIN-6). What is taken meanwhile is a lost race of the commit.
 */
export async function makeSlug(ctx: ProgramCtx, name: string, email: string): Promise<string> {
  const stem = slugStem(name, email);
  const slugs = [stem, ...Array.from({ length: NUMBERED }, (_, i) => `${stem}-${i + 2}`)];
  const keys = JSON.stringify(slugs.map(slugKey));
  const [taken, unknown] = await ctx.read(takenOf(ctx, keys), unknownOf(ctx, keys));
  const carried = new Set(unknown.map(({ slug_key }) => slug_key));
  const used = new Set([...taken, ...unknown].map(({ slug_key }) => slug_key));
  const isOthers = isPlaceholderSlug(stem) || carried.has(slugKey(stem));
  const free = isOthers ? undefined : slugs.find((slug) => !used.has(slugKey(slug)));
  return free ?? `${stem}-${randomToken(6)}`;
}

function takenOf({ db, program }: ProgramCtx, keys: string) {
  return shaped(
    db,
    { slug_key: text },
    sql`select slug_key from partner_slugs where program_id = ${program.id}
      and slug_key in (select value from json_each(${keys}))`,
  );
}

/** Those that payments carried and that led to nobody. */
function unknownOf({ db, program }: ProgramCtx, keys: string) {
  return shaped(
    db,
    { slug_key: text },
    sql`select distinct lower(c.value ->> 'ref') as slug_key
      from (select decision from payments where program_id = ${program.id} and outcome = 'unknown_ref'
        order by id desc limit ${literal(UNKNOWN_SEEN)}) p
      cross join json_each(p.decision, '$.candidates') c
      where lower(c.value ->> 'ref') in (select value from json_each(${keys}))`,
  );
}
