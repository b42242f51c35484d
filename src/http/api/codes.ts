import { Hono } from "hono";
import * as z from "zod";
import { createCode, deleteCode, getCode, listCodes, type CodeInput } from "../../core/partners/codes.ts";
import { viewCode } from "../../core/kernel/views.ts";
import { MAX_CODE } from "../../domain/code.ts";
import type { AppEnv } from "../../env.ts";
import { VENDOR_NAMES } from "../../providers/registry.ts";
import { replies } from "../idempotency.ts";
import { jsonBody, requireJson, takes, text } from "../validate.ts";

/** Pasted by hand, so the blanks around it are not part of it. */
const trimmed = (max: number) => z.string().trim().pipe(text(max));

export const codeCreate = takes<CodeInput>()({
  code: trimmed(MAX_CODE),
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

/** `/api/v1/codes` (CODE-4). */
export const codes = new Hono<AppEnv>()
  .get("/:id", async (c) => c.json(viewCode(await getCode(c.var.ctx, c.req.param("id")))))
  .delete("/:id", async (c) => {
    const { id } = await deleteCode(c.var.ctx, c.req.param("id"));
    return c.json({ id, deleted: true });
  });
