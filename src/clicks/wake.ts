import { listClickObjects } from "../core/clicks/clicks.ts";
import type { Owner, Work } from "../core/kernel/job.ts";
import type { Ctx } from "../core/kernel/context.ts";
import type { Bindings } from "../env.ts";
import { logLine, reasonOf } from "../lib/log.ts";
import { hintOf } from "./region.ts";

/** Objects that are called at once. */
const OBJECTS_AT_ONCE = 20;

interface ClickObjects extends Owner {
  names: string[];
}

/**
 * Looks after alarms that were lost: every object that ever took a click arms its own where clicks wait (cron, every
 * minute), for the objects of one database. An object that does not answer is logged, and found again by the next run. `onCall` is
 * notified of each call.
 */
export function wakeClickObjects(
  { db }: Pick<Ctx, "db">,
  { CLICKS }: Pick<Bindings, "CLICKS">,
  onCall: (calls: number) => void = () => {},
): Work<ClickObjects> {
  return {
    cost: OBJECTS_AT_ONCE,
    everybody: true,
    async due(after) {
      const names = await listClickObjects(db, after, OBJECTS_AT_ONCE);
      return names.length > 0 ? [{ key: names.at(-1)!, names }] : [];
    },
    async serve({ names }) {
      onCall(names.length);
      const woken = await Promise.allSettled(
        names.map(async (name) => CLICKS.getByName(name, { locationHint: hintOf(name) }).ensureAlarm()),
      );
      woken.forEach((result, i) => {
        if (result.status === "rejected") {
          logLine("error", { what: "click object not woken", object: names[i], reason: reasonOf(result.reason) });
        }
      });
      return false;
    },
  };
}
