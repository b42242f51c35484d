import * as z from "zod";
import { CLICK_ID_PATTERN, PROGRAM_ID_PATTERN } from "../../domain/click.ts";
import { SLUG_PATTERN } from "../../domain/partner.ts";
import type { ProviderName } from "../../domain/provider-name.ts";
import type { WebhookDocument } from "../../providers/provider.ts";
import { VENDORS, type ListedVendor } from "../../providers/registry.ts";
import { linkCreate, programCreate, reconcileBody } from "../admin.ts";
import { apiKeyCreate } from "../api/api-keys.ts";
import { applicationDecline, applicationsDecide } from "../api/applications.ts";
import { claimDecline, claimGrant } from "../api/claims.ts";
import { codeCreate } from "../api/codes.ts";
import { commissionBulk, commissionCreate, commissionPatch } from "../api/commissions.ts";
import { erasure } from "../api/customers.ts";
import { leadReport, refundReport, saleReport } from "../api/facts.ts";
import { flowCreate, flowPatch, simulation } from "../api/flows.ts";
import { memberCreate, memberPatch } from "../api/members.ts";
import { accountForget, onboardingStart } from "../api/onboarding.ts";
import { partnerCreate, partnerPatch } from "../api/partners.ts";
import { payoutConclude, payoutGenerate, payoutMarkPaid } from "../api/payouts.ts";
import { programPatch } from "../api/programs.ts";
import { recoverBody } from "../api/webhook-actions.ts";
import { endpointCreate, endpointPatch } from "../api/webhooks.ts";
import { destinationMake, listReadBody } from "../api/integrations.ts";
import { nothing } from "../optional-json.ts";

/** What `domain/click.ts` reads by hand, because it runs once per click; a test holds the two together. */
const click = z.strictObject({
  program_id: z.string().regex(PROGRAM_ID_PATTERN),
  ref: z.string().regex(SLUG_PATTERN).describe("The partner's slug."),
  landing: z.string().regex(/^\//).optional().describe("The path of the page that the visitor arrived at."),
  referrer: z
    .string()
    .regex(/^$|^[A-Za-z][A-Za-z0-9+.-]*:\/\/[^\s/]/)
    .optional()
    .describe("The page the visitor came from, or empty."),
  sub: z
    .string()
    .optional()
    .describe("Where the partner placed the link: 1 to 64 letters, digits, - or _; anything else is ignored."),
  id: z
    .string()
    .regex(CLICK_ID_PATTERN)
    .optional()
    .describe("An id that stays the same on a retry, so that the click counts once."),
});

/** `ProviderAEvent`: the name that the document gives to the events of a provider. */
export type EventSchemaName = SchemaNameOf<ListedVendor>;
type SchemaNameOf<P extends string> = P extends `provider_${infer Own}` ? `Provider${Capitalize<Own>}Event` : never;

export function eventSchemaName(name: ProviderName): EventSchemaName {
  const own = name.slice("provider_".length);
  return `Provider${own.charAt(0).toUpperCase()}${own.slice(1)}Event` as EventSchemaName;
}

const OWN_REQUESTS = {
  ProgramCreate: programCreate,
  SignInLinkCreate: linkCreate,
  Reconcile: reconcileBody,
  ProgramUpdate: programPatch,
  ApiKeyCreate: apiKeyCreate,
  MemberCreate: memberCreate,
  MemberUpdate: memberPatch,
  PartnerCreate: partnerCreate,
  PartnerUpdate: partnerPatch,
  OnboardingStart: onboardingStart,
  AccountForget: accountForget,
  ApplicationDecline: applicationDecline,
  ApplicationsDecide: applicationsDecide,
  CodeCreate: codeCreate,
  FlowCreate: flowCreate,
  FlowUpdate: flowPatch,
  FlowSimulate: simulation,
  LeadReport: leadReport,
  SaleReport: saleReport,
  RefundReport: refundReport,
  CommissionCreate: commissionCreate,
  CommissionUpdate: commissionPatch,
  CommissionBulk: commissionBulk,
  ClaimGrant: claimGrant,
  ClaimDecline: claimDecline,
  PayoutGenerate: payoutGenerate,
  PayoutMarkPaid: payoutMarkPaid,
  PayoutConclude: payoutConclude,
  EndpointCreate: endpointCreate,
  EndpointUpdate: endpointPatch,
  Recover: recoverBody,
  ListRead: listReadBody,
  DestinationMake: destinationMake,
  Nothing: nothing,
  CustomerErase: erasure,
  ImportFile: z
    .string()
    .describe("A CSV file with a header line: UTF-8, UTF-16 or Windows-1252; 1 MiB and 5,000 lines at most."),
  Click: click,
} as const;

export type RequestName = keyof typeof OWN_REQUESTS | EventSchemaName;

/** Every request body by the name the document gives it: the schemas that validate, and the providers' events. */
export const REQUESTS: Readonly<Record<RequestName, z.ZodType>> = {
  ...OWN_REQUESTS,
  ...eventSchemas(({ event }) => event),
};

/** Gives the schema of each vendor's events a value. */
export function eventSchemas<T>(valueOf: (document: WebhookDocument) => T): Record<EventSchemaName, T> {
  const entries = VENDORS.map(({ name, document }) => [eventSchemaName(name), valueOf(document)]);
  return Object.fromEntries(entries) as Record<EventSchemaName, T>;
}
