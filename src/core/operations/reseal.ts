import { sql, type SQL } from "drizzle-orm";
import { literal, runBatch } from "../../db/client.ts";
import { joinParts } from "../../db/parts.ts";
import { sealed, selectRows, text, whole, type Row } from "../../db/rows.ts";
import { rowOf, SEALED, type SealedField, type SealedPlace } from "../../db/sealed.ts";
import type { Sealed } from "../../lib/seal.ts";
import type { BaseCtx } from "../kernel/context.ts";
import { isSealedBy } from "../kernel/sealer.ts";
import { everyShard } from "../kernel/shards.ts";

/** The most values of one call, and of one transaction: replies may be 100 KB each. */
export const RESEALED_AT_ONCE = 400;
const CHUNK = 25;
/** The most unreadable values that a result names. */
const NAMED = 100;

/** A value that no configured key opens. */
export interface UnreadableSecret {
  program_id: string;
  field: SealedField;
  /** The row: a program's or an endpoint's id, or an idempotency key. */
  id: string;
}

export interface Resealing {
  /** The number of values that this call sealed again. */
  resealed: number;
  /** The number of values not yet sealed by the current key in the current form, unreadable ones included. */
  left: number;
  unreadable: UnreadableSecret[];
}

/** Runs `resealSecrets` on every database of the deployment, for `limit` values in total. */
export async function resealAll(ctx: BaseCtx, limit = RESEALED_AT_ONCE): Promise<Resealing> {
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
 * Seals with the current key the values that an earlier key sealed, or the current one in an earlier form: at most
 * `limit` values of this database. Each value is replaced only if it is still the one that was opened, so a concurrent
 * change of a secret wins, and a call that ends early, is repeated, or runs twice at once loses no value. Values that
 * cannot be opened stay as they are and are reported. When `left` is 0, no stored value needs an earlier key.
 */
export async function resealSecrets(ctx: Pick<BaseCtx, "db" | "sealer">, limit: number): Promise<Resealing> {
  const [mark, openable] = [await ctx.sealer.mark(), await ctx.sealer.openable()];
  const unreadable: UnreadableSecret[] = [];
  let resealed = 0;
  for (const field of FIELDS) {
    let after: SealedRow | undefined;
    do {
      if (resealed >= limit) break;
      const isWanted = notYetResealed(field, mark, isSealedBy(namesOf(field).column, openable));
      const wanted = rowsOf(field, isWanted, Math.min(CHUNK, limit - resealed), after);
      const [rows]: readonly [SealedRow[]] = await runBatch(ctx.db, [selectRows(ctx.db, SEALED_ROW, wanted)]);
      after = rows.at(-1);
      const replacements: SQL[] = [];
      for (const row of rows) {
        const place = placeOf(field, row);
        const plain = await ctx.sealer.openOrNull(row.sealed, place);
        if (plain === null) unreadable.push({ program_id: row.program_id, field, id: row.key });
        else replacements.push(replace(field, row, await ctx.sealer.seal(plain, place)));
      }
      const replaced = await runBatch(
        ctx.db,
        replacements.map((statement) => ctx.db.all(statement)),
      );
      resealed += replaced.flat().length;
    } while (after);
  }
  const left = await countLeft(ctx, mark);
  if (left > unreadable.length) unreadable.push(...(await sealedByOthers(ctx, mark, openable)));
  return { resealed, left, unreadable: unreadable.slice(0, NAMED) };
}

/** Selects the values that no configured key has sealed, without fetching them, however many there are. */
async function sealedByOthers(ctx: Pick<BaseCtx, "db">, mark: string, openable: readonly string[]) {
  const found = await runBatch(
    ctx.db,
    FIELDS.map((field) => {
      const isOthers = notYetResealed(field, mark, sql`not ${isSealedBy(namesOf(field).column, openable)}`);
      return selectRows(
        ctx.db,
        NAMED_ROW,
        sql`select program_id, "key" as id from (${rowsOf(field, isOthers, NAMED)})`,
      );
    }),
  );
  return found.flatMap((rows, i) => rows.map((row) => ({ ...row, field: FIELDS[i]! })));
}

const FIELDS = Object.keys(SEALED) as SealedField[];

const SEALED_ROW = { program_id: text, key: text, sealed };
const NAMED_ROW = { program_id: text, id: text };

type SealedRow = Row<typeof SEALED_ROW>;

function placeOf(field: SealedField, { program_id, key }: SealedRow): SealedPlace {
  const [table, column] = field.split(".");
  return { table, column, row: rowOf(SEALED[field], program_id, key) } as SealedPlace;
}

function namesOf(field: SealedField): Record<"table" | "column" | "program" | "own", SQL> {
  const [table, column] = field.split(".") as [string, string];
  const { program, own } = SEALED[field];
  const quoted = (name: string) => sql`${sql.identifier(name)}`;
  return { table: quoted(table), column: quoted(column), program: quoted(program), own: quoted(own) };
}

/** A condition: a value is not sealed by the current key in the current form, and `holds` is true. */
function notYetResealed(field: SealedField, mark: string, holds: SQL): SQL {
  const { column } = namesOf(field);
  return sql`${column} is not null and substr(${column}, 1, ${mark.length}) <> ${mark} and ${holds}`;
}

/** The next values of a column, in the order of their rows. */
function rowsOf(field: SealedField, which: SQL, limit: number, after?: SealedRow): SQL {
  const { table, column, program, own } = namesOf(field);
  const rest = after ? sql`and (${program}, ${own}) > (${after.program_id}, ${after.key})` : sql``;
  return sql`select ${program} as program_id, ${own} as "key", ${column} as sealed from ${table}
    where ${which} ${rest} order by ${program}, ${own} limit ${literal(limit)}`;
}

function replace(field: SealedField, row: SealedRow, sealed: Sealed): SQL {
  const { table, column, program, own } = namesOf(field);
  return sql`update ${table} set ${column} = ${sealed}
    where ${program} = ${row.program_id} and ${own} = ${row.key} and ${column} = ${row.sealed}
    returning 1 as done`;
}

async function countLeft(ctx: Pick<BaseCtx, "db">, mark: string): Promise<number> {
  const counts = FIELDS.map((field) => {
    const which = notYetResealed(field, mark, sql`true`);
    return sql`(select count(*) from ${namesOf(field).table} where ${which})`;
  });
  const [[row]] = await runBatch(ctx.db, [
    selectRows(ctx.db, { count: whole }, sql`select ${joinParts(counts, sql` + `, "different")} as "count"`),
  ]);
  return row?.count ?? 0;
}
