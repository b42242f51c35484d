import type { Context } from "hono";
import { Hono } from "hono";
import { parsePage } from "../../../core/kernel/list-page.ts";
import { listCommissions, updateCommission } from "../../../core/commissions/commissions.ts";
import type { Decided } from "../../../core/kernel/rows.ts";
import type { CommissionView } from "../../../core/kernel/views.ts";
import { readPartnerNames, type PartnerName } from "../../../core/partners/display-names.ts";
import { readCommissionDetail } from "../../../core/commissions/detail.ts";
import { amountOf } from "../../../domain/amount.ts";
import { canBecome } from "../../../domain/commission.ts";
import { commissionPatch } from "../../api/commissions.ts";
import type { PageEnv } from "../../session.ts";
import { commissionQuery } from "../../queries.ts";
import { filterOf } from "../filters.ts";
import { FormFields, parseInput, problemsOf, type Problems } from "../forms.ts";
import { framed } from "../framed.tsx";
import { PageHead } from "../layout.tsx";
import { ActionButton, Checkbox, Form } from "../parts/form.tsx";
import { Badge, countText, Flag, Money, plural, When } from "../parts/figures.tsx";
import { Done, Notice } from "../parts/notice.tsx";
import { PartnerLink, partnerText } from "../parts/partner.tsx";
import { Empty, Pager, Table } from "../parts/table.tsx";
import { reviewText } from "../parts/trace.tsx";
import { kindText } from "../parts/words.ts";
import { CommissionDetail } from "./commission-detail.tsx";
import { COMMISSIONS as AT, FilterForm, type CommissionListFilter } from "./commission-filter.tsx";

const DONE = {
  added: "The commission was added; it waits for approval like any other.",
  approved: "Approved.",
  rejected: "Rejected.",
  pending: "It waits for review again.",
  flagged: "Flagged: it will not be approved automatically.",
  unflagged: "The flag is gone; the same reason will not flag it again.",
};

/** `/dashboard/commissions` (PAGE-7): filter, approve, reject, the trace of each. */
export const commissions = new Hono<PageEnv>()
  .get("/", async (c) => {
    const filter = filterOf(c, commissionQuery);
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
                {page.data.some(isOpen) ? <BulkActions rows={page.data.filter(isOpen)} /> : null}
              </Form>
              <MatchingActions total={page.total} filter={filter} />
              <Pager page={page} path={AT} query={filter.texts} />
            </>
          )}
        </section>
      </>,
    );
  })
  .get("/:id", async (c) => detailPage(c, c.req.param("id")))
  .post("/:id", async (c) => {
    const id = c.req.param("id");
    const fields = new FormFields(await c.req.formData());
    const reason = fields.text("reason");
    const parsed = parseInput(commissionPatch, {
      ...(fields.has("status") ? { status: fields.text("status") } : {}),
      ...(fields.has("flagged") ? { flagged: fields.text("flagged") === "true" } : {}),
      ...(reason === "" ? {} : { reason }),
    });
    if (!parsed.ok) return detailPage(c, id, parsed.problems);
    try {
      await updateCommission(c.var.ctx, id, parsed.value);
    } catch (error) {
      return detailPage(c, id, problemsOf(error));
    }
    const { status, flagged } = parsed.value;
    return c.redirect(`${AT}/${id}?done=${status ?? (flagged ? "flagged" : "unflagged")}`, 303);
  });

/** A commission in the list. */
export type Listed = Decided<
  CommissionView,
  | ("id" | "partner_id" | "payout_id" | "kind" | "status" | "flagged" | "review_reason" | "provider")
  | ("amount_cents" | "txn_amount_cents" | "currency" | "created_at"),
  | ("program_id" | "payment_id" | "flow_id" | "source_commission_id" | "rate" | "note" | "rejected_reason")
  | ("provider_transaction_id" | "subscription_id" | "customer_email" | "approved_at" | "paid_at" | "updated_at")
>;

function isOpen(row: Listed): boolean {
  return row.payout_id === null && (row.status === "pending" || row.status === "approved");
}

function List({ rows, names }: { rows: readonly Listed[]; names: ReadonlyMap<string, PartnerName> }) {
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
          <input
            type="checkbox"
            name="ids"
            value={row.id}
            data-flagged={row.flagged ? "" : undefined}
            aria-label={`Choose the commission of ${row.created_at}`}
          />
        ) : null,
        <span>
          <a href={`${AT}/${row.id}`}>
            <When at={row.created_at} />
          </a>
          <span class="second">{kindText(row)}</span>
        </span>,
        <PartnerLink partner={names.get(row.partner_id)} />,
        <span class="badges">
          <Badge state={row.status} />
          {row.flagged ? <Flag label="flagged" /> : null}
          {row.flagged ? <span class="second">{reviewText(row)}</span> : null}
        </span>,
        row.kind === "manual" || row.kind === "lead" ? "–" : <Money of={amountOf(row, row.txn_amount_cents)} />,
        <Money of={row} />,
      ])}
    />
  );
}

function BulkActions({ rows }: { rows: readonly Listed[] }) {
  const hasFlagged = rows.some(({ flagged }) => flagged);
  return (
    <div class="bulk">
      <span class="check" hidden>
        <input type="checkbox" id="choose-all" data-all="ids" />
        <label for="choose-all">All on this page{hasFlagged ? " that are not flagged" : ""}</label>
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
      {hasFlagged ? <Checkbox name="include_flagged" label="Approve flagged ones too" /> : null}
    </div>
  );
}

/** Ways to everything that matches, over all pages; the next page says how many and how much. */
function MatchingActions({ total, filter }: { total: number; filter: CommissionListFilter }) {
  const { status } = filter.value;
  const href = (move: string) => `${AT}/matching?${new URLSearchParams({ move, ...filter.texts }).toString()}`;
  const canApprove = status === undefined || canBecome(status, "approved");
  const canReject = status === undefined || canBecome(status, "rejected");
  if (total < 2 || (!canApprove && !canReject)) return null;
  return (
    <p class="matching">
      All {countText(total)} that match, on every page:{" "}
      {canApprove ? <a href={href("approve")}>Approve all that match…</a> : null}{" "}
      {canReject ? <a href={href("reject")}>Reject all that match…</a> : null}
    </p>
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
      <a href="/dashboard/payments">the result of each payment</a>.
    </Empty>
  );
}

async function detailPage(c: Context<PageEnv>, id: string, problems?: Problems) {
  const story = await readCommissionDetail(c.var.ctx, id);
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
