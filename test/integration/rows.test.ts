/** The one place where rows of raw SQL get their types (`db/rows.ts`): in tests each row is compared with its shape. */
import { env } from "cloudflare:workers";
import { sql, type SQL } from "drizzle-orm";
import { describe, expect, it } from "vitest";
import { openDatabase, runBatch } from "../../src/db/client.ts";
import { amount, columnsOf, flag, nullable, selectRows, text, whole, type Shape } from "../../src/db/rows.ts";
import { programs } from "../../src/db/schema.ts";
import type { Cents } from "../../src/domain/money.ts";
import { makeProgram } from "../support/program.ts";

const db = openDatabase(env.DB);
const SHAPE = { id: text, note: nullable(text), n: whole, amount_cents: amount, flagged: flag };
const GOOD = sql`select 'a' as id, null as note, 3 as n, 5 as amount_cents, 1 as flagged`;

async function readBoth(shape: Shape, query: SQL) {
  const alone = await selectRows(db, shape, query);
  const [batched] = await runBatch(db, [selectRows(db, shape, query)]);
  expect(batched).toEqual(alone);
  return alone;
}

describe("the rows of a statement", () => {
  it("are of the shape that they are read by, alone and in a batch", async () => {
    const [row] = await selectRows(db, SHAPE, GOOD);
    const typed: { id: string; note: string | null; n: number; amount_cents: Cents; flagged: 0 | 1 } = row!;
    expect(await readBoth(SHAPE, GOOD)).toEqual([typed]);
    // @ts-expect-error -- a count is no amount
    const mixed: Cents = row!.n;
    expect(mixed).toBe(3);
    // @ts-expect-error -- a column that is not of the shape
    expect(row!.other).toBeUndefined();
  });

  it.each<[string, SQL]>([
    ["lacks a column", sql`select 'a' as id, null as note, 3 as n, 5 as amount_cents`],
    ["has one more", sql`select 'a' as id, null as note, 3 as n, 5 as amount_cents, 1 as flagged, 2 as more`],
    ["has another name", sql`select 'a' as id_, null as note, 3 as n, 5 as amount_cents, 1 as flagged`],
    ["is null where it may not be", sql`select null as id, null as note, 3 as n, 5 as amount_cents, 1 as flagged`],
    ["is a number for a text", sql`select 7 as id, null as note, 3 as n, 5 as amount_cents, 1 as flagged`],
    ["is a text for a number", sql`select 'a' as id, null as note, '3' as n, 5 as amount_cents, 1 as flagged`],
    ["is no condition", sql`select 'a' as id, null as note, 3 as n, 5 as amount_cents, 2 as flagged`],
  ])("fail a test where a row %s", async (_, query) => {
    await expect(selectRows(db, SHAPE, query)).rejects.toThrow("not of its shape");
    await expect(runBatch(db, [selectRows(db, SHAPE, query)])).rejects.toThrow("not of its shape");
  });

  it.each<[string, SQL]>([
    ["is no whole amount", sql`select 'a' as id, null as note, 3 as n, 0.5 as amount_cents, 1 as flagged`],
    ["is too large", sql`select 'a' as id, null as note, 3 as n, 9007199254740993 as amount_cents, 1 as flagged`],
  ])("are an error in service too where an amount %s (PAY-22)", async (_, query) => {
    await expect(selectRows(db, SHAPE, query)).rejects.toThrow("not an exact amount");
    await expect(runBatch(db, [selectRows(db, SHAPE, query)])).rejects.toThrow("not an exact amount");
  });

  it("are those of a table by its columns, all or some", async () => {
    const { program } = await makeProgram({ domain: null });
    const some = columnsOf(programs, "id", "default_commission_pct", "domain", "cookie_days");
    expect(Object.keys(some).toSorted()).toEqual(["cookie_days", "default_commission_pct", "domain", "id"]);
    const names = sql.raw(Object.keys(some).join(", "));
    const [row] = await readBoth(some, sql`select ${names} from programs where id = ${program.id}`);
    expect(row).toEqual({ id: program.id, domain: null, default_commission_pct: 20, cookie_days: program.cookie_days });
    const [whole] = await db.all<object>(sql`select * from programs where id = ${program.id}`);
    expect(Object.keys(columnsOf(programs)).toSorted()).toEqual(Object.keys(whole!).toSorted());
    // Stored as 0 and 1, and typed as a truth value.
    const truth = columnsOf(programs, "live_only");
    await expect(selectRows(db, truth, sql`select 1 as live_only`)).rejects.toThrow("not of its shape");
  });
});
