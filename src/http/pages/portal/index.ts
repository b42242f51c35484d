import { Hono } from "hono";
import { requireSession, type PageEnv } from "../../session.ts";
import { sessions } from "../sessions.tsx";
import { commissions } from "./commissions.tsx";
import { details } from "./details.tsx";
import { overview } from "./overview.tsx";
import { payouts } from "./payouts.tsx";

/**
 * `/portal`: the partner's pages (PAGE-8). Whose objects they show comes from the session alone, never from the
 * address or a form.
 */
export const portal = new Hono<PageEnv>()
  .use("*", requireSession("partner"))
  .route("/", overview)
  .route("/commissions", commissions)
  .route("/payouts", payouts)
  .route("/details/sessions", sessions("/portal/details", "Payout details"))
  .route("/details", details);
