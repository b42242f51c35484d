import { sql, type SQL } from "drizzle-orm";
import { literal } from "../../db/client.ts";
import { unionOf } from "../../db/parts.ts";
import { shaped, text, textOf, whole } from "../../db/rows.ts";
import type { CandidateSource } from "../../domain/reference.ts";
import type { Outcome } from "../../domain/payment.ts";
import type { ProviderName } from "../../domain/provider-name.ts";
import type { Reader } from "./context.ts";

/** Unknown codes are looked for among so many of the newest payments of each outcome, and so many codes are listed. */
export const UNKNOWN_AMONG = 500;

/** The outcomes of payments with a code that nobody has: beside an unknown reference it is hidden by no outcome (REF-2). */
export const OF_UNKNOWN_CODES: readonly Outcome[] = ["unknown_code", "unknown_ref"];

/** What the trace of such a payment says of each of its codes; none of its candidates leads to a partner. */
export const CODE_SOURCE: CandidateSource = "promotion_code";

const SEEN = { provider: textOf<ProviderName>(), code: text, payments: whole, last_payment_id: text, last_at: text };

/** Each code that the newest of these payments (`within`: SQL about them) carry, with its payment's columns: a select. */
export function unknownCodes(programId: SQL, within: SQL = sql`true`): SQL {
  const newest = OF_UNKNOWN_CODES.map(
    (outcome) => sql`select * from (select id, provider, created_at, decision from payments
      where program_id = ${programId} and outcome = ${literal(outcome)} and ${within}
      order by id desc limit ${literal(UNKNOWN_AMONG)})`,
  );
  return sql`select newest.id as id, newest.provider as provider, newest.created_at as created_at, candidate.value ->> 'ref' as code
    from (${unionOf(newest, OF_UNKNOWN_CODES.length)}) newest cross join json_each(newest.decision, '$.candidates') candidate
    where candidate.value ->> 'source' = ${literal(CODE_SOURCE)}`;
}

/** The codes that the newest of these payments were made with, those of the newest first: nobody has them. */
export function seenCodes({ db, programId }: Pick<Reader, "db" | "programId">) {
  return shaped(
    db,
    SEEN,
    sql`select provider, code, count(*) as payments, max(id) as last_payment_id, max(created_at) as last_at
      from (${unknownCodes(programId)})
      group by provider, lower(code) order by last_payment_id desc limit ${literal(UNKNOWN_AMONG)}`,
  );
}

/** How many there are: a select. */
export function countUnknownCodes(programId: SQL): SQL {
  return sql`select count(*) from (select 1 from (${unknownCodes(programId)}) group by provider, lower(code))`;
}
