import type { Caller } from "../../core/kernel/context.ts";
import { importCustomers, previewCustomers } from "../../core/imports/customers.ts";
import type { CustomerLine } from "../../core/imports/customer-lines.ts";
import { importPartners, previewPartners, MAX_IMPORT_LINES } from "../../core/imports/partners.ts";
import type { Given, PartnerLine } from "../../core/imports/partner-lines.ts";
import { readCsvTable, type CsvLine } from "../../domain/csv-table.ts";
import { cellText } from "../../domain/import-cell.ts";
import {
  columnPlaces,
  isFurtherCode,
  matchColumns,
  type ColumnCells,
  type ImportField,
  type MatchedColumn,
} from "./columns.ts";
import { importProduct } from "./product.ts";
import { PARTNER_TEXTS } from "../../resources/partner.ts";
import { runInSlices, SliceCounter } from "../../lib/slices.ts";
import { hasExpectedForm, readCustomerLine } from "./customer-line.ts";
import type { ImportFile, ImportOrder, LineCells, NamedCell, ReadLine } from "./line.ts";
import { readPartnerLine } from "./partner-line.ts";
import type { ImportRow, ReadColumn, RowOutcome } from "./report.ts";

export type ChooseColumns = (columns: readonly string[]) => readonly (ImportField | null | undefined)[];

export type ImportedFile =
  | { ok: false; message: string; columns: MatchedColumn[] }
  | { ok: true; columns: ReadColumn[]; rows: ImportRow[] };

/**
 * Imports a CSV according to `order`, and reports the result of each line. A dry run reports the results that an import
 * would have. Good lines are imported even if others are bad. The work is done in slices.
 */
export async function importFile(
  caller: Caller,
  order: ImportOrder,
  csv: string,
  choose: ChooseColumns,
  isDryRun: boolean,
): Promise<ImportedFile> {
  const table = await runInSlices(readCsvTable(csv, MAX_IMPORT_LINES));
  if (!table.ok) return { ok: false, message: table.message, columns: [] };
  const product = importProduct(order.product);
  const chosen = choose(table.columns);
  const { columns, problem } = matchColumns(
    order.kind,
    product.columns,
    table.columns,
    columnCells(order, table.lines),
    chosen,
  );
  if (problem !== null) return { ok: false, message: problem, columns };
  if (table.count === 0) return { ok: false, message: "There is no line below the column names.", columns };
  if (table.count > MAX_IMPORT_LINES) {
    const message = `The file has ${table.count} lines; the limit is ${MAX_IMPORT_LINES} at a time.`;
    return { ok: false, message, columns };
  }
  const params = order.param === null ? product.params : [order.param, ...product.params];
  const places = columnPlaces(order.kind, product.columns, columns);
  const further = new Set(
    (order.kind === "partners" ? (places.get("code") ?? []) : [])
      .slice(1)
      .filter((i) => isFurtherCode(product.columns, columns[i]?.column ?? "")),
  );
  const file = { order, params, statuses: product.statuses ?? {}, columns, places, further };
  const rows =
    order.kind === "partners"
      ? await rowsOf(file, table.lines, readPartnerLine, (lines) =>
          isDryRun ? previewPartners(caller, lines, order.status) : importPartners(caller, lines, order.status),
        )
      : await rowsOf(file, table.lines, readCustomerLine, (lines) =>
          isDryRun ? previewCustomers(caller, lines) : importCustomers(caller, lines),
        );
  return { ok: true, columns: countUnread(columns, rows), rows };
}

function countUnread(columns: readonly MatchedColumn[], rows: readonly ImportRow[]): ReadColumn[] {
  const counts = new Map<string | null, number>();
  for (const { kind, column } of rows.flatMap(({ notes }) => notes)) {
    if (kind === "unread") counts.set(column, (counts.get(column) ?? 0) + 1);
  }
  return columns.map((each) => ({ ...each, unread: each.field === null ? 0 : (counts.get(each.column) ?? 0) }));
}

/** The longest text that can stand for an empty cell. */
const MAX_NOTHING = 40;

