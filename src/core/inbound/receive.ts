import { and, eq, isNull, sql, type SQL } from "drizzle-orm";
import { literal } from "../../db/client.ts";
import { flag, selectRows } from "../../db/rows.ts";
import { providerEvents, payments } from "../../db/schema.ts";
import { actors } from "../../domain/actor.ts";
import { isEarning, testFact, type Fact } from "../../domain/fact.ts";
import type { EventOutcome, Outcome } from "../../domain/payment.ts";
import type { ProviderName } from "../../domain/provider-name.ts";
import { CONNECTED_ACCOUNT, type ProviderEvent } from "../../providers/provider.ts";
import { vendorNamed } from "../../providers/registry.ts";
import { commit } from "../kernel/commit.ts";
import { CommitConflict } from "../kernel/conflict.ts";
import { actingAs, type ProgramCtx, type Statement } from "../kernel/context.ts";
import {
  type Closing,
  eventOutcome,
  type OpenEvent,
  planClosing,
  settleEach,
  settleOfCustomer,
  TEST_MODE,
  type Tried,
  trySettle,
} from "../ledger/settle.ts";
import { selectUnsettled } from "../ledger/concerned-payments.ts";
import {
  PAYMENT_KEY,
  factId,
  factsOfEvent,
  sortFacts,
  isFindable,
  recordFacts,
  type Beside,
  type PaymentKey,
  type Recorded,
} from "../ledger/facts.ts";
import type { KnownProgramCtx } from "./locate.ts";
import { knownFlows, type KnownFlows } from "../ledger/known-flows.ts";
import { selectState, stateOf, type LedgerState } from "../ledger/state.ts";
import { takeReversal } from "../payouts/reversal.ts";
import { addQuestions } from "./questions.ts";

export interface Received {
  outcome: EventOutcome;
  /** Why an event was deliberately not used. */
  ignored: string | null;
  /** Whether this call stored it. */
  isNew: boolean;
}

/** A stored event, and its remaining work. */
export interface StoredEvent extends Recorded {
  provider: ProviderName;
  given: ProviderEvent;
  /** The event as it is stored: a test event that affects no ledger differs from the given one. */
  event: ProviderEvent;
  /** The flows that its statement left out if they are still those. */
  known: KnownFlows | null;
}

/**
 * Ingests a verified vendor event: its facts are durable before this returns, then every payment they concern is
 * settled. If it is sent again, at any time, the result is the same ledger and one audit event (LAW-1). `before` runs
 * in the transaction that stores it, and must not refuse.
 */
export async function receiveEvent(
  ctx: ProgramCtx,
  provider: ProviderName,
  event: ProviderEvent,
  body: string | null,
  before: Statement[] = [],
): Promise<Received> {
  const stored = await storeEvent(ctx, provider, event, body, { before, ask: [] });
  if (!stored) throw new Error("an event was refused by no guard");
  return settleEvent(ctx, stored);
}

/**
 * Stores an event with its facts, and reads in the same round trip the state for its settling; null if a guard in the
 * transaction refused, or if a cached program has changed: then no event was stored.
 */
export async function storeEvent(
  ctx: ProgramCtx | KnownProgramCtx,
  provider: ProviderName,
  event: ProviderEvent,
  body: string | null,
  beside: Beside = { before: [], ask: [] },
): Promise<StoredEvent | null> {
  const isUnused = event.test && ctx.program.live_only && event.ignored !== CONNECTED_ACCOUNT;
  const taken = isUnused ? testEvent(event) : event;
  const known = knownFlows(ctx.program.id);
  const ask = [...beside.ask, ...stateOfOwn(ctx, provider, taken, known)];
  const vendor = vendorNamed(provider);
  const before = [
    ...("unchanged" in ctx ? [ctx.unchanged] : []),
    ...beside.before,
    ...(vendor ? addQuestions(ctx, vendor.name, event) : []),
  ];
  const recorded = await recordFacts(ctx, provider, taken, body, { before, ask });
  return recorded && { ...recorded, provider, given: event, event: taken, known };
}

/** Settles the payments that a stored event concerns, and closes it. */
export async function settleEvent(ctx: ProgramCtx, stored: StoredEvent): Promise<Received> {
  const { provider, given, event, found, asked, isNew, known } = stored;
  // Before the event is closed: if this breaks off, the vendor sends it again.
  if (event.reversed && event.ignored !== TEST_MODE) {
    await takeReversal(actingAs(ctx, actors.provider(provider, event.event_id)), event.reversed);
  }
  const outcome = await finishEvent(ctx, provider, { ...event, found }, { ...stored, state: stateOf(asked, known) });
  return { outcome, ignored: given.ignored, isNew };
}

