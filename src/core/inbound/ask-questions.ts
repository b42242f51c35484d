/** Sends the waiting questions to a vendor, after its list of events was read to the end. */
import { sql } from "drizzle-orm";
import { literal } from "../../db/client.ts";
import { selectRows, text } from "../../db/rows.ts";
import type { VendorName } from "../../domain/provider-name.ts";
import { isTemporary } from "../../domain/read-trouble.ts";
import { iso } from "../../lib/time.ts";
import type { ProviderEvent } from "../../providers/provider.ts";
import type { ReadFailure, VendorReads } from "../../providers/reads.ts";
import { refuseIf } from "../kernel/conflict.ts";
import { hasSameKey } from "../kernel/connections.ts";
import type { ProgramCtx } from "../kernel/context.ts";
import { openApiKey } from "../kernel/provider-secrets.ts";
import { answeredBy, type Asking, type QuestionKind } from "./questions.ts";
import { settleEvent, storeEvent } from "./receive.ts";

/** A bounded number of questions. */
export interface Questions {
  /** The failure that stopped the questions, if the vendor asks to wait or is down; else the first failure. */
  readonly failure: ReadFailure | null;
  /** Sends one question; returns whether to send another now. */
  next(): Promise<boolean>;
}

/** How many questions of each kind are sent after a reading of the list, and how many are considered. */
const AT_ONCE = 20;
const LOOKED_AT = 200;

/** The most calls for one id. */
const MAX_CALLS = 5;

/** Rotates a list so that it begins at `place`. */
function from<T>(all: readonly T[], place: number): T[] {
  const first = all.length === 0 ? 0 : place % all.length;
  return [...all.slice(first), ...all.slice(0, first)];
}

/**
 * Opens the waiting questions, or null. `failed`: unanswered times in a row; each time others come first, so that none
 * blocks the rest.
 */
export async function openQuestions(
  ctx: ProgramCtx,
  provider: VendorName,
  reads: VendorReads,
  failed: number,
): Promise<Questions | null> {
  const waiting: { kind: QuestionKind; id: string }[] = [];
  for (const kind of answeredBy(reads)) {
    const ids = from(await listWaiting(ctx, provider, kind), failed).slice(0, AT_ONCE);
    waiting.push(...ids.map((id) => ({ kind, id })));
  }
  let open = from(waiting, failed);
  if (open.length === 0) return null;
  let failure: ReadFailure | null = null;
  return {
    get failure() {
      return failure;
    },
    /** An unreadable answer stops no other; a missing permission stops its kind; any other failure stops all. */
    async next() {
      const [first, ...others] = open;
      const api_key = await openApiKey(ctx, provider);
      if (!first || api_key === null) return false;
      const failed = await ask({ ctx, provider, reads, api_key }, first.kind, first.id);
      failure = failed && isTemporary(failed.reason) ? failed : (failure ?? failed);
      const isForbidden = failed?.reason === "permission_missing";
      open = isForbidden ? others.filter(({ kind }) => kind !== first.kind) : others;
      return open.length > 0 && (failed === null || failed.reason === "unreadable" || isForbidden);
    },
  };
}

/** Lists some ids with waiting questions of a kind. */
async function listWaiting(
  { db, program }: ProgramCtx,
  provider: VendorName,
  { isWaiting, prefix, prefix_again }: QuestionKind,
): Promise<string[]> {
  const rows = await selectRows(
    db,
    { subject: text },
    sql`select subject from waiting_events indexed by waiting_events_of_program
      where program_id = ${program.id} and provider = ${provider} and ${isWaiting}
      order by subject limit ${literal(LOOKED_AT)}`,
  );
  return rows.map(({ subject }) => subject.slice((subject.startsWith(prefix_again) ? prefix_again : prefix).length));
}

/** Sends an id's questions until all is answered, and stores each answer as an event. Returns the vendor's failure or null. */
async function ask(asking: Asking, kind: QuestionKind, id: string): Promise<ReadFailure | null> {
  const { ctx, provider } = asking;
  // An answer without facts holds for one key: with another key the question is sent again.
  const isSameKey = hasSameKey(ctx.program, provider);
  let isAnswered = false;
  for (let calls = 0; ; calls++) {
    // The question waits for the next reading.
    if (calls === MAX_CALLS) return null;
    const asked = await kind.ask(asking, id);
    if (!asked) break;
    const { answer } = asked;
    if (answer.outcome === "failed" && answer.reason !== "refused") return answer;
    const facts = answer.outcome === "read" ? answer.facts : [];
    isAnswered = facts.length > 0;
    const ignored = isAnswered ? null : kind.ignored[answer.outcome];
    if (!isAnswered && ignored === null) break;
    const { type } = kind;
    const event: ProviderEvent = {
      ...{ event_id: `${type}:${asked.id}`, event_type: type, occurred_at: iso(ctx.now), facts, ignored },
      ...{ test: false, listed: true },
    };
    const before = isAnswered ? [] : [ctx.db.run(refuseIf(sql`not ${isSameKey}`))];
    const stored = await storeEvent(ctx, provider, event, null, { before, ask: [] });
    if (!stored) return null;
    await settleEvent(ctx, stored);
    if (!kind.isChained) break;
  }
  await ctx.db.run(sql`delete from waiting_events
    where provider = ${provider} and subject in (${kind.prefix + id}, ${kind.prefix_again + id})
      and program_id = ${ctx.program.id} and (${isAnswered ? sql`true` : isSameKey})`);
  return null;
}
