import type { Context } from "hono";
import type * as z from "zod";
import type { PageEnv } from "../../../session.ts";
import type { PayoutView } from "../../../../core/kernel/views.ts";
import { readPartnerNames } from "../../../../core/partners/display-names.ts";
import { payPayout } from "../../../../core/payouts/pay.ts";
import { connectionOf } from "../../../../core/kernel/connections.ts";
import { parsePage } from "../../../../core/kernel/list-page.ts";
import type { BulkMove } from "../../../../core/payouts/bulk.ts";
import {
  cancelPayout,
  getPayout,
  listPayouts,
  markPayoutPaid,
  returnPayout,
} from "../../../../core/payouts/payouts.ts";
import { readRecipientChange } from "../../../../core/payouts/recipient.ts";
import { resolveTransfer } from "../../../../core/payouts/say.ts";
import type { Payout } from "../../../../core/kernel/rows.ts";
import { PAYOUT_METHODS, TRANSFER_METHOD } from "../../../../domain/partner.ts";
import { canMove, PAYOUT_STATUSES } from "../../../../domain/payout.ts";
import { AppError } from "../../../../lib/errors.ts";
import { exportReply, payoutMarkPaid, payoutReturned } from "../../../api/payouts.ts";
import { connectOf } from "../../../connect.ts";
import { exportQuery, payoutQuery } from "../../../queries.ts";
import { filterOf, leaveOutUnknown, refuseLeftOut, type Filter } from "../../filters.ts";
import { problemsOf, type Problems } from "../../forms.ts";
import { framed, formPage } from "../../framed.tsx";
import {
  ListTable,
  partnerColumn,
  textColumn,
  timeColumn,
  type ListOf,
  type Names,
  dateColumn,
  statusColumn,
  amountColumn,
  titleOf,
} from "../../list.tsx";
import { Field, Hidden } from "../../parts/form.tsx";
import { Badge, countText, Money, moneyText, plural, When } from "../../parts/figures.tsx";
import { partnerText } from "../../parts/partner.tsx";
import { choice, RANGE_FIELDS } from "../../parts/filter-fields.tsx";
import { payoutMethodText, recipientText } from "../../parts/payout-method.ts";
import { EarnedFor } from "../../parts/statement.tsx";
import { isOffered, nearestText, payoutObstacle, type OwnersMove } from "../../parts/payout-move.ts";
import { PayoutDetail } from "./detail.tsx";
import { matchingUrl } from "./matching.tsx";
import { movedNotice } from "./moved.tsx";
import { TRANSFER_SERVICE } from "../../../../providers/registry.ts";
import { ChooseAll } from "../../parts/table.tsx";
import { ActionLink, IfMay } from "../../rights.tsx";
import { act } from "../../act.ts";
import { FLASH } from "../../flash.ts";
import { listPage } from "../../list-page.tsx";

const AT = "/dashboard/payouts";

/** The owner's actions on a payout, with the notice before each. */
const MOVES = {
  pay: {
    path: "pay",
    title: `Pay through ${TRANSFER_SERVICE}?`,
    button: "Send the money",
    kind: "primary",
    text: "This transfers the amount to the partner's connected account right away. You cannot reverse a transfer here.",
  },
  mark_paid: {
    path: "mark-paid",
    title: "Mark as paid?",
    button: "Mark as paid",
    kind: "primary",
    text: "Use this after you have paid it another way. The payout and its commissions become paid. This is final.",
  },
  cancel: {
    path: "cancel",
    title: "Cancel this payout?",
    button: "Cancel the payout",
    kind: "danger",
    text: "Nothing is paid. Its commissions go into the next payout.",
  },
  return: {
    path: "returned",
    title: "Did the money come back?",
    button: "Mark as returned",
    kind: "primary",
    text: "Use this if the whole payment came back, or was not made. Its commissions go into the next payout, and an e-mail asks the partner to check the payout details. This is final.",
  },
  said_made: {
    path: "was-made",
    title: "Was the transfer made?",
    button: "It was made",
    kind: "primary",
    text: "Use this if you see the transfer at the provider and it is not reversed: we cannot look it up. The payout and its commissions become paid. This is final.",
  },
  said_not_made: {
    path: "was-not-made",
    title: "Was the transfer not made?",
    button: "It was not made",
    kind: "danger",
    text: "Check at the provider first, in the account that started it: we cannot look it up. Then you can pay or cancel the payout again. If the transfer was made after all, the partner is paid twice.",
  },
} as const satisfies Record<OwnersMove, object>;

