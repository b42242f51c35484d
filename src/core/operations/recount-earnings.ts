import { sql, type SQL } from "drizzle-orm";
import { literal } from "../../db/client.ts";
import { selectRows, text, type Columns } from "../../db/rows.ts";
import { logLine } from "../../lib/log.ts";
import type { Ctx } from "../kernel/context.ts";
import type { Owner, Work } from "../kernel/work.ts";

/** The number of partners looked up at once, and of those whose commissions one statement adds up. */
const PARTNERS_LISTED = 1_000;
const PARTNERS_AT_ONCE = 50;

/** Some partners of one program. */
interface Some extends Owner {
  program_id: string;
  /** A JSON array. */
  partner_ids: string;
}

const SOME: Columns<Some> = { key: text, program_id: text, partner_ids: text };

/** The corrected sums. */
const MENDED = { partner_id: text, day: text };
const MENDED_TOTAL = { partner_id: text, currency: text };

/**
 * Recalculates the daily earnings, revenue and sales of partners and their totals, and corrects the stored sums: rows
 * may have been written without the triggers that maintain them. One statement adds up and sets, so a concurrent write
 * is neither lost nor counted twice.
 */
export function recountEarnings(ctx: Pick<Ctx, "db">): Work<Some> {
  return {
    cost: 3,
    due: async (after) => selectRows(ctx.db, SOME, nextAfter(after)),
    async serve({ program_id, partner_ids }) {
      report("kept earnings were wrong", program_id, await selectRows(ctx.db, MENDED, mend(program_id, partner_ids)));
      report("kept sales were wrong", program_id, await selectRows(ctx.db, MENDED, mendSales(program_id, partner_ids)));
      const totals = await selectRows(ctx.db, MENDED_TOTAL, mendTotals(program_id, partner_ids));
      report("kept sales of partners were wrong", program_id, totals);
      return false;
    },
  };
}

function report(what: string, program_id: string, mended: { partner_id: string }[]): void {
  if (mended.length === 0) return;
  logLine("error", { what, program_id, count: mended.length, mended: mended.slice(0, 10) });
}

function nextAfter(after: string): SQL {
  const [program_id = "", partner_id = ""] = after.split(" ");
  return sql`select program_id || ' ' || max(id) as key, program_id, json_group_array(id) as partner_ids from (
      select program_id, id, row_number() over (order by program_id, id) / ${literal(PARTNERS_AT_ONCE)} as place
      from partners indexed by partners_list where (program_id, id) > (${program_id}, ${partner_id})
      order by program_id, id limit ${literal(PARTNERS_LISTED)})
    group by program_id, place order by key`;
}

/** Looks up the stored sums of a partner by each day of the program, because a day without earnings has no row. */
function mend(program_id: string, partner_ids: string): SQL {
  const some = sql`json_each(${partner_ids}) k`;
  return sql`with recursive
    days (day) as (
      select min(day) from earning_days where program_id = ${program_id}
      union all
      select (select min(e.day) from earning_days e where e.program_id = ${program_id} and e.day > days.day)
      from days where days.day is not null),
    earned as (
      select substr(c.created_at, 1, 10) as day, c.partner_id as partner_id, c.currency as currency, count(*) as n,
        sum(c.amount_cents) as amount_cents, 0 as revenue_cents
      from ${some} cross join commissions c indexed by commissions_partner on c.partner_id = k.value
      where c.status <> 'rejected' and c.program_id = ${program_id} group by 1, 2, 3
      union all
      select substr(p.created_at, 1, 10), p.partner_id, p.currency, 0, 0, sum(p.txn_amount_cents - p.adjusted_cents)
      ${soldBy(program_id, some)} group by 1, 2, 3 having sum(p.txn_amount_cents - p.adjusted_cents) <> 0
      union all
      select e.day, e.partner_id, e.currency, 0, 0, 0 from ${some} cross join days d cross join earning_days e
        on e.program_id = ${program_id} and e.day = d.day and e.partner_id = k.value)
    insert into earning_days (program_id, day, partner_id, currency, commissions, amount_cents, revenue_cents)
    select ${program_id}, day, partner_id, currency, sum(n), sum(amount_cents), sum(revenue_cents)
    from earned where true group by 2, 3, 4
    on conflict (program_id, day, partner_id, currency) do update set commissions = excluded.commissions,
      amount_cents = excluded.amount_cents, revenue_cents = excluded.revenue_cents
      where commissions <> excluded.commissions or amount_cents <> excluded.amount_cents
        or revenue_cents <> excluded.revenue_cents
    returning partner_id, day`;
}

