/**
 * The catalogue of events. For each audit-log type: its payload, whether its events describe a change, its text for
 * people, the webhook it is sent as, and the API object in the webhook's `data`. The emitters
 * (`core/kernel/commit.ts`), the OpenAPI document, the pages, the guide and the tests follow it.
 */
import type { Actor } from "./actor.ts";
import type { ApplicationStatus } from "./application.ts";
import type { ClaimStatus } from "./claim.ts";
import type { CommissionKind, CommissionStatus } from "./commission.ts";
import type { Condition } from "./condition.ts";
import type { Flow, FlowBase, FlowEvent } from "./flow.ts";
import type { GroupRules } from "./rules.ts";
import type { MemberRole } from "./member.ts";
import type { PartnerStatus, PayoutMethod } from "./partner.ts";
import type { EventOutcome, Outcome } from "./payment.ts";
import type { PayoutStatus } from "./payout.ts";
import type { ProviderName } from "./provider-name.ts";
import type { Check, Figures } from "./reconciliation.ts";
import type { RefusalReason } from "./refusal.ts";
import type { Scope } from "./scope.ts";

export interface EventPayloads extends Record<ProviderEventType, ProviderEventPayload> {
  /** `sub`: the partner's id of the link's place, if any. `country`: the visitor's (ISO 3166-1 alpha-2), if known. */
  click: { ref: string; landing: string; referrer: string; partner_id: string; sub?: string; country?: string };
  "commission.created": CommissionPayload;
  "commission.updated": CommissionPayload & {
    /** The payout that contains it, if many commissions moved at once. */
    payout_id?: string | null;
    /** Late facts removed the reason for the commission, so its row was deleted. `reason` is the payment's outcome. */
    withdrawn?: true;
    reason?: Outcome;
  };
  "partner.created": PartnerPayload & ImportedPayload;
  "partner.updated": PartnerPayload & ImportedPayload & AppliedPayload;
  "partner.deleted": PartnerPayload;
  "partner.invited": PartnerPayload;
  /** `held_until`: the end of the hold that was released. */
  "partner.hold_released": { partner_id: string; slug: string; held_until: string };
  "payout_details.read": { partner_id: string };
  "payout_details.asked": { partner_id: string };
  /** `payout_id`: if they were read with its statement. */
  "tax_data.read": { partner_id: string; payout_id?: string };
  "applications.received": ApplicationPayload;
  "applications.approved": ApplicationPayload;
  "applications.declined": ApplicationPayload;
  "code.created": CodePayload;
  /** `partner_id` is the new holder. */
  "code.moved": CodePayload;
  "code.deleted": CodePayload;
  "claim.created": ClaimPayload;
  "claim.granted": ClaimPayload;
  "claim.declined": ClaimPayload;
  "payout.generated": PayoutPayload;
  "payout.updated": PayoutPayload & { reference: string | null; failure_code: string | null };
  "payout.paid": PayoutPayload & { reference: string | null; failure_code: string | null };
  /** `reference`: of the payment that came back. `failure_code`: `returned`, or the vendor's. */
  "payout.returned": PayoutPayload & { reference: string | null; failure_code: string | null };
  "payout.exported": {
    export_id?: string | undefined;
    format: string;
    status: PayoutStatus | null;
    currency: string | null;
    count: number;
  };
  /** The changes have the rates. */
  "exchange_rates.updated": { program_id: string; base: string };
  /** The rows of a list that a person exported as a file. */
  "list.exported": { list: string; count: number };
  /** `count`: deliveries refused for this reason so far. */
  "webhook.refused": { provider: ProviderName; reason: RefusalReason; count: number };
  "destination.created": DestinationPayload;
  "destination.updated": DestinationPayload;
  "flow.created": FlowPayload & AppliedPayload;
  "flow.updated": FlowPayload & AppliedPayload;
  "flow.deleted": FlowPayload;
  "group.created": GroupPayload;
  "group.updated": GroupPayload & AppliedPayload;
  "group.deleted": GroupPayload;
  "webhook_endpoint.created": EndpointPayload;
  "webhook_endpoint.updated": EndpointPayload & {
    reason?: "secret_rotated" | "failing";
    failing_since?: string | null;
    failure_count?: number;
  };
  "webhook_endpoint.deleted": EndpointPayload;
  "program.updated": { program_id: string; changed: string[] } & AppliedPayload;
  "api_key.regenerated": { program_id: string; last4: string; actor: Actor["type"] };
  "api_key.created": ApiKeyPayload & { scopes: Scope[]; expires_at: string | null };
  "api_key.deleted": ApiKeyPayload;
  "member.added": MemberPayload;
  "member.changed": MemberPayload;
  "member.removed": MemberPayload;
  "partner.signed_in": { partner_id: string; email: string; slug: string; device: string | null };
  "member.signed_in": { email: string; device: string | null };
  "portal_link.created": { partner_id: string };
  "account_link.created": { partner_id: string };
  "session.ended": { partner_id?: string; session_id: string; email: string };
  "session.all_ended": { partner_id?: string; email: string; sessions: number };
  "passkey.added": PasskeyPayload;
  "passkey.removed": PasskeyPayload;
  "sign_in.failed": { partner_id?: string; email: string; reason: "expired" | "used" | "copied" };
  "customers.imported": { customers: number; partners: { partner_id: string; customers: number }[] };
  "reconciliation.failed": { check: Check; subject: string; expected: Figures; found: Figures };
  "reconciliation.repaired": { what: "balances"; partner_ids: string[] };
}

