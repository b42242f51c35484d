import { listEvents } from "../../../../core/events/events.ts";
import type { AuditEvent } from "../../../../core/kernel/rows.ts";
import { eventQuery } from "../../../queries.ts";
import { dateColumn, partnerColumn, textColumn, type ListColumn, type ListOf } from "../../list.tsx";
import { countryText } from "../../locale.ts";
import { RANGE_FIELDS } from "../../parts/filter-fields.tsx";
import { listPage } from "../../list-page.tsx";

const EVENTS = "/dashboard/events";

const clickQuery = eventQuery.omit({ type: true });

interface Click extends Record<"id" | "created_at" | "ref" | "landing" | "referrer", string> {
  partner_id: string | null;
  sub: string | null;
  /** ISO 3166-1; null for old clicks. */
  country: string | null;
}

function clickOf({ id, created_at, payload }: AuditEvent): Click {
  const given = (field: string) => (typeof payload[field] === "string" ? payload[field] : null);
  const said = (field: string) => given(field) ?? "";
  const own = { partner_id: given("partner_id"), sub: given("sub"), country: given("country") };
  return { id, created_at, ref: said("ref"), landing: said("landing"), referrer: said("referrer"), ...own };
}

/** A column of a web address, shortened to two lines: the tooltip and the file have the whole address. */
function addressColumn(key: "landing" | "referrer", label: string): ListColumn<Click> {
  return {
    ...{ key, label, csv: { [key]: key } },
    cell: (click) =>
      click[key] === "" ? (
        <span class="muted">–</span>
      ) : (
        <span class="brief" title={click[key]}>
          {click[key]}
        </span>
      ),
  };
}

const LIST: ListOf<typeof clickQuery, Click> = {
  name: "clicks",
  label: "Clicks",
  query: clickQuery,
  async read(c, filter) {
    const { data, ...page } = await listEvents(c.var.ctx, { ...filter, type: "click" });
    return { ...page, data: data.map(clickOf) };
  },
  partnerOf: (click) => click.partner_id,
  columns: [
    partnerColumn(),
    textColumn("ref", "Reference"),
    addressColumn("landing", "Page"),
    addressColumn("referrer", "From"),
    textColumn("sub", "Sub-id"),
    {
      key: "country",
      label: "Country",
      cell: ({ country }) => (country === null ? <span class="muted">–</span> : countryText(country)),
      csv: { country: "country" },
    },
    {
      ...dateColumn<Click, "created_at">("When", "created_at", { key: "when", isSorted: false }),
      csv: { created_at: "created_at", event_id: "id" },
    },
  ],
};

/** `/dashboard/events/clicks` (PAGE-27): the clicks of the audit log, newest first. */
export const clicks = listPage(LIST, {
  at: EVENTS,
  path: `${EVENTS}/clicks`,
  head: { lede: "Visitors who followed partners' links.", back: { href: EVENTS, label: "Events" } },
  filter: RANGE_FIELDS,
  empty: {
    title: "No clicks yet",
    children: "Every visit through a partner's link appears here.",
    action: (
      <a class="button" href="/dashboard/integration/check">
        Check the installation
      </a>
    ),
  },
});
