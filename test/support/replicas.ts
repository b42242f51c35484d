/** A database with a copy that is behind: reads of sessions go to the copy, all else to the primary. */
import type { Bindings } from "../../src/env.ts";
import { databaseOn } from "./shards.ts";
import type { TestProgram } from "./program.ts";
import { callWith, watchDatabase, type Faults } from "./watched-database.ts";

export interface Replicated {
  bindings: Partial<Bindings>;
  /** What each session was opened with. */
  sessions: string[];
  primary: ReturnType<typeof watchDatabase>["roundTrips"];
  copy: ReturnType<typeof watchDatabase>["roundTrips"];
}

let served = 0;

/** As the platform spells one. */
export function bookmarkNumber(n: number): string {
  return `${n.toString(16).padStart(8, "0")}-00000000-00004c6d-${"0123456789abcdef".repeat(2)}`;
}

/**
 * The database of shard 0 with that of shard 1 as its copy, as the sessions of the platform show them: a bookmark is
 * served by whoever is new enough, here the primary.
 */
export function replicate(faults: { primary?: Faults; copy?: Faults } = {}): Replicated {
  const primary = watchDatabase(databaseOn(0), faults.primary);
  const copy = watchDatabase(databaseOn(1), faults.copy);
  const sessions: string[] = [];
  const withSession = (constraint = "first-unconstrained") => {
    sessions.push(constraint);
    const { binding } = constraint === "first-unconstrained" ? copy : primary;
    let told: string | null = null;
    return {
      prepare: (query: string) => binding.prepare(query),
      batch: async (statements: D1PreparedStatement[]) => {
        const results = await binding.batch(statements);
        told = bookmarkNumber(++served);
        return results;
      },
      getBookmark: () => told,
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

/** Brings what the copy has of a program up to now. */
export async function catchUp(program: TestProgram): Promise<void> {
  for (const [table, column] of [
    ["programs", "id"],
    ["partners", "program_id"],
    ["events", "program_id"],
  ] as const) {
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