export type PayloadField = { [T in AuditEventType]: FieldOf<EventPayloads[T]> }[AuditEventType];
type FieldOf<P> = P extends unknown ? keyof P : never;
/** Every text field of a payload. */
export type PayloadText = { [T in AuditEventType]: TextOf<EventPayloads[T]> }[AuditEventType];
type TextOf<P> = P extends unknown
  ? { [F in keyof P]-?: [Extract<P[F], string>] extends [never] ? never : F }[keyof P]
  : never;

interface CommissionPayload {
  commission_id: string;
  partner_id: string;
  amount_cents: number;
  txn_amount_cents: number;
  provider: ProviderName | null;
  currency: string;
  status: CommissionStatus;
  kind: CommissionKind;
  payment_id: string | null;
  flagged: boolean;
}

interface PartnerPayload {
  partner_id: string;
  email: string;
  slug: string;
  status: PartnerStatus;
}

/** `slugs` of an import: further slugs that lead to the partner from then on, in addition to `slug`. */
interface ImportedPayload {
  further_slugs?: string[];
}

interface ApiKeyPayload {
  key_id: string;
  name: string;
  last4: string;
}

interface MemberPayload {
  member_id: string;
  email: string;
  role: MemberRole;
}

/** Excludes the person's own texts, because the log is kept permanently. */
interface ApplicationPayload {
  application_id: string;
  status: ApplicationStatus;
  partner_id: string | null;
}

interface CodePayload {
  code_id: string;
  partner_id: string;
  provider: ProviderName;
  code: string;
  provider_code_id: string | null;
}

interface PasskeyPayload {
  passkey_id: string;
  email: string;
  device: string | null;
}

interface ClaimPayload {
  claim_id: string;
  partner_id: string;
  status: ClaimStatus;
  /** The payment to which the decision applies. */
  payment_id: string | null;
}

interface PayoutPayload {
  payout_id: string;
  partner_id: string;
  amount_cents: number;
  currency: string;
  status: PayoutStatus;
  method: PayoutMethod | null;
  commission_count: number;
}

/** The vendor's id and type of the event. */
interface ProviderEventPayload {
  event_id: string;
  event_type: string;
  outcome: EventOutcome;
}

/** A vendor's webhook destination: its id there, and the types of its events, `*` for all. */
interface DestinationPayload {
  provider: ProviderName;
  destination_id: string;
  url: string;
  event_types: string[];
  /** Whether it belongs to the vendor's test mode. */
  test: boolean;
}

interface FlowPayload extends Omit<Flow, "id" | "conditions" | "created_at" | "base"> {
  flow_id: string;
  event: FlowEvent;
  conditions: Condition[];
  base: FlowBase;
}

interface GroupPayload extends Omit<GroupRules, "id"> {
  group_id: string;
  name: string;
  is_default: boolean;
}

/** A rate or flow change that applies to payments since an earlier time. */
interface AppliedPayload {
  apply_from?: string;
}

interface EndpointPayload {
  endpoint_id: string;
  url: string;
  events: string[];
  description: string | null;
  active: boolean;
}

export interface EventKind {
  /** The event in words for people. */
  text: string;
  /** Whether events of this type list changed fields (EVT-2). */
  isChange: boolean;
  /** Endpoints can subscribe to this type; `data` of its webhook is this API object, by its OpenAPI name. */
  data?: string;
  /** It is sent as the webhook of another type. */
  sentAs?: string;
  /** Some of its events are not sent: a commission paid with its payout is covered by the payout's event. */
  sentInPart?: true;
}

