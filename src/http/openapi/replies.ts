import * as z from "zod";
import { installation } from "./installation-replies.ts";
import type { ClickSummary, Dropped } from "../../core/clicks/summary.ts";
import type { Erased } from "../../core/customers/erase.ts";
import type { Recovered } from "../../core/webhooks/actions.ts";
import type { AttemptRecord, DeliveryRecord } from "../../core/webhooks/history.ts";
import type { MadeDestination } from "../../core/inbound/destination.ts";
import type { ReadingStatus } from "../../core/inbound/reading.ts";
import type { ProviderStatus } from "../../core/overview/integrations.ts";
import type {
  CurrencyStats,
  PingData,
  viewApiKey,
  viewEndpoint,
  viewEvent,
  viewCode,
  viewFlow,
  viewPartner,
  viewProgram,
  viewStats,
} from "../../core/kernel/views.ts";
import type { CodeStats } from "../../core/partners/code-stats.ts";
import { ACTOR_TYPES } from "../../domain/actor.ts";
import { APPLICATION_MODES } from "../../domain/application.ts";
import { ATTEMPT_ERRORS, DELIVERY_STATUSES } from "../../domain/delivery.ts";
import { ALL_IMPORT_FIELDS, IMPORT_KINDS } from "../../domain/import-columns.ts";
import { IMPORT_PRODUCT_IDS } from "../../domain/import-product.ts";
import { SENT_EVENT_TYPES, SUBSCRIPTIONS } from "../../domain/event.ts";
import { CONDITION_FIELDS, CONDITION_OPS, FLOW_ACTION_TYPES, FLOW_EVENTS, type Condition } from "../../domain/flow.ts";
import { PARTNER_STATUSES, PAYOUT_METHODS } from "../../domain/partner.ts";
import { EVENT_OUTCOMES } from "../../domain/payment.ts";
import { ASSET_KINDS } from "../../domain/asset.ts";
import { SCOPES } from "../../domain/scope.ts";
import { ATTRIBUTIONS, CODE_PRECEDENCES, SALE_AMOUNTS } from "../../domain/program.ts";
import { REFUSAL_REASONS } from "../../domain/refusal.ts";
import { AUDIT_EVENT_TYPES, byVendor, bySecretSet, VENDOR_NAMES } from "../../providers/registry.ts";
import type { ErrorDetail } from "../../lib/errors.ts";
import { ERROR_CODES } from "../errors.ts";
import { ROW_OUTCOMES, type viewImport } from "../import/report.ts";
import { allOf, bag, cents, currencyCode, idOf, listOf, once, prefixed, shows, timestamp } from "./fields.ts";
import { applicationReplies } from "./application-replies.ts";
import { health } from "./health-reply.ts";
import { moneyReplies } from "./money-replies.ts";
import { readingFields } from "./reading-reply.ts";
import { teamReplies } from "./team-replies.ts";
import { percentage } from "../validate.ts";

const error = once(() =>
  z.strictObject({
    error: z.strictObject({
      code: z.enum(ERROR_CODES),
      message: z.string(),
      details: z
        .array(
          shows<ErrorDetail>()({
            path: z.string().describe("Where in the input: `conditions.0.value`."),
            message: z.string(),
          }),
        )
        .optional(),
      request_id: idOf("request").describe(
        "The same as in the header `X-Request-Id`; in a reply that is replayed, the first request's.",
      ),
    }),
  }),
);

const program = once(() =>
  shows<ReturnType<typeof viewProgram>>()({
    id: idOf("program"),
    name: z.string(),
    owner_email: z.string(),
    domain: z.string().nullable(),
    currency: currencyCode,
    default_commission_pct: percentage,
    payout_term: z.string(),
    min_payout_cents: cents,
    cookie_days: z.int(),
    attribution: z.enum(ATTRIBUTIONS),
    code_precedence: z.enum(CODE_PRECEDENCES),
    auto_approve_days: z
      .int()
      .nullable()
      .describe(
        "How many days after the payment, or after its first report if that is later, a commission without a flag is approved. Null: commissions are approved by hand.",
      ),
    live_only: z.boolean(),
    brand_color: z.string().nullable(),
    time_zone: z.string(),
    applications: z.enum(APPLICATION_MODES),
    slug: z.string().nullable(),
    questions: z.array(z.string()),
    terms: z.string().nullable(),
    terms_version: z.int().describe("Counts up when the terms change."),
    sale_amounts: z.enum(SALE_AMOUNTS),
    assets: z.array(z.object({ name: z.string(), kind: z.enum(ASSET_KINDS), content: z.string() })),
    ...bySecretSet(() => z.boolean()),
    api_key_last4: z.string(),
    api_key_last_used_at: timestamp.nullable(),
    created_at: timestamp,
    updated_at: timestamp,
  }),
);

