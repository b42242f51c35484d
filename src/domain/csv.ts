/** A cell: a text of anybody's, a number of ours, nothing, or what a machine reads and must get as it is. */
export type CsvCell = string | number | null | { exact: string };

/** One record of RFC 4180, with its CRLF; safe to open in a spreadsheet. */
export function csvRecord(cells: readonly CsvCell[]): string {
  return `${cells.map(csvCell).join(",")}\r\n`;
}

function csvCell(cell: CsvCell): string {
  if (cell === null) return "";
  const text = typeof cell === "object" ? cell.exact : typeof cell === "number" ? String(cell) : neutral(cell);
  return NEEDS_QUOTES.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Separators of any locale, quotes, line ends, and blanks that a reader might trim. */
const NEEDS_QUOTES = /[",;|\r\n\t]|^\s|\s$/;

/** A plain decimal computes to itself. */
const DECIMAL = /^-?\d+(\.\d+)?$/;

/** What a spreadsheet takes for the beginning of a formula, in its full-width forms and after blanks as well. */
const FORMULA = /^[\s\0]*[=+\-@\t\r\n＝＋－＠]/;

/** A text without the apostrophe that this module, like others that write CSV, puts before a formula. */
export function withoutApostrophe(text: string): string {
  return text.startsWith("'") && FORMULA.test(text.slice(1)) ? text.slice(1) : text;
}

/** A text that begins like a formula gets an apostrophe before it, which makes a spreadsheet show it as it is. */
function neutral(text: string): string {
  return FORMULA.test(text) && !DECIMAL.test(text) ? `'${text}` : text;
}
