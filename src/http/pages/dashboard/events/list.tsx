import * as z from "zod";
import { listEvents } from "../../../../core/events/events.ts";
import { NOT_CLICKS } from "../../../../core/kernel/event-counts.ts";
import { withoutDetails } from "../../../../core/kernel/payout-details.ts";
import type { AuditEvent } from "../../../../core/kernel/rows.ts";
import { isFirstKey, type Actor, type Changes } from "../../../../domain/actor.ts";
import { AUDIT_EVENT_TYPES, providerName, vendorNamed } from "../../../../providers/registry.ts";
import { eventQuery } from "../../../queries.ts";
import { dateColumn, ListTable, type ListOf, type Names } from "../../list.tsx";
import { choice, RANGE_FIELDS } from "../../parts/filter-fields.tsx";
import { roleMay } from "../../../../domain/member.ts";
import { PAYOUT_METHODS } from "../../../../domain/partner.ts";
import { payoutMethodText } from "../../parts/payout-method.ts";
import { nameText } from "../../parts/shown-name.ts";
import { listPage } from "../../list-page.tsx";
import { eventLinks, whatText } from "./what.tsx";

const AT = "/dashboard/events";

/** Clicks have a list of their own, because they can be thousands of times as many. */
const TYPES = AUDIT_EVENT_TYPES.filter((type) => type !== "click");

const eventsQuery = eventQuery.extend({ type: z.enum(TYPES).optional() });

const LIST: ListOf<typeof eventsQuery, AuditEvent> = {
  name: "events",
  label: "Events",
  query: eventsQuery,
  read: async (c, filter) => {
    const page = await listEvents(c.var.ctx, { ...filter, type: filter.type ?? NOT_CLICKS });
    const { member } = c.var.session;
    return member && roleMay(member.role, "details") ? page : { ...page, data: page.data.map(withoutDetails) };
  },
  partnerOf: ({ payload }) => (typeof payload["partner_id"] === "string" ? payload["partner_id"] : null),
  columns: [
    {
      key: "what",
      label: "What",
      grow: true,
      cell: (event, names) => <What event={event} names={names} />,
      csv: {
        event_id: "id",
        type: "type",
        payload: (event) => JSON.stringify(event.payload),
        changes: (event) => (event.changes ? JSON.stringify(event.changes) : null),
      },
    },
    {
      key: "who",
      label: "Who",
      cell: (event) => <Who event={event} />,
      csv: { actor: (event) => event.actor?.type ?? null, actor_name: (event) => event.actor?.name ?? null },
    },
    dateColumn("When", "created_at", { key: "when", isSorted: false }),
  ],
};

/** `/dashboard/events` (PAGE-27): the audit log without clicks, newest first. */
export const events = listPage(LIST, {
  at: AT,
  head: {
    lede: "Everything except clicks. Entries are never changed or removed.",
    actions: (
      <a class="button" href={`${AT}/clicks`}>
        Clicks
      </a>
    ),
  },
  filter: [choice("type", "Type", TYPES, typeText), ...RANGE_FIELDS],
  empty: {
    title: "Nothing has happened yet",
    children: "Payments, commissions and all of your changes appear here.",
  },
  rows: (shown) => (
    <ListTable list={LIST} shown={shown} path={AT} act={{ label: "Open", cell: (event) => <Links event={event} /> }} />
  ),
});

const ACTORS: Record<Actor["type"], string> = {
  api_key: "API key",
  member: "Member",
  partner: "Partner",
  provider: "Provider",
  operator: "Operator",
  cron: "Scheduled job",
  visitor: "Visitor",
};

export function Who({ event: { actor } }: { event: Pick<AuditEvent, "actor"> }) {
  if (!actor) return <span class="muted">not recorded</span>;
  const name = nameOf(actor);
  return (
    <span class="who">
      {ACTORS[actor.type]}
      {actor.type === "operator" || actor.type === "visitor" ? null : <span class="second"> {name}</span>}
    </span>
  );
}

/** A type has its API name; the type of a vendor's webhooks also has the vendor's name. */
function typeText(type: string): string {
  const vendor = vendorNamed(type.split(".")[1] ?? "");
  return vendor ? `${type} (${providerName(vendor.name)})` : type;
}

function nameOf(actor: Actor): string | null {
  const { type, name } = actor;
  if (name === null) return null;
  if (type === "provider") return providerName(name);
  return isFirstKey(actor) ? `…${name}` : nameText(name) || actor.id;
}

function What({ event, names }: { event: AuditEvent; names: Names }) {
  const { payload, id, type, changes } = event;
  return (
    <details>
      <summary>
        <bdi>{whatText(event, names.get(String(payload["partner_id"])))}</bdi>
        <code class="second">{type}</code>
        <span class="visually-hidden">, details of {id}</span>
      </summary>
      {changes ? <Changed changes={changes} /> : null}
      <pre class="payload" tabindex={0} role="region" aria-label={`Payload of ${id}`}>
        {JSON.stringify({ id, ...payload }, null, 1)}
      </pre>
    </details>
  );
}

function Changed({ changes }: { changes: Changes }) {
  const shown = (field: string, value: unknown) => {
    if (value === null) return "none";
    if (field === "payout_method") return payoutMethodText(PAYOUT_METHODS.find((one) => one === value) ?? null);
    return typeof value === "string" ? value : JSON.stringify(value);
  };
  return (
    <ul class="changes">
      {Object.entries(changes).map(([field, [before, after]]) => (
        <li>
          <code>{field}</code>: {shown(field, before)} → {shown(field, after)}
        </li>
      ))}
    </ul>
  );
}

/** Links to the objects of the event. */
function Links({ event: { payload } }: { event: AuditEvent }) {
  return (
    <span class="links">
      {eventLinks(payload).map(({ label, href }) => (
        <a href={href}>{label}</a>
      ))}
    </span>
  );
}
