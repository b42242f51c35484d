import { sql, type SQL } from "drizzle-orm";
import { literal } from "../../db/client.ts";
import { selectRows, text, textOf, type Columns } from "../../db/rows.ts";
import type { ProviderName } from "../../domain/provider-name.ts";
import { logLine } from "../../lib/log.ts";
import type { Ctx } from "../kernel/context.ts";
import type { Owner, Work } from "../kernel/work.ts";

/** The number of codes looked up at once, and of those whose payments one statement adds up. */
const CODES_LISTED = 1_000;
const CODES_AT_ONCE = 50;

/** Some codes of one program at one provider, of all partners. */
interface Some extends Owner {
  program_id: string;
  provider: ProviderName;
  /** A JSON array. */
  code_keys: string;
}

const SOME: Columns<Some> = { key: text, program_id: text, provider: textOf<ProviderName>(), code_keys: text };

/** The corrected sums. */
const MENDED = { code_id: text, day: text };

/**
 * Recalculates the daily results of promotion codes and corrects the stored sums: rows may have been written without
 * the triggers that maintain them. One statement adds up and sets, so a concurrent write is neither lost nor counted
 * twice.
 */
export function recountCodes(ctx: Pick<Ctx, "db">): Work<Some> {
  return {
    cost: 1,
    due: async (after) => selectRows(ctx.db, SOME, nextAfter(after)),
    async serve(some) {
      const mended = await selectRows(ctx.db, MENDED, mend(some));
      if (mended.length > 0) {
        const { program_id } = some;
        const some_of = mended.slice(0, 10);
        logLine("error", { what: "kept sums of codes were wrong", program_id, count: mended.length, mended: some_of });
      }
      return false;
    },
  };
}

function nextAfter(after: string): SQL {
  const [program_id = "", provider = "", ...rest] = after.split(" ");
  return sql`select program_id || ' ' || provider || ' ' || max(code_key) as key, program_id, provider,
      json_group_array(code_key) as code_keys from (
      select program_id, provider, code_key,
        row_number() over (order by program_id, provider, code_key) / ${literal(CODES_AT_ONCE)} as place
      from (select distinct program_id, provider, code_key from partner_codes indexed by partner_codes_key
        where (program_id, provider, code_key) > (${program_id}, ${provider}, ${rest.join(" ")})
        order by program_id, provider, code_key limit ${literal(CODES_LISTED)}))
    group by program_id, provider, place order by program_id, provider, place`;
}

/** Looks up the stored sums of a code by each day of the program, because a day without sales has no row. */
function mend({ program_id, provider, code_keys }: Some): SQL {
  const coded = sql`from some k cross join payments p indexed by payments_code on p.code_id = k.id`;
  return sql`with recursive
    some as materialized (select k.id, k.partner_id from json_each(${code_keys}) j cross join partner_codes k
      on k.program_id = ${program_id} and k.provider = ${provider} and k.code_key = j.value),
    days (day) as (
      select min(day) from code_days where program_id = ${program_id}
      union all
      select (select min(d.day) from code_days d where d.program_id = ${program_id} and d.day > days.day)
      from days where days.day is not null),
    brought as (
      select substr(p.created_at, 1, 10) as day, k.partner_id as partner_id, k.id as code_id, p.currency as currency,
        count(*) as sales, sum(p.txn_amount_cents - p.adjusted_cents) as revenue_cents, 0 as earned_cents
      ${coded} where p.outcome = 'commission' group by 1, 2, 3, 4
      union all
      select substr(c.created_at, 1, 10), k.partner_id, k.id, c.currency, 0, 0, sum(c.amount_cents)
      ${coded} cross join commissions c indexed by commissions_payment on c.payment_id = p.id
        and c.partner_id = k.partner_id where c.status <> 'rejected' group by 1, 2, 3, 4
      union all
      select d.day, d.partner_id, d.code_id, d.currency, 0, 0, 0 from some k cross join days s cross join code_days d
        on d.program_id = ${program_id} and d.day = s.day and d.partner_id = k.partner_id and d.code_id = k.id)
    insert into code_days (program_id, day, partner_id, code_id, currency, sales, revenue_cents, earned_cents)
    select ${program_id}, day, partner_id, code_id, currency, sum(sales), sum(revenue_cents), sum(earned_cents)
    from brought where true group by 2, 3, 4, 5
    on conflict (program_id, day, partner_id, code_id, currency) do update set sales = excluded.sales,
      revenue_cents = excluded.revenue_cents, earned_cents = excluded.earned_cents
      where sales <> excluded.sales or revenue_cents <> excluded.revenue_cents
        or earned_cents <> excluded.earned_cents
    returning code_id, day`;
}
