/** D1 as the service sees it, on SQLite in this process. `test/simulate/stand-in.test.ts` compares their answers. */
import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite";

/** Limits of the platform. */
const MAX_PARAMETERS = 100;
const MAX_SQL_BYTES = 100_000;
const MAX_VALUE_BYTES = 2_000_000;

/** Carries out one call of the database when its turn comes. */
export type Gate = <T>(call: () => T) => Promise<T>;

/** Chance and time of a simulated run, in place of the database's own. */
export interface Played {
  random64(): bigint;
  randomBytes(length: number): Uint8Array;
  now(): number;
}

/** One call of the database, and the rows of each of its statements, or why it was refused. */
export interface Call {
  statements: { sql: string; values: unknown[] }[];
  rows: Record<string, unknown>[][] | null;
  error: string | null;
}

interface Bound {
  sql: string;
  values: SQLInputValue[];
  /** Whether a row is a list of its values: those of two columns of one name are two. */
  isRaw?: boolean;
}

interface Answer {
  results: Record<string, unknown>[];
  success: true;
  meta: Meta;
}

/** SQLite does not count the rows that a statement reads and writes as D1 does. */
class Meta {
  readonly changes: number;
  readonly size_after = 0;
  readonly last_row_id = 0;
  readonly duration = 0;

  constructor(changes: number) {
    this.changes = changes;
  }

  get rows_read(): never {
    throw new Error("the rows that a statement reads are counted in the Workers runtime alone");
  }

  get rows_written(): never {
    throw new Error("the rows that a statement writes are counted in the Workers runtime alone");
  }
}

/** Runs statements in one transaction. */
type Ask = (statements: readonly Bound[]) => Promise<Answer[]>;

interface Session {
  prepare(sql: string): Statement;
  batch(statements: readonly Statement[]): Promise<Answer[]>;
}

interface Binding extends Session {
  withSession(): Session & { getBookmark(): string };
}

function bindingOf(ask: Ask): Binding {
  const session: Session = { prepare: (sql) => new Statement(ask, sql), batch: ask };
  const bookmark = "00000000-00000000-00000000-00000000000000000000000000000000";
  return { ...session, withSession: () => ({ ...session, getBookmark: () => bookmark }) };
}

/** A statement as D1 gives it. */
class Statement implements Bound {
  readonly sql: string;
  readonly values: SQLInputValue[];
  readonly #ask: Ask;

  constructor(ask: Ask, sql: string, values: SQLInputValue[] = []) {
    this.#ask = ask;
    this.sql = sql;
    this.values = values;
  }

  bind(...values: unknown[]): Statement {
    return new Statement(this.#ask, this.sql, values.map(inputOf));
  }

  all(): Promise<Answer> {
    return this.#ask([this]).then(([answer]) => answer!);
  }

  run(): Promise<Answer> {
    return this.all();
  }

  async first(column?: string): Promise<unknown> {
    const [row] = (await this.all()).results;
    return row === undefined ? null : column === undefined ? row : row[column];
  }

  async raw(): Promise<unknown[][]> {
    const [answer] = await this.#ask([{ sql: this.sql, values: this.values, isRaw: true }]);
    return answer!.results as unknown as unknown[][];
  }
}

export class PlayedDatabase {
  readonly sqlite: DatabaseSync;
  readonly #prepared = new Map<string, { statement: StatementSync; hasRows: boolean; reads: boolean }>();
  readonly #begin: StatementSync;
  readonly #commit: StatementSync;
  readonly #gate: Gate;
  /** Is called for every call that is carried out. */
  onCall: ((call: Call) => void) | null = null;

