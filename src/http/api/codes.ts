import * as z from "zod";
import { readCodeStats } from "../../core/partners/code-stats.ts";
import { exportCodes } from "../../core/partners/export-codes.ts";
import { createCode, deleteCode, getCode, listCodes, type CodeInput } from "../../core/partners/codes.ts";
import { viewCode } from "../../core/kernel/views.ts";
import { utcDay } from "../../lib/time.ts";
import { CODE } from "../../resources/code.ts";
import { createShape } from "../../resources/field.ts";
import { summaryQuery } from "../queries.ts";
import { csvDownload } from "../download.ts";
import { created, csv, deleted, json, ok, route } from "../route.ts";
import { summaryRange, takes } from "../validate.ts";

export const codeCreate = takes<CodeInput>()({ ...createShape(CODE), move: z.boolean().optional() });

/** `/api/v1/partners/:id/codes` (CODE-4). */
export const partnerCodes = [
  route("GET /api/v1/partners/:id/codes", {
    operation: "listPartnerCodes",
    tag: "Partners",
    scope: ["read"],
    summary: "List a partner's promotion codes",
    description: "All of them, oldest first.",
    reply: ok("CodeList", "The codes."),
    errors: ["not_found"],
    handle: async ({ ctx, params }) => ({ data: (await listCodes(ctx, params.id)).map(viewCode) }),
  }),
  route("POST /api/v1/partners/:id/codes", {
    operation: "createPartnerCode",
    tag: "Partners",
    scope: ["write"],
    summary: "Give a partner a promotion code",
    description:
      "A code is unique for each program and provider, ignoring case. Payments made with it count for this partner from now on, and so do past ones without a partner because nobody had the code. `move` takes it from the partner who has it, from now on. At most 100 codes for each partner.",
    body: json("CodeCreate", codeCreate),
    reply: created("Code", "The code."),
    errors: ["not_found", "already_exists"],
    view: viewCode,
    handle: ({ ctx, params, body }) => createCode(ctx, params.id, body),
  }),
];

export const codes = [
  route("GET /api/v1/codes/summary", {
    operation: "getCodeSummary",
    tag: "Partners",
    scope: ["read"],
    summary: "Summarize sales by promotion code",
    description:
      "By code and currency, for a range of UTC days: the last 30 by default, at most 366. Sales and revenue count on the day of the payment, revenue less what was refunded since; what the partner earned, clawbacks included, counts on the day of the commission. A code that moved to another partner is listed for each of them. For each currency, the 100 codes with the most revenue.",
    query: summaryQuery,
    reply: ok("CodeSummary", "The codes that brought sales, those with the most revenue first."),
    handle: async ({ ctx, query, c }) => {
      const { from, to } = summaryRange(query, c.var.now);
      const days = { from: utcDay(from), to: utcDay(to - 1) };
      return { data: await readCodeStats(ctx, { ...days, partner_id: query.partner_id }) };
    },
  }),
  route("GET /api/v1/codes/export.csv", {
    operation: "exportCodes",
    tag: "Partners",
    scope: ["read"],
    summary: "Export promotion codes as CSV",
    reply: csv("One line for each code that a partner has, by provider and code."),
    handle: async ({ ctx, c }) => c.body(...csvDownload("codes", await exportCodes(ctx))),
  }),
  route("GET /api/v1/codes/:id", {
    operation: "getCode",
    tag: "Partners",
    scope: ["read"],
    summary: "Get a promotion code",
    reply: ok("Code", "The code."),
    errors: ["not_found"],
    view: viewCode,
    handle: ({ ctx, params }) => getCode(ctx, params.id),
  }),
  route("DELETE /api/v1/codes/:id", {
    operation: "deleteCode",
    tag: "Partners",
    scope: ["write"],
    summary: "Take a promotion code from its partner",
    description: "Earlier payments stay the partner's, and so do renewals of subscriptions that began with the code.",
    reply: ok("Deleted", "It is deleted."),
    errors: ["not_found"],
    view: deleted,
    handle: ({ ctx, params }) => deleteCode(ctx, params.id),
  }),
];
