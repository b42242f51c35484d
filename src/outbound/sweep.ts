import { listDue } from "../core/deliveries.ts";
import type { ConsumerDeps } from "./consumer.ts";
import { wakeUpAt } from "../core/wake.ts";

/** Lanes woken by one sweep: with ten wake-ups each, well below what one invocation may send. */
const MAX_LANES = 500;

/**
 * Finds what was never woken: wake-ups lost with a crash, a queue that failed, endpoints that are active again. Wakes
 * what is due, and what is under way for the end of its claim, so that one sweep brings everything back even when the
 * process that held the claims is gone. Waking twice does no harm.
 */
export async function wakeDue({ db, now, wake }: Pick<ConsumerDeps, "db" | "now" | "wake">): Promise<number> {
  const at = now();
  const due = await listDue({ db, now: at }, MAX_LANES);
  if (due.length > 0) await wake(due.map(({ delivery_id, due_at }) => wakeUpAt(delivery_id, due_at, at)));
  return due.length;
}
