import type { Context } from "hono";
import { Hono } from "hono";
import { getApplication, listApplications, readApplication } from "../../../core/applications/applications.ts";
import { approveApplication, decideApplications, declineApplication } from "../../../core/applications/decide.ts";
import { parsePage } from "../../../core/kernel/list-page.ts";
import type { Application, Decided } from "../../../core/kernel/rows.ts";
import type { ApplicationView } from "../../../core/kernel/views.ts";
import { listPartners } from "../../../core/partners/partners.ts";
import { APPLICATION_STATUSES } from "../../../domain/application.ts";
import { publicUrl } from "../../../lib/public-url.ts";
import { applicationDecline, applicationsDecide } from "../../api/applications.ts";
import { applicationQuery } from "../../queries.ts";
import type { PageEnv } from "../../session.ts";
import { filterOf } from "../filters.ts";
import { FormFields, parseInput, problemsOf, type Problems } from "../forms.ts";
import { framed } from "../framed.tsx";
import { PageHead } from "../layout.tsx";
import { CopyLine } from "../parts/copy.tsx";
import { Badge, When } from "../parts/figures.tsx";
import { Field, Form, SelectField } from "../parts/form.tsx";
import { Done } from "../parts/notice.tsx";
import { Empty, Pager, Table } from "../parts/table.tsx";
import { ApplicationDetail } from "./application-detail.tsx";

const AT = "/dashboard/partners/applications";
const PLACE = "/dashboard/partners";
const BACK = { href: PLACE, label: "Partners" };

const DONE = {
  approved: "Approved. They were e-mailed their link, and one that signs them in.",
  declined: "Declined. They were notified by e-mail.",
};

/** Similar names that are shown. */
const SIMILAR = 5;

/** `/dashboard/partners/applications` (PAGE-7): who applied, and what is decided about them. */
export const applications = new Hono<PageEnv>()
  .get("/", async (c) => {
    const filter = filterOf(c, applicationQuery);
    const page = parsePage(await listApplications(c.var.ctx, filter.value));
    const isFiltered = Object.keys(filter.texts).length > 0;
    return framed(
      c,
      { title: "Applications", at: PLACE },
      <>
        <Done code={c.req.query("done")} texts={DONE} />
        <PageHead title="Applications" back={BACK} />
        <form method="get" action={AT} class="filter" aria-label="Filter applications">
          <SelectField
            name="status"
            label="Status"
            value={filter.value.status}
            options={[{ value: "", label: "Any" }, ...APPLICATION_STATUSES.map((value) => ({ value, label: value }))]}
          />
          <Field name="from" label="From" type="date" value={filter.texts.from} />
          <Field name="to" label="To" type="date" value={filter.texts.to} />
          <button type="submit">Filter</button>
          {isFiltered ? <a href={AT}>Show all</a> : null}
        </form>
        <section class="card flush">
          {page.total === 0 ? (
            <NoApplications c={c} isFiltered={isFiltered} />
          ) : (
            <>
              <Form action={`${AT}/chosen`}>
                <ApplicationTable applications={page.data} />
                {page.data.some(({ status }) => status === "pending") ? <ChosenActions /> : null}
              </Form>
              <Pager page={page} path={AT} query={filter.texts} />
            </>
          )}
        </section>
      </>,
    );
  })
  .post("/chosen", async (c) => {
    const fields = new FormFields(await c.req.formData());
    if (fields.all("ids").length === 0) return problemPage(c, "Tick at least one application first.");
    return chosenPage(c, fields);
  })
  .post("/chosen/confirmed", async (c) => {
    const fields = new FormFields(await c.req.formData());
    const parsed = parseInput(applicationsDecide, {
      ids: fields.all("ids"),
      status: fields.text("status"),
      note: fields.text("note") || undefined,
    });
    if (!parsed.ok) return chosenPage(c, fields, parsed.problems);
    const { ids, status, note } = parsed.value;
    const results = await decideApplications(c.var.ctx, ids, status, note ?? null);
    const refused = results.flatMap((result) => (result.ok ? [] : [result.error.message]));
    if (refused.length === 0) return c.redirect(`${AT}?done=${status}`, 303);
    const done = `${results.length - refused.length} of ${results.length} were ${status}. `;
    return problemPage(c, done + [...new Set(refused)].join(" "));
  })
  .get("/:id", (c) => detailPage(c, c.req.param("id")))
  .post("/:id/approve", (c) => act(c, () => approveApplication(c.var.ctx, c.req.param("id"))))
  .post("/:id/decline", async (c) => {
    const fields = new FormFields(await c.req.formData());
    const parsed = parseInput(applicationDecline, { note: fields.raw("note").trim() || undefined });
    const id = c.req.param("id");
    if (parsed.ok) return act(c, () => declineApplication(c.var.ctx, id, parsed.value.note ?? null));
    return detailPage(c, id, { problems: parsed.problems, note: fields.raw("note") });
  });

async function act(c: Context<PageEnv>, verb: () => Promise<Application>) {
  try {
    const { id, status } = await verb();
    return c.redirect(`${AT}/${id}?done=${status}`, 303);
  } catch (error) {
    const problems = problemsOf(error);
    return detailPage(c, c.req.param("id") ?? "", { problems });
  }
}

