import type { Context } from "hono";
import { Hono } from "hono";
import {
  importPartners,
  judgeImport,
  MAX_IMPORT_LINES,
  type ImportLine,
  type ImportVerdict,
} from "../../../core/partner-import.ts";
import { readCsvTable } from "../../../domain/csv-table.ts";
import { PAYOUT_METHODS } from "../../../domain/partner.ts";
import type { PageEnv } from "../../session.ts";
import { partnerCreate } from "../../api/partners.ts";
import { FormFields, judge, type Problems } from "../forms.ts";
import { framed } from "../framed.tsx";
import { PageHead } from "../layout.tsx";
import { CopyBlock } from "../parts/copy.tsx";
import { Field, Form, TextArea } from "../parts/form.tsx";
import { Badge, plural } from "../parts/figures.tsx";
import { Notice } from "../parts/notice.tsx";
import { Table } from "../parts/table.tsx";

const AT = "/dashboard/partners";

const REQUIRED = ["email", "slug"];
const COLUMNS = [...REQUIRED, "first_name", "last_name", "commission_pct", "payout_method", "payout_email"];

const EXAMPLE = `email,slug,first_name,last_name,commission_pct
ada@example.com,ada,Ada,Lovelace,25
grace@example.com,grace,Grace,Hopper,`;

/** A line that cannot be read as a partner at all. */
interface BrokenLine {
  line: number;
  verdict: "refused";
  message: string;
}

type Line = ImportVerdict | BrokenLine;

/** `/dashboard/partners/import`: a CSV, what it would do line by line, then doing it (contract §11). */
export const partnerImport = new Hono<PageEnv>()
  .get("/", (c) => uploadPage(c, ""))
  .post("/", async (c) => {
    const fields = new FormFields(await c.req.formData());
    const csv = (await fields.file("file")?.text()) ?? fields.raw("csv");
    const read = readLines(csv);
    if (!read.ok) return uploadPage(c, csv, { message: read.message, fields: { csv: read.message } });
    const lines = await verdictsOf(c, read.lines);
    if (!fields.has("confirmed")) return previewPage(c, csv, lines);
    const { added } = await importPartners(c.var.ctx, readable(lines));
    return donePage(c, added, lines);
  });

type ReadLines = { ok: true; lines: (ImportLine | BrokenLine)[] } | { ok: false; message: string };

function readLines(csv: string): ReadLines {
  const table = readCsvTable(csv);
  if (!table.ok) return table;
  const missing = REQUIRED.filter((column) => !table.columns.includes(column));
  if (missing.length > 0) {
    return { ok: false, message: `The first line must name the columns; ${missing.join(" and ")} is missing there.` };
  }
  const unknown = table.columns.filter((column) => !COLUMNS.includes(column));
  if (unknown.length > 0) {
    return { ok: false, message: `Unknown column ${unknown.join(", ")}. Known ones: ${COLUMNS.join(", ")}.` };
  }
  if (table.lines.length === 0) return { ok: false, message: "There is no line below the column names." };
  if (table.lines.length > MAX_IMPORT_LINES) {
    return {
      ok: false,
      message: `That is ${plural(table.lines.length, "line")}; at most ${MAX_IMPORT_LINES} at a time.`,
    };
  }
  return { ok: true, lines: table.lines.map(({ line, cells }) => readLine(line, cells)) };
}

function readLine(line: number, cells: Record<string, string>): ImportLine | BrokenLine {
  const pct = cells.commission_pct ?? "";
  const judged = judge(partnerCreate, {
    email: cells.email ?? "",
    slug: cells.slug ?? "",
    first_name: cells.first_name || null,
    last_name: cells.last_name || null,
    commission_pct: pct === "" ? null : Number(pct.replace(/\s*%$/, "") || Number.NaN),
    payout_method: cells.payout_method || null,
    payout_email: cells.payout_email || null,
  });
  if (judged.ok) return { line, input: judged.value };
  const problems = Object.entries(judged.problems.fields).map(
    ([field, message]) => `${field}: ${told(field, message)}`,
  );
  return { line, verdict: "refused", message: problems.join(" ") };
}

function told(field: string, message: string): string {
  return field === "payout_method" ? `one of ${PAYOUT_METHODS.join(", ")}.` : message;
}

async function verdictsOf(c: Context<PageEnv>, lines: (ImportLine | BrokenLine)[]): Promise<Line[]> {
  const good = lines.filter((line): line is ImportLine => "input" in line);
  const byLine = new Map((await judgeImport(c.var.ctx, good)).map((verdict) => [verdict.line, verdict]));
  return lines.flatMap((line): Line[] =>
    "input" in line ? [byLine.get(line.line)].filter((v) => v !== undefined) : [line],
  );
}

