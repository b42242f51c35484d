import { sql } from "drizzle-orm";
import { partners } from "../../db/schema.ts";
import type { ProgramCtx } from "../kernel/context.ts";
import type { Partner } from "../kernel/rows.ts";

export type PartnerName = Pick<Partner, "id" | "email" | "slug" | "first_name" | "last_name" | "status">;

/** The program's partners with these ids, for lists that show who is meant; ids not found are left out. */
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
