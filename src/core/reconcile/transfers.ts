import { maskAccount, maskedApart } from "../../domain/mask.ts";
import { TRANSFER_METHOD } from "../../domain/partner.ts";
import type { Difference, Figures } from "../../domain/reconciliation.ts";
import type { Transfers } from "../../providers/connect.ts";
import type { ProgramCtx } from "../kernel/context.ts";
import { openApiKey } from "../kernel/provider-secrets.ts";
import type { Payout } from "../kernel/rows.ts";
import { attemptOf, isTakenBack, standingOf } from "../payouts/attempt.ts";
import { openRecipient } from "../payouts/recipient.ts";

/** A payout that provider A has paid, as far as we know. */
export function hasTransfer(payout: Payout): boolean {
  return payout.status === "paid" && payout.method === TRANSFER_METHOD && payout.attempt > 0;
}

/**
 * Compares paid payouts with the transfers that the vendor has: one for each, of its amount as the vendor moves it, to its account. `checked`
 * are those about which the vendor could be asked and answered: another account's key knows nothing of a transfer, and a
 * vendor who is away proves nothing. Accounts are compared whole and reported masked.
 */
export async function checkTransfers(
  ctx: ProgramCtx,
  payouts: readonly Payout[],
  transfers: Transfers,
): Promise<{ checked: string[]; found: Difference[] }> {
  const checked: string[] = [];
  const found: Difference[] = [];
  const api_key = payouts.length > 0 ? await openApiKey(ctx, TRANSFER_METHOD) : null;
  if (api_key === null) return { checked, found };
  for (const payout of payouts) {
    const compared = await compare(ctx, payout, api_key, transfers);
    if (!compared) continue;
    checked.push(payout.id);
    const { expected, actual } = compared;
    if (JSON.stringify(expected) === JSON.stringify(actual)) continue;
    found.push({ check: "transfer", subject: payout.id, ...masked({ expected, found: actual }) });
  }
  return { checked, found };
}

export type Figured = Pick<Difference, "expected" | "found">;

/** The figures with their accounts masked, which differ where the accounts do. */
export function masked({ expected, found }: Figured): Figured {
  const apart = maskedApart(maskAccount);
  const of = (figures: Figures): Figures => {
    const { account_id } = figures;
    return typeof account_id === "string" ? { ...figures, account_id: apart(account_id) } : figures;
  };
  return { expected: of(expected), found: of(found) };
}

/** Null where nothing can be said. */
async function compare(
  ctx: ProgramCtx,
  payout: Payout,
  api_key: string,
  transfers: Transfers,
): Promise<{ expected: Figures; actual: Figures } | null> {
  const standing = await standingOf(attemptOf(payout), api_key, transfers);
  if (standing.is === "other_account") return null;
  const answer = await transfers.find(api_key, payout.id);
  if (answer.outcome === "unknown") return null;
  // What is found is a fact, whosever key it is; that nothing is says something of the transfer's own account alone.
  if (answer.outcome === "none" && standing.is === "unsure") return null;
  const { currency, reference } = payout;
  // What was taken back before the transfer that pays says nothing of it.
  const counted =
    answer.outcome === "made"
      ? answer.transfers.filter((one) => one.transfer_id === reference || !isTakenBack(one))
      : [];
  const [made] = counted;
  const account_id = (await openRecipient(ctx, payout))?.provider_a_account_id ?? null;
  const amount_cents = transfers.transferableAmount(payout);
  const expected = { transfers: 1, transfer_id: reference, amount_cents, currency, account_id, reversed_cents: 0 };
  if (!made) return { expected, actual: { transfers: 0 } };
  return {
    // What neither side states is not compared.
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
