import * as z from "zod";
import { listEvents } from "../../../../core/events/events.ts";
import { NOT_CLICKS } from "../../../../core/kernel/event-counts.ts";
import { withoutDetails } from "../../../../core/kernel/payout-details.ts";
import type { AuditEvent } from "../../../../core/kernel/rows.ts";
import { isFirstKey, type Actor, type Changes } from "../../../../domain/actor.ts";
import { eventKind, type PayloadField, type PayloadText } from "../../../../domain/event.ts";
import { AUDIT_EVENT_TYPES, providerName, vendorNamed } from "../../../../providers/registry.ts";
import { eventQuery } from "../../../queries.ts";
import { ListTable, type ListOf } from "../../list.tsx";
import { When } from "../../parts/figures.tsx";
import { RangeFields, Choice } from "../../parts/filter-fields.tsx";
import { roleMay } from "../../../../domain/member.ts";
import { PAYOUT_METHODS } from "../../../../domain/partner.ts";
import { payoutMethodText } from "../../parts/payout-method.ts";
import { nameText } from "../../parts/shown-name.ts";
import { listPage } from "../../list-page.tsx";

const AT = "/dashboard/events";

/** Clicks have a list of their own, because they can be thousands of times as many. */
const TYPES = AUDIT_EVENT_TYPES.filter((type) => type !== "click");

const eventsQuery = eventQuery.extend({ type: z.enum(TYPES).optional() });

const LIST: ListOf<typeof eventsQuery, AuditEvent> = {
  name: "events",
  label: "Events",
  query: eventsQuery,
  // The log is read from its end.
  reversible: false,
  read: async (c, filter) => {
    const page = await listEvents(c.var.ctx, { ...filter, type: filter.type ?? NOT_CLICKS });
    const { member } = c.var.session;
    return member && roleMay(member.role, "details") ? page : { ...page, data: page.data.map(withoutDetails) };
  },
  columns: [
    {
      key: "when",
      label: "When",
      cell: (event) => <When at={event.created_at} />,
      csv: { created_at: "created_at", event_id: "id" },
    },
    {
      key: "type",
      label: "Type",
      cell: (event) => <code class="whole">{event.type}</code>,
      csv: { type: "type" },
    },
    {
      key: "who",
      label: "Who",
      cell: (event) => <Who event={event} />,
      csv: { actor: (event) => event.actor?.type ?? null, actor_name: (event) => event.actor?.name ?? null },
    },
    {
      key: "what",
      label: "What",
      grow: true,
      cell: (event) => <What event={event} />,
      csv: {
        payload: (event) => JSON.stringify(event.payload),
        changes: (event) => (event.changes ? JSON.stringify(event.changes) : null),
      },
    },
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
  filter: () => (
    <>
      <Choice name="type" label="Type" among={TYPES} text={typeText} />
      <RangeFields />
    </>
  ),
  empty: {
    title: "Nothing has happened yet",
    children: "Payments, commissions and all of your changes appear here.",
  },
  rows: (shown) => (
    <ListTable list={LIST} shown={shown} act={{ label: "Open", cell: (event) => <Links event={event} /> }} />
  ),
});

/** The pages for ids in payloads; null if an id has no page. */
const PLACES: Record<Extract<PayloadField, `${string}_id`>, string | null> = {
  application_id: "partners/applications",
  commission_id: "commissions",
  partner_id: "partners",
  payment_id: "payments",
  claim_id: "claims",
  payout_id: "payouts",
  export_id: null,
  flow_id: "flows",
  group_id: "partners/groups",
  code_id: null,
  provider_code_id: null,
  endpoint_id: "webhooks",
  destination_id: null,
  event_id: null,
  program_id: null,
  key_id: null,
  member_id: null,
  session_id: null,
  passkey_id: null,
};

const ACTORS: Record<Actor["type"], string> = {
  api_key: "API key",
  member: "Member",
  partner: "Partner",
  provider: "Provider",
  operator: "Operator",
  cron: "Scheduled job",
  visitor: "Visitor",
};

function Who({ event: { actor } }: { event: AuditEvent }) {
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

function What({ event: { payload, id, type, changes } }: { event: AuditEvent }) {
  return (
    <details>
      <summary>
        {summaryOf(payload) || eventKind(type).text}
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
      {Object.entries(PLACES).map(([field, place]) => {
        const target = payload[field];
        return place !== null && typeof target === "string" ? (
          <a href={`/dashboard/${place}/${target}`}>{place.slice(0, -1)}</a>
        ) : null;
      })}
    </span>
  );
}

/** Payload texts by importance; false: only the whole payload shows it. */
const IN_SUMMARY: Record<Exclude<PayloadText, `${string}_id`>, boolean> = {
  slug: true,
  base: false,
  code: true,
  ref: true,
  landing: true,
  sub: true,
  country: true,
  name: true,
  url: true,
  event_type: true,
  format: true,
  list: true,
  outcome: true,
  status: true,
  email: true,
  role: true,
  device: true,
  reason: true,
  apply_from: true,
  referrer: false,
  provider: false,
  currency: false,
  starts_at: false,
  ends_at: false,
  kind: false,
  method: false,
  reference: false,
  failure_code: false,
  event: false,
  action_type: false,
  description: false,
  failing_since: false,
  expires_at: false,
  last4: false,
  actor: false,
  check: false,
  subject: false,
  what: false,
};

/** The three most important texts of the payload. */
function summaryOf(payload: Record<string, unknown>): string {
  const fields = Object.entries(IN_SUMMARY).flatMap(([field, isShown]) => {
    const value = payload[field];
    return isShown && typeof value === "string" && value !== "" ? [value] : [];
  });
  return fields.slice(0, 3).join(", ");
}
