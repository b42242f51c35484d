import { type Context, Hono } from "hono";
import { recover, redeliver, rotateSecret, sendPing } from "../../../../core/webhooks/actions.ts";
import type { Endpoint } from "../../../../core/kernel/rows.ts";
import {
  createEndpoint,
  deleteEndpoint,
  readEndpoint,
  updateEndpoint,
  type EndpointWithSecret,
} from "../../../../core/webhooks/endpoints.ts";
import { readEndpointHealth, type EndpointWithHealth } from "../../../../core/webhooks/health.ts";
import { dayIn } from "../../../../domain/time-zone.ts";
import { notFound } from "../../../../lib/errors.ts";
import { DAY, MINUTE } from "../../../../lib/time.ts";
import { recoverBody } from "../../../api/webhook-actions.ts";
import { endpointCreate, endpointPatch } from "../../../api/webhooks.ts";
import type { PageEnv } from "../../../session.ts";
import { openEdit, type Edit } from "../../edits.ts";
import type { FormFields, Problems } from "../../forms.ts";
import { framed, formPage } from "../../framed.tsx";
import { csvOf } from "../../list-csv.ts";
import { readList, shorterAddress } from "../../list.tsx";
import { CopyLine } from "../../parts/copy.tsx";
import { ActionButton, Field } from "../../parts/form.tsx";
import { plural, When } from "../../parts/figures.tsx";
import { Notice } from "../../parts/notice.tsx";
import { Empty, Table } from "../../parts/table.tsx";
import { ActionLink } from "../../rights.tsx";
import { ENDPOINT_FORM, endpointInput, endpointValues, EndpointFields } from "./fields.tsx";
import { DELIVERY_LIST, EndpointDetail, Health } from "./detail.tsx";
import { act, press, change, sentFields } from "../../act.ts";
import { FLASH, addressWithNote } from "../../flash.ts";
import type { Place } from "../../layout.tsx";

const AT = "/dashboard/webhooks";

/** The notes after deliveries were sent again, with their number. */
function recoveredTexts(count = ""): Record<string, string> {
  if (!/^[1-9]\d{0,3}$/.test(count)) return {};
  const sent = `${plural(Number(count), "delivery", "deliveries")} that failed or ${count === "1" ? "was" : "were"} missed`;
  return {
    recovered: `${sent}: being resent. Reload in a moment to see the result.`,
    recovered_part: `${sent}: being resent. There are more: resend them once these are done.`,
  };
}

