/** Ingests events that no webhook delivered, from the provider's list of events (IN-15). */
import { sql } from "drizzle-orm";
import { countStatements, literal, runBatch } from "../../db/client.ts";
import { selectRows, text, textOf } from "../../db/rows.ts";
import { programs } from "../../db/schema.ts";
import { actors } from "../../domain/actor.ts";
import type { VendorName } from "../../domain/provider-name.ts";
import type { VendorTrouble } from "../../domain/read-trouble.ts";
import { startDeadline } from "../../lib/deadline.ts";
import { AppError, invalidField, notFound, type ErrorDetail } from "../../lib/errors.ts";
import { bytesIn } from "../../lib/slices.ts";
import { iso, SECOND } from "../../lib/time.ts";
import type { Vendor, ProviderEvent } from "../../providers/provider.ts";
import type { EventsAnswer, VendorReads } from "../../providers/reads.ts";
import { vendorNamed } from "../../providers/registry.ts";
import { connectionOf } from "../kernel/connections.ts";
import {
  actingAs,
  forProgram,
  prove,
  type Caller,
  type Ctx,
  type ProgramCtx,
  type Statement,
} from "../kernel/context.ts";
import { CommitConflict } from "../kernel/conflict.ts";
import type { Owner, Work } from "../kernel/work.ts";
import { selectPrograms } from "../kernel/program-rows.ts";
import { isOutOfMode, openApiKey, providerSecrets } from "../kernel/provider-secrets.ts";
import { untilWon } from "../kernel/races.ts";
import type { Program } from "../kernel/rows.ts";
import { isSent } from "../kernel/seen-types.ts";
import { storedEvent } from "../ledger/facts.ts";
import { MAX_EVENT_BYTES, takeEvent } from "./take-event.ts";
import { openQuestions, type Questions } from "./ask-questions.ts";
import { reopenQuestions } from "./questions.ts";
import {
  recordAnswers,
  startReading,
  countRecovered,
  recordReadFailure,
  isRateLimited,
  keepReading,
  keptReading,
  newUnparsable,
  nextRead,
  noteTaking,
  advanceReading,
  readingOf,
  readingStatus,
  finishTaking,
  startTaking,
  type Reading,
  type ReadingStatus,
  type Unparsable,
  unparsableSince,
  resetReading,
} from "./reading.ts";

/** The deployment's API for reading a provider; null for a provider that cannot be read. */
export type ReadsOf = (provider: Vendor) => VendorReads | null;

interface Listed {
  /** The vendor's original. */
  body: unknown;
  event: ProviderEvent;
}

/** A page of the list: `left` are the events that are not ingested yet, `unparsable` those that cannot be. */
interface Page {
  left: Listed[];
  unparsable: readonly Unparsable[];
  next: string | null;
}

/** The step-by-step reading of one provider's list for one program. */
export interface ListReader {
  /**
   * Does a bounded part: fetches a page and ingests an event of it, ingests another one, or, after the last, sends a
   * question that waits. Returns whether more is to be done now. The place is stored after each page, so that after a
   * crash a page is read again and never skipped.
   */
  step(): Promise<boolean>;
}

/** The most calls and statements of a step, when it ingests an event of the greatest length. */
const STEP_COST = 70;

