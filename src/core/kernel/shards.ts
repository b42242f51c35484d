import { EXPIRED, startDeadline } from "../../lib/deadline.ts";
import { StorageUnavailable } from "../../lib/errors.ts";
import { logLine, reasonOf } from "../../lib/log.ts";
import { SECOND } from "../../lib/time.ts";
import type { BaseCtx } from "./context.ts";

/** The same context over another of the deployment's databases; null if the shard does not exist. */
export function onShard<C extends BaseCtx>(ctx: C, shard: number): C | null {
  if (shard === ctx.shard) return ctx;
  const db = ctx.databases.open(shard);
  return db && { ...ctx, db, shard };
}

/** The same context over each of the deployment's databases. */
export function everyShard<C extends BaseCtx>(ctx: C): C[] {
  return ctx.databases.shards.map((shard) => onShard(ctx, shard)).filter((on) => on !== null);
}

/** The answers of the databases, in the order of their shards; those that failed are left out. */
export interface Answers<T, C extends BaseCtx = BaseCtx> {
  said: { ctx: C; answer: T }[];
  /** The error of the first one that failed; null if all have answered. */
  failure: { reason: unknown } | null;
}

/** The timeout of one database of several: a person waits for all of them. */
const ANSWER_WITHIN = 5 * SECOND;

/**
 * Queries every database of the deployment at once. One that fails, or answers late, does not affect the others and is
 * logged.
 * @throws the first error, if all fail.
 */
export async function askAll<T, C extends BaseCtx>(ctx: C, ask: (on: C) => Promise<T>): Promise<Answers<T, C>> {
  const contexts = everyShard(ctx);
  if (contexts.length === 1) return { said: [{ ctx, answer: await ask(ctx) }], failure: null };
  const results = await Promise.allSettled(contexts.map((on) => soon(ask(on))));
  const answers: Answers<T, C> = { said: [], failure: null };
  results.forEach((result, i) => {
    const on = contexts[i]!;
    if (result.status === "fulfilled") {
      answers.said.push({ ctx: on, answer: result.value });
      return;
    }
    logUnanswered(on, result.reason);
    answers.failure ??= { reason: result.reason };
  });
  if (answers.said.length === 0 && answers.failure) throw answers.failure.reason;
  return answers;
}

/**
 * Queries the databases of the deployment one after the other until one answers. One that fails, or answers late, is
 * logged.
 * @throws the first error, if all fail.
 */
export async function askFirst<T, C extends BaseCtx>(ctx: C, ask: (on: C) => Promise<T>): Promise<T> {
  const contexts = everyShard(ctx);
  if (contexts.length === 1) return ask(ctx);
  let failure: { reason: unknown } | undefined;
  for (const on of contexts) {
    try {
      return await soon(ask(on));
    } catch (reason) {
      logUnanswered(on, reason);
      failure ??= { reason };
    }
  }
  throw failure?.reason;
}

function logUnanswered({ shard }: BaseCtx, reason: unknown): void {
  logLine("error", { what: "a database did not answer", shard, reason: reasonOf(reason) });
}

async function soon<T>(answer: Promise<T>): Promise<T> {
  const deadline = startDeadline(ANSWER_WITHIN);
  try {
    const given = await deadline.race(answer);
    if (given === EXPIRED) throw new StorageUnavailable(new Error("it took too long"));
    return given;
  } finally {
    deadline.clear();
  }
}
