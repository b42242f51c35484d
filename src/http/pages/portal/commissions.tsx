import { Hono } from "hono";
import { parsePage } from "../../../core/kernel/list-page.ts";
import { listCommissions } from "../../../core/commissions/commissions.ts";
import type { CommissionView } from "../../../core/kernel/views.ts";
import { COMMISSION_STATUSES } from "../../../domain/commission.ts";
import type { PageEnv } from "../../session.ts";
import { commissionQuery } from "../../queries.ts";
import { filterOf } from "../filters.ts";
import { framed } from "../framed.tsx";
import { FieldsOf } from "../parts/form.tsx";
import { Badge, Money, When } from "../parts/figures.tsx";
import { RangeFields, Choice } from "../parts/filter-fields.tsx";
import { Pager, Table } from "../parts/table.tsx";
import { isLookedAt, waitText, whyText } from "./commission-words.ts";
import { programOf, selfOf, type OwnProgram } from "./self.ts";
import { ListCard } from "../list-page.tsx";

const AT = "/portal/commissions";

/** The filters of the list that a partner may use. */
const ownQuery = commissionQuery.omit({ partner_id: true, provider: true, flagged: true });

/** `/portal/commissions`: the partner's own, each with its calculation. Customers stay unnamed. */
export const commissions = new Hono<PageEnv>().get("/", async (c) => {
  const filter = filterOf(c, ownQuery);
  const page = parsePage(await listCommissions(c.var.ctx, { ...filter.value, partner_id: selfOf(c).id }));
  const isFiltered = Object.keys(filter.texts).length > 0;
  const empty = {
    title: "No commissions yet",
    children: "Your commissions appear here when customers from your link pay.",
    action: (
      <a class="button primary" href="/portal">
        Get your link
      </a>
    ),
  };
  return framed(
    c,
    {
      ...{ title: "Commissions", at: AT },
      head: { title: filter.value.payout_id ? "Commissions of this payout" : "Commissions" },
    },
    <>
      <form method="get" action={AT} class="filter" aria-label="Filter commissions">
        <FieldsOf values={filter.texts}>
          <Choice name="status" label="Status" among={COMMISSION_STATUSES} />
          <RangeFields />
        </FieldsOf>
        {filter.value.payout_id ? <input type="hidden" name="payout_id" value={filter.value.payout_id} /> : null}
        <button type="submit">Filter</button>
        {isFiltered ? <a href={AT}>Show all</a> : null}
      </form>
      <ListCard label="Commissions" path={AT} page={page} isFiltered={isFiltered} empty={empty}>
        <CommissionTable commissions={page.data} program={programOf(c)} />
        <Pager page={page} path={AT} query={filter.texts} />
      </ListCard>
    </>,
  );
});

/** A commission in the partner's list, without fields that identify a customer (PAGE-8). */
export type Listed = Pick<
  CommissionView,
  | (
      | "kind"
      | "status"
      | "flagged"
      | "rejected_reason"
      | "amount_cents"
      | "txn_amount_cents"
      | "base_cents"
      | "currency"
    )
  | ("rate" | "note" | "created_at" | "payout_id" | "review_reason" | "hold_until")
>;

interface CommissionTableProps {
  commissions: readonly Listed[];
  program: OwnProgram;
}

/** The partner's commissions, each with its explanation. */
export function CommissionTable({ commissions: shown, program }: CommissionTableProps) {
  return (
    <Table
      label="Your commissions"
      columns={[{ label: "Date" }, { label: "Calculation" }, { label: "Status" }, { label: "Amount", align: "end" }]}
      rows={shown.map((row) => [
        <When at={row.created_at} />,
        whyText(row, program),
        <span class="badges">
          <Badge state={row.status} />
          {isLookedAt(row) ? <Badge state="review" label="under review" /> : null}
          <Waits text={waitText(row, program)} />
        </span>,
        <Money of={row} />,
      ])}
    />
  );
}

function Waits({ text }: { text: string | null }) {
  return text === null ? null : <span class="second">{text}</span>;
}
