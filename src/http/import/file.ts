import type { Caller } from "../../core/kernel/context.ts";
import { importCustomers, previewCustomers } from "../../core/imports/customers.ts";
import type { CustomerLine } from "../../core/imports/customer-lines.ts";
import { importPartners, previewPartners, MAX_IMPORT_LINES } from "../../core/imports/partners.ts";
import type { Given, PartnerLine } from "../../core/imports/partner-lines.ts";
import { readCsvTable, type CsvLine } from "../../domain/csv-table.ts";
import { columnPlaces, matchColumns, type ImportField, type MatchedColumn } from "../../domain/import-columns.ts";
import { importProduct } from "../../domain/import-product.ts";
import { inSlices, SliceCounter } from "../../lib/slices.ts";
import { readCustomerLine } from "./customer-line.ts";
import type { CellOf, ImportFile, ImportOrder, LineCells, ReadLine } from "./line.ts";
import { readPartnerLine } from "./partner-line.ts";

/** What the columns are to be taken for: of the columns of the file the field, null to leave it, undefined to match it. */
export type ChooseColumns = (columns: readonly string[]) => readonly (ImportField | null | undefined)[];

export const ROW_OUTCOMES = ["added", "completed", "unchanged", "left_out", "refused"] as const;
export type RowOutcome = (typeof ROW_OUTCOMES)[number];

/** The result of a line of the file, in words where it is nothing. */
export interface ImportRow {
  line: number;
  outcome: RowOutcome;
  /** The column that is the reason, as the file calls it. */
  column: string | null;
  message: string | null;
  /** Which of two values in the line was taken. */
  note: { column: string; message: string } | null;
  /** What the line's partner got beside their first slug. */
  gives: Given;
  /** The person in the line, and the partner: for people to find it again. */
  who: string;
  code: string;
}

export type ImportedFile =
  | { ok: false; message: string; columns: MatchedColumn[] }
  | { ok: true; columns: MatchedColumn[]; rows: ImportRow[] };

/**
 * Imports a CSV as `order` says, or in a dry run reports what importing it would do, line by line; where it is imported,
 * what really happened to each line. Good lines are taken whatever the others are. The work is done in slices.
 */
export async function importFile(
  caller: Caller,
  order: ImportOrder,
  csv: string,
  choose: ChooseColumns,
  isDryRun: boolean,
): Promise<ImportedFile> {
  const table = await inSlices(readCsvTable(csv, MAX_IMPORT_LINES));
  if (!table.ok) return { ok: false, message: table.message, columns: [] };
  const product = importProduct(order.product);
  const { columns, problem } = matchColumns(order.kind, product.columns, table.columns, choose(table.columns));
  if (problem !== null) return { ok: false, message: problem, columns };
  if (table.count === 0) return { ok: false, message: "There is no line below the column names.", columns };
  if (table.count > MAX_IMPORT_LINES) {
    const message = `That is ${table.count} lines; at most ${MAX_IMPORT_LINES} at a time.`;
    return { ok: false, message, columns };
  }
  const params = order.param === null ? product.params : [order.param, ...product.params];
  const places = columnPlaces(order.kind, product.columns, columns);
  const file = { order, params, statuses: product.statuses ?? {}, columns, places };
  const rows =
    order.kind === "partners"
      ? await rowsOf(file, table.lines, readPartnerLine, (lines) =>
          isDryRun ? previewPartners(caller, lines, order.status) : importPartners(caller, lines, order.status),
        )
      : await rowsOf(file, table.lines, readCustomerLine, (lines) =>
          isDryRun ? previewCustomers(caller, lines) : importCustomers(caller, lines),
        );
  return { ok: true, columns, rows };
}

function cellsOf({ columns, places }: ImportFile, { line, cells }: CsvLine): LineCells {
  const each: LineCells["each"] = (field) =>
    (places.get(field) ?? []).map((i) => ({ column: columns[i]?.column ?? "", text: cells[i] ?? "" }));
  const cell: CellOf = (field) =>
    each(field)
      .map(({ text }) => text)
      .join(" ")
      .trim();
  return { line, cell, each };
}

interface CoreVerdict {
  line: number;
  verdict: "new" | "completed" | "known" | "kept" | "refused";
  field?: ImportField;
  message?: string;
  fills?: readonly string[];
  gives?: Given;
}

const NOTHING: Given = { further_slugs: 0, promotion_codes: 0 };

