import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { openBudget, type Share } from "../../src/lib/budget.ts";

/** Whether a promise is settled after everything that is due has run. */
async function answerOf(asked: Promise<boolean>): Promise<boolean | "waits"> {
  let answer: boolean | "waits" = "waits";
  void asked.then((given) => (answer = given));
  for (let tick = 0; tick < 10; tick++) await Promise.resolve();
  return answer;
}

describe("a budget", () => {
  it("keeps each share's part free for it, and gives away what one leaves", async () => {
    const budget = openBudget(10);
    const [busy, slow] = [budget.open(4), budget.open(4)];
    expect(await busy.take(4)).toBe(true);
    expect(await busy.take(2)).toBe(true);
    const more = busy.take(1);
    expect(await answerOf(more)).toBe("waits");
    expect(await slow.take(1)).toBe(true);
    expect(await answerOf(more)).toBe("waits");
    slow.leave();
    expect(await more).toBe(true);
    expect(await busy.take(2)).toBe(true);
    expect(await busy.take(1)).toBe(false);
  });

  it("promises parts in the order in which shares are opened, as far as they go", async () => {
    const budget = openBudget(10);
    const [first, second, third] = [budget.open(6), budget.open(6), budget.open(4)];
    const asked = second.take(6);
    expect(await answerOf(asked)).toBe("waits");
    expect([await first.take(6), await third.take(4)]).toEqual([true, true]);
    expect(await asked).toBe(false);
  });

  it("does not wait where all wait for each other", async () => {
    const budget = openBudget(10);
    const [first, second] = [budget.open(5), budget.open(5)];
    const asked = [first.take(8), second.take(8)];
    expect(await Promise.all(asked)).toEqual([true, false]);
  });

  it("counts what was really spent", async () => {
    const budget = openBudget(10);
    const only = budget.open(0);
    expect(await only.take(10)).toBe(true);
    only.correct(-4);
    expect(await only.take(4)).toBe(true);
    only.correct(3);
    expect(await only.take(1)).toBe(false);
  });

  it("is spent by whoever has something to do: nothing is left over, none is over, none goes without its part", async () => {
    const worker = fc.record({
      part: fc.nat(8),
      units: fc.nat(30),
      cost: fc.integer({ min: 1, max: 8 }),
      ticks: fc.nat(4),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 120 }),
        fc.array(worker, { maxLength: 12 }),
        async (limit, workers) => {
          const budget = openBudget(limit);
          const shares: Share[] = workers.map(({ part }) => budget.open(part));
          let promised = 0;
          const covered = workers.map(({ part }) => {
            const fits = promised + part <= limit;
            if (fits) promised += part;
            return fits ? part : 0;
          });
          let spent = 0;
          const done = await Promise.all(
            workers.map(async ({ units, cost, ticks }, i) => {
              let served = 0;
              while (served < units && (await shares[i]!.take(cost))) {
                spent += cost;
                served += 1;
                for (let tick = 0; tick < ticks; tick++) await Promise.resolve();
              }
              shares[i]!.leave();
              return served;
            }),
          );
          expect(spent).toBeLessThanOrEqual(limit);
          workers.forEach(({ units, cost }, i) => {
            expect(done[i]).toBeGreaterThanOrEqual(Math.min(units, Math.floor(covered[i]! / cost)));
            if (done[i]! < units) expect(spent + cost).toBeGreaterThan(limit);
          });
        },
      ),
      { numRuns: 300 },
    );
  });
});
