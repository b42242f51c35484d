import { Hono } from "hono";
import { getClaim, listClaims } from "../../core/claims/claims.ts";
import { declineClaim, grantClaim, type DeclineInput, type GrantInput } from "../../core/claims/decide.ts";
import { viewClaim, viewClaimWithPayments } from "../../core/kernel/views.ts";
import { MAX_CLAIM_NOTE } from "../../domain/claim.ts";
import type { AppEnv } from "../../env.ts";
import { replies } from "../idempotency.ts";
import { optionalJson } from "../optional-json.ts";
import { pageReply } from "../page-reply.ts";
import { claimQuery } from "../queries.ts";
import { query, takes, text } from "../validate.ts";

export const claimGrant = takes<GrantInput>()({ payment_id: text(64).optional() });
export const claimDecline = takes<DeclineInput>()({ note: text(MAX_CLAIM_NOTE).nullish() });

/** `/api/v1/claims` (CLAIM-5). */
export const claims = new Hono<AppEnv>()
  .get("/", query(claimQuery), async (c) => pageReply(c, await listClaims(c.var.ctx, c.req.valid("query"))))
  .get("/:id", async (c) => {
    const { claim, payments, program } = await getClaim(c.var.ctx, c.req.param("id"));
    return c.json(viewClaimWithPayments(claim, payments, program));
  })
  .post("/:id/grant", optionalJson(claimGrant), replies(viewClaim, 200), async (c) =>
    c.json(viewClaim(await grantClaim(c.var.ctx, c.req.param("id"), c.req.valid("json")))),
  )
  .post("/:id/decline", optionalJson(claimDecline), replies(viewClaim, 200), async (c) =>
    c.json(viewClaim(await declineClaim(c.var.ctx, c.req.param("id"), c.req.valid("json")))),
  );
