import { app } from "./app.ts";
import type { Bindings } from "./env.ts";
import { baseContext } from "./http/context.ts";
import { runJobs } from "./jobs.ts";
import { consumeDeadLetters, consumeDeliveries, type ConsumerDeps } from "./outbound/consumer.ts";
import { queueWakeUps } from "./outbound/wake.ts";

export { ClickCounter } from "./clicks/counter.ts";

export default {
  fetch: app.fetch,

  async queue(batch, env, execution) {
    // `deliveries-dead`, with the environment's name before it in all environments but production (wrangler.toml).
    const consume = batch.queue.endsWith("deliveries-dead") ? consumeDeadLetters : consumeDeliveries;
    await consume(batch, outboundDeps(env, execution));
  },

  async scheduled({ cron }, env, execution) {
    const ctx = baseContext(env, Date.now(), (work) => execution.waitUntil(work));
    await runJobs(cron, { env, ctx, outbound: outboundDeps(env, execution) });
  },
} satisfies ExportedHandler<Bindings>;

function outboundDeps(env: Bindings, execution: ExecutionContext): ConsumerDeps {
  const waitUntil = (work: Promise<unknown>) => execution.waitUntil(work);
  const { db, sealer } = baseContext(env, Date.now(), waitUntil);
  return {
    db,
    sealer,
    fetch: (url, init) => fetch(url, init),
    resolverUrl: env.DNS_RESOLVER_URL,
    now: Date.now,
    wake: (wakeUps) => queueWakeUps(env.DELIVERIES, wakeUps),
    waitUntil,
  };
}
