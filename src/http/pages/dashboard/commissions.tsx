import type { Context } from "hono";
import { Hono } from "hono";
import * as z from "zod";
import { parsePage } from "../../../core/list-page.ts";
import {
  createManualCommission,
  listCommissions,
  updateCommission,
  updateCommissions,
  type BulkResult,
} from "../../../core/commissions.ts";
import type { CommissionView } from "../../../core/views.ts";
import { readPartnerNames, type PartnerName } from "../../../core/names.ts";
import { readCommissionStory } from "../../../core/story.ts";
import { COMMISSION_STATUSES } from "../../../domain/commission.ts";
import { PROVIDER_NAMES } from "../../../domain/provider-name.ts";
import { commissionBulk, commissionCreate, commissionPatch } from "../../api/commissions.ts";
import type { PageEnv } from "../../session.ts";
import { pageQuery, timeRange } from "../../validate.ts";
import { filterOf, yes, type Filter } from "../filters.ts";
import { FormFields, judge, problemsOf, type Problems } from "../forms.ts";
import { framed } from "../framed.tsx";
import { PageHead } from "../layout.tsx";
import { ActionButton, Field, Form, SelectField } from "../parts/form.tsx";
import { Badge, Money, plural, providerText, When } from "../parts/figures.tsx";
import { Done, Notice } from "../parts/notice.tsx";
import { PartnerLink, partnerText } from "../parts/partner.tsx";
import { Empty, Pager, Table } from "../parts/table.tsx";
import { reviewText } from "../parts/trace.tsx";
import { CommissionDetail } from "./commission-detail.tsx";

const AT = "/dashboard/commissions";

const listQuery = pageQuery.extend({
  status: z.enum(COMMISSION_STATUSES).optional(),
  partner_id: z.string().max(64).optional(),
  payout_id: z.string().max(64).optional(),
  provider: z.enum(PROVIDER_NAMES).optional(),
  flagged: yes,
  ...timeRange.shape,
});

const DONE = {
  added: "The commission was added; it waits for approval like any other.",
  approved: "Approved.",
  rejected: "Rejected.",
  pending: "It waits for review again.",
  flagged: "Flagged: it will not be approved by itself.",
  unflagged: "The flag is gone; the same reason will not flag it again.",
};

/** `/dashboard/commissions` (contract §11: filter, approve, reject, the trace of each). */
export const commissions = new Hono<PageEnv>()
  .get("/", async (c) => {
    const filter = filterOf(c, listQuery);
    const page = parsePage(await listCommissions(c.var.ctx, filter.value));
    const { partner_id } = filter.value;
    const names = await readPartnerNames(c.var.ctx, [partner_id ?? null, ...page.data.map((row) => row.partner_id)]);
    const isFiltered = Object.keys(filter.texts).length > 0;
    const only = partner_id === undefined ? undefined : names.get(partner_id);
    return framed(
      c,
      { title: "Commissions", at: AT },
      <>
        <BulkDone status={c.req.query("bulk")} count={Number(c.req.query("count"))} />
        <PageHead
          title={only ? `Commissions of ${partnerText(only)}` : "Commissions"}
          actions={
            <a class="button" href={`${AT}/new${only ? `?partner_id=${only.id}` : ""}`}>
              Add by hand
            </a>
          }
        />
        <FilterForm filter={filter} isFiltered={isFiltered} />
        <section class="card flush">
          {page.total === 0 ? (
            <NoCommissions isFiltered={isFiltered} />
          ) : (
            <>
              <Form action={`${AT}/bulk`}>
                <input type="hidden" name="back" value={new URLSearchParams(filter.texts).toString()} />
                <List rows={page.data} names={names} />
                {page.data.some(isOpen) ? <BulkActions /> : null}
              </Form>
              <Pager page={page} path={AT} query={filter.texts} />
            </>
          )}
        </section>
      </>,
    );
  })
  .post("/bulk", async (c) => {
    const fields = new FormFields(await c.req.formData());
    const status = fields.text("status");
    const reason = status === "rejected" ? fields.textOrNull("reason") : null;
    const back = `${AT}?${new URLSearchParams(fields.text("back")).toString()}`;
    const judged = judge(commissionBulk, { ids: fields.all("ids"), status, ...(reason === null ? {} : { reason }) });
    if (!judged.ok) {
      const problem = fields.all("ids").length === 0 ? "Tick at least one commission first." : judged.problems.message;
      return bulkProblemPage(c, back, [problem]);
    }
    const { ids, ...change } = judged.value;
    const results = await updateCommissions(c.var.ctx, ids, change);
    const refused = results.filter((result): result is Extract<BulkResult, { ok: false }> => !result.ok);
    const done = results.length - refused.length;
    if (refused.length > 0) {
      const lines = refused.map(({ id, error }) => `${id}: ${error.message}`);
      return bulkProblemPage(c, back, [`${plural(done, "commission")} ${status}; not these:`, ...lines]);
    }
    return c.redirect(`${back}&bulk=${change.status}&count=${done}`, 303);
  })
  .get("/new", async (c) => newPage(c, { partner_id: c.req.query("partner_id") ?? "", amount: "", note: "" }))
  .post("/new", async (c) => {
    const fields = new FormFields(await c.req.formData());
    const { currency } = c.var.session.program;
    const values = { partner_id: fields.text("partner_id"), amount: fields.text("amount"), note: fields.text("note") };
    const judged = judge(commissionCreate, {
      partner_id: values.partner_id,
      amount_cents: fields.money("amount", currency),
      note: values.note,
    });
    if (!judged.ok) return newPage(c, values, judged.problems);
    try {
      const commission = await createManualCommission(c.var.ctx, judged.value);
      return c.redirect(`${AT}/${commission.id}?done=added`, 303);
    } catch (error) {
      return newPage(c, values, problemsOf(error));
    }
  })
  .get("/:id", async (c) => detailPage(c, c.req.param("id")))
  .post("/:id", async (c) => {
    const id = c.req.param("id");
    const fields = new FormFields(await c.req.formData());
    const reason = fields.textOrNull("reason");
    const judged = judge(commissionPatch, {
      ...(fields.has("status") ? { status: fields.text("status") } : {}),
      ...(fields.has("flagged") ? { flagged: fields.text("flagged") === "true" } : {}),
      ...(reason === null ? {} : { reason }),
    });
    if (!judged.ok) return detailPage(c, id, judged.problems);
    try {
      await updateCommission(c.var.ctx, id, judged.value);
    } catch (error) {
      return detailPage(c, id, problemsOf(error));
    }
    const { status, flagged } = judged.value;
    return c.redirect(`${AT}/${id}?done=${status ?? (flagged ? "flagged" : "unflagged")}`, 303);
  });

