import type { Changes } from "../../domain/actor.ts";
import type { Partner } from "./rows.ts";

/** What of a partner says nothing of how and where they are paid. */
type NoDetail =
  | ("id" | "program_id" | "email" | "slug" | "first_name" | "last_name" | "status")
  | ("commission_pct" | "metadata" | "search_text" | "created_at" | "updated_at");

/** A column that says how and where a partner is paid: a new one does, until it is named above. */
export type PayoutDetail = Exclude<keyof Partner, NoDetail>;

const PAYOUT_DETAILS = Object.keys({
  payout_method: true,
  payout_email: true,
  provider_a_account_id: true,
} satisfies Record<PayoutDetail, true>) as PayoutDetail[];

/** A change of one partner's payout details, for those who are notified of it (OUT-9). */
export interface PayoutDetailsChange {
  partner: Pick<Partner, "id" | "email" | "first_name" | "last_name" | "status">;
  /** The partner's own address and the one paid at, before and after the change, each once. */
  addresses: string[];
  /** Masked as in the audit event. */
  changes: { [K in PayoutDetail]?: Changes[string] };
}

/** What `changes`, as the audit event has them, say of payout details; null where they say nothing. */
export function payoutDetailsChange(before: Partner, after: Partner, changes: Changes): PayoutDetailsChange | null {
  const changed = PAYOUT_DETAILS.flatMap((field) => (changes[field] ? [[field, changes[field]] as const] : []));
  if (changed.length === 0) return null;
  const named = [before.email, after.email, before.payout_email, after.payout_email].filter((email) => email !== null);
  const addresses = new Map(named.toReversed().map((email) => [email.toLowerCase(), email]));
  return { partner: after, addresses: [...addresses.values()].toReversed(), changes: Object.fromEntries(changed) };
}
