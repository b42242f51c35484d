/** The only rule by which the service generates slugs; people may choose their own. */
import { sql } from "drizzle-orm";
import { literal } from "../../db/client.ts";
import { unionOf } from "../../db/parts.ts";
import { selectRows, text } from "../../db/rows.ts";
import { isPlaceholderSlug, slugStem } from "../../domain/application.ts";
import { slugKey } from "../../domain/partner.ts";
import type { Outcome } from "../../domain/payment.ts";
import { randomToken } from "../../lib/crypto.ts";
import type { ProgramCtx } from "../kernel/context.ts";

/** The numbers tried as a suffix of a taken slug, before a random one. */
const NUMBERED = 20;

/** The newest payments of an outcome, which are searched for a slug because no index finds them by it. */
const UNKNOWN_SEEN = 1_000;

/** Outcomes of payments whose reference may be unknown: of the last two, money is still to come. */
const OF_UNKNOWN_REFS = ["unknown_ref", "unpaid", "zero_amount"] as const satisfies Outcome[];

/**
 * Makes a free slug for a new partner who has not chosen one: from the name or the address before its @, with a number
 * if that is taken. The suffix is random if all numbers are taken, or if payments carry the slug already: the partner
 * would earn on other people's sales (JOIN-6). A slug taken meanwhile is a lost race of the commit.
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
  return selectRows(
    db,
    { slug_key: text },
    sql`select slug_key from partner_slugs where program_id = ${program.id}
      and slug_key in (select value from json_each(${keys}))`,
  );
}

/** Selects those of the slugs (a JSON array) that unknown references of the newest payments carry. */
export function unknownOf({ db, program }: ProgramCtx, keys: string) {
  const newest = OF_UNKNOWN_REFS.map(
    (outcome) => sql`select * from (select decision from payments where program_id = ${program.id}
      and outcome = ${outcome} order by id desc limit ${literal(UNKNOWN_SEEN)})`,
  );
  return selectRows(
    db,
    { slug_key: text },
    sql`select distinct lower(c.value ->> 'ref') as slug_key
      from (${unionOf(newest, OF_UNKNOWN_REFS.length)}) p cross join json_each(p.decision, '$.candidates') c
      where c.value ->> 'partner_id' is null and lower(c.value ->> 'ref') in (select value from json_each(${keys}))`,
  );
}
