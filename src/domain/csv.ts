/** A cell: a person's text, a number of the service, an empty cell, or an exact value for machines. */
export type CsvCell = string | number | null | { exact: string };

/** One record of RFC 4180 with its CRLF, safe to open in a spreadsheet. */
export function csvRecord(cells: readonly CsvCell[]): string {
  return `${cells.map(csvCell).join(",")}\r\n`;
}

function csvCell(cell: CsvCell): string {
  if (cell === null) return "";
  const text =
    typeof cell === "object" ? cell.exact : typeof cell === "number" ? String(cell) : neutralizeFormula(cell);
  return NEEDS_QUOTES.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Separators of any locale, quotes, line ends, and outer blanks that a reader might trim. */
const NEEDS_QUOTES = /[",;|\r\n\t]|^\s|\s$/;

/** A plain decimal is not a formula. */
const DECIMAL = /^-?\d+(\.\d+)?$/;

/** The beginning of a formula for a spreadsheet, including full-width characters and leading blanks. */
const FORMULA = /^[\s\0]*[=+\-@\t\r\n＝＋－＠]/;

/** Removes the apostrophe that this module, like other CSV writers, puts before a formula. */
export function withoutApostrophe(text: string): string {
  return text.startsWith("'") && FORMULA.test(text.slice(1)) ? text.slice(1) : text;
}

/** Prefixes a text that begins like a formula with an apostrophe, so that a spreadsheet shows it unchanged. */
function neutralizeFormula(text: string): string {
  return FORMULA.test(text) && !DECIMAL.test(text) ? `'${text}` : text;
}
