/** A line of a CSV table with the number of the line it begins on, counted from 1; a short line has fewer cells. */
export interface CsvLine {
  line: number;
  cells: string[];
}

export type CsvTable = { ok: true; columns: string[]; lines: CsvLine[] } | { ok: false; message: string };

/**
 * Reads RFC 4180 with a head line. Comma, semicolon or tab, whichever the head line has most of, or what a line `sep=;`
 * before it says; quoted cells may hold separators and line ends. Blank lines are left out, cells trimmed. Of a file in
 * sections, each under its `[[NAME]]`, the first is read.
 */
export function readCsvTable(text: string): CsvTable {
  const { before, body, given } = insideOf(text);
  const records = readRecords(body, given ?? separatorOf(body));
  if (!records) return { ok: false, message: "A quoted cell is not closed." };
  const [head, ...rest] = records.filter(({ cells }) => cells.some((cell) => cell.trim() !== ""));
  if (!head) return { ok: false, message: "There is nothing in it." };
  const columns = head.cells.map((cell) => cell.trim());
  if (columns.length > MAX_COLUMNS) {
    return { ok: false, message: `That is ${columns.length} columns; at most ${MAX_COLUMNS} are read.` };
  }
  const lines = rest.map(({ line, cells }) => ({
    line: line + before,
    cells: cells.slice(0, columns.length).map((cell) => cell.trim()),
  }));
  return { ok: true, columns, lines };
}

const MAX_COLUMNS = 200;

const LINE_END = /\r\n?|\n/g;

/** The table itself, how many lines stand before it, and the separator if the file names it. */
function insideOf(text: string): { before: number; body: string; given: string | null } {
  const opening =
    /^\ufeff?(?:[ \t]*(?:\r\n?|\n))*(?:sep=(.)[ \t]*(?:\r\n?|\n))?(\[\[[^\]\r\n]*\]\][^\r\n]*(?:\r\n?|\n))?/i;
  const [found = "", given = null, section] = opening.exec(text) ?? [];
  const rest = text.slice(found.length);
  const end = section === undefined ? -1 : rest.search(/^\[\[[^\]\r\n]*\]\]/m);
  return { before: found.match(LINE_END)?.length ?? 0, body: end < 0 ? rest : rest.slice(0, end), given };
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
