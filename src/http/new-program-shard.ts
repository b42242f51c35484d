import { isBound } from "../core/kernel/database.ts";
import { MAX_SHARD } from "../domain/shard.ts";
import type { Bindings } from "../env.ts";

export type NewProgramShard = { shard: number } | { problem: string };

/** The shard that new programs go to: `NEW_PROGRAM_SHARD`, 0 unless set. It must have a database. */
export function newProgramShard(env: Bindings): NewProgramShard {
  const text = String(env.NEW_PROGRAM_SHARD ?? "").trim() || "0";
  if (!/^\d{1,2}$/.test(text) || Number(text) > MAX_SHARD) {
    return { problem: `The variable NEW_PROGRAM_SHARD is not a number from 0 to ${MAX_SHARD}.` };
  }
  const shard = Number(text);
  if (isBound(env, shard)) return { shard };
  return { problem: `The variable NEW_PROGRAM_SHARD is ${shard}, but no database is bound as DB_${shard}.` };
}