function ChosenActions({ canPay, canMark }: { canPay: boolean; canMark: boolean }) {
  return (
    <div class="bulk">
      <ChooseAll />
      {canMark ? (
        <button type="submit" name="move" value="mark_paid">
          Mark chosen as paid…
        </button>
      ) : null}
      {canPay ? (
        <button type="submit" name="move" value="pay">
          Pay chosen through {TRANSFER_SERVICE}…
        </button>
      ) : null}
      <button type="submit" name="move" value="cancel">
        Cancel chosen…
      </button>
    </div>
  );
}

/** Actions on all matches, over all pages; the next page shows their number and sum. */
function MatchingActions({ total, filter, canPay }: { total: number; filter: ListFilter; canPay: boolean }) {
  const { status, method } = filter.value;
  const isOf = (move: BulkMove) => status === undefined || canMove(status, move);
  const mayPay = canPay && isOf("pay") && (method === undefined || method === TRANSFER_METHOD);
  if (total < 2 || !isOf("cancel")) return null;
  return (
    <p class="matching">
      All {countText(total)} that match, on every page:{" "}
      {mayPay ? <a href={matchingUrl("pay", filter.texts)}>Pay through {TRANSFER_SERVICE}…</a> : null}{" "}
      {isOf("mark_paid") ? <a href={matchingUrl("mark_paid", filter.texts)}>Mark as paid…</a> : null}{" "}
      <a href={matchingUrl("cancel", filter.texts)}>Cancel…</a>
    </p>
  );
}

function ExportMenu({ status }: { status: string | undefined }) {
  return (
    <details class="drop">
      <summary class="button">Export</summary>
      <ul class="drop-body">
        <li>
          <a href={`${AT}/export.csv?format=generic${status ? `&status=${status}` : ""}`}>
            CSV with everything{status ? `, ${status} only` : ""}
          </a>
        </li>
        <li>
          <a href={`${AT}/exports`}>Payout files</a>
        </li>
      </ul>
    </details>
  );
}

export type Listed = Pick<
  PayoutView,
  | ("id" | "partner_id" | "amount_cents" | "currency" | "source_amounts" | "status" | "method" | "recipient")
  | (
      | "commission_count"
      | "due_at"
      | "created_at"
      | "period_start"
      | "period_end"
      | "reference"
      | "paid_at"
      | "held_until"
    )
>;

function Choose({ row, names }: { row: Listed; names: Names }) {
  const partner = names.get(row.partner_id) ?? { first_name: null, last_name: null, email: row.partner_id };
  const label = `Choose the payout of ${moneyText(row)} to ${partnerText(partner)}`;
  return (
    <IfMay right="money">
      <input type="checkbox" name="ids" value={row.id} aria-label={label} />
    </IfMay>
  );
}

type ListFilter = Filter<z.output<typeof payoutQuery>>;

