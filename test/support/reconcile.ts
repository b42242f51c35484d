/** The reconciler as tests run it: whole rounds, and what they left. */
import { reconcileStep, type ReconcileTools, type Step } from "../../src/core/reconcile/reconcile.ts";
import type { ProgramCtx } from "../../src/core/kernel/context.ts";
import { openDifferences } from "../../src/core/reconcile/findings.ts";
import { clientOf } from "./payouts.ts";
import { openVendor } from "./provider-a-api.ts";

/** The vendor has no transfers unless one is given. */
export function reconcileTools(vendor = openVendor()): ReconcileTools {
  return { transfers: clientOf(vendor), onCall: () => {} };
}

/** A round to its end; `fromStart` goes through all of the program. Gives its steps. */
export async function reconcileRound(ctx: ProgramCtx, tools = reconcileTools(), fromStart = false): Promise<Step[]> {
  const steps: Step[] = [];
  do {
    steps.push(await reconcileStep(ctx, tools, fromStart && steps.length === 0));
  } while (steps.at(-1)!.more);
  return steps;
}

/** Everything that differs in a program, after all of it was looked at. */
export async function differencesOf(ctx: ProgramCtx, tools = reconcileTools()) {
  await reconcileRound(ctx, tools, true);
  const [rows] = await ctx.read(openDifferences(ctx, 100));
  return rows.map(({ kind, subject, expected, found }) => ({ kind, subject, expected, found }));
}
