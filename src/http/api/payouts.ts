import * as z from "zod";
import type { Caller } from "../../core/kernel/context.ts";
import type { JsonText } from "../../core/kernel/list-page.ts";
import { exportPayouts, isUpload, type Export } from "../../core/payouts/export.ts";
import { generatePayouts, type Generation, type PlannedPayout } from "../../core/payouts/generate.ts";
import { payPayout } from "../../core/payouts/pay.ts";
import { cancelPayout, getPayout, listPayouts, markPayoutPaid, returnPayout } from "../../core/payouts/payouts.ts";
import { resolveTransfer } from "../../core/payouts/say.ts";
import { withDetailsInPart } from "../../core/kernel/payout-details.ts";
import { viewCommission, viewPayout, type PayoutView } from "../../core/kernel/views.ts";
import { connectOf } from "../connect.ts";
import { csvDownload } from "../download.ts";
import { pageReply } from "../page-reply.ts";
import { exportQuery, payoutQuery } from "../queries.ts";
import { csv, json, NOTHING, ok, optionalJson, route } from "../route.ts";
import { visibleText } from "../../resources/input.ts";
import { timeRange } from "../validate.ts";

/** A bare date is its first instant in UTC. */
const instant = timeRange.shape.from;
const START =
  "The beginning of the period that the payouts name; older commissions that no payout holds are paid as well. ISO 8601 date or time.";
const END =
  "Commissions from before this time are paid; the current time by default. ISO 8601 time, or a date: its beginning in UTC.";

export const payoutGenerate = z.strictObject({
  period_start: instant.describe(START),
  period_end: instant.describe(END),
  dry_run: z.boolean().optional(),
  require_details: z
    .boolean()
    .optional()
    .describe("Skips partners without payout details, with the reason `details_missing`."),
});

export const payoutMarkPaid = z.strictObject({ reference: visibleText(200).nullish() });

export const payoutReturned = z.strictObject({
  reason: visibleText(200).describe("Why the money came back, such as the bank's text. The partner does not see it."),
});

export const payoutConclude = z.strictObject({
  made: z.boolean().describe("Whether the provider has made the transfer, as you see it there."),
  reference: visibleText(200).nullish().describe("The transfer's id at the provider, where it was made."),
});

function viewGeneration({ chunks: _chunks, reasons: _reasons, payouts: made, ...generation }: Generation) {
  const payouts: (ReturnType<typeof viewPayout> | PlannedPayout)[] = made.map((payout) =>
    "id" in payout ? viewPayout(payout) : payout,
  );
  return { ...generation, payouts };
}

/** A payout in a list, for callers who may not pay (ACCESS-12). */
function inPart(text: JsonText<PayoutView>): JsonText<PayoutView> {
  return JSON.stringify(withDetailsInPart(JSON.parse(text) as PayoutView));
}

