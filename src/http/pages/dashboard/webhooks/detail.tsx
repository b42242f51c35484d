import { listDeliveries, type AttemptRecord, type DeliveryRecord } from "../../../../core/webhooks/history.ts";
import type { EndpointWithHealth } from "../../../../core/webhooks/health.ts";
import { deliveryQuery } from "../../../queries.ts";
import { PageHead } from "../../layout.tsx";
import { dateColumn, ListFoot, ListTable, timeColumn, type ListOf, type Shown } from "../../list.tsx";
import { ListFilter } from "../../list-filter.tsx";
import { choice } from "../../parts/filter-fields.tsx";
import { ActionButton } from "../../parts/form.tsx";
import { Badge, countText, plural, When } from "../../parts/figures.tsx";
import { Menu } from "../../parts/menu.tsx";
import { Notice } from "../../parts/notice.tsx";
import { Empty, Facts } from "../../parts/table.tsx";
import { ActionLink, IfMay } from "../../rights.tsx";
import { DELIVERY_STATUSES } from "../../../../domain/delivery.ts";

const AT = "/dashboard/webhooks";

export const DELIVERY_LIST: ListOf<typeof deliveryQuery, DeliveryRecord> = {
  name: "deliveries",
  label: "Deliveries",
  query: deliveryQuery,
  read: (c, filter) => listDeliveries(c.var.ctx, c.req.param("id") ?? "", filter),
  sort: "created_at",
  columns: [
    {
      key: "event",
      label: "Event",
      cell: (delivery) => <code>{delivery.event}</code>,
      csv: { delivery_id: "id", event: "event", event_id: "event_id" },
    },
    {
      key: "status",
      label: "Status",
      state: ({ status }) => status,
      cell: (delivery) => <StatusCell delivery={delivery} />,
      csv: { status: "status", next_attempt_at: "next_attempt_at" },
    },
    timeColumn("completed_at", "Completed"),
    {
      key: "attempts",
      label: "Attempts",
      cell: (delivery) => <Attempts delivery={delivery} />,
      csv: {
        attempt_count: "attempt_count",
        last_status_code: (delivery) => delivery.attempts.at(-1)?.status_code ?? null,
        last_error: (delivery) => delivery.attempts.at(-1)?.error ?? null,
      },
    },
    dateColumn("Created", "created_at"),
  ],
};

interface EndpointDetailProps {
  endpoint: EndpointWithHealth;
  deliveries: Shown<typeof deliveryQuery, DeliveryRecord>;
  now: number;
  zone: string;
}

export function EndpointDetail({ endpoint, ...list }: EndpointDetailProps) {
  const path = `${AT}/${endpoint.id}`;
  return (
    <>
      <PageHead
        title="Webhook endpoint"
        back={{ href: AT, label: "Webhooks" }}
        actions={
          <>
            {endpoint.active ? <ActionButton action={`${path}/test`} label="Send a test event" kind="primary" /> : null}
            {endpoint.active ? (
              <ActionLink class="button" href={`${path}/recover`}>
                Resend missed events
              </ActionLink>
            ) : null}
            <Menu
              items={[
                <ActionLink class="item" href={`${path}/edit`}>
                  Edit
                </ActionLink>,
                <ActionLink class="item" href={`${path}/rotate-secret`}>
                  Rotate secret
                </ActionLink>,
                <ActionLink class="item danger" href={`${path}/delete`}>
                  Delete
                </ActionLink>,
              ]}
            />
          </>
        }
      />
      {endpoint.disabled_at !== null && !endpoint.active ? (
        <Notice
          tone="bad"
          undo={<ActionButton action={`${path}/switch`} values={{ active: "true" }} label="Switch on again" />}
        >
          <p>
            We disabled it <When at={endpoint.disabled_at} />: no delivery had succeeded for days. See the reasons
            below. After you enable it, resend the missed events.
          </p>
        </Notice>
      ) : null}
      <EndpointFacts endpoint={endpoint} path={path} />
      <Deliveries {...list} path={path} />
    </>
  );
}

interface DeliveriesProps extends Omit<EndpointDetailProps, "endpoint"> {
  path: string;
}

function Deliveries({ deliveries, path, now, zone }: DeliveriesProps) {
  return (
    <section class="card flush">
      <div class="card-head">
        <h2>Deliveries</h2>
        <ListFilter
          {...{ list: DELIVERY_LIST, shown: deliveries, path, now, zone }}
          fields={[choice("status", "Status", DELIVERY_STATUSES)]}
          presets={[{ label: "Failed", query: { status: "failed" } }]}
        />
      </div>
      {deliveries.page.total === 0 ? (
        <Empty title={deliveries.isFiltered ? "No delivery has this status" : "Nothing was sent yet"}>
          {deliveries.isFiltered ? <a href={path}>Show all</a> : "Send a test event to see an example."}
        </Empty>
      ) : (
        <>
          <ListTable
            list={DELIVERY_LIST}
            shown={deliveries}
            path={path}
            act={{ label: "Send", cell: (delivery) => <Send delivery={delivery} path={path} /> }}
          />
          <ListFoot shown={deliveries} path={path} file={`${path}/deliveries.csv`} />
        </>
      )}
    </section>
  );
}

