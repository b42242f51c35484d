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
import { applicationDecline, applicationsDecide, MAX_DECIDED } from "../../api/applications.ts";
import { applicationQuery } from "../../queries.ts";
import type { PageEnv } from "../../session.ts";
import { FormFields, parseInput, problemsOf, type Problems } from "../forms.ts";
import { framed } from "../framed.tsx";
import { PageHead } from "../layout.tsx";
import { csvOf } from "../list-csv.ts";
import { ListFilter, ListFoot, ListTable, readList, textColumn, timeColumn, type ListOf } from "../list.tsx";
import { CopyLine } from "../parts/copy.tsx";
import { Badge, When } from "../parts/figures.tsx";
import { Field, Form, SelectField } from "../parts/form.tsx";
import { Done } from "../parts/notice.tsx";
import { RangeFields } from "../parts/filter-fields.tsx";
import { Empty } from "../parts/table.tsx";
import { IfMay } from "../rights.tsx";
import { ApplicationDetail } from "./application-detail.tsx";
import { applicantText } from "../parts/shown-name.ts";

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
    const shown = await readList(c, LIST);
    return framed(
      c,
      { title: "Applications", at: PLACE },
      <>
        <Done code={c.req.query("done")} texts={DONE} />
        <PageHead title="Applications" back={BACK} />
        <ListFilter list={LIST} shown={shown} path={AT}>
          <SelectField
            name="status"
            label="Status"
            value={shown.filter.texts["status"]}
            options={[{ value: "", label: "Any" }, ...APPLICATION_STATUSES.map((value) => ({ value, label: value }))]}
          />
          <RangeFields texts={shown.filter.texts} />
        </ListFilter>
        <section class="card flush">
          {shown.page.total === 0 ? (
            <NoApplications c={c} isFiltered={shown.isFiltered} />
          ) : (
            <>
              <Form action={`${AT}/chosen`} readable={true}>
                <ListTable list={LIST} shown={shown} pick={pickPending} />
                <IfMay right="manage">
                  {shown.page.data.some(({ status }) => status === "pending") ? <ChosenActions /> : null}
                </IfMay>
              </Form>
              <ListFoot shown={shown} path={AT} />
            </>
          )}
        </section>
      </>,
    );
  })
  .get("/list.csv", (c) => csvOf(c, LIST))
  .post("/chosen", async (c) => {
    const fields = new FormFields(await c.req.formData());
    const chosen = new Set(fields.all("ids")).size;
    if (chosen === 0) return problemPage(c, "Tick at least one application first.");
    if (chosen > MAX_DECIDED) return problemPage(c, `Tick at most ${MAX_DECIDED} applications at once.`);
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
    { title: applicantText(application) ?? "Application", at: PLACE, status: problems ? 422 : 200 },
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
  const found = await Promise.all(ids.slice(0, MAX_DECIDED).map((id) => getApplication(c.var.ctx, id)));
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
              <bdi>{applicantText({ name, email })}</bdi>, {email}
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
  "id" | "status" | "email" | "name" | "website" | "partner_id" | "note" | "created_at" | "decided_at",
  "program_id" | "answers" | "terms_version" | "consented_at" | "updated_at"
>;

function pickPending({ id, name, email, status }: Listed) {
  if (status !== "pending") return null;
  return (
    <IfMay right="manage">
      <input type="checkbox" name="ids" value={id} aria-label={`Choose ${applicantText({ name, email })}`} />
    </IfMay>
  );
}

const LIST: ListOf<typeof applicationQuery, Listed> = {
  name: "applications",
  label: "Applications",
  query: applicationQuery,
  read: async (c, filter) => parsePage(await listApplications(c.var.ctx, filter)),
  columns: [
    {
      key: "person",
      label: "Person",
      grow: true,
      cell: ({ id, name, email }) => (
        <span>
          <a href={`${AT}/${id}`}>{applicantText({ name, email }) ?? "deleted"}</a>
          {email === null ? null : <span class="second">{email}</span>}
        </span>
      ),
      csv: { application_id: ({ id }) => id, name: ({ name }) => name, email: ({ email }) => email },
    },
    { ...textColumn<Listed, "website">("website", "Website", ({ website }) => website), extra: false },
    {
      key: "status",
      label: "Status",
      cell: ({ status }) => <Badge state={status} />,
      csv: { status: ({ status }) => status },
    },
    textColumn("partner_id", "Partner id", (application) => application.partner_id),
    textColumn("note", "Note", (application) => application.note),
    timeColumn("decided_at", "Decided", (application) => application.decided_at),
    {
      key: "applied",
      label: "Applied",
      align: "end",
      cell: ({ created_at }) => <When at={created_at} only="day" />,
      csv: { created_at: ({ created_at }) => created_at },
    },
  ],
};
