import * as z from "zod";
import { viewPartner } from "../../core/kernel/views.ts";
import { forgetAccount, startOnboarding, type Onboarding } from "../../core/partners/onboarding.ts";
import { publicUrl } from "../../lib/public-url.ts";
import { connectOf } from "../connect.ts";
import { created, json, ok, optionalJson, route } from "../route.ts";
import { text } from "../../resources/input.ts";

const webAddress = z
  .url({ protocol: /^https?$/ })
  .max(2_000)
  .optional();

export const onboardingStart = z.strictObject({
  /** The vendor returns the partner to this address; the portal by default. */
  return_url: webAddress,
  refresh_url: webAddress,
  country: z
    .string()
    .regex(/^[A-Z]{2}$/, "This must be a country code of two upper-case letters, such as DE.")
    .optional(),
});

/** Names the shown account, so that a repeated request does not forget one connected since. */
export const accountForget = z.strictObject({ account_id: text(200) });

function viewOnboarding({ partner, url, expires_at }: Onboarding) {
  return { partner_id: partner.id, provider_a_account_id: partner.provider_a_account_id, url, expires_at };
}

/** `/api/v1/partners/:id/provider-a-account` (OUT-15): 201 with a new account, else 200. */
export const onboarding = [
  route("POST /api/v1/partners/:id/provider-a-account", {
    operation: "startPartnerOnboarding",
    tag: "Partners",
    // The partner's payout destination is entered on the vendor's page.
    scope: ["payouts"],
    summary: "Start a partner's onboarding for transfers",
    description:
      "Returns a link to the provider's hosted page. Called again, it returns a new link to the same account.",
    body: optionalJson("OnboardingStart", onboardingStart),
    reply: [ok("Onboarding", "A link to the account that the partner has."), created("Onboarding", "A new account.")],
    errors: ["not_found", "provider_not_configured", "provider_unavailable", "not_configured"],
    handle: async ({ ctx, params, body, c }) => {
      const { return_url, refresh_url, country } = body;
      const portal = () => `${publicUrl(c.env)}/portal`;
      const started = await startOnboarding(
        ctx,
        params.id,
        { return_url: return_url ?? portal(), refresh_url: refresh_url ?? portal(), country },
        connectOf(c.env),
      );
      return c.json(viewOnboarding(started), started.is_new ? 201 : 200);
    },
  }),
  route("POST /api/v1/partners/:id/provider-a-account/forget", {
    operation: "forgetPartnerAccount",
    tag: "Partners",
    scope: ["payouts"],
    summary: "Forget a partner's connected account",
    description: "The next onboarding makes a new account. Payouts that exist keep the old one.",
    body: json("AccountForget", accountForget),
    reply: ok("Partner", "The partner, without an account."),
    errors: ["not_found", "invalid_transition"],
    view: viewPartner,
    handle: ({ ctx, params, body }) => forgetAccount(ctx, params.id, body.account_id),
  }),
];
