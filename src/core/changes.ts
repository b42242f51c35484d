/** What a change says of a row in the audit log, and what it masks: decided here, once (EVT-2). */
import type { InferSelectModel } from "drizzle-orm";
import type { commissions, flows, partners, payouts, programs, webhookEndpoints } from "../db/schema.ts";
import type { Changes } from "../domain/actor.ts";
import { maskAccount, maskAddress } from "../domain/mask.ts";

interface Rows {
  partner: InferSelectModel<typeof partners>;
  program: InferSelectModel<typeof programs>;
  flow: InferSelectModel<typeof flows>;
  endpoint: InferSelectModel<typeof webhookEndpoints>;
  commission: InferSelectModel<typeof commissions>;
  payout: InferSelectModel<typeof payouts>;
}

type Shown = (value: unknown) => unknown;

const plain: Shown = (value) => value;
const secret: Shown = () => "(secret)";
const address: Shown = (value) => maskAddress(String(value));
const account: Shown = (value) => maskAccount(String(value));
/** Nothing: it follows from a column that is shown, is internal, or must be forgotten with its customer. */
const untold = null;

/** Every column of every row: a new one does not compile until it is said how it is shown. */
const SHOWN: { [K in keyof Rows]: Record<keyof Rows[K], Shown | null> } = {
  partner: {
    id: untold,
    program_id: untold,
    email: plain,
    first_name: plain,
    last_name: plain,
    slug: plain,
    status: plain,
    commission_pct: plain,
    payout_method: plain,
    payout_email: address,
    provider_a_account_id: account,
    metadata: plain,
    search_text: untold,
    created_at: untold,
    updated_at: untold,
  },
  program: {
    id: untold,
    name: plain,
    owner_email: plain,
    domain: plain,
    currency: plain,
    default_commission_pct: plain,
    payout_term: plain,
    min_payout_cents: plain,
    cookie_days: plain,
    attribution: plain,
    auto_approve_days: plain,
    live_only: plain,
    shard: untold,
    api_key_hash: untold,
    api_key_last4: plain,
    api_key_created_at: untold,
    api_key_last_used_at: untold,
    provider_a_webhook_secret: secret,
    provider_a_webhook_secret_previous: untold,
    provider_a_webhook_secret_previous_until: untold,
    provider_b_webhook_secret: secret,
    provider_b_webhook_secret_previous: untold,
    provider_b_webhook_secret_previous_until: untold,
    provider_a_api_key: secret,
    provider_a_last_event_at: untold,
    provider_b_last_event_at: untold,
    provider_a_refusals: untold,
    provider_b_refusals: untold,
    created_at: untold,
    updated_at: untold,
  },
  flow: {
    id: untold,
    program_id: untold,
    name: plain,
    event: plain,
    action_type: plain,
    action_value: plain,
    conditions: plain,
    priority: plain,
    active: plain,
    created_at: untold,
    updated_at: untold,
  },
  endpoint: {
    id: untold,
    program_id: untold,
    url: plain,
    secret: secret,
    secret_previous: untold,
    secret_previous_until: untold,
    events: plain,
    description: plain,
    active: plain,
    failing_since: untold,
    failure_count: untold,
    disabled_at: untold,
    deleted_at: untold,
    created_at: untold,
    updated_at: untold,
  },
  commission: {
    id: untold,
    program_id: untold,
    partner_id: plain,
    payment_id: plain,
    flow_id: plain,
    payout_id: plain,
    kind: untold,
    source_commission_id: untold,
    status: plain,
    flagged: plain,
    review_reason: plain,
    review_reasons: untold,
    dismissed_reasons: untold,
    rejected_reason: plain,
    amount_cents: plain,
    txn_amount_cents: plain,
    currency: plain,
    provider: untold,
    provider_transaction_id: plain,
    subscription_id: plain,
    customer_email: untold,
    rate: plain,
    note: plain,
    journaled: untold,
    created_at: untold,
    approved_at: untold,
    paid_at: untold,
    updated_at: untold,
  },
  payout: {
    id: untold,
    program_id: untold,
    partner_id: untold,
    amount_cents: untold,
    currency: untold,
    status: plain,
    method: plain,
    period_start: untold,
    period_end: untold,
    due_at: untold,
    commission_count: untold,
    reference: plain,
    failure_code: plain,
    failure_message: plain,
    attempt: untold,
    attempt_params: untold,
    attempt_started_at: untold,
    reconcile_at: untold,
    recipient_sealed: secret,
    recipient: plain,
    created_at: untold,
    paid_at: untold,
    updated_at: untold,
  },
};

/**
 * `{field: [old, new]}` of the columns that differ. Secrets read `"(secret)"`, or null where none is set; payout details
 * are masked, so that two may read alike and still differ.
 */
export function changesOf<K extends keyof Rows>(kind: K, before: Rows[K], after: Rows[K]): Changes {
  const shown: Record<string, Shown | null> = SHOWN[kind];
  const [old, now] = [before as Record<string, unknown>, after as Record<string, unknown>];
  return Object.fromEntries(
    Object.entries(shown).flatMap(([name, show]): [string, [unknown, unknown]][] => {
      if (!show || JSON.stringify(old[name]) === JSON.stringify(now[name])) return [];
      const told = (value: unknown) => (value === null ? null : show(value));
      return [[name, [told(old[name]), told(now[name])]]];
    }),
  );
}