const apiKeyFields = once(() => ({
  id: idOf("api_key"),
  program_id: idOf("program"),
  name: z.string().describe("What the key is for; the audit log shows this name."),
  scopes: z.array(z.enum(SCOPES)).describe("What the key may do."),
  last4: z.string().describe("The last four characters of the key."),
  created_at: timestamp,
  expires_at: timestamp.nullable().describe("When the key stops working; null: never."),
  last_used_at: timestamp.nullable().describe("When the key was last used, to the hour; null: never."),
}));

const apiKey = once(() => shows<ReturnType<typeof viewApiKey>>()(apiKeyFields()));

const partnerFields = once(() => ({
  id: idOf("partner"),
  program_id: idOf("program"),
  email: z.string(),
  first_name: z.string().nullable(),
  last_name: z.string().nullable(),
  slug: z.string(),
  status: z.enum(PARTNER_STATUSES),
  commission_pct: percentage.nullable(),
  payout_method: z.enum(PAYOUT_METHODS).nullable(),
  payout_email: z.string().nullable().describe("Masked for a key without the scope `payouts`."),
  provider_a_account_id: z.string().nullable().describe("Masked for a key without the scope `payouts`."),
  metadata: bag.nullable(),
  created_at: timestamp,
  updated_at: timestamp,
}));

const partner = once(() => shows<ReturnType<typeof viewPartner>>()(partnerFields()));

const sums = once(() => ({
  total_commissions: z.int(),
  total_earned_cents: cents,
  pending_cents: cents,
  approved_cents: cents,
  paid_cents: cents,
}));

const stats = once(() =>
  shows<ReturnType<typeof viewStats>>()({
    ...sums(),
    clicks: z.int(),
    other_currencies: z.array(shows<CurrencyStats>()({ currency: currencyCode, ...sums() })),
  }),
);

const flow = once(() =>
  shows<ReturnType<typeof viewFlow>>()({
    id: idOf("flow"),
    program_id: idOf("program"),
    name: z.string(),
    event: z.enum(FLOW_EVENTS),
    action_type: z.enum(FLOW_ACTION_TYPES),
    action_value: z.number(),
    conditions: z.array(
      shows<Condition>()({
        field: z.enum(CONDITION_FIELDS),
        op: z.enum(CONDITION_OPS),
        value: z.union([z.number(), z.string()]),
      }),
    ),
    priority: z.number(),
    active: z.boolean(),
    created_at: timestamp,
    updated_at: timestamp,
  }),
);

const code = once(() =>
  shows<ReturnType<typeof viewCode>>()({
    id: idOf("code"),
    program_id: idOf("program"),
    partner_id: idOf("partner"),
    provider: z.enum(VENDOR_NAMES),
    code: z.string(),
    provider_code_id: z.string().nullable(),
    created_at: timestamp,
  }),
);

const codeStats = once(() =>
  shows<CodeStats>()({
    code_id: idOf("code"),
    partner_id: idOf("partner"),
    provider: z.enum(VENDOR_NAMES),
    code: z.string(),
    ended_at: timestamp.nullable().describe("When the partner lost the code; null while the partner has it."),
    currency: currencyCode,
    sales: z.int().describe("Payments that the code decided."),
    revenue_cents: cents.describe("Their revenue, net of tax and refunds. Smallest units of the currency."),
    earned_cents: cents.describe(
      "The partner's commissions for them that are not rejected. Smallest units of the currency.",
    ),
  }),
);

const event = once(() =>
  shows<ReturnType<typeof viewEvent>>()({
    id: idOf("event"),
    program_id: idOf("program"),
    type: z.enum(AUDIT_EVENT_TYPES),
    payload: bag.describe(
      "Its fields depend on the type. A click has `ref`, `landing`, `referrer`, `partner_id`, `sub` if the link has one, and `country`: the visitor's (ISO 3166-1 alpha-2), null if it is not known.",
    ),
    actor: z
      .strictObject({
        type: z.enum(ACTOR_TYPES),
        id: z.string().nullable().describe("A partner's id, a member's address, or the id of a provider's event."),
        name: z.string().nullable(),
      })
      .nullable()
      .describe("Who did it; null for events from before this was recorded."),
    changes: z
      .record(z.string(), z.tuple([z.unknown(), z.unknown()]))
      .nullable()
      .describe("For a change, each field's old and new value; secrets and payout details are masked."),
    created_at: timestamp,
  }),
);

const dropped = once(() =>
  shows<Dropped>()({
    bot: z.int(),
    duplicate: z.int(),
    flood: z.int(),
    unknown_ref: z.int(),
    partner_deactivated: z.int(),
    over_budget: z.int(),
    database_full: z.int(),
  }).exactOptional(),
);

