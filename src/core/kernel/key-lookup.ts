/** Finds the program of an API key by the key's SHA-256, in the table that the key's form names. */
import { sql, type SQL } from "drizzle-orm";
import { literal, reusableStatement, type Database, type Statement } from "../../db/client.ts";
import { joinParts } from "../../db/parts.ts";
import { programs } from "../../db/schema.ts";
import { KEY_ID_CHARACTERS, KEY_ID_PREFIX } from "../../domain/actor.ts";
import { SCOPES, type Scope } from "../../domain/scope.ts";
import { iso } from "../../lib/time.ts";
import { PROGRAM_OBJECT, programFields, selectPrograms } from "./program-rows.ts";
import type { ApiKey, Program } from "./rows.ts";

export interface PresentedKey {
  hash: string;
  /** The scopes that this request needs, for a further key; null for the program's first key, which has every scope. */
  further: { needs: readonly Scope[] } | null;
}

/** The holder of a key. `key` is null for the program's first, which has no row of its own. */
export interface Holder {
  program: Program;
  key: FurtherKey | null;
}

export type FurtherKey = Pick<ApiKey, "id" | "name" | "scopes" | "expires_at" | "last_used_at">;

/** The statements and parts of statements that look a key up. */
export interface KeyLookup {
  /** The program's id; null if the key is unknown or has ended, or lacks a required scope. */
  programId: SQL;
  select: (db: Database) => Statement;
  /** Parses the rows of `select`. */
  holderIn: (rows: unknown) => Holder | undefined;
  /** One row: the holder's text and the `total`; no row for an unknown or ended key. */
  selectText: (total: SQL) => SQL;
  holderOf: (text: string) => Holder;
  /** A row if the key is unchanged, and the program as it was read. */
  selectSame: (holder: Holder) => SQL;
}

export function keyLookup(key: PresentedKey, now: number): KeyLookup {
  return key.further ? ofFurtherKey(key.hash, key.further.needs, iso(now)) : ofFirstKey(key.hash);
}

const programOfKey = reusableStatement((db) =>
  selectPrograms(db).where(sql`${programs.api_key_hash} = ${sql.placeholder("hash")}`),
);

function ofFirstKey(hash: string): KeyLookup {
  return {
    programId: sql`(select id from programs where api_key_hash = ${hash})`,
    select: (db) => programOfKey(db, { hash }),
    holderIn: (rows) => {
      const [program] = rows as Program[];
      return program && { program, key: null };
    },
    selectText: (total) => sql`select ${PROGRAM_OBJECT}, (${total}) from programs where api_key_hash = ${hash}`,
    holderOf: (text) => ({ program: JSON.parse(text) as Program, key: null }),
    selectSame: ({ program }) => sql`select 1 from programs
      where api_key_hash = ${hash} and id = ${program.id} and updated_at = ${program.updated_at}`,
  };
}

/** Whether a key can still be used. Access on its behalf is read with this condition and ends with it (ACCESS-12). */
export function isKeyInForce(program_id: SQL, key_id: SQL, now: number): SQL {
  return sql`(exists (select 1 from api_keys k where k.id = ${key_id} and k.program_id = ${program_id}
      and (k.expires_at is null or k.expires_at > ${iso(now)}))
    or ${key_id} = (select ${literal(KEY_ID_PREFIX)} || substr(f.api_key_hash, 1, ${literal(KEY_ID_CHARACTERS)})
      from programs f where f.id = ${program_id}))`;
}

type ValueOrPlace = string | ReturnType<typeof sql.placeholder>;

/** The characters of a SHA-256 in hexadecimal. */
const HASH_LENGTH = literal(64);

/** The program of a further, valid key. `given` packs the hash and time in one value, to spare parameters. */
function furtherProgram(given: ValueOrPlace, scoped = sql``): SQL {
  return sql`(select program_id from (select ${given} as given)
    cross join api_keys on hash = substr(given, 1, ${HASH_LENGTH})
    where (expires_at is null or expires_at > substr(given, ${HASH_LENGTH} + 1))${scoped})`;
}

/** The text of a `FurtherKey`. */
function furtherKey(hash: ValueOrPlace): SQL<string> {
  return sql`(select json_object('id', id, 'name', name, 'scopes', json(scopes), 'expires_at', expires_at,
    'last_used_at', last_used_at) from api_keys where hash = ${hash})`;
}

const holderOfFurtherKey = reusableStatement((db) => {
  const key = furtherKey(sql.placeholder("hash")).mapWith((text: string) => JSON.parse(text) as FurtherKey);
  return db
    .select({ ...programFields(), key: key.as("key") })
    .from(programs)
    .where(sql`${programs.id} = ${furtherProgram(sql.placeholder("given"))}`);
});

function ofFurtherKey(hash: string, needs: readonly Scope[], stamp: string): KeyLookup {
  const given = `${hash}${stamp}`;
  // A JSON list of the service's own words: each occurs unchanged, in quotes.
  const scoped = needs.map((scope) => sql` and instr(scopes, '"' || ${literal(scope)} || '"') > 0`);
  return {
    programId: furtherProgram(given, joinParts(scoped, sql``, SCOPES.length)),
    select: (db) => holderOfFurtherKey(db, { hash, given }),
    holderIn: (rows) => {
      const [found] = rows as (Program & { key: FurtherKey })[];
      if (!found) return undefined;
      const { key, ...program } = found;
      return { program, key };
    },
    selectText: (total) => sql`select '[' || ${PROGRAM_OBJECT} || ',' || ${furtherKey(hash)} || ']', (${total})
      from programs where id = ${furtherProgram(given)}`,
    holderOf: (text) => {
      const [program, key] = JSON.parse(text) as [Program, FurtherKey];
      return { program, key };
    },
    selectSame: ({ program }) => sql`select 1 from programs
      where id = ${furtherProgram(given)} and id = ${program.id} and updated_at = ${program.updated_at}`,
  };
}
