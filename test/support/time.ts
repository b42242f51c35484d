/** Waiting and time in tests: no result depends on the speed of the machine. */
import { onTestFinished, vi } from "vitest";

/** Far more than a busy machine needs; only a failing test waits so long. */
const PATIENCE_MS = 90_000;

/** The default step by which played time advances, in milliseconds. */
const STEP_MS = 50;

/**
 * Repeats a check until it holds.
 * @throws its last exception, after a time that no working code needs.
 */
export function eventually<T>(check: () => T | Promise<T>): Promise<T> {
  return vi.waitFor(check, { timeout: PATIENCE_MS, interval: 20 });
}

/**
 * Runs work whose timers and clock are played: time advances in steps until the work has ended, and every duration that
 * the work measures is exact on any machine.
 * @throws if the work has not ended within `most` milliseconds of played time.
 */
export async function inPlayedTime<T>(
  work: () => Promise<T>,
  { step = STEP_MS, most = 120_000 }: { step?: number; most?: number } = {},
): Promise<T> {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] });
  const state = { isOver: false };
  const ended = work().finally(() => (state.isOver = true));
  ended.catch(() => {});
  try {
    for (let played = 0; !state.isOver && played <= most; played += step) {
      // The platform's own work (hashes, streams, storage) settles on the real event loop.
      await scheduler.wait(2);
      if (!state.isOver) await vi.advanceTimersByTimeAsync(step);
    }
    if (!state.isOver) throw new Error(`not ended after ${most} ms of played time`);
    return await ended;
  } finally {
    vi.useRealTimers();
  }
}

/** Holds the clock until the test has ended: time-limited work runs to its end, however busy the machine. */
export function holdClock(): void {
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() });
  onTestFinished(() => void vi.useRealTimers());
}

/** Runs the clock from another instant until the test has ended. */
export function runClockFrom(now: number): void {
  vi.useFakeTimers({ toFake: ["Date"], now, shouldAdvanceTime: true });
  onTestFinished(() => void vi.useRealTimers());
}
