import { type Context, Hono } from "hono";
import { decodeCsv } from "../../../../domain/csv-encoding.ts";
import { emailKey } from "../../../../domain/email.ts";
import { importFields, IMPORT_KINDS, type ImportField } from "../../../import/columns.ts";
import {
  dataParam,
  importProduct,
  IMPORT_PRODUCT_IDS,
  LINK_PARAM_PATTERN,
  type ImportProduct,
} from "../../../import/product.ts";
import { publicUrl } from "../../../../lib/public-url.ts";
import { countRows, importFile, type ChooseColumns, type ImportedFile } from "../../../import/file.ts";
import type { ImportRow } from "../../../import/report.ts";
import type { ImportOrder } from "../../../import/line.ts";
import { PROVIDER_NAMES } from "../../../../providers/registry.ts";
import type { PageEnv } from "../../../session.ts";
import { FormFields, type Problems } from "../../forms.ts";
import { framed } from "../../framed.tsx";
import { CopyBlock } from "../../parts/copy.tsx";
import { Actions, Form } from "../../parts/form.tsx";
import { countText, plural } from "../../parts/figures.tsx";
import { Notice } from "../../parts/notice.tsx";
import { Preview, PreviewPlace } from "../../parts/preview.tsx";
import { OldLinks } from "../../parts/old-links.tsx";
import { scriptTag } from "../../parts/snippets.ts";
import { ColumnChoices, FileFields, HowItLooks, OrderFields, Rows, UnreadCells } from "./import-parts.tsx";
import { sentFields } from "../../act.ts";

const PARTNERS = "/dashboard/partners";
const AT = `${PARTNERS}/import` as const;

/** The form's settings and the file. */
interface Sent {
  order: ImportOrder;
  csv: string;
  choose: ChooseColumns;
  /** Whether to import the previewed lines. */
  isConfirmed: boolean;
  problems: Problems | null;
}

/** `/dashboard/partners/import`: previews a CSV's fields and each line's result, then imports it (PAGE-7, IMP-2). */
export const partnerImport = new Hono<PageEnv>()
  .get("/", (c) => uploadPage(c, { order: readOrder(new FormFields(new FormData())), csv: "" }))
  .post("/", async (c) => {
    const sent = await readForm(await sentFields(c));
    if (sent.problems) return uploadPage(c, sent, sent.problems);
    const imported = await importFile(c.var.ctx, sent.order, sent.csv, sent.choose, !sent.isConfirmed);
    if (!imported.ok && imported.columns.length === 0) return uploadPage(c, sent, about("csv", imported.message));
    return imported.ok && sent.isConfirmed ? donePage(c, sent, imported) : previewPage(c, sent, imported);
  });

async function readForm(fields: FormFields): Promise<Sent> {
  const order = readOrder(fields);
  const choose = readChoice(fields, order);
  const file = fields.file("file");
  const decoded = file ? decodeCsv(new Uint8Array(await file.arrayBuffer())) : null;
  const csv = decoded?.ok === true ? decoded.text : fields.raw("csv");
  const problems =
    decoded?.ok === false
      ? about("file", decoded.message)
      : order.param !== null && !LINK_PARAM_PATTERN.test(order.param)
        ? about("param", "A query parameter is 1 to 32 letters, digits, - or _.")
        : null;
  return { order, csv, choose, isConfirmed: fields.has("confirmed"), problems };
}

function about(field: string, message: string): Problems {
  return { message, fields: { [field]: message } };
}

/** An invalid choice counts as the first one. */
function readOrder(fields: FormFields): ImportOrder {
  const one = <T extends string>(name: string, among: readonly T[], otherwise: T) =>
    among.find((value) => value === fields.text(name)) ?? otherwise;
  return {
    kind: one("kind", IMPORT_KINDS, "partners"),
    product: one("product", IMPORT_PRODUCT_IDS, "other"),
    param: fields.text("param") || null,
    status: one("status", ["invited", "active"], "invited"),
    provider: PROVIDER_NAMES.find((provider) => provider === fields.text("provider")) ?? null,
  };
}

/** The columns chosen on the preview; without one they are matched by name. */
function readChoice(fields: FormFields, { kind }: ImportOrder): ChooseColumns {
  const known: readonly string[] = importFields(kind);
  return (columns) =>
    columns.map((_, i) => {
      if (!fields.has(`column_${i}`)) return undefined;
      const field = fields.text(`column_${i}`);
      return known.includes(field) ? (field as ImportField) : null;
    });
}

function uploadPage(c: Context<PageEnv>, { order, csv }: Pick<Sent, "order" | "csv">, problems?: Problems) {
  return framed(
    c,
    {
      title: "Import",
      at: AT,
      previews: true,
      problems,
      head: {
        title: "Import partners and customers",
        back: { href: PARTNERS, label: "Partners" },
        lede: "From your previous product, or from your own file. You see a preview before anything is imported.",
      },
    },
    <>
      <div class="grid">
        <Form class="card stack" multipart={true} problems={problems} preview={true}>
          <OrderFields order={order} />
          <FileFields csv={csv} />
          <Actions submit="Preview" />
        </Form>
        <div>
          <PreviewPlace />
          <HowItLooks />
        </div>
      </div>
      <section class="card flush spaced">
        <h2>Old links that keep working</h2>
        <OldLinks />
      </section>
    </>,
  );
}

