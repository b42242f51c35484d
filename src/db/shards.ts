import { openDatabase, type Database } from "./client.ts";
import type { MAX_SHARD } from "../domain/shard.ts";

/** The database bindings: `DB` is shard 0, `DB_1` to `DB_31` are further ones if they are bound. */
export interface DatabaseBindings extends FurtherDatabases {
  DB: D1Database;
}

export type FurtherDatabases = { [Name in FurtherName]?: D1Database | undefined };

type Digit = "0" | "1" | "2" | "3" | "4" | "5" | "6" | "7" | "8" | "9";
type FurtherName = `DB_${Exclude<Digit, "0"> | `${"1" | "2"}${Digit}` | "30" | "31"}`;

/** The highest database number, from `domain/shard.ts`, of which only the type may be imported here. */
const LAST_SHARD: typeof MAX_SHARD = 31;

/** The database of a shard, or null if it is not bound: the only connection between programs and databases. */
export function databaseOf(bindings: DatabaseBindings, shard: number): Database | null {
  const binding = bindingOf(bindings, shard);
  return binding ? openDatabase(binding) : null;
}

/** @throws if the shard is not bound. */
export function databaseFor(bindings: DatabaseBindings, shard = 0): Database {
  const database = databaseOf(bindings, shard);
  if (!database) throw new Error(`the database of shard ${shard} is not bound`);
  return database;
}

/** The databases of a deployment, each opened on demand. */
export interface Databases {
  /** Bound shards, 0 first. */
  readonly shards: readonly number[];
  open(shard: number): Database | null;
}

export function databasesOf(bindings: DatabaseBindings): Databases {
  return {
    get shards() {
      return boundShards(bindings);
    },
    open: (shard) => databaseOf(bindings, shard),
  };
}

export function isBound(bindings: DatabaseBindings, shard: number): boolean {
  return bindingOf(bindings, shard) !== undefined;
}

export function boundShards(bindings: DatabaseBindings): number[] {
  return Array.from({ length: LAST_SHARD + 1 }, (_, shard) => shard).filter((shard) => isBound(bindings, shard));
}

/** The position in a database's history that its session returned last. */
export interface Bookmarked {
  db: Database;
  bookmark: () => string | null;
}

/** Opens a shard's database for reads at any replica as new as `after`. Its reads never go back in time. */
export function openForReads(bindings: DatabaseBindings, shard: number, after: string | null): Bookmarked | null {
  const session = bindingOf(bindings, shard)?.withSession(after ?? "first-unconstrained");
  if (!session) return null;
  return { db: openDatabase(session as unknown as D1Database), bookmark: () => session.getBookmark() };
}

/** Opens a shard's primary; transactions return a bookmark. One session each: a session may continue at a replica. */
export function openPrimary(bindings: DatabaseBindings, shard: number): Bookmarked | null {
  const binding = bindingOf(bindings, shard);
  if (!binding) return null;
  let last: string | null = null;
  const primary: Pick<D1Database, "prepare" | "batch"> = {
    prepare: (query) => binding.prepare(query),
    batch: async <T>(statements: D1PreparedStatement[]) => {
      const session = binding.withSession("first-primary");
      const results = await session.batch<T>(statements);
      // Of two concurrent ones the later to finish may have seen less; bookmarks sort by age.
      const reached = session.getBookmark();
      if (reached !== null && (last === null || reached > last)) last = reached;
      return results;
    },
  };
  return { db: openDatabase(primary as D1Database), bookmark: () => last };
}

function bindingOf(bindings: DatabaseBindings, shard: number): D1Database | undefined {
  return shard === 0 ? bindings.DB : bindings[`DB_${shard}` as FurtherName];
}
