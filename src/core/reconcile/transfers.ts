import { maskAccount, maskDistinctly } from "../../domain/mask.ts";
import { TRANSFER_METHOD } from "../../domain/partner.ts";
import type { Difference, Figures } from "../../domain/reconciliation.ts";
import type { ReversedTransfer, Transfers } from "../../providers/connect.ts";
import type { ProgramCtx } from "../kernel/context.ts";
import { openApiKey } from "../kernel/provider-secrets.ts";
import type { Payout } from "../kernel/rows.ts";
import { attemptOf, isTakenBack, standingOf } from "../payouts/attempt.ts";
import { openRecipient } from "../payouts/recipient.ts";

/** Whether provider A has paid the payout, according to our records. */
export function hasTransfer(payout: Payout): boolean {
  return payout.status === "paid" && payout.method === TRANSFER_METHOD && payout.attempt > 0;
}

/**
 * Compares paid payouts with the vendor's transfers: one for each payout, of its amount in the vendor's units, to its
 * account. `checked` are the payouts for which the vendor gave a usable answer: the key of another account does not see
 * the transfer, and an outage is no proof. `reversed`: payouts whose transfer was reversed in full, which are no
 * difference (OUT-21). Accounts are compared whole and reported masked.
 */
export async function checkTransfers(
  ctx: ProgramCtx,
  payouts: readonly Payout[],
  transfers: Transfers,
): Promise<{ checked: string[]; found: Difference[]; reversed: ReversedTransfer[] }> {
  const checked: string[] = [];
  const found: Difference[] = [];
  const reversed: ReversedTransfer[] = [];
  const api_key = payouts.length > 0 ? await openApiKey(ctx, TRANSFER_METHOD) : null;
  if (api_key === null) return { checked, found, reversed };
  for (const payout of payouts) {
    const compared = await compare(ctx, payout, api_key, transfers);
    if (!compared) continue;
    checked.push(payout.id);
    const { expected, actual, transfer_id } = compared;
    if (transfer_id !== undefined) {
      reversed.push({ payout_id: payout.id, transfer_id });
      continue;
    }
    if (JSON.stringify(expected) === JSON.stringify(actual)) continue;
    found.push({ check: "transfer", subject: payout.id, ...maskFigures({ expected, found: actual }) });
  }
  return { checked, found, reversed };
}

export type Figured = Pick<Difference, "expected" | "found">;

/** The figures with masked accounts, which differ if the accounts differ. */
export function maskFigures({ expected, found }: Figured): Figured {
  const apart = maskDistinctly(maskAccount);
  const of = (figures: Figures): Figures => {
    const { account_id } = figures;
    return typeof account_id === "string" ? { ...figures, account_id: apart(account_id) } : figures;
  };
  return { expected: of(expected), found: of(found) };
}

/** Null if the vendor's answer proves neither agreement nor a difference. `transfer_id`: of one that was reversed in full. */
async function compare(
  ctx: ProgramCtx,
  payout: Payout,
  api_key: string,
  transfers: Transfers,
): Promise<{ expected: Figures; actual: Figures; transfer_id?: string } | null> {
  const standing = await standingOf(attemptOf(payout), api_key, transfers);
  if (standing.is === "other_account") return null;
  const answer = await transfers.find(api_key, payout.id);
  if (answer.outcome === "unknown") return null;
  // A found transfer is a fact for any key; a missing one is conclusive only for the transfer's account.
  if (answer.outcome === "none" && standing.is === "unsure") return null;
  const { currency, reference } = payout;
  // A transfer that was reversed before the one that pays does not count.
  const counted =
    answer.outcome === "made"
      ? answer.transfers.filter((one) => one.transfer_id === reference || !isTakenBack(one))
      : [];
  const [made] = counted;
  const account_id = (await openRecipient(ctx, payout))?.provider_a_account_id ?? null;
  const amount_cents = transfers.transferableAmount(payout);
  const expected = { transfers: 1, transfer_id: reference, amount_cents, currency, account_id, reversed_cents: 0 };
  if (!made) return { expected, actual: { transfers: 0 } };
  const isReturned = counted.length === 1 && made.transfer_id === reference && isTakenBack(made);
  return {
    ...(isReturned ? { transfer_id: reference } : {}),
    // A field that one side does not state is not compared.
    expected: { ...expected, account_id: made.account_id && account_id },
    actual: {
      transfers: counted.length,
      transfer_id: made.transfer_id,
      amount_cents: made.amount_cents,
      currency: made.currency,
      account_id: account_id && made.account_id,
      reversed_cents: made.reversed_cents,
    },
  };
}
