/** Promotion codes that an import gives to many partners at once. */
import { getTableColumns, sql } from "drizzle-orm";
import { selectRows, text, textOf, whole } from "../../db/rows.ts";
import { partnerCodes } from "../../db/schema.ts";
import { codeKey, MAX_CODES } from "../../domain/code.ts";
import type { VendorName } from "../../domain/provider-name.ts";
import { newId } from "../../lib/id.ts";
import { iso } from "../../lib/time.ts";
import { markWaitingForCodes } from "../ledger/codes-given.ts";
import type { Occurrence, Write } from "../kernel/commit.ts";
import type { ProgramCtx, Reader } from "../kernel/context.ts";
import { refuseWhere } from "../kernel/races.ts";
import type { PartnerCode } from "../kernel/rows.ts";
import { codeCreated } from "./codes.ts";

interface Given {
  provider: VendorName;
  code: string;
}

/** Selects those of the codes that a partner has, with the partner. */
export function selectGiven(ctx: Reader, codes: readonly Given[]) {
  const keys = JSON.stringify(codes.map(({ provider, code }) => ({ provider, code_key: codeKey(code) })));
  return selectRows(
    ctx.db,
    { partner_id: text, provider: textOf<VendorName>(), code: text },
    sql`select distinct k.partner_id, k.provider, k.code from json_each(${keys}) j cross join partner_codes k
      on k.program_id = ${ctx.programId} and k.provider = j.value ->> 'provider' and k.code_key = j.value ->> 'code_key'
        and k.ended_at is null`,
  );
}

export function countGiven(ctx: Reader, partner_ids: readonly string[]) {
  return selectRows(
    ctx.db,
    { partner_id: text, n: whole },
    sql`select k.partner_id, count(*) as n from json_each(${JSON.stringify(partner_ids)}) j cross join partner_codes k
      on k.partner_id = j.value and +k.program_id = ${ctx.programId} and k.ended_at is null group by k.partner_id`,
  );
}

/**
 * Gives unassigned codes to partners, from now on; payments that waited for a code become its partner's when the job
 * settles them. The commit fails if a code is assigned by then, or if a partner would have too many.
 */
export function giveCodes(
  ctx: ProgramCtx,
  given: readonly (Given & { partner_id: string })[],
): { writes: Write[]; occurrences: Occurrence[] } {
  if (given.length === 0) return { writes: [], occurrences: [] };
  const codes = given.map(({ partner_id, provider, code }): PartnerCode => ({
    id: newId("code", ctx.now),
    program_id: ctx.program.id,
    partner_id,
    provider,
    code,
    code_key: codeKey(code),
    provider_code_id: null,
    created_at: iso(ctx.now),
    ended_at: null,
  }));
  const columns = Object.keys(getTableColumns(partnerCodes));
  const values = sql.raw(columns.map((column) => `value ->> '${column}'`).join(", "));
  const partner_ids = JSON.stringify([...new Set(given.map(({ partner_id }) => partner_id))]);
  return {
    writes: [
      {
        statement: ctx.db.run(sql`insert into partner_codes (${sql.raw(columns.join(", "))})
          select ${values} from json_each(${JSON.stringify(codes)})`),
        expect: codes.length,
      },
      refuseWhere(
        ctx,
        sql`exists (select 1 from json_each(${partner_ids}) j where (select count(*) from partner_codes
          where partner_id = j.value and ended_at is null) > ${MAX_CODES})`,
      ),
      ...markWaitingForCodes(ctx, codes),
    ],
    occurrences: codes.map(codeCreated),
  };
}
