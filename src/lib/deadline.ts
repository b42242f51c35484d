/** The result of a race that the deadline won. */
export const EXPIRED: unique symbol = Symbol("expired");

export interface Deadline {
  /** Aborted when the time is over. */
  readonly signal: AbortSignal;
  /** The promise's own outcome, or EXPIRED once the time is over, even if the promise ignores the signal. */
  race<T>(promise: Promise<T>): Promise<T | typeof EXPIRED>;
  /** Ends the timer. Call it when the work is done, so that the timer does not keep the process alive. */
  clear(): void;
}

/** Starts one budget of `ms` milliseconds that several steps share. */
export function startDeadline(ms: number): Deadline {
  const controller = new AbortController();
  const expired = Promise.withResolvers<typeof EXPIRED>();
  const timer = setTimeout(() => {
    // Resolved before the abort, so that a race returns EXPIRED instead of the promise's abort error.
    expired.resolve(EXPIRED);
    controller.abort(new DOMException("The time for this call is over.", "TimeoutError"));
  }, ms);
  return {
    signal: controller.signal,
    race: async (promise) => await Promise.race([expired.promise, promise]),
    clear: () => clearTimeout(timer),
  };
}

/** The promise's outcome within `ms`; `what` names the operation. @throws after that; the promise runs on unobserved */
export async function withTimeout<T>(ms: number, what: string, promise: Promise<T>): Promise<T> {
  const deadline = startDeadline(ms);
  try {
    const outcome = await deadline.race(promise);
    if (outcome === EXPIRED) throw new Error(`${what} took too long`);
    return outcome;
  } finally {
    deadline.clear();
  }
}

/** The platform's `fetch`, or a test's. It is called unbound, because the platform's refuses another `this`. */
export type Fetch = (url: string, init?: RequestInit) => Promise<Response>;

/** A fetch with a deadline: rejects as `fetch`, or returns EXPIRED and discards a later answer. */
export async function fetchWithin(
  deadline: Deadline,
  fetch: Fetch,
  url: string,
  init: RequestInit,
): Promise<Response | typeof EXPIRED> {
  const pending = fetch(url, { ...init, signal: deadline.signal });
  const response = await deadline.race(pending);
  if (response === EXPIRED) void pending.then((late) => late.body?.cancel()).catch(() => undefined);
  return response;
}
