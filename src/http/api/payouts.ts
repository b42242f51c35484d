import { Hono } from "hono";
import * as z from "zod";
import type { Caller } from "../../core/kernel/context.ts";
import type { JsonText } from "../../core/kernel/list-page.ts";
import { exportPayouts, isUpload, type Export } from "../../core/payouts/export.ts";
import { generatePayouts, type Generation, type PlannedPayout } from "../../core/payouts/generate.ts";
import { payPayout } from "../../core/payouts/pay.ts";
import { cancelPayout, getPayout, listPayouts, markPayoutPaid } from "../../core/payouts/payouts.ts";
import { sayTransfer } from "../../core/payouts/say.ts";
import { withDetailsInPart } from "../../core/kernel/payout-details.ts";
import { viewCommission, viewPayout, type PayoutView } from "../../core/kernel/views.ts";
import type { AppEnv } from "../../env.ts";
import { connectOf } from "../connect.ts";
import { replies } from "../idempotency.ts";
import { nothing, optionalJson } from "../optional-json.ts";
import { pageReply } from "../page-reply.ts";
import { exportQuery, payoutQuery } from "../queries.ts";
import { jsonBody, query, requireJson, text, timeRange } from "../validate.ts";

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
});

export const payoutMarkPaid = z.strictObject({ reference: text(200).nullish() });

export const payoutConclude = z.strictObject({
  made: z.boolean().describe("Whether the provider has made the transfer, as you see it there."),
  reference: text(200).nullish().describe("The transfer's id at the provider, where it was made."),
});

function viewGeneration({ chunks: _, payouts: made, ...generation }: Generation) {
  const payouts: (ReturnType<typeof viewPayout> | PlannedPayout)[] = made.map((payout) =>
    "id" in payout ? viewPayout(payout) : payout,
  );
  return { ...generation, payouts };
}

/** A payout in a list, for who does not pay (ACCESS-12). */
function inPart(text: JsonText<PayoutView>): JsonText<PayoutView> {
  return JSON.stringify(withDetailsInPart(JSON.parse(text) as PayoutView));
}

/** `/api/v1/payouts` (OUT-4, OUT-8, OUT-11, OUT-12). */
export const payouts = new Hono<AppEnv>()
  .get("/", query(payoutQuery), async (c) => {
    const page = await listPayouts(c.var.ctx, c.req.valid("query"));
    return pageReply(c, c.var.ctx.may("payouts") ? page : { ...page, texts: page.texts.map(inPart) });
  })
  .post("/generate", optionalJson(payoutGenerate), async (c) => {
    const { period_start, period_end, dry_run } = c.req.valid("json");
    const generation = await generatePayouts(c.var.ctx, {
      period_start: period_start ?? null,
      period_end: period_end ?? c.var.now,
      dry_run: dry_run ?? false,
    });
    return c.json(viewGeneration(generation));
  })
  .get("/export.csv", query(exportQuery), async (c) => {
    return c.body(...(await exportReply(c.var.ctx, c.req.valid("query"))));
  })
  .get("/:id", async (c) => {
    const { payout, commissions, program } = await getPayout(c.var.ctx, c.req.param("id"));
    const view = viewPayout(payout);
    const shown = c.var.ctx.may("payouts") ? view : withDetailsInPart(view);
    return c.json({ ...shown, commissions: commissions.map((row) => viewCommission(row, program)) });
  })
  .post("/:id/pay", optionalJson(nothing), replies(viewPayout, 200), async (c) => {
    const payout = await payPayout(c.var.ctx, c.req.param("id"), connectOf(c.env));
    return c.json(viewPayout(payout));
  })
  .post("/:id/mark-paid", optionalJson(payoutMarkPaid), replies(viewPayout, 200), async (c) => {
    const { reference } = c.req.valid("json");
    return c.json(viewPayout(await markPayoutPaid(c.var.ctx, c.req.param("id"), reference ?? null)));
  })
  .post("/:id/conclude", requireJson, jsonBody(payoutConclude), replies(viewPayout, 200), async (c) => {
    const { made, reference = null } = c.req.valid("json");
    return c.json(viewPayout(await sayTransfer(c.var.ctx, c.req.param("id"), { made, reference }, connectOf(c.env))));
  })
  .post("/:id/cancel", optionalJson(nothing), replies(viewPayout, 200), async (c) => {
    return c.json(viewPayout(await cancelPayout(c.var.ctx, c.req.param("id"))));
  });

/** The file of an export as a reply has it, for the API and the page. */
export async function exportReply(ctx: Caller, wanted: Export) {
  const pieces = await exportPayouts(ctx, wanted);
  const name = wanted.currency === undefined ? "payouts" : `payouts-${wanted.currency}`;
  const headers = {
    "Content-Type": `text/csv; charset=utf-8; header=${isUpload(wanted) ? "absent" : "present"}`,
    "Content-Disposition": `attachment; filename="${name}.csv"`,
  };
  return [streamOf(pieces), 200, headers] as const;
}

/** Asks for the next piece when the reader is ready for it, and for no more once the reader is gone. */
export function streamOf(pieces: AsyncIterable<string>): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  const iterator = pieces[Symbol.asyncIterator]();
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await iterator.next();
      if (done) controller.close();
      else controller.enqueue(encoder.encode(value));
    },
    async cancel() {
      await iterator.return?.();
    },
  });
}
