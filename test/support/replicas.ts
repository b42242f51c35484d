/** A database with a copy that is behind: reads of sessions go to the copy, all else to the primary. */
import type { Bindings } from "../../src/env.ts";
import { databaseOn } from "./shards.ts";
import type { TestProgram } from "./program.ts";
import { callWith, watchDatabase, type Faults } from "./watched-database.ts";

export interface Replicated {
  bindings: Partial<Bindings>;
  /** The bookmark that opened each session. */
  sessions: string[];
  primary: ReturnType<typeof watchDatabase>["roundTrips"];
  copy: ReturnType<typeof watchDatabase>["roundTrips"];
}

/** How far the primary is, and the copy: a place in their history is a number. */
let served = 0;
let copied = 0;

/** A bookmark in the platform's format. */
export function bookmarkNumber(n: number): string {
  return `${n.toString(16).padStart(8, "0")}-00000000-00004c6d-${"0123456789abcdef".repeat(2)}`;
}

/**
 * The database of shard 0 with that of shard 1 as its copy, as the platform's sessions behave: the copy serves a session
 * if it is as new as the session's bookmark, else the primary does, and the session returns the position of the one that
 * served.
 */
export function replicate(faults: { primary?: Faults; copy?: Faults } = {}): Replicated {
  const primary = watchDatabase(databaseOn(0), faults.primary);
  const copy = watchDatabase(databaseOn(1), faults.copy);
  const sessions: string[] = [];
  const withSession = (constraint = "first-unconstrained") => {
    sessions.push(constraint);
    const isCopy =
      constraint === "first-unconstrained" || (constraint !== "first-primary" && constraint <= bookmarkNumber(copied));
    const { binding } = isCopy ? copy : primary;
    let bookmark: string | null = null;
    return {
      prepare: (query: string) => binding.prepare(query),
      batch: async (statements: D1PreparedStatement[]) => {
        const results = await binding.batch(statements);
        bookmark = bookmarkNumber(isCopy ? copied : ++served);
        return results;
      },
      getBookmark: () => bookmark,
    };
  };
  const DB = new Proxy(primary.binding, {
    get: (target, name): unknown => (name === "withSession" ? withSession : Reflect.get(target, name)),
  });
  return {
    bindings: { DB, READ_REPLICATION: "on" },
    sessions,
    primary: primary.roundTrips,
    copy: copy.roundTrips,
  };
}

const TABLES = { programs: "id", partners: "program_id", events: "program_id" } as const;

/** Brings the copy's rows of a program up to date. */
export async function catchUp(program: TestProgram): Promise<void> {
  await copyRows(program, ["programs", "partners", "events"]);
  copied = served;
}

/** Advances the primary: the copy lacks its latest writes. */
export function leaveBehind(): void {
  served += 2;
}

/** Brings the copy to the program's key, but not to the primary's latest write. */
export async function catchUpToKey(program: TestProgram): Promise<void> {
  await copyRows(program, ["programs"]);
  copied = served - 1;
}

async function copyRows(program: TestProgram, tables: (keyof typeof TABLES)[]): Promise<void> {
  for (const table of tables) {
    const column = TABLES[table];
    const { results } = await databaseOn(0)
      .prepare(`select * from ${table} where ${column} = ?`)
      .bind(program.id)
      .all();
    for (const row of results) {
      const names = Object.keys(row);
      await databaseOn(1)
        .prepare(`insert or replace into ${table} (${names.join()}) values (${names.map(() => "?").join()})`)
        .bind(...Object.values(row))
        .run();
    }
  }
}

/** A call of the API with a program's key. */
export async function callAt<T>(
  { bindings }: Pick<Replicated, "bindings">,
  key: string,
  method: string,
  path: string,
  headers: Record<string, string> = {},
  body?: unknown,
) {
  return callWith<T>(bindings, path, {
    method,
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json", ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
}
