import { sql } from "drizzle-orm";
import { literal, runBatch } from "../db/client.ts";
import { programs } from "../db/schema.ts";
import type { ProviderName } from "../domain/provider-name.ts";
import { logLine, reasonOf } from "../lib/log.ts";
import { iso, MINUTE } from "../lib/time.ts";
import { forProgram, type Ctx, type ProgramCtx } from "./context.ts";
import type { PaymentKey } from "./facts.ts";
import { finishOpenEvents } from "./inbound.ts";
import { settle } from "./ledger.ts";
import { shareOf } from "./shards.ts";

/** Younger work belongs to the request that does it at this moment. */
const LEFT_AFTER = MINUTE;

/** For one run; what is more waits for the next. */
const MAX_EVENTS = 50;
const MAX_PAYMENTS = 100;

/**
 * Finishes what a crash between two steps left: vendor events without their audit event and payments whose ledger does
 * not match their facts yet (architecture, invariant 2). One that fails stops no other, and because the lot decides
 * which are taken, none that always fails stands in the way for ever. Begins nothing more once `goOn` says no.
 */
export async function finishUnfinished(ctx: Ctx, goOn: () => boolean): Promise<{ finished: number; failed: number }> {
  const { db } = ctx;
  const before = iso(ctx.now - LEFT_AFTER);
  const [eventLimit, paymentLimit] = [shareOf(ctx, MAX_EVENTS), shareOf(ctx, MAX_PAYMENTS)];
  const [events, payments] = await runBatch(db, [
    db.all<{ program_id: string; provider: ProviderName; event_id: string }>(sql`
      select program_id, provider, event_id from provider_events
      where audit_event_id is null and received_at < ${before} order by random() limit ${literal(eventLimit)}`),
    db.all<PaymentKey & { program_id: string }>(sql`
      select program_id, id, provider, provider_transaction_id from payments
      where settled_revision < facts_revision and updated_at < ${before} order by random() limit ${literal(paymentLimit)}`),
  ]);
  const contexts = await contextsOf(ctx, [...events, ...payments]);
  const work = [
    ...events.map((event) => ({
      ...event,
      finish: (program: ProgramCtx): Promise<unknown> => finishOpenEvents(program, [event]),
    })),
    ...payments.map((payment) => ({
      ...payment,
      finish: (program: ProgramCtx): Promise<unknown> => settle(program, payment),
    })),
  ];
  const counts = { finished: 0, failed: 0 };
  for (const { finish, ...item } of work) {
    const program = contexts.get(item.program_id);
    if (!program || !goOn()) continue;
    try {
      await finish(program);
      counts.finished++;
    } catch (error) {
      counts.failed++;
      logLine("error", { what: "work left unfinished", ...item, reason: reasonOf(error) });
    }
  }
  return counts;
}

async function contextsOf(ctx: Ctx, owned: { program_id: string }[]): Promise<Map<string, ProgramCtx>> {
  if (owned.length === 0) return new Map();
  const ids = JSON.stringify([...new Set(owned.map(({ program_id }) => program_id))]);
  const rows = await ctx.db
    .select()
    .from(programs)
    .where(sql`${programs.id} in (select value from json_each(${ids}))`);
  return new Map(rows.map((program) => [program.id, forProgram(ctx, program)]));
}
