import { and, eq, isNull, sql } from "drizzle-orm";
import { literal } from "../../db/client.ts";
import { flag, shaped, text } from "../../db/rows.ts";
import { providerEvents, payments } from "../../db/schema.ts";
import { actors } from "../../domain/actor.ts";
import { testFact, type Fact } from "../../domain/fact.ts";
import type { EventOutcome, Outcome } from "../../domain/payment.ts";
import { isLiveOnly } from "../../domain/program.ts";
import type { ProviderName } from "../../domain/provider-name.ts";
import type { ProviderEvent } from "../../providers/provider.ts";
import { commit, CommitConflict } from "../kernel/commit.ts";
import { actingAs, type ProgramCtx } from "../kernel/context.ts";
import { eventOutcome, planClosing, TEST_MODE, type Closing, type OpenEvent } from "../ledger/closing.ts";
import {
  PAYMENT_KEY,
  isFound,
  recordFacts,
  unsettledAmong,
  type Beside,
  type PaymentKey,
  type Recorded,
} from "../ledger/facts.ts";
import { settle } from "../ledger/settle.ts";

export interface Received {
  outcome: EventOutcome;
  /** Why an event was deliberately not used. */
  ignored: string | null;
}

/**
 * Takes in a verified vendor event: its facts are durable before this returns, then every payment they concern is
 * settled. Sending it again, at any time, ends in the same ledger and in one audit event (LAW-1).
 */
export async function receiveEvent(
  ctx: ProgramCtx,
  provider: ProviderName,
  event: ProviderEvent,
  body: string | null,
): Promise<Received> {
  const received = await receiveBeside(ctx, provider, event, body, { before: [], ask: null });
  if (!received) throw new Error("an event was refused by no guard");
  return { outcome: received.outcome, ignored: received.ignored };
}

/** `receiveEvent`, with more done in the transaction that stores the event; null where a guard in it refused. */
export async function receiveBeside(
  ctx: ProgramCtx,
  provider: ProviderName,
  event: ProviderEvent,
  body: string | null,
  beside: Beside,
): Promise<(Received & Pick<Recorded, "asked">) | null> {
  const taken = event.test && isLiveOnly(ctx.program) ? testEvent(event) : event;
  const recorded = await recordFacts(ctx, provider, taken, body, beside);
  if (!recorded) return null;
  const { unsettled, closed, found, asked } = recorded;
  const outcome = await finishEvent(ctx, provider, { ...taken, found }, unsettled, closed);
  return { outcome, ignored: event.ignored, asked };
}

/** Stored, answered 200 with outcome `test_mode`, no commission, unless `live_only` is false (PAY-13). */
function testEvent(event: ProviderEvent): ProviderEvent {
  return { ...event, facts: event.facts.map(testFact), ignored: TEST_MODE };
}

/** Settles what an event left unsettled and writes its audit event, once. Whoever does it, the vendor's event acts. */
async function finishEvent(
  by: ProgramCtx,
  provider: ProviderName,
  event: OpenEvent,
  unsettled: PaymentKey[],
  closed: { outcome: string | null } | null,
): Promise<EventOutcome> {
  const ctx = actingAs(by, actors.provider(provider, event.event_id));
  const closing: Closing = { provider, event, concerned: unsettled.length };
  const [last, ...others] = ordered(event, unsettled);
  for (const key of others) await settle(ctx, key);
  const outcome = last ? await settle(ctx, last, closed ? {} : { closing }) : null;
  if (closed) return (closed.outcome as EventOutcome | null) ?? eventOutcome(closing, outcome);
  return last ? eventOutcome(closing, outcome) : closeAlone(ctx, closing);
}

/** The payment that the event itself is about first: its settling also closes the event. */
function ordered(event: OpenEvent, unsettled: PaymentKey[]): PaymentKey[] {
  const own = new Set(event.facts.flatMap((fact) => ("aliases" in fact ? fact.aliases : [])));
  return unsettled.toSorted(
    (a, b) => Number(own.has(b.provider_transaction_id)) - Number(own.has(a.provider_transaction_id)),
  );
}

/** Closes an event that concerns no unsettled payment; of several at once the first wins, the others find it closed. */
async function closeAlone(ctx: ProgramCtx, closing: Closing): Promise<EventOutcome> {
  const outcome = eventOutcome(closing, await settledOutcome(ctx, closing));
  try {
    await commit(ctx, planClosing(ctx, closing, outcome));
  } catch (error) {
    if (!(error instanceof CommitConflict)) throw error;
  }
  return outcome;
}

/** The outcome of the payment that an event is about, when a concurrent delivery has settled it already. */
async function settledOutcome(ctx: ProgramCtx, { provider, event }: Closing): Promise<Outcome | null> {
  const fact = event.facts.find((candidate) => candidate.kind === "payment");
  if (!fact) return null;
  const [[row]] = await ctx.read(
    ctx.db
      .select({ outcome: payments.outcome })
      .from(payments)
      .where(
        and(
          eq(payments.program_id, ctx.program.id),
          sql`${payments.provider} = ${literal(provider)}`,
          eq(payments.provider_transaction_id, fact.key),
        ),
      ),
  );
  return row?.outcome ?? null;
}

/** Finishes events and payments that a crash left open; run by the sweep. Returns how many it touched. */
export async function finishOpenEvents(ctx: ProgramCtx, open: { provider: ProviderName; event_id: string }[]) {
  for (const { provider, event_id } of open) {
    const [rows, [event], [known]] = await ctx.read(
      shaped(
        ctx.db,
        { data: text },
        sql`select data from facts where program_id = ${ctx.program.id}
        and provider = ${provider} and fact_id >= ${`${event_id}#`} and fact_id < ${`${event_id}$`}`,
      ),
      ctx.db
        .select({ event_type: providerEvents.event_type, ignored: providerEvents.ignored })
        .from(providerEvents)
        .where(
          and(
            eq(providerEvents.program_id, ctx.program.id),
            eq(providerEvents.provider, provider),
            eq(providerEvents.event_id, event_id),
            isNull(providerEvents.audit_event_id),
          ),
        ),
      shaped(ctx.db, { found: flag }, sql`select ${isFound(ctx.program.id, provider, event_id)} as found`),
    );
    if (!event) continue;
    const facts = rows.map((row) => JSON.parse(row.data) as Fact);
    const unsettled = await shaped(ctx.db, PAYMENT_KEY, unsettledAmong(ctx.program.id, provider, facts));
    const open = { event_id, ...event, facts, found: known?.found === 1 };
    await finishEvent(ctx, provider, open, unsettled, null);
  }
}