const LIST: ListOf<typeof payoutQuery, Listed> = {
  name: "payouts",
  label: "Payouts",
  query: payoutQuery,
  read: async (c, filter) => parsePage(await listPayouts(c.var.ctx, filter)),
  partnerOf: (row) => row.partner_id,
  sort: "created_at",
  columns: [
    {
      ...partnerColumn<Listed>({
        href: ({ id }) => `${AT}/${id}`,
        second: (row) => plural(row.commission_count, "commission"),
        csv: { payout_id: "id", commission_count: "commission_count" },
      }),
      sort: "ascending",
    },
    {
      ...amountColumn<Listed>("amount", "Amount", (row) => row.amount_cents, { sum: true }),
      sort: "descending",
      cell: (row) => <EarnedFor of={row} />,
    },
    {
      key: "method",
      label: "Paid by",
      sort: "ascending",
      cell: (row) => (
        <span>
          <span class="one-line">{payoutMethodText(row.method)}</span>
          <IfMay right="details">{row.recipient === null ? null : <span class="second">{row.recipient}</span>}</IfMay>
        </span>
      ),
      csv: { method: "method", recipient: "recipient" },
    },
    {
      ...statusColumn(),
      sort: "ascending",
      cell: ({ status, held_until }) => (
        <span>
          <Badge state={status} />
          {held_until === null ? null : (
            <span class="second">
              held until <When at={held_until} only="day" />
            </span>
          )}
        </span>
      ),
    },
    timeColumn("held_until", "Held until"),
    timeColumn("period_start", "From"),
    timeColumn("period_end", "To"),
    timeColumn("paid_at", "Paid"),
    textColumn("reference", "Reference"),
    { key: "due", label: "Due", cell: (row) => <When at={row.due_at} only="day" />, csv: { due_at: "due_at" } },
    dateColumn("Prepared", "created_at", { only: "day" }),
  ],
};

/** `/dashboard/payouts` (PAGE-7): generate with preview, pay, export. */
export const payouts = listPage(LIST, {
  at: AT,
  notice: movedNotice,
  head: ({ page, names, filter: { value } }) => ({
    title: titleOf("Payouts", value.partner_id, names),
    actions: (
      <>
        <IfMay right="details">{page.total > 0 ? <ExportMenu status={value.status} /> : null}</IfMay>
        <ActionLink class="button" href={`${AT}/new`}>
          Prepare payouts
        </ActionLink>
        <ActionLink class="button primary" href={`${AT}/pay`}>
          Pay
        </ActionLink>
      </>
    ),
  }),
  filter: [
    choice("status", "Status", PAYOUT_STATUSES),
    choice("method", "Paid by", PAYOUT_METHODS, payoutMethodText),
    { name: "currency", label: "Currency", maxlength: 3, placeholder: "Any" },
    ...RANGE_FIELDS,
  ],
  presets: [
    { label: "Pending", query: { status: "pending" } },
    { label: "Failed", query: { status: "failed" } },
  ],
  empty: {
    title: "No payouts yet",
    children:
      "On the first of each month, last month's approved commissions become payouts automatically. You can also prepare them at any time.",
    action: (
      <ActionLink class="button primary" href={`${AT}/new`}>
        Prepare payouts
      </ActionLink>
    ),
  },
  rows: (shown, c) => {
    const { program } = c.var.session;
    const movable = shown.page.data.filter((row) => canMove(row.status, "cancel"));
    const canPay = connectionOf(program, TRANSFER_METHOD).api_key !== null;
    return (
      <>
        <form method="get" action={`${AT}/matching`}>
          <Hidden values={shown.filter.texts} />
          <ListTable
            list={LIST}
            shown={shown}
            path={AT}
            pick={(row) => (movable.includes(row) ? <Choose row={row} names={shown.names} /> : null)}
          />
          <IfMay right="money">
            {movable.length > 0 ? (
              <ChosenActions
                canPay={shown.page.data.some((row) => isOffered("pay", row, program))}
                canMark={shown.page.data.some((row) => isOffered("mark_paid", row, program))}
              />
            ) : null}
          </IfMay>
        </form>
        <IfMay right="money">
          <MatchingActions total={shown.page.total} filter={shown.filter} canPay={canPay} />
        </IfMay>
      </>
    );
  },
})
  .get("/export.csv", async (c) => {
    const { value } = filterOf(c, exportQuery);
    leaveOutUnknown(c, Object.keys(exportQuery.shape));
    refuseLeftOut(c);
    return c.body(...(await exportReply(c.var.ctx, value)));
  })
  .get("/:id", async (c) => {
    const { payout, commissions } = await getPayout(c.var.ctx, c.req.param("id"));
    const [names, recipientChange] = await Promise.all([
      readPartnerNames(c.var.ctx, [payout.partner_id]),
      readRecipientChange(c.var.ctx, payout),
    ]);
    return framed(
      c,
      { title: "Payout", at: AT, done: FLASH.payouts },
      <PayoutDetail
        {...{ payout, commissions, recipientChange }}
        partner={names.get(payout.partner_id)}
        program={c.var.session.program}
      />,
    );
  });

