import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { openSlots, partOf, type Slots } from "../../src/lib/slots.ts";

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

  it("of a part are taken one after another up to its size, and leave the rest to others", async () => {
    const whole = openSlots(6);
    const part = partOf(whole, 4);
    const got: string[] = [];
    const take = (of: Slots, count: number, name: string) => void of.take(count).then(() => got.push(name));
    const settled = () => scheduler.wait(0);
    take(part, 4, "first of the part");
    take(part, 4, "second of the part");
    take(whole, 2, "other");
    await settled();
    expect(got.toSorted()).toEqual(["first of the part", "other"]);
    part.give(3);
    await settled();
    expect(got).toHaveLength(2);
    part.give(1);
    await settled();
    expect(got.slice(2)).toEqual(["second of the part"]);
    take(whole, 2, "last");
    await settled();
    expect(got).toHaveLength(3);
    part.give(4);
    await settled();
    expect(got.at(-1)).toBe("last");
  });

  it("refuse more than there are: that would wait forever", () => {
    expect(() => openSlots(6).take(7)).toThrow(RangeError);
  });
});
