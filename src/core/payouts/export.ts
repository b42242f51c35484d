import { sql, type SQL } from "drizzle-orm";
import { literal } from "../../db/client.ts";
import { joinParts } from "../../db/parts.ts";
import { columnsOf, nullable, selectRows, text, whole, type Row } from "../../db/rows.ts";
import { payouts } from "../../db/schema.ts";
import { csvRecord, type CsvCell } from "../../domain/csv.ts";
import { decimalAmount, walletAmount } from "../../domain/currency.ts";
import type { PayoutStatus } from "../../domain/payout.ts";
import type { Recipient } from "../../domain/recipient.ts";
import { invalidField } from "../../lib/errors.ts";
import { commit } from "../kernel/commit.ts";
import { prove, type Caller, type ProgramCtx, type Reader } from "../kernel/context.ts";
import { isSealedBy } from "../kernel/sealer.ts";
import { heldUntil, isHeld } from "./hold.ts";
import { openRecipient } from "./recipient.ts";

export const EXPORT_FORMATS = ["generic", "wallet"] as const;
export type ExportFormat = (typeof EXPORT_FORMATS)[number];

export interface Export {
  format: ExportFormat;
  status?: PayoutStatus | undefined;
  currency?: string | undefined;
}

const STORED_ROW = {
  ...columnsOf(payouts),
  source_amounts: nullable(text),
  ...{ partner_email: text, partner_slug: text, held_until: nullable(text) },
};

type StoredRow = Row<typeof STORED_ROW>;

/** `to`: the recipient as it was frozen. No file contains the partner's present name and details. */
interface ExportRow extends StoredRow {
  to: Recipient | null;
}

type Column = [name: string, cell: (row: ExportRow) => CsvCell];

/** The file with everything: the recipient as frozen, in full; amounts as decimals beside smallest units. */
const EVERYTHING: Column[] = [
  ["payout_id", (row) => row.id],
  ["partner_id", (row) => row.partner_id],
  ["partner_email", (row) => row.partner_email],
  ["partner_name", (row) => row.to?.name ?? null],
  ["partner_slug", (row) => row.partner_slug],
  ["status", (row) => row.status],
  ["method", (row) => row.method],
  ["payout_email", (row) => row.to?.payout_email ?? null],
  ["provider_a_account_id", (row) => row.to?.provider_a_account_id ?? null],
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
  ["held_until", (row) => row.held_until],
];

const TO: Column[] = [
  // A changed address, even by an apostrophe, would be another person's. An address cannot be a harmful formula.
  ["recipient_email", (row) => (row.to?.payout_email ? { exact: row.to.payout_email } : null)],
  ["amount", (row) => walletAmount(row.amount_cents, row.currency)],
  ["currency", (row) => row.currency],
  ["reference", (row) => row.id],
];

const COLUMNS: Record<ExportFormat | "upload", Column[]> = {
  generic: EVERYTHING,
  wallet: [...TO, ["recipient_name", (row) => row.to?.name ?? null], ["amount_cents", (row) => row.amount_cents]],
  // The note is typed at the upload.
  upload: [...TO, ["note", () => null], ["wallet", () => "PAYPAL"]],
};

const ROWS_PER_READ = 1_000;

/** PayPal's limit of payouts in one file. */
const MOST_IN_UPLOAD = 5_000;

/** Whether a file can be uploaded unchanged: of one currency, without a header, within the service's limit (OUT-8). */
export function isUpload({ format, currency }: Export): boolean {
  return format === "wallet" && currency !== undefined;
}

/**
 * The program's payouts as CSV (RFC 4180), oldest first, in pieces of at most 1,000 rows: only one is in memory at a
 * time. The file for a payout service contains only the payouts that the service is still to pay: `pending` payouts of
 * its method with details that a key opens (OUT-8, ACCESS-7). The export's event is written, and the first piece read,
 * before this returns, so that a refusal is an answer and not a broken download. @throws `validation_failed` for a
 * status that no payout of the file can have.
 */
export async function exportPayouts(caller: Caller, wanted: Export): Promise<AsyncIterable<string>> {
  const { status, format, currency } = wanted;
  if (format !== "generic" && status !== undefined && status !== "pending") {
    throw invalidField("status", `A ${format} file only contains pending payouts.`);
  }
  const conditions = format === "wallet" ? await toWallets(caller) : [sql`y.program_id = ${caller.programId}`];
  if (status !== undefined) conditions.push(sql`y.status = ${literal(status)}`);
  if (currency !== undefined) conditions.push(sql`y.currency = ${currency}`);
  const [ctx, [counted], first] = await prove(
    caller,
    countRows(caller, conditions),
    selectExported(caller, conditions, ""),
  );
  const shape = isUpload(wanted)
    ? { columns: COLUMNS.upload, hasHeader: false, most: MOST_IN_UPLOAD }
    : { columns: COLUMNS[format], hasHeader: true, most: Infinity };
  const count = Math.min(counted?.count ?? 0, shape.most);
  const payload = { format, status: status ?? null, currency: currency ?? null, count };
  await commit(ctx, { writes: [], occurrences: [{ type: "payout.exported", payload }] });
  return pieces(ctx, conditions, shape, first);
}

/** Payouts that may be paid to wallets now (OUT-24), with details that a key opens: the mask in `recipient` outlives the key. */
async function toWallets({ programId, sealer, now }: Caller): Promise<SQL[]> {
  return [
    sql`not ${isHeld({ now }, "y")}`,
    sql`y.program_id = ${programId}`,
    ...[sql`y.status = 'pending'`, sql`y.method = 'wallet'`, sql`y.recipient is not null`],
    isSealedBy(sql`y.recipient_sealed`, await sealer.openable()),
  ];
}

interface Shape {
  columns: Column[];
  hasHeader: boolean;
  /** Rows: a multiple of the rows read at once. */
  most: number;
}

async function* pieces(
  ctx: ProgramCtx,
  conditions: SQL[],
  { columns, hasHeader, most }: Shape,
  first: StoredRow[],
): AsyncGenerator<string, void, undefined> {
  if (hasHeader) yield csvRecord(columns.map(([name]) => name));
  let rows = first;
  for (let read = ROWS_PER_READ; ; read += ROWS_PER_READ) {
    const opened = await Promise.all(rows.map(async (row) => ({ ...row, to: await openRecipient(ctx, row) })));
    if (rows.length > 0) yield opened.map((row) => csvRecord(columns.map(([, cell]) => cell(row)))).join("");
    const last = rows.at(-1);
    if (!last || rows.length < ROWS_PER_READ || read >= most) return;
    [rows] = await ctx.read(selectExported(ctx, conditions, last.id));
  }
}

function countRows(ctx: Reader, conditions: SQL[]) {
  return selectRows(
    ctx.db,
    { count: whole },
    sql`select count(*) as "count" from payouts y where ${joinParts(conditions, sql` and `, "different")}`,
  );
}

function selectExported(ctx: Reader, conditions: SQL[], after: string) {
  const where = joinParts([...conditions, sql`y.id > ${after}`], sql` and `, "different");
  return selectRows(
    ctx.db,
    STORED_ROW,
    sql`select y.*, p.email as partner_email, p.slug as partner_slug, ${heldUntil(ctx, "y")} as held_until
    from payouts y cross join partners p on p.id = y.partner_id where ${where} order by y.id
    limit ${literal(ROWS_PER_READ)}`,
  );
}
