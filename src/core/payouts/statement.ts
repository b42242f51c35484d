/** The statement of a payout: payer, payee, lines and numbers (OUT-32, OUT-34, OUT-35). */
import { and, eq, sql } from "drizzle-orm";
import { literal } from "../../db/client.ts";
import { cursorId, encodeCursor } from "../../db/page.ts";
import { columnsOf, selectRows, text } from "../../db/rows.ts";
import { payouts, payoutStatements, returnedLines } from "../../db/schema.ts";
import { maskText } from "../../domain/mask.ts";
import { documentNumber, vatOf, type Payer, type PayeeKind, type Vat } from "../../domain/tax.ts";
import { notFound } from "../../lib/errors.ts";
import { pick } from "../../resources/field.ts";
import { OF_STATEMENT } from "../../resources/payout.ts";
import { commit } from "../kernel/commit.ts";
import { prove, type Caller, type ProgramCtx, type Reader } from "../kernel/context.ts";
import type { Commission, Payout, Program } from "../kernel/rows.ts";
import { openTaxData, STORED_TAX_DATA } from "../kernel/tax-data.ts";
import { alsoOfProgram } from "../kernel/tenant.ts";
import { viewPayout } from "../kernel/views.ts";
import { selectPayouts } from "./hold.ts";
import { openRecipient } from "./recipient.ts";

/** The most lines in one reply, and on a page. */
export const MOST_LINES = 1_000;
/** The lines of one read for a file: each read sorts the payout again. */
const MOST_READ = 10_000;

/** Its amount is in the commission's currency; the payout's `source_amounts` convert the sum of each currency (OUT-39). */
export type StatementLine = Pick<Commission, "kind" | "amount_cents" | "currency" | "created_at"> & {
  commission_id: string;
};

/** The payee: with tax data as given, without them by the name that the payout has frozen. */
export interface Payee {
  name: string | null;
  address: string | null;
  country: string | null;
  kind: PayeeKind | null;
  tax_id: string | null;
}

/** All of a statement but its lines. Of a paid payout it never changes, except that a returned one is credited. */
export interface StatementHead {
  payout: Payout;
  payer: Payer;
  payee: Payee;
  invoice_number: string | null;
  credit_note_number: string | null;
  credited_at: string | null;
  /** Null without an invoice, and if it does not follow from the data (OUT-35). */
  vat: Vat | null;
}

export interface Statement extends StatementHead {
  /** Ordered by id, at most `MOST_LINES`. */
  lines: StatementLine[];
  /** Continues with the next lines; null on the last page. */
  next_cursor: string | null;
}

/** A statement as the API shows it (OUT-32). */
export function viewStatement({ payout, ...statement }: Statement) {
  return { payout_id: payout.id, ...pick(viewPayout(payout), OF_STATEMENT), ...statement };
}

/**
 * A page of a statement, from the cursor on. A caller with the scope `payouts` sees the payee's tax data, which is
 * an event `tax_data.read`; any other sees them masked. @throws `not_found`
 */
export async function readStatement(caller: Caller, id: string, cursor?: string): Promise<Statement> {
  const { ctx, ...statement } = await readPage(caller, id, cursorId({ cursor }, "commission") ?? "");
  const { payout, payee } = statement;
  if (!ctx.may("payouts")) return { ...statement, payee: maskPayee(payee) };
  if (payee.kind !== null) {
    const payload = { partner_id: payout.partner_id, payout_id: id };
    await commit(ctx, { writes: [], occurrences: [{ type: "tax_data.read", payload }] });
  }
  return statement;
}

/** The statement for the partner's own pages: in full, and no event. @throws `not_found` for another partner's */
export async function readOwnStatement(ctx: ProgramCtx, partner_id: string, id: string): Promise<Statement> {
  const { ctx: _, ...statement } = await readPage(ctx, id, "", partner_id);
  return statement;
}

/** The lines of a statement from its first page on, a page in memory at a time. */
export async function* statementLines(
  ctx: Reader,
  { payout, ...first }: Statement,
): AsyncGenerator<StatementLine[], void, undefined> {
  for (let page: Pick<Statement, "lines" | "next_cursor"> = first; ;) {
    yield page.lines;
    const after = page.lines.at(-1)?.commission_id;
    if (page.next_cursor === null || after === undefined) return;
    const [rows] = await ctx.read(selectLines(ctx, payout.id, after, MOST_READ));
    page = pageOf(rows, MOST_READ);
  }
}