const OUTCOMES: Record<CoreVerdict["verdict"], RowOutcome> = {
  new: "added",
  completed: "completed",
  known: "unchanged",
  kept: "left_out",
  refused: "refused",
};

async function rowsOf<T extends PartnerLine | CustomerLine>(
  file: ImportFile,
  lines: readonly CsvLine[],
  read: (file: ImportFile, cells: LineCells) => ReadLine<T>,
  core: (lines: T[]) => Promise<CoreVerdict[]>,
): Promise<ImportRow[]> {
  const readings = await inSlices(readLines(file, lines, read));
  const good = readings.flatMap(({ reading }) => (reading.ok ? [reading.value] : []));
  const verdicts = new Map((good.length > 0 ? await core(good) : []).map((each) => [each.line, each]));
  return inSlices(reportLines(file, readings, verdicts));
}

interface Reading<T> {
  cells: LineCells;
  reading: ReadLine<T>;
}

function* readLines<T>(
  file: ImportFile,
  lines: readonly CsvLine[],
  read: (file: ImportFile, cells: LineCells) => ReadLine<T>,
): Generator<void, Reading<T>[], void> {
  const slice = new SliceCounter();
  const readings: Reading<T>[] = [];
  for (const line of lines) {
    const cells = cellsOf(file, line);
    const problem = line.problem ?? tooLong(file, line);
    const reading: ReadLine<T> =
      problem === null ? read(file, cells) : { ok: false, outcome: "refused", field: null, message: problem };
    readings.push({ cells, reading });
    if (slice.add(LINE_WORK + line.cells.reduce((sum, text) => sum + text.length, 0))) yield;
  }
  return readings;
}

/** Characters of the cells that are read of one line, far more than they need: a slice of work ends between lines. */
const MAX_LINE_LENGTH = 16 * 1024;

function tooLong({ places }: ImportFile, { cells }: CsvLine): string | null {
  const length = [...places.values()].flat().reduce((sum, i) => sum + (cells[i]?.length ?? 0), 0);
  return length > MAX_LINE_LENGTH ? `Its cells have ${length} characters; at most ${MAX_LINE_LENGTH} are read.` : null;
}

/** Of reading one line, in the measure of `SliceCounter`: its fields are judged by a schema. */
const LINE_WORK = 500;

function* reportLines(
  file: ImportFile,
  readings: readonly Reading<unknown>[],
  verdicts: ReadonlyMap<number, CoreVerdict>,
): Generator<void, ImportRow[], void> {
  const slice = new SliceCounter();
  const rows: ImportRow[] = [];
  for (const { cells, reading } of readings) {
    rows.push(rowOf(file, cells, reading, verdicts.get(cells.line)));
    if (slice.add(LINE_WORK)) yield;
  }
  return rows;
}

function rowOf(
  file: ImportFile,
  { line, cell }: LineCells,
  reading: ReadLine<unknown>,
  verdict: CoreVerdict | undefined,
): ImportRow {
  const who = shown(cell("email") || cell("customer_email") || cell("customer_id"));
  const code = shown(cell("code") || cell("partner_email"));
  if (!reading.ok) {
    const { outcome, message, column = columnOf(file, reading.field) } = reading;
    return { line, outcome, column, message, note: null, gives: NOTHING, who, code };
  }
  const { note } = reading;
  return {
    line,
    outcome: OUTCOMES[verdict?.verdict ?? "refused"],
    column: columnOf(file, verdict?.field ?? null),
    message: verdict?.message ?? null,
    gives: verdict?.gives ?? NOTHING,
    note: note && verdict?.fills?.includes(note.of) ? { column: note.column, message: note.message } : null,
    who,
    code,
  };
}

/** No address is longer. */
const MAX_SHOWN = 320;

/** As much of a cell as people need to find its line again. */
function shown(text: string): string {
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN).toWellFormed()}…` : text;
}

function columnOf(file: ImportFile, field: ImportField | null): string | null {
  const [first] = field === null ? [] : (file.places.get(field) ?? []);
  return first === undefined ? null : (file.columns[first]?.column ?? null);
}

/** How many lines come to each outcome. */
export function countRows(rows: readonly ImportRow[]): Record<RowOutcome, number> {
  const counts = { added: 0, completed: 0, unchanged: 0, left_out: 0, refused: 0 };
  for (const { outcome } of rows) counts[outcome]++;
  return counts;
}
