import { readWakeUp } from "../domain/delivery.ts";
import { logLine } from "../lib/log.ts";
import type { WakeUps } from "./consumer.ts";

/**
 * Hands a batch's messages to their databases' consumers, which answer alone. Without a database they drop: the sweep
 * finds the rows.
 */
export async function consumeByShard(
  batch: WakeUps,
  consumerOn: (shard: number) => ((batch: WakeUps) => Promise<void>) | null,
): Promise<void> {
  const groups = Map.groupBy(batch.messages, ({ body }) => readWakeUp(body)?.shard ?? 0);
  await Promise.all(
    [...groups].map(async ([shard, messages]) => {
      const consume = consumerOn(shard);
      if (consume) return consume({ messages });
      logLine("error", { what: "wake-ups for a database that is not bound", shard, messages: messages.length });
      for (const message of messages) message.ack();
    }),
  );
}
