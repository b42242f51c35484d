/** Takes in what no webhook brought, from the provider's list of events (IN-15). */
import { sql } from "drizzle-orm";
import { countStatements, literal, runBatch } from "../../db/client.ts";
import { shaped, text, textOf } from "../../db/rows.ts";
import { programs } from "../../db/schema.ts";
import { actors } from "../../domain/actor.ts";
import { isLiveOnly } from "../../domain/program.ts";
import type { VendorName } from "../../domain/provider-name.ts";
import type { VendorTrouble } from "../../domain/read-trouble.ts";
import { AppError, invalidField, notFound, type ErrorDetail } from "../../lib/errors.ts";
import { bytesIn } from "../../lib/slices.ts";
import { iso } from "../../lib/time.ts";
import type { Vendor, ProviderEvent } from "../../providers/provider.ts";
import type { EventsAnswer, VendorReads } from "../../providers/reads.ts";
import { vendorNamed } from "../../providers/registry.ts";
import { connectionOf } from "../kernel/connections.ts";
import { actingAs, forProgram, prove, type Caller, type Ctx, type ProgramCtx } from "../kernel/context.ts";
import type { Owner, Work } from "../kernel/job.ts";
import { selectPrograms } from "../kernel/program-rows.ts";
import { fingerprint, openApiKey, providerSecrets } from "../kernel/provider-secrets.ts";
import { noteAgain } from "./ask-again.ts";
import { MAX_EVENT_BYTES, takeEvent } from "./program.ts";
import { openQuestions, type Questions } from "./questions.ts";
import {
  asked,
  begun,
  failed,
  isRateLimited,
  keepReading,
  newAmong,
  nextRead,
  passed,
  readingOf,
  readingStatus,
  type Reading,
  type ReadingStatus,
  type Unparsable,
  UNREAD,
  unparsableSince,
} from "./reading.ts";
import { noteRefusals } from "./refusals.ts";

/** The API of a provider that can be read, as the deployment reaches it; null for one that cannot. */
export type ReadsOf = (provider: Vendor) => VendorReads | null;

interface Listed {
  /** As the vendor gave it. */
  body: unknown;
  event: ProviderEvent;
}

/** A page of the list, of which some events are not taken in yet, and some cannot be. */
interface Page {
  left: Listed[];
  unparsable: readonly Unparsable[];
  next: string | null;
}

/** The reading of one provider's list for one program, step by step. */
export interface ListReader {
  /**
   * Does a bounded part: fetches a page, takes in one event of it, or, after the last, asks for the payment of a refund
   * that waits, or for the name of a code. Whether more is to be done now. The place is kept after each page, so that what a crash broke off is read
   * again, and nothing is passed over.
   */
  step(): Promise<boolean>;
}

/** So many calls and statements a step makes at most, where it takes in an event as long as they get. */
const STEP_COST = 64;

export function openListReader(by: ProgramCtx, provider: Vendor, reads: VendorReads): ListReader {
  const { program, now } = by;
  const ctx = actingAs(by, actors.provider(provider.name));
  let kept = connectionOf(program, provider.name).reading;
  let page: Page | null = null;
  let questions: Questions | null = null;
  const stored = readingOf(program, provider.name);
  let reading: Reading = stored.under_way?.cursor ? stored : begun(stored, program, reads.kept_ms, now);

  async function keep(next: Reading, asked_ms: number | null = null): Promise<boolean> {
    reading = next;
    kept = await keepReading(ctx, provider.name, kept, next, nextRead(next, now, asked_ms));
    return kept !== null && next.under_way !== null && next.trouble === null;
  }

  async function open(): Promise<boolean> {
    const api_key = await openApiKey(ctx, provider.name);
    if (api_key !== null) {
      const isTest = isLiveOnly(program) && reads.isTestKey(api_key);
      reading = await readingWith(ctx, reading, reads, api_key, isTest);
      if (isTest) return keep(failed(reading, "test_key", now));
      if (reading.noted_again !== null) {
        await keep({ ...reading, noted_again: await noteAgain(ctx, provider.name, reads, reading.noted_again ?? "") });
        return kept !== null;
      }
    }
    const answer = await nextPage(reads, api_key, reading);
    if (answer.outcome === "failed") {
      return keep(failed(fromWhere(reading, answer.reason), answer.reason, now), answer.retry_after_ms);
    }
    page = { ...(await missing(ctx, provider, answer, reading)), next: answer.next };
    await noteNewAmong(ctx, provider, reading, page.unparsable);
    return page.left.length > 0 ? true : close(page);
  }

  async function close({ next, unparsable }: Page): Promise<boolean> {
    page = null;
    if (await keep(passed(reading, next, iso(now - reads.kept_ms), unparsable))) return true;
    if (kept === null) return false;
    questions = await openQuestions(ctx, provider.name, reads, reading.unanswered?.attempts ?? 0);
    if (!questions && reading.unanswered) await keep(asked(reading, null, now));
    return questions !== null;
  }

  async function ask(open: Questions): Promise<boolean> {
    if (await open.next()) return true;
    const { failure: why } = open;
    if (why || reading.unanswered) await keep(asked(reading, why?.reason ?? null, now), why?.retry_after_ms);
    return false;
  }

  return {
    async step() {
      if (questions) return ask(questions);
      if (!page) return open();
      const listed = page.left.pop();
      try {
        const isNew = listed !== undefined && (await take(ctx, provider, listed));
        // Counted at once: what a crash breaks off is no longer missing when the page is read again.
        if (isNew && !(await keep({ ...reading, recovered: reading.recovered + 1, trouble: null }))) return false;
      } catch (error) {
        page = null;
        await keep(failed(reading, "not_stored", now));
        throw error;
      }
      return page.left.length > 0 ? true : close(page);
    },
  };
}

