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
import { pageReply } from "../page-reply.ts";
import { commissionQuery } from "../queries.ts";
import { asIs, created, json, ok, route } from "../route.ts";
import { cents, visibleText } from "../../resources/input.ts";
import { givenId, takes, timeRange } from "../validate.ts";

const MAX_BULK = 100;

/** Includes `paid`, so that setting it is refused as an illegal move (409) and not as a typo. */
const status = z.enum(COMMISSION_STATUSES);
const reason = visibleText(500);

export const commissionPatch = z
  .strictObject({ status: status.optional(), reason: reason.optional(), flagged: z.boolean().optional() })
  .superRefine(reasonOnlyForRejection);

/** Selects commissions: the query of the list, as JSON. */
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
  note: visibleText(500),
});

/** Commissions named one by one have a result each; those that match a filter are only counted. */
function viewBulk(done: BulkResult[] | BulkReport) {
  if (!Array.isArray(done)) return { data: [] as BulkResult[], ...done };
  const matched = done.filter((result) => result.ok || result.error.code !== "not_found").length;
  const changed = done.filter(({ ok }) => ok).length;
  return { data: done, matched, changed, skipped: matched - changed, remaining: 0 };
}

/** `/api/v1/commissions` (COM-3, COM-5, COM-10, COM-11). */
export const commissions = [
  route("GET /api/v1/commissions", {
    operation: "listCommissions",
    tag: "Commissions",
    scope: ["read"],
    summary: "List commissions",
    query: commissionQuery,
    reply: ok("CommissionList", "A page of commissions, newest first."),
    handle: async ({ ctx, query, c }) => pageReply(c, await listCommissions(ctx, query)),
  }),
  route("POST /api/v1/commissions", {
    operation: "createCommission",
    tag: "Commissions",
    // A bonus needs `payouts` as well, and so does a change in the partner's favor (`favorsPartner`).
    scope: ["write"],
    summary: "Add a commission by hand",
    description:
      "A bonus, or with a negative amount a correction. Only for active partners. A positive amount needs the scope `payouts` too.",
    body: json("CommissionCreate", commissionCreate),
    reply: created("Commission", "The new commission, `pending`."),
    view: asIs<CommissionView>,
    handle: ({ ctx, body }) => createManualCommission(ctx, body),
  }),
  route("POST /api/v1/commissions/bulk", {
    operation: "updateCommissions",
    tag: "Commissions",
    scope: ["write"],
    summary: "Update many commissions",
    description:
      "Either up to 100 by `ids`, each on its own: one that is refused does not affect the others. Or all that match a `filter`, oldest first, up to 5,000 per call; while `remaining` is not 0, send it again. Unless `include_flagged` is true, a filter leaves flagged commissions out, and flagged ones among `ids` are not approved. Approving and reopening need the scope `payouts` too, and so does rejecting a negative amount; without it, nothing is changed.",
    body: json("CommissionBulk", commissionBulk),
    reply: ok("BulkResults", "What was changed, and what was not."),
    view: viewBulk,
    handle: ({ ctx, body: { ids, filter, ...change } }) =>
      ids ? updateCommissions(ctx, ids, change) : updateMatching(ctx, filter ?? {}, change, { clock: Date.now }),
  }),
  route("GET /api/v1/commissions/:id", {
    operation: "getCommission",
    tag: "Commissions",
    scope: ["read"],
    summary: "Get a commission",
    reply: ok("Commission", "The commission."),
    errors: ["not_found"],
    handle: ({ ctx, params }) => getCommission(ctx, params.id),
  }),
  route("PATCH /api/v1/commissions/:id", {
    operation: "updateCommission",
    tag: "Commissions",
    scope: ["write"],
    summary: "Approve, reject or flag a commission",
    description:
      "`pending → approved`, `pending|approved → rejected`, `rejected → pending`. A commission is paid by its payout, and cannot change while a payout holds it. Approving, reopening, clearing a flag and rejecting a negative amount need the scope `payouts` too.",
    body: json("CommissionUpdate", commissionPatch),
    reply: ok("Commission", "The commission as it is now."),
    errors: ["not_found", "invalid_transition"],
    handle: ({ ctx, params, body }) => updateCommission(ctx, params.id, body),
  }),
];

function reasonOnlyForRejection(
  { status: wanted, reason: given }: { status?: string | undefined; reason?: string | undefined },
  issues: z.core.$RefinementCtx,
): void {
  if (given !== undefined && wanted !== "rejected") {
    issues.addIssue({ code: "custom", path: ["reason"], message: "A reason belongs to the status rejected." });
  }
}
