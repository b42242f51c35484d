import { withoutApostrophe } from "./csv.ts";
import { isEdge, trimText } from "./invisible.ts";

/** A CSV line with the number of its first text line, counted from 1; a short line has fewer cells. */
export interface CsvLine {
  line: number;
  /** Never more cells than columns. */
  cells: string[];
  /** Why the cells cannot be assigned to columns with certainty; null if they can. */
  problem: string | null;
}

/** `lines` are the first ones below the column names; `count` is the number of all lines. */
export type CsvTable =
  | { ok: true; columns: string[]; lines: CsvLine[]; count: number }
  | { ok: false; message: string };

/**
 * Parses RFC 4180 with a head line. The separator is comma, semicolon or tab, the one that the head line has most of, or
 * the one in a line `sep=;` before it; quoted cells may contain separators and line ends. Blank lines are skipped,
 * cells are trimmed (`trimText`), and the apostrophe that keeps a spreadsheet from computing a cell is removed. If the
 * file has sections, each under its `[[NAME]]`, the first is read. Lines beyond `most` are counted, not kept.
 *
 * The work is linear in the text. The generator yields after each `SLICE` characters, so that other work can run in
 * between.
 */
export function* readCsvTable(text: string, most: number): Generator<void, CsvTable, void> {
  const records = new Records(text, insideOf(text), most);
  while (records.read(SLICE)) yield;
  return records.table();
}

/** Characters between two yields: a millisecond or two of work. */
const SLICE = 64 * 1024;

const MAX_COLUMNS = 200;

/** The bounds of the table in the text, and its separator. */
interface Inside {
  at: number;
  end: number;
  separator: string;
}

function insideOf(text: string): Inside {
  const blank = /^[\ufeff \t\r\n]*/.exec(text)?.[0].length ?? 0;
  let at = Math.max(text.lastIndexOf("\n", blank - 1), text.lastIndexOf("\r", blank - 1)) + 1;
  let line = lineAt(text, at);
  const given = /^[\ufeff \t]*sep=([^"\r\n])[ \t]*[\r\n]/i.exec(line)?.[1];
  if (given !== undefined) line = lineAt(text, (at += line.length));
  let end = text.length;
  if (/^\ufeff?\[\[[^\]\r\n]*\]\][^\r\n]*[\r\n]/.test(line)) {
    const next = text.slice((at += line.length)).search(/^\[\[[^\]\r\n]*\]\]/m);
    if (next >= 0) end = at + next;
    line = lineAt(text, at);
  }
  return { at, end, separator: given ?? separatorOf(line) };
}

/** The line that begins here, with its end. */
function lineAt(text: string, at: number): string {
  const found = /[^\r\n]*(?:\r\n?|\n)?/y;
  found.lastIndex = at;
  return found.exec(text)?.[0] ?? "";
}

function separatorOf(head: string): string {
  const counts = new Map([",", ";", "\t"].map((separator) => [separator, 0]));
  for (const character of head) {
    const count = counts.get(character);
    if (count !== undefined) counts.set(character, count + 1);
  }
  return [...counts].reduce((best, each) => (each[1] > best[1] ? each : best))[0];
}

/** Before a cell's content, in an unquoted one, in quotes, after a quote that may close, or after a closed cell. */
type State = "before" | "plain" | "quoted" | "quote" | "behind";

const QUOTE = 0x22;
const LF = 0x0a;
const CR = 0x0d;

/** Parses the text character by character; each is visited once, and each cell is cut out once. */
class Records {
  readonly #text: string;
  readonly #end: number;
  readonly #separator: number;
  readonly #most: number;
  #at: number;
  #state: State = "before";
  /** Line numbers: of the line being read, and of the first line of its record. */
  #line: number;
  #began: number;
  /** The start of the cell's content, and its end if a quote closed it. */
  #from: number;
  #to: number | null = null;
  #cells: string[] = [];
  #cellCount = 0;
  #isBlank = true;
  #problem: string | null = null;
  #columns: string[] | null = null;
  #columnCount = 0;
  #headProblem: string | null = null;
  readonly #lines: CsvLine[] = [];
  #count = 0;

