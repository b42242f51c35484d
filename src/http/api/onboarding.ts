import { Hono } from "hono";
import * as z from "zod";
import { viewPartner } from "../../core/kernel/views.ts";
import { forgetAccount, startOnboarding, type Onboarding } from "../../core/partners/onboarding.ts";
import type { AppEnv } from "../../env.ts";
import { publicUrl } from "../../lib/public-url.ts";
import { connectOf } from "../connect.ts";
import { replies } from "../idempotency.ts";
import { optionalJson } from "../optional-json.ts";
import { jsonBody, requireJson, text } from "../validate.ts";

const webAddress = z
  .url({ protocol: /^https?$/ })
  .max(2_000)
  .optional();

export const onboardingStart = z.strictObject({
  /** Where the vendor sends the partner afterwards; the portal unless given. */
  return_url: webAddress,
  refresh_url: webAddress,
  country: z
    .string()
    .regex(/^[A-Z]{2}$/, "This must be a country code of two upper-case letters, such as DE.")
    .optional(),
});

/** The account as it is shown: one that the partner has since is not forgotten by a second request. */
export const accountForget = z.strictObject({ account_id: text(200) });

function viewOnboarding({ partner, url, expires_at }: Onboarding) {
  return { partner_id: partner.id, provider_a_account_id: partner.provider_a_account_id, url, expires_at };
}

/** `/api/v1/partners/:id/provider-a-account` (OUT-15): 201 with a new account, else 200. */
export const onboarding = new Hono<AppEnv>()
  .post("/:id/provider-a-account", optionalJson(onboardingStart), async (c) => {
    const { return_url, refresh_url, country } = c.req.valid("json");
    const portal = () => `${publicUrl(c.env)}/portal`;
    const started = await startOnboarding(
      c.var.ctx,
      c.req.param("id"),
      { return_url: return_url ?? portal(), refresh_url: refresh_url ?? portal(), country },
      connectOf(c.env),
    );
    return c.json(viewOnboarding(started), started.is_new ? 201 : 200);
  })
  .post(
    "/:id/provider-a-account/forget",
    requireJson,
    jsonBody(accountForget),
    replies(viewPartner, 200),
    async (c) => {
      return c.json(viewPartner(await forgetAccount(c.var.ctx, c.req.param("id"), c.req.valid("json").account_id)));
    },
  );