/** `/dashboard/webhooks` (PAGE-7): deliveries, redeliver, test. */
export const webhooks = new Hono<PageEnv>()
  .get("/", async (c) => {
    const list = await readEndpointHealth(c.var.ctx);
    const addLink = (text: string) => (
      <ActionLink class="button primary" href={`${AT}/new`}>
        {text}
      </ActionLink>
    );
    const head = {
      lede: "Notify your systems about events. Deliveries are signed, and retried for 14 hours if your server does not answer.",
      actions: addLink("Add endpoint"),
    };
    return framed(
      c,
      { title: "Webhooks", at: AT, done: FLASH.endpoints, head },
      <section class="card flush">
        {list.length === 0 ? (
          <Empty title="No endpoints yet" action={addLink("Add your first endpoint")}>
            Add an address of your server, and we send it events about commissions, partners and payouts.
          </Empty>
        ) : (
          <EndpointTable endpoints={list} />
        )}
      </section>,
    );
  })
  .get("/new", (c) => newPage(c))
  .post("/new", (c) =>
    act(c, {
      schema: endpointCreate,
      input: endpointInput,
      verb: async (value) => secretPage(c, "Endpoint added", await createEndpoint(c.var.ctx, value)),
      page: ({ fields, problems }) => newPage(c, fields, problems),
    }),
  )
  .get("/:id", async (c) => {
    const shorter = shorterAddress(c, DELIVERY_LIST);
    if (shorter !== null) return c.redirect(shorter, 303);
    const [endpoint] = await readEndpointHealth(c.var.ctx, c.req.param("id"));
    if (!endpoint) throw notFound("webhook endpoint");
    const deliveries = await readList(c, DELIVERY_LIST);
    const done = { ...FLASH.endpoints, ...recoveredTexts(c.req.query("count")) };
    return framed(
      c,
      { title: "Webhook endpoint", at: AT, done },
      <EndpointDetail {...{ endpoint, deliveries }} now={c.var.now} zone={c.var.session.program.time_zone} />,
    );
  })
  .get("/:id/deliveries.csv", (c) => csvOf(c, DELIVERY_LIST))
  .get("/:id/edit", async (c) => {
    const endpoint = await readEndpoint(c.var.ctx, c.req.param("id"));
    return editPage(c, openEdit(ENDPOINT_FORM, endpoint));
  })
  .post("/:id/edit", async (c) => {
    const row = await readEndpoint(c.var.ctx, c.req.param("id"));
    return change(c, {
      ...{ form: ENDPOINT_FORM, row, schema: endpointPatch, input: endpointInput },
      verb: async (value, { sent }) => {
        await updateEndpoint(c.var.ctx, row.id, value, sent);
        return addressWithNote(`${AT}/${row.id}`, "saved");
      },
      page: (edit) => editPage(c, edit),
    });
  })
  .post("/:id/switch", async (c) => {
    const active = (await sentFields(c)).text("active") === "true";
    const { id } = await updateEndpoint(c.var.ctx, c.req.param("id"), { active });
    return c.redirect(addressWithNote(`${AT}/${id}`, active ? "on" : "off"), 303);
  })
  .post("/:id/test", (c) => send(c, "tested", () => sendPing(c.var.ctx, c.req.param("id"))))
  .post("/:id/deliveries/:delivery_id/redeliver", (c) =>
    send(c, "redelivered", () => redeliver(c.var.ctx, c.req.param("id"), c.req.param("delivery_id"))),
  )
  .get("/:id/recover", (c) => recoverPage(c))
  .post("/:id/recover", (c) => {
    const id = c.req.param("id");
    return act(c, {
      schema: recoverBody,
      input: (fields) => ({ since: fields.startOfDate("since", c.var.session.program.time_zone) }),
      verb: async ({ since }) => {
        const { recovered, has_more } = await recover(c.var.ctx, id, since);
        if (recovered === 0) return addressWithNote(`${AT}/${id}`, "nothing");
        return `${addressWithNote(`${AT}/${id}`, has_more ? "recovered_part" : "recovered")}&count=${recovered}`;
      },
      page: ({ problems }) => recoverPage(c, problems),
    });
  })
  .get("/:id/rotate-secret", (c) =>
    askPage(c, {
      title: "Rotate the signing secret?",
      text: "You get a new secret. For 24 hours, the header webhook-signature also has a signature with the old one, so a server that verifies it accepts every delivery in the meantime. X-Service-Signature uses the new secret right away: a server that verifies only this header refuses deliveries until it has the new secret, and we retry them after 5 minutes. Rotating again within 24 hours ends the oldest secret.",
      submit: "Rotate the secret",
      kind: "primary",
    }),
  )
  .post("/:id/rotate-secret", async (c) => {
    const rotated = await rotateSecret(c.var.ctx, c.req.param("id"), (ms) => scheduler.wait(ms));
    return secretPage(c, "New signing secret", rotated);
  })
  .get("/:id/delete", (c) =>
    askPage(c, {
      title: "Delete this endpoint?",
      text: "We stop sending to it, and pending deliveries are canceled. To pause it, switch it off instead.",
      submit: "Delete the endpoint",
      kind: "danger",
    }),
  )
  .post("/:id/delete", async (c) => {
    await deleteEndpoint(c.var.ctx, c.req.param("id"));
    return c.redirect(addressWithNote(AT, "deleted"), 303);
  });

export type Listed = Pick<
  EndpointWithHealth,
  "id" | "url" | "description" | "events" | "active" | "failing_since" | "disabled_at" | "last_success" | "created_at"
>;

function EndpointTable({ endpoints }: { endpoints: readonly Listed[] }) {
  return (
    <Table
      label="Webhook endpoints"
      columns={[
        { label: "Endpoint" },
        { label: "Health" },
        { label: "Events" },
        { label: "Added", align: "end", quiet: true },
      ]}
      rows={endpoints.map((endpoint) => [
        <span>
          <a href={`${AT}/${endpoint.id}`}>{endpoint.url}</a>
          {endpoint.description ? <span class="second">{endpoint.description}</span> : null}
        </span>,
        <Health endpoint={endpoint} />,
        endpoint.events.includes("*") ? "all" : plural(endpoint.events.length, "type"),
        <When at={endpoint.created_at} only="day" />,
      ])}
    />
  );
}

