import { sql } from "drizzle-orm";
import { literal } from "../../db/client.ts";
import { shaped, text, textOf, whole } from "../../db/rows.ts";
import type { ProviderName } from "../../domain/provider-name.ts";
import type { Reader } from "./context.ts";

/** The newest of the payments that wait for a code, among which unknown codes are looked for. */
export const UNKNOWN_AMONG = 500;

const SEEN = { provider: textOf<ProviderName>(), code: text, payments: whole, last_payment_id: text, last_at: text };

/** The codes that the newest waiting payments were made with, those of the newest first: nobody has them. */
export function seenCodes({ db, programId }: Pick<Reader, "db" | "programId">) {
  return shaped(
    db,
    SEEN,
    sql`select provider, ref as code, count(*) as payments, max(id) as last_payment_id, max(created_at) as last_at
      from (select id, provider, ref, created_at from payments where program_id = ${programId}
        and outcome = 'unknown_code' and ref is not null order by id desc limit ${literal(UNKNOWN_AMONG)})
      group by provider, lower(ref) order by last_payment_id desc`,
  );
}