  /** `at`: a migrated database, or the migrations of a new one in memory. */
  constructor(
    at: DatabaseSync | readonly string[],
    gate: Gate,
    played: (Pick<Played, "now"> & Partial<Played>) | null,
  ) {
    this.#gate = gate;
    this.sqlite = at instanceof DatabaseSync ? at : new DatabaseSync(":memory:");
    this.#begin = this.sqlite.prepare("begin immediate");
    this.#commit = this.sqlite.prepare("commit");
    if (played) {
      const { random64, randomBytes } = played;
      if (random64) this.sqlite.function("random", () => random64());
      if (randomBytes) this.sqlite.function("randomblob", (length) => randomBytes(Number(length)));
      this.sqlite.function("strftime", (format, instant) => written(format, instant, played.now()));
    }
    if (!(at instanceof DatabaseSync)) this.sqlite.exec(schemaOf(at));
  }

  /** Frees its memory at the end of its use. */
  close(): void {
    this.sqlite.close();
  }

  /** The same database for somebody whose calls set out when `ready` is. */
  behind(ready: () => Promise<unknown>): Binding {
    return bindingOf(async (statements) => {
      await ready();
      return this.ask(statements);
    });
  }

  /** As the service is bound to it. */
  get binding(): Binding {
    return bindingOf((statements) => this.ask(statements));
  }

  ask(statements: readonly Bound[]): Promise<Answer[]> {
    return this.#gate(() => this.#carryOut(statements));
  }

  /** Bypasses the gate, for checks that are not part of the run. */
  look<Row>(sql: string, ...values: SQLInputValue[]): Row[] {
    return this.#rowsOf({ sql, values }).results as Row[];
  }

  #carryOut(statements: readonly Bound[]): Answer[] {
    // One alone is a transaction of its own.
    const isOne = statements.length === 1;
    try {
      if (!isOne) this.#begin.run();
      const answers = statements.map((statement) => this.#rowsOf(statement));
      if (!isOne) this.#commit.run();
      this.#report(statements, answers, null);
      return answers;
    } catch (error) {
      if (this.sqlite.isTransaction) this.sqlite.exec("rollback");
      const failure = asD1(error);
      this.#report(statements, null, failure.message);
      throw failure;
    }
  }

  #report(bound: readonly Bound[], answers: Answer[] | null, error: string | null): void {
    if (!this.onCall) return;
    const statements = bound.map(({ sql, values }) => ({ sql, values }));
    const rows = answers?.map(({ results }, at) => (bound[at]!.isRaw ? this.#named(bound[at]!, results) : results));
    this.onCall({ statements, rows: rows ?? null, error });
  }

  /** Raw rows as objects: a call's record has one form. */
  #named({ sql }: Bound, rows: Record<string, unknown>[]): Record<string, unknown>[] {
    const names = this.#prepared
      .get(`raw ${sql}`)!
      .statement.columns()
      .map(({ name }) => name);
    return rows.map((row) => Object.fromEntries(names.map((name, at) => [name, row[at]])));
  }

  #rowsOf({ sql, values, isRaw = false }: Bound): Answer {
    if (values.length > MAX_PARAMETERS) throw new Error("too many SQL variables");
    if (values.some((value) => typeof value === "string" && isLonger(value, MAX_VALUE_BYTES))) {
      throw new Error("string or blob too big");
    }
    const key = isRaw ? `raw ${sql}` : sql;
    let prepared = this.#prepared.get(key);
    if (!prepared) {
      if (isLonger(sql, MAX_SQL_BYTES)) throw new Error("statement too long");
      const statement = this.sqlite.prepare(sql);
      const reads = READS.test(sql);
      statement.setReadBigInts(!reads);
      statement.setReturnArrays(isRaw);
      prepared = { statement, hasRows: statement.columns().length > 0, reads };
      this.#prepared.set(key, prepared);
    }
    const { statement, hasRows, reads } = prepared;
    const results = !hasRows ? [] : reads ? readRows(statement, values) : exactRows(statement, values);
    const changes = hasRows ? 0 : Number(statement.run(...values).changes);
    return {
      results,
      success: true,
      meta: new Meta(changes),
    };
  }
}

