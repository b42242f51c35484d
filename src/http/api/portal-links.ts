import { createPortalLink } from "../../core/sessions/portal-links.ts";
import { publicUrl } from "../../lib/public-url.ts";
import { created, NOTHING, route } from "../route.ts";

/** `/api/v1/partners/:id/portal-links` (EMBED-1). */
export const portalLinks = [
  route("POST /api/v1/partners/:id/portal-links", {
    operation: "createPartnerPortalLink",
    tag: "Partners",
    // A holder of the link can read everything that the partner can read.
    scope: ["write", "read"],
    summary: "Create a one-time portal link",
    description:
      "For a page of your own: valid for 5 minutes and one use, without an e-mail. In a frame on your program's domain, it shows the portal at once; opened as a page, it asks first. The session can do everything but see or change payout details, other sessions and other accounts.",
    body: NOTHING,
    reply: created("SignInLink", "The link, valid for one use."),
    errors: ["not_found", "invalid_transition", "not_configured"],
    handle: async ({ ctx, params, c }) => {
      const origin = publicUrl(c.env);
      const { token, expires_at } = await createPortalLink(ctx, params.id);
      return { url: `${origin}/embed?token=${token}`, expires_at };
    },
  }),
];
