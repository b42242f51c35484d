import type { Context } from "hono";
import { previewChosen, updateCommissions } from "../../../../core/commissions/bulk.ts";
import { updateCommission } from "../../../../core/commissions/commissions.ts";
import { readCommissionDetail } from "../../../../core/commissions/detail.ts";
import type { ProgramCtx } from "../../../../core/kernel/context.ts";
import { canBecome, COMMISSION_STATUSES } from "../../../../domain/commission.ts";
import { AppError, invalidField, notFound } from "../../../../lib/errors.ts";
import { iso } from "../../../../lib/time.ts";
import { commissionPatch } from "../../../api/commissions.ts";
import type { PageEnv } from "../../../session.ts";
import { type Problems } from "../../forms.ts";
import { framed } from "../../framed.tsx";
import { ListTable, titleOf, type Names } from "../../list.tsx";
import { ActionButton, Checkbox, EnterButton, Form, Hidden } from "../../parts/form.tsx";
import { timeText, usePageZone } from "../../locale.ts";
import { countText, moneyText, plural } from "../../parts/figures.tsx";
import { partnerText } from "../../parts/partner.tsx";
import { Notice, Refused } from "../../parts/notice.tsx";
import { ChooseAll } from "../../parts/table.tsx";
import { ActionLink, IfMay, useMay } from "../../rights.tsx";
import { CommissionDetail } from "./detail.tsx";
import { COMMISSION_LIST, COMMISSIONS as AT, type CommissionListFilter, type Listed } from "./columns.tsx";
import { act } from "../../act.ts";
import { FLASH, addressWithNote } from "../../flash.ts";
import { listPage } from "../../list-page.tsx";
import { choice, PROVIDER_FIELD, RANGE_FIELDS } from "../../parts/filter-fields.tsx";

/** `/dashboard/commissions` (PAGE-7): filter, approve, reject, and the trace of each commission. */
export const commissions = listPage(COMMISSION_LIST, {
  at: AT,
  head: ({ names, filter: { value } }) => ({
    title: titleOf("Commissions", value.partner_id, names),
    actions: (
      <ActionLink
        class="button"
        href={`${AT}/new${names.has(value.partner_id ?? "") ? `?partner_id=${value.partner_id}` : ""}`}
      >
        Add by hand
      </ActionLink>
    ),
  }),
  notice: (c) => <BulkDone status={c.req.query("bulk")} count={Number(c.req.query("count"))} />,
  filter: [
    choice("status", "Status", COMMISSION_STATUSES),
    choice("flagged", "Flag", ["true", "false"], (is) => (is === "true" ? "Flagged" : "Not flagged")),
    PROVIDER_FIELD,
    ...RANGE_FIELDS,
    { name: "payout_id", label: "Payout", maxlength: 64, hint: "The payout's id." },
  ],
  presets: [
    { label: "Pending", query: { status: "pending" } },
    { label: "Flagged", query: { flagged: "true" } },
  ],
  empty: {
    title: "No commissions yet",
    children: (
      <>
        Each payment with a partner's reference creates a commission. If payments arrive without commissions, check{" "}
        <a href="/dashboard/payments">the result of each payment</a>.
      </>
    ),
    action: (
      <a class="button primary" href="/dashboard/integration">
        Set up the checkout
      </a>
    ),
  },
  done: FLASH.commissions,
  rows: (shown, c) => (
    <>
      <Form action={`${AT}/bulk`} readable={true}>
        <IfMay right="money">
          <EnterButton />
        </IfMay>
        <Hidden values={{ back: new URLSearchParams(shown.query).toString(), seen_at: iso(c.var.now) }} />
        <ListTable
          {...{ list: COMMISSION_LIST, shown, path: AT }}
          pick={(row) => <Choose row={row} />}
          act={
            shown.page.data.some(isPending)
              ? { label: "Decide", cell: (row) => <Decide row={row} names={shown.names} now={iso(c.var.now)} /> }
              : undefined
          }
        />
        <IfMay right="money">
          {shown.page.data.some(isOpen) ? <BulkActions rows={shown.page.data.filter(isOpen)} /> : null}
        </IfMay>
      </Form>
      <IfMay right="money">
        <MatchingActions total={shown.page.total} filter={shown.filter} />
      </IfMay>
    </>
  ),
})
  .get("/:id", (c) => detailPage(c, c.req.param("id")))
  .post("/:id", (c) => {
    const id = c.req.param("id");
    return act(c, {
      schema: commissionPatch,
      input: (fields) => ({
        ...(fields.has("status") ? { status: fields.text("status") } : {}),
        ...(fields.has("flagged") ? { flagged: fields.text("flagged") === "true" } : {}),
        // A list has the field for "Reject chosen", which may be filled in.
        ...(fields.text("reason") === "" || fields.text("status") === "approved"
          ? {}
          : { reason: fields.text("reason") }),
      }),
      verb: async (value, fields) => {
        const seen_at = fields.text("seen_at") || undefined;
        if (fields.has("back")) await decideInRow(c.var.ctx, id, value, seen_at);
        else await updateCommission(c.var.ctx, id, value, seen_at);
        const done = value.status ?? (value.flagged ? "flagged" : "unflagged");
        return fields.has("back")
          ? addressWithNote(AT, done, fields.text("back"))
          : addressWithNote(`${AT}/${id}`, done);
      },
      page: ({ problems }) => detailPage(c, id, problems),
    });
  });

