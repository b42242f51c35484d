import type { Context } from "hono";
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
import { PROGRAM } from "../resources/program.ts";
import { connectOf } from "./connect.ts";
import { newProgramShard } from "./new-program-shard.ts";
import { created, json, NOTHING, ok, operatorRoute, optionalJson } from "./route.ts";
import { email } from "../resources/input.ts";
import { pageQuery } from "./validate.ts";

export const programCreate = z.strictObject({
  name: PROGRAM.name.write,
  owner_email: email,
  domain: PROGRAM.domain.write.optional(),
  currency: PROGRAM.currency.write.optional(),
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
export const admin = [
  operatorRoute("POST /admin/programs", {
    operation: "createProgram",
    tag: "Operator",
    summary: "Create a program",
    body: json("ProgramCreate", programCreate),
    reply: created("ProgramWithKey", "The program and its API key, which is shown only here."),
    view: viewWithKey,
    handle: ({ body, c }) =>
      createProgram(newProgramContext(c), { ...body, live_only: c.env.ENVIRONMENT === "production" }),
  }),
  operatorRoute("GET /admin/programs", {
    operation: "listPrograms",
    tag: "Operator",
    summary: "List programs",
    query: pageQuery,
    reply: ok("ProgramList", "A page of programs, newest first."),
    handle: async ({ ctx, query }) => {
      const page = await listPrograms(ctx, query);
      return { ...page, data: page.data.map(viewProgram) };
    },
  }),
  operatorRoute("POST /admin/programs/:id/api-key", {
    operation: "createProgramApiKey",
    tag: "Operator",
    summary: "Replace a program's API key",
    description: "The old key stops working at once.",
    body: NOTHING,
    reply: created("ProgramWithKey", "The program and its new key, which is shown only here."),
    view: viewWithKey,
    handle: async ({ ctx, params }) => regenerateApiKey(await openProgram(ctx, params.id)),
  }),
  operatorRoute("POST /admin/sign-in-links", {
    operation: "createSignInLink",
    tag: "Operator",
    summary: "Create a one-time sign-in link",
    description:
      "For a team member or a partner who gets no e-mail from the deployment. Send it to nobody but the person with that address: it signs in as whoever has it.",
    body: json("SignInLinkCreate", linkCreate),
    reply: created("SignInLink", "The link, valid for one use."),
    errors: ["not_configured"],
    handle: async ({ ctx, body, c }) => {
      const base = publicUrl(c.env);
      const { token, expires_at } = await createLinkByHand(ctx, body.email);
      return { url: `${base}/sign-in?token=${token}`, expires_at };
    },
  }),
  operatorRoute("POST /admin/reconcile", {
    operation: "reconcileLedger",
    tag: "Operator",
    summary: "Check the ledger",
    description:
      "Compares commissions with the journal, payments with their facts, balances with entries, and payouts with their commissions and with the provider's transfers. Each call checks a limited part; call it with `next` until that is null. Nothing is repaired unless `repair` says so.",
    body: optionalJson("Reconcile", reconcileBody),
    reply: ok("Reconciling", "What was checked, and the differences found."),
    errors: ["not_found"],
    handle: ({ ctx, body, c }) => reconcileNow(ctx, body, connectOf(c.env)),
  }),
  operatorRoute("POST /admin/secrets/reseal", {
    operation: "resealSecrets",
    tag: "Operator",
    summary: "Reseal the stored secrets with the current key",
    description:
      "Use it after you replaced `ENCRYPTION_KEY`. Each call reseals a limited number of values; call it until `left` is 0, after which nothing stored needs an earlier key. Links to unsubscribe in earlier e-mails do.",
    body: NOTHING,
    reply: ok("Resealing", "What was resealed, what is left, and what no key opens."),
    handle: ({ ctx }) => resealAll(ctx),
  }),
];

/** A context over the database for new programs. A missing one is an error that the operator can fix. */
function newProgramContext(c: Context<AppEnv>): Ctx {
  const chosen = newProgramShard(c.env);
  const ctx = "shard" in chosen ? onShard(c.var.operator, chosen.shard) : null;
  if (ctx) return ctx;
  throw new AppError("storage_unavailable", "problem" in chosen ? chosen.problem : "The database is not bound.");
}
