import { Hono } from "hono";
import * as z from "zod";
import { listEntries, readBalance } from "../../core/ledger/journal.ts";
import {
  createPartner,
  deletePartner,
  getPartner,
  listPartners,
  updatePartner,
  type PartnerInput,
  type PartnerPatch,
} from "../../core/partners/partners.ts";
import { invitePartner } from "../../core/sessions/invite.ts";
import type { Reader } from "../../core/kernel/context.ts";
import type { JsonText } from "../../core/kernel/list-page.ts";
import type { Partner } from "../../core/kernel/rows.ts";
import { viewPartner, viewStats, withoutPayoutDetails, type PartnerView } from "../../core/kernel/views.ts";
import { PARTNER_STATUSES, PAYOUT_METHODS, SLUG_PATTERN } from "../../domain/partner.ts";
import type { AppEnv } from "../../env.ts";
import { bytesIn } from "../../lib/slices.ts";
import { replies } from "../idempotency.ts";
import { nothing, optionalJson } from "../optional-json.ts";
import { pageReply } from "../page-reply.ts";
import { partnerQuery } from "../queries.ts";
import { applyFrom, email, jsonBody, pageQuery, percentage, query, requireJson, takes, text } from "../validate.ts";

const MAX_METADATA_BYTES = 8 * 1024;

const slug = z.string().regex(SLUG_PATTERN, "A slug is 1 to 64 letters, digits, - or _.");

/** Taken as it is: a schema that walks the fields would drop one called `__proto__`. */
const metadata = z
  .custom<Record<string, unknown>>((value) => typeof value === "object" && value !== null && !Array.isArray(value), {
    message: "This must be a JSON object.",
    abort: true,
  })
  .refine((value) => jsonBytes(value) <= MAX_METADATA_BYTES, "Metadata is at most 8 KiB of JSON.")
  .meta({ type: "object" });

/** Infinite where the value is nested too deeply to be written as JSON. */
function jsonBytes(value: unknown): number {
  try {
    return bytesIn(JSON.stringify(value));
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

const optional = {
  first_name: text(200, 0).nullish(),
  last_name: text(200, 0).nullish(),
  commission_pct: percentage.nullish(),
  payout_method: z.enum(PAYOUT_METHODS).nullish(),
  payout_email: email.nullish(),
  metadata: metadata.nullish(),
};

export const partnerCreate = takes<PartnerInput>()({ email, slug, ...optional });

export const partnerPatch = takes<PartnerPatch>()({
  email: email.optional(),
  slug: slug.optional(),
  status: z.enum(PARTNER_STATUSES).optional(),
  ...optional,
  apply_from: applyFrom,
});

/** A partner, its payout details in full only for who may pay (ACCESS-12). */
function shown(partner: Partner, ctx: Pick<Reader, "may">): PartnerView {
  const view = viewPartner(partner);
  return ctx.may("payouts") ? view : withoutPayoutDetails(view);
}

/** The same of a partner in a list. */
function masked(text: JsonText<PartnerView>): JsonText<PartnerView> {
  return JSON.stringify(withoutPayoutDetails(JSON.parse(text) as PartnerView));
}

/** `/api/v1/partners` (PART-9 to PART-12). */
export const partners = new Hono<AppEnv>()
  .post("/", requireJson, jsonBody(partnerCreate), replies(shown, 201), async (c) => {
    const partner = await createPartner(c.var.ctx, c.req.valid("json"));
    return c.json(shown(partner, c.var.ctx), 201);
  })
  .get("/", query(partnerQuery), async (c) => {
    const page = await listPartners(c.var.ctx, c.req.valid("query"));
    return pageReply(c, c.var.ctx.may("payouts") ? page : { ...page, texts: page.texts.map(masked) });
  })
  .get("/:id", async (c) => {
    const { partner, stats, clicks, currency } = await getPartner(c.var.ctx, c.req.param("id"));
    return c.json({ ...shown(partner, c.var.ctx), stats: viewStats(stats, currency, clicks) });
  })
  .get("/:id/balance", async (c) => c.json({ data: await readBalance(c.var.ctx, c.req.param("id")) }))
  .get("/:id/entries", query(pageQuery), async (c) => {
    return c.json(await listEntries(c.var.ctx, c.req.param("id"), c.req.valid("query")));
  })
  .patch("/:id", requireJson, jsonBody(partnerPatch), async (c) => {
    const partner = await updatePartner(c.var.ctx, c.req.param("id"), c.req.valid("json"));
    return c.json(shown(partner, c.var.ctx));
  })
  .post("/:id/invite", optionalJson(nothing), replies(shown, 200), async (c) => {
    return c.json(shown(await invitePartner(c.var.ctx, c.req.param("id")), c.var.ctx));
  })
  .delete("/:id", async (c) => {
    const { partner } = await deletePartner(c.var.ctx, c.req.param("id"));
    return c.json(shown(partner, c.var.ctx));
  });
