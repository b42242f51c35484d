/**
 * The schema of each audit event's payload, checked by the compiler against the catalogue's types and by the tests
 * against the rows.
 */
import * as z from "zod";
import { percentage } from "../../src/resources/input.ts";
import { ACTOR_TYPES } from "../../src/domain/actor.ts";
import { APPLICATION_STATUSES } from "../../src/domain/application.ts";
import { CLAIM_STATUSES } from "../../src/domain/claim.ts";
import { COMMISSION_KINDS, COMMISSION_STATUSES } from "../../src/domain/commission.ts";
import type { AuditEventType, EventPayloads, ProviderEventType } from "../../src/domain/event.ts";
import { FLOW as FLOW_FIELDS } from "../../src/resources/flow.ts";
import { readShape } from "../../src/resources/field.ts";
import { MEMBER_ROLES } from "../../src/domain/member.ts";
import { PARTNER_STATUSES, PAYOUT_METHODS } from "../../src/domain/partner.ts";
import { EVENT_OUTCOMES, OUTCOMES } from "../../src/domain/payment.ts";
import { PAYOUT_STATUSES } from "../../src/domain/payout.ts";
import { PROVIDER_NAMES, type ListedProvider } from "../../src/providers/registry.ts";
import { CHECKS } from "../../src/domain/reconciliation.ts";
import { REFUSAL_REASONS } from "../../src/domain/refusal.ts";
import { SCOPES } from "../../src/domain/scope.ts";
import { shows } from "../../src/http/openapi/fields.ts";
import { bag, cents, currencyCode, idOf, timestamp } from "../../src/resources/output.ts";

const commission = {
  commission_id: idOf("commission"),
  partner_id: idOf("partner"),
  amount_cents: cents,
  txn_amount_cents: cents,
  provider: z.enum(PROVIDER_NAMES).nullable(),
  currency: currencyCode,
  status: z.enum(COMMISSION_STATUSES),
  kind: z.enum(COMMISSION_KINDS),
  payment_id: idOf("payment").nullable(),
  flagged: z.boolean(),
};
const partner = { partner_id: idOf("partner"), email: z.string(), slug: z.string(), status: z.enum(PARTNER_STATUSES) };
const imported = { further_slugs: z.array(z.string()).exactOptional() };
const application = {
  application_id: idOf("application"),
  status: z.enum(APPLICATION_STATUSES),
  partner_id: idOf("partner").nullable(),
};
const code = {
  code_id: idOf("code"),
  partner_id: idOf("partner"),
  provider: z.enum(PROVIDER_NAMES),
  code: z.string(),
  provider_code_id: z.string().nullable(),
};
const apiKey = { key_id: idOf("api_key"), name: z.string(), last4: z.string().length(4) };
const payout = {
  payout_id: idOf("payout"),
  partner_id: idOf("partner"),
  amount_cents: cents,
  currency: currencyCode,
  status: z.enum(PAYOUT_STATUSES),
  method: z.enum(PAYOUT_METHODS).nullable(),
  commission_count: z.int(),
};
const payoutMove = { ...payout, reference: z.string().nullable(), failure_code: z.string().nullable() };
const providerEvent = { event_id: z.string(), event_type: z.string(), outcome: z.enum(EVENT_OUTCOMES) };
const member = { member_id: idOf("member"), email: z.string(), role: z.enum(MEMBER_ROLES) };
const { name, event, action_type, action_value, conditions, priority, active, ...shown } = readShape(FLOW_FIELDS);
const flow = {
  flow_id: idOf("flow"),
  ...{ name, event, action_type, action_value, conditions, priority, active },
  ...{ starts_at: shown.starts_at, ends_at: shown.ends_at, currency: shown.currency },
  ...{ hold_days: shown.hold_days, base: shown.base },
};
const claim = {
  claim_id: idOf("claim"),
  partner_id: idOf("partner"),
  status: z.enum(CLAIM_STATUSES),
  payment_id: idOf("payment").nullable(),
};
const endpoint = {
  endpoint_id: idOf("endpoint"),
  url: z.string(),
  events: z.array(z.string()),
  description: z.string().nullable(),
  active: z.boolean(),
};
const destination = {
  provider: z.enum(PROVIDER_NAMES),
  destination_id: z.string(),
  url: z.string(),
  event_types: z.array(z.string()),
  test: z.boolean(),
};
const group = {
  group_id: idOf("group"),
  name: z.string(),
  slug: z.string(),
  commission_pct: percentage.nullable(),
  hold_days: z.int().nullable(),
  is_default: z.boolean(),
};
const applied = { apply_from: z.iso.datetime().exactOptional() };
const mayBePartner = idOf("partner").exactOptional();
const device = z.string().nullable();

