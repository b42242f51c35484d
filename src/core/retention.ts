import { sql, type SQL } from "drizzle-orm";
import { literal, runBatch } from "../db/client.ts";
import { firstIdAt } from "../lib/id.ts";
import { DAY, iso } from "../lib/time.ts";
import type { Ctx } from "./context.ts";
import { forgetReplies } from "./idempotency.ts";
import { shareOf } from "./shards.ts";
import { forgetSignIns } from "./sign-in.ts";

/** Deliveries, their bodies and attempts, and the bodies that the payment providers sent, are kept this long. */
export const KEPT_FOR = 90 * DAY;

/** Rows of one statement, and statements of one kind in one run: what is more waits for the next day. */
const CHUNK = 2_000;
const MAX_CHUNKS = 50;

/**
 * Forgets what is past its time: old deliveries, provider bodies, replies of idempotent requests, sign-in links and
 * sessions. The audit log and the ledger stay. A body stays as long as any delivery of it does. May run at any time,
 * also twice at once.
 */
export async function forgetOld(ctx: Pick<Ctx, "db" | "databases" | "now">): Promise<void> {
  await runBatch(ctx.db, [forgetReplies(ctx), ...forgetSignIns(ctx)]);
  for (const forget of inChunks(ctx.now - KEPT_FOR)) {
    for (let chunk = 0; chunk < shareOf(ctx, MAX_CHUNKS); chunk++) {
      const { meta } = await ctx.db.run(forget);
      if (meta.changes === 0) break;
    }
  }
}

/** Parts before wholes, so that a run that ends in the middle leaves nothing without its owner. */
function inChunks(cutoff: number): SQL[] {
  const event_id = firstIdAt("event", cutoff);
  const delivery_id = firstIdAt("delivery", cutoff);
  return [
    sql`delete from delivery_attempts where (delivery_id, number) in (
      select delivery_id, number from delivery_attempts where delivery_id < ${delivery_id} limit ${literal(CHUNK)})`,
    sql`delete from deliveries where rowid in (
      select rowid from deliveries where id < ${delivery_id} and status <> 'delivering' limit ${literal(CHUNK)})`,
    sql`delete from missed_deliveries where (endpoint_id, event_id) in (
      select m.endpoint_id, m.event_id from webhook_endpoints e
      cross join missed_deliveries m on m.endpoint_id = e.id and m.event_id < ${event_id} limit ${literal(CHUNK)})`,
    sql`delete from messages where event_id in (
      select m.event_id from messages m where m.event_id < ${event_id}
        and not exists (select 1 from deliveries d where d.event_id = m.event_id) limit ${literal(CHUNK)})`,
    sql`update provider_events set body = null where (program_id, provider, event_id) in (
      select program_id, provider, event_id from provider_events
      where body is not null and received_at < ${iso(cutoff)} limit ${literal(CHUNK)})`,
  ];
}