async function readPage(
  caller: Caller,
  id: string,
  after: string,
  partner_id?: string,
): Promise<Statement & { ctx: ProgramCtx }> {
  const isOwn = partner_id === undefined ? sql`` : sql`and ${payouts.partner_id} = ${partner_id}`;
  const [ctx, [payout], [frozen], [stored], rows] = await prove(
    caller,
    selectPayouts(caller).where(sql`${payouts.id} = ${id} and ${alsoOfProgram(caller, payouts.program_id)} ${isOwn}`),
    caller.db
      .select()
      .from(payoutStatements)
      .where(and(eq(payoutStatements.payout_id, id), alsoOfProgram(caller, payoutStatements.program_id))),
    selectRows(
      caller.db,
      STORED_TAX_DATA,
      sql`select t.id as id, t.sealed as sealed from payouts p cross join partners r on r.id = p.partner_id
        left join payout_statements s on s.payout_id = p.id
        cross join tax_data t on t.id = iif(s.payout_id is null, r.tax_data_id, s.tax_data_id)
        where p.id = ${id} and +p.program_id = ${caller.programId}`,
    ),
    selectLines(caller, id, after),
  );
  if (!payout) throw notFound("payout");
  const payer = frozen?.payer ?? payerOf(ctx.program);
  const data = stored ? await openTaxData(ctx, stored) : null;
  const payee: Payee = data
    ? { name: data.legal_name, address: data.address, country: data.country, kind: data.kind, tax_id: data.tax_id }
    : { ...NO_DATA, name: (await openRecipient(ctx, payout))?.name || null };
  const numberOf = (series: "INV" | "CN", number: number | null | undefined) =>
    documentNumber(series, frozen?.prefix ?? "", number ?? null);
  const invoice_number = numberOf("INV", frozen?.invoice_number);
  return {
    ...{ ctx, payout, payer, payee, invoice_number, ...pageOf(rows) },
    credit_note_number: numberOf("CN", frozen?.credit_note_number),
    credited_at: frozen?.credited_at ?? null,
    vat: invoice_number === null ? null : vatOf(payer, data, payout.amount_cents),
  };
}

const NO_DATA = { address: null, country: null, kind: null, tax_id: null };

/** The payer of a payout that is not paid yet; the trigger `payouts_stated` freezes the same. */
function payerOf({ name, payer_name, payer_address, payer_country, payer_tax_id }: Program): Payer {
  return { name: payer_name ?? name, address: payer_address, country: payer_country, tax_id: payer_tax_id };
}

function maskPayee({ name, address, tax_id, ...open }: Payee): Payee {
  const mask = (text: string | null) => (text === null ? null : maskText(text));
  return { name: mask(name), address: mask(address), ...open, tax_id: mask(tax_id) };
}

const LINE = { ...columnsOf(returnedLines, "commission_id", "kind", "amount_cents", "created_at"), currency: text };

/**
 * The commissions of a payout, or of a returned one those that it had paid. One more than a page has, to see whether
 * another follows.
 */
function selectLines(ctx: Reader, payout_id: string, after: string, most = MOST_LINES) {
  return selectRows(
    ctx.db,
    LINE,
    sql`select c.id as commission_id, c.kind as kind, c.amount_cents as amount_cents, c.created_at as created_at,
          c.currency as currency
        from commissions c where c.payout_id = ${payout_id} and c.id > ${after}
          and ${alsoOfProgram(ctx, sql`c.program_id`)}
      union all
      select l.commission_id, l.kind, l.amount_cents, l.created_at, ifnull(l.currency, p.currency)
        from returned_lines l cross join payouts p on p.id = l.payout_id
        where l.payout_id = ${payout_id} and l.commission_id > ${after} and p.program_id = ${ctx.programId}
      order by 1 limit ${literal(most + 1)}`,
  );
}

function pageOf(rows: StatementLine[], most = MOST_LINES): Pick<Statement, "lines" | "next_cursor"> {
  const lines = rows.slice(0, most);
  const last = rows.length > most ? lines.at(-1) : undefined;
  return { lines, next_cursor: last ? encodeCursor(last.commission_id) : null };
}
