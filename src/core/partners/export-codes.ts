import { sql } from "drizzle-orm";
import { literal } from "../../db/client.ts";
import { columnsOf, selectRows, text, whole, type Row } from "../../db/rows.ts";
import { partnerCodes } from "../../db/schema.ts";
import { csvRecord, type CsvCell } from "../../domain/csv.ts";
import { commit } from "../kernel/commit.ts";
import { prove, type Caller, type Reader } from "../kernel/context.ts";
import type { PartnerCode } from "../kernel/rows.ts";

const STORED_ROW = { ...columnsOf(partnerCodes), partner_slug: text, partner_email: text };

type StoredRow = Row<typeof STORED_ROW>;

/** The file's columns for each column of the table, in order; an empty list leaves the column out. */
const OF_CODE: Record<keyof PartnerCode, [name: string, cell: (row: StoredRow) => CsvCell][]> = {
  id: [["code_id", (row) => row.id]],
  code: [["code", (row) => row.code]],
  provider: [["provider", (row) => row.provider]],
  provider_code_id: [["provider_code_id", (row) => row.provider_code_id]],
  partner_id: [
    ["partner_id", (row) => row.partner_id],
    ["partner_slug", (row) => row.partner_slug],
    ["partner_email", (row) => row.partner_email],
  ],
  created_at: [["created_at", (row) => row.created_at]],
  // These are equal in every row, or internal to the database.
  ...{ program_id: [], code_key: [], ended_at: [] },
};

const COLUMNS = Object.values(OF_CODE).flat();

const ROWS_PER_READ = 1_000;

/**
 * Exports the partners' current promotion codes as CSV (RFC 4180), by provider and code, in pieces of at most 1,000
 * rows: only one is in memory at a time. The event of the export is written, and the first piece read, before this
 * returns, so that a failure is an error reply, not a broken download.
 */
export async function exportCodes(caller: Caller): Promise<AsyncIterable<string>> {
  const [ctx, [counted], first] = await prove(
    caller,
    countRows(caller),
    selectExported(caller, { provider: "", code_key: "" }),
  );
  const payload = { list: "codes", count: counted?.count ?? 0 };
  await commit(ctx, { writes: [], occurrences: [{ type: "list.exported", payload }] });
  return pieces(ctx, first);
}

function countRows(ctx: Reader) {
  return selectRows(
    ctx.db,
    { count: whole },
    sql`select count(*) as "count" from partner_codes where program_id = ${ctx.programId} and ended_at is null`,
  );
}

async function* pieces(ctx: Reader, first: StoredRow[]): AsyncGenerator<string, void, undefined> {
  yield csvRecord(COLUMNS.map(([name]) => name));
  let rows = first;
  for (;;) {
    if (rows.length > 0) yield rows.map((row) => csvRecord(COLUMNS.map(([, cell]) => cell(row)))).join("");
    const last = rows.at(-1);
    if (!last || rows.length < ROWS_PER_READ) return;
    [rows] = await ctx.read(selectExported(ctx, last));
  }
}

function selectExported(ctx: Reader, after: { provider: string; code_key: string }) {
  return selectRows(
    ctx.db,
    STORED_ROW,
    sql`select k.*, p.slug as partner_slug, p.email as partner_email
      from partner_codes k cross join partners p on p.id = k.partner_id
      where k.program_id = ${ctx.programId} and k.ended_at is null
        and (k.provider, k.code_key) > (${after.provider}, ${after.code_key})
      order by k.provider, k.code_key limit ${literal(ROWS_PER_READ)}`,
  );
}
