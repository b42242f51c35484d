import type { MailWakeUp, WakeUpMessage } from "../../domain/delivery.ts";
import { logLine, reasonOf } from "../../lib/log.ts";
import { partsOf } from "../../lib/slices.ts";
import { SECOND } from "../../lib/time.ts";

/** A request to check the lane of a delivery after some seconds. The row decides the action. */
export interface WakeUp {
  delivery_id: string;
  delay_seconds: number;
}

export type Wake = (wakeUps: WakeUp[]) => Promise<void>;

/** The part of a queue's producer binding that is used. */
export interface WakeUpQueue {
  sendBatch(messages: Iterable<{ body: WakeUpMessage | MailWakeUp; delaySeconds?: number }>): Promise<unknown>;
}

/** The longest delay that every version of the platform accepts. The longest one needed is as long (12 h). */
const MAX_DELAY_SECONDS = 12 * 60 * 60;

/** The most messages in one call of the queue. */
export const MAX_WAKE_UPS = 100;

/**
 * Queues wake-ups of a shard's deliveries, by default with the queue's delay. The sweep finds lost ones, so a failure
 * is only logged.
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

/** The wake-up for an instant (ISO 8601): never before it, at once if it is past. */
export function wakeUpAt(delivery_id: string, instant: string, now: number): WakeUp {
  return { delivery_id, delay_seconds: Math.max(0, Math.ceil((Date.parse(instant) - now) / SECOND)) };
}

/** Queues a wake-up for a program's due e-mails. A lost one does no harm: a job checks every minute. */
export async function queueMailWakeUp(queue: WakeUpQueue, program_id: string, request_id?: string): Promise<void> {
  try {
    await queue.sendBatch([{ body: { mails_of: program_id }, delaySeconds: 0 }]);
  } catch (error) {
    logLine("error", { what: "e-mails not woken", request_id, reason: reasonOf(error) });
  }
}