function columnCells(order: ImportOrder, lines: readonly CsvLine[]): ColumnCells {
  const filled = new Map<number, boolean[]>();
  const filledIn = (column: number) => {
    const known = filled.get(column);
    if (known) return known;
    const made = lines.map(({ cells }) => {
      const text = cells[column] ?? "";
      return text.length > MAX_NOTHING || (text !== "" && cellText(text) !== "");
    });
    filled.set(column, made);
    return made;
  };
  return {
    adds: (column, others) =>
      filledIn(column).some((isFilled, line) => isFilled && !others.some((other) => filledIn(other)[line])),
    holdsIds: (column) => lines.some(({ cells }) => hasExpectedForm(order, cellText(cells[column] ?? ""))),
  };
}

const FREE_TEXTS: ReadonlySet<ImportField> = new Set(["name", ...PARTNER_TEXTS]);

function cellsOf({ columns, places, further }: ImportFile, { line, cells }: CsvLine): LineCells {
  const each = (field: ImportField): NamedCell[] =>
    (places.get(field) ?? []).map((i) => {
      const text = cells[i] ?? "";
      return {
        column: columns[i]?.column ?? "",
        text: FREE_TEXTS.has(field) ? text : cellText(text),
        isFurther: further.has(i),
      };
    });
  const cell = (field: ImportField) =>
    each(field)
      .flatMap(({ text }) => text || [])
      .join(", ");
  const columnOf = (field: ImportField) => {
    const own = each(field);
    return (own.find(({ text }) => text !== "") ?? own[0])?.column ?? null;
  };
  return { line, cell, each, columnOf };
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
  const readings = await runInSlices(readLines(file, lines, read));
  const good = readings.flatMap(({ reading }) => (reading.ok ? [reading.value] : []));
  const verdicts = new Map((good.length > 0 ? await core(good) : []).map((each) => [each.line, each]));
  return runInSlices(reportLines(readings, verdicts));
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
      problem === null ? read(file, cells) : { ok: false, outcome: "refused", column: null, message: problem };
    readings.push({ cells, reading });
    if (slice.add(LINE_WORK + line.cells.reduce((sum, text) => sum + text.length, 0))) yield;
  }
  return readings;
}

/** The most characters of a line's cells that are read, far more than they need: a slice of work ends between lines. */
const MAX_LINE_LENGTH = 16 * 1024;

function tooLong({ places }: ImportFile, { cells }: CsvLine): string | null {
  const length = [...places.values()].flat().reduce((sum, i) => sum + (cells[i]?.length ?? 0), 0);
  return length > MAX_LINE_LENGTH ? `Its cells have ${length} characters; the limit is ${MAX_LINE_LENGTH}.` : null;
}

/** The cost of reading a line in the unit of `SliceCounter`, mostly for the check of its fields by a schema. */
const LINE_WORK = 500;

function* reportLines(
  readings: readonly Reading<unknown>[],
  verdicts: ReadonlyMap<number, CoreVerdict>,
): Generator<void, ImportRow[], void> {
  const slice = new SliceCounter();
  const rows: ImportRow[] = [];
  for (const { cells, reading } of readings) {
    rows.push(rowOf(cells, reading, verdicts.get(cells.line)));
    if (slice.add(LINE_WORK)) yield;
  }
  return rows;
}

function rowOf(
  { line, cell, columnOf }: LineCells,
  reading: ReadLine<unknown>,
  verdict: CoreVerdict | undefined,
): ImportRow {
  const who = shown(cell("email") || cell("customer_email") || cell("customer_id"));
  const code = shown(cell("code") || cell("partner_email"));
  if (!reading.ok) {
    const { outcome, message, column } = reading;
    return { line, outcome, column, message, notes: [], gives: NOTHING, who, code };
  }
  return {
    line,
    outcome: OUTCOMES[verdict?.verdict ?? "refused"],
    column: verdict?.field === undefined ? null : columnOf(verdict.field),
    message: verdict?.message ?? null,
    gives: verdict?.gives ?? NOTHING,
    notes: reading.notes.filter((note) => note.kind === "unread" || verdict?.fills?.includes(note.of)),
    who,
    code,
  };
}

/** No e-mail address is longer. */
const MAX_SHOWN = 320;

/** The part of a cell that people need to find its line again. */
function shown(text: string): string {
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN).toWellFormed()}…` : text;
}

export function countRows(rows: readonly ImportRow[]): Record<RowOutcome, number> {
  const counts = { added: 0, completed: 0, unchanged: 0, left_out: 0, refused: 0 };
  for (const { outcome } of rows) counts[outcome]++;
  return counts;
}
