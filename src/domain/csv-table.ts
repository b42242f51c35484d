/** A line of a CSV table by its column names, with the number of the line it begins on, counted from 1. */
export interface CsvLine {
  line: number;
  cells: Record<string, string>;
}

export type CsvTable = { ok: true; columns: string[]; lines: CsvLine[] } | { ok: false; message: string };

/**
 * Reads RFC 4180 with a head line. Comma, semicolon or tab, whichever the head line has most of; quoted cells may hold
 * separators and line ends. Column names are compared in lower case with `_` for blanks. Blank lines are left out.
 */
export function readCsvTable(text: string): CsvTable {
  const separator = separatorOf(text);
  const records = readRecords(text.replace(/^\ufeff/, ""), separator);
  if (!records) return { ok: false, message: "A quoted cell is not closed." };
  const [head, ...rest] = records.filter(({ cells }) => cells.some((cell) => cell.trim() !== ""));
  if (!head) return { ok: false, message: "There is nothing in it." };
  const columns = head.cells.map((cell) =>
    cell
      .trim()
      .toLowerCase()
      .replaceAll(/[\s-]+/g, "_"),
  );
  const twice = columns.find((column, i) => column !== "" && columns.indexOf(column) !== i);
  if (twice !== undefined) return { ok: false, message: `The column ${twice} is there twice.` };
  const lines = rest.map(({ line, cells }) => ({
    line,
    cells: Object.fromEntries(columns.map((column, i) => [column, cells[i]?.trim() ?? ""])),
  }));
  return { ok: true, columns: columns.filter((column) => column !== ""), lines };
}

function separatorOf(text: string): string {
  const [head = ""] = text.split(/[\r\n]/, 1);
  const count = (separator: string) => head.split(separator).length;
  return [",", ";", "\t"].reduce((best, separator) => (count(separator) > count(best) ? separator : best));
}

/** Null where a quoted cell never ends. */
function readRecords(text: string, separator: string): { line: number; cells: string[] }[] | null {
  const records: { line: number; cells: string[] }[] = [];
  let line = 1;
  let record = { line, cells: [] as string[] };
  let cell = "";
  let quoted = false;
  for (let i = 0; i < text.length; i++) {
    const char = text[i] ?? "";
    if (char === "\n") line++;
    if (quoted) {
      if (char !== '"') cell += char;
      else if (text[i + 1] === '"') cell += text[++i];
      else quoted = false;
    } else if (char === '"' && cell.trim() === "") {
      cell = "";
      quoted = true;
    } else if (char === separator) {
      record.cells.push(cell);
      cell = "";
    } else if (char === "\n" || (char === "\r" && text[i + 1] !== "\n")) {
      if (char === "\r") line++;
      records.push({ ...record, cells: [...record.cells, cell] });
      record = { line, cells: [] };
      cell = "";
    } else if (char !== "\r") {
      cell += char;
    }
  }
  if (quoted) return null;
  records.push({ ...record, cells: [...record.cells, cell] });
  return records;
}
