import type { Context } from "hono";
import type { Child } from "../../../jsx.ts";
import { parsePage } from "../../../../core/kernel/list-page.ts";
import type { PayoutExportView } from "../../../../core/kernel/views.ts";
import { readExportHistory, type ExportHistory } from "../../../../core/payouts/export-history.ts";
import { cancelExport, getExport, listExports, markExportPaid } from "../../../../core/payouts/exports.ts";
import { EXPORT_STATUSES } from "../../../../domain/payout-export.ts";
import { AppError } from "../../../../lib/errors.ts";
import { exportPaid, fileReply } from "../../../api/payout-exports.ts";
import { payoutExportQuery } from "../../../queries.ts";
import type { PageEnv } from "../../../session.ts";
import { act, press } from "../../act.ts";
import { type FormFields, type Problems } from "../../forms.ts";
import { formPage, framed } from "../../framed.tsx";
import { amountColumn, dateColumn, statusColumn, textColumn, timeColumn, type ListOf } from "../../list.tsx";
import { listPage } from "../../list-page.tsx";
import { Badge, Count, countText, Money, moneyText, plural, When } from "../../parts/figures.tsx";
import { choice } from "../../parts/filter-fields.tsx";
import { Field, Form, TextArea } from "../../parts/form.tsx";
import { PartnerLink, partnerText } from "../../parts/partner.tsx";
import { Facts, Table, type Column } from "../../parts/table.tsx";
import { ActionLink, IfMay } from "../../rights.tsx";
import { Who } from "../events/list.tsx";
import { fileText, formatText } from "./formats.ts";
import { movedNotice, withMoved } from "./moved.tsx";

const AT = "/dashboard/payouts";
const FILES = `${AT}/exports`;
const PAY_PAGE = `${AT}/pay`;

/** Payouts of a file that its page lists. */
const SHOWN = 100;

type ListedFile = Pick<
  PayoutExportView,
  "id" | "format" | "currency" | "count" | "amount_cents" | "status" | "reference" | "created_at" | "updated_at"
>;

const LIST: ListOf<typeof payoutExportQuery, ListedFile> = {
  name: "payout_exports",
  label: "Files",
  query: payoutExportQuery,
  read: async (c, filter) => parsePage(await listExports(c.var.ctx, filter)),
  sort: "created_at",
  columns: [
    {
      key: "file",
      label: "File",
      cell: (row) => <a href={`${FILES}/${row.id}`}>{fileText(row)}</a>,
      csv: { export_id: "id", format: "format" },
    },
    amountColumn("amount", "Amount", (row) => row.amount_cents, { sum: true }),
    { key: "count", label: "Payouts", align: "end", cell: (row) => <Count of={row.count} />, csv: { count: "count" } },
    statusColumn(),
    textColumn("reference", "Reference"),
    timeColumn("updated_at", "Changed"),
    dateColumn("Created", "created_at"),
  ],
};

/** `/dashboard/payouts/exports`: the files by which payouts are paid (OUT-22, PAGE-36). */
export const payoutExportPages = listPage(LIST, {
  at: AT,
  path: FILES,
  head: { back: { href: AT, label: "Payouts" } },
  filter: [choice("status", "Status", EXPORT_STATUSES)],
  presets: [{ label: "Open", query: { status: "open" } }],
  empty: { title: "No files yet", children: <a href={PAY_PAGE}>Pay payouts</a> },
})
  .get("/:id", (c) => filePage(c, c.req.param("id")))
  .get("/:id/file", async (c) => c.body(...(await fileReply(c.var.ctx, c.req.param("id")))))
  .post("/:id/paid", (c) => {
    const id = c.req.param("id");
    return act(c, {
      schema: exportPaid,
      input: (fields) => ({ reference: fields.textOrNull("reference"), except: exceptionsIn(fields) }),
      verb: async ({ reference = null, except = [] }, fields) => {
        const to = withMoved(fields.text("via") === "pay" ? PAY_PAGE : `${FILES}/${id}`, { moved: "file", file: id });
        await markExportPaid(c.var.ctx, id, { reference, except }).catch(async (error: unknown) => {
          // Another tab or member has done the same already.
          const isDone = error instanceof AppError && error.code === "invalid_transition" && except.length === 0;
          if (!isDone || (await getExport(c.var.ctx, id)).status !== "paid") throw error;
        });
        return to;
      },
      page: ({ fields, problems }) => filePage(c, id, { fields, problems }),
    });
  })
  .get("/:id/cancel", (c) => cancelPage(c, c.req.param("id")))
  .post("/:id/cancel", (c) => {
    const id = c.req.param("id");
    return press(
      c,
      async () => {
        await cancelExport(c.var.ctx, id);
        return `${FILES}/${id}`;
      },
      (problems) => cancelPage(c, id, problems),
    );
  });

/** The ticked payouts, and those named in the text. */
export function exceptionsIn(fields: FormFields): string[] {
  return [...new Set([...fields.all("except"), ...fields.text("except_ids").split(/[\s,;]+/)])].filter(Boolean);
}

async function cancelPage(c: Context<PageEnv>, id: string, problems?: Problems) {
  const file = await getExport(c.var.ctx, id);
  const isOpen = file.status === "open";
  return formPage(
    c,
    {
      ...{ title: "Cancel this file?", at: AT, problems, back: { href: `${FILES}/${id}`, label: "The file" } },
      ...{ action: `${FILES}/${id}/cancel`, submit: isOpen ? "Cancel the file" : null, kind: "danger", cancel: "Back" },
    },
    <>
      <p>
        <strong>{fileText(file)}</strong>: {plural(file.count, "payout")}, {moneyText(file)}.
      </p>
      <p>
        {isOpen
          ? "Only if you have not paid by it: its payouts wait again, and go into the next file. If you have paid some, mark it as paid with the others as exceptions."
          : `This file is ${file.status} already.`}
      </p>
    </>,
  );
}

