import type * as z from "zod";
import { listCommissions } from "../../../../core/commissions/commissions.ts";
import { parsePage } from "../../../../core/kernel/list-page.ts";
import type { CommissionView } from "../../../../core/kernel/views.ts";
import type { PartnerName } from "../../../../core/partners/display-names.ts";
import { commissionQuery } from "../../../queries.ts";
import type { Filter } from "../../filters.ts";
import { amountColumn, dateColumn, partnerColumn, textColumn, timeColumn, type ListOf } from "../../list.tsx";
import { isDate } from "../../../../domain/time-zone.ts";
import { dayText } from "../../locale.ts";
import { Badge, capitalized, Flag, providerText } from "../../parts/figures.tsx";
import { partnerText } from "../../parts/partner.tsx";
import { reviewText } from "../../parts/trace.tsx";
import { kindText } from "../../parts/words.ts";

export const COMMISSIONS = "/dashboard/commissions";

export type CommissionListFilter = Filter<z.output<typeof commissionQuery>>;

export type Listed = Pick<
  CommissionView,
  | ("id" | "partner_id" | "payout_id" | "kind" | "status" | "flagged" | "review_reason" | "provider")
  | ("amount_cents" | "txn_amount_cents" | "currency" | "created_at" | "approved_at" | "paid_at")
  | ("provider_transaction_id" | "subscription_id" | "customer_email" | "note" | "rejected_reason" | "hold_until")
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
  sort: "created_at",
  columns: [
    {
      ...partnerColumn<Listed>({
        href: ({ id }) => `${COMMISSIONS}/${id}`,
        second: kindText,
        csv: { commission_id: "id", kind: "kind", provider: "provider" },
      }),
      sort: "ascending",
    },
    { ...amountColumn<Listed>("amount", "Amount", (row) => row.amount_cents, { sum: true }), sort: "descending" },
    {
      key: "status",
      label: "Status",
      sort: "ascending",
      state: ({ status }) => status,
      cell: (row) => <StatusCell row={row} />,
      csv: { status: "status", flagged: (row) => String(row.flagged), review_reason: "review_reason" },
    },
    timeColumn("hold_until", "Held until"),
    timeColumn("approved_at", "Approved"),
    timeColumn("paid_at", "Paid"),
    textColumn("rejected_reason", "Why rejected"),
    textColumn("provider_transaction_id", "Order"),
    textColumn("customer_email", "Customer"),
    textColumn("subscription_id", "Subscription"),
    textColumn("payout_id", "Payout"),
    textColumn("note", "Note"),
    // A correction has no payment amount of its own: its sale's row has it.
    amountColumn("payment", "Payment", (row) => row.txn_amount_cents, {
      extra: true,
      isShown: ({ kind }) => kind === "sale",
    }),
    dateColumn("Date", "created_at"),
  ],
};

/** A filter in words, for a page that confirms a change of all matches. */
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
