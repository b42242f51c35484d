import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Seen } from "../../src/clicks/recent-ids.ts";

describe("what an object has seen", () => {
  it("knows an id again within the window and not after it (TRACK-12)", () => {
    const seen = new Seen(1_000, 10);
    expect(seen.add("a", 0)).toBe(true);
    expect(seen.add("a", 999)).toBe(false);
    expect(seen.add("a", 1_000)).toBe(true);
    expect(seen.add("a", 1_999)).toBe(false);
  });

  it("forgets the oldest first when there are too many", () => {
    const seen = new Seen(1_000, 3);
    for (const id of ["a", "b", "c", "d"]) seen.add(id, 0);
    seen.prune(0);
    expect(seen.add("a", 1)).toBe(true);
    expect(seen.add("d", 1)).toBe(false);
  });

  it("agrees with a list that forgets nothing, within the window and the number", () => {
    const step = fc.record({ id: fc.constantFrom("a", "b", "c", "d", "e"), wait: fc.nat(400) });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const seen = new Seen(1_000, 5);
        const taken = new Map<string, number>();
        let now = 0;
        for (const { id, wait } of steps) {
          now += wait;
          const before = taken.get(id);
          const isNew = before === undefined || now - before >= 1_000;
          expect(seen.add(id, now)).toBe(isNew);
          if (isNew) taken.set(id, now);
          seen.prune(now);
        }
      }),
    );
  });

  it("agrees with a plain list of the newest, whatever is added again, forgotten or cleared in between", () => {
    const step = fc.record({
      id: fc.constantFrom(..."abcdefghij"),
      wait: fc.nat(300),
      next: fc.constantFrom("prune", "prune", "nothing", "clear"),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
        const seen = new Seen(1_000, 3);
        let kept: { id: string; at: number }[] = [];
        let now = 0;
        for (const { id, wait, next } of steps) {
          now += wait;
          const known = kept.find((one) => one.id === id);
          const isNew = known === undefined || now - known.at >= 1_000;
          if (isNew) kept = [...kept.filter((one) => one !== known), { id, at: now }];
          expect(seen.add(id, now)).toBe(isNew);
          if (next === "clear") {
            kept = [];
            seen.clear();
          }
          if (next === "prune") {
            kept = kept.filter(({ at }, i) => i >= kept.length - 3 && now - at < 1_000);
            seen.prune(now);
          }
        }
      }),
      { numRuns: 300 },
    );
  });
});