function previewPage(c: Context<PageEnv>, { order, csv }: Sent, judged: ImportedFile) {
  const counts = countRows(judged.ok ? judged.rows : []);
  const changes = counts.added + counts.completed;
  const said = judged.ok ? summary(order, counts) : judged.message;
  return framed(
    c,
    {
      title: "Import: preview",
      at: AT,
      status: judged.ok ? 200 : 422,
      head: { title: "Preview of the import", back: { href: AT, label: "Another file" } },
    },
    <>
      <Preview said={said}>
        <Notice tone={judged.ok && counts.refused === 0 ? "calm" : "warn"}>
          <p>{said}</p>
        </Notice>
        {judged.ok ? <UnreadCells columns={judged.columns} when="before" /> : null}
        <Form action={AT} class="stack spaced" multipart={true}>
          <input type="hidden" name="csv" value={csv} />
          {Object.entries(order)
            .filter(([name]) => name !== "provider")
            .map(([name, value]) => (
              <input type="hidden" name={name} value={value ?? ""} />
            ))}
          <ColumnChoices order={order} columns={judged.columns} open={!judged.ok} />
          <div class="actions">
            {judged.ok && changes > 0 ? (
              <button type="submit" name="confirmed" value="yes" class="primary">
                {order.kind === "partners"
                  ? `Import ${plural(changes, "line")}`
                  : `Bind ${plural(changes, "customer")}`}
              </button>
            ) : null}
            <button type="submit" class="quiet">
              Preview again
            </button>
            <a href={PARTNERS}>{changes > 0 ? "Cancel" : "Back to the partners"}</a>
          </div>
        </Form>
        {judged.ok ? (
          <section class="card flush spaced">
            <Rows kind={order.kind} rows={judged.rows} when="before" />
          </section>
        ) : null}
      </Preview>
    </>,
  );
}

function summary({ kind }: ImportOrder, counts: ReturnType<typeof countRows>): string {
  const lines = [
    kind === "partners"
      ? `${plural(counts.added, "new partner")}, ${countText(counts.completed)} updated`
      : `${plural(counts.added, "customer")} to assign to partners`,
    `${plural(counts.unchanged, "line")} unchanged`,
    ...(counts.left_out > 0 ? [`${plural(counts.left_out, "line")} left out`] : []),
    `${plural(counts.refused, "line")} with errors`,
  ];
  const changes = counts.added + counts.completed;
  const left = changes > 0 ? " Lines with errors are left out; correct them and import again." : "";
  const next = counts.refused > 0 ? left : changes === 0 ? " There is nothing to import." : "";
  return `${lines.join(", ")}.${next}`;
}

function donePage(c: Context<PageEnv>, { order }: Sent, imported: Extract<ImportedFile, { ok: true }>) {
  const { columns, rows } = imported;
  const remarkable = rows.filter(({ message, notes }) => message !== null || notes.length > 0);
  const done = countRows(rows);
  const param = dataParam(order.product, order.param);
  const product: ImportProduct = importProduct(order.product);
  const isEnding = product.linksEnd === true && order.param === null;
  const origin = publicUrl(c.env);
  return framed(
    c,
    { title: "Import: done", at: AT, head: { title: "Import done", back: { href: PARTNERS, label: "Partners" } } },
    <>
      <Notice tone="good">
        <p>
          {order.kind === "partners"
            ? `${plural(done.added, "partner")} added, ${completedPartners(rows)} completed.${givenText(rows)} Invited partners become active when they first sign in.`
            : `${plural(done.added, "customer")} assigned. New payments count for their partner, unless a payment names another. Earlier payments earn nothing.`}
        </p>
      </Notice>
      <UnreadCells columns={columns} when="after" />
      {order.kind === "partners" ? (
        <section class="card stack">
          <h2>{isEnding ? `Links of ${product.name} end with it` : "Old links keep working"}</h2>
          {isEnding ? (
            <p>Partners find their new links in the portal. Add the script to every page:</p>
          ) : param === null ? (
            <p>The script already reads their query parameter. Add it to every page:</p>
          ) : (
            <p>
              The tag names their query parameter in <code>data-param</code>. Add the script to every page:
            </p>
          )}
          <CopyBlock label="Script tag" text={scriptTag(origin, c.var.session.program, param)} />
          <p class="muted">
            Next: <a href={AT}>import the customers</a> they referred.
          </p>
        </section>
      ) : null}
      {remarkable.length > 0 ? (
        <section class="card flush">
          <h2>Lines to check</h2>
          <Rows kind={order.kind} rows={remarkable} when="after" />
        </section>
      ) : null}
    </>,
  );
}

function givenText(rows: readonly ImportRow[]): string {
  const sum = (field: keyof ImportRow["gives"]) => rows.reduce((total, { gives }) => total + gives[field], 0);
  const given = [
    [sum("further_slugs"), "further slug"] as const,
    [sum("promotion_codes"), "promotion code"] as const,
  ].flatMap(([count, what]) => (count > 0 ? [plural(count, what)] : []));
  return given.length > 0 ? ` ${given.join(" and ")} given.` : "";
}

/** Counts partners, not lines: one of several lines may complete a partner that another added. */
function completedPartners(rows: readonly ImportRow[]): number {
  const of = (outcome: ImportRow["outcome"]) =>
    rows.flatMap((row) => (row.outcome === outcome ? [emailKey(row.who)] : []));
  const added = new Set(of("added"));
  return new Set(of("completed").filter((address) => !added.has(address))).size;
}
