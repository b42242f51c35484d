import { Hono } from "hono";
import * as z from "zod";
import {
  createManualCommission,
  getCommission,
  listCommissions,
  updateCommission,
  type ManualCommission,
} from "../../core/commissions/commissions.ts";
import { updateCommissions, updateMatching, type BulkReport, type BulkResult } from "../../core/commissions/bulk.ts";
import type { CommissionView } from "../../core/kernel/views.ts";
import { COMMISSION_STATUSES } from "../../domain/commission.ts";
import { isCurrency } from "../../domain/currency.ts";
import { PROVIDER_NAMES } from "../../providers/registry.ts";
import type { AppEnv } from "../../env.ts";
import { replies } from "../idempotency.ts";
import { pageReply } from "../page-reply.ts";
import { commissionQuery } from "../queries.ts";
import { cents, givenId, jsonBody, query, requireJson, takes, text, timeRange } from "../validate.ts";

const MAX_BULK = 100;

/** `paid` is a status to ask for, so that asking is refused as the illegal move it is (409) and not as a typo. */
const status = z.enum(COMMISSION_STATUSES);
const reason = text(500);

export const commissionPatch = z
  .strictObject({ status: status.optional(), reason: reason.optional(), flagged: z.boolean().optional() })
  .superRefine(reasonOnlyForRejection);

/** Which commissions are meant: the query of the list, as JSON. */
const commissionFilter = z.strictObject({
  status: status.optional(),
  partner_id: givenId.optional(),
  payout_id: givenId.optional(),
  provider: z.enum(PROVIDER_NAMES).optional(),
  flagged: z.boolean().optional(),
  ...timeRange.shape,
});

export const commissionBulk = z
  .strictObject({
    ids: z
      .array(givenId)
      .min(1)
      .max(MAX_BULK)
      .refine((ids) => new Set(ids).size === ids.length, "Name each commission once.")
      .optional(),
    filter: commissionFilter.describe("In place of `ids`: all commissions that match; `{}` matches all.").optional(),
    status,
    reason: reason.optional(),
    include_flagged: z
      .boolean()
      .describe(
        "True: flagged commissions too. Otherwise a filter leaves them out, and those among `ids` are not approved.",
      )
      .optional(),
  })
  .superRefine(reasonOnlyForRejection)
  .superRefine(({ ids, filter }, issues) => {
    if ((ids === undefined) === (filter === undefined)) {
      issues.addIssue({ code: "custom", path: ["ids"], message: "Send either ids or filter." });
    }
  });

export const commissionCreate = takes<ManualCommission>()({
  partner_id: givenId,
  amount_cents: cents.refine((amount) => amount !== 0, "This must not be 0."),
  currency: z.string().refine(isCurrency, "This must be an ISO 4217 code in upper case, such as USD.").optional(),
  note: text(500),
});

function viewBulk(data: BulkResult[], report?: BulkReport) {
  const matched = data.filter((result) => result.ok || result.error.code !== "not_found").length;
  const changed = data.filter(({ ok }) => ok).length;
  return { data, ...(report ?? { matched, changed, skipped: matched - changed, remaining: 0 }) };
}

/** `/api/v1/commissions` (COM-3, COM-5, COM-10, COM-11). */
export const commissions = new Hono<AppEnv>()
  .get("/", query(commissionQuery), async (c) => {
    return pageReply(c, await listCommissions(c.var.ctx, c.req.valid("query")));
  })
  .post(
    "/",
    requireJson,
    jsonBody(commissionCreate),
    replies((commission: CommissionView) => commission, 201),
    async (c) => c.json(await createManualCommission(c.var.ctx, c.req.valid("json")), 201),
  )
  .post(
    "/bulk",
    requireJson,
    jsonBody(commissionBulk),
    replies((data: BulkResult[]) => viewBulk(data), 200),
    async (c) => {
      const { ids, filter, ...change } = c.req.valid("json");
      if (ids) return c.json(viewBulk(await updateCommissions(c.var.ctx, ids, change)));
      return c.json(viewBulk([], await updateMatching(c.var.ctx, filter ?? {}, change, { clock: Date.now })));
    },
  )
  .get("/:id", async (c) => c.json(await getCommission(c.var.ctx, c.req.param("id"))))
  .patch("/:id", requireJson, jsonBody(commissionPatch), async (c) =>
    c.json(await updateCommission(c.var.ctx, c.req.param("id"), c.req.valid("json"))),
  );

function reasonOnlyForRejection(
  { status: wanted, reason: given }: { status?: string | undefined; reason?: string | undefined },
  issues: z.core.$RefinementCtx,
): void {
  if (given !== undefined && wanted !== "rejected") {
    issues.addIssue({ code: "custom", path: ["reason"], message: "A reason belongs to the status rejected." });
  }
}
