import * as z from "zod";
import { takeReport } from "../../core/inbound/report.ts";
import type { Caller } from "../../core/kernel/context.ts";
import { isCurrency } from "../../domain/currency.ts";
import type { Report, ReportedCustomer } from "../../providers/provider.ts";
import { OWNER_PROVIDER } from "../../providers/registry.ts";
import { instant } from "../../providers/wire.ts";
import { json, ok, route } from "../route.ts";
import { cents, email, text } from "../../resources/input.ts";

export const ownId = z
  .string()
  .regex(
    OWNER_PROVIDER.id_pattern,
    "This must be 1 to 200 letters, digits and _ . : / = + ~ -, and no e-mail address.",
  );

const external_id = ownId.describe(
  "Your own id of the report. A report that is sent again under the same id counts once.",
);
const ref = text(64).describe("The partner's slug, as `Service.getRef()` gives it.");
const occurred_at = instant
  .optional()
  .describe(
    "When it happened, RFC 3339, from the year 2000 on; the current time by default. A report that is sent again without it keeps its first time.",
  );
const net = cents.min(0);

const customer = z.strictObject({
  id: ownId.optional().describe("Your own id of the customer."),
  email: email.optional(),
});

/** A click does not have a lasting id that a page or a server could send. */
const click_id = z
  .string()
  .optional()
  .refine((id) => id === undefined, "A click has no id that lasts: send the partner's reference as `ref`.")
  .describe("Not supported: send `ref`.");

/** A report, and its time (ISO 8601); null means now. */
interface GivenReport {
  report: Report;
  occurred_at: string | null;
}

export const leadReport = z
  .strictObject({
    external_id,
    ref,
    click_id,
    customer: customer.refine(({ id, email: address }) => id !== undefined || address !== undefined, {
      error: "Name the customer by an id, by an e-mail address, or by both.",
    }),
    occurred_at,
  })
  .transform((body): GivenReport => {
    const report = { kind: "lead" as const, external_id: body.external_id, ref: body.ref };
    return { report: { ...report, customer: customerOf(body.customer) }, occurred_at: body.occurred_at ?? null };
  });

const MAX_ITEMS = 100;

export const saleReport = z
  .strictObject({
    external_id,
    ref: ref.optional(),
    click_id,
    customer: customer.optional(),
    amount_cents: net.describe("What was paid without tax, in the currency's smallest unit."),
    currency: z.string().refine(isCurrency, "This must be an ISO 4217 code in upper case, such as USD."),
    net_of_tax: z
      .literal(true, "Send the amount without tax, and true here: commissions are of what is left after tax.")
      .describe("That `amount_cents` is without tax."),
    items: z
      .array(z.strictObject({ product_id: text(255), amount_cents: net }))
      .max(MAX_ITEMS)
      .optional()
      .describe("What was bought. The amounts need not add up to the sale's, for example if it has shipping."),
    occurred_at,
  })
  .transform(({ ref: slug = null, customer: who, items = null, occurred_at: at = null, ...body }): GivenReport => {
    const sale = { external_id: body.external_id, amount_cents: body.amount_cents, currency: body.currency };
    return { report: { kind: "sale", ...sale, ref: slug, customer: customerOf(who), items }, occurred_at: at };
  });

export const refundReport = z
  .strictObject({
    external_id,
    sale_external_id: ownId.describe("The `external_id` of the sale; it may come later."),
    amount_cents: cents.min(1).describe("What was refunded, without tax, in the currency of the sale."),
    occurred_at,
  })
  .transform(({ occurred_at: at = null, ...refund }): GivenReport => ({
    report: { kind: "refund", ...refund },
    occurred_at: at,
  }));

/** `/api/v1/track` (FACT-1): reports from the owner's server. */
export const facts = [
  route("POST /api/v1/track/lead", {
    operation: "trackLead",
    tag: "Facts",
    scope: ["write"],
    summary: "Report a lead",
    description:
      "A customer that a partner brought. The customer is bound to the partner by id (at any provider) or by e-mail address: from then on, the customer's payments that carry no partner's reference are the partner's, whoever reports them. The same report again, under the same `external_id`, gets the same answer and changes nothing; one that differs is 409.",
    body: json("LeadReport", leadReport),
    reply: ok(
      "Received",
      "Stored: `commission` where a flow for leads gives one, otherwise `remembered`, or `unknown_ref` where the reference leads to no partner.",
    ),
    errors: ["already_exists"],
    handle: ({ ctx, body }) => take(ctx, body),
  }),
  route("POST /api/v1/track/sale", {
    operation: "trackSale",
    tag: "Facts",
    scope: ["write"],
    summary: "Report a sale",
    description:
      "A payment that your own server took, decided like one that a payment provider reports: by the same rules and flows, with a trace. Its `provider` is api. The same report again, under the same `external_id`, gets the same answer and changes nothing; one that differs is 409.",
    body: json("SaleReport", saleReport),
    reply: ok("Received", "Stored and decided."),
    errors: ["already_exists"],
    handle: ({ ctx, body }) => take(ctx, body),
  }),
  route("POST /api/v1/track/refund", {
    operation: "trackRefund",
    tag: "Facts",
    scope: ["write"],
    summary: "Report a refund",
    description:
      "A refund of a reported sale, in part or in full. It lowers the commission, or claws back what is already paid. A refund that comes before its sale waits for it. The same report again, under the same `external_id`, gets the same answer and changes nothing; one that differs is 409.",
    body: json("RefundReport", refundReport),
    reply: ok("Received", "Stored: `adjusted`, or `waiting` for its sale."),
    errors: ["already_exists"],
    handle: ({ ctx, body }) => take(ctx, body),
  }),
];

/** The reply is that of a provider's webhook. */
async function take(caller: Caller, { report, occurred_at: at }: GivenReport) {
  const { outcome } = await takeReport(caller, report, at);
  return { received: true as const, outcome };
}

function customerOf(given: z.output<typeof customer> | undefined): ReportedCustomer {
  return { id: given?.id ?? null, email: given?.email ?? null };
}
