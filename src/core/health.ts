import { sql } from "drizzle-orm";
import type { Ctx } from "./context.ts";

/** True when the database answers a trivial read. */
export async function isReachable(ctx: Ctx): Promise<boolean> {
  try {
    await ctx.db.run(sql`select 1`);
    return true;
  } catch {
    return false;
  }
}
