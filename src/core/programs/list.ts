import { desc, lt, lte, sql } from "drizzle-orm";
import { atMost, runBatch } from "../../db/client.ts";
import { cursorId, pageOf, window, type Page, type PageRequest } from "../../db/page.ts";
import { programs } from "../../db/schema.ts";
import { ageOfProgramId, programIdOn, shardOfProgram } from "../../domain/shard.ts";
import type { BaseCtx } from "../kernel/context.ts";
import type { Program } from "../kernel/rows.ts";
import { askAll } from "../kernel/shards.ts";
import { selectPrograms } from "../kernel/program-rows.ts";

/**
 * Lists all programs of the deployment, newest first, over all its databases; for its operator. Ids of several shards
 * sort by their age; if two have the same age (they would have to share 80 random bits), the higher shard comes first.
 * @throws if any database fails: neither the page nor the total would be right without it.
 */
export async function listPrograms(ctx: BaseCtx, request: PageRequest): Promise<Page<Program>> {
  const after = cursorId(request, "program");
  const { limit, offset } = window(request);
  const isOne = ctx.databases.shards.length === 1;
  const { said, failure } = await askAll(ctx, (on) => {
    const own = after === null ? undefined : olderThan(after, on.shard);
    // Each database returns all rows that may precede the page's end: the others' places are unknown.
    return readPage(on, own, isOne ? { limit, offset } : { limit: limit + offset, offset: 0 });
  });
  if (failure) throw failure.reason;
  const rows = said.flatMap(({ answer }) => answer.rows);
  const total = said.reduce((sum, { answer }) => sum + answer.total, 0);
  const shown = isOne ? rows : rows.toSorted(newestFirst).slice(offset, offset + limit);
  return pageOf(request, shown, total, (row) => row);
}

async function readPage(
  ctx: BaseCtx,
  where: ReturnType<typeof olderThan> | undefined,
  range: ReturnType<typeof window>,
) {
  const [rows, [counted]] = await runBatch(ctx.db, [
    selectPrograms(ctx.db).where(where).orderBy(desc(programs.id)).limit(atMost(range.limit)).offset(range.offset),
    ctx.db.select({ total: sql<number>`count(*)` }).from(programs),
  ]);
  return { rows, total: counted?.total ?? 0 };
}

/** A condition for one shard: the programs that follow a program of any shard in the list. */
function olderThan(cursor: string, shard: number) {
  const own = programIdOn(shard, cursor);
  return shard < shardOfProgram(cursor) ? lte(programs.id, own) : lt(programs.id, own);
}

function newestFirst(a: Program, b: Program): number {
  const [ageA, ageB] = [ageOfProgramId(a.id), ageOfProgramId(b.id)];
  if (ageA !== ageB) return ageA < ageB ? 1 : -1;
  return b.shard - a.shard;
}
