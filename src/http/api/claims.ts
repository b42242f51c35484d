import { getClaim, listClaims } from "../../core/claims/claims.ts";
import { declineClaim, grantClaim, type DeclineInput, type GrantInput } from "../../core/claims/decide.ts";
import { viewClaim, viewClaimWithPayments } from "../../core/kernel/views.ts";
import { MAX_CLAIM_NOTE } from "../../domain/claim.ts";
import { pageReply } from "../page-reply.ts";
import { claimQuery } from "../queries.ts";
import { ok, optionalJson, route } from "../route.ts";
import { text, visibleText } from "../../resources/input.ts";
import { takes } from "../validate.ts";

export const claimGrant = takes<GrantInput>()({ payment_id: text(64).optional() });
export const claimDecline = takes<DeclineInput>()({ note: visibleText(MAX_CLAIM_NOTE).nullish() });

/** `/api/v1/claims` (CLAIM-5). */
export const claims = [
  route("GET /api/v1/claims", {
    operation: "listClaims",
    tag: "Claims",
    scope: ["read"],
    summary: "List claims",
    query: claimQuery,
    reply: ok("ClaimList", "A page of claims, newest first."),
    handle: async ({ ctx, query, c }) => pageReply(c, await listClaims(ctx, query)),
  }),
  route("GET /api/v1/claims/:id", {
    operation: "getClaim",
    tag: "Claims",
    scope: ["read"],
    summary: "Get a claim with the payments it may be about",
    reply: ok("ClaimWithPayments", "The claim, and the newest 20 payments that fit it, each with its trace."),
    errors: ["not_found"],
    handle: async ({ ctx, params }) => {
      const { claim, payments } = await getClaim(ctx, params.id);
      return viewClaimWithPayments(claim, payments);
    },
  }),
  route("POST /api/v1/claims/:id/grant", {
    operation: "grantClaim",
    tag: "Claims",
    // It credits one payment by hand.
    scope: ["write", "payouts"],
    summary: "Grant a claim",
    description:
      "Gives the payment to the partner. The partner's reference is remembered for the customer as of the time of the payment, so it earns, and so do later payments of this customer that name no other partner. It never takes a payment from another partner. Without `payment_id`, exactly one payment must fit the claim.",
    body: optionalJson("ClaimGrant", claimGrant),
    reply: ok("Claim", "The claim, now `granted`."),
    errors: ["not_found", "invalid_transition"],
    view: viewClaim,
    handle: ({ ctx, params, body }) => grantClaim(ctx, params.id, body),
  }),
  route("POST /api/v1/claims/:id/decline", {
    operation: "declineClaim",
    tag: "Claims",
    scope: ["write"],
    summary: "Decline a claim",
    body: optionalJson("ClaimDecline", claimDecline),
    reply: ok("Claim", "The claim, now `declined`."),
    errors: ["not_found", "invalid_transition"],
    view: viewClaim,
    handle: ({ ctx, params, body }) => declineClaim(ctx, params.id, body),
  }),
];
