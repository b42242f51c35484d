import type { Changes } from "../../domain/actor.ts";
import { maskAccount, maskAddress } from "../../domain/mask.ts";
import { withMaskedAccounts } from "../../providers/api-call.ts";
import { PARTNER, PAYOUT_DETAILS, type PayoutDetail } from "../../resources/partner.ts";
import type { Partner, Payout } from "./rows.ts";

/** The mask of each payout detail that is shown in part. */
export const MASKED_DETAILS = PAYOUT_DETAILS.flatMap((column) => {
  const { audit } = PARTNER[column];
  return audit === "plain" ? [] : [[column, audit === "address" ? maskAddress : maskAccount] as const];
});

/** A change of one partner's payout details, for those who are notified of it (OUT-9). */
export interface PayoutDetailsChange {
  partner: Pick<Partner, "id" | "email" | "first_name" | "last_name" | "status">;
  /** The partner's own address and the one paid at, before and after the change, each once. */
  addresses: string[];
  /** Masked as in the audit event. */
  changes: { [K in PayoutDetail]?: Changes[string] };
  /** How many open payouts that had no details take these (OUT-18). */
  taken: number;
  /** Masked, if a link to the vendor's pages of this account was made: whoever has the link may change what is behind it. */
  linked_account?: string;
}

/** A link to the vendor's pages of a partner's connected account, for those who are notified of it (OUT-15). */
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

/** What `changes`, as the audit event has them, say of payout details; null where they say nothing. */
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

/** Fields that say where a payout goes, and what a vendor wrote of that, in whatever object they are. */
const DETAIL_FIELDS: ReadonlySet<string> = new Set<PayoutDetail | keyof Payout | "account_id">([
  ...MASKED_DETAILS.map(([column]) => column),
  "account_id",
  ...(["recipient", "recipient_sealed", "failure_message"] as const),
]);

/** What who may read no payout details sees of an object: none of those fields, in objects within it neither (TEAM-1). */
export function withoutDetails<T>(of: T): T {
  return replaced(of, () => []);
}

/** What who may see them in part sees: versions before wrote accounts whole into refusals and differences (ACCESS-12). */
export function withDetailsInPart<T>(of: T): T {
  return replaced(of, (detail) => [JSON.parse(withMaskedAccounts(JSON.stringify(detail)))]);
}

/** `metadata` is the owner's own, of any depth, and says nothing to us. */
function replaced<T>(of: T, shown: (detail: unknown) => unknown[]): T {
  if (Array.isArray(of)) return of.map((one) => replaced(one, shown)) as T;
  if (typeof of !== "object" || of === null) return of;
  const fields = Object.entries(of).flatMap(([field, value]) => {
    const values = DETAIL_FIELDS.has(field) ? shown(value) : [field === "metadata" ? value : replaced(value, shown)];
    return values.map((one) => [field, one]);
  });
  return Object.fromEntries(fields) as T;
}
