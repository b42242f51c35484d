import type { Context } from "hono";
import { Hono } from "hono";
import { recover, redeliver, rotateSecret, sendPing } from "../../../core/webhooks/actions.ts";
import type { Decided, Endpoint } from "../../../core/kernel/rows.ts";
import type { Shown } from "../../../core/kernel/stale.ts";
import {
  createEndpoint,
  deleteEndpoint,
  listEndpoints,
  readEndpoint,
  updateEndpoint,
  type EndpointWithSecret,
} from "../../../core/webhooks/endpoints.ts";
import { dayIn } from "../../../domain/time-zone.ts";
import { DAY, MINUTE } from "../../../lib/time.ts";
import { recoverBody } from "../../api/webhook-actions.ts";
import { endpointCreate, endpointPatch } from "../../api/webhooks.ts";
import type { PageEnv } from "../../session.ts";
import { openEdit, refusedEdit, sentEdit, type Edit } from "../edits.ts";
import { FormFields, parseInput, problemsOf, type Problems } from "../forms.ts";
import { framed } from "../framed.tsx";
import { PageHead } from "../layout.tsx";
import { csvOf } from "../list-csv.ts";
import { readList } from "../list.tsx";
import { CopyLine } from "../parts/copy.tsx";
import { ActionButton, Field, Form } from "../parts/form.tsx";
import { Badge, plural, When } from "../parts/figures.tsx";
import { Done, Notice } from "../parts/notice.tsx";
import { Empty, Table } from "../parts/table.tsx";
import { ActionLink } from "../rights.tsx";
import {
  ENDPOINT_FORM,
  endpointInput,
  endpointValues,
  EndpointFields,
  type EndpointValues,
} from "./endpoint-fields.tsx";
import { DELIVERY_LIST, EndpointDetail } from "./endpoint-detail.tsx";

const AT = "/dashboard/webhooks";

const DONE = {
  saved: "Saved.",
  deleted: "The endpoint is deleted. Nothing is sent to it any more.",
  tested: "A test event is on its way. Reload in a moment to see how it went.",
  redelivered: "It is being sent again. Reload in a moment to see how it went.",
  nothing: "Nothing failed or was missed since then.",
  on: "The endpoint is active. Now send what it missed.",
  off: "The endpoint is switched off.",
};

/** What is said where deliveries were sent again, so many. */
function recoveredTexts(count = ""): Record<string, string> {
  if (!/^[1-9]\d{0,3}$/.test(count)) return {};
  const sent = `${plural(Number(count), "delivery", "deliveries")} that failed or ${count === "1" ? "was" : "were"} missed`;
  return {
    recovered: `${sent}: being sent again. Reload in a moment to see how it went.`,
    recovered_part: `${sent}: being sent again. There is more: send it once these are through.`,
  };
}