function isOpen(row: CommissionView): boolean {
  return row.payout_id === null && (row.status === "pending" || row.status === "approved");
}

function FilterForm({ filter, isFiltered }: { filter: Filter<z.output<typeof listQuery>>; isFiltered: boolean }) {
  const any = { value: "", label: "Any" };
  return (
    <form method="get" action={AT} class="filter" aria-label="Filter commissions">
      <SelectField
        name="status"
        label="Status"
        value={filter.value.status}
        options={[any, ...COMMISSION_STATUSES.map((value) => ({ value, label: value }))]}
      />
      <SelectField
        name="flagged"
        label="Flag"
        value={filter.texts.flagged}
        options={[any, { value: "true", label: "flagged" }, { value: "false", label: "not flagged" }]}
      />
      <SelectField
        name="provider"
        label="Provider"
        value={filter.value.provider}
        options={[any, ...PROVIDER_NAMES.map((value) => ({ value, label: providerText(value) }))]}
      />
      <Field name="from" label="From" type="date" value={filter.texts.from} />
      <Field name="to" label="To" type="date" value={filter.texts.to} />
      {filter.value.partner_id ? <input type="hidden" name="partner_id" value={filter.value.partner_id} /> : null}
      {filter.value.payout_id ? <input type="hidden" name="payout_id" value={filter.value.payout_id} /> : null}
      <button type="submit">Filter</button>
      {isFiltered ? <a href={AT}>Show all</a> : null}
    </form>
  );
}

function List({ rows, names }: { rows: readonly CommissionView[]; names: ReadonlyMap<string, PartnerName> }) {
  return (
    <Table
      label="Commissions"
      columns={[
        { label: "Choose", hidden: true },
        { label: "Commission" },
        { label: "Partner" },
        { label: "Status" },
        { label: "Payment", align: "end" },
        { label: "Amount", align: "end" },
      ]}
      rows={rows.map((row) => [
        isOpen(row) ? (
          <input type="checkbox" name="ids" value={row.id} aria-label={`Choose the commission of ${row.created_at}`} />
        ) : null,
        <span>
          <a href={`${AT}/${row.id}`}>
            <When at={row.created_at} />
          </a>
          <span class="second">{row.kind === "sale" ? providerText(row.provider) : row.kind}</span>
        </span>,
        <PartnerLink partner={names.get(row.partner_id)} />,
        <span class="badges">
          <Badge state={row.status} />
          {row.flagged ? <Badge state="flagged" label="flagged" /> : null}
          {row.flagged ? <span class="second">{reviewText(row)}</span> : null}
        </span>,
        row.kind === "manual" ? "–" : <Money cents={row.txn_amount_cents} currency={row.currency} />,
        <Money cents={row.amount_cents} currency={row.currency} />,
      ])}
    />
  );
}

