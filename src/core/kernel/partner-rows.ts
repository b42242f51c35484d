import { and, eq, sql } from "drizzle-orm";
import { partners } from "../../db/schema.ts";
import type { Reader } from "./context.ts";

/** Selects one partner of the program. */
export function selectPartner({ db, programId }: Pick<Reader, "db" | "programId">, id: string) {
  return db
    .select()
    .from(partners)
    .where(and(eq(partners.id, id), sql`${partners.program_id} = ${programId}`));
}
