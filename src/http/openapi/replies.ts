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
  viewProduct,
  viewFlow,
  viewGroup,
  PartnerView,
  viewProgram,
  viewStats,
} from "../../core/kernel/views.ts";
import type { Member } from "../../core/kernel/rows.ts";
import type { CodeStats } from "../../core/partners/code-stats.ts";
import type { StoredDetails } from "../../core/partners/payout-details.ts";
import { ATTEMPT_ERRORS, DELIVERY_STATUSES } from "../../domain/delivery.ts";
import { ALL_IMPORT_FIELDS, IMPORT_KINDS } from "../import/columns.ts";
import { IMPORT_PRODUCT_IDS } from "../import/product.ts";
import { PAYOUT_METHODS, TRANSFER_METHOD } from "../../domain/partner.ts";
import { SENT_EVENT_TYPES } from "../../domain/event.ts";
import { EVENT_OUTCOMES } from "../../domain/payment.ts";
import { REFUSAL_REASONS } from "../../domain/refusal.ts";
import { byVendor, bySecretSet, VENDOR_NAMES } from "../../providers/registry.ts";
import type { ErrorDetail } from "../../lib/errors.ts";
import { ERROR_CODES } from "../errors.ts";
import { ROW_OUTCOMES, type viewImport } from "../import/report.ts";
import { CODE } from "../../resources/code.ts";
import { PRODUCT } from "../../resources/product.ts";
import { ENDPOINT } from "../../resources/endpoint.ts";
import { EVENT } from "../../resources/event.ts";
import { readShape } from "../../resources/field.ts";
import { FLOW } from "../../resources/flow.ts";
import { GROUP } from "../../resources/group.ts";
import { bag, cents, currencyCode, idOf, prefixed, timestamp } from "../../resources/output.ts";
import { PARTNER } from "../../resources/partner.ts";
import { PROGRAM } from "../../resources/program.ts";
import { API_KEY, MEMBER } from "../../resources/team.ts";
import { allOf, listOf, once, shows } from "./fields.ts";
import { applicationReplies } from "./application-replies.ts";
import { health } from "./health-reply.ts";
import { moneyReplies } from "./money-replies.ts";
import { readingFields } from "./reading-reply.ts";
import { statementReplies } from "./statement-replies.ts";

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
  shows<ReturnType<typeof viewProgram>>()({ ...readShape(PROGRAM), ...bySecretSet(() => z.boolean()) }),
);

const apiKey = once(() => shows<ReturnType<typeof viewApiKey>>()(readShape(API_KEY)));

const partner = once(() => shows<PartnerView>()(readShape(PARTNER)));

const payoutDetails = once(() => {
  const optional = z.string().exactOptional();
  const bank = {
    ...{ account_holder: z.string(), country: z.string(), currency: z.string(), iban: optional, bic: optional },
    ...{ account_number: optional, routing_number: optional, sort_code: optional, bsb: optional },
  };
  return shows<StoredDetails>()({
    partner_id: idOf("partner"),
    method: z.enum(PAYOUT_METHODS).nullable().describe("How the partner is paid; null while none is chosen."),
    wallet: z.strictObject({ email: z.string() }).nullable(),
    [TRANSFER_METHOD]: z.strictObject({ account: z.string() }).nullable(),
    bank_transfer: z.strictObject(bank).nullable(),
    crypto: z.strictObject({ network: z.string(), address: z.string() }).nullable(),
  });
});

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

const flow = once(() => shows<ReturnType<typeof viewFlow>>()(readShape(FLOW)));

const group = once(() => shows<ReturnType<typeof viewGroup>>()(readShape(GROUP)));

const code = once(() => shows<ReturnType<typeof viewCode>>()(readShape(CODE)));

const product = once(() => shows<ReturnType<typeof viewProduct>>()(readShape(PRODUCT)));

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

const event = once(() => shows<ReturnType<typeof viewEvent>>()(readShape(EVENT)));

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

const endpoint = once(() => shows<ReturnType<typeof viewEndpoint>>()(readShape(ENDPOINT)));

const member = once(() => shows<Member>()(readShape(MEMBER)));

const secret = once(() => prefixed("whsec_").describe("The signing secret; no other reply shows it."));

/** The `data` of a ping; other events have objects of the API. */
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

const savedFlow = once(() =>
  z.strictObject({
    ...readShape(FLOW),
    warnings: z
      .array(z.strictObject({ path: z.string().describe("The field of the request."), message: z.string() }))
      .describe("What may be a mistake, such as a product that no payment has contained yet. The flow is saved."),
  }),
);

/** The replies of every route, by schema name. Strict: an extra field is an undocumented one. */
export const replies = once(() => ({
  Error: error(),
  Health: health(),
  Program: program(),
  ProgramList: listOf(program()),
  ProgramWithKey: z.strictObject({ program: program(), api_key: shownKey() }),
  ApiKeyList: allOf(apiKey()),
  ApiKeyWithText: z.strictObject({ ...readShape(API_KEY), api_key: shownKey() }),
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
  PartnerWithStats: z.strictObject({ ...readShape(PARTNER), slugs: z.array(z.string()), stats: stats() }),
  Onboarding: z.strictObject({
    partner_id: idOf("partner"),
    provider_a_account_id: z.string().nullable(),
    url: z.string().describe("The provider's hosted page, for this partner only."),
    expires_at: timestamp,
  }),
  PayoutDetails: payoutDetails(),
  ...{ Code: code(), CodeList: allOf(code()), CodeSummary: allOf(codeStats()) },
  ...{ ProductList: allOf(product()), Flow: flow(), SavedFlow: savedFlow(), FlowList: allOf(flow()) },
  ...{ Group: group(), GroupList: allOf(group()) },
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
  EndpointWithSecret: z.strictObject({ ...readShape(ENDPOINT), secret: secret() }),
  EndpointWithNewSecret: z.strictObject({
    ...readShape(ENDPOINT),
    secret: secret(),
    previous_secret_valid_until: timestamp.nullable(),
  }),
  EndpointWithDeliveries: z.strictObject({ ...readShape(ENDPOINT), deliveries: z.array(delivery()) }),
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
  ...{ Member: member(), MemberList: allOf(member()) },
  ...applicationReplies(),
  ...moneyReplies(),
  ...statementReplies(),
}));

export type ReplyName = keyof ReturnType<typeof replies>;