/** The schema after the migrations, as one text: made once, at a tenth of their cost. */
const schemas = new WeakMap<readonly string[], string>();

function schemaOf(migrations: readonly string[]): string {
  let schema = schemas.get(migrations);
  if (schema === undefined) schemas.set(migrations, (schema = dumped(migrations)));
  return schema;
}

function dumped(migrations: readonly string[]): string {
  const made = new DatabaseSync(":memory:");
  for (const migration of migrations) made.exec(migration);
  const all = (sql: string) => made.prepare(sql).all() as Record<string, string>[];
  const parts = all("select type, name, sql from sqlite_schema where sql is not null and name not like 'sqlite_%'");
  const tables = parts.filter(({ type }) => type === "table");
  const rows = [...tables, ...all("select name from sqlite_schema where name = 'sqlite_sequence'")].flatMap(
    ({ name }) => {
      const columns = all(`select name from pragma_table_info('${name}')`).map((column) => `"${column["name"]}"`);
      const values = columns.map((column) => `quote(${column})`).join(" || ', ' || ");
      return all(`select ${values} as row from "${name}"`).map(
        ({ row }) => `insert into "${name}" (${columns.join(", ")}) values (${row})`,
      );
    },
  );
  // Triggers last: the rows that migrations left are as they are.
  const others = parts.filter(({ type }) => type !== "table");
  made.close();
  return ["begin", ...tables.map(({ sql }) => sql), ...rows, ...others.map(({ sql }) => sql), "commit"].join(";\n");
}

/** Whether a statement certainly does not write; in doubt it writes. */
const READS = /^\s*(?:select|with)\b(?!.*\b(?:insert|update|delete|replace)\b)/is;

/** A UTF-16 unit has at most three bytes in UTF-8. */
function isLonger(text: string, bytes: number): boolean {
  return text.length * 3 > bytes && Buffer.byteLength(text) > bytes;
}

const clock = new DatabaseSync(":memory:").prepare("select strftime(?, ?, '+0 seconds') as text");

/** The value of `strftime` with two arguments; now is simulated. */
function written(format: SQLInputValue, instant: SQLInputValue, now: number): SQLInputValue {
  const at = instant === "now" ? new Date(now).toISOString() : instant;
  return clock.get(format, at)!["text"] as SQLInputValue;
}

/** D1 takes booleans, and binds every number as a real one, as `node:sqlite` does. */
function inputOf(value: unknown): SQLInputValue {
  if (typeof value === "boolean") return value ? 1 : 0;
  if (value === undefined) throw new Error("D1_TYPE_ERROR: Type 'undefined' not supported for value 'undefined'");
  return value as SQLInputValue;
}

/** D1's form of rows: numbers, of which the largest are inexact. */
function exactRows(statement: StatementSync, values: SQLInputValue[]): Record<string, unknown>[] {
  return statement.all(...values).map((row) => outputOf(row));
}

/** The same for reads, which can be repeated if a number is too large for Node. */
function readRows(statement: StatementSync, values: SQLInputValue[]): Record<string, unknown>[] {
  try {
    return statement.all(...values);
  } catch (error) {
    if ((error as { code?: string }).code !== "ERR_OUT_OF_RANGE") throw error;
    statement.setReadBigInts(true);
    const rows = exactRows(statement, values);
    statement.setReadBigInts(false);
    return rows;
  }
}

function outputOf(row: Record<string, unknown>): Record<string, unknown> {
  for (const name of Object.keys(row)) if (typeof row[name] === "bigint") row[name] = Number(row[name]);
  return row;
}

const CONSTRAINT = 19;

function asD1(error: unknown): Error {
  const { message, errcode } = error as { message: string; errcode?: number };
  const code = errcode !== undefined && (errcode & 0xff) === CONSTRAINT ? "SQLITE_CONSTRAINT" : "SQLITE_ERROR";
  return new Error(`D1_ERROR: ${message}: ${code}`, { cause: new Error(`${message}: ${code}`) });
}
