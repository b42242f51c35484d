import * as z from "zod";
import { CLICK_ID_PATTERN, PROGRAM_ID_PATTERN } from "../../domain/click.ts";
import { SLUG_PATTERN } from "../../domain/partner.ts";
import { linkCreate, programCreate, reconcileBody } from "../admin.ts";
import { commissionBulk, commissionCreate, commissionPatch } from "../api/commissions.ts";
import { erasure } from "../api/customers.ts";
import { flowCreate, flowPatch, simulation } from "../api/flows.ts";
import { onboardingStart } from "../api/onboarding.ts";
import { partnerCreate, partnerPatch } from "../api/partners.ts";
import { payoutGenerate, payoutMarkPaid } from "../api/payouts.ts";
import { programPatch } from "../api/programs.ts";
import { recoverBody } from "../api/webhook-actions.ts";
import { endpointCreate, endpointPatch } from "../api/webhooks.ts";
import { nothing } from "../optional-json.ts";

/** What `domain/click.ts` reads by hand, because it runs once per click; a test holds the two together. */
const click = z.strictObject({
  program_id: z.string().regex(PROGRAM_ID_PATTERN),
  ref: z.string().regex(SLUG_PATTERN).describe("The partner's slug."),
  landing: z.string().regex(/^\//).optional().describe("The path the visitor arrived at."),
  referrer: z
    .string()
    .regex(/^$|^[A-Za-z][A-Za-z0-9+.-]*:\/\/[^\s/]/)
    .optional()
    .describe("The page the visitor came from, or empty."),
  id: z.string().regex(CLICK_ID_PATTERN).optional().describe("The same on a retry, so that it counts once."),
});

/** Read by the vendor's own format; what is not needed is not looked at. */
const providerAEvent = z.looseObject({
  id: z.string(),
  type: z.string().describe("`checkout.session.completed`, `invoice.paid`, `charge.refunded`, …"),
  created: z.union([z.int(), z.string()]),
  data: z.looseObject({ object: z.looseObject({}) }).optional(),
});

const providerBEvent = z.looseObject({
  event_id: z.string(),
  event_type: z.string().describe("`transaction.completed`, `subscription.canceled`, `adjustment.updated`, …"),
  occurred_at: z.string(),
  data: z.looseObject({}).optional(),
});

/** Every request body by the name the document gives it: the schemas that validate. */
export const REQUESTS = {
  ProgramCreate: programCreate,
  SignInLinkCreate: linkCreate,
  Reconcile: reconcileBody,
  ProgramUpdate: programPatch,
  PartnerCreate: partnerCreate,
  PartnerUpdate: partnerPatch,
  OnboardingStart: onboardingStart,
  FlowCreate: flowCreate,
  FlowUpdate: flowPatch,
  FlowSimulate: simulation,
  CommissionCreate: commissionCreate,
  CommissionUpdate: commissionPatch,
  CommissionBulk: commissionBulk,
  PayoutGenerate: payoutGenerate,
  PayoutMarkPaid: payoutMarkPaid,
  EndpointCreate: endpointCreate,
  EndpointUpdate: endpointPatch,
  Recover: recoverBody,
  Nothing: nothing,
  CustomerErase: erasure,
  ImportFile: z
    .string()
    .describe("A CSV with a head line: UTF-8, UTF-16 or Windows-1252; 1 MiB and 5,000 lines at most."),
  Click: click,
  ProviderAEvent: providerAEvent,
  ProviderBEvent: providerBEvent,
} as const;

export type RequestName = keyof typeof REQUESTS;
