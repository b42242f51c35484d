import { sql, type SQL } from "drizzle-orm";
import { literal, runBatch } from "../db/client.ts";
import type { listCounts } from "../db/schema.ts";
import { logLine } from "../lib/log.ts";
import type { Ctx } from "./context.ts";
import type { Owner, Work } from "./job.ts";

type ListName = typeof listCounts.$inferSelect.list;

/** The column by which each list is counted, with the index that has nothing else. */
const LISTS: Record<ListName, { column: string; index: string }> = {
  partners: { column: "status", index: "partners_status" },
  payments: { column: "outcome", index: "payments_outcome" },
  commissions: { column: "status", index: "commissions_status" },
  payouts: { column: "status", index: "payouts_status" },
};

const PROGRAMS_AT_ONCE = 50;
/** A list of no more rows is counted by one statement, a longer one in parts of so many. */
const ROWS_AT_ONCE = 50_000;

/** A state of a long list, as far as it is counted. */
interface Part {
  list: ListName;
  state: string;
  /** What was kept when counting began. */
  kept: number;
  counted: number;
  after: string;
}

interface Lists extends Owner {
  /** What is left; null before the first look. */
  parts: Part[] | null;
}

/** A kept count that was wrong and is right now. */
interface Mended {
  list: ListName;
  state: string;
}

/**
 * Counts the rows of every list once more and puts right what is kept of them: rows may have been written without the
 * triggers that keep it. One statement counts and sets, so no write at the same moment is lost or counted twice. A long
 * list is first counted in parts, while it changes; only a state that comes out beside what was kept is then counted by
 * one statement.
 */
export function recountLists(ctx: Pick<Ctx, "db">): Work<Lists> {
  return {
    cost: 2,
    async due(after) {
      const rows = await ctx.db.all<Owner>(
        sql`select id as key from programs where id > ${after} order by id limit ${literal(PROGRAMS_AT_ONCE)}`,
      );
      return rows.map(({ key }) => ({ key, parts: null }));
    },
    async serve(lists) {
      if (lists.parts === null) {
        const [long, mended] = await runBatch(ctx.db, [
          ctx.db.all<Part>(longParts(lists.key)),
          ctx.db.all<Mended>(mendShort(lists.key)),
        ]);
        lists.parts = long;
        tell(lists.key, mended);
        return lists.parts.length > 0;
      }
      const part = lists.parts[0]!;
      if (await countOn(ctx, lists.key, part)) return true;
      lists.parts.shift();
      tell(lists.key, await mendState(ctx, lists.key, part));
      return lists.parts.length > 0;
    },
  };
}

function tell(program_id: string, mended: readonly Mended[]): void {
  if (mended.length > 0) logLine("error", { what: "kept counts were wrong", program_id, count: mended.length, mended });
}

const stateOf = (column: string) => sql.raw(`ifnull(${column}, '')`);

/** The lists of which more is kept than one statement counts. */
function longLists(program_id: string): SQL {
  return sql`select list from list_counts where program_id = ${program_id} group by list
    having sum(count) > ${literal(ROWS_AT_ONCE)}`;
}

function longParts(program_id: string): SQL {
  return sql`select list, state, count as kept, 0 as counted, '' as after from list_counts
    where program_id = ${program_id} and list in (${longLists(program_id)})`;
}

function mendShort(program_id: string): SQL {
  const counted = Object.entries(LISTS).map(
    ([list, { column }]) => sql`select ${list} as list, ${stateOf(column)} as state, count(*) as n
      from ${sql.raw(list)} where program_id = ${program_id}
        and ${list} not in (${longLists(program_id)}) group by 2`,
  );
  return sql`insert into list_counts (program_id, list, state, count)
    select ${program_id}, list, state, sum(n) from (${sql.join(counted, sql` union all `)}
      union all select list, state, 0 from list_counts where program_id = ${program_id}
        and list not in (${longLists(program_id)}))
    where true group by list, state
    on conflict (program_id, list, state) do update set count = excluded.count where count <> excluded.count
    returning list, state`;
}

/** Counts the next rows of a state; whether there may be more. */
async function countOn({ db }: Pick<Ctx, "db">, program_id: string, part: Part): Promise<boolean> {
  const { column, index } = LISTS[part.list];
  const [row] = await db.all<{ n: number; last: string | null }>(sql`select count(*) as n, max(id) as last from (
    select id from ${sql.raw(`${part.list} indexed by ${index}`)} where program_id = ${program_id}
      and ${sql.raw(column)} is ${part.state === "" ? null : part.state} and id > ${part.after}
    order by id limit ${literal(ROWS_AT_ONCE)})`);
  part.counted += row!.n;
  part.after = row!.last ?? part.after;
  return row!.n === ROWS_AT_ONCE;
}

/** Where what was counted is beside what was kept before and after. */
async function mendState({ db }: Pick<Ctx, "db">, program_id: string, part: Part): Promise<Mended[]> {
  const { column } = LISTS[part.list];
  const { list, state, kept, counted } = part;
  const rows = sql`(select count(*) from ${sql.raw(list)} where program_id = ${program_id}
    and ${sql.raw(column)} is ${state === "" ? null : state})`;
  return db.all<Mended>(sql`update list_counts set count = ${rows}
    where program_id = ${program_id} and list = ${list} and state = ${state}
      and ${counted} not between min(count, ${kept}) and max(count, ${kept}) and count <> ${rows}
    returning list, state`);
}
