import type { Bindings } from "../env.ts";
import { SECOND } from "../lib/time.ts";

const MAX_SECONDS = 15;

/** The option as it is set; a number if wrangler parses one. */
export type FlushOptions = Pick<Bindings, "CLICK_FLUSH_SECONDS">;

/**
 * Ms from the first waiting click to the flush: `CLICK_FLUSH_SECONDS`, 1 to 15, else 15. Sharing a flush saves rows.
 */
export function flushDelay({ CLICK_FLUSH_SECONDS }: FlushOptions): number {
  const text = String(CLICK_FLUSH_SECONDS ?? "").trim();
  const seconds = /^\d{1,2}$/.test(text) ? Number(text) : 0;
  return (seconds >= 1 && seconds <= MAX_SECONDS ? seconds : MAX_SECONDS) * SECOND;
}
