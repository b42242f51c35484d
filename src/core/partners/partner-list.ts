import { and, sql, type SQL } from "drizzle-orm";
import type { JsonText, PageOfTexts, PageRequest } from "../../db/page.ts";
import { amount, nullable, selectRows, text, textOf, whole } from "../../db/rows.ts";
import { partners } from "../../db/schema.ts";
import type { Amount } from "../../domain/amount.ts";
import { PARTNER_STATUSES, type PartnerStatus } from "../../domain/partner.ts";
import type { ProgramCtx, Reader } from "../kernel/context.ts";
import { selectGroups } from "../kernel/group-rows.ts";
import { byState, pagedList, PARTNER_NAME, readPage, type Sort } from "../kernel/list-page.ts";
import { selectSearchedPartners } from "../kernel/partner-search.ts";
import type { Group } from "../kernel/rows.ts";
import { alsoOfProgram } from "../kernel/tenant.ts";
import { uncountedClicks } from "../kernel/uncounted-clicks.ts";
import { viewPartner, type PartnerView } from "../kernel/views.ts";

export interface PartnerFilter extends PageRequest {
  status?: PartnerStatus | undefined;
  group_id?: string | undefined;
  /** A part of one of `SEARCHED_COLUMNS`, or of the whole name, ignoring case and accents. */
  search?: string | undefined;
}

const LIST = pagedList("partners", "partner", partners, viewPartner);
const IN_GROUP = { ...LIST, name: "partner_groups" as const };

/** Lists the program's partners, newest first. */
export async function listPartners(ctx: Reader, filter: PartnerFilter): Promise<PageOfTexts<PartnerView>> {
  const { status, group_id } = filter;
  const isOfGroup = group_id !== undefined;
  const narrowed = Boolean(filter.search) || (isOfGroup && status !== undefined);
  const selection = { conditions: matching(ctx, filter), state: group_id ?? status, narrowed, sorts: sortsOf(ctx) };
  return readPage(ctx, isOfGroup ? IN_GROUP : LIST, filter, selection);
}

function matching(ctx: Reader, filter: Omit<PartnerFilter, keyof PageRequest>): SQL | undefined {
  const { status, group_id } = filter;
  const isOfGroup = group_id !== undefined;
  return and(
    filter.search ? alsoOfProgram(ctx, partners.program_id) : sql`${partners.program_id} = ${ctx.programId}`,
    group_id === undefined ? undefined : sql`${filter.search ? sql`+` : sql``}${partners.group_id} = ${group_id}`,
    status === undefined ? undefined : sql`${isOfGroup ? sql`+` : sql``}${partners.status} = ${status}`,
    filter.search ? selectSearchedPartners(ctx, filter.search) : undefined,
  );
}

const OF_PARTNER = sql.raw("program_id = partners.program_id and partner_id = partners.id");
const LAST_SALE = sql.raw(`(select s.created_at from payments s where s.partner_id = partners.id
  and s.outcome = 'commission' and s.event = 'transaction_completed' and +s.program_id = partners.program_id
  order by s.created_at desc limit 1)`);
const EARNED = sql.raw("account in ('pending', 'payable', 'in_payout', 'paid')");

/** Money is sorted by the amount in the program's currency. */
function sortsOf(ctx: Reader): Record<string, Sort> {
  const currency = sql`(select p.currency from programs p where p.id = ${ctx.programId})`;
  return {
    partner: { by: PARTNER_NAME },
    status: byState(partners.status, PARTNER_STATUSES),
    clicks: {
      by: sql`(select coalesce(sum(count), 0) from click_counts where ${OF_PARTNER})
        + coalesce((select n from uncounted where partner_id = partners.id), 0)`,
      using: sql`uncounted as materialized (${uncountedByPartner(ctx)})`,
    },
    sales: { by: sql`(select coalesce(sum(sales), 0) from partner_sales where ${OF_PARTNER})` },
    revenue: {
      by: sql`coalesce((select revenue_cents from partner_sales where ${OF_PARTNER} and currency = ${currency}), 0)`,
    },
    earned: {
      by: sql`(select coalesce(sum(amount_cents), 0) from balances
        where ${OF_PARTNER} and currency = ${currency} and ${EARNED})`,
    },
    last_sale: { by: sql`coalesce(${LAST_SALE}, '')` },
  };
}

function uncountedByPartner(ctx: Reader): SQL {
  return sql`select payload ->> 'partner_id' as partner_id, count(*) as n from ${uncountedClicks(ctx)} group by 1`;
}

/** The results of a partner, all time. */
export interface PartnerFigures {
  clicks: number;
  sales: number;
  /** The revenue of these sales, net of tax and refunds; one amount for each currency. */
  revenue: readonly Amount[];
  /** Commissions that are not rejected. */
  earned: readonly Amount[];
  last_sale: string | null;
}

export interface PartnersWithFigures {
  partners: (PartnerView & PartnerFigures)[];
  groups: Group[];
}

/**
 * Reads partners with their figures, from kept sums, in the order of the ids, and all groups of the program, in one round
 * trip.
 */
export async function readPartnerFigures(ctx: ProgramCtx, ids: readonly string[]): Promise<PartnersWithFigures> {
  const wanted = sql`json_each(${JSON.stringify(ids)}) w`;
  const own = sql`t.program_id = ${ctx.programId} and t.partner_id = w.value`;
  const [rows, clicks, sales, earned, groups] = await ctx.read(
    selectRows(
      ctx.db,
      { id: text, object: textOf<JsonText<PartnerView>>(), last_sale: nullable(text) },
      sql`select id, ${LIST.row} as object, ${LAST_SALE} as last_sale from partners
        where id in (select value from ${wanted}) and +program_id = ${ctx.programId}`,
    ),
    selectRows(
      ctx.db,
      { partner_id: text, n: whole },
      sql`select t.partner_id as partner_id, sum(t.count) as n from ${wanted} cross join click_counts t on ${own} group by 1
        union all select partner_id, n from (${uncountedByPartner(ctx)}) where partner_id in (select value from ${wanted})`,
    ),
    selectRows(
      ctx.db,
      { partner_id: text, sales: whole, currency: text, amount_cents: amount },
      sql`select t.partner_id as partner_id, t.sales as sales, t.currency as currency, t.revenue_cents as amount_cents
        from ${wanted} cross join partner_sales t on ${own}`,
    ),
    selectRows(
      ctx.db,
      { partner_id: text, currency: text, amount_cents: amount },
      sql`select t.partner_id as partner_id, t.currency as currency, sum(t.amount_cents) as amount_cents
        from ${wanted} cross join balances t on ${own} and ${EARNED} group by 1, 2`,
    ),
    selectGroups(ctx),
  );
  const read = new Map(rows.map((row) => [row.id, row]));
  const partnersInOrder = ids.flatMap((id) => {
    const row = read.get(id);
    if (!row) return [];
    const of = <R extends { partner_id: string }>(all: readonly R[]) =>
      all.filter(({ partner_id }) => partner_id === id);
    const sold = of(sales);
    return {
      ...(JSON.parse(row.object) as PartnerView),
      clicks: of(clicks).reduce((sum, { n }) => sum + n, 0),
      sales: sold.reduce((sum, one) => sum + one.sales, 0),
      ...{ revenue: sold, earned: of(earned), last_sale: row.last_sale },
    };
  });
  return { partners: partnersInOrder, groups };
}