function BulkActions() {
  return (
    <div class="bulk">
      <span class="check" hidden>
        <input type="checkbox" id="choose-all" data-all="ids" />
        <label for="choose-all">All on this page</label>
      </span>
      <button type="submit" name="status" value="approved" class="primary">
        Approve chosen
      </button>
      <button type="submit" name="status" value="rejected" class="danger">
        Reject chosen
      </button>
      <label class="inline-field">
        <span class="visually-hidden">Reason, if you reject</span>
        <input name="reason" maxlength={500} placeholder="Reason, if you reject" />
      </label>
    </div>
  );
}

function BulkDone({ status, count }: { status: string | undefined; count: number }) {
  if ((status !== "approved" && status !== "rejected") || !Number.isSafeInteger(count) || count < 1) return null;
  return (
    <Notice tone="good">
      <p>
        {plural(count, "commission")} {status}.
      </p>
    </Notice>
  );
}

function NoCommissions({ isFiltered }: { isFiltered: boolean }) {
  return isFiltered ? (
    <Empty title="No commission matches">
      <a href={AT}>Show all commissions</a>
    </Empty>
  ) : (
    <Empty
      title="No commissions yet"
      action={
        <a class="button primary" href="/dashboard/integration">
          Set up the checkout
        </a>
      }
    >
      A payment that carries a partner's reference makes one. If payments arrive and no commission does, look at{" "}
      <a href="/dashboard/payments">what became of each payment</a>.
    </Empty>
  );
}

function bulkProblemPage(c: Context<PageEnv>, back: string, lines: string[]) {
  return framed(
    c,
    { title: "Commissions", at: AT, status: 422 },
    <>
      <PageHead title="Not all could be changed" back={{ href: back, label: "Back to the commissions" }} />
      <Notice tone="bad">
        {lines.map((line) => (
          <p>{line}</p>
        ))}
      </Notice>
    </>,
  );
}

interface NewValues {
  partner_id: string;
  amount: string;
  note: string;
}

async function newPage(c: Context<PageEnv>, values: NewValues, problems?: Problems) {
  const { program } = c.var.session;
  const names = await readPartnerNames(c.var.ctx, [values.partner_id || null]);
  const partner = names.get(values.partner_id);
  return framed(
    c,
    { title: "Add a commission", at: AT, status: problems ? 422 : 200 },
    <>
      <PageHead
        title="Add a commission by hand"
        back={{ href: AT, label: "Commissions" }}
        lede="A bonus, or with a minus a correction that lowers the partner's next payout."
      />
      <Form action={`${AT}/new`} class="card stack form-narrow" problems={problems}>
        <Field
          name="partner_id"
          label="Partner's id"
          value={values.partner_id}
          problems={problems}
          required={true}
          hint={partner ? partnerText(partner) : "par_…, as in the address of the partner's page"}
        />
        <Field
          name="amount"
          label="Amount"
          value={values.amount}
          problems={withField(problems, "amount_cents", "amount")}
          required={true}
          inputmode="decimal"
          unit={program.currency}
        />
        <Field
          name="note"
          label="What it is for"
          value={values.note}
          problems={problems}
          required={true}
          maxlength={500}
        />
        <div class="actions">
          <button type="submit" class="primary">
            Add
          </button>
          <a href={AT}>Cancel</a>
        </div>
      </Form>
    </>,
  );
}

/** The problem of a field of the API under the name that the form has for it. */
function withField(problems: Problems | undefined, from: string, to: string): Problems | undefined {
  const message = problems?.fields[from];
  return problems && message !== undefined ? { ...problems, fields: { ...problems.fields, [to]: message } } : problems;
}

async function detailPage(c: Context<PageEnv>, id: string, problems?: Problems) {
  const story = await readCommissionStory(c.var.ctx, id);
  const done = c.req.query("done");
  return framed(
    c,
    { title: "Commission", at: AT, status: problems ? 422 : 200 },
    <>
      {problems ? (
        <Notice tone="bad">
          <p>{[problems.message, ...Object.values(problems.fields)].join(" ")}</p>
        </Notice>
      ) : (
        <Done
          code={done}
          texts={DONE}
          undo={
            done === "rejected" && story.commission.status === "rejected" ? (
              <ActionButton action={`${AT}/${id}`} values={{ status: "pending" }} label="Undo: review again" />
            ) : null
          }
        />
      )}
      <CommissionDetail story={story} />
    </>,
  );
}
