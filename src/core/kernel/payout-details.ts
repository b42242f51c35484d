import type { Changes } from "../../domain/actor.ts";
import { maskAccount, maskAddress } from "../../domain/mask.ts";
import { withMaskedAccounts } from "../../providers/api-call.ts";
import { PARTNER, PAYOUT_DETAILS, type PayoutDetail } from "../../resources/partner.ts";
import type { Partner, Payout } from "./rows.ts";

/** The mask of each payout detail that is shown in part. */
export const MASKED_DETAILS = PAYOUT_DETAILS.flatMap((column) => {
  const { audit } = PARTNER[column];
  if (audit === "plain") return [];
  return [[column, audit === "sealed" ? String : audit === "address" ? maskAddress : maskAccount] as const];
});

/** A change of one partner's payout details, for its notification (OUT-9). */
export interface PayoutDetailsChange {
  partner: Pick<Partner, "id" | "email" | "first_name" | "last_name" | "status">;
  /** The partner's own address and the one paid at, before and after the change, each once. */
  addresses: string[];
  /** Masked as in the audit event. */
  changes: { [K in PayoutDetail]?: Changes[string] };
  /** How many open payouts without details receive these (OUT-18). */
  taken: number;
  /** Masked; set if a link to the account's pages at the vendor was made: its holder may change the account. */
  linked_account?: string;
}

/** A link to the vendor's pages of a partner's connected account, for its notification (OUT-15). */
export function accountLinked(partner: Partner, account_id: string): PayoutDetailsChange {
  return { partner, addresses: addressesOf(partner), changes: {}, taken: 0, linked_account: maskAccount(account_id) };
}

/** The partner's own address and the one paid at, of one or several versions of the row, each address once. */
function addressesOf(...versions: Pick<Partner, "email" | "payout_email">[]): string[] {
  const named = versions.flatMap(({ email }) => [email]);
  const paid = versions.flatMap(({ payout_email }) => payout_email ?? []);
  const addresses = new Map([...named, ...paid].toReversed().map((email) => [email.toLowerCase(), email]));
  return [...addresses.values()].toReversed();
}

/** The payout details in `changes` of an audit event; null if they did not change. */
export function payoutDetailsChange(
  before: Partner,
  after: Partner,
  changes: Changes,
  taken: number,
): PayoutDetailsChange | null {
  const changed = PAYOUT_DETAILS.flatMap((field) => (changes[field] ? [[field, changes[field]] as const] : []));
  if (changed.length === 0) return null;
  return { partner: after, addresses: addressesOf(before, after), changes: Object.fromEntries(changed), taken };
}

/** Fields with payout details, or with a vendor's text about them, in any object. */
const DETAIL_FIELDS: ReadonlySet<string> = new Set<PayoutDetail | keyof Payout | "account_id">([
  ...MASKED_DETAILS.map(([column]) => column),
  "account_id",
  ...(["recipient", "recipient_sealed", "failure_message"] as const),
]);

/** An object as shown without the right to payout details: without those fields, in nested objects too (TEAM-1). */
export function withoutDetails<T>(of: T): T {
  return replaced(of, () => []);
}

/** An object with masked details: earlier versions wrote whole accounts into refusals (ACCESS-12). */
export function withDetailsInPart<T>(of: T): T {
  return replaced(of, (detail) => [JSON.parse(withMaskedAccounts(JSON.stringify(detail)))]);
}

/** `metadata` is the owner's own, of any depth, and has no meaning for the service. */
function replaced<T>(of: T, shown: (detail: unknown) => unknown[]): T {
  if (Array.isArray(of)) return of.map((one) => replaced(one, shown)) as T;
  if (typeof of !== "object" || of === null) return of;
  const fields = Object.entries(of).flatMap(([field, value]) => {
    const values = DETAIL_FIELDS.has(field) ? shown(value) : [field === "metadata" ? value : replaced(value, shown)];
    return values.map((one) => [field, one]);
  });
  return Object.fromEntries(fields) as T;
}