  constructor(text: string, { at, end, separator }: Inside, most: number) {
    this.#text = text;
    this.#end = end;
    this.#separator = separator.charCodeAt(0);
    this.#most = most;
    this.#at = at;
    this.#from = at;
    this.#line = 1 + lineEndsBefore(text, at);
    this.#began = this.#line;
  }

  /** Reads `amount` more characters; false at the end. */
  read(amount: number): boolean {
    const stop = Math.min(this.#at + amount, this.#end);
    for (; this.#at < stop; this.#at++) this.#take(this.#text.charCodeAt(this.#at));
    if (stop < this.#end) return true;
    if (this.#state !== "quoted") this.#endRecord();
    return false;
  }

  table(): CsvTable {
    if (this.#state === "quoted") return { ok: false, message: "A quoted cell is not closed." };
    if (!this.#columns) return { ok: false, message: "The file is empty." };
    if (this.#columnCount > MAX_COLUMNS) {
      return { ok: false, message: `The file has ${this.#columnCount} columns; the limit is ${MAX_COLUMNS}.` };
    }
    if (this.#headProblem !== null) return { ok: false, message: this.#headProblem };
    return { ok: true, columns: this.#columns, lines: this.#lines, count: this.#count };
  }

  #take(code: number): void {
    if (code === LF) this.#line++;
    if (this.#state === "quoted") {
      if (code !== QUOTE) return;
      this.#to = this.#at;
      this.#state = "quote";
    } else if (code === this.#separator) {
      this.#endCell();
    } else if (code === LF || (code === CR && this.#text.charCodeAt(this.#at + 1) !== LF)) {
      if (code === CR) this.#line++;
      this.#endRecord();
    } else if (this.#state === "before") {
      if (code === QUOTE) {
        this.#from = this.#at + 1;
        this.#state = "quoted";
      } else if (!isEdge(code)) this.#state = "plain";
    } else if (this.#state === "quote" && code === QUOTE) {
      // A doubled quote: the cell goes on.
      this.#state = "quoted";
    } else if (this.#state !== "plain") {
      this.#state = "behind";
      if (!isEdge(code)) this.#problem ??= "A quote inside a quoted cell is not doubled.";
    }
  }

  #endCell(): void {
    const content = this.#state === "before" ? "" : this.#content();
    if (content !== "") this.#isBlank = false;
    if (this.#cellCount < (this.#columns?.length ?? MAX_COLUMNS)) this.#cells.push(content);
    else if (content !== "") this.#problem ??= "This line has more cells than there are columns.";
    this.#cellCount++;
    this.#from = this.#at + 1;
    this.#to = null;
    this.#state = "before";
  }

  #content(): string {
    const content = this.#text.slice(this.#from, this.#to ?? this.#at);
    const written = this.#to === null ? content : content.replaceAll('""', '"');
    return trimText(withoutApostrophe(trimText(written)));
  }

  #endRecord(): void {
    this.#endCell();
    if (!this.#isBlank) this.#keep();
    this.#began = this.#line;
    this.#cells = [];
    this.#cellCount = 0;
    this.#isBlank = true;
    this.#problem = null;
  }

  #keep(): void {
    if (this.#columns) {
      this.#count++;
      if (this.#count <= this.#most) {
        this.#lines.push({ line: this.#began, cells: this.#cells, problem: this.#problem });
      }
    } else {
      this.#columns = this.#cells;
      this.#columnCount = this.#cellCount;
      this.#headProblem = this.#problem;
    }
  }
}

function lineEndsBefore(text: string, end: number): number {
  let count = 0;
  for (let i = 0; i < end; i++) {
    const code = text.charCodeAt(i);
    if (code === LF || (code === CR && text.charCodeAt(i + 1) !== LF)) count++;
  }
  return count;
}
