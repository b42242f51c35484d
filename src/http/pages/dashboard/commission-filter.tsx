import type * as z from "zod";
import { COMMISSION_STATUSES } from "../../../domain/commission.ts";
import { PROVIDER_NAMES } from "../../../providers/registry.ts";
import type { PartnerName } from "../../../core/partners/display-names.ts";
import type { commissionQuery } from "../../queries.ts";
import type { Filter } from "../filters.ts";
import { providerText } from "../parts/figures.tsx";
import { dayText } from "../locale.ts";
import { Field, SelectField } from "../parts/form.tsx";
import { partnerText } from "../parts/partner.tsx";

export const COMMISSIONS = "/dashboard/commissions";

export type CommissionListFilter = Filter<z.output<typeof commissionQuery>>;

export function FilterForm({ filter, isFiltered }: { filter: CommissionListFilter; isFiltered: boolean }) {
  const any = { value: "", label: "Any" };
  return (
    <form method="get" action={COMMISSIONS} class="filter" aria-label="Filter commissions">
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
      {isFiltered ? <a href={COMMISSIONS}>Show all</a> : null}
    </form>
  );
}

/** A filter in words, for a page that asks before it changes what matches. */
export function filterFacts(
  { value, texts }: CommissionListFilter,
  names: ReadonlyMap<string, PartnerName>,
): [string, string][] {
  const partner = value.partner_id === undefined ? undefined : names.get(value.partner_id);
  const facts: [string, string | undefined][] = [
    ["Status", value.status],
    ["Flag", value.flagged === undefined ? undefined : value.flagged ? "flagged" : "not flagged"],
    ["Partner", partner ? partnerText(partner) : value.partner_id],
    ["Payout", value.payout_id],
    ["Provider", value.provider && providerText(value.provider)],
    ["From", texts.from && timeText(texts.from)],
    ["To", texts.to && timeText(texts.to)],
  ];
  return facts.flatMap(([name, text]) => (text === undefined ? [] : [[name, text] satisfies [string, string]]));
}

function timeText(text: string): string {
  return /^\d{4}-\d{2}-\d{2}$/.test(text) ? dayText(text) : text;
}
