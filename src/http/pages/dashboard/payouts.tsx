import type { Context } from "hono";
import { Hono } from "hono";
import type { PageEnv } from "../../session.ts";
import type { PayoutView } from "../../../core/kernel/views.ts";
import { readPartnerNames } from "../../../core/partners/display-names.ts";
import { payPayout } from "../../../core/payouts/pay.ts";
import { connectionOf } from "../../../core/kernel/connections.ts";
import { parsePage } from "../../../core/kernel/list-page.ts";
import { cancelPayout, getPayout, listPayouts, markPayoutPaid } from "../../../core/payouts/payouts.ts";
import { readRecipientChange } from "../../../core/payouts/recipient.ts";
import { sayTransfer } from "../../../core/payouts/say.ts";
import type { Decided, Payout } from "../../../core/kernel/rows.ts";
import { TRANSFER_METHOD, WALLET_SERVICE } from "../../../domain/partner.ts";
import { PAYOUT_STATUSES } from "../../../domain/payout.ts";
import { AppError } from "../../../lib/errors.ts";
import { exportReply, payoutConclude, payoutMarkPaid } from "../../api/payouts.ts";
import { connectOf } from "../../connect.ts";
import { exportQuery, payoutQuery } from "../../queries.ts";
import { filterOf, leaveOutUnknown, refuseLeftOut } from "../filters.ts";
import { FormFields, parseInput, problemsOf, type Problems } from "../forms.ts";
import { framed } from "../framed.tsx";
import { PageHead } from "../layout.tsx";
import { csvOf } from "../list-csv.ts";
import {
  amountCells,
  ListFilter,
  ListFoot,
  ListTable,
  partnerColumn,
  readList,
  textColumn,
  timeColumn,
  type ListOf,
  type Names,
} from "../list.tsx";
import { Field, Form, SelectField } from "../parts/form.tsx";
import { Badge, Money, moneyText, plural, When } from "../parts/figures.tsx";
import { Done } from "../parts/notice.tsx";
import { partnerText } from "../parts/partner.tsx";
import { RangeFields } from "../parts/filter-fields.tsx";
import { Empty } from "../parts/table.tsx";
import { payoutMethodText, recipientText } from "../parts/payout-method.ts";
import { isOffered, isPayable, nearestText, obstacleTo, type OwnersMove } from "../parts/payout-move.ts";
import { PayoutDetail } from "./payout-detail.tsx";
import { TRANSFER_SERVICE } from "../../../providers/registry.ts";
import { ActionLink, IfMay } from "../rights.tsx";

const AT = "/dashboard/payouts";

const DONE = {
  paid: "Paid. Its commissions are paid too.",
  processing:
    "The transfer is under way. The provider has not confirmed it yet; we keep asking, and never send it twice.",
  failed: "The transfer has paid nobody; see below why.",
  canceled: "Canceled. Its commissions are free for the next payout.",
};

