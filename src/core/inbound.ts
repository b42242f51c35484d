import { and, eq, isNull, sql, type SQL } from "drizzle-orm";
import { providerEvents, payments, programs } from "../db/schema.ts";
import type { Fact } from "../domain/fact.ts";
import type { Outcome } from "../domain/payment.ts";
import type { ProviderName } from "../domain/provider-name.ts";
import { shardOfProgram } from "../domain/shard.ts";
import type { ClaimedOwner, ProviderEvent } from "../providers/provider.ts";
import { newId } from "../lib/id.ts";
import { commit, CommitConflict, type CommitPlan } from "./commit.ts";
import { forProgram, type Ctx, type ProgramCtx } from "./context.ts";
import { recordFacts, unsettledAmong, type PaymentKey } from "./facts.ts";
import { settle, type Closing } from "./ledger.ts";
import { askAll, onShard } from "./shards.ts";

/** What an event came to, besides the outcome of the payment it speaks of. */
export type EventOutcome = Outcome | "adjusted" | "waiting" | "flagged" | "remembered" | "linked" | "ignored";

export interface Received {
  outcome: EventOutcome;
  /** Why an event was deliberately not used. */
  ignored: string | null;
}

/**
 * Takes in a verified vendor event: its facts are durable before this returns, then every payment they concern is
 * settled. Sending it again, at any time, ends in the same ledger and in one audit event (contract §5).
 */
export async function receiveEvent(
  ctx: ProgramCtx,
  provider: ProviderName,
  event: ProviderEvent,
  body: string,
): Promise<Received> {
  const { unsettled, closed } = await recordFacts(ctx, provider, event, body);
  const outcome = await finishEvent(ctx, provider, event, unsettled, closed);
  return { outcome, ignored: event.ignored };
}

type OpenEvent = Pick<ProviderEvent, "event_id" | "event_type" | "facts">;

/** Settles what an event left unsettled and writes its audit event, once. */
async function finishEvent(
  ctx: ProgramCtx,
  provider: ProviderName,
  event: OpenEvent,
  unsettled: PaymentKey[],
  closed: { outcome: string | null } | null,
): Promise<EventOutcome> {
  const closing: Closing = {
    provider,
    event_id: event.event_id,
    plan: (outcome) => closingPlan(ctx, provider, event, eventOutcome(event, outcome, unsettled.length)),
  };
  const [last, ...others] = ordered(event, unsettled);
  for (const key of others) await settle(ctx, key);
  const outcome = last ? await settle(ctx, last, closed ? undefined : closing) : null;
  if (closed) return (closed.outcome as EventOutcome | null) ?? eventOutcome(event, outcome, unsettled.length);
  if (!last) return closeAlone(ctx, provider, event);
  return eventOutcome(event, outcome, unsettled.length);
}

/** The payment that the event itself speaks of first: its settling also closes the event. */
function ordered(event: OpenEvent, unsettled: PaymentKey[]): PaymentKey[] {
  const own = new Set(event.facts.flatMap((fact) => ("aliases" in fact ? fact.aliases : [])));
  return unsettled.toSorted(
    (a, b) => Number(own.has(b.provider_transaction_id)) - Number(own.has(a.provider_transaction_id)),
  );
}

/** Closes an event that concerns no unsettled payment; of several at once the first wins, the others find it closed. */
async function closeAlone(ctx: ProgramCtx, provider: ProviderName, event: OpenEvent): Promise<EventOutcome> {
  const outcome = eventOutcome(event, await settledOutcome(ctx, provider, event), 0);
  try {
    await commit(ctx, closingPlan(ctx, provider, event, outcome));
  } catch (error) {
    if (!(error instanceof CommitConflict)) throw error;
  }
  return outcome;
}

/** The outcome of the payment that an event speaks of, when a concurrent delivery has settled it already. */
async function settledOutcome(ctx: ProgramCtx, provider: ProviderName, event: OpenEvent): Promise<Outcome | null> {
  const fact = event.facts.find((candidate) => candidate.kind === "payment");
  if (!fact) return null;
  const [[row]] = await ctx.read(
    ctx.db
      .select({ outcome: payments.outcome })
      .from(payments)
      .where(
        and(
          eq(payments.program_id, ctx.program.id),
          eq(payments.provider, provider),
          eq(payments.provider_transaction_id, fact.key),
        ),
      ),
  );
  return row?.outcome ?? null;
}

