import type { AttemptRecord, DeliveryRecord } from "../../../core/webhooks/history.ts";
import type { Decided, Endpoint } from "../../../core/kernel/rows.ts";
import { DELIVERY_STATUSES } from "../../../domain/delivery.ts";
import { PageHead } from "../layout.tsx";
import { ActionButton, SelectField } from "../parts/form.tsx";
import { Badge, plural, When } from "../parts/figures.tsx";
import { Notice } from "../parts/notice.tsx";
import { Empty, Facts, Pager, Table, type ListPage } from "../parts/table.tsx";

const AT = "/dashboard/webhooks";

interface EndpointDetailProps {
  endpoint: Endpoint;
  deliveries: Omit<ListPage, "data"> & { data: readonly DeliveryRecord[] };
  filter: Record<string, string>;
}

export function EndpointDetail({ endpoint, deliveries, filter }: EndpointDetailProps) {
  const path = `${AT}/${endpoint.id}`;
  const isFiltered = Object.keys(filter).length > 0;
  return (
    <>
      <PageHead
        title="Webhook endpoint"
        back={{ href: AT, label: "Webhooks" }}
        actions={
          <>
            {endpoint.active ? <ActionButton action={`${path}/test`} label="Send a test event" kind="primary" /> : null}
            <a class="button" href={`${path}/edit`}>
              Edit
            </a>
            <a class="button" href={`${path}/rotate-secret`}>
              Rotate secret
            </a>
            <a class="button danger" href={`${path}/delete`}>
              Delete
            </a>
          </>
        }
      />
      {endpoint.disabled_at !== null && !endpoint.active ? (
        <Notice
          tone="bad"
          undo={<ActionButton action={`${path}/switch`} values={{ active: "true" }} label="Switch on again" />}
        >
          <p>
            We switched it off <When at={endpoint.disabled_at} />: it had not answered with success for days. What it
            missed can be sent again through the API (recover).
          </p>
        </Notice>
      ) : null}
      <EndpointFacts endpoint={endpoint} path={path} />
      <section class="card flush">
        <div class="card-head">
          <h2>Deliveries</h2>
          <form method="get" action={path} class="filter tight" aria-label="Filter deliveries">
            <SelectField
              name="status"
              label={<span class="visually-hidden">Status</span>}
              value={filter.status}
              options={[
                { value: "", label: "Any status" },
                ...DELIVERY_STATUSES.map((value) => ({ value, label: value })),
              ]}
            />
            <button type="submit">Filter</button>
          </form>
        </div>
        {deliveries.total === 0 ? (
          <Empty title={isFiltered ? "No delivery has this status" : "Nothing was sent yet"}>
            {isFiltered ? <a href={path}>Show all</a> : "Send a test event to see how it looks."}
          </Empty>
        ) : (
          <>
            <DeliveryTable deliveries={deliveries.data} path={path} />
            <Pager page={deliveries} path={path} query={filter} />
          </>
        )}
      </section>
    </>
  );
}

function Attempts({ delivery }: { delivery: DeliveryRecord }) {
  const last = delivery.attempts.at(-1);
  return (
    <div>
      <p>
        {last ? resultText(last) : "not tried yet"}
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
              {attempt.response_excerpt ? <code class="excerpt">{attempt.response_excerpt}</code> : null}
            </li>
          ))}
        </ul>
        <pre class="payload" tabindex={0} role="region" aria-label={`Payload of ${delivery.id}`}>
          {JSON.stringify(delivery.payload, null, 1)}
        </pre>
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
};

function resultText({ status_code, error }: AttemptRecord): string {
  const said = error === null ? "delivered" : ERROR_TEXTS[error];
  return status_code === null ? said : `${said}, ${status_code}`;
}

/** An endpoint in the details. */
export type Detailed = Decided<
  Endpoint,
  "url" | "description" | "events" | "active" | "failing_since" | "failure_count",
  // In the warning.
  | "disabled_at"
  // Shown once, when it is made.
  | ("secret" | "secret_previous" | "secret_previous_until")
  // Not for people.
  | ("id" | "program_id" | "deleted_at" | "created_at" | "updated_at")
>;

function EndpointFacts({ endpoint, path }: { endpoint: Detailed; path: string }) {
  return (
    <section class="card">
      <Facts
        rows={[
          ["Address", <code>{endpoint.url}</code>],
          endpoint.description === null ? null : ["Description", endpoint.description],
          ["Sends", endpoint.events.includes("*") ? "everything" : endpoint.events.join(", ")],
          [
            "Status",
            <span class="actions">
              <Badge state={endpoint.active ? "active" : "off"} />
              <ActionButton
                action={`${path}/switch`}
                values={{ active: String(!endpoint.active) }}
                label={endpoint.active ? "Switch off" : "Switch on"}
              />
            </span>,
          ],
          endpoint.failing_since === null
            ? null
            : [
                "Failing since",
                <>
                  <When at={endpoint.failing_since} />, {plural(endpoint.failure_count, "attempt")}
                </>,
              ],
        ]}
      />
    </section>
  );
}

function DeliveryTable({ deliveries, path }: { deliveries: readonly DeliveryRecord[]; path: string }) {
  return (
    <Table
      label="Deliveries"
      columns={[{ label: "Event" }, { label: "Status" }, { label: "Attempts" }, { label: "Send again", hidden: true }]}
      rows={deliveries.map((delivery) => [
        <span>
          <code>{delivery.event}</code>
          <span class="second">
            <When at={delivery.created_at} />
          </span>
        </span>,
        <span>
          <Badge state={delivery.status} />
          {delivery.next_attempt_at === null || delivery.status !== "pending" ? null : (
            <span class="second">
              next <When at={delivery.next_attempt_at} />
            </span>
          )}
        </span>,
        <Attempts delivery={delivery} />,
        delivery.status === "pending" || delivery.status === "delivering" ? null : (
          <ActionButton
            action={`${path}/deliveries/${delivery.id}/redeliver`}
            label={
              <>
                Send again<span class="visually-hidden"> {delivery.id}</span>
              </>
            }
          />
        ),
      ])}
    />
  );
}