/** `/dashboard/webhooks` (PAGE-7): deliveries, redeliver, test. */
export const webhooks = new Hono<PageEnv>()
  .get("/", async (c) => {
    const list = await listEndpoints(c.var.ctx);
    return framed(
      c,
      { title: "Webhooks", at: AT },
      <>
        <Done code={c.req.query("done")} texts={DONE} />
        <PageHead
          title="Webhooks"
          lede="Your systems are notified when something happens: signed, and tried again for 14 hours if they do not answer."
          actions={
            <ActionLink class="button primary" href={`${AT}/new`}>
              Add endpoint
            </ActionLink>
          }
        />
        <section class="card flush">
          {list.length === 0 ? (
            <Empty
              title="No endpoints yet"
              action={
                <ActionLink class="button primary" href={`${AT}/new`}>
                  Add your first endpoint
                </ActionLink>
              }
            >
              Give us an address of yours, and we send commissions, partners and payouts there as they happen.
            </Empty>
          ) : (
            <EndpointTable endpoints={list} />
          )}
        </section>
      </>,
    );
  })
  .get("/new", (c) => newPage(c, endpointValues(null)))
  .post("/new", async (c) => {
    const fields = new FormFields(await c.req.formData());
    const values = endpointValues(null, fields);
    const parsed = parseInput(endpointCreate, endpointInput(fields));
    if (!parsed.ok) return newPage(c, values, parsed.problems);
    try {
      return secretPage(c, "Endpoint added", await createEndpoint(c.var.ctx, parsed.value));
    } catch (error) {
      return newPage(c, values, problemsOf(error));
    }
  })
  .get("/:id", async (c) => {
    const { ctx } = c.var;
    const id = c.req.param("id");
    const endpoint = await readEndpoint(ctx, id);
    const deliveries = await readList(c, DELIVERY_LIST);
    return framed(
      c,
      { title: "Webhook endpoint", at: AT },
      <>
        <Done code={c.req.query("done")} texts={{ ...DONE, ...recoveredTexts(c.req.query("count")) }} />
        <EndpointDetail endpoint={endpoint} deliveries={deliveries} />
      </>,
    );
  })
  .get("/:id/deliveries.csv", (c) => csvOf(c, DELIVERY_LIST))
  .get("/:id/edit", async (c) => {
    const endpoint = await readEndpoint(c.var.ctx, c.req.param("id"));
    return editPage(c, openEdit(ENDPOINT_FORM, endpoint));
  })
  .post("/:id/edit", async (c) => {
    const endpoint = await readEndpoint(c.var.ctx, c.req.param("id"));
    const fields = new FormFields(await c.req.formData());
    const edit = sentEdit(ENDPOINT_FORM, endpoint, fields);
    const parsed = parseInput(endpointPatch, endpointInput(fields));
    if (!parsed.ok) return editPage(c, { ...edit, problems: parsed.problems });
    try {
      await updateEndpoint(c.var.ctx, endpoint.id, parsed.value, edit.sent);
      return c.redirect(`${AT}/${endpoint.id}?done=saved`, 303);
    } catch (error) {
      return editPage(c, await refusedEdit(c, ENDPOINT_FORM, edit, error));
    }
  })
  .post("/:id/switch", async (c) => {
    const active = new FormFields(await c.req.formData()).text("active") === "true";
    const { id } = await updateEndpoint(c.var.ctx, c.req.param("id"), { active });
    return c.redirect(`${AT}/${id}?done=${active ? "on" : "off"}`, 303);
  })
  .post("/:id/test", (c) => send(c, "tested", () => sendPing(c.var.ctx, c.req.param("id"))))
  .post("/:id/deliveries/:delivery_id/redeliver", (c) =>
    send(c, "redelivered", () => redeliver(c.var.ctx, c.req.param("id"), c.req.param("delivery_id"))),
  )
  .get("/:id/recover", (c) => recoverPage(c))
  .post("/:id/recover", async (c) => {
    const id = c.req.param("id");
    const fields = new FormFields(await c.req.formData());
    const since = fields.startOfDate("since", c.var.session.program.time_zone);
    const parsed = parseInput(recoverBody, { since });
    if (!parsed.ok) return recoverPage(c, parsed.problems);
    try {
      const { recovered, has_more } = await recover(c.var.ctx, id, parsed.value.since);
      if (recovered === 0) return c.redirect(`${AT}/${id}?done=nothing`, 303);
      return c.redirect(`${AT}/${id}?done=${has_more ? "recovered_part" : "recovered"}&count=${recovered}`, 303);
    } catch (error) {
      return recoverPage(c, problemsOf(error));
    }
  })
  .get("/:id/rotate-secret", (c) =>
    confirmPage(c, {
      title: "Rotate the signing secret?",
      text: "You get a new secret. For 24 hours the header webhook-signature has a signature of the old one too: what verifies that header accepts every delivery while you change the secret on your side. X-Service-Signature is of the new one at once: what verifies that header alone refuses deliveries until it has the new secret, and they are tried again after 5 minutes. Rotating again within the 24 hours ends the oldest.",
      button: "Rotate the secret",
    }),
  )
  .post("/:id/rotate-secret", async (c) => {
    const rotated = await rotateSecret(c.var.ctx, c.req.param("id"), (ms) => scheduler.wait(ms));
    return secretPage(c, "New signing secret", rotated);
  })
  .get("/:id/delete", (c) =>
    confirmPage(c, {
      title: "Delete this endpoint?",
      text: "Nothing is sent to it any more, and what was still to be sent is given up. To stop for a while only, switch it off.",
      button: "Delete the endpoint",
      danger: true,
    }),
  )
  .post("/:id/delete", async (c) => {
    await deleteEndpoint(c.var.ctx, c.req.param("id"));
    return c.redirect(`${AT}?done=deleted`, 303);
  });

/** An endpoint in the list. */
export type Listed = Decided<
  Endpoint,
  "id" | "url" | "description" | "events" | "active" | "disabled_at" | "created_at",
  | ("program_id" | "secret" | "secret_previous" | "secret_previous_until")
  | ("failing_since" | "failure_count" | "deleted_at" | "updated_at")
>;

function EndpointTable({ endpoints }: { endpoints: readonly Listed[] }) {
  return (
    <Table
      label="Webhook endpoints"
      columns={[{ label: "Endpoint" }, { label: "Events" }, { label: "Status" }, { label: "Added", align: "end" }]}
      rows={endpoints.map((endpoint) => [
        <span>
          <a href={`${AT}/${endpoint.id}`}>{endpoint.url}</a>
          {endpoint.description ? <span class="second">{endpoint.description}</span> : null}
        </span>,
        endpoint.events.includes("*") ? "all" : plural(endpoint.events.length, "type"),
        <EndpointState endpoint={endpoint} />,
        <When at={endpoint.created_at} only="day" />,
      ])}
    />
  );
}

function EndpointState({ endpoint }: { endpoint: Listed }) {
  if (endpoint.active) return <Badge state="active" />;
  return endpoint.disabled_at === null ? <Badge state="off" /> : <Badge state="failed" label="disabled by us" />;
}

