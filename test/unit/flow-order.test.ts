/** The priorities of an order of flows (FLOW-17). */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { prioritiesInOrder } from "../../src/domain/flow.ts";

const flow = (id: string, priority: number, created_at = "2026-01-01") => ({ id, priority, created_at });

describe("the priorities of an order of flows (FLOW-17)", () => {
  it("changes one flow if there is room, else all", () => {
    const [a, b, c] = [flow("a", 30), flow("b", 20), flow("c", 10)];
    expect([...prioritiesInOrder([a, c, b])]).toEqual([["c", 25]]);
    expect([...prioritiesInOrder([b, a, c])]).toEqual([["b", 40]]);
    const same = [flow("a", 0), flow("b", 0), flow("c", 0)] as const;
    expect([...prioritiesInOrder([same[2], same[1], same[0]])]).toEqual([
      ["c", 30],
      ["b", 20],
      ["a", 10],
    ]);
  });

  it("gives any order, whatever the priorities were", () => {
    const priorities = fc.oneof(fc.integer({ min: -3, max: 3 }), fc.double({ noNaN: true, noDefaultInfinity: true }));
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.tuple(fc.string(), priorities), { selector: ([id]) => id, maxLength: 8 }),
        (rows) => {
          const flows = rows.map(([id, priority]) => flow(id, priority));
          const given = prioritiesInOrder(flows);
          const sorted = flows
            .map((one) => ({ ...one, priority: given.get(one.id) ?? one.priority }))
            .toSorted((x, y) => y.priority - x.priority || (x.id < y.id ? -1 : 1));
          expect(sorted.map(({ id }) => id)).toEqual(flows.map(({ id }) => id));
        },
      ),
    );
  });
});
