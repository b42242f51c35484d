import { sql, type SQL } from "drizzle-orm";
import { literal } from "../../db/client.ts";
import { unionOf } from "../../db/parts.ts";
import { nullable, selectRows, text, textOf, whole, type Columns, type Row } from "../../db/rows.ts";
import type { listCounts } from "../../db/schema.ts";
import { logLine } from "../../lib/log.ts";
import type { Ctx } from "../kernel/context.ts";
import type { Owner, Work } from "../kernel/work.ts";

type ListName = typeof listCounts.$inferSelect.list;

/** The column that splits a list into states, with its index; `only` is a partial index's condition. */
const LISTS: Record<ListName, { table: string; column: string; index: string; only: string }> = {
  partners: { table: "partners", column: "status", index: "partners_status", only: "true" },
  partner_groups: { table: "partners", column: "group_id", index: "partners_group", only: "true" },
  payments: { table: "payments", column: "outcome", index: "payments_outcome", only: "true" },
  leads: { table: "payments", column: "outcome", index: "payments_leads", only: "event = 'lead_created'" },
  commissions: { table: "commissions", column: "status", index: "commissions_status", only: "true" },
  flagged: { table: "commissions", column: "status", index: "commissions_flagged", only: "flagged = 1" },
  payouts: { table: "payouts", column: "status", index: "payouts_status", only: "true" },
  payout_exports: { table: "payout_exports", column: "status", index: "payout_exports_status", only: "true" },
  applications: { table: "applications", column: "status", index: "applications_status", only: "true" },
  claims: { table: "claims", column: "status", index: "claims_status", only: "true" },
};

const PROGRAMS_AT_ONCE = 50;
/** A list of at most this many rows is counted by one statement; longer ones in parts of this size. */
const ROWS_AT_ONCE = 50_000;
/** The most parts of a state of any length. */
const MOST_PARTS = 16;

/** A state of a long list or, without a list, the short lists of a program. */
interface Counted extends Owner {
  program_id: string;
  list: ListName | null;
  state: string;
  /** The stored count before the recount. */
  kept: number;
}

const COUNTED: Columns<Counted> = {
  key: text,
  program_id: text,
  list: nullable(textOf<ListName>()),
  state: text,
  kept: whole,
};

interface LongState extends Counted {
  list: ListName;
}

/** A corrected count. */
const MENDED = { list: textOf<ListName>(), state: text };

/** The list that is also counted by day. */
const BY_DAY = "payments";

/**
 * Recounts the rows of every list and corrects the stored counts: rows may have been written without the triggers that
 * maintain them. One statement counts and sets, so a concurrent write is neither lost nor counted twice. A long list is
 * first counted in parts, while it changes; one statement then counts only a state whose result contradicts the stored
 * count.
 */
export function recountLists(ctx: Pick<Ctx, "db">): Work<Counted> {
  return {
    cost: MOST_PARTS + 4,
    due: async (after) => selectRows(ctx.db, COUNTED, nextAfter(after)),
    async serve(counted) {
      const { program_id } = counted;
      const mended = isLong(counted)
        ? await mendState(ctx, counted, await countState(ctx, counted))
        : await selectRows(ctx.db, MENDED, mendShort(program_id));
      mended.push(...(await mendDays(ctx, counted)));
      if (mended.length > 0) {
        logLine("error", { what: "kept counts were wrong", program_id, count: mended.length, mended });
      }
      return false;
    },
  };
}

function isLong(counted: Counted): counted is LongState {
  return counted.list !== null;
}

function nextAfter(after: string): SQL {
  const [program_id = ""] = after.split(" ");
  return sql`with some as (
      select id from programs where id >= ${program_id} order by id limit ${literal(PROGRAMS_AT_ONCE)})
    select * from (
      select id as key, id as program_id, null as list, '' as state, 0 as kept from some
      union all
      select id || ' ' || list || ' ' || state, id, list, state, count from some
        cross join list_counts l on l.program_id = some.id and l.list in (${longLists(sql`some.id`)}))
    where key > ${after} order by key`;
}

const stateOf = (column: string) => sql.raw(`ifnull(${column}, '')`);

