import * as z from "zod";
import { viewPayoutExport } from "../../core/kernel/views.ts";
import { readExportFile } from "../../core/payouts/export-file.ts";
import {
  cancelExport,
  createExport,
  getExport,
  listExports,
  markExportPaid,
  type MadeExport,
} from "../../core/payouts/exports.ts";
import type { Caller } from "../../core/kernel/context.ts";
import { FILE_FORMATS } from "../../domain/payout-export.ts";
import { visibleText } from "../../resources/input.ts";
import { pageReply } from "../page-reply.ts";
import { exportQuery, payoutExportQuery } from "../queries.ts";
import { created, csv, json, NOTHING, ok, optionalJson, route } from "../route.ts";
import { givenId } from "../validate.ts";
import { download } from "../download.ts";

export const exportCreate = z.strictObject({
  format: z
    .enum(FILE_FORMATS)
    .describe(
      "`wallet`: PayPal's file of mass payments. `wise`: Wise's file of batch payments. `sepa`: pain.001.001.09, for EUR and IBANs. `bank`: a CSV with all bank details.",
    ),
  currency: exportQuery.shape.currency.unwrap(),
  retry: z
    .boolean()
    .optional()
    .describe("True: the payouts that failed in an earlier file, instead of the pending ones."),
});

export const exportPaid = z.strictObject({
  reference: visibleText(200).nullish(),
  except: z
    .array(givenId)
    .max(5_000)
    .optional()
    .describe("Ids of payouts in the file that were not paid: they are pending again."),
});

function viewMade({ made, left_out }: MadeExport) {
  return { ...viewPayoutExport(made), left_out };
}

/** `/api/v1/payouts/exports` (OUT-22). */
export const payoutExports = [
  route("POST /api/v1/payouts/exports", {
    operation: "createPayoutExport",
    tag: "Payouts",
    scope: ["payouts"],
    summary: "Put pending payouts into a file",
    description:
      "Moves the oldest pending payouts of the format's method in this currency to `processing`. Download the file, pay, then mark it as paid.",
    body: json("PayoutExportCreate", exportCreate),
    reply: created("PayoutExportMade", "The file, and the payouts that it cannot contain: they stay pending."),
    errors: ["invalid_transition"],
    view: viewMade,
    handle: ({ ctx, body }) => createExport(ctx, body),
  }),
  route("GET /api/v1/payouts/exports", {
    operation: "listPayoutExports",
    tag: "Payouts",
    scope: ["read"],
    summary: "List files of payouts",
    query: payoutExportQuery,
    reply: ok("PayoutExportList", "A page of files, newest first."),
    handle: async ({ ctx, query, c }) => pageReply(c, await listExports(ctx, query)),
  }),
  route("GET /api/v1/payouts/exports/:id", {
    operation: "getPayoutExport",
    tag: "Payouts",
    scope: ["read"],
    summary: "Get a file of payouts",
    reply: ok("PayoutExport", "Its record."),
    errors: ["not_found"],
    handle: async ({ ctx, params }) => viewPayoutExport(await getExport(ctx, params.id)),
  }),
  route("GET /api/v1/payouts/exports/:id/file", {
    operation: "downloadPayoutExport",
    tag: "Payouts",
    scope: ["payouts"],
    summary: "Download a file of payouts",
    description: "The same bytes each time. 409 for a canceled file.",
    reply: { ...csv("The file, in its format."), media_type: ["text/csv", "application/xml"] },
    errors: ["not_found", "invalid_transition"],
    handle: async ({ ctx, params, c }) => c.body(...(await fileReply(ctx, params.id))),
  }),
  route("POST /api/v1/payouts/exports/:id/paid", {
    operation: "markPayoutExportPaid",
    tag: "Payouts",
    scope: ["payouts"],
    summary: "Mark the payouts of a file as paid",
    body: optionalJson("PayoutExportPaid", exportPaid),
    reply: ok("PayoutExport", "The file, now `paid`, and so are its payouts."),
    errors: ["not_found", "invalid_transition"],
    view: viewPayoutExport,
    handle: ({ ctx, params, body: { reference = null, except = [] } }) =>
      markExportPaid(ctx, params.id, { reference, except }),
  }),
  route("POST /api/v1/payouts/exports/:id/cancel", {
    operation: "cancelPayoutExport",
    tag: "Payouts",
    scope: ["payouts"],
    summary: "Cancel a file of payouts",
    description: "Only if you have not paid by it. Its payouts are pending again.",
    body: NOTHING,
    reply: ok("PayoutExport", "The file, now `canceled`."),
    errors: ["not_found", "invalid_transition"],
    view: viewPayoutExport,
    handle: ({ ctx, params }) => cancelExport(ctx, params.id),
  }),
];

/** The file as a response, for the API and the page. */
export async function fileReply(ctx: Caller, id: string) {
  const { pieces, media_type, name } = await readExportFile(ctx, id);
  return download(name, media_type, pieces);
}
