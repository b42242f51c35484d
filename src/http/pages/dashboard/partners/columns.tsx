import type { Context } from "hono";
import { parsePage, type Page } from "../../../../core/kernel/list-page.ts";
import type { Group } from "../../../../core/kernel/rows.ts";
import type { PartnerView } from "../../../../core/kernel/views.ts";
import {
  listPartners,
  PARTNER_SORTS,
  readPartnerFigures,
  sortPartners,
  type PartnerFigures,
  type PartnerSort,
} from "../../../../core/partners/partner-list.ts";
import { listGroups } from "../../../../core/programs/groups.ts";
import { sumUp, type Amounts } from "../../../../domain/amount.ts";
import { partnerQuery } from "../../../queries.ts";
import type { PageEnv } from "../../../session.ts";
import { dateColumn, statusColumn, sumsColumn, timeColumn, type ListOf, type ListRequest } from "../../list.tsx";
import { MAX_ROWS } from "../../list-csv.ts";
import { Count } from "../../parts/figures.tsx";
import { partnerText } from "../../parts/partner.tsx";
import { payoutMethodText } from "../../parts/payout-method.ts";

export const PARTNERS = "/dashboard/partners";

/** Currencies of a cell; the file and the partner's page have all. */
const MOST_SUMS = 2;

export type Listed = Pick<
  PartnerView,
  | ("id" | "email" | "first_name" | "last_name" | "slug" | "status" | "commission_pct")
  | ("payout_method" | "created_at" | "updated_at")
> &
  Pick<PartnerFigures, "clicks" | "sales" | "last_sale"> & {
    revenue: Amounts;
    earned: Amounts;
    group: Pick<Group, "name" | "slug"> | undefined;
  };

function PartnerCell({ partner }: { partner: Listed }) {
  const name = partnerText(partner);
  return (
    <span class="person">
      <a href={`${PARTNERS}/${partner.id}`}>{name}</a>
      {name === partner.email ? null : <span class="second">{partner.email}</span>}
    </span>
  );
}

const READ = new WeakMap<object, Promise<Group[]> | Group[]>();

/** The program's groups, read once for a request. */
export async function groupsOf(c: Context<PageEnv>): Promise<Group[]> {
  const groups = READ.get(c) ?? listGroups(c.var.ctx);
  READ.set(c, groups);
  return groups;
}

type Request = ListRequest<typeof partnerQuery>;
type IdPage = Omit<Page<never>, "data"> & { ids: string[] };

async function pageOfIds(c: Context<PageEnv>, filter: Request): Promise<IdPage> {
  const sort = PARTNER_SORTS.find((one) => one === filter.sort);
  if (sort) return filter.counted === undefined ? sortedPage(c, filter, sort) : sortedPart(c, filter, sort);
  const { data, ...page } = parsePage(await listPartners(c.var.ctx, filter));
  return { ...page, ids: data.map(({ id }) => id) };
}

async function sortedPage(c: Context<PageEnv>, filter: Request, sort: PartnerSort): Promise<IdPage> {
  const { page, per_page } = filter;
  const window = { limit: per_page, offset: (page - 1) * per_page };
  return { ...(await sortPartners(c.var.ctx, { ...filter, ...window, sort })), page, per_page, next_cursor: null };
}

const SORTED = new WeakMap<object, Awaited<ReturnType<typeof sortPartners>>>();

/** A part of a file. All partners are sorted once: a figure that changes meanwhile does not move a partner. */
async function sortedPart(c: Context<PageEnv>, filter: Request, sort: PartnerSort): Promise<IdPage> {
  const all = SORTED.get(c) ?? (await sortPartners(c.var.ctx, { ...filter, limit: MAX_ROWS, offset: 0, sort }));
  SORTED.set(c, all);
  const { page, per_page, cursor = "0" } = filter;
  const end = Number(cursor) + per_page;
  const next_cursor = end < all.ids.length ? String(end) : null;
  return { ids: all.ids.slice(Number(cursor), end), total: all.total, page, per_page, next_cursor };
}

export const PARTNER_LIST: ListOf<typeof partnerQuery, Listed> = {
  name: "partners",
  label: "Partners",
  query: partnerQuery,
  sort: "added",
  read: async (c, filter) => {
    const { ids, ...page } = await pageOfIds(c, filter);
    const { partners, groups } = await readPartnerFigures(c.var.ctx, ids);
    READ.set(c, groups);
    const named = new Map(groups.map((group) => [group.id, group]));
    const { program } = c.var.session;
    const data = partners.map(({ revenue, earned, ...partner }) => ({
      ...{ ...partner, group: named.get(partner.group_id) },
      ...{ revenue: sumUp(revenue, program), earned: sumUp(earned, program) },
    }));
    return { ...page, data };
  },
  columns: [
    {
      key: "partner",
      label: "Partner",
      sort: "ascending",
      cell: (partner) => <PartnerCell partner={partner} />,
      csv: { partner_id: "id", first_name: "first_name", last_name: "last_name", email: "email" },
    },
    { ...statusColumn<Listed>(), sort: "ascending" },
    countColumn("clicks", "Clicks"),
    countColumn("sales", "Sales"),
    {
      ...sumsColumn("revenue", "Revenue", ({ revenue }) => revenue, { most: MOST_SUMS, sum: true }),
      ...{ sort: "descending", named: true },
    },
    { ...sumsColumn("earned", "Earned", ({ earned }) => earned, { most: MOST_SUMS }), sort: "descending" },
    { key: "slug", label: "Slug", extra: true, cell: (partner) => <code>{partner.slug}</code>, csv: { slug: "slug" } },
    {
      key: "group",
      label: "Group",
      extra: true,
      cell: ({ group }) => <span class="whole">{group?.name}</span>,
      csv: { group: ({ group }) => group?.slug ?? null },
    },
    {
      key: "payout_method",
      label: "Paid by",
      extra: true,
      cell: ({ payout_method: method }) =>
        method ? <span class="whole">{payoutMethodText(method)}</span> : <span class="muted">–</span>,
      csv: { payout_method: ({ payout_method: method }) => method && payoutMethodText(method) },
    },
    {
      key: "rate",
      label: "Own rate",
      align: "end",
      extra: true,
      cell: ({ commission_pct }) =>
        commission_pct === null ? <span class="muted">default</span> : `${commission_pct}\u00a0%`,
      csv: { commission_pct: "commission_pct" },
    },
    timeColumn("updated_at", "Changed"),
    dateColumn("Added", "created_at", { key: "added", only: "day", extra: true }),
    dateColumn("Last sale", "last_sale", { only: "day" }),
  ],
};

function countColumn(key: "clicks" | "sales", label: string): ListOf<typeof partnerQuery, Listed>["columns"][number] {
  return {
    ...{ key, label, align: "end", sort: "descending" },
    cell: (partner) => <Count of={partner[key]} />,
    csv: { [key]: (partner: Listed) => partner[key] },
  };
}
