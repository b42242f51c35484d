import { Hono } from "hono";
import * as z from "zod";
import { readCodeStats } from "../../core/partners/code-stats.ts";
import { exportCodes } from "../../core/partners/export-codes.ts";
import { createCode, deleteCode, getCode, listCodes, type CodeInput } from "../../core/partners/codes.ts";
import { viewCode } from "../../core/kernel/views.ts";
import { MAX_CODE } from "../../domain/code.ts";
import type { AppEnv } from "../../env.ts";
import { VENDOR_NAMES } from "../../providers/registry.ts";
import { utcDay } from "../../lib/time.ts";
import { replies } from "../idempotency.ts";
import { summaryQuery } from "../queries.ts";
import { streamOf } from "./payouts.ts";
import { jsonBody, query, requireJson, summaryRange, takes, text } from "../validate.ts";

/** Pasted by hand, so the blanks around it are not part of it. */
const trimmed = (max: number) => z.string().trim().pipe(text(max));

export const codeText = trimmed(MAX_CODE);

export const codeCreate = takes<CodeInput>()({
  code: codeText,
  provider: z.enum(VENDOR_NAMES),
  provider_code_id: trimmed(255).nullish(),
  move: z.boolean().optional(),
});

/** `/api/v1/partners/:id/codes` (CODE-4). */
export const partnerCodes = new Hono<AppEnv>()
  .get("/:id/codes", async (c) => c.json({ data: (await listCodes(c.var.ctx, c.req.param("id"))).map(viewCode) }))
  .post("/:id/codes", requireJson, jsonBody(codeCreate), replies(viewCode, 201), async (c) => {
    const code = await createCode(c.var.ctx, c.req.param("id"), c.req.valid("json"));
    return c.json(viewCode(code), 201);
  });

/** `/api/v1/codes` (CODE-4, CODE-6, CODE-9). */
export const codes = new Hono<AppEnv>()
  .get("/summary", query(summaryQuery), async (c) => {
    const asked = c.req.valid("query");
    const { from, to } = summaryRange(asked, c.var.now);
    const days = { from: utcDay(from), to: utcDay(to - 1) };
    return c.json({ data: await readCodeStats(c.var.ctx, { ...days, partner_id: asked.partner_id }) });
  })
  .get("/export.csv", async (c) =>
    c.body(streamOf(await exportCodes(c.var.ctx)), 200, {
      "Content-Type": "text/csv; charset=utf-8; header=present",
      "Content-Disposition": 'attachment; filename="codes.csv"',
    }),
  )
  .get("/:id", async (c) => c.json(viewCode(await getCode(c.var.ctx, c.req.param("id")))))
  .delete("/:id", async (c) => {
    const { id } = await deleteCode(c.var.ctx, c.req.param("id"));
    return c.json({ id, deleted: true });
  });