type CommissionPatch = Parameters<typeof updateCommission>[2];

/** Decides as a row of the list offered it: a commission that was flagged or put on hold since is for its page. */
async function decideInRow(
  ctx: ProgramCtx,
  id: string,
  { status, reason }: CommissionPatch,
  seen_at: string | undefined,
): Promise<void> {
  if (status === undefined) throw invalidField("status", "Press the button of your decision.");
  const isHeld = status === "approved" && (await previewChosen(ctx, [id], { status })).some(({ held }) => held > 0);
  if (isHeld) throw new AppError("invalid_transition", "It is on hold by now. Nothing was changed: decide here.");
  const [result] = await updateCommissions(ctx, [id], { status, reason }, seen_at);
  if (result?.ok) return;
  const { code, message } = result!.error;
  if (code === "not_found") throw notFound("commission");
  throw new AppError(
    "invalid_transition",
    code === "flagged" ? "It is flagged by now. Nothing was changed: review it here." : message,
  );
}

function isOpen(row: Listed): boolean {
  return row.payout_id === null && (row.status === "pending" || row.status === "approved");
}

function isPending(row: Listed): boolean {
  return row.status === "pending" && row.payout_id === null;
}

/** The buttons of a pending commission. One that is flagged or on hold is decided on its page, which shows why. */
function Decide({ row, names, now }: { row: Listed; names: Names; now: string }) {
  if (!isPending(row)) return null;
  const partner = names.get(row.partner_id);
  const of = (
    <span class="visually-hidden"> {`${moneyText(row)} for ${partner ? partnerText(partner) : row.partner_id}`}</span>
  );
  if (row.flagged || (row.hold_until ?? "") > now) {
    return (
      <IfMay right="money">
        <a href={`${AT}/${row.id}`}>Review{of}</a>
      </IfMay>
    );
  }
  return (
    <IfMay right="money">
      <span class="actions">
        <button type="submit" formaction={`${AT}/${row.id}`} name="status" value="approved">
          Approve{of}
        </button>
        <button type="submit" formaction={`${AT}/${row.id}`} name="status" value="rejected">
          Reject{of}
        </button>
      </span>
    </IfMay>
  );
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
      <ChooseAll>{hasFlagged ? " that are not flagged" : null}</ChooseAll>
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

/** Actions on all matches, over all pages; the next page shows their number and sum. */
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

async function detailPage(c: Context<PageEnv>, id: string, problems?: Problems) {
  const story = await readCommissionDetail(c.var.ctx, id);
  const isUndone = c.req.query("done") === "rejected" && story.commission.status === "rejected";
  return framed(
    c,
    {
      ...{ title: "Commission", at: AT, problems, done: FLASH.commissions, notice: <Refused problems={problems} /> },
      undo: isUndone ? (
        <ActionButton
          action={`${AT}/${id}`}
          values={{ status: "pending", seen_at: iso(c.var.now) }}
          label="Undo: review again"
        />
      ) : null,
    },
    <CommissionDetail story={story} time_zone={c.var.session.program.time_zone} now={iso(c.var.now)} />,
  );
}