/**
 * A reading that goes on with a key: from the beginning where it was read with another, whichever version of the service
 * replaced that, and where the key is of test mode (`isTest`) while live payments alone count.
 */
async function readingWith(
  { program, now }: ProgramCtx,
  reading: Reading,
  reads: VendorReads,
  api_key: string,
  isTest: boolean,
): Promise<Reading> {
  const key = await fingerprint(program.id, api_key);
  const isOther = reading.key !== undefined && reading.key !== key;
  if (!isOther && !isTest) return { ...reading, key };
  return { ...begun(UNREAD, program, reads.kept_ms, now), key, trouble: isTest ? reading.trouble : null };
}

/** The event that the place names may be too old by now: then the list is read from its beginning. */
function fromWhere(reading: Reading, reason: VendorTrouble): Reading {
  const { under_way } = reading;
  return reason === "refused" && under_way?.cursor
    ? { ...reading, under_way: { ...under_way, cursor: null } }
    : reading;
}

async function nextPage(reads: VendorReads, api_key: string | null, { under_way }: Reading): Promise<EventsAnswer> {
  const unreadable: EventsAnswer = { outcome: "failed", reason: "api_key_refused", retry_after_ms: null };
  if (api_key === null || !under_way) return unreadable;
  return reads.listEvents(api_key, { from: Date.parse(under_way.from), cursor: under_way.cursor });
}

/**
 * Those of a page that are not stored, each once. One of no documented shape is refused as its webhook would be, and is
 * missing until it is of one.
 */
async function missing(
  ctx: ProgramCtx,
  provider: Vendor,
  { events, test }: Extract<EventsAnswer, { outcome: "read" }>,
  { under_way }: Reading,
): Promise<Omit<Page, "next">> {
  const at = iso(ctx.now);
  const from = under_way?.from ?? at;
  const listed = new Map<string, Listed>();
  const unparsable = new Map<string, Unparsable>();
  for (const { id: event_id, body } of events) {
    const result = provider.parse(body);
    if (result.ok) {
      listed.set(event_id, { body, event: { ...result.event, test: result.event.test || test, listed: true } });
      continue;
    }
    const { event_type, occurred_at } = result.envelope ?? { event_type: null, occurred_at: from };
    // What is older than the reading goes back to is none of its own.
    if (occurred_at < from) continue;
    unparsable.set(event_id, { event_id, event_type, occurred_at, problem: problemOf(result.details), at, since: at });
  }
  const ids = [...listed.keys(), ...unparsable.keys()];
  const [rows] = await ctx.read(
    shaped(
      ctx.db,
      { event_id: text },
      sql`select value as event_id from json_each(${JSON.stringify(ids)}) where not exists (
        select 1 from provider_events e where e.program_id = ${ctx.program.id}
          and e.provider = ${provider.name} and e.event_id = value)`,
    ),
  );
  const among = <Event>(all: ReadonlyMap<string, Event>) => rows.flatMap(({ event_id }) => all.get(event_id) ?? []);
  return { left: among(listed), unparsable: among(unparsable) };
}

/** Counts as refused those that no reading has found before. */
async function noteNewAmong(ctx: ProgramCtx, { name }: Vendor, reading: Reading, found: readonly Unparsable[]) {
  const refused = newAmong(reading, found).length;
  if (refused > 0) await noteRefusals(ctx, name, "unparsable", refused);
}

const MAX_PROBLEM = 200;

/** Where the first fault is, and what it is: no value of the event. */
function problemOf([first]: readonly ErrorDetail[]): string {
  return `${first?.path ?? ""}: ${first?.message ?? ""}`.slice(0, MAX_PROBLEM);
}

/**
 * Takes in one event through the door of the webhooks; whether it was missing. Which account's it is the API key says:
 * another program is of that account where they share a signing secret.
 */
async function take(ctx: ProgramCtx, provider: Vendor, { body, event }: Listed): Promise<boolean> {
  const text = JSON.stringify(body);
  const own = await providerSecrets(ctx, ctx.program, provider.name);
  const { isNew } = await takeEvent(ctx, {
    provider: provider.name,
    event,
    body: bytesIn(text) > MAX_EVENT_BYTES ? null : text,
    claim: provider.claimedOwner(body),
    isSigned: async (secrets) => secrets.some((secret) => own.includes(secret)),
  });
  return isNew;
}

