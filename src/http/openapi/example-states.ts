import { TRANSFER_METHOD } from "../../domain/partner.ts";
import { REPLY_EXAMPLES } from "./examples.ts";
import { pathExample } from "./example-id.ts";
import type { ReplyName } from "./replies.ts";

const AT = "2026-04-15T09:30:00.000Z";

const declined = { status: "declined" };
const undecided = { decided_at: null };
const paid = { status: "paid", reference: "bank transfer 1", paid_at: AT, updated_at: AT };
const returned = { ...paid, status: "returned", failure_code: "returned", failure_message: "Account closed" };
const manual = {
  ...{ payment_id: null, flow_id: null, kind: "manual", status: "pending", approved_at: null, amount_cents: 6000 },
  ...{ txn_amount_cents: 0, provider: null, provider_transaction_id: null, customer_email: null },
  ...{ rate: { source: "manual", action_type: "flat", action_value: 6000 }, note: "Bonus for March" },
  hold_until: "2026-04-01T09:30:00.000Z",
};
const waiting = { status: "pending", attempt_count: 0, completed_at: null, attempts: [] };

/** Replaces fields of a reply's example with the state after the operation, by operation or operation and status. */
const AFTER: Record<string, object> = {
  deletePartner: { status: "deactivated" },
  declineApplication: { ...declined, partner_id: null },
  trackLead: { outcome: "remembered" },
  trackRefund: { outcome: "adjusted" },
  createCommission: manual,
  declineClaim: { ...declined, payment_id: null },
  getClaim: { ...undecided, status: "open", payment_id: null },
  payPayout: { status: "paid", method: TRANSFER_METHOD, recipient: "acct_****2Bcd", paid_at: AT, updated_at: AT },
  markPayoutPaid: paid,
  returnPayout: returned,
  markPayoutExportPaid: { status: "paid", reference: "Batch 4711", updated_at: AT },
  cancelPayoutExport: { status: "canceled", updated_at: AT },
  cancelPayout: { status: "canceled", updated_at: AT },
  redeliverWebhookDelivery: waiting,
  testWebhook: {
    ...{ ...waiting, event: "ping" },
    payload: { event: "ping", timestamp: AT, data: REPLY_EXAMPLES.PingData },
  },
  "createIntegrationDestination 200": { outcome: "unchanged", event_types_added: [], secret: "kept" },
};

/** The same for an outbound event. */
const SENT: Record<string, object> = {
  "commission.updated": { status: "approved" },
  "partner.updated": { status: "active" },
  "applications.received": { ...undecided, status: "pending", partner_id: null },
  "applications.declined": { ...declined, partner_id: null },
  "claim.created": { ...undecided, status: "open", payment_id: null },
  "claim.declined": { ...declined, payment_id: null },
  "payout.paid": paid,
  "payout.returned": returned,
};

export const CHANGED_EXAMPLES = { ...AFTER, ...SENT };

interface Replied {
  operation_id: string;
  status: number;
  /** The path of its route. */
  path: string;
}

/** The reply of an operation: its schema's example, in the state after this operation. */
export function replyExample(schema: ReplyName, { operation_id, status, path }: Replied): unknown {
  if (schema === "Deleted") return { id: pathExample("id", path), deleted: true };
  return changed(schema, AFTER[`${operation_id} ${status}`] ?? AFTER[operation_id]);
}

/** The `data` of an outbound event, in the state that the event reports. */
export function sentExample(schema: ReplyName, event: string): unknown {
  return changed(schema, SENT[event]);
}

function changed(schema: ReplyName, fields: object | undefined): unknown {
  const example = REPLY_EXAMPLES[schema];
  return fields === undefined ? example : { ...(example as object), ...fields };
}