async function detailPage(
  c: Context<PageEnv>,
  id: string,
  { problems, note }: { problems?: Problems; note?: string } = {},
) {
  const { ctx } = c.var;
  const { application, same } = await readApplication(ctx, id);
  const { name } = application;
  const similar = name === null ? null : await listPartners(ctx, { search: name, page: 1, per_page: SIMILAR });
  return framed(
    c,
    { title: name ?? "Application", at: PLACE, status: problems ? 422 : 200 },
    <>
      {problems ? null : <Done code={c.req.query("done")} texts={DONE} />}
      <ApplicationDetail
        application={application}
        same={same}
        similar={similar === null ? [] : parsePage(similar).data}
        problems={problems}
        note={note}
      />
    </>,
  );
}

/** Which are chosen, before they are decided. */
async function chosenPage(c: Context<PageEnv>, fields: FormFields, problems?: Problems) {
  const status = fields.text("status") === "approved" ? "approved" : "declined";
  const ids = [...new Set(fields.all("ids"))];
  const found = await Promise.all(ids.slice(0, MOST_SHOWN).map((id) => getApplication(c.var.ctx, id)));
  const title = status === "approved" ? "Approve these?" : "Decline these?";
  return framed(
    c,
    { title, at: PLACE, status: problems ? 422 : 200 },
    <>
      <PageHead
        title={title}
        back={{ href: AT, label: "Applications" }}
        lede={
          status === "approved"
            ? "Each becomes a partner at once, and is e-mailed their link."
            : "Each is notified by e-mail. What they wrote is deleted after 90 days."
        }
      />
      <Form action={`${AT}/chosen/confirmed`} class="card stack form-narrow" problems={problems}>
        <input type="hidden" name="status" value={status} />
        {found.map(({ id }) => (
          <input type="hidden" name="ids" value={id} />
        ))}
        <ul>
          {found.map(({ name, email }) => (
            <li>
              {name}, {email}
            </li>
          ))}
        </ul>
        {status === "declined" ? (
          <Field
            name="note"
            label="Note to all of them"
            value={fields.text("note")}
            problems={problems}
            maxlength={1_000}
            hint="They read it in the e-mail."
          />
        ) : null}
        <div class="actions">
          <button type="submit" class={status === "approved" ? "primary" : "danger"}>
            {status === "approved" ? "Approve" : "Decline"}
          </button>
          <a href={AT}>Back</a>
        </div>
      </Form>
    </>,
  );
}

/** As many as a page of the list shows. */
const MOST_SHOWN = 20;

function problemPage(c: Context<PageEnv>, message: string) {
  return framed(
    c,
    { title: "Applications", at: PLACE, status: 422 },
    <>
      <PageHead title="Applications" back={{ href: AT, label: "Applications" }} />
      <section class="card">
        <p role="alert">{message}</p>
        <p class="more">
          <a class="button" href={AT}>
            Back to the list
          </a>
        </p>
      </section>
    </>,
  );
}

function NoApplications({ c, isFiltered }: { c: Context<PageEnv>; isFiltered: boolean }) {
  const { program } = c.var.session;
  if (isFiltered) {
    return (
      <Empty title="No application matches">
        <a href={AT}>Show all applications</a>
      </Empty>
    );
  }
  if (program.applications === "off") {
    return (
      <Empty
        title="Nobody can apply yet"
        action={
          <a class="button primary" href="/dashboard/settings#program">
            Open the settings
          </a>
        }
      >
        Under Settings you choose whether people can apply to become partners, and what they are asked.
      </Empty>
    );
  }
  return (
    <Empty title="No applications yet">
      <p>Link to this page from your site:</p>
      <CopyLine label="page for applications" text={`${publicUrl(c.env)}/join/${program.slug ?? program.id}`} />
    </Empty>
  );
}

function ChosenActions() {
  return (
    <div class="bulk">
      <span class="check" hidden>
        <input type="checkbox" id="choose-all" data-all="ids" />
        <label for="choose-all">All on this page</label>
      </span>
      <button type="submit" name="status" value="approved">
        Approve chosen…
      </button>
      <button type="submit" name="status" value="declined">
        Decline chosen…
      </button>
    </div>
  );
}

/** An application in the list. */
export type Listed = Decided<
  ApplicationView,
  "id" | "status" | "email" | "name" | "website" | "created_at",
  ("program_id" | "answers" | "terms_version" | "consented_at" | "partner_id" | "note") | ("decided_at" | "updated_at")
>;

function ApplicationTable({ applications: shown }: { applications: readonly Listed[] }) {
  return (
    <Table
      label="Applications"
      columns={[
        { label: "Choose", hidden: true },
        { label: "Person", grow: true },
        { label: "Website" },
        { label: "Status" },
        { label: "Applied", align: "end" },
      ]}
      rows={shown.map(({ id, name, email, website, status, created_at }) => [
        status === "pending" ? (
          <input type="checkbox" name="ids" value={id} aria-label={`Choose ${name ?? email}`} />
        ) : null,
        <span>
          <a href={`${AT}/${id}`}>{name ?? "deleted"}</a>
          {email === null ? null : <span class="second">{email}</span>}
        </span>,
        website === null ? <span class="muted">–</span> : <span>{website}</span>,
        <Badge state={status} />,
        <When at={created_at} only="day" />,
      ])}
    />
  );
}
