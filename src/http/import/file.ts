import type { ProgramCtx } from "../../core/context.ts";
import { importCustomers, judgeCustomers, type CustomerLine } from "../../core/customer-import.ts";
import { importPartners, judgePartners, MAX_IMPORT_LINES, type PartnerLine } from "../../core/partner-import.ts";
import { readCsvTable, type CsvLine } from "../../domain/csv-table.ts";
import {
  columnKey,
  matchColumns,
  type ImportField,
  type ImportKind,
  type MatchedColumn,
} from "../../domain/import-columns.ts";
import { importProduct, type ImportProductId } from "../../domain/import-product.ts";
import type { PartnerStatus } from "../../domain/partner.ts";
import type { ProviderName } from "../../domain/provider-name.ts";
import { readCustomerLine } from "./customer-line.ts";
import { readPartnerLine } from "./partner-line.ts";

/** What a file is and how it is to be read. */
export interface ImportOrder {
  kind: ImportKind;
  product: ImportProductId;
  /** The query parameter of the old links; without one, those of the product. */
  param: string | null;
  /** What a new partner is where the file tells no state. */
  status: PartnerStatus;
  /** Whose customer ids the file holds; null where their form tells it. */
  provider: ProviderName | null;
}

/** What the columns are to be taken for: of the columns of the file the field, null to leave it, undefined to match it. */
export type ChooseColumns = (columns: readonly string[]) => readonly (ImportField | null | undefined)[];

export const ROW_OUTCOMES = ["added", "completed", "unchanged", "left_out", "refused"] as const;
export type RowOutcome = (typeof ROW_OUTCOMES)[number];

/** What becomes of a line of the file, in words where nothing does. */
export interface ImportRow {
  line: number;
  outcome: RowOutcome;
  /** The column that is the reason, as the file calls it. */
  column: string | null;
  message: string | null;
  /** Whom the line is about, and whose: for people to find it again. */
  who: string;
  code: string;
}

/** A line as its reader gives it to core, or why it is not given on. */
export type ReadLine<T> =
  | { ok: true; value: T }
  | { ok: false; outcome: "left_out" | "refused"; field: ImportField | null; message: string };

export type JudgedFile =
  | { ok: false; message: string; columns: MatchedColumn[] }
  | { ok: true; columns: MatchedColumn[]; rows: ImportRow[]; carryOut: () => Promise<Done> };

/** How many partners or customers were really added and completed. */
export interface Done {
  added: number;
  completed: number;
}

/**
 * Reads a CSV as `order` says and tells line by line what importing it would do; `carryOut` does it. Good lines are
 * taken whatever the others are.
 */
export async function judgeFile(
  ctx: ProgramCtx,
  order: ImportOrder,
  csv: string,
  choose: ChooseColumns,
): Promise<JudgedFile> {
  const table = readCsvTable(csv);
  if (!table.ok) return { ok: false, message: table.message, columns: [] };
  const product = importProduct(order.product);
  const { columns, problem } = matchColumns(order.kind, product.columns, table.columns, choose(table.columns));
  if (problem !== null) return { ok: false, message: problem, columns };
  if (table.lines.length === 0) {
    return { ok: false, message: "There is no line below the column names.", columns };
  }
  if (table.lines.length > MAX_IMPORT_LINES) {
    const message = `That is ${table.lines.length} lines; at most ${MAX_IMPORT_LINES} at a time.`;
    return { ok: false, message, columns };
  }
  const params = order.param === null ? product.params : [order.param, ...product.params];
  const file = { order, params, statuses: product.statuses ?? {}, columns };
  return order.kind === "partners"
    ? judged(file, table.lines, readPartnerLine, {
        judge: (lines) => judgePartners(ctx, lines),
        carryOut: (lines) => importPartners(ctx, lines),
      })
    : judged(file, table.lines, readCustomerLine, {
        judge: (lines) => judgeCustomers(ctx, lines),
        carryOut: async (lines) => ({ ...(await importCustomers(ctx, lines)), completed: 0 }),
      });
}

/** What reading a line needs to know of its file. */
export interface ImportFile {
  order: ImportOrder;
  params: readonly string[];
  statuses: Readonly<Record<string, PartnerStatus>>;
  columns: readonly MatchedColumn[];
}

/** The cell of a field, empty where no column holds it; of several columns together. */
export type CellOf = (field: ImportField) => string;

interface CoreVerdict {
  line: number;
  verdict: "new" | "completed" | "known" | "kept" | "refused";
  field?: ImportField;
  message?: string;
}

const OUTCOMES: Record<CoreVerdict["verdict"], RowOutcome> = {
  new: "added",
  completed: "completed",
  known: "unchanged",
  kept: "left_out",
  refused: "refused",
};

async function judged<T extends PartnerLine | CustomerLine>(
  file: ImportFile,
  lines: readonly CsvLine[],
  read: (file: ImportFile, line: number, cell: CellOf) => ReadLine<T>,
  core: { judge: (lines: T[]) => Promise<CoreVerdict[]>; carryOut: (lines: T[]) => Promise<Done> },
): Promise<JudgedFile> {
  const places = placesOf(file);
  const readings = lines.map(({ line, cells }) => {
    const cell: CellOf = (field) =>
      (places.get(field) ?? [])
        .map((i) => cells[i] ?? "")
        .join(" ")
        .trim();
    return { line, cell, reading: read(file, line, cell) };
  });
  const good = readings.flatMap(({ reading }) => (reading.ok ? [reading.value] : []));
  const verdicts = new Map((good.length > 0 ? await core.judge(good) : []).map((each) => [each.line, each]));
  const rows = readings.map(({ line, cell, reading }): ImportRow => {
    const verdict = verdicts.get(line);
    const told = reading.ok ? verdict : reading;
    return {
      line,
      outcome: reading.ok ? OUTCOMES[verdict?.verdict ?? "refused"] : reading.outcome,
      column: columnOf(file, told?.field ?? null),
      message: told?.message ?? null,
      who: cell("email") || cell("customer_email") || cell("customer_id"),
      code: cell("code") || cell("partner_email"),
    };
  });
  return { ok: true, columns: [...file.columns], rows, carryOut: () => core.carryOut(good) };
}

/** In which columns each field stands; codes in the product's order, because the first becomes the slug. */
function placesOf({ order, columns }: ImportFile): Map<ImportField, number[]> {
  const own = (importProduct(order.product).columns[order.kind]?.code ?? []).map(columnKey);
  const rank = (i: number) => own.indexOf(columnKey(columns[i]?.column ?? "")) >>> 0;
  const places = new Map<ImportField, number[]>();
  for (const [i, { field }] of columns.entries()) {
    if (field !== null)
      places.set(
        field,
        [...(places.get(field) ?? []), i].toSorted((a, b) => rank(a) - rank(b)),
      );
  }
  return places;
}

function columnOf(file: ImportFile, field: ImportField | null): string | null {
  return file.columns.find((column) => field !== null && column.field === field)?.column ?? null;
}

/** How many lines come to each outcome. */
export function countRows(rows: readonly ImportRow[]): Record<RowOutcome, number> {
  const counts = { added: 0, completed: 0, unchanged: 0, left_out: 0, refused: 0 };
  for (const { outcome } of rows) counts[outcome]++;
  return counts;
}