export const EVENTS = {
  click: { text: "A visitor came by a partner's link", isChange: false },
  "commission.created": {
    text: "A commission was made: for a payment, by hand, or as a clawback",
    isChange: false,
    data: "CommissionData",
  },
  "commission.updated": {
    text: "A commission was approved, rejected, reopened, recalculated or flagged, or its flag was cleared",
    isChange: true,
    data: "CommissionData",
    sentInPart: true,
  },
  "partner.created": { text: "A partner was added", isChange: false, data: "Partner" },
  "partner.updated": { text: "A partner's details or status changed", isChange: true, data: "Partner" },
  "partner.deleted": { text: "A partner was deactivated", isChange: true, sentAs: "partner.updated" },
  "partner.invited": { text: "A partner was e-mailed an invitation", isChange: false },
  "partner.hold_released": {
    text: "The hold of a partner's payouts was released",
    isChange: true,
    sentAs: "partner.updated",
  },
  "payout_details.read": { text: "A partner's payout details were read in full", isChange: false },
  "payout_details.asked": { text: "A partner was e-mailed a request for payout details", isChange: false },
  "tax_data.read": { text: "A partner's tax data were read in full", isChange: false },
  "applications.received": {
    text: "A person applied, and verified the address",
    isChange: false,
    data: "ApplicationData",
  },
  "applications.approved": { text: "An application was approved", isChange: true, data: "ApplicationData" },
  "applications.declined": { text: "An application was declined", isChange: true, data: "ApplicationData" },
  "code.created": { text: "A promotion code was given to a partner", isChange: false },
  "code.moved": { text: "A promotion code was moved to another partner", isChange: true },
  "code.deleted": { text: "A promotion code was taken away from a partner", isChange: false },
  "claim.created": { text: "A partner claimed a missing sale", isChange: false, data: "ClaimData" },
  "claim.granted": { text: "A claim was approved", isChange: true, data: "ClaimData" },
  "claim.declined": { text: "A claim was declined", isChange: true, data: "ClaimData" },
  "payout.generated": { text: "A payout was prepared", isChange: false, data: "Payout" },
  "payout.updated": { text: "A payout was begun, failed or was canceled", isChange: true },
  "payout.paid": { text: "A payout was paid", isChange: true, data: "Payout" },
  "payout.returned": { text: "The money of a paid payout came back", isChange: true, data: "Payout" },
  "payout.exported": { text: "A file of payouts was read", isChange: false },
  "exchange_rates.updated": { text: "The exchange rates of payouts were replaced", isChange: true },
  "list.exported": { text: "A list was read as a file", isChange: false },
  "webhook.refused": { text: "Deliveries of a provider were refused", isChange: false },
  "destination.created": { text: "A provider was set to send its webhooks here", isChange: false },
  "destination.updated": { text: "The webhooks that a provider sends here were changed", isChange: true },
  "flow.created": { text: "A commission rule was added", isChange: false },
  "flow.updated": { text: "A commission rule was changed", isChange: true },
  "flow.deleted": { text: "A commission rule was removed", isChange: false },
  "group.created": { text: "A group of partners was added", isChange: false },
  "group.updated": { text: "A group of partners was changed", isChange: true },
  "group.deleted": { text: "A group of partners was removed", isChange: false },
  "webhook_endpoint.created": { text: "A webhook endpoint was added", isChange: false },
  "webhook_endpoint.updated": { text: "A webhook endpoint was changed or disabled", isChange: true },
  "webhook_endpoint.deleted": { text: "A webhook endpoint was removed", isChange: false },
  "program.updated": { text: "Settings were changed", isChange: true },
  "api_key.regenerated": { text: "The API key was replaced", isChange: true },
  "api_key.created": { text: "An API key was made", isChange: false },
  "api_key.deleted": { text: "An API key was deleted", isChange: false },
  "member.added": { text: "Somebody was added to the team", isChange: false },
  "member.changed": { text: "The role or the address of a member of the team changed", isChange: true },
  "member.removed": { text: "Somebody was removed from the team", isChange: false },
  "partner.signed_in": { text: "A partner signed in", isChange: false },
  "member.signed_in": { text: "A member of the team signed in", isChange: false },
  "portal_link.created": { text: "A link into the portal was made for a partner", isChange: false },
  "account_link.created": { text: "A link to a partner's connected account was made", isChange: false },
  "session.ended": { text: "A session was ended", isChange: false },
  "session.all_ended": { text: "All sessions of an address were ended", isChange: false },
  "passkey.added": { text: "A passkey was added", isChange: false },
  "passkey.removed": { text: "A passkey was removed", isChange: false },
  "sign_in.failed": { text: "A used or expired sign-in link, or a copied passkey, was tried", isChange: false },
  "customers.imported": { text: "Customers were bound to partners by an import", isChange: false },
  "reconciliation.failed": { text: "The check of the ledger found a difference", isChange: false },
  "reconciliation.repaired": { text: "Balances were recomputed", isChange: false },
} as const satisfies { [T in NamedEventType]: EventKind };

