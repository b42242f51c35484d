import { endIdleClaims, listDue, listIdleClaims, MAX_IN_FLIGHT, type DueWakeUp } from "../core/kernel/deliveries.ts";
import type { Owner, Work } from "../core/kernel/work.ts";
import { MAX_WAKE_UPS, wakeUpAt } from "../core/jobs/wake.ts";
import type { ConsumerDeps } from "./consumer.ts";

/** Lanes that are woken at once. */
const LANES_AT_ONCE = 40;

interface Lanes extends Owner {
  due: DueWakeUp[];
}

/**
 * Finds deliveries without a wake-up: after a crash, a failed queue, or the reactivation of an endpoint. Wakes due
 * deliveries, and claimed ones for the end of their claim, so that one sweep recovers all of them even if the process
 * that held the claims is gone. Waking twice does no harm.
 */
export function wakeDue({ db, now, wake }: Pick<ConsumerDeps, "db" | "now" | "wake">): Work<Lanes> {
  const at = now();
  return {
    // Each lane may have as many due as it may have in flight, and twice as many in flight.
    cost: Math.ceil((LANES_AT_ONCE * 3 * MAX_IN_FLIGHT) / MAX_WAKE_UPS),
    everybody: true,
    async due(after) {
      const due = await listDue({ db, now: at }, after, LANES_AT_ONCE);
      const last = due.reduce((key, { endpoint_id }) => (endpoint_id > key ? endpoint_id : key), after);
      return due.length > 0 ? [{ key: last, due }] : [];
    },
    async serve({ due }) {
      await wake(due.map(({ delivery_id, due_at }) => wakeUpAt(delivery_id, due_at, at)));
      return false;
    },
  };
}

/** Endpoints that are looked up, and claims that are ended, at once. */
const ENDPOINTS_AT_ONCE = 50;
const CLAIMS_AT_ONCE = 1_000;

/** Ends claims that were held at an endpoint when it was switched off and have not been ended since. */
export function endClaimsAtInactive({ db, now }: Pick<ConsumerDeps, "db" | "now">): Work {
  const ctx = { db, now: now() };
  return {
    cost: 1,
    async due(after) {
      const found = await listIdleClaims(ctx, after, ENDPOINTS_AT_ONCE);
      return found.map(({ endpoint_id }) => ({ key: endpoint_id }));
    },
    serve: async ({ key }) => (await endIdleClaims(ctx, key, CLAIMS_AT_ONCE)) === CLAIMS_AT_ONCE,
  };
}