export function openListReader(by: ProgramCtx, provider: Vendor, reads: VendorReads): ListReader {
  const { program, now } = by;
  const ctx = actingAs(by, actors.provider(provider.name));
  let page: Page | null = null;
  let questions: Questions | null = null;
  const stored = readingOf(program, provider.name);
  const place = new Place(
    ctx,
    provider,
    stored.under_way?.cursor ? stored : startReading(stored, program, reads.kept_ms, now),
  );

  async function open(): Promise<boolean> {
    const api_key = await openApiKey(ctx, provider.name);
    const before = api_key === null ? null : await beforeList(ctx, provider, reads, place, api_key);
    if (before !== null) return before;
    const { reading } = place;
    const answer = await nextPage(reads, api_key, reading);
    if (answer.outcome === "failed") {
      return place.keep(
        recordReadFailure(fromWhere(reading, answer.reason), answer.reason, now),
        answer.retry_after_ms,
      );
    }
    page = { ...(await missing(ctx, provider, answer, reading)), next: answer.next };
    return page.left.length > 0 ? true : close(page);
  }

  async function close({ next, unparsable }: Page): Promise<boolean> {
    page = null;
    const { reading } = place;
    const onwards = advanceReading(reading, next, iso(now - reads.kept_ms), unparsable);
    // The ones that no earlier reading has found.
    if (await place.keep(onwards, null, newUnparsable(reading, unparsable).length)) return true;
    if (place.isOvertaken) return false;
    questions = await openQuestions(ctx, provider.name, reads, reading.unanswered?.attempts ?? 0);
    if (!questions && reading.unanswered) await place.keep(recordAnswers(place.reading, null, now));
    return questions !== null;
  }

  async function take(from: Page): Promise<boolean> {
    const { left } = from;
    const listed = left.pop();
    try {
      if (listed && !(await place.take(listed))) return false;
    } catch (error) {
      page = null;
      throw error;
    }
    return left.length > 0 ? true : close(from);
  }

  async function ask(open: Questions): Promise<boolean> {
    if (await open.next()) return true;
    const { reading } = place;
    const { failure: why } = open;
    if (why || reading.unanswered)
      await place.keep(recordAnswers(reading, why?.reason ?? null, now), why?.retry_after_ms);
    return false;
  }

  return {
    async step() {
      if (questions) return ask(questions);
      // The next run fetches a page again: each step that fetches one leaves less of it to ingest.
      const isMore = page !== null || (await open());
      return page === null ? isMore : take(page);
    },
  };
}

/**
 * Prepares a new key before the list is read with it: whether more is to be done now; null if the list can be read.
 * With a test-mode key the reading restarts while the program counts only live payments.
 */
async function beforeList(
  ctx: ProgramCtx,
  provider: Vendor,
  reads: VendorReads,
  place: Place,
  api_key: string,
): Promise<boolean | null> {
  const { program, now } = ctx;
  const { noted_again, trouble } = place.reading;
  if (isOutOfMode(program, reads, api_key)) {
    const restarted = { ...startReading(resetReading(place.reading), program, reads.kept_ms, now), trouble };
    return place.keep(recordReadFailure(restarted, "test_key", now));
  }
  if (noted_again === null) return null;
  const last = await reopenQuestions(ctx, provider.name, reads, noted_again ?? "");
  await place.keep({ ...place.reading, noted_again: last });
  return !place.isOvertaken;
}

/** The event of the cursor may be too old by now: then the list is read from its beginning. */
function fromWhere(reading: Reading, reason: VendorTrouble): Reading {
  const { under_way } = reading;
  return reason === "refused" && under_way?.cursor
    ? { ...reading, under_way: { ...under_way, cursor: null } }
    : reading;
}

/** The progress of a list's reading, and its stored text. */
class Place {
  reading: Reading;
  #kept: string | null;
  readonly #ctx: ProgramCtx;
  readonly #provider: Vendor;

  constructor(ctx: ProgramCtx, provider: Vendor, reading: Reading) {
    this.#ctx = ctx;
    this.#provider = provider;
    this.#kept = connectionOf(ctx.program, provider.name).reading;
    this.reading = reading;
  }

  /** Whether another run continued the reading, or the key changed. */
  get isOvertaken(): boolean {
    return this.#kept === null;
  }

