import { Hono } from "hono";
import { requireRight, requireSession, type PageEnv } from "../../session.ts";
import { limitFiles } from "../limited.ts";
import { failedMails, mails } from "../mails.tsx";
import { passkeys } from "../passkeys.tsx";
import { proofFor, rightOfRoute } from "../rights.tsx";
import { sessions } from "../sessions.tsx";
import { apiKeys } from "./settings/api-keys.tsx";
import { applications } from "./applications/list.tsx";
import { claims } from "./claims.tsx";
import { clicks } from "./events/clicks.tsx";
import { codes } from "./payments/codes.tsx";
import { commissionsChosen, commissionsMatching } from "./commissions/bulk.tsx";
import { commissionNew } from "./commissions/new.tsx";
import { commissions } from "./commissions/list.tsx";
import { customers } from "./customers.tsx";
import { events } from "./events/list.tsx";
import { flows } from "./flows/list.tsx";
import { integration } from "./integration/integration.tsx";
import { integrationCheck } from "./integration/check.tsx";
import { leads } from "./payments/leads.tsx";
import { overview } from "./overview/overview.tsx";
import { partnerCodes } from "./partners/codes.tsx";
import { partnerPayoutDetails } from "./partners/payout-details.tsx";
import { groups } from "./partners/groups.tsx";
import { partnerImport } from "./partners/import.tsx";
import { partnerTaxData } from "./partners/tax-data.tsx";
import { partners } from "./partners/list.tsx";
import { payments } from "./payments/list.tsx";
import { payoutAsk } from "./payouts/ask.tsx";
import { payoutExportPages } from "./payouts/exports.tsx";
import { payoutMatching } from "./payouts/matching.tsx";
import { payoutNew } from "./payouts/new.tsx";
import { exportResults } from "./payouts/results.tsx";
import { payoutPay } from "./payouts/pay.tsx";
import { payoutStatement } from "./payouts/statement.tsx";
import { payouts } from "./payouts/list.tsx";
import { search } from "./search.tsx";
import { settings } from "./settings/settings.tsx";
import { team } from "./settings/team.tsx";
import { webhooks } from "./webhooks/list.tsx";

/** `/dashboard`: the owner's pages (PAGE-7). They call the verbs of core, as the API does. */
export const dashboard = new Hono<PageEnv>()
  .use("*", requireSession("owner"), requireRight({ of: rightOfRoute, proofPage: proofFor }), limitFiles())
  .route("/", overview)
  .route("/partners/import", partnerImport)
  .route("/partners/applications", applications)
  .route("/partners/groups", groups)
  .route("/partners", partners)
  .route("/partners", partnerCodes)
  .route("/partners", partnerPayoutDetails)
  .route("/partners", partnerTaxData)
  .route("/flows", flows)
  .route("/commissions/bulk", commissionsChosen)
  .route("/commissions/matching", commissionsMatching)
  .route("/commissions/new", commissionNew)
  .route("/commissions", commissions)
  .route("/payments/codes", codes)
  .route("/payments/leads", leads)
  .route("/payments", payments)
  .route("/customers", customers)
  .route("/claims", claims)
  .route("/search", search)
  .route("/payouts/new", payoutNew)
  .route("/payouts/ask", payoutAsk)
  .route("/payouts/exports", payoutExportPages)
  .route("/payouts/exports", exportResults)
  .route("/payouts/matching", payoutMatching)
  .route("/payouts/pay", payoutPay)
  .route("/payouts", payoutStatement)
  .route("/payouts", payouts)
  .route("/events/clicks", clicks)
  .route("/events", events)
  .route("/webhooks", webhooks)
  .route("/integration/check", integrationCheck)
  .route("/integration", integration)
  .route("/settings/sessions/passkeys", passkeys)
  .route("/settings/sessions", sessions("/dashboard/settings"))
  .route("/settings/mails", mails("/dashboard/settings"))
  .route("/settings/mails", failedMails)
  .route("/settings/keys", apiKeys)
  .route("/settings/team", team)
  .route("/settings", settings);
