/**
 * A database as commit 7ac3abf left it, before there was a journal: `before-journal.json` holds all rows of one program
 * that had 38 payments in every state, written by that version's own code, and an open transfer that the vendor had made,
 * of which the answer was lost (partner `transferring`). D1, D2 and D3 are mistakes of that version (partners `outlived`,
 * `reversed`, `split`).
 */
import { applyD1Migrations } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { meterDatabase } from "./metered-database.ts";
import recorded from "./before-journal.json?raw";

type Row = Record<string, string | number | null>;

const TABLES = JSON.parse(recorded) as Record<string, { columns: string[]; rows: Row[string][][] }>;

/** How many migrations that version has. */
const MIGRATIONS = 7;
/** What is in the texts of the rows wherever a copy has its own. */
const NAME = "grownstory";
/** Ids of the service that are a program's own (the program's is not among them), and ids of the vendors. */
const OWN = new RegExp(
  `((?:par|com|pmt|pay|evt|dlv)_[0-9a-z]{10})[0-9a-z]{4}([0-9a-z]{12})|([0-9a-f]{12}[0-9]{6})|${NAME}`,
  "g",
);
const ROWS_AT_ONCE = 400;

/** The partners whose rows that version left wrong. */
export const LEFT_WRONG = ["outlived", "reversed", "split"];

/** Empties the database and brings it to the schema of that version. */
export async function goBack(database: D1Database): Promise<void> {
  const { results } = await database
    .prepare(
      "select type, name from sqlite_master where type in ('table', 'view', 'trigger') and name not like '\\_cf%' escape '\\' and name not like 'sqlite%'",
    )
    .all<{ type: string; name: string }>();
  const drop = (type: string) => results.filter((one) => one.type === type).map(({ name }) => `drop ${type} "${name}"`);
  await database.batch(
    ["pragma defer_foreign_keys = on", ...drop("trigger"), ...drop("view"), ...drop("table")].map((sql) =>
      database.prepare(sql),
    ),
  );
  await applyD1Migrations(database, env.TEST_MIGRATIONS.slice(0, MIGRATIONS));
}

/** Brings it to the present schema, or to that of so many migrations, one after the other. */
export async function goOn(database: D1Database, migrations = env.TEST_MIGRATIONS.length): Promise<void> {
  for (let i = MIGRATIONS + 1; i <= migrations; i++) {
    await applyD1Migrations(database, env.TEST_MIGRATIONS.slice(0, i));
  }
}

/** A statement of a migration, and how many rows it read and wrote. */
export interface Migrated {
  migration: string;
  sql: string;
  rows: number;
}

/** Brings it to the present schema as `goOn` does. Gives what each statement took. */
export async function goOnMetered(database: D1Database): Promise<Migrated[]> {
  const migrated: Migrated[] = [];
  for (const { name, queries } of env.TEST_MIGRATIONS.slice(MIGRATIONS)) {
    const metered = meterDatabase(database, ({ rows_read, rows_written }, sql) => {
      migrated.push({ migration: name, sql, rows: rows_read + rows_written });
    });
    // As the platform's tool does it: what is applied is a row beside it.
    await metered.batch([
      ...queries.map((sql) => metered.prepare(sql)),
      metered.prepare("insert into d1_migrations (name) values (?)").bind(name),
    ]);
  }
  return migrated;
}

/** Fills it with so many copies of the program's rows, all in that one program. Gives the program's id. */
export async function fill(database: D1Database, copies: number): Promise<string> {
  for (const [table, { columns, rows }] of Object.entries(TABLES)) {
    const shared = table === "programs";
    const names = columns.join(", ");
    const values = columns.map((_, i) => `value ->> ${i}`).join(", ");
    const insert = database.prepare(`insert into ${table} (${names}) select ${values} from json_each(?)`);
    const all = Array.from({ length: shared ? 1 : copies }, (_, n) => rows.map((row) => copyOf(row, n))).flat();
    for (let at = 0; at < all.length; at += ROWS_AT_ONCE) {
      await insert.bind(JSON.stringify(all.slice(at, at + ROWS_AT_ONCE))).run();
    }
  }
  const { columns, rows } = TABLES["programs"]!;
  return String(rows[0]![columns.indexOf("id")]);
}

function copyOf(row: Row[string][], nth: number): Row[string][] {
  const digits = String(nth).padStart(4, "0");
  const text = JSON.stringify(row).replaceAll(OWN, (_, time?: string, rest?: string, vendors?: string) => {
    if (time !== undefined) return `${time}${digits}${rest}`;
    return vendors === undefined ? `${NAME}${nth}` : `${vendors}x${nth}`;
  });
  return JSON.parse(text) as Row[string][];
}
