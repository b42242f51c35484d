import type { Caller } from "../../core/kernel/context.ts";
import { readStatement, statementLines, viewStatement, type Statement } from "../../core/payouts/statement.ts";
import { csvRecord, type CsvCell } from "../../domain/csv.ts";
import { decimalAmount } from "../../domain/currency.ts";
import { statementQuery } from "../queries.ts";
import { ok, route } from "../route.ts";
import { csvDownload } from "../download.ts";

/** `/api/v1/payouts/:id/statement` (OUT-32). */
export const statements = [
  route("GET /api/v1/payouts/:id/statement", {
    operation: "getPayoutStatement",
    tag: "Payouts",
    scope: ["read"],
    summary: "Get the statement of a payout",
    description:
      "Payer, payee and the commissions in it, with the number of the invoice. The payee's tax data are in full for a key with the scope `payouts`, which leaves an event `tax_data.read`; masked for any other.",
    query: statementQuery,
    reply: {
      ...ok("Statement", "The statement with at most 1,000 lines; with `format=csv` a file with all of them."),
      media_type: "text/csv",
    },
    errors: ["not_found"],
    handle: async ({ ctx, params, query: { format, cursor }, c }) => {
      if (format === "csv") return c.body(...statementReply(ctx, await readStatement(ctx, params.id)));
      return viewStatement(await readStatement(ctx, params.id, cursor));
    },
  }),
];

const COLUMNS = [
  ...["payout_id", "status", "paid_at", "reference", "invoice_number", "credit_note_number"],
  ...["payer_name", "payer_tax_id", "payee_name", "payee_tax_id"],
  ...["date", "commission_id", "kind", "amount", "amount_cents", "currency"],
  ...["rate", "rate_source", "rate_at", "converted", "converted_cents", "converted_currency"],
];

/** The empty cells of a conversion, in other lines. */
const NO_CONVERSION: CsvCell[] = Array.from({ length: 6 }, () => null);

async function* pieces(ctx: Caller, statement: Statement): AsyncGenerator<string, void, undefined> {
  const { payout, payer, payee, invoice_number, credit_note_number } = statement;
  const same: CsvCell[] = [
    ...[payout.id, payout.status, payout.paid_at, payout.reference, invoice_number, credit_note_number],
    ...[payer.name, payer.tax_id, payee.name, payee.tax_id],
  ];
  yield csvRecord(COLUMNS);
  for await (const lines of statementLines(ctx, statement)) {
    const records = lines.map(({ commission_id, kind, amount_cents, currency, created_at }) => [
      ...[...same, created_at, commission_id, kind],
      ...[decimalAmount(amount_cents, currency), amount_cents, currency],
      ...NO_CONVERSION,
    ]);
    if (records.length > 0) yield records.map(csvRecord).join("");
  }
  // The sum of each currency, converted.
  for (const part of payout.source_amounts ?? []) {
    yield csvRecord([
      ...[...same, null, null, "conversion"],
      ...[decimalAmount(part.amount_cents, part.currency), part.amount_cents, part.currency],
      ...[part.rate, part.rate_source, part.rate_at],
      ...[decimalAmount(part.converted_cents, payout.currency), part.converted_cents, payout.currency],
    ]);
  }
}

/** The lines of a statement as a file, for the API and the page. */
export function statementReply(ctx: Caller, statement: Statement) {
  return csvDownload(`statement-${statement.payout.id}`, pieces(ctx, statement));
}