/** `/api/v1/payouts` (OUT-4, OUT-8, OUT-11, OUT-12). */
export const payouts = [
  route("GET /api/v1/payouts", {
    operation: "listPayouts",
    tag: "Payouts",
    scope: ["read"],
    summary: "List payouts",
    query: payoutQuery,
    reply: ok("PayoutList", "A page of payouts, newest first."),
    handle: async ({ ctx, query, c }) => {
      const page = await listPayouts(ctx, query);
      return pageReply(c, ctx.may("payouts") ? page : { ...page, texts: page.texts.map(inPart) });
    },
  }),
  route("POST /api/v1/payouts/generate", {
    operation: "generatePayouts",
    tag: "Payouts",
    scope: ["write"],
    summary: "Generate payouts for a period",
    description:
      "Makes one payout for each partner and currency, of the approved commissions that no payout holds. Running it again makes nothing twice; `dry_run` writes nothing.",
    body: optionalJson("PayoutGenerate", payoutGenerate),
    reply: ok("PayoutGeneration", "What was made and what is carried forward."),
    handle: async ({ ctx, body: { period_start, period_end, dry_run, require_details }, c }) =>
      viewGeneration(
        await generatePayouts(ctx, {
          period_start: period_start ?? null,
          period_end: period_end ?? c.var.now,
          dry_run: dry_run ?? false,
          require_details: require_details ?? false,
        }),
      ),
  }),
  route("GET /api/v1/payouts/export.csv", {
    operation: "exportPayouts",
    tag: "Payouts",
    scope: ["payouts"],
    summary: "Export payouts as CSV",
    query: exportQuery,
    reply: csv("One line for each payout; with `wallet` only pending payouts of that method that have an address."),
    handle: async ({ ctx, query, c }) => c.body(...(await exportReply(ctx, query))),
  }),
  route("GET /api/v1/payouts/:id", {
    operation: "getPayout",
    tag: "Payouts",
    scope: ["read"],
    summary: "Get a payout with its commissions",
    reply: ok("PayoutWithCommissions", "The payout."),
    errors: ["not_found"],
    handle: async ({ ctx, params }) => {
      const { payout, commissions } = await getPayout(ctx, params.id);
      const view = viewPayout(payout);
      const shown = ctx.may("payouts") ? view : withDetailsInPart(view);
      return { ...shown, commissions: commissions.map(viewCommission) };
    },
  }),
  route("POST /api/v1/payouts/:id/pay", {
    operation: "payPayout",
    tag: "Payouts",
    scope: ["payouts"],
    summary: "Pay a payout by transfer",
    description:
      "Transfers the money to the partner's connected account. There are never two transfers for one payout; while the outcome is unknown, it stays `processing`.",
    body: NOTHING,
    reply: ok("Payout", "The payout: `paid`, `processing`, or `failed` with the provider's code."),
    errors: ["not_found", "invalid_transition", "payout_held", "provider_not_configured"],
    view: viewPayout,
    handle: ({ ctx, params, c }) => payPayout(ctx, params.id, connectOf(c.env)),
  }),
  route("POST /api/v1/payouts/:id/mark-paid", {
    operation: "markPayoutPaid",
    tag: "Payouts",
    scope: ["payouts"],
    summary: "Mark a payout as paid by hand",
    body: optionalJson("PayoutMarkPaid", payoutMarkPaid),
    reply: ok("Payout", "The payout, now `paid`, and so are its commissions."),
    errors: ["not_found", "invalid_transition", "payout_held"],
    view: viewPayout,
    handle: ({ ctx, params, body }) => markPayoutPaid(ctx, params.id, body.reference ?? null),
  }),
  route("POST /api/v1/payouts/:id/conclude", {
    operation: "concludePayout",
    tag: "Payouts",
    scope: ["payouts"],
    summary: "Answer for the provider whether an open transfer was made",
    description:
      "Only while the provider does not accept the stored API key for it. Look there first: a transfer that was made and is said not to be is paid twice. The provider is asked again, and its answer counts more.",
    body: json("PayoutConclude", payoutConclude),
    reply: ok("Payout", "The payout as it is then."),
    errors: ["not_found", "invalid_transition"],
    view: viewPayout,
    handle: ({ ctx, params, body: { made, reference = null }, c }) =>
      resolveTransfer(ctx, params.id, { made, reference }, connectOf(c.env)),
  }),
  route("POST /api/v1/payouts/:id/returned", {
    operation: "returnPayout",
    tag: "Payouts",
    scope: ["payouts"],
    summary: "Report that the money of a paid payout came back",
    description: "Its commissions are approved again and free for the next payout. The partner gets an e-mail.",
    body: json("PayoutReturned", payoutReturned),
    reply: ok("Payout", "The payout, now `returned`."),
    errors: ["not_found", "invalid_transition"],
    view: viewPayout,
    handle: ({ ctx, params, body: { reason } }) => returnPayout(ctx, params.id, { message: reason }),
  }),
  route("POST /api/v1/payouts/:id/cancel", {
    operation: "cancelPayout",
    tag: "Payouts",
    scope: ["payouts"],
    summary: "Cancel a payout",
    description: "Its commissions are free for the next payout.",
    body: NOTHING,
    reply: ok("Payout", "The payout, now `canceled`."),
    errors: ["not_found", "invalid_transition"],
    view: viewPayout,
    handle: ({ ctx, params }) => cancelPayout(ctx, params.id),
  }),
];

/** The file of an export as a response, for the API and the page. */
export async function exportReply(ctx: Caller, wanted: Export) {
  const pieces = await exportPayouts(ctx, wanted);
  const name = wanted.currency === undefined ? "payouts" : `payouts-${wanted.currency}`;
  return csvDownload(name, pieces, isUpload(wanted) ? "absent" : "present");
}