/** Sends something to an endpoint; for one that is not active a notice, not an error page. */
async function send(c: Context<PageEnv>, done: keyof typeof DONE, verb: () => Promise<unknown>) {
  const id = c.req.param("id") ?? "";
  try {
    await verb();
    return c.redirect(`${AT}/${id}?done=${done}`, 303);
  } catch (error) {
    const problems = problemsOf(error);
    return framed(
      c,
      { title: "Webhook endpoint", at: AT, status: 409 },
      <>
        <PageHead title="Not sent" back={{ href: `${AT}/${id}`, label: "The endpoint" }} />
        <Notice tone="bad">
          <p>{problems.message}</p>
        </Notice>
      </>,
    );
  }
}

/** Asks since when, before everything that an endpoint lacks is sent. */
async function recoverPage(c: Context<PageEnv>, problems?: Problems) {
  const endpoint = await readEndpoint(c.var.ctx, c.req.param("id") ?? "");
  const weekAgo = dayIn(c.var.session.program.time_zone, c.var.now - 7 * DAY);
  const title = "Send what it missed?";
  return framed(
    c,
    { title, at: AT, status: problems ? 422 : 200 },
    <>
      <PageHead title={title} back={{ href: `${AT}/${endpoint.id}`, label: "The endpoint" }} />
      <Form class="card stack form-narrow" problems={problems}>
        <p>
          <strong>{endpoint.url}</strong>
        </p>
        <p>
          Every event that failed, was blocked, or was missed while the endpoint was off is sent again, also where it
          was tried up to five days before that day and failed since; what waits for its next attempt is tried at once.
          What has arrived, or is on its way, is not.
        </p>
        <Field name="since" label="Since" type="date" value={weekAgo} problems={problems} required />
        <div class="actions">
          <button type="submit" class="primary">
            Send
          </button>
          <a href={`${AT}/${endpoint.id}`}>Back</a>
        </div>
      </Form>
    </>,
  );
}

async function confirmPage(
  c: Context<PageEnv>,
  { title, text, button, danger }: { title: string; text: string; button: string; danger?: boolean },
) {
  const endpoint = await readEndpoint(c.var.ctx, c.req.param("id") ?? "");
  return framed(
    c,
    { title, at: AT },
    <>
      <PageHead title={title} back={{ href: `${AT}/${endpoint.id}`, label: "The endpoint" }} />
      <Form class="card stack form-narrow">
        <p>
          <strong>{endpoint.url}</strong>
        </p>
        <p>{text}</p>
        <div class="actions">
          <button type="submit" class={danger ? "danger" : "primary"}>
            {button}
          </button>
          <a href={`${AT}/${endpoint.id}`}>Back</a>
        </div>
      </Form>
    </>,
  );
}

/** The only page that shows the secret. */
function secretPage(c: Context<PageEnv>, title: string, { endpoint, secret }: EndpointWithSecret) {
  c.set("kept_for", MINUTE);
  return framed(
    c,
    { title, at: AT },
    <>
      <PageHead title={title} back={{ href: `${AT}/${endpoint.id}`, label: "The endpoint" }} />
      <section class="card prose">
        <h2>Signing secret</h2>
        <Notice tone="warn">
          <p>Copy it now: it is shown only this once.</p>
        </Notice>
        <CopyLine label="signing secret" text={secret} />
        <p>
          Check every delivery with it: the header <code>X-Service-Signature</code> is the hex HMAC-SHA256 of the body,
          keyed with this whole text. Standard Webhooks libraries work too, with the headers <code>webhook-id</code>,{" "}
          <code>webhook-timestamp</code> and <code>webhook-signature</code>.
        </p>
        <div class="actions">
          <ActionButton action={`${AT}/${endpoint.id}/test`} label="Send a test event" kind="primary" />
          <a href={`${AT}/${endpoint.id}`}>Go to the endpoint</a>
        </div>
      </section>
    </>,
  );
}

function newPage(c: Context<PageEnv>, values: EndpointValues, problems?: Problems) {
  return formPage(c, { endpoint: null, values, problems });
}

function editPage(c: Context<PageEnv>, { row, shown, fields, problems }: Edit<Endpoint>) {
  return formPage(c, { endpoint: row, values: endpointValues(row, fields), problems, shown });
}

interface EndpointForm {
  endpoint: Endpoint | null;
  values: EndpointValues;
  problems: Problems | undefined;
  shown?: Shown;
}

function formPage(c: Context<PageEnv>, { endpoint, values, problems, shown }: EndpointForm) {
  const title = endpoint ? "Edit endpoint" : "Add endpoint";
  const back = endpoint ? { href: `${AT}/${endpoint.id}`, label: "The endpoint" } : { href: AT, label: "Webhooks" };
  return framed(
    c,
    { title, at: AT, status: problems ? 422 : 200 },
    <>
      <PageHead title={title} back={back} />
      <Form class="card stack form-narrow" problems={problems} shown={shown}>
        <EndpointFields values={values} problems={problems} />
        <div class="actions">
          <button type="submit" class="primary">
            {endpoint ? "Save" : "Add endpoint"}
          </button>
          <a href={back.href}>Cancel</a>
        </div>
      </Form>
    </>,
  );
}