const clickSummary = once(() =>
  shows<ClickSummary>()({
    data: z.array(shows<ClickSummary["data"][number]>()({ day: z.iso.date(), recorded: z.int(), dropped: dropped() })),
    recorded: z.int(),
    dropped: dropped(),
  }),
);

const endpointFields = once(() => ({
  id: idOf("endpoint"),
  program_id: idOf("program"),
  url: z.string(),
  events: z.array(z.enum(SUBSCRIPTIONS)),
  description: z.string().nullable(),
  active: z.boolean(),
  disabled_at: timestamp.nullable().describe("When it was disabled because deliveries failed."),
  created_at: timestamp,
  updated_at: timestamp,
}));

const endpoint = once(() => shows<ReturnType<typeof viewEndpoint>>()(endpointFields()));

const secret = once(() => prefixed("whsec_").describe("The signing secret; no other reply shows it."));

/** `data` of a ping; that of the other events are objects of the API. */
const pingData = once(() =>
  shows<PingData>()({ id: idOf("event"), endpoint_id: idOf("endpoint"), description: z.string().nullable() }),
);

const delivery = once(() =>
  shows<DeliveryRecord>()({
    id: idOf("delivery"),
    event_id: idOf("event"),
    event: z.enum(SENT_EVENT_TYPES),
    status: z.enum(DELIVERY_STATUSES),
    attempt_count: z.int(),
    next_attempt_at: timestamp.nullable(),
    created_at: timestamp,
    completed_at: timestamp.nullable(),
    payload: bag.nullable().describe("What was signed and sent; null once it has been deleted."),
    attempts: z.array(
      shows<AttemptRecord>()({
        number: z.int(),
        started_at: timestamp,
        duration_ms: z.int(),
        status_code: z.int().nullable(),
        error: z.enum(ATTEMPT_ERRORS).nullable(),
        response_excerpt: z.string().nullable(),
      }),
    ),
  }),
);

const provider = once(() =>
  shows<ProviderStatus>()({
    configured: z.boolean().describe("Whether a secret is set and a verified event has arrived."),
    webhook_secret_set: z.boolean(),
    last_event_at: timestamp.nullable(),
    is_last_event_test: z.boolean().describe("Whether the last event was from the provider's test mode."),
    last_connected_event_at: timestamp
      .optional()
      .describe("When an event of a connected account last arrived. Such events are ignored. Absent if none did."),
    event_types: z
      .array(
        z.strictObject({
          type: z.string(),
          need: z.enum(["required", "recommended", "none"]),
          last_seen_at: timestamp
            .nullable()
            .describe("When one last arrived, to the day; null if none did within 30 days."),
        }),
      )
      .describe("The event types to select at the provider, then others that arrived within 30 days."),
    refused: z.int().min(0).describe("How many deliveries were refused so far; the last minute may be missing."),
    last_refusal: z
      .strictObject({ at: timestamp, reason: z.enum(REFUSAL_REASONS) })
      .nullable()
      .describe("The last delivery that was refused, and why."),
    ...readingFields(),
  }),
);

const destination = () =>
  shows<MadeDestination>()({
    provider: z.enum(VENDOR_NAMES),
    destination_id: z.string().describe("The provider's id of the destination."),
    url: z.string(),
    outcome: z.enum(["created", "updated", "unchanged"]),
    event_types_added: z.array(z.string()).describe("Event types that it did not receive before."),
    test: z.boolean().describe("Whether it only receives events from the provider's test mode."),
    secret: z
      .enum(["stored", "kept", "unverified"])
      .describe(
        "`stored` by this call; `kept`: its secret was stored before; `unverified`: one that was pasted is stored, and the provider shows none to compare it with.",
      ),
    not_removed: z.int().min(0).describe("How many other destinations with the same URL the provider did not remove."),
    other_programs: z
      .int()
      .min(0)
      .describe(
        "How many active destinations of other programs here the account has: each of its events goes to all of them.",
      ),
  });

const imported = () =>
  shows<ReturnType<typeof viewImport>>()({
    kind: z.enum(IMPORT_KINDS),
    product: z.enum(IMPORT_PRODUCT_IDS),
    dry_run: z.boolean().describe("True: nothing was changed, and the counts are what would happen."),
    data_param: z
      .string()
      .nullable()
      .describe("The script's `data-param` that keeps old links working; null if none is needed."),
    lines: z.int().describe("Lines below the column names; the five counts below add up to it."),
    added: z.int().describe("New partners, or customers bound to a partner."),
    completed: z.int().describe("Lines that added something to an existing partner."),
    unchanged: z.int().describe("Lines that changed nothing."),
    left_out: z.int().describe("Lines that were left out, such as a customer of another partner."),
    refused: z.int().describe("Lines with a mistake."),
    columns: z.array(
      z.strictObject({ column: z.string(), taken_as: z.enum(ALL_IMPORT_FIELDS).nullable(), unread: z.int() }),
    ),
    problems: z
      .array(
        z.strictObject({
          line: z.int().describe("Counted from 1, the column names included."),
          column: z.string().nullable(),
          outcome: z.enum(ROW_OUTCOMES),
          message: z.string(),
        }),
      )
      .describe("The lines left out and refused, and why; the first 500."),
    notes: z
      .array(z.strictObject({ line: z.int(), column: z.string(), message: z.string() }))
      .describe("Cells that were left out, and choices such as one of two payout addresses; the first 500."),
  });

