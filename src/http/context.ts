import type { MiddlewareHandler } from "hono";
import type { BaseCtx, Mailer } from "../core/kernel/context.ts";
import { databaseFor, databasesOf } from "../core/kernel/database.ts";
import { queueMailWakeUp, queueWakeUps } from "../core/jobs/wake.ts";
import { openMailer } from "../core/mails/plan.ts";
import type { AppEnv, Bindings } from "../env.ts";
import { newId } from "../lib/id.ts";
import { ownHosts } from "../lib/public-url.ts";
import { SecretSealer } from "../lib/seal.ts";
import { composerOf } from "./mails/mailer.ts";

/** Gives every request its id, its instant and its base context; every response has the id (HTTP-2). */
export function requestContext(): MiddlewareHandler<AppEnv> {
  return async function requestContext(c, next) {
    const now = Date.now();
    c.set("now", now);
    c.set("request_id", newId("request", now));
    c.set(
      "base",
      baseContext(c.env, now, (work) => c.executionCtx.waitUntil(work), c.var.request_id),
    );
    await next();
    c.res.headers.set("X-Request-Id", c.var.request_id);
  };
}

/** A context over the bindings, at shard 0 (`core/kernel/shards.ts` leads on); `waitUntil` works after the reply. */
export function baseContext(
  env: Bindings,
  now: number,
  waitUntil: (work: Promise<unknown>) => void,
  request_id?: string,
): BaseCtx {
  const { compose, ...made } = constantsOf(env);
  return {
    db: databaseFor(env),
    shard: 0,
    databases: databasesOf(env),
    archive: env.ARCHIVE ?? null,
    now,
    ...made,
    wake: (delivery_ids, shard) => {
      const wakeUps = delivery_ids.map((delivery_id) => ({ delivery_id }));
      waitUntil(queueWakeUps(env.DELIVERIES, wakeUps, shard, request_id));
    },
    mailer:
      compose &&
      openMailer(compose, (program_id) => waitUntil(queueMailWakeUp(env.DELIVERIES, program_id, request_id))),
  };
}

type Constants = Pick<BaseCtx, "ownHosts" | "sealer"> & { compose: Mailer["compose"] | null };

const constants = new WeakMap<Bindings, Constants>();

/** The values that depend only on the deployment's settings, computed once. */
function constantsOf(env: Bindings): Constants {
  const known = constants.get(env);
  if (known) return known;
  const keys = [env.ENCRYPTION_KEY, ...(env.ENCRYPTION_KEY_PREVIOUS ?? "").split(",")];
  const sealer = new SecretSealer(keys);
  const made = { ownHosts: ownHosts(env), sealer, compose: composerOf(env, sealer) };
  constants.set(env, made);
  return made;
}