/** `/dashboard/payouts` (PAGE-7): generate with preview, pay, export. */
export const payouts = new Hono<PageEnv>()
  .get("/", async (c) => {
    const shown = await readList(c, LIST);
    const { page, names, filter } = shown;
    const { partner_id, status } = filter.value;
    const only = partner_id === undefined ? undefined : names.get(partner_id);
    const { program } = c.var.session;
    return framed(
      c,
      { title: "Payouts", at: AT },
      <>
        <PageHead
          title={only ? `Payouts of ${partnerText(only)}` : "Payouts"}
          actions={
            <>
              <IfMay right="details">{page.total > 0 ? <ExportMenu status={status} /> : null}</IfMay>
              <ActionLink class="button primary" href={`${AT}/new`}>
                Prepare payouts
              </ActionLink>
            </>
          }
        />
        <ListFilter list={LIST} shown={shown} path={AT}>
          <SelectField
            name="status"
            label="Status"
            value={status}
            options={[{ value: "", label: "Any" }, ...PAYOUT_STATUSES.map((value) => ({ value, label: value }))]}
          />
          <RangeFields texts={filter.texts} />
        </ListFilter>
        <section class="card flush">
          {page.total === 0 ? (
            <NoPayouts isFiltered={shown.isFiltered} />
          ) : (
            <>
              <Form action={`${AT}/chosen`} readable={true}>
                <ListTable
                  list={LIST}
                  shown={shown}
                  pick={(row) => (isPayable(row, program) ? <Choose row={row} names={names} /> : null)}
                />
                <IfMay right="money">
                  {page.data.some((row) => isPayable(row, program)) ? (
                    <ChosenActions canPay={page.data.some((row) => isOffered("pay", row, program))} />
                  ) : null}
                </IfMay>
              </Form>
              <ListFoot shown={shown} path={AT} />
            </>
          )}
        </section>
      </>,
    );
  })
  .get("/list.csv", (c) => csvOf(c, LIST))
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
      { title: "Payout", at: AT },
      <>
        <Done code={c.req.query("done")} texts={DONE} />
        <PayoutDetail
          payout={payout}
          commissions={commissions}
          recipientChange={recipientChange}
          partner={names.get(payout.partner_id)}
          program={c.var.session.program}
        />
      </>,
    );
  })
  .get("/:id/pay", (c) => confirmPage(c, c.req.param("id"), "pay"))
  .post("/:id/pay", (c) =>
    act(c, c.req.param("id"), "pay", () => payPayout(c.var.ctx, c.req.param("id"), connectOf(c.env))),
  )
  .get("/:id/mark-paid", (c) => confirmPage(c, c.req.param("id"), "mark_paid"))
  .post("/:id/mark-paid", async (c) => {
    const id = c.req.param("id");
    const fields = new FormFields(await c.req.formData());
    const parsed = parseInput(payoutMarkPaid, { reference: fields.textOrNull("reference") });
    if (!parsed.ok) return confirmPage(c, id, "mark_paid", parsed.problems);
    return act(c, id, "mark_paid", () => markPayoutPaid(c.var.ctx, id, parsed.value.reference ?? null));
  })
  .get("/:id/cancel", (c) => confirmPage(c, c.req.param("id"), "cancel"))
  .get("/:id/was-made", (c) => confirmPage(c, c.req.param("id"), "said_made"))
  .post("/:id/was-made", async (c) => {
    const id = c.req.param("id");
    const fields = new FormFields(await c.req.formData());
    const parsed = parseInput(payoutConclude, { made: true, reference: fields.textOrNull("reference") });
    if (!parsed.ok) return confirmPage(c, id, "said_made", parsed.problems);
    const said = { made: true, reference: parsed.value.reference ?? null };
    return act(c, id, "said_made", () => sayTransfer(c.var.ctx, id, said, connectOf(c.env)));
  })
  .get("/:id/was-not-made", (c) => confirmPage(c, c.req.param("id"), "said_not_made"))
  .post("/:id/was-not-made", (c) => {
    const said = { made: false, reference: null };
    const id = c.req.param("id");
    return act(c, id, "said_not_made", () => sayTransfer(c.var.ctx, id, said, connectOf(c.env)));
  })
  .post("/:id/cancel", (c) => act(c, c.req.param("id"), "cancel", () => cancelPayout(c.var.ctx, c.req.param("id"))));

/** What the owner can do to a payout, and what to know before doing it. */
const MOVES = {
  pay: {
    path: "pay",
    title: `Pay through ${TRANSFER_SERVICE}?`,
    button: "Send the money",
    kind: "primary",
    text: "The amount is transferred to the partner's connected account at once. A transfer cannot be taken back from here.",
  },
  mark_paid: {
    path: "mark-paid",
    title: "Mark as paid?",
    button: "Mark as paid",
    kind: "primary",
    text: "For money you have sent some other way. The payout and its commissions become paid, and that is final.",
  },
  cancel: {
    path: "cancel",
    title: "Cancel this payout?",
    button: "Cancel the payout",
    kind: "danger",
    text: "Nothing is paid. Its commissions are free again, and the next payout takes them.",
  },
  said_made: {
    path: "was-made",
    title: "Was the transfer made?",
    button: "It was made",
    kind: "primary",
    text: "For a transfer that you see at the provider, not taken back: we cannot ask there. The payout and its commissions become paid, and that is final.",
  },
  said_not_made: {
    path: "was-not-made",
    title: "Was the transfer not made?",
    button: "It was not made",
    kind: "danger",
    text: "Look at the provider first, in the account that it was begun in: we cannot ask there. The payout can then be paid again or canceled: if the transfer was made after all, the partner is paid twice.",
  },
} as const satisfies Record<OwnersMove, object>;

async function confirmPage(c: Context<PageEnv>, id: string, move: OwnersMove, problems?: Problems) {
  const { payout } = await getPayout(c.var.ctx, id);
  const names = await readPartnerNames(c.var.ctx, [payout.partner_id]);
  const partner = names.get(payout.partner_id);
  const { text, button, kind, path } = MOVES[move];
  const title = MOVES[move].title;
  const obstacle = obstacleTo(move, payout, c.var.session.program);
  const isPossible = obstacle === null;
  const nearest = move === "pay" && isPossible ? nearestText(payout, connectOf(c.env)) : null;
  return framed(
    c,
    { title, at: AT, status: problems ? 422 : 200 },
    <>
      <PageHead title={title} back={{ href: `${AT}/${id}`, label: "The payout" }} />
      <Form action={`${AT}/${id}/${path}`} class="card stack form-narrow" problems={problems}>
        <p>
          <strong>
            <Money of={payout} />
          </strong>{" "}
          to <strong>{partner ? partnerText(partner) : payout.partner_id}</strong> ({recipientText(payout)}),{" "}
          {plural(payout.commission_count, "commission")}.
        </p>
        <p>{obstacle ?? text}</p>
        {nearest === null ? null : <p>{nearest}</p>}
        {(move === "mark_paid" || move === "said_made") && isPossible ? (
          <Field
            name="reference"
            label={move === "mark_paid" ? "Reference" : "Id of the transfer"}
            problems={problems}
            maxlength={200}
            hint={
              move === "mark_paid"
                ? "What you know the payment by: a transfer number, for example."
                : "As the provider shows it."
            }
          />
        ) : null}
        <div class="actions">
          {isPossible ? (
            <button type="submit" class={kind}>
              {button}
            </button>
          ) : null}
          <a href={`${AT}/${id}`}>Back</a>
        </div>
      </Form>
    </>,
  );
}