const of = <T extends AuditEventType>() => shows<EventPayloads[T]>();

/** The types that can occur: of all the names that a provider could have, those of the list. */
export type CatalogueType = Exclude<AuditEventType, ProviderEventType> | `webhook.${ListedProvider}`;

function ofProviders() {
  type Types = `webhook.${ListedProvider}`;
  const entries = PROVIDER_NAMES.map((name) => [`webhook.${name}`, of<Types>()(providerEvent)]);
  return Object.fromEntries(entries) as { [T in Types]: z.ZodType<EventPayloads[T]> };
}

/** Strict: a field more is not as the catalogue has it. */
export const EVENT_PAYLOADS: { [T in CatalogueType]: z.ZodType<EventPayloads[T]> } = {
  click: of<"click">()({
    ref: z.string(),
    landing: z.string(),
    referrer: z.string(),
    partner_id: idOf("partner"),
    sub: z.string().exactOptional(),
    country: z
      .string()
      .regex(/^[A-Z]{2}$/)
      .exactOptional(),
  }),
  "commission.created": of<"commission.created">()(commission),
  "commission.updated": of<"commission.updated">()({
    ...commission,
    payout_id: idOf("payout").nullable().exactOptional(),
    withdrawn: z.literal(true).exactOptional(),
    reason: z.enum(OUTCOMES).exactOptional(),
  }),
  "partner.created": of<"partner.created">()({ ...partner, ...imported }),
  "partner.updated": of<"partner.updated">()({ ...partner, ...imported, ...applied }),
  "partner.deleted": of<"partner.deleted">()(partner),
  "partner.invited": of<"partner.invited">()(partner),
  "partner.hold_released": of<"partner.hold_released">()({
    partner_id: idOf("partner"),
    slug: z.string(),
    held_until: timestamp,
  }),
  "payout_details.read": of<"payout_details.read">()({ partner_id: z.string() }),
  "payout_details.asked": of<"payout_details.asked">()({ partner_id: idOf("partner") }),
  "tax_data.read": of<"tax_data.read">()({ partner_id: z.string(), payout_id: z.exactOptional(z.string()) }),
  "applications.received": of<"applications.received">()(application),
  "applications.approved": of<"applications.approved">()(application),
  "applications.declined": of<"applications.declined">()(application),
  "code.created": of<"code.created">()(code),
  "code.moved": of<"code.moved">()(code),
  "code.deleted": of<"code.deleted">()(code),
  "claim.created": of<"claim.created">()(claim),
  "claim.granted": of<"claim.granted">()(claim),
  "claim.declined": of<"claim.declined">()(claim),
  "payout.generated": of<"payout.generated">()(payout),
  "payout.updated": of<"payout.updated">()(payoutMove),
  "payout.paid": of<"payout.paid">()(payoutMove),
  "payout.returned": of<"payout.returned">()(payoutMove),
  "payout.exported": of<"payout.exported">()({
    export_id: z.string().optional(),
    format: z.string(),
    status: z.enum(PAYOUT_STATUSES).nullable(),
    currency: z.string().nullable(),
    count: z.int(),
  }),
  "exchange_rates.updated": of<"exchange_rates.updated">()({ program_id: idOf("program"), base: z.string() }),
  "list.exported": of<"list.exported">()({ list: z.string(), count: z.int() }),
  ...ofProviders(),
  "webhook.refused": of<"webhook.refused">()({
    provider: z.enum(PROVIDER_NAMES),
    reason: z.enum(REFUSAL_REASONS),
    count: z.int().min(1),
  }),
  "destination.created": of<"destination.created">()(destination),
  "destination.updated": of<"destination.updated">()(destination),
  "flow.created": of<"flow.created">()({ ...flow, ...applied }),
  "flow.updated": of<"flow.updated">()({ ...flow, ...applied }),
  "flow.deleted": of<"flow.deleted">()(flow),
  "group.created": of<"group.created">()(group),
  "group.updated": of<"group.updated">()({ ...group, ...applied }),
  "group.deleted": of<"group.deleted">()(group),
  "webhook_endpoint.created": of<"webhook_endpoint.created">()(endpoint),
  "webhook_endpoint.updated": of<"webhook_endpoint.updated">()({
    ...endpoint,
    reason: z.enum(["secret_rotated", "failing"]).exactOptional(),
    failing_since: z.string().nullable().exactOptional(),
    failure_count: z.int().exactOptional(),
  }),
  "webhook_endpoint.deleted": of<"webhook_endpoint.deleted">()(endpoint),
  "program.updated": of<"program.updated">()({
    program_id: idOf("program"),
    changed: z.array(z.string()).min(1),
    ...applied,
  }),
  "api_key.regenerated": of<"api_key.regenerated">()({
    program_id: idOf("program"),
    last4: z.string().length(4),
    actor: z.enum(ACTOR_TYPES),
  }),
  "api_key.created": of<"api_key.created">()({
    ...apiKey,
    scopes: z.array(z.enum(SCOPES)),
    expires_at: z.string().nullable(),
  }),
  "api_key.deleted": of<"api_key.deleted">()(apiKey),
  "member.added": of<"member.added">()(member),
  "member.changed": of<"member.changed">()(member),
  "member.removed": of<"member.removed">()(member),
  "partner.signed_in": of<"partner.signed_in">()({
    partner_id: idOf("partner"),
    email: z.string(),
    slug: z.string(),
    device,
  }),
  "member.signed_in": of<"member.signed_in">()({ email: z.string(), device }),
  "account_link.created": of<"account_link.created">()({ partner_id: idOf("partner") }),
  "portal_link.created": of<"portal_link.created">()({ partner_id: idOf("partner") }),
  "session.ended": of<"session.ended">()({ partner_id: mayBePartner, session_id: z.string(), email: z.string() }),
  "session.all_ended": of<"session.all_ended">()({ partner_id: mayBePartner, email: z.string(), sessions: z.int() }),
  "passkey.added": of<"passkey.added">()({ passkey_id: idOf("passkey"), email: z.string(), device }),
  "passkey.removed": of<"passkey.removed">()({ passkey_id: idOf("passkey"), email: z.string(), device }),
  "sign_in.failed": of<"sign_in.failed">()({
    partner_id: mayBePartner,
    email: z.string(),
    reason: z.enum(["expired", "used", "copied"]),
  }),
  "customers.imported": of<"customers.imported">()({
    customers: z.int(),
    partners: z.array(z.strictObject({ partner_id: idOf("partner"), customers: z.int() })),
  }),
  "reconciliation.failed": of<"reconciliation.failed">()({
    check: z.enum(CHECKS),
    subject: z.string(),
    expected: bag,
    found: bag,
  }),
  "reconciliation.repaired": of<"reconciliation.repaired">()({
    what: z.literal("balances"),
    partner_ids: z.array(idOf("partner")),
  }),
};
