/** The slugs that lead to partners: current, former and further ones (PART-1, PART-16). */
import { sql } from "drizzle-orm";
import { selectRows, text } from "../../db/rows.ts";
import { partnerSlugs } from "../../db/schema.ts";
import { slugKey } from "../../domain/partner.ts";
import type { Write } from "../kernel/commit.ts";
import type { ProgramCtx, Reader } from "../kernel/context.ts";
import type { Partner } from "../kernel/rows.ts";

/** Selects every slug that leads to the partner, in lower case. */
export function selectSlugs({ db, programId }: Reader, partner_id: string) {
  return selectRows(
    db,
    { slug_key: text },
    sql`select slug_key from partner_slugs indexed by partner_slugs_partner
      where partner_id = ${partner_id} and program_id = ${programId} order by slug_key`,
  );
}

/** Assigns the slug to the partner permanently. */
export function claimSlug({ db }: ProgramCtx, { id, program_id, slug }: Partner): Write {
  return { statement: db.insert(partnerSlugs).values({ program_id, slug_key: slugKey(slug), partner_id: id }) };
}
