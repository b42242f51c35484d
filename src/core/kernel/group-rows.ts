import { and, getTableColumns, sql, type SQL } from "drizzle-orm";
import { groups } from "../../db/schema.ts";
import type { Reader } from "./context.ts";

/** A select of the program's groups, by name. */
export function selectGroups({ db, programId }: Reader, condition?: SQL) {
  return db
    .select({
      ...getTableColumns(groups),
      is_default: sql<boolean>`exists (select 1 from programs p
        where p.id = groups.program_id and p.default_group_id = groups.id)`.mapWith(Boolean),
      partner_count: sql<number>`coalesce((select l.count from list_counts l
        where l.program_id = groups.program_id and l.list = 'partner_groups' and l.state = groups.id), 0)`,
    })
    .from(groups)
    .where(and(sql`${groups.program_id} = ${programId}`, condition))
    .orderBy(sql`lower(${groups.name})`);
}