/** Selects the state of the event's own payment: in nearly every case no other payment is left unsettled. */
function stateOfOwn(
  ctx: ProgramCtx,
  provider: ProviderName,
  { event_id, facts }: ProviderEvent,
  known: KnownFlows | null,
): SQL[] {
  const isNaming = (fact: Fact) => "aliases" in fact;
  const own = facts.some(isEarning) ? facts.findIndex(isEarning) : facts.findIndex(isNaming);
  if (own < 0) return [];
  return [selectState(ctx.program.id, provider, { fact_id: factId(event_id, own) }, known)];
}

/** Stored, answered 200 with outcome `test_mode`, no commission, unless `live_only` is false (PAY-13). */
function testEvent(event: ProviderEvent): ProviderEvent {
  return { ...event, facts: event.facts.map(testFact), ignored: TEST_MODE };
}

/** The remaining work of an event, and the state of a payment that was read with it. */
interface Unfinished extends Pick<Recorded, "unsettled" | "closed"> {
  state: LedgerState | null;
}

/**
 * Settles the payments that an event left unsettled and writes its audit event, once. The actor is the vendor's event
 * in every process.
 */
async function finishEvent(
  by: ProgramCtx,
  provider: ProviderName,
  event: OpenEvent,
  { unsettled, closed, state }: Unfinished,
): Promise<EventOutcome> {
  const ctx = actingAs(by, actors.provider(provider, event.event_id));
  const closing: Closing = { provider, event, concerned: unsettled.length };
  const [last, ...more] = ordered(event, unsettled);
  // Rows that turned out to be one payment are settled together.
  const together = state?.payments.some(({ id }) => id === last?.id) ? state.payments.map(({ id }) => id) : [];
  const others = more.filter(({ id }) => !together.includes(id));
  await settleEach(ctx, others);
  const known = others.length === 0 && together.length > 0 ? state : null;
  const settled = last ? await trySettle(ctx, last, closed ? { known } : { closing, known }) : null;
  if (last) await settleOfCustomer(ctx, last);
  if (closed) return (closed.outcome as EventOutcome | null) ?? eventOutcome(closing, settled?.outcome ?? null);
  if (!settled || settled.failure) return closeAlone(ctx, closing, settled?.failure);
  return eventOutcome(closing, settled.outcome);
}

/** Puts the event's own payment first: its settling also closes the event. */
function ordered(event: OpenEvent, unsettled: PaymentKey[]): PaymentKey[] {
  const own = new Set(event.facts.flatMap((fact) => ("aliases" in fact ? fact.aliases : [])));
  return unsettled.toSorted(
    (a, b) => Number(own.has(b.provider_transaction_id)) - Number(own.has(a.provider_transaction_id)),
  );
}

/**
 * Closes an event without a payment that can be settled; the first of several wins. @throws the settling's own error
 */
async function closeAlone(ctx: ProgramCtx, closing: Closing, failure?: Tried["failure"]): Promise<EventOutcome> {
  const settled = await settledOutcome(ctx, closing);
  if (failure && settled === null && closing.event.facts.some(isEarning)) throw failure.error;
  const outcome = eventOutcome(closing, settled);
  try {
    await commit(ctx, planClosing(ctx, closing, outcome));
  } catch (error) {
    if (!(error instanceof CommitConflict)) throw error;
  }
  return outcome;
}

/** The outcome of the payment that an event is about, when a concurrent delivery has settled it already. */
async function settledOutcome(ctx: ProgramCtx, { provider, event }: Closing): Promise<Outcome | null> {
  const fact = event.facts.find(isEarning);
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
    const [rows, [event]] = await ctx.read(
      factsOfEvent(ctx, provider, event_id),
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
    );
    if (!event) continue;
    const facts = sortFacts(rows);
    const [unsettled, [known]] = await ctx.read(
      selectRows(ctx.db, PAYMENT_KEY, selectUnsettled(ctx.program.id, provider, facts)),
      selectRows(
        ctx.db,
        { found: flag },
        sql`select ${isFindable(ctx.program.id, provider, { event_id, facts })} as found`,
      ),
    );
    const open = { event_id, ...event, facts, found: known?.found === 1 };
    await finishEvent(ctx, provider, open, { unsettled, closed: null, state: null });
  }
}
