import { sql } from "drizzle-orm";
import { selectRows, text } from "../../db/rows.ts";
import { partners } from "../../db/schema.ts";
import { slugKey } from "../../domain/partner.ts";
import type { ProgramCtx } from "../kernel/context.ts";
import type { Partner } from "../kernel/rows.ts";

export type PartnerName = Pick<Partner, "id" | "email" | "slug" | "first_name" | "last_name" | "status">;

/** Reads the program's partners with these ids, for lists that show their names; ids not found are left out. */
export async function readPartnerNames(
  ctx: ProgramCtx,
  ids: readonly (string | null)[],
): Promise<Map<string, PartnerName>> {
  const wanted = [...new Set(ids.filter((id) => id !== null))];
  if (wanted.length === 0) return new Map();
  const { id, email, slug, first_name, last_name, status } = partners;
  const [rows] = await ctx.read(
    ctx.db
      .select({ id, email, slug, first_name, last_name, status })
      .from(partners)
      .where(
        sql`${partners.id} in (select value from json_each(${JSON.stringify(wanted)}))
          and ${partners.program_id} = ${ctx.programId}`,
      ),
  );
  return new Map(rows.map((row) => [row.id, row]));
}

/** Finds a partner by a slug, current or earlier, or by the e-mail address; null if there is no such partner. */
export async function findPartnerId(ctx: ProgramCtx, name: string): Promise<string | null> {
  const [[found]] = await ctx.read(
    selectRows(
      ctx.db,
      { id: text },
      sql`select partner_id as id from partner_slugs where program_id = ${ctx.programId} and slug_key = ${slugKey(name)}
        union all select id from partners where program_id = ${ctx.programId} and lower(email) = lower(${name}) limit 1`,
    ),
  );
  return found?.id ?? null;
}
