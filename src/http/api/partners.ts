import { listEntries, readBalance } from "../../core/ledger/journal.ts";
import {
  createPartner,
  deletePartner,
  getPartner,
  updatePartner,
  type PartnerInput,
  type PartnerPatch,
} from "../../core/partners/partners.ts";
import { listPartners } from "../../core/partners/partner-list.ts";
import { releaseHold } from "../../core/partners/release-hold.ts";
import { invitePartner } from "../../core/sessions/invite.ts";
import type { Reader } from "../../core/kernel/context.ts";
import type { JsonText } from "../../core/kernel/list-page.ts";
import type { Partner } from "../../core/kernel/rows.ts";
import { viewPartner, viewStats, withoutPayoutDetails, type PartnerView } from "../../core/kernel/views.ts";
import { SEARCHED_WORDS } from "../../domain/partner.ts";
import { createShape, patchShape } from "../../resources/field.ts";
import { PARTNER } from "../../resources/partner.ts";
import { pageReply } from "../page-reply.ts";
import { partnerQuery } from "../queries.ts";
import { created, json, NOTHING, ok, route } from "../route.ts";
import { applyFrom, pageQuery, takes } from "../validate.ts";

export const partnerCreate = takes<PartnerInput>()(createShape(PARTNER));

export const partnerPatch = takes<PartnerPatch>()({ ...patchShape(PARTNER), apply_from: applyFrom });

/** A partner, with full payout details only for callers who may pay (ACCESS-12). */
function shown(partner: Partner, ctx: Pick<Reader, "may">): PartnerView {
  const view = viewPartner(partner);
  return ctx.may("payouts") ? view : withoutPayoutDetails(view);
}

/** The same for a partner in a list. */
function masked(text: JsonText<PartnerView>): JsonText<PartnerView> {
  return JSON.stringify(withoutPayoutDetails(JSON.parse(text) as PartnerView));
}

export const partners = [
  route("POST /api/v1/partners", {
    operation: "createPartner",
    tag: "Partners",
    // Payout details in a partner need `payouts` as well, and so does a new address of an existing partner.
    scope: ["write"],
    summary: "Create a partner",
    description:
      "The partner starts as `invited`. Slug and e-mail are unique per program, ignoring case. Payout details, and a group with fewer days on hold than the default, need the scope `payouts` too.",
    body: json("PartnerCreate", partnerCreate),
    reply: created("Partner", "The new partner."),
    errors: ["already_exists"],
    view: shown,
    handle: ({ ctx, body }) => createPartner(ctx, body),
  }),
  route("GET /api/v1/partners", {
    operation: "listPartners",
    tag: "Partners",
    scope: ["read"],
    summary: "List partners",
    description: `Newest first. \`search\` matches ${SEARCHED_WORDS}, anywhere, ignoring case and accents.`,
    query: partnerQuery,
    reply: ok("PartnerList", "A page of partners."),
    handle: async ({ ctx, query, c }) => {
      const page = await listPartners(ctx, query);
      return pageReply(c, ctx.may("payouts") ? page : { ...page, texts: page.texts.map(masked) });
    },
  }),
  route("GET /api/v1/partners/:id", {
    operation: "getPartner",
    tag: "Partners",
    scope: ["read"],
    summary: "Get a partner with statistics",
    reply: ok("PartnerWithStats", "The partner, with every slug that leads to it and totals of all commissions."),
    errors: ["not_found"],
    handle: async ({ ctx, params }) => {
      const { partner, stats, slugs, clicks, currency } = await getPartner(ctx, params.id);
      return { ...shown(partner, ctx), slugs, stats: viewStats(stats, currency, clicks) };
    },
  }),
  route("GET /api/v1/partners/:id/balance", {
    operation: "getPartnerBalance",
    tag: "Partners",
    scope: ["read"],
    summary: "Get a partner's balances",
    description: "One object for each currency, equal to the sums of the partner's journal entries.",
    reply: ok("BalanceList", "The balances."),
    errors: ["not_found"],
    handle: async ({ ctx, params }) => ({ data: await readBalance(ctx, params.id) }),
  }),
  route("GET /api/v1/partners/:id/entries", {
    operation: "listPartnerEntries",
    tag: "Partners",
    scope: ["read"],
    summary: "List a partner's journal entries",
    description:
      "Every movement of money between two accounts, newest first. Entries are never changed or deleted; a correction is another entry. `expense` is the program's side.",
    query: pageQuery,
    reply: ok("EntryList", "A page of entries."),
    errors: ["not_found"],
    handle: ({ ctx, params, query }) => listEntries(ctx, params.id, query),
  }),
  route("PATCH /api/v1/partners/:id", {
    operation: "updatePartner",
    tag: "Partners",
    scope: ["write"],
    summary: "Update a partner",
    description:
      "Making a partner `active` creates the commissions for the payments that waited. Old slugs keep leading to the partner. Payout details, the e-mail address, a group with fewer days on hold and `apply_from` need the scope `payouts` too.",
    body: json("PartnerUpdate", partnerPatch),
    reply: ok("Partner", "The partner as it is now."),
    errors: ["not_found", "already_exists"],
    view: shown,
    handle: ({ ctx, params, body }) => updatePartner(ctx, params.id, body),
  }),
  route("DELETE /api/v1/partners/:id", {
    operation: "deletePartner",
    tag: "Partners",
    scope: ["write"],
    summary: "Deactivate a partner",
    description: "A soft delete: commissions and payouts stay.",
    reply: ok("Partner", "The partner, now `deactivated`."),
    errors: ["not_found"],
    view: shown,
    handle: async ({ ctx, params }) => (await deletePartner(ctx, params.id)).partner,
  }),
  route("POST /api/v1/partners/:id/release-hold", {
    operation: "releasePartnerHold",
    tag: "Partners",
    scope: ["payouts"],
    summary: "Release the hold of a partner's payouts",
    description:
      "Payouts to the partner can be paid at once. The program's owners get an e-mail. 409 if the payouts are not held.",
    body: NOTHING,
    reply: ok("Partner", "The partner, without a hold."),
    errors: ["not_found", "invalid_transition"],
    view: shown,
    handle: ({ ctx, params }) => releaseHold(ctx, params.id),
  }),
  route("POST /api/v1/partners/:id/invite", {
    operation: "invitePartner",
    tag: "Partners",
    scope: ["write"],
    summary: "Invite a partner by e-mail",
    description:
      "E-mails an invited partner a sign-in link, which works once within seven days; signing in makes the partner `active`. Called again, it sends another link. 429 beyond five for an address within 15 minutes, and beyond 200 invitations of the program within 24 hours to addresses that have not signed in.",
    body: NOTHING,
    reply: ok("Partner", "The partner, still `invited`."),
    errors: ["not_found", "invalid_transition", "not_configured"],
    view: shown,
    handle: ({ ctx, params }) => invitePartner(ctx, params.id),
  }),
];
