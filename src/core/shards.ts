import { EXPIRED, startDeadline } from "../lib/deadline.ts";
import { StorageUnavailable } from "../lib/errors.ts";
import { logLine, reasonOf } from "../lib/log.ts";
import { SECOND } from "../lib/time.ts";
import type { Ctx } from "./context.ts";

/** The same context over another of the deployment's databases; null where the shard has none. */
export function onShard(ctx: Ctx, shard: number): Ctx | null {
  if (shard === ctx.shard) return ctx;
  const db = ctx.databases.open(shard);
  return db && { ...ctx, db, shard };
}

/** The same context over each of the deployment's databases. */
export function everyShard(ctx: Ctx): Ctx[] {
  return ctx.databases.shards.map((shard) => onShard(ctx, shard)).filter((on) => on !== null);
}

/**
 * What one database's run of a job may take of a limit that is the invocation's: the crons run over all databases in
 * one, and the platform counts their statements together.
 */
export function shareOf(ctx: Pick<Ctx, "databases">, limit: number): number {
  return Math.ceil(limit / ctx.databases.shards.length);
}

/** What the databases said, in the order of their shards; those that failed are left out. */
export interface Answers<T> {
  said: { ctx: Ctx; answer: T }[];
  /** What the first one failed with; null when all have answered. */
  failure: { reason: unknown } | null;
}

/** So long one database of several may take: a person waits for all of them. */
const ANSWER_WITHIN = 5 * SECOND;

/**
 * Asks every database of the deployment at once. One that fails, or answers late, takes nothing from the others and is
 * logged.
 * @throws what the first one failed with, where all fail.
 */
export async function askAll<T>(ctx: Ctx, ask: (on: Ctx) => Promise<T>): Promise<Answers<T>> {
  const contexts = everyShard(ctx);
  if (contexts.length === 1) return { said: [{ ctx, answer: await ask(ctx) }], failure: null };
  const results = await Promise.allSettled(contexts.map((on) => soon(ask(on))));
  const answers: Answers<T> = { said: [], failure: null };
  results.forEach((result, i) => {
    const on = contexts[i]!;
    if (result.status === "fulfilled") {
      answers.said.push({ ctx: on, answer: result.value });
      return;
    }
    logLine("error", { what: "a database did not answer", shard: on.shard, reason: reasonOf(result.reason) });
    answers.failure ??= { reason: result.reason };
  });
  if (answers.said.length === 0 && answers.failure) throw answers.failure.reason;
  return answers;
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
