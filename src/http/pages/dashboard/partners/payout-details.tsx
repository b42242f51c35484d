import { Hono } from "hono";
import { readPayoutDetails } from "../../../../core/partners/payout-details.ts";
import { PAYOUT_METHODS } from "../../../../domain/partner.ts";
import { FIELDS_OF } from "../../../../domain/payout-details.ts";
import type { PageEnv } from "../../../session.ts";
import { framed } from "../../framed.tsx";
import { partnerText } from "../../parts/partner.tsx";
import { DETAIL_LABELS } from "../../parts/payout-fields.tsx";
import { payoutMethodText } from "../../parts/payout-method.ts";
import { Empty, Facts } from "../../parts/table.tsx";

const PARTNERS = "/dashboard/partners";

/** `/dashboard/partners/:id/payout-details`: in full, with an event (OUT-23). */
export const partnerPayoutDetails = new Hono<PageEnv>().get("/:id/payout-details", async (c) => {
  const { partner, details } = await readPayoutDetails(c.var.ctx, c.req.param("id"));
  const lede = `Paid by: ${payoutMethodText(details.method)}. The event log notes that you opened this page.`;
  return framed(
    c,
    {
      ...{ title: `Payout details of ${partnerText(partner)}`, at: PARTNERS },
      head: { title: "Payout details", lede, back: { href: `${PARTNERS}/${partner.id}`, label: partnerText(partner) } },
    },
    <>
      {PAYOUT_METHODS.every((method) => details[method] === null) ? (
        <section class="card">
          <Empty title="No payout details yet">
            The partner adds them in the portal, or you in the partner's form.
          </Empty>
        </section>
      ) : null}
      {PAYOUT_METHODS.map((method) => {
        const stored: Readonly<Record<string, string>> | null = details[method] && { ...details[method] };
        return stored === null ? null : (
          <section class="card form-narrow">
            <h2>{payoutMethodText(method)}</h2>
            <Facts
              rows={FIELDS_OF[method].map((field) =>
                stored[field] === undefined ? null : [DETAIL_LABELS[field], <code class="wrap">{stored[field]}</code>],
              )}
            />
          </section>
        );
      })}
    </>,
  );
});