for (const move of Object.keys(MOVES) as OwnersMove[]) {
  payouts
    .get(`/:id/${MOVES[move].path}`, (c) => movePage(c, c.req.param("id"), move))
    .post(`/:id/${MOVES[move].path}`, (c) => {
      const id = c.req.param("id");
      return act(c, {
        schema: moveInput,
        input: (fields) => {
          const field = TEXTS[move];
          if (!field) return {};
          return { [field.name]: field.name === "reason" ? fields.text("reason") : fields.textOrNull("reference") };
        },
        verb: async (given) => {
          const { status } = await moveBy[move](c, id, given);
          return `${AT}/${id}?done=${status}`;
        },
        page: ({ problems }) => movePage(c, id, move, problems),
        refuse: (error) => problemsOfMove(c, error),
      });
    });
}

/** The text that a move takes. */
const TEXTS: { [Move in OwnersMove]?: { name: "reference" | "reason"; label: string; hint: string } } = {
  mark_paid: {
    name: "reference",
    label: "Reference",
    hint: "Your reference for the payment, such as a transfer number.",
  },
  said_made: { name: "reference", label: "Id of the transfer", hint: "As shown by the provider." },
  return: { name: "reason", label: "Reason", hint: "Such as the bank's text. The partner does not see it." },
};

const moveInput = payoutMarkPaid.extend(payoutReturned.partial().shape);
type MoveInput = z.output<typeof moveInput>;

const moveBy: Record<OwnersMove, (c: Context<PageEnv>, id: string, input: MoveInput) => Promise<Payout>> = {
  pay: (c, id) => payPayout(c.var.ctx, id, connectOf(c.env)),
  mark_paid: (c, id, { reference = null }) => markPayoutPaid(c.var.ctx, id, reference),
  cancel: (c, id) => cancelPayout(c.var.ctx, id),
  return: (c, id, { reason: message = "" }) => returnPayout(c.var.ctx, id, { message }),
  said_made: (c, id, { reference = null }) =>
    resolveTransfer(c.var.ctx, id, { made: true, reference }, connectOf(c.env)),
  said_not_made: (c, id) => resolveTransfer(c.var.ctx, id, { made: false, reference: null }, connectOf(c.env)),
};

function problemsOfMove(c: Context<PageEnv>, error: unknown): Problems {
  const hasKey = connectionOf(c.var.session.program, TRANSFER_METHOD).api_key !== null;
  if (hasKey || !(error instanceof AppError) || error.code !== "provider_not_configured") return problemsOf(error);
  const message = `The program has no API key of ${TRANSFER_SERVICE} yet. Paste it in the settings, then pay again.`;
  return { message, fields: {} };
}

async function movePage(c: Context<PageEnv>, id: string, move: OwnersMove, problems?: Problems) {
  const { payout } = await getPayout(c.var.ctx, id);
  const partner = (await readPartnerNames(c.var.ctx, [payout.partner_id])).get(payout.partner_id);
  const { title, text, button, kind, path } = MOVES[move];
  const field = TEXTS[move];
  const obstacle = payoutObstacle(move, payout, c.var.session.program);
  const isPossible = obstacle === null;
  const nearest = move === "pay" && isPossible ? nearestText(payout, connectOf(c.env)) : null;
  return formPage(
    c,
    {
      ...{ title, at: AT, problems, back: { href: `${AT}/${id}`, label: "The payout" }, action: `${AT}/${id}/${path}` },
      ...{ submit: isPossible ? button : null, kind, cancel: "Back" },
    },
    <>
      <p>
        <strong>
          <Money of={payout} />
        </strong>{" "}
        to <strong>{partner ? partnerText(partner) : payout.partner_id}</strong> ({recipientText(payout)}),{" "}
        {plural(payout.commission_count, "commission")}.
      </p>
      <p>{obstacle ?? text}</p>
      {nearest === null ? null : <p>{nearest}</p>}
      {field && isPossible ? <Field {...field} maxlength={200} required={field.name === "reason"} /> : null}
    </>,
  );
}
