/** What a change says of a row in the audit log, and what it masks: decided here, once (EVT-2). */
import type { Changes } from "../../domain/actor.ts";
import { maskAccount, maskAddress, maskedApart } from "../../domain/mask.ts";
import type { Sealed } from "../../lib/seal.ts";
import type {
  Application,
  Commission,
  Endpoint,
  Flow,
  Member,
  Partner,
  PartnerCode,
  Payout,
  Program,
  SaleClaim,
} from "./rows.ts";

interface Rows {
  application: Application;
  partner: Partner;
  program: Program;
  member: Member;
  flow: Flow;
  code: PartnerCode;
  endpoint: Endpoint;
  commission: Commission;
  payout: Payout;
  claim: SaleClaim;
}

type Shown = (value: unknown) => unknown;
/** All that is shown of a sealed value. */
type Secret = (value: unknown) => "(secret)";

const plain: Shown = (value) => value;
const secret: Secret = () => "(secret)";
const address: Shown = (value) => maskAddress(String(value));
const account: Shown = (value) => maskAccount(String(value));
/** Nothing: it follows from a column that is shown, is internal, or must be forgotten with its customer. */
const internal = null;

type HowShown<Value> = (NonNullable<Value> extends Sealed ? Secret : Shown) | null;

/** Every column of every row: a new one does not compile until it is said how it is shown, a sealed one not in clear. */
const SHOWN: { [K in keyof Rows]: { [C in keyof Rows[K]]-?: HowShown<Rows[K][C]> } } = {
  application: {
    id: internal,
    program_id: internal,
    status: plain,
    email: internal,
    name: internal,
    website: internal,
    answers: internal,
    terms_version: internal,
    consented_at: internal,
    partner_id: plain,
    note: internal,
    token_hash: internal,
    created_at: internal,
    decided_at: internal,
    updated_at: internal,
  },
  partner: {
    id: internal,
    program_id: internal,
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
    search_text: internal,
    created_at: internal,
    updated_at: internal,
  },
  program: {
    id: internal,
    name: plain,
    owner_email: plain,
    domain: plain,
    currency: plain,
    default_commission_pct: plain,
    payout_term: plain,
    min_payout_cents: plain,
    cookie_days: plain,
    attribution: plain,
    code_precedence: plain,
    auto_approve_days: plain,
    live_only: plain,
    brand_color: plain,
    time_zone: plain,
    applications: plain,
    slug: plain,
    questions: plain,
    terms: plain,
    terms_version: plain,
    sale_amounts: plain,
    assets: plain,
    // Those of secrets are shown by their names in the API (`core/kernel/provider-secrets.ts`).
    connections: internal,
    shard: internal,
    api_key_hash: internal,
    api_key_last4: plain,
    api_key_created_at: internal,
    api_key_last_used_at: internal,
    created_at: internal,
    updated_at: internal,
  },
  member: {
    id: internal,
    program_id: internal,
    email: plain,
    role: plain,
    created_at: internal,
    updated_at: internal,
  },
  flow: {
    id: internal,
    program_id: internal,
    name: plain,
    event: plain,
    action_type: plain,
    action_value: plain,
    conditions: plain,
    priority: plain,
    active: plain,
    created_at: internal,
    updated_at: internal,
  },
  code: {
    id: internal,
    program_id: internal,
    partner_id: plain,
    provider: internal,
    code: plain,
    code_key: internal,
    provider_code_id: plain,
    created_at: internal,
    ended_at: internal,
  },
  endpoint: {
    id: internal,
    program_id: internal,
    url: plain,
    secret: secret,
    secret_previous: internal,
    secret_previous_until: internal,
    events: plain,
    description: plain,
    active: plain,
    failing_since: internal,
    failure_count: internal,
    disabled_at: internal,
    deleted_at: internal,
    created_at: internal,
    updated_at: internal,
  },
  commission: {
    id: internal,
    program_id: internal,
    partner_id: plain,
    payment_id: plain,
    flow_id: plain,
    payout_id: plain,
    kind: internal,
    source_commission_id: internal,
    status: plain,
    flagged: plain,
    review_reason: plain,
    review_reasons: internal,
    dismissed_reasons: internal,
    rejected_reason: plain,
    amount_cents: plain,
    txn_amount_cents: plain,
    currency: plain,
    provider: internal,
    provider_transaction_id: plain,
    subscription_id: plain,
    customer_email: internal,
    rate: plain,
    note: plain,
    event_id: internal,
    created_at: internal,
    seen_at: internal,
    approved_at: internal,
    paid_at: internal,
    updated_at: internal,
  },
  payout: {
    id: internal,
    program_id: internal,
    partner_id: internal,
    amount_cents: internal,
    currency: internal,
    status: plain,
    method: plain,
    period_start: internal,
    period_end: internal,
    due_at: internal,
    commission_count: internal,
    reference: plain,
    failure_code: plain,
    failure_message: plain,
    attempt: internal,
    attempt_params: internal,
    attempt_started_at: internal,
    reconcile_at: internal,
    recipient_sealed: secret,
    recipient: plain,
    created_at: internal,
    paid_at: internal,
    updated_at: internal,
  },
  claim: {
    id: internal,
    program_id: internal,
    partner_id: internal,
    status: plain,
    order_id: internal,
    day: internal,
    email_domain: internal,
    payment_id: plain,
    note: internal,
    created_at: internal,
    decided_at: internal,
  },
};

/**
 * `{field: [old, new]}` of the columns that differ, whose texts differ too. Secrets read `"(secret)"`, or null if none is set;
 * payout details are masked.
 */
export function changesOf<K extends keyof Rows>(kind: K, before: Rows[K], after: Rows[K]): Changes {
  const shown: Record<string, Shown | null> = SHOWN[kind];
  const [old, now] = [before as Record<string, unknown>, after as Record<string, unknown>];
  return Object.fromEntries(
    Object.entries(shown).flatMap(([name, show]): [string, [unknown, unknown]][] => {
      if (!show || JSON.stringify(old[name]) === JSON.stringify(now[name])) return [];
      const apart = maskedApart(show);
      const display = (value: unknown) => (value === null ? null : apart(value));
      return [[name, [display(old[name]), display(now[name])]]];
    }),
  );
}
