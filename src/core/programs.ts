import { eq } from "drizzle-orm";
import { programs } from "../db/schema.ts";
import { HOUR, iso } from "../lib/time.ts";
import type { Ctx, Program } from "./context.ts";

/** Notes the use of a key, at most once an hour (contract §3); null when there is nothing to note. */
export function touchApiKey(ctx: Ctx, program: Program): Promise<unknown> | null {
  const last = program.api_key_last_used_at;
  if (last !== null && Date.parse(last) > ctx.now - HOUR) return null;
  return ctx.db
    .update(programs)
    .set({ api_key_last_used_at: iso(ctx.now) })
    .where(eq(programs.id, program.id))
    .run();
}
