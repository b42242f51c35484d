import { sql, type SQL } from "drizzle-orm";
import { literal } from "../../db/client.ts";
import { unionOf } from "../../db/parts.ts";
import { selectRows, text, textOf, whole } from "../../db/rows.ts";
import type { CandidateSource } from "../../domain/reference.ts";
import type { Outcome } from "../../domain/payment.ts";
import type { ProviderName } from "../../domain/provider-name.ts";
import type { Reader } from "./context.ts";

/** Unknown codes are searched in this many of the newest payments of each outcome, and this many codes are listed. */
export const UNKNOWN_AMONG = 500;

/** Outcomes of payments with a code that belongs to no partner, also beside an unknown reference (REF-2). */
export const OF_UNKNOWN_CODES: readonly Outcome[] = ["unknown_code", "unknown_ref"];

/** The source of each such code in the trace of its payment; the payment's candidates do not lead to a partner. */
export const CODE_SOURCE: CandidateSource = "promotion_code";

const SEEN = { provider: textOf<ProviderName>(), code: text, payments: whole, last_payment_id: text, last_at: text };

/** Selects each unknown code of the newest of these payments (`within`), with that payment's columns. */
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

/** The unknown codes in the newest of these payments, those of the newest payment first. */
export function seenCodes({ db, programId }: Pick<Reader, "db" | "programId">) {
  return selectRows(
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