function readable(lines: Line[]): ImportLine[] {
  return lines.flatMap((line) => ("input" in line ? [{ line: line.line, input: line.input }] : []));
}

function uploadPage(c: Context<PageEnv>, csv: string, problems?: Problems) {
  return framed(
    c,
    { title: "Import partners", at: AT, status: problems ? 422 : 200 },
    <>
      <PageHead
        title="Import partners"
        back={{ href: AT, label: "Partners" }}
        lede="From a CSV file. You see what will happen before anything does; partners who are there already stay as they are."
      />
      <div class="grid">
        <Form class="card stack" multipart={true} problems={problems}>
          <Field name="file" label="CSV file" type="file" accept=".csv,text/csv,text/plain" />
          <TextArea name="csv" label="Or paste it here" value={csv} rows={8} problems={problems} />
          <div class="actions">
            <button type="submit" class="primary">
              Preview
            </button>
          </div>
        </Form>
        <section class="card">
          <h2>How the file looks</h2>
          <p>
            The first line names the columns. <code>email</code> and <code>slug</code> are needed, the others are not:{" "}
            {COLUMNS.slice(2).map((column, i) => (
              <>
                {i > 0 ? ", " : ""}
                <code>{column}</code>
              </>
            ))}
            .
          </p>
          <CopyBlock label="Example" text={EXAMPLE} />
          <p class="muted small">
            Separated by commas, semicolons or tabs; at most {plural(MAX_IMPORT_LINES, "line")} at a time. An empty
            commission_pct means the program's rate.
          </p>
        </section>
      </div>
    </>,
  );
}

function previewPage(c: Context<PageEnv>, csv: string, lines: Line[]) {
  const count = (verdict: Line["verdict"]) => lines.filter((line) => line.verdict === verdict).length;
  const [fresh, known, refused] = [count("new"), count("known"), count("refused")];
  return framed(
    c,
    { title: "Import partners: preview", at: AT },
    <>
      <PageHead title="Preview of the import" back={{ href: `${AT}/import`, label: "Another file" }} />
      <Notice tone={refused > 0 ? "warn" : "calm"}>
        <p>
          {plural(fresh, "new partner")}, {plural(known, "line")} already there and left alone,{" "}
          {plural(refused, "line")} with errors.
          {refused > 0 && fresh > 0 ? " Lines with errors are left out; correct them and import the file again." : ""}
          {fresh === 0 && refused === 0 ? " There is nothing to do." : ""}
        </p>
      </Notice>
      <Form action={`${AT}/import`} class="actions spaced">
        <input type="hidden" name="csv" value={csv} />
        {fresh > 0 ? (
          <button type="submit" name="confirmed" value="yes" class="primary">
            Add {plural(fresh, "partner")}
          </button>
        ) : null}
        <a href={AT}>{fresh > 0 ? "Cancel" : "Back to the partners"}</a>
      </Form>
      <section class="card flush">
        <Lines lines={lines} />
      </section>
    </>,
  );
}

const VERDICTS = {
  new: <Badge state="active" label="will be added" />,
  known: <Badge state="known" label="already there" />,
  refused: <Badge state="failed" label="error" />,
};

/** A page stays small; the counts above it are exact. */
const SHOWN = 100;

/** Lines with errors first: they are what one looks for. */
function Lines({ lines }: { lines: Line[] }) {
  const order = { refused: 0, new: 1, known: 2 };
  const sorted = lines.toSorted((a, b) => order[a.verdict] - order[b.verdict] || a.line - b.line);
  return (
    <>
      <Table
        label="Lines of the file"
        columns={[{ label: "Line" }, { label: "What happens" }, { label: "E-mail" }, { label: "Slug" }]}
        rows={sorted.slice(0, SHOWN).map((line) => [
          String(line.line),
          <span>
            {VERDICTS[line.verdict]}
            {"message" in line ? <span class="second">{line.message}</span> : null}
          </span>,
          "input" in line ? line.input.email : "–",
          "input" in line ? <code>{line.input.slug}</code> : "–",
        ])}
      />
      {lines.length > SHOWN ? (
        <p class="table-note">
          {SHOWN} of {plural(lines.length, "line")}, those with errors first.
        </p>
      ) : null}
    </>
  );
}

function donePage(c: Context<PageEnv>, added: number, lines: Line[]) {
  const refused = lines.filter(({ verdict }) => verdict === "refused");
  return framed(
    c,
    { title: "Import partners: done", at: AT },
    <>
      <PageHead title="Import done" back={{ href: AT, label: "Partners" }} />
      <Notice tone="good">
        <p>{plural(added, "partner")} added. They are invited, and turn active when they first sign in.</p>
      </Notice>
      {refused.length > 0 ? (
        <section class="card flush">
          <h2>Left out</h2>
          <Lines lines={refused} />
        </section>
      ) : null}
    </>,
  );
}
