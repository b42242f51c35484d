import { sql, type SQL } from "drizzle-orm";
import { literal } from "../db/client.ts";
import { csvRecord, type CsvCell } from "../domain/csv.ts";
import { decimalAmount } from "../domain/currency.ts";
import type { PayoutStatus } from "../domain/payout.ts";
import type { ProgramCtx } from "./context.ts";
import type { Payout } from "./payout-rows.ts";

export const EXPORT_FORMATS = ["generic", "wallet"] as const;
export type ExportFormat = (typeof EXPORT_FORMATS)[number];

interface ExportRow extends Omit<Payout, "attempt" | "attempt_params" | "attempt_started_at" | "reconcile_at"> {
  partner_email: string;
  partner_slug: string;
  partner_name: string;
  payout_email: string | null;
  provider_a_account_id: string | null;
}

type Column = [name: string, cell: (row: ExportRow) => CsvCell];

/** Amounts as a decimal of the currency's own exponent, and in smallest units beside it. */
const COLUMNS: Record<ExportFormat, Column[]> = {
  generic: [
    ["payout_id", (row) => row.id],
    ["partner_id", (row) => row.partner_id],
    ["partner_email", (row) => row.partner_email],
    ["partner_name", (row) => row.partner_name],
    ["partner_slug", (row) => row.partner_slug],
    ["status", (row) => row.status],
    ["method", (row) => row.method],
    ["payout_email", (row) => row.payout_email],
    ["provider_a_account_id", (row) => row.provider_a_account_id],
    ["amount", (row) => decimalAmount(row.amount_cents, row.currency)],
    ["amount_cents", (row) => row.amount_cents],
    ["currency", (row) => row.currency],
    ["commission_count", (row) => row.commission_count],
    ["period_start", (row) => row.period_start],
    ["period_end", (row) => row.period_end],
    ["due_at", (row) => row.due_at],
    ["created_at", (row) => row.created_at],
    ["paid_at", (row) => row.paid_at],
    ["reference", (row) => row.reference],
    ["failure_code", (row) => row.failure_code],
  ],
  // What payout services take for a mass payment: to whom, how much, what for.
  wallet: [
    ["recipient_email", (row) => row.payout_email ?? row.partner_email],
    ["amount", (row) => decimalAmount(row.amount_cents, row.currency)],
    ["currency", (row) => row.currency],
    ["reference", (row) => row.id],
    ["recipient_name", (row) => row.partner_name],
    ["amount_cents", (row) => row.amount_cents],
  ],
};

const ROWS_PER_READ = 1_000;

/**
 * The program's payouts as CSV (RFC 4180), oldest first, in pieces of at most 1,000 rows: only one is held at a time.
 * `wallet` holds the payouts whose method is the wallet service, addressed to the partner's `payout_email`, else to its
 * e-mail. The first piece is read before this returns, so that a refusal is an answer and not a broken download.
 */
export async function exportPayouts(
  ctx: ProgramCtx,
  { status, format }: { status?: PayoutStatus | undefined; format: ExportFormat },
): Promise<AsyncIterable<string>> {
  const conditions = [
    ...(status ? [sql`y.status = ${status}`] : []),
    ...(format === "wallet" ? [sql`y.method = 'wallet'`] : []),
  ];
  const first = await readRows(ctx, conditions, "");
  return pieces(ctx, conditions, COLUMNS[format], first);
}

async function* pieces(
  ctx: ProgramCtx,
  conditions: SQL[],
  columns: Column[],
  first: ExportRow[],
): AsyncGenerator<string, void, undefined> {
  yield csvRecord(columns.map(([name]) => name));
  let rows = first;
  for (;;) {
    if (rows.length > 0) yield rows.map((row) => csvRecord(columns.map(([, cell]) => cell(row)))).join("");
    const last = rows.at(-1);
    if (!last || rows.length < ROWS_PER_READ) return;
    rows = await readRows(ctx, conditions, last.id);
  }
}

async function readRows(ctx: ProgramCtx, conditions: SQL[], after: string): Promise<ExportRow[]> {
  const where = sql.join([sql`y.program_id = ${ctx.programId}`, sql`y.id > ${after}`, ...conditions], sql` and `);
  const [rows] = await ctx.read(
    ctx.db.all<ExportRow>(sql`select y.id as id, y.program_id as program_id, y.partner_id as partner_id,
        y.amount_cents as amount_cents, y.currency as currency, y.status as status, y.method as method,
        y.period_start as period_start, y.period_end as period_end, y.due_at as due_at,
        y.commission_count as commission_count, y.reference as reference, y.failure_code as failure_code,
        y.failure_message as failure_message, y.created_at as created_at, y.paid_at as paid_at,
        y.updated_at as updated_at, p.email as partner_email, p.slug as partner_slug,
        trim(coalesce(p.first_name, '') || ' ' || coalesce(p.last_name, '')) as partner_name,
        p.payout_email as payout_email, p.provider_a_account_id as provider_a_account_id
      from payouts y cross join partners p on p.id = y.partner_id where ${where} order by y.id limit ${literal(ROWS_PER_READ)}`),
  );
  return rows;
}