interface Again {
  fields: FormFields;
  problems: Problems;
}

async function filePage(c: Context<PageEnv>, id: string, again?: Again) {
  const file = await getExport(c.var.ctx, id);
  const [story, moved] = await Promise.all([readExportHistory(c.var.ctx, file, SHOWN), again ? null : movedNotice(c)]);
  const at = `${FILES}/${id}`;
  const isOpen = file.status === "open";
  return framed(
    c,
    {
      ...{ title: "File of payouts", at: AT, problems: again?.problems, notice: moved },
      head: {
        title: (
          <>
            {fileText(file)}: {moneyText(file)} <Badge state={file.status} />
          </>
        ),
        back: { href: FILES, label: "Files" },
        actions: <FileActions file={file} />,
      },
    },
    <>
      <FileFacts file={file} />
      <Form
        action={`${at}/paid`}
        problems={again?.problems}
        values={again?.fields ?? null}
        class="after"
        readable={true}
      >
        <IfMay right="money">{isOpen ? <MarkFields file={file} /> : null}</IfMay>
        <section class="card flush">
          <h2>Payouts</h2>
          <Table
            label="Payouts in the file"
            columns={isOpen ? [{ label: "Not paid", hidden: true }, ...ITEM_COLUMNS] : ITEM_COLUMNS}
            rows={story.items.map((item) => [
              ...(isOpen ? [item.status === "open" ? <NotPaid item={item} again={again} /> : null] : []),
              <PartnerLink partner={{ ...item, id: item.partner_id, status: item.partner_status }} />,
              <a href={`${AT}/${item.payout_id}`}>
                <Badge state={ITEM_STATES[item.status]} />
              </a>,
              <Money of={item} />,
            ])}
          />
          {file.count > SHOWN ? (
            <p class="table-note">
              The first {SHOWN} of {countText(file.count)}. The file has all.
            </p>
          ) : null}
        </section>
      </Form>
      <History story={story} status={file.status} />
    </>,
  );
}

type File = Awaited<ReturnType<typeof getExport>>;

function FileActions({ file: { id, status } }: { file: File }) {
  const at = `${FILES}/${id}`;
  return (
    <>
      {status === "canceled" ? null : (
        <ActionLink class="button" href={`${at}/file`}>
          Download
        </ActionLink>
      )}
      <ResultsLink id={id} class="button" />
      {status === "open" ? (
        <ActionLink class="button danger" href={`${at}/cancel`}>
          Cancel
        </ActionLink>
      ) : null}
    </>
  );
}

function FileFacts({ file }: { file: File }) {
  const { format, count, status, reference, created_at, updated_at, id } = file;
  return (
    <section class="card">
      <h2>Details</h2>
      <Facts
        rows={[
          ["Format", formatText(format)],
          ["Payouts", countText(count)],
          ["Created", <When at={created_at} />],
          status === "open" ? null : [status === "paid" ? "Marked as paid" : "Canceled", <When at={updated_at} />],
          reference === null ? null : ["Reference", <code>{reference}</code>],
          ["Id", <code>{id}</code>],
        ]}
      />
    </section>
  );
}

function MarkFields({ file }: { file: File }) {
  return (
    <section class="card stack form-narrow">
      <h2>Mark as paid</h2>
      <p class="muted">Select unpaid payouts: they return to Pending. The others become paid. This is final.</p>
      <Field
        name="reference"
        label="Reference"
        maxlength={200}
        hint="Your reference for the payment, such as a transfer number."
      />
      {file.count > SHOWN ? (
        <TextArea name="except_ids" label="Other unpaid payouts, by id" rows={3} maxlength={200_000} code />
      ) : null}
      <div>
        <button type="submit" class="primary">
          Mark as paid
        </button>
      </div>
    </section>
  );
}

const ITEM_COLUMNS: readonly Column[] = [{ label: "Partner" }, { label: "Status" }, { label: "Amount", align: "end" }];
const ITEM_STATES = { open: "processing", paid: "paid", failed: "failed", back: "put back" } as const;

interface NotPaidProps {
  item: ExportHistory["items"][number];
  again: Again | undefined;
}

function NotPaid({ item, again }: NotPaidProps) {
  const label = `Not paid: ${moneyText(item)} to ${partnerText(item)}`;
  return (
    <input
      type="checkbox"
      name="except"
      value={item.payout_id}
      checked={again?.fields.all("except").includes(item.payout_id) ? true : undefined}
      aria-label={label}
    />
  );
}

/** The events of the file, each with its actor. */
function History({ story: { readings, closed }, status }: { story: ExportHistory; status: string }) {
  const rows = [
    ...(closed ? [{ ...closed, what: status === "paid" ? "Marked as paid" : "Canceled" }] : []),
    ...readings.map((event, i) => ({ ...event, what: i === readings.length - 1 ? "Created" : "Downloaded" })),
  ];
  return (
    <section class="card flush after">
      <h2>Events</h2>
      <Table
        label="Events of the file"
        columns={[{ label: "What" }, { label: "Who" }, { label: "When", align: "end" }]}
        rows={rows.map((event) => [event.what, <Who event={event} />, <When at={event.created_at} />])}
      />
    </section>
  );
}

/** The link to the page that reads the bank's or wallet's report on a file. */
export function ResultsLink({ id, ...rest }: { id: string; class?: string }): Child {
  const href = `${FILES}/${id}/results`;
  return rest.class === undefined ? (
    <>
      {" "}
      · <a href={href}>Import results</a>
    </>
  ) : (
    <ActionLink class={rest.class} href={href}>
      Import results
    </ActionLink>
  );
}