const integrations = () =>
  z.strictObject({
    ...byVendor(() => provider().describe("The connection to this provider.")),
    reconciled_at: timestamp
      .nullable()
      .describe(
        "When the daily check of the ledger last found no difference beside reversed transfers that it had reported.",
      ),
    differences: z.int().min(0).describe("How many differences the check found that still exist, at most 100."),
    deliveries_left: z
      .int()
      .min(0)
      .describe("How many deliveries to webhook endpoints it found more than an hour late, at most 100."),
    email: z.strictObject({
      configured: z.boolean().meta({ description: "Whether the deployment sends e-mail." }),
      last_refusal: z
        .strictObject({
          at: timestamp.meta({ description: "When it was tried." }),
          reason: z.string().nullable().meta({ description: "What the e-mail service answered." }),
        })
        .nullable()
        .meta({ description: "The last e-mail of this program that was not accepted." }),
    }),
  });

const shownKey = () => prefixed("sk_").describe("The key; no other reply shows it.");

/** What every route answers with, by the name the document gives it. Strict: a field more is not as documented. */
export const replies = once(() => ({
  Error: error(),
  Health: health(),
  Program: program(),
  ProgramList: listOf(program()),
  ProgramWithKey: z.strictObject({ program: program(), api_key: shownKey() }),
  ApiKeyList: allOf(apiKey()),
  ApiKeyWithText: z.strictObject({ ...apiKeyFields(), api_key: shownKey() }),
  SignInLink: z.strictObject({ url: z.string(), expires_at: timestamp }),
  Resealing: z.strictObject({
    resealed: z.int().min(0).describe("How many values this call resealed."),
    left: z.int().min(0).describe("How many values are not sealed with the current key yet."),
    unreadable: z
      .array(z.strictObject({ program_id: z.string(), field: z.string(), id: z.string() }))
      .describe("The values that no configured key opens, at most 100; they are left unchanged."),
  }),
  ...{ Integrations: integrations(), Installation: installation() },
  ListReading: shows<ReadingStatus>()(readingFields()),
  Destination: destination(),
  Partner: partner(),
  PartnerList: listOf(partner()),
  PartnerWithStats: z.strictObject({ ...partnerFields(), stats: stats() }),
  Onboarding: z.strictObject({
    partner_id: idOf("partner"),
    provider_a_account_id: z.string().nullable(),
    url: z.string().describe("The provider's hosted page, for this partner only."),
    expires_at: timestamp,
  }),
  ...{ Code: code(), CodeList: allOf(code()), CodeSummary: allOf(codeStats()) },
  Flow: flow(),
  FlowList: allOf(flow()),
  ClickTaken: z.strictObject({
    known: z
      .boolean()
      .nullable()
      .describe(
        "Whether the script should keep the new reference: it leads to an active partner and, with `first`, the one in `kept` does not. Null if that is not known yet.",
      ),
  }),
  ClickSummary: clickSummary(),
  Event: event(),
  EventList: listOf(event()),
  ...{ Endpoint: endpoint(), EndpointList: allOf(endpoint()) },
  EndpointWithSecret: z.strictObject({ ...endpointFields(), secret: secret() }),
  EndpointWithNewSecret: z.strictObject({
    ...endpointFields(),
    secret: secret(),
    previous_secret_valid_until: timestamp.nullable(),
  }),
  EndpointWithDeliveries: z.strictObject({ ...endpointFields(), deliveries: z.array(delivery()) }),
  PingData: pingData(),
  Delivery: delivery(),
  DeliveryList: listOf(delivery()),
  Recovered: shows<Recovered>()({ recovered: z.int(), has_more: z.boolean() }),
  Deleted: z.strictObject({ id: z.string(), deleted: z.literal(true) }),
  Import: imported(),
  Erased: z.strictObject({
    erased: shows<Erased>()({ payments: z.int(), commissions: z.int(), provider_events: z.int() }),
  }),
  Received: z.strictObject({
    received: z.literal(true),
    outcome: z.enum(EVENT_OUTCOMES),
    reason: z.string().optional().describe("Why the event was ignored."),
  }),
  ...{ ...teamReplies(), ...applicationReplies() },
  ...moneyReplies(),
}));

export type ReplyName = keyof ReturnType<typeof replies>;
