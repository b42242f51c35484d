/** Reads rows of the tests' database, and the journal's as the tables hold them. */
import { env } from "cloudflare:workers";
import type { JournalAccount } from "../../src/domain/journal.ts";

export interface Entry {
  id: string;
  commission_id: string;
  partner_id: string;
  currency: string;
  payout_id: string | null;
  from_account: JournalAccount;
  to_account: JournalAccount;
  amount_cents: number;
  posted_at: string;
  event_id: string | null;
}

export async function all<Row>(sql: string, ...values: unknown[]): Promise<Row[]> {
  const { results } = await env.DB.prepare(sql)
    .bind(...values)
    .all<Row>();
  return results;
}
