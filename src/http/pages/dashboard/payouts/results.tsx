import { type Context, Hono } from "hono";
import { getExport } from "../../../../core/payouts/exports.ts";
import { applyResults, type FileResults, type LineResult } from "../../../../core/payouts/results.ts";
import type { PayoutExport } from "../../../../core/kernel/rows.ts";
import { decodeCsv } from "../../../../domain/csv-encoding.ts";
import { RESULT_OUTCOMES } from "../../../../domain/payout-export.ts";
import type { PageEnv } from "../../../session.ts";
import { sentFields } from "../../act.ts";
import { addressWithNote, FLASH } from "../../flash.ts";
import { problemsOf, type FormFields, type Problems } from "../../forms.ts";
import { framed } from "../../framed.tsx";
import { Badge, countText, Money, plural } from "../../parts/figures.tsx";
import { Actions, Field, Form, TextArea } from "../../parts/form.tsx";
import { Notice } from "../../parts/notice.tsx";
import { Preview, PreviewPlace } from "../../parts/preview.tsx";
import { Empty, FirstOf, Table } from "../../parts/table.tsx";

const PAYOUTS = "/dashboard/payouts";
/** A page stays small. */
const SHOWN = 500;

/** `/dashboard/payouts/exports/:id/results`: previews a result file line by line, then applies it (OUT-28). */
export const exportResults = new Hono<PageEnv>()
  .get("/:id/results", async (c) => uploadPage(c, await getExport(c.var.ctx, c.req.param("id"))))
  .post("/:id/results", async (c) => {
    const file = await getExport(c.var.ctx, c.req.param("id"));
    const fields = await sentFields(c);
    const isConfirmed = fields.has("confirmed");
    const { text, problem } = await readText(fields);
    if (problem !== null) return uploadPage(c, file, { text, problems: about(problem) });
    try {
      const results = await applyResults(c.var.ctx, file.id, text, { dry_run: !isConfirmed });
      if (!isConfirmed) return await previewPage(c, file, text, results);
      return c.redirect(addressWithNote(addressOf(file), results.remaining > 0 ? "results_part" : "results"), 303);
    } catch (error) {
      const { message, fields: named } = problemsOf(error);
      return uploadPage(c, file, { text, problems: about(named["body"] ?? message) });
    }
  });

function addressOf({ id }: PayoutExport) {
  return `${PAYOUTS}/exports/${id}/results`;
}

async function readText(fields: FormFields): Promise<{ text: string; problem: string | null }> {
  const file = fields.file("file");
  const decoded = file ? decodeCsv(new Uint8Array(await file.arrayBuffer())) : null;
  if (decoded?.ok === false) return { text: "", problem: "This is not a text file. Export it as CSV or XML." };
  const text = decoded?.text ?? fields.raw("text");
  return { text, problem: text.trim() === "" ? "Choose a file, or paste its content." : null };
}

function about(message: string): Problems {
  return { message, fields: { text: message } };
}

interface Uploaded {
  text: string;
  problems: Problems;
}

function uploadPage(c: Context<PageEnv>, file: PayoutExport, sent?: Uploaded) {
  return framed(
    c,
    {
      ...{ title: "Result file", at: PAYOUTS, problems: sent?.problems, done: FLASH.payouts, previews: true },
      head: {
        title: "Import results",
        back: { href: `${PAYOUTS}/exports/${file.id}`, label: "The file" },
        lede: "The file in which your bank or PayPal reports what it paid. You see a preview before anything changes.",
      },
    },
    <>
      <section class="card">
        <p>
          {plural(file.count, "payout")}, <Money of={file} /> <Badge state={file.status} />
        </p>
      </section>
      <div class="grid">
        <Form class="card stack" action={addressOf(file)} multipart={true} problems={sent?.problems} preview={true}>
          <Field name="file" label="Result file" type="file" accept=".csv,.xml,text/csv,text/plain,text/xml" />
          <TextArea name="text" label="Or paste it here" value={sent?.text ?? ""} rows={8} code={true} />
          <Actions submit="Preview" />
        </Form>
        <div>
          <PreviewPlace />
          <FileForms />
        </div>
      </div>
    </>,
  );
}

function FileForms() {
  return (
    <section class="card prose">
      <h2>File format</h2>
      <ul>
        <li>
          PayPal: the report of the payment as CSV, with <code>Unique ID</code> and <code>Status</code>.
        </li>
        <li>SEPA: the pain.002 of your bank. Accepted transfers stay open until the bank reports them as settled.</li>
        <li>
          Others: a CSV with the columns <code>payout_id</code>, <code>status</code> (such as <code>paid</code>,{" "}
          <code>failed</code> or <code>returned</code>) and <code>reason</code>.
        </li>
      </ul>
    </section>
  );
}

function previewPage(c: Context<PageEnv>, file: PayoutExport, text: string, { counts, lines }: FileResults) {
  const changes = counts.paid + counts.failed + counts.returned;
  const said = `${RESULT_OUTCOMES.map((outcome) => `${countText(counts[outcome])} ${OUTCOME_TEXTS[outcome]}`).join(", ")}.`;
  const shown = lines.filter(({ outcome }) => outcome !== "unchanged");
  return framed(
    c,
    {
      ...{ title: "Result file: preview", at: PAYOUTS },
      head: { title: "Preview of the results", back: { href: addressOf(file), label: "Another file" } },
    },
    <Preview said={said}>
      <Notice tone={counts.problem === 0 ? "calm" : "warn"}>
        <p>
          {said}
          {counts.problem === 0 ? "" : " Lines with problems change nothing."}
        </p>
      </Notice>
      <Form action={addressOf(file)} class="stack spaced" multipart={true}>
        <input type="hidden" name="text" value={text} />
        <div class="actions">
          {changes === 0 ? null : (
            <button type="submit" name="confirmed" value="yes" class="primary">
              {`Apply to ${plural(changes, "payout")}`}
            </button>
          )}
          <a href={addressOf(file)}>{changes === 0 ? "Another file" : "Cancel"}</a>
        </div>
      </Form>
      <section class="card flush spaced">
        {shown.length === 0 ? (
          <Empty title="Nothing changes">Each payout is as the file reports it.</Empty>
        ) : (
          <Lines lines={shown} />
        )}
      </section>
    </Preview>,
  );
}

const OUTCOME_TEXTS: Record<LineResult["outcome"], string> = {
  ...{ paid: "paid", failed: "failed", returned: "returned" },
  ...{ unchanged: "unchanged", problem: "with problems" },
};

/** Problems first. */
function Lines({ lines }: { lines: readonly LineResult[] }) {
  const sorted = [...lines.filter(isProblem), ...lines.filter((line) => !isProblem(line))];
  return (
    <>
      <Table
        label="Lines of the file"
        columns={[
          { label: "Payout" },
          { label: "Line", align: "end" },
          { label: "Reported" },
          { label: "Result" },
          { label: "Note", grow: true, named: true },
        ]}
        rows={sorted.slice(0, SHOWN).map(({ line, payout_id, said, outcome, message }) => [
          payout_id === null ? (
            "–"
          ) : (
            <a href={`${PAYOUTS}/${payout_id}`}>
              <code>{payout_id}</code>
            </a>
          ),
          countText(line),
          said,
          <Badge state={outcome} />,
          message ?? "",
        ])}
      />
      <FirstOf shown={SHOWN} count={sorted.length} />
    </>
  );
}

function isProblem({ outcome }: LineResult): boolean {
  return outcome === "problem";
}
