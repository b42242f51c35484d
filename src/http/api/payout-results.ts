import * as z from "zod";
import type { Caller } from "../../core/kernel/context.ts";
import { applyResults, type FileResults } from "../../core/payouts/results.ts";
import { decodeCsv } from "../../domain/csv-encoding.ts";
import { MAX_RESULT_LINES } from "../../domain/result-file.ts";
import { invalidField } from "../../lib/errors.ts";
import { ok, raw, route } from "../route.ts";

/** The body limit in bytes: 5,000 transfers as a bank lists them (HTTP-13). */
export const RESULTS_BODY_LIMIT = 4 * 1024 * 1024;

/** Whether a path is that of a result file, in the API or the dashboard. */
export function isResultsPath(path: string): boolean {
  return /^\/(?:api\/v1|dashboard)\/payouts\/exports\/[^/]+\/results$/.test(path);
}

export const resultsQuery = z.object({
  dry_run: z.enum(["true", "false"]).default("false").describe("`true` shows what would happen and changes nothing."),
});

const resultText = z
  .string()
  .describe(
    `A CSV with a header line, with columns such as \`payout_id\` or \`Unique ID\`, \`status\` and \`reason\`; or a pain.002. 4 MiB and ${MAX_RESULT_LINES} lines at most.`,
  );

/** `POST /api/v1/payouts/exports/:id/results` (OUT-28). */
export const payoutResults = [
  route("POST /api/v1/payouts/exports/:id/results", {
    operation: "applyPayoutResults",
    tag: "Payouts",
    scope: ["payouts"],
    summary: "Record the results of a file of payouts",
    description:
      "The body is the file as the bank or PayPal exports it. Payouts of the file that it reports as paid become `paid`, rejected ones `failed`, and paid ones whose money came back `returned`. Lines with problems change nothing, and the same file again changes nothing.",
    query: resultsQuery,
    body: raw("PayoutResultFile", ["text/csv", "application/xml"], resultText),
    reply: ok("PayoutResults", "What each line has done, or with `dry_run=true`, what it would do."),
    errors: ["not_found"],
    handle: async ({ ctx, params, query, c }) =>
      readResults(ctx, params.id, await c.req.arrayBuffer(), query.dry_run === "true"),
  }),
];

/** Reads the bytes of a file, in the encodings that banks use. */
async function readResults(ctx: Caller, id: string, bytes: ArrayBuffer, dry_run: boolean): Promise<FileResults> {
  const file = decodeCsv(new Uint8Array(bytes));
  if (!file.ok) throw invalidField("body", file.message);
  return applyResults(ctx, id, file.text, { dry_run });
}