/** Selects the lists with more stored rows than one statement counts. */
function longLists(program_id: SQL): SQL {
  return sql`select list from list_counts where program_id = ${program_id} group by list
    having sum(count) > ${literal(ROWS_AT_ONCE)}`;
}

function mendShort(program_id: string): SQL {
  const counted = Object.entries(LISTS).map(
    ([list, { table, column, index, only }]) => sql`select ${list} as list, ${stateOf(column)} as state, count(*) as n
      from ${sql.raw(`${table} indexed by ${index}`)} where program_id = ${program_id} and ${sql.raw(only)}
        and ${list} not in (${longLists(sql`${program_id}`)}) group by 2`,
  );
  return sql`insert into list_counts (program_id, list, state, count)
    select ${program_id}, list, state, sum(n) from (select * from (${unionOf(counted, "different")})
      union all select list, state, 0 from list_counts where program_id = ${program_id}
        and list not in (${longLists(sql`${program_id}`)}))
    where true group by list, state
    on conflict (program_id, list, state) do update set count = excluded.count where count <> excluded.count
    returning list, state`;
}

/** Counts a state in parts, one statement each, while rows come and go. */
async function countState({ db }: Pick<Ctx, "db">, { program_id, list, state, kept }: LongState): Promise<number> {
  const { table, column, index, only } = LISTS[list];
  const limit = Math.max(ROWS_AT_ONCE, Math.ceil(kept / MOST_PARTS));
  let counted = 0;
  for (let after = "", part = 0; part <= MOST_PARTS; part++) {
    const [row] = await selectRows(
      db,
      { n: whole, last: nullable(text) },
      sql`select count(*) as n, max(id) as last from (
      select id from ${sql.raw(`${table} indexed by ${index}`)} where program_id = ${program_id} and ${sql.raw(only)}
        and ${sql.raw(column)} is ${state === "" ? null : state} and id > ${after} order by id limit ${literal(limit)})`,
    );
    counted += row!.n;
    if (row!.n < limit) break;
    after = row!.last!;
  }
  return counted;
}

/** Corrects a state if its count lies outside the stored counts before and after it was counted. */
async function mendState(
  { db }: Pick<Ctx, "db">,
  { program_id, list, state, kept }: LongState,
  counted: number,
): Promise<Row<typeof MENDED>[]> {
  const { table, column, index, only } = LISTS[list];
  const rows = sql`(select count(*) from ${sql.raw(`${table} indexed by ${index}`)} where program_id = ${program_id}
    and ${sql.raw(only)} and ${sql.raw(column)} is ${state === "" ? null : state})`;
  return selectRows(
    db,
    MENDED,
    sql`update list_counts set count = ${rows}
    where program_id = ${program_id} and list = ${list} and state = ${state}
      and ${counted} not between min(count, ${kept}) and max(count, ${kept}) and count <> ${rows}
    returning list, state`,
  );
}

/** Corrects the days of a short list at once, those of a long one state by state. */
async function mendDays({ db }: Pick<Ctx, "db">, counted: Counted): Promise<Row<typeof MENDED>[]> {
  const { program_id, list, state } = counted;
  if ((list ?? BY_DAY) !== BY_DAY) return [];
  const own = sql`program_id = ${program_id}
    and ${list === null ? sql`${BY_DAY} not in (${longLists(sql`${program_id}`)})` : sql`true`}`;
  const ofState = (column: SQL) => (list === null ? sql`${column} is not null` : sql`${column} = ${state}`);
  return selectRows(
    db,
    MENDED,
    sql`insert into list_days (program_id, list, day, state, count)
      select ${program_id}, ${BY_DAY}, day, state, sum(n) from (
        select substr(created_at, 1, 10) as day, outcome as state, 1 as n from payments indexed by payments_outcome
        where ${own} and ${ofState(sql`outcome`)}
        union all
        select day, state, 0 from list_days where ${own} and list = ${BY_DAY} and ${ofState(sql`state`)})
      where true group by 3, 4
      on conflict (program_id, list, day, state) do update set count = excluded.count where count <> excluded.count
      returning list, state`,
  );
}
