import { Hono, type Context } from "hono";
import * as z from "zod";
import type { Ctx } from "../core/kernel/context.ts";
import { listPrograms } from "../core/programs/list.ts";
import { createProgram, openProgram, regenerateApiKey, type ProgramWithKey } from "../core/programs/programs.ts";
import { reconcileNow } from "../core/reconcile/now.ts";
import { resealAll } from "../core/operations/reseal.ts";
import { onShard } from "../core/kernel/shards.ts";
import { createLinkByHand } from "../core/sessions/sign-in.ts";
import { viewProgram } from "../core/kernel/views.ts";
import { isProgramId } from "../domain/shard.ts";
import type { AppEnv } from "../env.ts";
import { AppError } from "../lib/errors.ts";
import { publicUrl } from "../lib/public-url.ts";
import { currency, domain, programName } from "./api/programs.ts";
import { connectOf } from "./connect.ts";
import { nothing, optionalJson } from "./optional-json.ts";
import { newProgramShard } from "./new-program-shard.ts";
import { email, jsonBody, pageQuery, query, requireJson } from "./validate.ts";

export const programCreate = z.strictObject({
  name: programName,
  owner_email: email,
  domain: domain.nullish(),
  currency: currency.optional(),
});

export const linkCreate = z.strictObject({ email });

const programId = z.string().refine(isProgramId, { message: "This must be a program id (prog_…)." });

export const reconcileBody = z
  .strictObject({
    program_id: programId.optional().describe("Only this program; otherwise all of the deployment."),
    next: programId.optional().describe("`next` of the call before: goes on there."),
    repair: z
      .literal("balances")
      .optional()
      .describe("Recomputes the balances of the program that were found to differ, from its entries, and looks again."),
  })
  .refine(({ program_id, repair }) => repair === undefined || program_id !== undefined, {
    path: ["program_id"],
    message: "A repair is of one program.",
  })
  .refine(({ program_id, next }) => program_id === undefined || next === undefined || next === program_id, {
    path: ["next"],
    message: "This is where a call for another program went on.",
  });

/** The only replies that show a key. */
function viewWithKey({ program, api_key }: ProgramWithKey) {
  return { program: viewProgram(program), api_key };
}

/** `/admin`: the operator's endpoints (ACCESS-4, ACCESS-5). */
export const admin = new Hono<AppEnv>()
  .post("/programs", requireJson, jsonBody(programCreate), async (c) => {
    const input = { ...c.req.valid("json"), live_only: c.env.ENVIRONMENT === "production" };
    const made = await createProgram(newProgramContext(c), input);
    return c.json(viewWithKey(made), 201);
  })
  .get("/programs", query(pageQuery), async (c) => {
    const page = await listPrograms(c.var.operator, c.req.valid("query"));
    return c.json({ ...page, data: page.data.map(viewProgram) });
  })
  .post("/programs/:id/api-key", optionalJson(nothing), async (c) => {
    const program = await openProgram(c.var.operator, c.req.param("id"));
    return c.json(viewWithKey(await regenerateApiKey(program)), 201);
  })
  .post("/sign-in-links", requireJson, jsonBody(linkCreate), async (c) => {
    const base = publicUrl(c.env);
    const { token, expires_at } = await createLinkByHand(c.var.operator, c.req.valid("json").email);
    return c.json({ url: `${base}/sign-in?token=${token}`, expires_at }, 201);
  })
  .post("/reconcile", optionalJson(reconcileBody), async (c) => {
    const reply = await reconcileNow(c.var.operator, c.req.valid("json"), connectOf(c.env));
    return c.json(reply);
  })
  .post("/secrets/reseal", optionalJson(nothing), async (c) => c.json(await resealAll(c.var.operator)));

/** Over the database that new programs go to; a deployment that names none gets that error, for its operator to fix it. */
function newProgramContext(c: Context<AppEnv>): Ctx {
  const chosen = newProgramShard(c.env);
  const ctx = "shard" in chosen ? onShard(c.var.operator, chosen.shard) : null;
  if (ctx) return ctx;
  throw new AppError("storage_unavailable", "problem" in chosen ? chosen.problem : "The database is not bound.");
}
