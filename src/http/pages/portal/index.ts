import { Hono } from "hono";
import { refuseLimited, requireSession, type PageEnv } from "../../session.ts";
import { mails } from "../mails.tsx";
import { sessions } from "../sessions.tsx";
import { assets } from "./assets.tsx";
import { claims } from "./claims.tsx";
import { commissions } from "./commissions.tsx";
import { details } from "./details.tsx";
import { overview } from "./overview.tsx";
import { payoutDetail } from "./payout-detail.tsx";
import { payouts } from "./payouts.tsx";
import { ownTaxDataPage } from "./tax-data.tsx";
import { statistics } from "./statistics.tsx";

/** `/portal`: the partner's pages (PAGE-8). The session alone selects the partner, never the address or a form. */
export const portal = new Hono<PageEnv>()
  .use("*", requireSession("partner"))
  .use("/details/*", refuseLimited())
  .route("/", overview)
  .route("/commissions", commissions)
  .route("/claims", claims)
  .route("/payouts", payouts)
  .route("/payouts", payoutDetail)
  .route("/statistics", statistics)
  .route("/assets", assets)
  .route("/details/sessions", sessions("/portal/details"))
  .route("/details/mails", mails("/portal/details"))
  .route("/details/tax-data", ownTaxDataPage)
  .route("/details", details);
