import { DatabaseSync } from "node:sqlite";

/** A trigger of the form that the platform is known to accept: one line, upper case, one `END`, without nesting. */
const KNOWN_TRIGGER = /^CREATE TRIGGER [^\n]* BEGIN [^\n]*; END;$/;

/**
 * The statements of a text, as the platform's query endpoint separates them. It searches for semicolons and keeps a
 * trigger together only in one form; any other trigger is sent in pieces, which fail as "incomplete input" (workers-sdk
 * #4998, #15178, #14991).
 */
export function statementsOf(sql: string, knowsTriggers = true): string[] {
  const statements: string[] = [];
  let left = sql.replaceAll(/^--.*$/gm, "");
  while (left.trim() !== "") {
    left = left.trimStart();
    const line = left.split("\n", 1)[0] ?? "";
    const isTrigger = knowsTriggers && KNOWN_TRIGGER.test(line.trimEnd()) && line.match(/\bEND\b/gi)?.length === 1;
    const length = isTrigger ? line.length : semicolonIn(left) + 1;
    statements.push(left.slice(0, length));
    left = left.slice(length);
  }
  return statements;
}

/** The position of the first semicolon outside of quotes, or the end of the text. */
function semicolonIn(text: string): number {
  let quote = "";
  for (const [at, character] of [...text].entries()) {
    if (quote === "" && character === ";") return at;
    if (quote === "" && "'\"`".includes(character)) quote = character;
    else if (character === quote) quote = "";
  }
  return text.length;
}

/** The platform's answer for a statement. */
interface StatementResult {
  results: unknown[];
  success: boolean;
  meta: { duration: number; rows_read: number; rows_written: number; size_after: number };
}

/** A D1 database: SQLite behind the platform's splitter. A text counts as a whole or not at all. */
export class PlayedDatabase {
  readonly uuid = crypto.randomUUID();
  readonly name: string;
  /** Whether the query endpoint keeps any trigger together. */
  knowsTriggers = true;
  /** Whether it answers that a statement failed without an error, for which wrangler ends with 0. */
  failsQuietly = false;
  readonly #sqlite = new DatabaseSync(":memory:");

  constructor(name: string) {
    this.name = name;
  }

  /**
   * The query endpoint.
   * @throws the message of SQLite; the text then has no effect.
   */
  query(sql: string): StatementResult[] {
    const meta = { duration: 1, rows_read: 0, rows_written: 0, size_after: 4096 };
    if (this.failsQuietly && /INSERT INTO \S*d1_migrations/.test(sql)) return [{ results: [], success: false, meta }];
    return this.#whole(() =>
      statementsOf(sql, this.knowsTriggers).map((statement) => ({
        results: this.#sqlite.prepare(statement).all(),
        success: true,
        meta: { duration: 1, rows_read: 1, rows_written: 1, size_after: 4096 },
      })),
    );
  }

  /** The import endpoint: a file goes to SQLite as it is. @throws as `query` */
  import(text: string): void {
    this.#whole(() => this.#sqlite.exec(text));
  }

  get tables(): string[] {
    const sql = "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name";
    return this.#sqlite
      .prepare(sql)
      .all()
      .map((row) => String(row["name"]));
  }

  /** The statement of every schema object, by name. */
  get schema(): string[] {
    const rows = this.#sqlite.prepare("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name").all();
    return rows.map((row) => String(row["sql"]));
  }

  /** The migrations that are noted, in their order. */
  get applied(): string[] {
    if (!this.tables.includes("d1_migrations")) return [];
    return this.#sqlite
      .prepare("SELECT name FROM d1_migrations ORDER BY id")
      .all()
      .map((row) => String(row["name"]));
  }

  #whole<T>(run: () => T): T {
    this.#sqlite.exec("BEGIN");
    try {
      const result = run();
      this.#sqlite.exec("COMMIT");
      return result;
    } catch (error) {
      this.#sqlite.exec("ROLLBACK");
      throw error;
    }
  }
}
