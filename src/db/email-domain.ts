import { sql, type SQL } from "drizzle-orm";
import type { SQLiteColumn } from "drizzle-orm/sqlite-core";

/** An address's domain in lower case, exactly as in the index of payments: another text would not use it. */
export function emailDomain(address: SQL | SQLiteColumn): SQL<string> {
  return sql`lower(substr(${address}, instr(${address}, '@') + 1))`;
}

/** The payments `p` in that index, by its own condition. */
export const NOBODYS = sql.raw(
  "p.customer_email is not null and (p.partner_id is null or coalesce(p.outcome, '') = 'partner_deactivated')",
);
