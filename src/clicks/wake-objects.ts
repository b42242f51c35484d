import { listClickObjects, readCursors } from "../core/clicks/clicks.ts";
import type { Owner, Work } from "../core/kernel/work.ts";
import type { Ctx } from "../core/kernel/context.ts";
import type { Bindings } from "../env.ts";
import { withTimeout } from "../lib/deadline.ts";
import { logLine, reasonOf } from "../lib/log.ts";
import { SECOND } from "../lib/time.ts";
import { hintOf } from "./region.ts";

/** Objects called at once, and the timeout of each. */
const OBJECTS_AT_ONCE = 10;
const ANSWER_WITHIN = 10 * SECOND;

interface ClickObjects extends Owner {
  names: string[];
}

/**
 * Recovers clicks for which no Worker came: compares every object of one database that ever took a click with its
 * cursor in the database (cron, every minute), and makes it flush missing ones, also after the database was restored.
 * An object that does not answer is logged, and tried again by the next run. `onCall` is notified of each call.
 */
export function wakeClickObjects(
  { db }: Pick<Ctx, "db">,
  { CLICKS }: Pick<Bindings, "CLICKS">,
  onCall: (calls: number) => void = () => {},
): Work<ClickObjects> {
  const open = (name: string) => CLICKS.getByName(name, { locationHint: hintOf(name) });
  /** Calls objects at once; failed calls are logged and left out. */
  async function callAll<One, Answer>(
    all: readonly One[],
    nameOf: (one: One) => string,
    call: (one: One) => Promise<Answer>,
  ) {
    onCall(all.length);
    const answers = await Promise.allSettled(all.map((one) => withTimeout(ANSWER_WITHIN, "the object", call(one))));
    return answers.flatMap((answer, i) => {
      if (answer.status === "fulfilled") return [answer.value];
      logLine("error", { what: "click object not woken", object: nameOf(all[i]!), reason: reasonOf(answer.reason) });
      return [];
    });
  }
  return {
    // Each object is called twice; one statement reads all cursors.
    cost: 2 * OBJECTS_AT_ONCE + 1,
    everybody: true,
    unnoted: true,
    async due(after) {
      const names = await listClickObjects(db, after, OBJECTS_AT_ONCE);
      return names.length > 0 ? [{ key: names.at(-1)!, names }] : [];
    },
    async serve({ names }) {
      const looked = await callAll(names, String, async (name) => {
        const found = await open(name).look();
        return found === null ? [] : [{ name, ...found }];
      });
      const found = looked.flat();
      if (found.length === 0) return false;
      const cursors = await readCursors(
        db,
        found.map(({ epoch }) => epoch),
      );
      const behind = found.filter(({ epoch, last }) => (cursors.get(epoch) ?? 0) < last);
      await callAll(
        behind,
        ({ name }) => name,
        async ({ name, epoch }) => open(name).catchUp(cursors.get(epoch) ?? null),
      );
      return false;
    },
  };
}