  /** Whether the reading goes on. */
  async keep(next: Reading, asked_ms: number | null = null, refused = 0): Promise<boolean> {
    this.reading = next;
    const at = nextRead(next, this.#ctx.now, asked_ms);
    this.#kept = await keepReading(this.#ctx, this.#provider.name, this.#kept, next, at, refused);
    return !this.isOvertaken && next.under_way !== null && next.trouble === null;
  }

  /** Ingests an event of the list; returns whether the reading goes on. */
  async take({ body, event }: Listed): Promise<boolean> {
    const [ctx, { name }, { event_id }] = [this.#ctx, this.#provider, event];
    const lost = isSent(this.#provider, connectionOf(ctx.program, name), event.event_type, ctx.now) ? 1 : 0;
    const [before, reading] = [this.#kept, startTaking(this.reading, event_id, lost)];
    let isWithEvent = false;
    const note = (home: ProgramCtx) => {
      isWithEvent = home.shard === ctx.shard;
      const stored = storedEvent(home.program.id, name, event_id);
      return isWithEvent ? [noteTaking(ctx, name, { before, reading, event_id, lost, stored })] : [];
    };
    try {
      const isNew = await takeListed(ctx, this.#provider, { body, event }, note);
      if (isNew && isWithEvent) this.#isKept(reading);
      const wasLeft = this.reading.taking?.includes(event_id) === true;
      this.reading = finishTaking(this.reading, event_id);
      // An event left over from an earlier run is stored as done: a run that is cut off later would repeat it.
      if (!isNew) return wasLeft ? this.keep({ ...this.reading, trouble: null }) : true;
      if (isWithEvent) return true;
    } catch (error) {
      if ((await keptReading(ctx, name)) === JSON.stringify(reading)) this.#isKept(reading);
      await this.keep(recordReadFailure(this.reading, "not_stored", ctx.now));
      throw error;
    }
    // No transaction spans two databases: after a crash here the event is not counted.
    return this.keep(countRecovered(this.reading, lost));
  }

  #isKept(reading: Reading): void {
    this.reading = reading;
    this.#kept = JSON.stringify(reading);
  }
}

async function nextPage(reads: VendorReads, api_key: string | null, { under_way }: Reading): Promise<EventsAnswer> {
  const unreadable: EventsAnswer = { outcome: "failed", reason: "api_key_refused", retry_after_ms: null };
  if (api_key === null || !under_way) return unreadable;
  return reads.listEvents(api_key, { from: Date.parse(under_way.from), cursor: under_way.cursor });
}

/**
 * The events of a page that are not stored, or not ingested to the end, each once. An event without a documented shape
 * is refused as its webhook would be, and stays missing until its shape is documented.
 */
async function missing(
  ctx: ProgramCtx,
  provider: Vendor,
  { events, test }: Extract<EventsAnswer, { outcome: "read" }>,
  { under_way, taking: open = [] }: Reading,
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
    // An event before the start of the reading does not count as its finding.
    if (occurred_at < from) continue;
    unparsable.set(event_id, { event_id, event_type, occurred_at, problem: problemOf(result.details), at, since: at });
  }
  const ids = [...listed.keys(), ...unparsable.keys()];
  const [rows] = await ctx.read(
    selectRows(
      ctx.db,
      { event_id: text },
      sql`select value as event_id from json_each(${JSON.stringify(ids)})
        where value in (select value from json_each(${JSON.stringify(open)}))
          or not exists (${storedEvent(ctx.program.id, provider.name, sql`json_each.value`)})`,
    ),
  );
  const among = <Event>(all: ReadonlyMap<string, Event>) => rows.flatMap(({ event_id }) => all.get(event_id) ?? []);
  return { left: among(listed), unparsable: among(unparsable) };
}

const MAX_PROBLEM = 200;

/** The place and the message of the first fault, without any value of the event. */
function problemOf([first]: readonly ErrorDetail[]): string {
  return `${first?.path ?? ""}: ${first?.message ?? ""}`.slice(0, MAX_PROBLEM);
}

/**
 * Ingests one event in the same way as a webhook; returns whether it was missing. The API key proves its account:
 * another program is of that account if they share a signing secret.
 */
async function takeListed(
  ctx: ProgramCtx,
  provider: Vendor,
  { body, event }: Listed,
  before: (home: ProgramCtx) => Statement[],
): Promise<boolean> {
  const text = JSON.stringify(body);
  const own = await providerSecrets(ctx, ctx.program, provider.name);
  const taken = await takeEvent(ctx, {
    provider: provider.name,
    event,
    body: bytesIn(text) > MAX_EVENT_BYTES ? null : text,
    claim: provider.claimedOwner(body),
    proof: { secrets: own },
    before,
  });
  // Only a cached program can have changed.
  if (!taken) throw new Error("an event of a list was refused");
  return taken.isNew;
}

/** A program's list of one provider that is due. */
interface Due extends Owner {
  program_id: string;
  provider: VendorName;
  reader: ListReader | null;
}

const AT_ONCE = 20;

/** Reads the lists of the programs with an API key, each once an hour; programs without one are not read. */
export function readEventLists(ctx: Ctx, readsOf: ReadsOf): Work<Due> {
  return {
    cost: STEP_COST,
    async due(after) {
      const rows = await selectRows(
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

/** Null for a provider that this version does not support, or cannot read. */
async function openDue(ctx: Ctx, { program_id, provider: name }: Due, readsOf: ReadsOf): Promise<ListReader | null> {
  const provider = vendorNamed(name);
  const reads = provider && readsOf(provider);
  if (!reads) return null;
  const [[program]] = await runBatch(ctx.db, [selectPrograms(ctx.db, name).where(sql`${programs.id} = ${program_id}`)]);
  return program ? openListReader(forProgram(ctx, program), provider, reads) : null;
}

/** A call takes no further step after this many statements, or this long; the minute's job continues. */
const STATEMENTS_A_CALL = 300;
const CALL_MS = 20 * SECOND;

export interface ReconcileEvents {
  provider: string;
  /** Milliseconds. Starts there if before the last complete point, but not before the vendor's oldest event. */
  since?: number | undefined;
}

/**
 * Reads a provider's list of events at once, as far as one call goes; the minute's job does the rest.
 * @throws `not_found` for an unknown provider, `provider_not_configured` if there is no API key or no list,
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
  const deadline = startDeadline(CALL_MS);
  try {
    let isMore = !isAskedToWait;
    while (isMore && budget.left > 0 && !deadline.signal.aborted) isMore = await reader.step();
  } finally {
    deadline.clear();
  }
  return readingStatus(await programOf(ctx, provider.name), provider.name);
}

function readable(name: string, readsOf: ReadsOf): { provider: Vendor; reads: VendorReads } {
  const provider = vendorNamed(name);
  if (!provider) throw notFound("provider");
  const reads = readsOf(provider);
  if (!reads) throw new AppError("provider_not_configured", "This provider has no list of events.");
  return { provider, reads };
}

/** Records the reading before it begins, so that it outlives this call. Another run's reading is not replaced. */
function beginReading(ctx: ProgramCtx, name: string, since: number | undefined, readsOf: ReadsOf): Promise<ProgramCtx> {
  const { provider, reads } = readable(name, readsOf);
  const { now } = ctx;
  let { program } = ctx;
  if (since !== undefined && since > now) throw invalidField("since", "This must not be in the future.");
  return untilWon(async () => {
    const connection = connectionOf(program, provider.name);
    if (connection.api_key === null) {
      throw new AppError("provider_not_configured", "This program has no API key for this provider yet.");
    }
    const before = readingOf(program, provider.name);
    const [back] = [unparsableSince(before, "all"), ...(since === undefined ? [] : [iso(since)])]
      .filter((at) => at !== undefined)
      .toSorted();
    const begins = startReading(before, program, reads.kept_ms, now, back);
    // A wait that the vendor requested is kept.
    const next_read_at = isRateLimited(before) ? connection.next_read_at : "";
    const on = forProgram(ctx, program);
    const reading = await keepReading(on, provider.name, connection.reading, begins, next_read_at);
    if (reading === null) {
      program = await programOf(on, provider.name);
      throw new CommitConflict("lost_race", "a reading");
    }
    const connections = { ...program.connections, [provider.name]: { ...connection, reading, next_read_at } };
    return forProgram(ctx, { ...program, connections });
  });
}

/** The current row of the program. */
async function programOf({ db, program }: ProgramCtx, provider: VendorName): Promise<Program> {
  const [[now]] = await runBatch(db, [selectPrograms(db, provider).where(sql`${programs.id} = ${program.id}`)]);
  return now ?? program;
}
