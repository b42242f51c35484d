/** The reconciler as tests run it: whole rounds, and their results. */
import { reconcileStep, type Step } from "../../src/core/reconcile/reconcile.ts";
import type { ProgramCtx } from "../../src/core/kernel/context.ts";
import { openDifferences } from "../../src/core/reconcile/findings.ts";
import type { Transfers } from "../../src/providers/connect.ts";
import { clientOf } from "./payouts.ts";
import { openVendor } from "./provider-a-api.ts";

/** The vendor has no transfers unless one is given. */
export function transfersAt(vendor = openVendor()): Transfers {
  return clientOf(vendor);
}

/** A round to its end; `fromStart` goes through all of the program. Gives its steps. */
export async function reconcileRound(ctx: ProgramCtx, transfers = transfersAt(), fromStart = false): Promise<Step[]> {
  const steps: Step[] = [];
  do {
    steps.push(await reconcileStep(ctx, transfers, fromStart && steps.length === 0));
  } while (steps.at(-1)!.more);
  return steps;
}

/** All differences in a program, after a whole round. */
export async function differencesOf(ctx: ProgramCtx, transfers = transfersAt()) {
  await reconcileRound(ctx, transfers, true);
  const [rows] = await ctx.read(openDifferences(ctx, 100));
  return rows.map(({ kind, subject, expected, found }) => ({ kind, subject, expected, found }));
}