async function act(c: Context<PageEnv>, id: string, move: OwnersMove, verb: () => Promise<Payout>) {
  try {
    const { status } = await verb();
    return c.redirect(`${AT}/${id}?done=${status}`, 303);
  } catch (error) {
    const hasKey = connectionOf(c.var.session.program, TRANSFER_METHOD).api_key !== null;
    if (error instanceof AppError && error.code === "provider_not_configured" && !hasKey) {
      const message = `The program has no API key of ${TRANSFER_SERVICE} yet. Paste it in the settings, then pay again.`;
      return confirmPage(c, id, move, { message, fields: {} });
    }
    return confirmPage(c, id, move, problemsOf(error));
  }
}

function ChosenActions({ canPay }: { canPay: boolean }) {
  return (
    <div class="bulk">
      <span class="check" hidden>
        <input type="checkbox" id="choose-all" data-all="ids" />
        <label for="choose-all">All on this page</label>
      </span>
      <button type="submit" name="move" value="mark_paid">
        Mark chosen as paid…
      </button>
      {canPay ? (
        <button type="submit" name="move" value="pay">
          Pay chosen through {TRANSFER_SERVICE}…
        </button>
      ) : null}
    </div>
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
          <a href={`${AT}/files`}>Files for mass payments of {WALLET_SERVICE}</a>
        </li>
      </ul>
    </details>
  );
}

function NoPayouts({ isFiltered }: { isFiltered: boolean }) {
  return isFiltered ? (
    <Empty title="No payout matches">
      <a href={AT}>Show all payouts</a>
    </Empty>
  ) : (
    <Empty
      title="No payouts yet"
      action={
        <ActionLink class="button primary" href={`${AT}/new`}>
          Prepare payouts
        </ActionLink>
      }
    >
      On the first of each month, the approved commissions of the month before become payouts automatically. You can
      also prepare them at any time.
    </Empty>
  );
}

/** A payout in the list. */
export type Listed = Decided<
  PayoutView,
  | ("id" | "partner_id" | "amount_cents" | "currency" | "status" | "method" | "recipient")
  | ("commission_count" | "due_at" | "created_at" | "period_start" | "period_end" | "reference" | "paid_at"),
  "program_id" | "failure_code" | "failure_message" | "updated_at"
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

const LIST: ListOf<typeof payoutQuery, Listed> = {
  name: "payouts",
  label: "Payouts",
  query: payoutQuery,
  read: async (c, filter) => parsePage(await listPayouts(c.var.ctx, filter)),
  partnerOf: (row) => row.partner_id,
  columns: [
    {
      key: "payout",
      label: "Payout",
      cell: (row) => (
        <span>
          <a href={`${AT}/${row.id}`}>
            <When at={row.created_at} only="day" />
          </a>
          <span class="second">{plural(row.commission_count, "commission")}</span>
        </span>
      ),
      csv: {
        payout_id: (row) => row.id,
        created_at: (row) => row.created_at,
        commission_count: (row) => row.commission_count,
      },
    },
    partnerColumn(),
    {
      key: "method",
      label: "Paid by",
      cell: (row) => (
        <span>
          <span class="one-line">{payoutMethodText(row.method)}</span>
          <IfMay right="details">{row.recipient === null ? null : <span class="second">{row.recipient}</span>}</IfMay>
        </span>
      ),
      csv: { method: (row) => row.method, recipient: (row) => row.recipient },
    },
    {
      key: "status",
      label: "Status",
      cell: (row) => <Badge state={row.status} />,
      csv: { status: (row) => row.status },
    },
    timeColumn("period_start", "From", (row) => row.period_start),
    timeColumn("period_end", "To", (row) => row.period_end),
    timeColumn("paid_at", "Paid", (row) => row.paid_at),
    textColumn("reference", "Reference", (row) => row.reference),
    {
      key: "due",
      label: "Due",
      align: "end",
      cell: (row) => <When at={row.due_at} only="day" />,
      csv: { due_at: (row) => row.due_at },
    },
    {
      key: "amount",
      label: "Amount",
      align: "end",
      cell: (row) => <Money of={row} />,
      csv: amountCells("amount", (row) => row.amount_cents),
    },
  ],
};
