import { and, eq, sql } from "drizzle-orm";
import { flows } from "../../db/schema.ts";
import { prioritiesInOrder } from "../../domain/flow.ts";
import { invalidField } from "../../lib/errors.ts";
import { nextStamp } from "../../lib/time.ts";
import { changesOf } from "../kernel/changes.ts";
import { commit, type Write } from "../kernel/commit.ts";
import { prove, type Caller } from "../kernel/context.ts";
import { refuseWhere, untilWon } from "../kernel/races.ts";
import { pickChanged } from "../kernel/stale.ts";
import { asGiven, payloadOf, selectFlows } from "./flows.ts";

/**
 * Changes the order of the flows (FLOW-17) to `order`, which contains the id of each flow once.
 * @throws {StaleChange} if the stored order differs from `shown`, the order on the page.
 */
export async function reorderFlows(caller: Caller, order: readonly string[], shown: readonly string[]): Promise<void> {
  await untilWon(async () => {
    const [ctx, stored] = await prove(caller, selectFlows(caller));
    const ids = stored.map(({ id }) => id);
    const given = pickChanged({ order: ids }, { order }, { shown: { order: shown } });
    if (given.order === undefined) return;
    const sorted = order.map((id) => stored.find((flow) => flow.id === id));
    const isComplete = sorted.every((flow) => flow !== undefined) && new Set(order).size === ids.length;
    if (!isComplete) throw invalidField("order", "This must name each flow once.");
    const priorities = prioritiesInOrder(sorted);
    const changed = sorted.flatMap((before) => {
      const priority = priorities.get(before.id) ?? before.priority;
      if (priority === before.priority) return [];
      return [{ before, flow: { ...before, priority, updated_at: nextStamp(before.updated_at, ctx.now) } }];
    });
    await commit(ctx, {
      writes: [
        ...changed.map(({ before, flow }): Write => ({
          statement: ctx.db
            .update(flows)
            .set({ priority: flow.priority, updated_at: flow.updated_at })
            .where(
              and(eq(flows.id, flow.id), eq(flows.program_id, ctx.program.id), eq(flows.updated_at, before.updated_at)),
            ),
          expect: 1,
        })),
        // A flow that was added or moved meanwhile may be between.
        refuseWhere(
          ctx,
          sql`(select json_group_array(id) from (select id from flows where program_id = ${ctx.program.id}
            order by priority desc, created_at, id)) is not ${JSON.stringify(order)}`,
        ),
      ],
      occurrences: changed.map(({ before, flow }) => ({
        type: "flow.updated",
        changes: changesOf("flow", asGiven(before), asGiven(flow)),
        payload: payloadOf(flow),
      })),
      result: undefined,
    });
  });
}