type Kinds = typeof EVENTS;

export type ProviderEventType = `webhook.${ProviderName}`;

export type AuditEventType = keyof EventPayloads;
/** Types with their own entry in the catalogue. */
type NamedEventType = Exclude<AuditEventType, ProviderEventType>;
const NAMED_EVENT_TYPES = Object.keys(EVENTS) as NamedEventType[];

/** Every audit event type, including one for each of these providers (`providers/registry.ts`). */
export function auditEventTypes(providers: readonly ProviderName[]): AuditEventType[] {
  const ofProviders = providers.map((name): ProviderEventType => `webhook.${name}`);
  return NAMED_EVENT_TYPES.flatMap((type) => (type === "webhook.refused" ? [...ofProviders, type] : [type]));
}

/** The entry of a type; all provider types share one. */
export function eventKind(type: AuditEventType): EventKind {
  const named = (EVENTS as Partial<Record<AuditEventType, EventKind>>)[type];
  return named ?? { text: `An event of ${type.slice("webhook.".length)} was taken in`, isChange: false };
}

/** Types whose events list changed fields (EVT-2). */
export type ChangeEventType = {
  [T in NamedEventType]: Kinds[T] extends { isChange: true } ? T : never;
}[NamedEventType];

/**
 * Events that change access to a program, or the recipients of its data. The commit of such an event, by any actor,
 * e-mails every owner: a verb cannot leave it out (PROOF-4). `core/mails/plan.ts` has those that depend on a field.
 */
export type SecurityEventType =
  | `member.${"added" | "changed" | "removed"}`
  | `api_key.${"created" | "regenerated" | "deleted"}`
  | `passkey.${"added" | "removed"}`
  | `webhook_endpoint.${"created" | "updated"}`
  | "partner.hold_released"
  | "program.updated";

export function isChange(type: AuditEventType): type is ChangeEventType {
  return eventKind(type).isChange;
}

/** Outbound webhook event types an endpoint can subscribe to (HOOK-1). */
export type OutboundEventType = {
  [T in NamedEventType]: Kinds[T] extends { data: string } ? T : never;
}[NamedEventType];
export const OUTBOUND_EVENT_TYPES = NAMED_EVENT_TYPES.filter(
  (type): type is OutboundEventType => "data" in EVENTS[type],
);

/** The types an endpoint subscribes to: one type, or all types, including later ones. */
export type Subscription = OutboundEventType | "*";
export const SUBSCRIPTIONS: readonly Subscription[] = [...OUTBOUND_EVENT_TYPES, "*"];

/** The webhook that an event of this type is sent as. */
export type SentAs<T extends AuditEventType> = T extends NamedEventType
  ? Kinds[T] extends { sentAs: infer E extends OutboundEventType }
    ? E
    : Extract<T, OutboundEventType>
  : never;

/** Audit event types of which only some events are sent as a webhook. */
export type PartlySent = { [T in NamedEventType]: Kinds[T] extends { sentInPart: true } ? T : never }[NamedEventType];
/** Audit event types of which every event is sent as a webhook (HOOK-15). */
export const ALWAYS_SENT: readonly NamedEventType[] = NAMED_EVENT_TYPES.filter((type) => {
  const { data, sentAs, sentInPart } = eventKind(type);
  return (data ?? sentAs) !== undefined && !sentInPart;
});

/** A test event that an owner sends to one endpoint; it is not in the audit log. */
const PING = { text: "The owner tried the endpoint", isChange: false, data: "PingData" } as const satisfies EventKind;

/** Every type that an endpoint can receive. */
export type SentEventType = OutboundEventType | "ping";
export const SENT_EVENT_TYPES: readonly SentEventType[] = [...OUTBOUND_EVENT_TYPES, "ping"];

/** A webhook's text, and the name of the API object in its `data`. */
export function sentEvent(type: SentEventType): { text: string; data: DataName } {
  return type === "ping" ? PING : EVENTS[type];
}

export type DataName = Kinds[OutboundEventType]["data"] | typeof PING.data;