/** The list of one provider for one program that is due. */
interface Due extends Owner {
  program_id: string;
  provider: VendorName;
  reader: ListReader | null;
}

const AT_ONCE = 20;

/** Reads the lists of the programs that have an API key, each once an hour; of the others nothing is looked at. */
export function readEventLists(ctx: Ctx, readsOf: ReadsOf): Work<Due> {
  return {
    cost: STEP_COST,
    async due(after) {
      const rows = await shaped(
        ctx.db,
        { key: text, program_id: text, provider: textOf<VendorName>() },
        sql`select program_id || ' ' || provider as key, program_id, provider
          from provider_connections indexed by provider_connections_due
          where api_key is not null and next_read_at <= ${iso(ctx.now)} and program_id || ' ' || provider > ${after}
          order by key limit ${literal(AT_ONCE)}`,
      );
      return rows.map((row) => ({ ...row, reader: null }));
    },
    async serve(due) {
      due.reader ??= await openDue(ctx, due, readsOf);
      return due.reader === null ? false : due.reader.step();
    },
  };
}

/** Null for a provider that this version does not know, or cannot read. */
async function openDue(ctx: Ctx, { program_id, provider: name }: Due, readsOf: ReadsOf): Promise<ListReader | null> {
  const provider = vendorNamed(name);
  const reads = provider && readsOf(provider);
  if (!reads) return null;
  const [[program]] = await runBatch(ctx.db, [selectPrograms(ctx.db, name).where(sql`${programs.id} = ${program_id}`)]);
  return program ? openListReader(forProgram(ctx, program), provider, reads) : null;
}

/** After so many statements a call takes no further step; the minute's job goes on. */
const STATEMENTS_A_CALL = 300;

export interface ReconcileEvents {
  provider: string;
  /** ms. Read from there where it is before the last complete point, and no further than the vendor keeps its events. */
  since?: number | undefined;
}

/**
 * Reads a provider's list of events at once, as far as one call goes; the minute's job does the rest.
 * @throws `not_found` for an unknown provider, `provider_not_configured` where there is no API key or no list,
 * `validation_failed` for a time in the future.
 */
export async function reconcileEvents(
  caller: Caller,
  { provider: name, since }: ReconcileEvents,
  readsOf: ReadsOf,
): Promise<ReadingStatus> {
  const [proven] = await prove(caller);
  const ctx = await beginReading(proven, name, since, readsOf);
  const { provider, reads } = readable(name, readsOf);
  const budget = { left: STATEMENTS_A_CALL };
  const db = countStatements(ctx.db, (sent) => (budget.left -= sent));
  const reader = openListReader(forProgram({ ...ctx, db }, ctx.program), provider, reads);
  const { next_read_at } = connectionOf(ctx.program, provider.name);
  const isAskedToWait = isRateLimited(readingOf(ctx.program, provider.name)) && next_read_at > iso(ctx.now);
  let isMore = !isAskedToWait;
  while (isMore && budget.left > 0) isMore = await reader.step();
  const [[program]] = await ctx.read(
    selectPrograms(ctx.db, provider.name).where(sql`${programs.id} = ${ctx.program.id}`),
  );
  return readingStatus(program ?? ctx.program, provider.name);
}

function readable(name: string, readsOf: ReadsOf): { provider: Vendor; reads: VendorReads } {
  const provider = vendorNamed(name);
  if (!provider) throw notFound("provider");
  const reads = readsOf(provider);
  if (!reads) throw new AppError("provider_not_configured", "This provider has no list of events.");
  return { provider, reads };
}

/** Notes the reading before it begins, so that it goes on also where this call is cut off. */
async function beginReading(
  ctx: ProgramCtx,
  name: string,
  since: number | undefined,
  readsOf: ReadsOf,
): Promise<ProgramCtx> {
  const { provider, reads } = readable(name, readsOf);
  const { program, now } = ctx;
  if (since !== undefined && since > now) throw invalidField("since", "This must not be in the future.");
  const connection = connectionOf(program, provider.name);
  if (connection.api_key === null) {
    throw new AppError("provider_not_configured", "This program has no API key for this provider yet.");
  }
  const before = readingOf(program, provider.name);
  const [back] = [unparsableSince(before, "all"), ...(since === undefined ? [] : [iso(since)])]
    .filter((at) => at !== undefined)
    .toSorted();
  const reading = begun(before, program, reads.kept_ms, now, back);
  // What the vendor asked to wait is kept.
  const next_read_at = isRateLimited(before) ? connection.next_read_at : "";
  const kept = await keepReading(ctx, provider.name, connection.reading, reading, next_read_at);
  // Another run is ahead: what it keeps is as good a place to go on from.
  const changed = kept === null ? connection : { ...connection, reading: kept, next_read_at };
  return forProgram(ctx, { ...program, connections: { ...program.connections, [provider.name]: changed } });
}
