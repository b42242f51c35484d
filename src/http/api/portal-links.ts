import { Hono } from "hono";
import { createPortalLink } from "../../core/sessions/portal-links.ts";
import type { AppEnv } from "../../env.ts";
import { publicUrl } from "../../lib/public-url.ts";
import { nothing, optionalJson } from "../optional-json.ts";

/** `/api/v1/partners/:id/portal-links` (EMBED-1). */
export const portalLinks = new Hono<AppEnv>().post("/:id/portal-links", optionalJson(nothing), async (c) => {
  const origin = publicUrl(c.env);
  const { token, expires_at } = await createPortalLink(c.var.ctx, c.req.param("id"));
  return c.json({ url: `${origin}/embed?token=${token}`, expires_at }, 201);
});
