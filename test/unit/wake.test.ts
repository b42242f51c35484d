import { afterEach, describe, expect, it, vi } from "vitest";
import { queueWakeUps, wakeUpAt } from "../../src/core/jobs/wake.ts";

afterEach(() => vi.restoreAllMocks());

describe("wake-ups", () => {
  it.each([
    [0, 0],
    [1, 1],
    [1_000, 1],
    [1_001, 2],
    [5 * 60_000, 300],
    [-1, 0],
    [-86_400_000, 0],
  ])("for %i ms from now come after %i s: never early, never for the past", (ms, seconds) => {
    const now = Date.UTC(2026, 10, 20);
    expect(wakeUpAt("dlv_1", new Date(now + ms).toISOString(), now)).toEqual({
      delivery_id: "dlv_1",
      delay_seconds: seconds,
    });
  });

  it("are queued in batches of 100, with delays that every version of the platform takes", async () => {
    const sent: { body: unknown; delaySeconds?: number }[][] = [];
    const queue = {
      sendBatch: async (messages: Iterable<{ body: unknown }>) => void sent.push([...messages]),
    };
    const wakeUps = Array.from({ length: 250 }, (_, i) => ({
      delivery_id: `dlv_${i}`,
      delay_seconds: i === 249 ? 1e6 : i,
    }));
    await queueWakeUps(queue, wakeUps);
    expect(sent.map((batch) => batch.length)).toEqual([100, 100, 50]);
    expect(sent.flat().map(({ body }) => body)).toEqual(wakeUps.map(({ delivery_id }) => ({ delivery_id, shard: 0 })));
    expect(sent.flat().at(-1)?.delaySeconds).toBe(43_200);
    expect(sent.flat()[7]?.delaySeconds).toBe(7);
  });

  it("that cannot be queued are logged and not thrown", async () => {
    const logged = vi.spyOn(console, "error").mockImplementation(() => {});
    await queueWakeUps({ sendBatch: () => Promise.reject(new Error("full")) }, [
      { delivery_id: "d", delay_seconds: 0 },
    ]);
    expect(logged).toHaveBeenCalledOnce();
  });
});
