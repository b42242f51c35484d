import { ChooseAll } from "../../parts/table.tsx";
import type { Context } from "hono";
import { getApplication, listApplications, readApplication } from "../../../../core/applications/applications.ts";
import { approveApplication, decideApplications, declineApplication } from "../../../../core/applications/decide.ts";
import { parsePage } from "../../../../core/kernel/list-page.ts";
import type { ApplicationView } from "../../../../core/kernel/views.ts";
import { listPartners } from "../../../../core/partners/partner-list.ts";
import { APPLICATION_STATUSES } from "../../../../domain/application.ts";
import { publicUrl } from "../../../../lib/public-url.ts";
import { applicationDecline, applicationsDecide, MAX_DECIDED } from "../../../api/applications.ts";
import { applicationQuery } from "../../../queries.ts";
import type { PageEnv } from "../../../session.ts";
import { framed, formPage } from "../../framed.tsx";
import { dateColumn, ListTable, textColumn, timeColumn, type ListOf, statusColumn } from "../../list.tsx";
import { CopyLine } from "../../parts/copy.tsx";
import { EnterButton, Field, Form } from "../../parts/form.tsx";
import { choice, RANGE_FIELDS } from "../../parts/filter-fields.tsx";
import { IfMay } from "../../rights.tsx";
import { ApplicationDetail } from "./detail.tsx";
import { applicantText } from "../../parts/shown-name.ts";
import { act, press, sentFields, type Sent } from "../../act.ts";
import { FLASH, addressWithNote } from "../../flash.ts";
import { listPage } from "../../list-page.tsx";
import type { EmptyProps } from "../../parts/table.tsx";

const AT = "/dashboard/partners/applications";
const PLACE = "/dashboard/partners";

/** The most similar names that are shown. */
const SIMILAR = 5;

function ChosenActions() {
  return (
    <div class="bulk">
      <ChooseAll />
      <button type="submit" name="status" value="approved">
        Approve chosen…
      </button>
      <button type="submit" name="status" value="declined">
        Decline chosen…
      </button>
    </div>
  );
}

export type Listed = Pick<
  ApplicationView,
  "id" | "status" | "email" | "name" | "website" | "partner_id" | "note" | "created_at" | "decided_at"
>;

function pickPending({ id, name, email, status }: Listed) {
  if (status !== "pending") return null;
  return (
    <IfMay right="manage">
      <input type="checkbox" name="ids" value={id} aria-label={`Choose ${applicantText({ name, email })}`} />
    </IfMay>
  );
}

function Approve({ row: { id, name, email } }: { row: Listed }) {
  return (
    <IfMay right="manage">
      <button type="submit" formaction={`${AT}/${id}/approve`}>
        Approve<span class="visually-hidden"> {applicantText({ name, email })}</span>
      </button>
    </IfMay>
  );
}

const LIST: ListOf<typeof applicationQuery, Listed> = {
  name: "applications",
  label: "Applications",
  query: applicationQuery,
  read: async (c, filter) => parsePage(await listApplications(c.var.ctx, filter)),
  sort: "applied",
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
      csv: { application_id: "id", name: "name", email: "email" },
    },
    textColumn("website", "Website", false),
    statusColumn(),
    textColumn("partner_id", "Partner id"),
    textColumn("note", "Note"),
    timeColumn("decided_at", "Decided"),
    dateColumn("Applied", "created_at", { key: "applied", only: "day" }),
  ],
};

