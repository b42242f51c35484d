import { Hono } from "hono";
import { parsePage } from "../../../core/kernel/list-page.ts";
import type { PayoutView } from "../../../core/kernel/views.ts";
import type { PayoutStatus } from "../../../domain/payout.ts";
import { listPayouts } from "../../../core/payouts/payouts.ts";
import { readWithoutDetails } from "../../../core/payouts/take-details.ts";
import type { PageEnv } from "../../session.ts";
import { pageQuery } from "../../validate.ts";
import { filterOf } from "../filters.ts";
import { framed } from "../framed.tsx";
import { Badge, plural, When } from "../parts/figures.tsx";
import { Notice } from "../parts/notice.tsx";
import { payoutMethodText } from "../parts/payout-method.ts";
import { payoutTermsText } from "../parts/payout-terms.ts";
import { Pager, Table } from "../parts/table.tsx";
import { ownPayout, programOf, selfOf } from "./self.ts";
import { waitingText } from "./unpayable.ts";
import { EarnedFor } from "../parts/statement.tsx";
import { ListCard } from "../list-page.tsx";

const AT = "/portal/payouts";

/** `/portal/payouts`: the partner's past and coming payouts. */
export const payouts = new Hono<PageEnv>().get("/", async (c) => {
  const filter = filterOf(c, pageQuery);
  const page = parsePage(await listPayouts(c.var.ctx, { ...filter.value, partner_id: selfOf(c).id }));
  const program = programOf(c);
  const isOwn = c.var.session.limited === null;
  const waiting = isOwn ? waitingText(await readWithoutDetails(c.var.ctx, selfOf(c).id), program) : null;
  const empty = {
    title: "No payouts yet",
    children: `Approved commissions become a payout. ${payoutTermsText(program)}`,
    action: isOwn ? (
      <a class="button" href="/portal/details">
        Check your payout details
      </a>
    ) : undefined,
  };
  return framed(
    c,
    { title: "Payouts", at: AT, head: {} },
    <>
      {waiting === null ? null : (
        <Notice tone="warn">
          <p>
            {waiting} <a href="/portal/details">Add your payout details</a>
          </p>
        </Notice>
      )}
      <ListCard label="Payouts" path={AT} page={page} empty={empty}>
        <PayoutTable payouts={page.data.map((payout) => ownPayout(c, payout))} />
        <Pager page={page} path={AT} query={filter.texts} />
      </ListCard>
    </>,
  );
});

/** A payout in the partner's list. */
export type Listed = Pick<
  PayoutView,
  | ("id" | "amount_cents" | "currency" | "source_amounts" | "status" | "method" | "recipient")
  | ("commission_count" | "due_at" | "created_at" | "paid_at" | "held_until")
>;

const STATUS_TEXTS: Partial<Record<PayoutStatus, string>> = { pending: "scheduled", failed: "delayed" };

/** A payout's status in the partner's words: "pending" is a commission before it is approved. */
export function OwnStatus({ of: { status } }: { of: Pick<Listed, "status"> }) {
  return <Badge state={status === "failed" ? "pending" : status} label={STATUS_TEXTS[status]} />;
}

function PayoutTable({ payouts: shown }: { payouts: readonly Listed[] }) {
  return (
    <Table
      label="Your payouts"
      columns={[
        { label: "Prepared" },
        { label: "For" },
        { label: "Paid by" },
        { label: "Status" },
        { label: "Amount", align: "end" },
      ]}
      rows={shown.map((row) => [
        <When at={row.created_at} only="day" />,
        row.status === "canceled" ? "–" : <a href={`${AT}/${row.id}`}>{plural(row.commission_count, "commission")}</a>,
        <span>
          {payoutMethodText(row.method)}
          {row.recipient === null ? null : <span class="second">{row.recipient}</span>}
        </span>,
        <span>
          <OwnStatus of={row} />
          <span class="second">
            {row.held_until === null ? null : (
              <>
                held until <When at={row.held_until} only="day" />,{" "}
              </>
            )}
            {row.status === "returned" ? (
              "will be paid again"
            ) : row.paid_at !== null ? (
              <When at={row.paid_at} only="day" />
            ) : row.status === "canceled" ? null : (
              <>
                due <When at={row.due_at} only="day" />
              </>
            )}
          </span>
        </span>,
        <EarnedFor of={row} />,
      ])}
    />
  );
}
