import type { Context } from "hono";
import { parsePage } from "../../../../core/kernel/list-page.ts";
import type { Group } from "../../../../core/kernel/rows.ts";
import type { PartnerView } from "../../../../core/kernel/views.ts";
import { listPartners, readPartnerFigures, type PartnerFigures } from "../../../../core/partners/partner-list.ts";
import { listGroups } from "../../../../core/programs/groups.ts";
import { sumUp, type Amounts } from "../../../../domain/amount.ts";
import { partnerQuery } from "../../../queries.ts";
import type { PageEnv } from "../../../session.ts";
import { dateColumn, statusColumn, sumsColumn, timeColumn, type ListOf } from "../../list.tsx";
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

export const PARTNER_LIST: ListOf<typeof partnerQuery, Listed> = {
  name: "partners",
  label: "Partners",
  query: partnerQuery,
  sort: "added",
  read: async (c, filter) => {
    const { data: found, ...page } = parsePage(await listPartners(c.var.ctx, filter));
    const ids = found.map(({ id }) => id);
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