function placeOf(id: string): Place {
  return { href: `${AT}/${id}`, label: "The endpoint" };
}

/** Sends to an endpoint; for an inactive one shows a notice, not an error page. */
async function send(c: Context<PageEnv>, done: "tested" | "redelivered", verb: () => Promise<unknown>) {
  const id = c.req.param("id") ?? "";
  const sendIt = async () => {
    await verb();
    return addressWithNote(`${AT}/${id}`, done);
  };
  return press(c, sendIt, ({ message }) =>
    framed(
      c,
      { title: "Webhook endpoint", at: AT, status: 409, head: { title: "Not sent", back: placeOf(id) } },
      <Notice tone="bad">
        <p>{message}</p>
      </Notice>,
    ),
  );
}

/** Shows the form for the start time before all missed deliveries are sent. */
async function recoverPage(c: Context<PageEnv>, problems?: Problems) {
  const { id, url } = await readEndpoint(c.var.ctx, c.req.param("id") ?? "");
  const since = dayIn(c.var.session.program.time_zone, c.var.now - 7 * DAY);
  return formPage(
    c,
    {
      ...{ title: "Resend missed events?", at: AT, problems, values: { since }, back: placeOf(id) },
      ...{ submit: "Send", cancel: "Back" },
    },
    <>
      <p>
        <strong>{url}</strong>
      </p>
      <p>
        This resends every event that failed, was blocked, or was missed while the endpoint was off, including events
        from up to five days earlier that failed since then. Deliveries that wait for a retry are attempted right away.
        Events that arrived, or are on their way, are not sent again.
      </p>
      <Field name="since" label="Since" type="date" required />
    </>,
  );
}

interface Question {
  title: string;
  text: string;
  submit: string;
  kind: "primary" | "danger";
}

async function askPage(c: Context<PageEnv>, { text, ...question }: Question) {
  const { id, url } = await readEndpoint(c.var.ctx, c.req.param("id") ?? "");
  return formPage(
    c,
    { ...question, at: AT, back: placeOf(id), cancel: "Back" },
    <>
      <p>
        <strong>{url}</strong>
      </p>
      <p>{text}</p>
    </>,
  );
}

/** The only page that shows the secret. */
function secretPage(c: Context<PageEnv>, title: string, { endpoint, secret }: EndpointWithSecret) {
  c.set("kept_for", MINUTE);
  const back = placeOf(endpoint.id);
  return framed(
    c,
    { title, at: AT, head: { back } },
    <section class="card prose">
      <h2>Signing secret</h2>
      <Notice tone="warn">
        <p>Copy it now: we show it only once.</p>
      </Notice>
      <CopyLine label="signing secret" text={secret} />
      <p>
        Verify every delivery with it: the header <code>X-Service-Signature</code> is the hex HMAC-SHA256 of the body,
        keyed with this whole text. Standard Webhooks libraries work too, with the headers <code>webhook-id</code>,{" "}
        <code>webhook-timestamp</code> and <code>webhook-signature</code>.
      </p>
      <div class="actions">
        <ActionButton action={`${back.href}/test`} label="Send a test event" kind="primary" />
        <a href={back.href}>Go to the endpoint</a>
      </div>
    </section>,
  );
}

function newPage(c: Context<PageEnv>, fields?: FormFields, problems?: Problems) {
  return formPage(
    c,
    {
      ...{ title: "Add endpoint", at: AT, problems, values: endpointValues(null, fields) },
      ...{ back: { href: AT, label: "Webhooks" }, submit: "Add endpoint", cancel: "Cancel" },
    },
    <EndpointFields />,
  );
}

function editPage(c: Context<PageEnv>, { row, shown, fields, problems }: Edit<Endpoint>) {
  return formPage(
    c,
    {
      ...{ title: "Edit endpoint", at: AT, problems, values: endpointValues(row, fields), shown },
      ...{ back: placeOf(row.id), submit: "Save", cancel: "Cancel" },
    },
    <EndpointFields />,
  );
}
