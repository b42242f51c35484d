/** A clock for this thread that moves only when it is set. */
const REAL = { Date, setImmediate, setTimeout, clearTimeout };

interface Timer {
  at: number;
  fire: () => void;
}

let now = REAL.Date.now();
let next = 1;
const timers = new Map<number, Timer>();

/** The time by this clock, in ms. */
export function timeNow(): number {
  return now;
}

/** Sets the clock before anything runs, also back. */
export function beginAt(at: number): void {
  now = at;
}

/** Sets the clock forward, and runs the timers that are due by then at their times. */
export async function setTime(at: number): Promise<void> {
  for (;;) {
    const [due] = [...timers]
      .filter(([, timer]) => timer.at <= at)
      .toSorted((a, b) => a[1].at - b[1].at || a[0] - b[0]);
    if (!due) break;
    timers.delete(due[0]);
    now = Math.max(now, due[1].at);
    due[1].fire();
    await breathe();
  }
  now = Math.max(now, at);
}

/** Lets everything run that does not wait for a later time. */
export async function breathe(): Promise<void> {
  for (let i = 0; i < 4; i++) await new Promise<void>((resolve) => REAL.setImmediate(resolve));
}

/** Returns the result of work that needs no later time. @throws if it waits for one after all */
export async function finished<T>(work: Promise<T>): Promise<T> {
  let watch: NodeJS.Timeout | undefined;
  const stuck = new Promise<never>((_, reject) => {
    watch = REAL.setTimeout(() => reject(new Error("The service waits for a time that does not come.")), STUCK_MS);
  });
  try {
    return await Promise.race([work, stuck]);
  } finally {
    REAL.clearTimeout(watch);
  }
}

const STUCK_MS = 20_000;

class SetDate extends REAL.Date {
  constructor(...given: unknown[]) {
    if (given.length === 0) super(now);
    else super(...(given as [number]));
  }

  static override now(): number {
    return now;
  }
}

function setTimer(fire: (...args: unknown[]) => void, ms = 0, ...args: unknown[]): number {
  const id = next++;
  const run = () => fire(...args);
  if (ms > 0) {
    timers.set(id, { at: now + ms, fire: run });
  } else {
    timers.set(id, { at: now, fire: run });
    REAL.setImmediate(() => {
      if (timers.delete(id)) run();
    });
  }
  return id;
}

/** Replaces the time and timers of this thread. Call it before the code that uses them is loaded. */
export function replaceClock(): void {
  const replacements = {
    Date: SetDate,
    setTimeout: setTimer,
    clearTimeout: (id: unknown) => void timers.delete(id as number),
    scheduler: { wait: (ms: number) => new Promise<void>((resolve) => void setTimer(() => resolve(), ms)) },
  };
  for (const [name, value] of Object.entries(replacements)) {
    Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
  }
}
