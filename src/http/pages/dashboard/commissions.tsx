import type { Context } from "hono";
import { Hono } from "hono";
import { updateCommission } from "../../../core/commissions/commissions.ts";
import { readCommissionDetail } from "../../../core/commissions/detail.ts";
import { canBecome } from "../../../domain/commission.ts";
import { commissionPatch } from "../../api/commissions.ts";
import type { PageEnv } from "../../session.ts";
import { FormFields, parseInput, problemsOf, problemText, type Problems } from "../forms.ts";
import { framed } from "../framed.tsx";
import { PageHead } from "../layout.tsx";
import { csvOf } from "../list-csv.ts";
import { ListFoot, ListTable, readList } from "../list.tsx";
import { ActionButton, Checkbox, Form } from "../parts/form.tsx";
import { timeText, usePageZone } from "../locale.ts";
import { countText, plural } from "../parts/figures.tsx";
import { Done, Notice } from "../parts/notice.tsx";
import { partnerText } from "../parts/partner.tsx";
import { Empty } from "../parts/table.tsx";
import { ActionLink, IfMay, useMay } from "../rights.tsx";
import { CommissionDetail } from "./commission-detail.tsx";
import {
  COMMISSION_LIST,
  COMMISSIONS as AT,
  FilterForm,
  type CommissionListFilter,
  type Listed,
} from "./commission-list.tsx";

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
    const shown = await readList(c, COMMISSION_LIST);
    const { page, names, filter, isFiltered } = shown;
    const only = filter.value.partner_id === undefined ? undefined : names.get(filter.value.partner_id);
    return framed(
      c,
      { title: "Commissions", at: AT },
      <>
        <BulkDone status={c.req.query("bulk")} count={Number(c.req.query("count"))} />
        <PageHead
          title={only ? `Commissions of ${partnerText(only)}` : "Commissions"}
          actions={
            <ActionLink class="button" href={`${AT}/new${only ? `?partner_id=${only.id}` : ""}`}>
              Add by hand
            </ActionLink>
          }
        />
        <FilterForm shown={shown} />
        <section class="card flush">
          {page.total === 0 ? (
            <NoCommissions isFiltered={isFiltered} />
          ) : (
            <>
              <Form action={`${AT}/bulk`} readable={true}>
                <input type="hidden" name="back" value={new URLSearchParams(shown.query).toString()} />
                <ListTable list={COMMISSION_LIST} shown={shown} pick={(row) => <Choose row={row} />} />
                <IfMay right="money">
                  {page.data.some(isOpen) ? <BulkActions rows={page.data.filter(isOpen)} /> : null}
                </IfMay>
              </Form>
              <IfMay right="money">
                <MatchingActions total={page.total} filter={filter} />
              </IfMay>
              <ListFoot shown={shown} path={AT} />
            </>
          )}
        </section>
      </>,
    );
  })
  .get("/list.csv", (c) => csvOf(c, COMMISSION_LIST))
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

function isOpen(row: Listed): boolean {
  return row.payout_id === null && (row.status === "pending" || row.status === "approved");
}

function Choose({ row }: { row: Listed }) {
  const zone = usePageZone();
  if (!useMay("money") || !isOpen(row)) return null;
  return (
    <input
      type="checkbox"
      name="ids"
      value={row.id}
      data-flagged={row.flagged ? "" : undefined}
      aria-label={`Choose the commission of ${timeText(row.created_at, zone)}`}
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
          <p>{problemText(problems)}</p>
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
