import type * as z from "zod";
import { listCommissions } from "../../../core/commissions/commissions.ts";
import { parsePage } from "../../../core/kernel/list-page.ts";
import type { Decided } from "../../../core/kernel/rows.ts";
import type { CommissionView } from "../../../core/kernel/views.ts";
import type { PartnerName } from "../../../core/partners/display-names.ts";
import { amountOf } from "../../../domain/amount.ts";
import { COMMISSION_STATUSES } from "../../../domain/commission.ts";
import { commissionQuery } from "../../queries.ts";
import type { Filter } from "../filters.ts";
import { amountCells, ListFilter, partnerColumn, textColumn, timeColumn, type ListOf, type Shown } from "../list.tsx";
import { isDate } from "../../../domain/time-zone.ts";
import { dayText } from "../locale.ts";
import { Badge, capitalized, Flag, Money, providerText, When } from "../parts/figures.tsx";
import { Field, SelectField } from "../parts/form.tsx";
import { partnerText } from "../parts/partner.tsx";
import { reviewText } from "../parts/trace.tsx";
import { ProviderField, RangeFields } from "../parts/filter-fields.tsx";
import { kindText } from "../parts/words.ts";

export const COMMISSIONS = "/dashboard/commissions";

export type CommissionListFilter = Filter<z.output<typeof commissionQuery>>;

/** A commission in the list. */
export type Listed = Decided<
  CommissionView,
  | ("id" | "partner_id" | "payout_id" | "kind" | "status" | "flagged" | "review_reason" | "provider")
  | ("amount_cents" | "txn_amount_cents" | "currency" | "created_at" | "approved_at" | "paid_at")
  | ("provider_transaction_id" | "subscription_id" | "customer_email" | "note" | "rejected_reason"),
  "program_id" | "payment_id" | "flow_id" | "source_commission_id" | "rate" | "updated_at" | "hold_until"
>;

function StatusCell({ row }: { row: Listed }) {
  return (
    <span class="badges">
      <Badge state={row.status} />
      {row.flagged ? <Flag label="flagged" /> : null}
      {row.flagged ? <span class="second">{reviewText(row)}</span> : null}
    </span>
  );
}

export const COMMISSION_LIST: ListOf<typeof commissionQuery, Listed> = {
  name: "commissions",
  label: "Commissions",
  query: commissionQuery,
  read: async (c, filter) => parsePage(await listCommissions(c.var.ctx, filter)),
  partnerOf: (row) => row.partner_id,
  columns: [
    {
      key: "commission",
      label: "Commission",
      cell: (row) => (
        <span>
          <a href={`${COMMISSIONS}/${row.id}`}>
            <When at={row.created_at} />
          </a>
          <span class="second">{kindText(row)}</span>
        </span>
      ),
      csv: {
        commission_id: (row) => row.id,
        created_at: (row) => row.created_at,
        kind: (row) => row.kind,
        provider: (row) => row.provider,
      },
    },
    partnerColumn(),
    {
      key: "status",
      label: "Status",
      cell: (row) => <StatusCell row={row} />,
      csv: {
        status: (row) => row.status,
        flagged: (row) => String(row.flagged),
        review_reason: (row) => row.review_reason,
      },
    },
    timeColumn("approved_at", "Approved", (row) => row.approved_at),
    timeColumn("paid_at", "Paid", (row) => row.paid_at),
    textColumn("rejected_reason", "Why rejected", (row) => row.rejected_reason),
    textColumn("provider_transaction_id", "Order", (row) => row.provider_transaction_id),
    textColumn("customer_email", "Customer", (row) => row.customer_email),
    textColumn("subscription_id", "Subscription", (row) => row.subscription_id),
    textColumn("payout_id", "Payout", (row) => row.payout_id),
    textColumn("note", "Note", (row) => row.note),
    {
      key: "payment",
      label: "Payment",
      align: "end",
      cell: (row) => (hasNoPayment(row) ? "–" : <Money of={amountOf(row, row.txn_amount_cents)} />),
      csv: amountCells("payment", (row) => row.txn_amount_cents),
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

/** A correction has no amount of its own: that of the payment is in the row of its sale. */
function hasNoPayment({ kind }: Listed): boolean {
  return kind !== "sale";
}

export function FilterForm({ shown }: { shown: Shown<typeof commissionQuery, Listed> }) {
  const any = { value: "", label: "Any" };
  const { value, texts } = shown.filter;
  return (
    <ListFilter
      list={COMMISSION_LIST}
      shown={shown}
      path={COMMISSIONS}
      more={<Field name="payout_id" label="Payout" value={texts["payout_id"]} maxlength={64} hint="Its id." />}
    >
      <SelectField
        name="status"
        label="Status"
        value={value.status}
        options={[any, ...COMMISSION_STATUSES.map((value) => ({ value, label: value }))]}
      />
      <SelectField
        name="flagged"
        label="Flag"
        value={texts["flagged"]}
        options={[any, { value: "true", label: "flagged" }, { value: "false", label: "not flagged" }]}
      />
      <ProviderField value={value.provider} />
      <RangeFields texts={texts} />
    </ListFilter>
  );
}

/** A filter in words, for a page that asks before it changes what matches. */
export function filterFacts(
  { value, texts }: CommissionListFilter,
  names: ReadonlyMap<string, PartnerName>,
): [string, string][] {
  const partner = value.partner_id === undefined ? undefined : names.get(value.partner_id);
  const facts: [string, string | undefined][] = [
    ["Status", value.status && capitalized(value.status)],
    ["Flag", value.flagged === undefined ? undefined : value.flagged ? "Flagged" : "Not flagged"],
    ["Partner", partner ? partnerText(partner) : value.partner_id],
    ["Payout", value.payout_id],
    ["Provider", value.provider && providerText(value.provider)],
    ["From", texts.from && timeText(texts.from)],
    ["To", texts.to && timeText(texts.to)],
  ];
  return facts.flatMap(([name, text]) => (text === undefined ? [] : [[name, text] satisfies [string, string]]));
}

function timeText(text: string): string {
  return isDate(text) ? dayText(text) : text;
}
