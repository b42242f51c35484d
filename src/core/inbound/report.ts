/** Ingests the reports of the owner's server like a vendor's event (FACT-1). */
import { sql } from "drizzle-orm";
import { flag, selectRows, text } from "../../db/rows.ts";
import type { ErrorDetail } from "../../lib/errors.ts";
import { AppError, invalidField } from "../../lib/errors.ts";
import { iso, MINUTE } from "../../lib/time.ts";
import type { ProviderEvent, ReportedValue, Report } from "../../providers/provider.ts";
import { OWNER_PROVIDER } from "../../providers/registry.ts";
import { CommitConflict, refuseIf } from "../kernel/conflict.ts";
import { prove, type Caller, type ProgramCtx } from "../kernel/context.ts";
import { isErased, subjectsIn } from "../ledger/facts.ts";
import { factsOfEvent, sortFacts, storedEvent } from "../ledger/facts.ts";
import { receiveEvent, settleEvent, storeEvent, type Received } from "./receive.ts";

/** The greatest difference between two clocks. */
const AHEAD = 5 * MINUTE;
/** An earlier time was never set: the year 1, or 1970. Its fact would bind for good, and skip every hold. */
const EARLIEST = "2000-01-01T00:00:00.000Z";

/**
 * Ingests a fact of the owner's own server, of `occurred_at` (ISO 8601, milliseconds, UTC), or of now if that is null:
 * it is durable before this returns, and its payments are settled. A repeated report, even a concurrent one, has the
 * same answer and no effect (FACT-2).
 * @throws `validation_failed` for a time to come or never set, `already_exists` if it differs from the earlier report,
 * with each field that differs.
 */
export async function takeReport(caller: Caller, report: Report, occurred_at: string | null): Promise<Received> {
  if (occurred_at !== null && Date.parse(occurred_at) > caller.now + AHEAD) {
    throw invalidField("occurred_at", "This is in the future.");
  }
  if (occurred_at !== null && occurred_at < EARLIEST) {
    throw invalidField("occurred_at", "This is before the year 2000. Leave out a time that was never set.");
  }
  const [ctx] = await prove(caller);
  const { name } = OWNER_PROVIDER;
  const { id, currency } = ctx.program;
  const event = OWNER_PROVIDER.eventOf(report, occurred_at ?? iso(ctx.now), currency);
  const isThere = sql`exists (${storedEvent(id, name, event.event_id)})`;
  // Once a lead is stored, the currency stays (PROG-3).
  const isChanged = sql`exists (select 1 from programs where id = ${id} and currency <> ${currency})`;
  const body = JSON.stringify({ ...report, occurred_at: event.occurred_at });
  const stored = await storeEvent(ctx, name, event, body, {
    before: [ctx.db.run(refuseIf(report.kind === "lead" ? sql`${isThere} or ${isChanged}` : isThere))],
    ask: [],
  });
  return stored ? settleEvent(ctx, stored) : takeAgain(ctx, report, occurred_at, event);
}

/**
 * Handles a repeated fact: finishes the work that a crash left open, by the first report.
 * @throws {CommitConflict} if it is not stored because the program's currency was changed meanwhile.
 */
async function takeAgain(
  ctx: ProgramCtx,
  report: Report,
  occurred_at: string | null,
  { event_id }: ProviderEvent,
): Promise<Received> {
  const { name } = OWNER_PROVIDER;
  const [[stored], rows] = await ctx.read(
    selectRows(
      ctx.db,
      { occurred_at: text },
      sql`select occurred_at from provider_events where program_id = ${ctx.program.id} and provider = ${name}
        and event_id = ${event_id}`,
    ),
    factsOfEvent(ctx, name, event_id),
  );
  if (!stored) throw new CommitConflict("lost_race", "currency");
  const event = OWNER_PROVIDER.eventOf(report, occurred_at ?? stored.occurred_at, ctx.program.currency);
  const before = { ...event, occurred_at: stored.occurred_at, facts: sortFacts(rows) };
  const details = await differences(ctx, before, event);
  if (details.length > 0) {
    throw new AppError("already_exists", `This ${report.kind} was already reported with other values.`, { details });
  }
  return receiveEvent(ctx, name, before, null);
}

type Reported = ReturnType<typeof OWNER_PROVIDER.reportedValues>;

/** Each field that differs from the earlier report, except those that an erasure may have removed since. */
async function differences(ctx: ProgramCtx, before: ProviderEvent, now: ProviderEvent): Promise<ErrorDetail[]> {
  const { name } = OWNER_PROVIDER;
  const [old, { values, personal }] = [before, now].map(({ facts }) => OWNER_PROVIDER.reportedValues(facts)) as [
    Reported,
    Reported,
  ];
  const differing = [...values].filter(([field, value]) => (old.values.get(field) ?? null) !== value);
  if (differing.length === 0) return [];
  const subjects = await subjectsIn(ctx.program.id, now.facts);
  const [[erased]] = await ctx.read(
    selectRows(
      ctx.db,
      { is: flag },
      sql`select ${isErased(ctx.program.id, name, subjects, before.occurred_at)} as "is"`,
    ),
  );
  const isGone = erased?.is === 1;
  // The facts of a lead contain only the reported address.
  if (isGone && before.facts.length === 0) return [];
  return differing
    .filter(([field]) => !(isGone && personal.includes(field)))
    .map(([path, value]) => ({
      path,
      message: personal.includes(path)
        ? "This differs from the earlier report."
        : `This was ${shown(old.values.get(path))}, and is ${shown(value)} now.`,
    }));
}

function shown(value: ReportedValue | undefined): string {
  return value === null || value === undefined ? "not given" : String(value);
}