function closingPlan(ctx: ProgramCtx, provider: ProviderName, event: OpenEvent, outcome: EventOutcome): CommitPlan {
  const id = newId("event", ctx.now);
  return {
    writes: [
      {
        statement: ctx.db
          .update(providerEvents)
          .set({ outcome, audit_event_id: id })
          .where(
            and(
              eq(providerEvents.program_id, ctx.program.id),
              eq(providerEvents.provider, provider),
              eq(providerEvents.event_id, event.event_id),
              isNull(providerEvents.audit_event_id),
            ),
          ),
        expect: 1,
      },
    ],
    occurrences: [
      {
        id,
        type: `webhook.${provider}`,
        payload: { event_id: event.event_id, event_type: event.event_type, outcome },
      },
    ],
  };
}

function eventOutcome(event: OpenEvent, outcome: Outcome | null, concerned: number): EventOutcome {
  const has = (kind: Fact["kind"]) => event.facts.some((fact) => fact.kind === kind);
  if (has("payment")) return outcome ?? "unpaid";
  if (has("adjustment")) return concerned > 0 ? "adjusted" : "waiting";
  if (has("cancellation")) return concerned > 0 ? "flagged" : "waiting";
  if (has("attribution")) return "remembered";
  return has("link") ? "linked" : "ignored";
}

/**
 * The program an inbound request belongs to, bound to its database: the claimed one, else the one of the stored payment
 * or subscription that it names. The claim chooses only which secret is tried (contract §5).
 * @throws where the program may be in a database that failed.
 */
export async function findClaimedProgram(
  ctx: Ctx,
  provider: ProviderName,
  claim: ClaimedOwner,
  fallback: string | null,
): Promise<ProgramCtx | null> {
  const { transaction_id, subscription_id } = claim;
  const named = claim.program_id ?? fallback;
  if (named !== null) {
    const on = onShard(ctx, shardOfProgram(named));
    return on && findProgramBy(on, sql`${named}`);
  }
  // Two look-ups in each program: a vendor's ids alone have no index, and whoever comes here is not verified yet.
  const { said, failure } = await askAll(ctx, (on) =>
    findProgramBy(
      on,
      sql`(select g.id from programs g cross join payments p on p.program_id = g.id and p.provider = ${provider}
          and p.provider_transaction_id = ${transaction_id}
        union all
        select g.id from programs g cross join payments p on p.program_id = g.id
          and p.subscription_id = ${subscription_id} and +p.provider = ${provider}
        limit 1)`,
    ),
  );
  const found = said.find(({ answer }) => answer !== null);
  if (!found && failure) throw failure.reason;
  return found?.answer ?? null;
}

async function findProgramBy(ctx: Ctx, id: SQL): Promise<ProgramCtx | null> {
  const [program] = await ctx.db
    .select()
    .from(programs)
    .where(sql`${programs.id} = ${id}`);
  return program ? forProgram(ctx, program) : null;
}

/** Finishes events and payments that a crash left open; run by the sweep. Returns how many it touched. */
export async function finishOpenEvents(ctx: ProgramCtx, open: { provider: ProviderName; event_id: string }[]) {
  for (const { provider, event_id } of open) {
    const [rows, [event]] = await ctx.read(
      ctx.db.all<{ data: string }>(sql`select data from facts where program_id = ${ctx.program.id}
        and provider = ${provider} and fact_id >= ${`${event_id}#`} and fact_id < ${`${event_id}$`}`),
      ctx.db
        .select({ event_type: providerEvents.event_type })
        .from(providerEvents)
        .where(
          and(
            eq(providerEvents.program_id, ctx.program.id),
            eq(providerEvents.provider, provider),
            eq(providerEvents.event_id, event_id),
            isNull(providerEvents.audit_event_id),
          ),
        ),
    );
    if (!event) continue;
    const facts = rows.map((row) => JSON.parse(row.data) as Fact);
    const unsettled = await ctx.db.all<PaymentKey>(unsettledAmong(ctx.program.id, provider, facts));
    await finishEvent(ctx, provider, { event_id, event_type: event.event_type, facts }, unsettled, null);
  }
}
