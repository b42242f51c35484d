/** Audit event types (EVT-5). */
export const AUDIT_EVENT_TYPES = [
  "click",
  "commission.created",
  "commission.updated",
  "partner.created",
  "partner.updated",
  "partner.deleted",
  "payout.generated",
  "payout.updated",
  "payout.paid",
  "payout.exported",
  "webhook.provider_a",
  "webhook.provider_b",
  "webhook.refused",
  "flow.created",
  "flow.updated",
  "flow.deleted",
  "webhook_endpoint.created",
  "webhook_endpoint.updated",
  "webhook_endpoint.deleted",
  "program.updated",
  "api_key.regenerated",
  "partner.signed_in",
  "member.signed_in",
  "session.ended",
  "session.all_ended",
  "sign_in.failed",
  "customers.imported",
  "reconciliation.failed",
  "reconciliation.repaired",
] as const;
export type AuditEventType = (typeof AUDIT_EVENT_TYPES)[number];

const FURTHER_CHANGES = ["partner.deleted", "payout.paid", "api_key.regenerated"] as const;

/** Events of these types say what changed (EVT-2). */
export type ChangeEventType = Extract<AuditEventType, `${string}.updated` | (typeof FURTHER_CHANGES)[number]>;

export function isChange(type: AuditEventType): type is ChangeEventType {
  const further: readonly string[] = FURTHER_CHANGES;
  return type.endsWith(".updated") || further.includes(type);
}

/** Outbound webhook event types an endpoint can subscribe to (HOOK-1). */
export const OUTBOUND_EVENT_TYPES = [
  "commission.created",
  "commission.updated",
  "partner.created",
  "partner.updated",
  "payout.generated",
  "payout.paid",
] as const;
export type OutboundEventType = (typeof OUTBOUND_EVENT_TYPES)[number];
