import { admin } from "./admin.ts";
import { apiKeys } from "./api/api-keys.ts";
import { applications } from "./api/applications.ts";
import { claims } from "./api/claims.ts";
import { clicks } from "./api/clicks.ts";
import { codes, partnerCodes } from "./api/codes.ts";
import { commissions } from "./api/commissions.ts";
import { customers } from "./api/customers.ts";
import { events } from "./api/events.ts";
import { exchangeRates } from "./api/exchange-rates.ts";
import { facts } from "./api/facts.ts";
import { flows } from "./api/flows.ts";
import { groups } from "./api/groups.ts";
import { imports } from "./api/imports.ts";
import { integrations } from "./api/integrations.ts";
import { members } from "./api/members.ts";
import { onboarding } from "./api/onboarding.ts";
import { partners } from "./api/partners.ts";
import { payments } from "./api/payments.ts";
import { payoutExports } from "./api/payout-exports.ts";
import { payoutDetails } from "./api/payout-details.ts";
import { payoutResults } from "./api/payout-results.ts";
import { payouts } from "./api/payouts.ts";
import { portalLinks } from "./api/portal-links.ts";
import { products } from "./api/products.ts";
import { programs } from "./api/programs.ts";
import { statements } from "./api/statements.ts";
import { taxData } from "./api/tax-data.ts";
import { webhookActions } from "./api/webhook-actions.ts";
import { webhooks } from "./api/webhooks.ts";
import type { Route } from "./route.ts";

/** Every route of the API, in the order of the document; of two with one address the first answers. */
export const API: readonly Route[] = [
  ...apiKeys,
  ...programs,
  ...integrations,
  ...partners,
  ...payoutDetails,
  ...taxData,
  ...groups,
  ...onboarding,
  ...portalLinks,
  ...applications,
  ...partnerCodes,
  ...codes,
  ...imports,
  ...products,
  ...flows,
  ...clicks,
  ...events,
  ...webhooks,
  ...webhookActions,
  ...members,
  ...payments,
  ...facts,
  ...commissions,
  ...claims,
  ...payoutExports,
  ...payoutResults,
  ...statements,
  ...exchangeRates,
  ...payouts,
  ...customers,
];

/** Those of the API and of the operator. */
export const ROUTES: readonly Route[] = [...API, ...admin];
