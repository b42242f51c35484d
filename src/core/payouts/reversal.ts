/** Transfers that the vendor reports as reversed in full (OUT-21). */
import { and, eq, sql } from "drizzle-orm";
import { payouts } from "../../db/schema.ts";
import { AppError } from "../../lib/errors.ts";
import { iso } from "../../lib/time.ts";
import { commit } from "../kernel/commit.ts";
import type { ProgramCtx } from "../kernel/context.ts";
import { untilWon } from "../kernel/races.ts";
import type { Payout } from "../kernel/rows.ts";
import type { Room } from "../ledger/settle.ts";
import type { ReversedTransfer } from "../../providers/connect.ts";
import { attemptOf } from "./attempt.ts";
import { ownedPayout, returnPayout, selectPayout } from "./payouts.ts";

/** The reason of a return that the vendor reported. */
const REVERSED = {
  code: "transfer_reversed",
  message: "The payment provider reported that the whole transfer was reversed. The money is back in your account.",
};

/**
 * Returns the payout that the transfer has paid. If the transfer is still open, it is recorded with the attempt, so that
 * the attempt fails instead of paying (`pay.ts`). Otherwise the payout does not change: it was returned by hand, or
 * another transfer has paid it, or it is not the program's. A caller with many gives the `room` that they share.
 */
export async function takeReversal(
  ctx: ProgramCtx,
  { payout_id, transfer_id }: ReversedTransfer,
  room?: Room,
): Promise<void> {
  const isPaidByIt = await untilWon(async () => {
    const [[payout]] = await ctx.read(selectPayout(ctx, payout_id));
    // A payout in a file is processing without a transfer.
    if (payout?.status === "processing" && payout.reconcile_at !== null) {
      await recordReversal(ctx, payout, payout.reconcile_at, transfer_id);
    }
    return payout?.status === "paid" && payout.reference === transfer_id;
  });
  if (!isPaidByIt) return;
  try {
    await returnPayout(ctx, payout_id, REVERSED, room);
  } catch (error) {
    // It was returned by another process meanwhile.
    if (!(error instanceof AppError) || error.code !== "invalid_transition") throw error;
  }
}

/** Also takes the lease, so that its holder does not write the attempt without it. */
async function recordReversal(ctx: ProgramCtx, payout: Payout, was: string, transfer_id: string): Promise<void> {
  const { reversed = [], ...frozen } = attemptOf(payout);
  if (reversed.includes(transfer_id)) return;
  const set = {
    attempt_params: JSON.stringify({ ...frozen, reversed: [...reversed, transfer_id] }),
    reconcile_at: iso(Date.parse(was) + 1),
  };
  const isUnchanged = and(
    ownedPayout(ctx, payout.id),
    sql`${payouts.status} = 'processing'`,
    eq(payouts.attempt, payout.attempt),
    eq(payouts.reconcile_at, was),
  );
  await commit(ctx, {
    writes: [{ statement: ctx.db.update(payouts).set(set).where(isUnchanged), expect: 1 }],
    occurrences: [],
  });
}
