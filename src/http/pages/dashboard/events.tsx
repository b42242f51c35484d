import { Hono } from "hono";
import { listEvents } from "../../../core/events/events.ts";
import type { AuditEvent } from "../../../core/kernel/rows.ts";
import type { Actor, Changes } from "../../../domain/actor.ts";
import { eventKind, type PayloadField, type PayloadText } from "../../../domain/event.ts";
import { AUDIT_EVENT_TYPES } from "../../../providers/registry.ts";
import type { PageEnv } from "../../session.ts";
import { eventQuery } from "../../queries.ts";
import { filterOf } from "../filters.ts";
import { framed } from "../framed.tsx";
import { PageHead } from "../layout.tsx";
import { Field, SelectField } from "../parts/form.tsx";
import { When } from "../parts/figures.tsx";
import { Empty, Pager, Table } from "../parts/table.tsx";

const AT = "/dashboard/events";

/** `/dashboard/events`: the audit log, newest first. */
export const events = new Hono<PageEnv>().get("/", async (c) => {
  const filter = filterOf(c, eventQuery);
  const page = await listEvents(c.var.ctx, filter.value);
  const isFiltered = Object.keys(filter.texts).length > 0;
  return framed(
    c,
    { title: "Events", at: AT },
    <>
      <PageHead
        title="Events"
        lede="Everything that happened in the program. Nothing here is ever changed or removed."
      />
      <form method="get" action={AT} class="filter" aria-label="Filter events">
        <SelectField
          name="type"
          label="Type"
          value={filter.value.type}
          options={[{ value: "", label: "Any" }, ...AUDIT_EVENT_TYPES.map((value) => ({ value, label: value }))]}
        />
        <Field name="from" label="From" type="date" value={filter.texts.from} />
        <Field name="to" label="To" type="date" value={filter.texts.to} />
        <button type="submit">Filter</button>
        {isFiltered ? <a href={AT}>Show all</a> : null}
      </form>
      <section class="card flush">
        {page.total === 0 ? (
          isFiltered ? (
            <Empty title="No event matches">
              <a href={AT}>Show all events</a>
            </Empty>
          ) : (
            <Empty title="Nothing has happened yet">
              Clicks, payments, commissions and every change you make will be listed here.
            </Empty>
          )
        ) : (
          <>
            <Table
              label="Events"
              columns={[
                { label: "When" },
                { label: "Type" },
                { label: "Who" },
                { label: "What", grow: true },
                { label: "Open", hidden: true },
              ]}
              rows={page.data.map((event) => [
                <When at={event.created_at} />,
                <code class="whole">{event.type}</code>,
                <Who event={event} />,
                <What event={event} />,
                <Links event={event} />,
              ])}
            />
            <Pager page={page} path={AT} query={filter.texts} />
          </>
        )}
      </section>
    </>,
  );
});

/** The pages that ids in payloads lead to; null: there is none. */
const PLACES: Record<Extract<PayloadField, `${string}_id`>, string | null> = {
  application_id: "partners/applications",
  commission_id: "commissions",
  partner_id: "partners",
  payment_id: "payments",
  claim_id: "claims",
  payout_id: "payouts",
  flow_id: "flows",
  code_id: null,
  provider_code_id: null,
  endpoint_id: "webhooks",
  destination_id: null,
  event_id: null,
  program_id: null,
  session_id: null,
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

function Who({ event: { type, actor } }: { event: AuditEvent }) {
  if (type === "click") return <>Visitor</>;
  if (!actor) return <span class="muted">not recorded</span>;
  const name = actor.type === "api_key" ? `…${actor.name}` : actor.name;
  return (
    <span class="who">
      {ACTORS[actor.type]}
      {actor.type === "operator" || actor.type === "visitor" ? null : <span class="second"> {name}</span>}
    </span>
  );
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
  const shown = (value: unknown) =>
    value === null ? "none" : typeof value === "string" ? value : JSON.stringify(value);
  return (
    <ul class="changes">
      {Object.entries(changes).map(([field, [before, after]]) => (
        <li>
          <code>{field}</code>: {shown(before)} → {shown(after)}
        </li>
      ))}
    </ul>
  );
}

/** The pages of what the event is about. */
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

/** The texts of payloads, those that say the most first; false: the whole payload shows it. */
const IN_SUMMARY: Record<Exclude<PayloadText, `${string}_id`>, boolean> = {
  slug: true,
  code: true,
  ref: true,
  landing: true,
  sub: true,
  name: true,
  url: true,
  event_type: true,
  format: true,
  outcome: true,
  status: true,
  email: true,
  device: true,
  reason: true,
  apply_from: true,
  referrer: false,
  provider: false,
  currency: false,
  kind: false,
  method: false,
  reference: false,
  failure_code: false,
  event: false,
  action_type: false,
  description: false,
  failing_since: false,
  last4: false,
  actor: false,
  check: false,
  subject: false,
  what: false,
};

/** The three that say the most, as far as the payload has them. */
function summaryOf(payload: Record<string, unknown>): string {
  const fields = Object.entries(IN_SUMMARY).flatMap(([field, isShown]) => {
    const value = payload[field];
    return isShown && typeof value === "string" && value !== "" ? [value] : [];
  });
  return fields.slice(0, 3).join(", ");
}