/** A FROM clause over the sales `p` of the partners that `k` lists, as the triggers of revenue define them. */
function soldBy(program_id: string, some: SQL): SQL {
  return sql`from ${some} cross join payments p indexed by payments_partner on p.partner_id = k.value
    and p.outcome = 'commission' and p.event = 'transaction_completed' where p.program_id = ${program_id}`;
}

/** Corrects all-time sales and revenue, as the triggers of `partner_sales` define them. */
function mendTotals(program_id: string, partner_ids: string): SQL {
  const some = sql`json_each(${partner_ids}) k`;
  return sql`with sold as (
      select p.partner_id as partner_id, p.currency as currency, count(*) as sales,
        sum(p.txn_amount_cents - p.adjusted_cents) as revenue_cents
      ${soldBy(program_id, some)} group by 1, 2
      union all
      select s.partner_id, s.currency, 0, 0 from ${some} cross join partner_sales s
        on s.program_id = ${program_id} and s.partner_id = k.value)
    insert into partner_sales (program_id, partner_id, currency, sales, revenue_cents)
    select ${program_id}, partner_id, currency, sum(sales), sum(revenue_cents) from sold where true group by 2, 3
    on conflict (program_id, partner_id, currency) do update
      set sales = excluded.sales, revenue_cents = excluded.revenue_cents
      where sales <> excluded.sales or revenue_cents <> excluded.revenue_cents
    returning partner_id, currency`;
}

/** Corrects leads and sales, as the triggers of `sale_days` define them. */
function mendSales(program_id: string, partner_ids: string): SQL {
  const some = sql`json_each(${partner_ids}) k`;
  return sql`with recursive
    days (day) as (
      select min(day) from sale_days where program_id = ${program_id}
      union all
      select (select min(d.day) from sale_days d where d.program_id = ${program_id} and d.day > days.day)
      from days where days.day is not null),
    counted as (
      select p.partner_id, p.event, p.created_at, p.customer_id, row_number() over (
        partition by p.partner_id, p.event, p.customer_id, p.provider order by p.created_at, p.id) as place
      from ${some} cross join payments p indexed by payments_partner on p.partner_id = k.value
        and p.outcome in ('commission', 'no_flow')
      where p.program_id = ${program_id} and (p.outcome = 'commission' or p.event = 'lead_created')),
    brought as (
      select substr(created_at, 1, 10) as day, partner_id, sum(event = 'lead_created') as leads,
        sum(event = 'transaction_completed') as sales,
        sum(event = 'transaction_completed' and (customer_id is null or place = 1)) as first_sales
      from counted group by 1, 2
      union all
      select d.day, d.partner_id, 0, 0, 0 from ${some} cross join days s cross join sale_days d
        on d.program_id = ${program_id} and d.day = s.day and d.partner_id = k.value)
    insert into sale_days (program_id, day, partner_id, leads, sales, first_sales)
    select ${program_id}, day, partner_id, sum(leads), sum(sales), sum(first_sales) from brought where true group by 2, 3
    on conflict (program_id, day, partner_id) do update
      set leads = excluded.leads, sales = excluded.sales, first_sales = excluded.first_sales
      where leads <> excluded.leads or sales <> excluded.sales or first_sales <> excluded.first_sales
    returning partner_id, day`;
}
