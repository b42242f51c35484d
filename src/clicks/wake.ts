import { listClickObjects } from "../core/clicks.ts";
import type { DatabaseBindings } from "../core/database.ts";
import type { Bindings } from "../env.ts";
import { hintOf } from "./region.ts";

/**
 * Looks after alarms that were lost: every object that ever took a click arms its own where clicks wait (cron, every
 * minute), for the objects of one shard. Returns how many clicks wait in all; an object that does not answer is found
 * again by the next run.
 */
export async function wakeClickObjects(
  bindings: DatabaseBindings & Pick<Bindings, "CLICKS">,
  shard = 0,
): Promise<number> {
  const names = await listClickObjects(bindings, shard);
  const results = await Promise.allSettled(
    names.map(async (name) => bindings.CLICKS.getByName(name, { locationHint: hintOf(name) }).ensureAlarm()),
  );
  return results.reduce((sum, result) => sum + (result.status === "fulfilled" ? result.value.waiting : 0), 0);
}
