import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { openSlots } from "../../src/lib/slots.ts";

describe("slots", () => {
  it("are never given out twice, and whoever waits is served in turn", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 6 }),
        fc.array(fc.record({ count: fc.integer({ min: 1, max: 6 }), ticks: fc.nat(5) }), { maxLength: 30 }),
        async (total, work) => {
          const slots = openSlots(total);
          let used = 0;
          const order: number[] = [];
          await Promise.all(
            work.map(async ({ count: asked, ticks }, i) => {
              const count = Math.min(asked, total);
              await slots.take(count);
              order.push(i);
              used += count;
              expect(used).toBeLessThanOrEqual(total);
              for (let tick = 0; tick < ticks; tick++) await Promise.resolve();
              used -= count;
              slots.give(count);
            }),
          );
          expect(order).toEqual(work.map((_, i) => i));
        },
      ),
      { numRuns: 100 },
    );
  });

  it("refuse more than there are: that would wait forever", () => {
    expect(() => openSlots(6).take(7)).toThrow(RangeError);
  });
});