function Attempts({ delivery }: { delivery: DeliveryRecord }) {
  const last = delivery.attempts.at(-1);
  return (
    <div>
      <p>
        {last ? resultText(last) : "not attempted yet"}
        {delivery.attempts.length > 1 ? ` (${plural(delivery.attempts.length, "attempt")})` : ""}
      </p>
      <details>
        <summary>
          Details<span class="visually-hidden"> of {delivery.id}</span>
        </summary>
        <ul class="plain-list">
          {delivery.attempts.map((attempt) => (
            <li>
              <When at={attempt.started_at} />: {resultText(attempt)}, {attempt.duration_ms}&nbsp;ms
              <IfMay right="details">
                {attempt.response_excerpt ? <code class="excerpt">{attempt.response_excerpt}</code> : null}
              </IfMay>
            </li>
          ))}
        </ul>
        <IfMay right="details">
          <pre class="payload" tabindex={0} role="region" aria-label={`Payload of ${delivery.id}`}>
            {JSON.stringify(delivery.payload, null, 1)}
          </pre>
        </IfMay>
      </details>
    </div>
  );
}

const ERROR_TEXTS: Record<NonNullable<AttemptRecord["error"]>, string> = {
  timeout: "no answer in 5 seconds",
  connection: "no connection",
  dns: "the name could not be resolved",
  blocked: "blocked: the address is not public",
  http: "refused",
  redirect: "answered with a redirect",
  secret: "not sent: the signing secret can no longer be read. Rotate it",
};

function resultText({ status_code, error }: AttemptRecord): string {
  const said = error === null ? "delivered" : ERROR_TEXTS[error];
  return status_code === null ? said : `${said}, ${status_code}`;
}

type HealthOf = Pick<EndpointWithHealth, "active" | "disabled_at" | "failing_since" | "last_success">;

/** The state of an endpoint in a word, with its times below (PAGE-41). */
export function Health({ endpoint }: { endpoint: HealthOf }) {
  const { active, disabled_at, failing_since, last_success } = endpoint;
  const last =
    last_success === null ? null : (
      <span class="second">
        last success <When at={last_success} />
      </span>
    );
  if (!active) {
    return disabled_at === null ? (
      <Badge state="off" label="disabled" />
    ) : (
      <Badge state="failed" label="disabled by us" />
    );
  }
  if (failing_since !== null) {
    return (
      <span>
        <Badge state="failed" label="failing" />
        <span class="second">
          since <When at={failing_since} />
        </span>
        {last}
      </span>
    );
  }
  if (last_success === null) return <Badge state="none" label="no deliveries yet" />;
  return (
    <span>
      <Badge state="active" label="healthy" />
      {last}
    </span>
  );
}

export type Detailed = Pick<
  EndpointWithHealth,
  "url" | "description" | "events" | "active" | "disabled_at" | "failing_since" | "failure_count" | "last_success"
>;

function EndpointFacts({ endpoint, path }: { endpoint: Detailed; path: string }) {
  return (
    <section class="card">
      <Facts
        rows={[
          ["Address", <code>{endpoint.url}</code>],
          endpoint.description === null ? null : ["Description", endpoint.description],
          ["Sends", endpoint.events.includes("*") ? "Everything" : endpoint.events.join(", ")],
          [
            "Health",
            <span class="actions">
              <Health endpoint={endpoint} />
              <ActionButton
                action={`${path}/switch`}
                values={{ active: String(!endpoint.active) }}
                label={endpoint.active ? "Switch off" : "Switch on"}
              />
            </span>,
          ],
          endpoint.failing_since === null ? null : ["Failed attempts", countText(endpoint.failure_count)],
        ]}
      />
    </section>
  );
}

function StatusCell({ delivery }: { delivery: DeliveryRecord }) {
  return (
    <span>
      <Badge state={delivery.status} />
      {delivery.next_attempt_at === null || delivery.status !== "pending" ? null : (
        <span class="second">
          next <When at={delivery.next_attempt_at} />
        </span>
      )}
    </span>
  );
}

/** Sends a pending delivery at once, and a finished one again. */
function Send({ delivery, path }: { delivery: DeliveryRecord; path: string }) {
  if (delivery.status === "delivering") return null;
  return (
    <ActionButton
      action={`${path}/deliveries/${delivery.id}/redeliver`}
      label={
        <>
          {delivery.status === "pending" ? "Send now" : "Resend"}
          <span class="visually-hidden"> {delivery.id}</span>
        </>
      }
    />
  );
}
