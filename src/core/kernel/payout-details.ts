import { sql, type SQL } from "drizzle-orm";
import { literal } from "../../db/client.ts";
import { joinParts } from "../../db/parts.ts";
import type { Changes } from "../../domain/actor.ts";
import { maskAccount, maskAddress, maskDistinctly } from "../../domain/mask.ts";
import { PAYOUT_METHODS } from "../../domain/partner.ts";
import { COLUMN_OF } from "../../domain/payout-details.ts";
import { withMaskedAccounts } from "../../providers/api-call.ts";
import { PARTNER, PAYOUT_DETAILS, type PayoutDetail } from "../../resources/partner.ts";
import type { Partner, Payout } from "./rows.ts";

/** The mask of each payout detail that is shown in part. */
export const MASKED_DETAILS = PAYOUT_DETAILS.flatMap((column) => {
  const { audit } = PARTNER[column];
  if (audit === "plain") return [];
  return [[column, audit === "sealed" ? String : audit === "address" ? maskAddress : maskAccount] as const];
});

/** A change of one partner's payout details or e-mail address, for its notification (OUT-9). */
export interface PayoutDetailsChange {
  partner: Pick<Partner, "id" | "email" | "first_name" | "last_name" | "status">;
  /**
   * The partner's own address and the one paid at, before and after the change, each once; for a change of the e-mail
   * address alone, the earlier one.
   */
  addresses: string[];
  /** Masked. */
  changes: { [K in PayoutDetail | "email"]?: Changes[string] };
  /** How many open payouts without details receive these (OUT-18). */
  taken: number;
  /** Masked; set if a link to the account's pages at the vendor was made: its holder may change the account. */
  linked_account?: string;
  /** The end of the hold of the partner's payouts (OUT-24), ISO 8601; null without one. */
  held_until: string | null;
}

/** A link to the vendor's pages of a partner's connected account, for its notification (OUT-15). */
export function accountLinked(partner: Partner, account_id: string): PayoutDetailsChange {
  return {
    partner,
    addresses: addressesOf(partner),
    changes: {},
    taken: 0,
    held_until: holdOf(partner),
    linked_account: maskAccount(account_id),
  };
}

/** A hold in force when the partner was changed. */
function holdOf({ payouts_held_until, updated_at }: Partner): string | null {
  return payouts_held_until !== null && payouts_held_until > updated_at ? payouts_held_until : null;
}

/** The partner's own address and the one paid at, of one or several versions of the row, each address once. */
function addressesOf(...versions: Pick<Partner, "email" | "payout_email">[]): string[] {
  const named = versions.flatMap(({ email }) => [email]);
  const paid = versions.flatMap(({ payout_email }) => payout_email ?? []);
  const addresses = new Map([...named, ...paid].toReversed().map((email) => [email.toLowerCase(), email]));
  return [...addresses.values()].toReversed();
}

/** The payout details and the address in `changes` of an audit event; null if they did not change. */
export function payoutDetailsChange(
  before: Partner,
  after: Partner,
  changes: Changes,
  taken: number,
): PayoutDetailsChange | null {
  const changed = PAYOUT_DETAILS.flatMap((field) => (changes[field] ? [[field, changes[field]] as const] : []));
  const mask = maskDistinctly(maskAddress);
  const isMoved = before.email.toLowerCase() !== after.email.toLowerCase();
  const fields = {
    ...Object.fromEntries(changed),
    ...(isMoved && { email: [mask(before.email), mask(after.email)] as Changes[string] }),
  };
  if (changed.length > 0) {
    return { partner: after, addresses: addressesOf(before, after), changes: fields, taken, held_until: holdOf(after) };
  }
  return isMoved ? { partner: after, addresses: [before.email], changes: fields, taken, held_until: null } : null;
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

/** Whether a payout made now for the partner `p` would have no payout details. */
export function partnerLacksDetails(alias: string): SQL {
  const p = sql.raw(alias);
  const cases = PAYOUT_METHODS.map(
    (method) => sql`when ${literal(method)} then ${p}.${sql.raw(COLUMN_OF[method])} is null`,
  );
  return sql`(case ${p}.payout_method ${joinParts(cases, sql` `, PAYOUT_METHODS.length)} else 1 end)`;
}