/** `/dashboard/partners/applications` (PAGE-7): applications and their decisions. */
export const applications = listPage(LIST, {
  at: PLACE,
  path: AT,
  done: FLASH.applications,
  head: { back: { href: PLACE, label: "Partners" } },
  filter: [choice("status", "Status", APPLICATION_STATUSES), ...RANGE_FIELDS],
  presets: [{ label: "Pending", query: { status: "pending" } }],
  empty: (c) => (c.var.session.program.applications === "off" ? CLOSED : nobodyYet(c)),
  rows: (shown) => (
    <Form action={`${AT}/chosen`} readable={true}>
      <IfMay right="manage">
        <EnterButton />
      </IfMay>
      <input type="hidden" name="back" value={new URLSearchParams(shown.query).toString()} />
      <ListTable
        {...{ list: LIST, shown, path: AT }}
        pick={pickPending}
        act={{ label: "Approve", cell: (row) => (row.status === "pending" ? <Approve row={row} /> : null) }}
      />
      <IfMay right="manage">
        {shown.page.data.some(({ status }) => status === "pending") ? <ChosenActions /> : null}
      </IfMay>
    </Form>
  ),
})
  .post("/chosen", async (c) => {
    const fields = await sentFields(c);
    if (fields.text("status") === "") return problemPage(c, "Press the button of your decision.");
    const chosen = new Set(fields.all("ids")).size;
    if (chosen === 0) return problemPage(c, "Tick at least one application first.");
    if (chosen > MAX_DECIDED) return problemPage(c, `Tick at most ${MAX_DECIDED} applications at once.`);
    return chosenPage(c, { fields });
  })
  .post("/chosen/confirmed", (c) =>
    act(c, {
      schema: applicationsDecide,
      input: (fields) => ({
        ids: fields.all("ids"),
        status: fields.text("status"),
        note: fields.text("note") || undefined,
      }),
      verb: async ({ ids, status, note }) => {
        const results = await decideApplications(c.var.ctx, ids, status, note ?? null);
        const refused = results.flatMap((result) => (result.ok ? [] : [result.error.message]));
        if (refused.length === 0) return addressWithNote(AT, status);
        const done = `${results.length - refused.length} of ${results.length} were ${status}. `;
        return problemPage(c, done + [...new Set(refused)].join(" "));
      },
      page: (sent) => chosenPage(c, sent),
    }),
  )
  .get("/:id", (c) => detailPage(c, c.req.param("id")))
  .post("/:id/approve", async (c) => {
    const id = c.req.param("id");
    const fields = await sentFields(c);
    const approve = async () => {
      await approveApplication(c.var.ctx, id);
      return fields.has("back")
        ? addressWithNote(AT, "approved", fields.text("back"))
        : addressWithNote(`${AT}/${id}`, "approved");
    };
    return press(c, approve, (problems) => detailPage(c, id, { problems }));
  })
  .post("/:id/decline", (c) => {
    const id = c.req.param("id");
    return act(c, {
      schema: applicationDecline,
      input: (fields) => ({ note: fields.raw("note").trim() || undefined }),
      verb: async ({ note }) => {
        const { status } = await declineApplication(c.var.ctx, id, note ?? null);
        return `${AT}/${id}?done=${status}`;
      },
      page: (sent) => detailPage(c, id, sent),
    });
  });

const CLOSED: EmptyProps = {
  title: "Applications are closed",
  children: "Choose in Settings whether people can apply to become partners, and which questions they answer.",
  action: (
    <a class="button primary" href="/dashboard/settings/portal">
      Open the settings
    </a>
  ),
};

function nobodyYet(c: Context<PageEnv>): EmptyProps {
  const { slug, id } = c.var.session.program;
  const children = (
    <>
      <p>Link to this page from your site:</p>
      <CopyLine label="page for applications" text={`${publicUrl(c.env)}/join/${slug ?? id}`} />
    </>
  );
  return { title: "No applications yet", children };
}

async function detailPage(c: Context<PageEnv>, id: string, sent?: Partial<Sent>) {
  const { ctx } = c.var;
  const { application, same } = await readApplication(ctx, id);
  const { name } = application;
  const similar = name === null ? null : await listPartners(ctx, { search: name, page: 1, per_page: SIMILAR });
  const title = applicantText(application) ?? "Application";
  return framed(
    c,
    { title, at: PLACE, problems: sent?.problems, done: FLASH.applications },
    <ApplicationDetail {...{ application, same, sent }} similar={similar === null ? [] : parsePage(similar).data} />,
  );
}

/** Shows the chosen applications before the decision. */
async function chosenPage(c: Context<PageEnv>, { fields, problems }: Sent) {
  const isApproved = fields.text("status") === "approved";
  const ids = [...new Set(fields.all("ids"))];
  const found = await Promise.all(ids.slice(0, MAX_DECIDED).map((id) => getApplication(c.var.ctx, id)));
  const [title, lede, button] = isApproved
    ? [
        "Approve these applications?",
        "Each applicant becomes a partner right away and gets an e-mail with their link.",
        "Approve",
      ]
    : [
        "Decline these applications?",
        "We e-mail each applicant. Their applications are deleted after 90 days.",
        "Decline",
      ];
  return formPage(
    c,
    {
      ...{ title, lede, at: PLACE, problems, values: fields, back: { href: AT, label: "Applications" } },
      ...{ action: `${AT}/chosen/confirmed`, cancel: "Back" },
      ...{ submit: button, kind: isApproved ? "primary" : "danger" },
    },
    <>
      <input type="hidden" name="status" value={isApproved ? "approved" : "declined"} />
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
      {isApproved ? null : (
        <Field name="note" label="Note to all of them" maxlength={1_000} hint="Included in the e-mail." />
      )}
    </>,
  );
}

function problemPage(c: Context<PageEnv>, message: string) {
  return framed(
    c,
    { title: "Applications", at: PLACE, status: 422, head: { back: { href: AT, label: "Applications" } } },
    <section class="card">
      <p role="alert">{message}</p>
      <p class="more">
        <a class="button" href={AT}>
          Back to the list
        </a>
      </p>
    </section>,
  );
}
