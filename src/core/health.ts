import { sql } from "drizzle-orm";
import type { Ctx } from "./context.ts";
import { everyShard } from "./shards.ts";

/** The shards whose database does not answer a trivial read; none where all is well. */
export async function unreachableShards(ctx: Ctx): Promise<number[]> {
  const checked = await Promise.all(
    everyShard(ctx).map(async ({ db, shard }) => {
      try {
        await db.run(sql`select 1`);
        return [];
      } catch {
        return [shard];
      }
    }),
  );
  return checked.flat();
}
