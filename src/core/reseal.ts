import { sql, type SQL } from "drizzle-orm";
import { literal, runBatch } from "../db/client.ts";
import type { Ctx } from "./context.ts";
import { everyShard } from "./shards.ts";

/** Where sealed values stand: `program` and `key` are the columns that name a row. */
interface SealedColumn {
  table: string;
  program: string;
  key: string;
  column: string;
}

const of = (table: string, program: string, key: string, ...columns: string[]): SealedColumn[] =>
  columns.map((column) => ({ table, program, key, column }));

/** Every column whose values are sealed; a test looks for values elsewhere. */
const SEALED: readonly SealedColumn[] = [
  ...of("programs", "id", "id", "provider_a_webhook_secret", "provider_a_webhook_secret_previous"),
  ...of("programs", "id", "id", "provider_b_webhook_secret", "provider_b_webhook_secret_previous"),
  ...of("programs", "id", "id", "provider_a_api_key"),
  ...of("webhook_endpoints", "program_id", "id", "secret", "secret_previous"),
  ...of("idempotency_keys", "program_id", "key", "body"),
];

/** Values of one call, and of one transaction: replies may be 100 KB each. */
export const RESEALED_AT_ONCE = 400;
const CHUNK = 25;
/** Of values that cannot be opened so many are named. */
const NAMED = 100;

/** A value that no configured key opens. */
export interface UnreadableSecret {
  program_id: string;
  /** `<table>.<column>` */
  field: string;
  /** The row: a program's or an endpoint's id, or an idempotency key. */
  id: string;
}

export interface Resealing {
  /** Sealed anew by this call. */
  resealed: number;
  /** Not under the present key yet; those that cannot be opened among them. */
  left: number;
  unreadable: UnreadableSecret[];
}

/** `resealSecrets` over every database of the deployment, `limit` values in all. */
export async function resealAll(ctx: Ctx, limit = RESEALED_AT_ONCE): Promise<Resealing> {
  const all: Resealing = { resealed: 0, left: 0, unreadable: [] };
  for (const on of everyShard(ctx)) {
    const one = await resealSecrets(on, limit - all.resealed);
    all.resealed += one.resealed;
    all.left += one.left;
    all.unreadable.push(...one.unreadable);
  }
  return { ...all, unreadable: all.unreadable.slice(0, NAMED) };
}

/**
 * Seals what an earlier key sealed under the present one, at most `limit` values of this database. Each value is
 * replaced only where it is still the one that was opened, so that a secret that is changed at the same moment wins, and
 * nothing is lost by a call that ends in the middle, is repeated, or runs twice at once. What cannot be opened is left
 * as it is and told of. When `left` is 0 no earlier key is needed any more.
 */
export async function resealSecrets(ctx: Pick<Ctx, "db" | "sealer">, limit: number): Promise<Resealing> {
  const mark = `${await ctx.sealer.keyId()}.`;
  const unreadable: UnreadableSecret[] = [];
  let resealed = 0;
  for (const place of SEALED) {
    let after: Row | undefined;
    do {
      if (resealed >= limit) break;
      const wanted = underEarlierKeys(place, mark, after, Math.min(CHUNK, limit - resealed));
      const [rows]: readonly [Row[]] = await runBatch(ctx.db, [ctx.db.all<Row>(wanted)]);
      after = rows.at(-1);
      const replacements: SQL[] = [];
      for (const row of rows) {
        const plain = await opened(ctx, row.sealed);
        if (plain === null) unreadable.push({ program_id: row.program_id, field: fieldOf(place), id: row.key });
        else replacements.push(replace(place, row, await ctx.sealer.seal(plain)));
      }
      const replaced = await runBatch(
        ctx.db,
        replacements.map((statement) => ctx.db.all(statement)),
      );
      resealed += replaced.flat().length;
    } while (after);
  }
  return { resealed, left: await countLeft(ctx, mark), unreadable: unreadable.slice(0, NAMED) };
}

interface Row {
  program_id: string;
  key: string;
  sealed: string;
}

/** The next values of a column that the present key did not seal, in the order of their rows. */
function underEarlierKeys(
  { table, program, key, column }: SealedColumn,
  mark: string,
  after: Row | undefined,
  limit: number,
): SQL {
  const [from, program_id, id, sealed] = [table, program, key, column].map((name) => sql.identifier(name));
  const rest = after ? sql`and (${program_id}, ${id}) > (${after.program_id}, ${after.key})` : sql``;
  return sql`select ${program_id} as program_id, ${id} as "key", ${sealed} as sealed from ${from}
    where ${sealed} is not null and substr(${sealed}, 1, ${mark.length}) <> ${mark} ${rest}
    order by ${program_id}, ${id} limit ${literal(limit)}`;
}

function replace({ table, program, key, column }: SealedColumn, row: Row, sealed: string): SQL {
  const name = sql.identifier(column);
  return sql`update ${sql.identifier(table)} set ${name} = ${sealed}
    where ${sql.identifier(program)} = ${row.program_id} and ${sql.identifier(key)} = ${row.key} and ${name} = ${row.sealed}
    returning 1 as done`;
}

async function opened(ctx: Pick<Ctx, "sealer">, sealed: string): Promise<string | null> {
  try {
    return await ctx.sealer.open(sealed);
  } catch {
    return null;
  }
}

async function countLeft(ctx: Pick<Ctx, "db">, mark: string): Promise<number> {
  const counts = SEALED.map(({ table, column }) => {
    const name = sql.identifier(column);
    return sql`(select count(*) from ${sql.identifier(table)}
      where ${name} is not null and substr(${name}, 1, ${mark.length}) <> ${mark})`;
  });
  const [[row]] = await runBatch(ctx.db, [
    ctx.db.all<{ count: number }>(sql`select ${sql.join(counts, sql` + `)} as "count"`),
  ]);
  return row?.count ?? 0;
}

function fieldOf({ table, column }: SealedColumn): string {
  return `${table}.${column}`;
}
