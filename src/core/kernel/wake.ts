import type { MailWakeUp, WakeUpMessage } from "../../domain/delivery.ts";
import { logLine, reasonOf } from "../../lib/log.ts";
import { partsOf } from "../../lib/slices.ts";
import { SECOND } from "../../lib/time.ts";

/** Asks for a look at the lane of a delivery, some seconds from now. The row decides what is done then. */
export interface WakeUp {
  delivery_id: string;
  delay_seconds: number;
}

export type Wake = (wakeUps: WakeUp[]) => Promise<void>;

/** What this needs of a queue's producer binding. */
export interface WakeUpQueue {
  sendBatch(messages: Iterable<{ body: WakeUpMessage | MailWakeUp; delaySeconds?: number }>): Promise<unknown>;
}

/** The longest delay that every version of the platform takes. The longest that is needed is as long (12 h). */
const MAX_DELAY_SECONDS = 12 * 60 * 60;

/** What one call of the queue takes. */
export const MAX_WAKE_UPS = 100;

/**
 * Puts wake-ups of a shard's deliveries on the queue, with the queue's own delay where they say none. One that is lost loses nothing, the sweep finds the row: so a
 * failure is logged, under the request that it was for, and not thrown.
 */
export async function queueWakeUps(
  queue: WakeUpQueue,
  wakeUps: readonly (Omit<WakeUp, "delay_seconds"> & Partial<WakeUp>)[],
  shard = 0,
  request_id?: string,
): Promise<void> {
  try {
    for (const part of partsOf(wakeUps, MAX_WAKE_UPS)) {
      const messages = part.map(({ delivery_id, delay_seconds }) => ({
        body: { delivery_id, shard },
        ...(delay_seconds === undefined ? {} : { delaySeconds: Math.min(delay_seconds, MAX_DELAY_SECONDS) }),
      }));
      await queue.sendBatch(messages);
    }
  } catch (error) {
    logLine("error", { what: "wake-ups not queued", request_id, reason: reasonOf(error) });
  }
}

/** The wake-up for an instant (ISO 8601): never before it, at once when it is past. */
export function wakeUpAt(delivery_id: string, instant: string, now: number): WakeUp {
  return { delivery_id, delay_seconds: Math.max(0, Math.ceil((Date.parse(instant) - now) / SECOND)) };
}

/** Has the e-mails of a program that are due sent. One that is lost loses nothing, a job looks every minute. */
export async function queueMailWakeUp(queue: WakeUpQueue, program_id: string, request_id?: string): Promise<void> {
  try {
    await queue.sendBatch([{ body: { mails_of: program_id }, delaySeconds: 0 }]);
  } catch (error) {
    logLine("error", { what: "e-mails not woken", request_id, reason: reasonOf(error) });
  }
}
