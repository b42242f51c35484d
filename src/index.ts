import { app } from "./app.ts";
import type { BaseCtx } from "./core/kernel/context.ts";
import { everyShard, onShard } from "./core/kernel/shards.ts";
import { shardOfProgram } from "./domain/shard.ts";
import type { Bindings } from "./env.ts";
import { takeClick } from "./http/click.ts";
import { isClick } from "./http/request-path.ts";
import { baseContext } from "./http/context.ts";
import { mailOf } from "./http/mails/mailer.ts";
import { runCron } from "./jobs.ts";
import { openSlots, partOf } from "./lib/slots.ts";
import { CONNECTIONS, consumeDeadLetters, consumeDeliveries, type ConsumerDeps } from "./outbound/consumer.ts";
import { consumeMailWakeUps, MAILS_AT_ONCE, sendDueMails } from "./outbound/mails.ts";
import { consumeByShard } from "./outbound/shards.ts";
import { queueWakeUps } from "./core/jobs/wake.ts";

export { ClickCounter } from "./clicks/counter.ts";

export default {
  fetch: (request, env, execution) =>
    isClick(request) ? takeClick(request, env, execution) : app.fetch(request, env, execution),

  async queue(batch, env, execution) {
    // `deliveries-dead`, with the Worker's name before it (wrangler.toml).
    const consume = batch.queue.endsWith("deliveries-dead") ? consumeDeadLetters : consumeDeliveries;
    const base = baseContext(env, Date.now(), (work) => execution.waitUntil(work));
    const connections = openSlots(CONNECTIONS);
    // One round of e-mails at a time for all programs: if one hangs, the other connections remain for webhook attempts.
    const forMails = partOf(connections, MAILS_AT_ONCE);
    const messages = consumeMailWakeUps(batch, (program_id) => {
      const ctx = onShard(base, shardOfProgram(program_id));
      if (ctx) execution.waitUntil(sendDueMails(ctx, program_id, mailOf(env), Date.now, forMails));
    });
    await consumeByShard({ messages }, (shard) => {
      const ctx = onShard(base, shard);
      return ctx && ((messages) => consume(messages, { ...outboundDeps(env, ctx, execution), connections }));
    });
  },

  async scheduled({ cron }, env, execution) {
    const base = baseContext(env, Date.now(), (work) => execution.waitUntil(work));
    const contexts = everyShard(base);
    await runCron(
      cron,
      contexts.map((ctx) => ({ env, ctx, outbound: outboundDeps(env, ctx, execution) })),
    );
  },
} satisfies ExportedHandler<Bindings>;

function outboundDeps(
  env: Bindings,
  { db, shard, sealer, ownHosts }: BaseCtx,
  execution: ExecutionContext,
): ConsumerDeps {
  return {
    db,
    sealer,
    fetch: (url, init) => fetch(url, init),
    ownHosts,
    resolverUrl: env.DNS_RESOLVER_URL,
    now: Date.now,
    wake: (wakeUps) => queueWakeUps(env.DELIVERIES, wakeUps, shard),
    waitUntil: (work) => execution.waitUntil(work),
  };
}
