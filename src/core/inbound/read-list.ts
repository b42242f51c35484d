/** Takes in what no webhook brought, from the provider's list of events (IN-15). */
import { sql } from "drizzle-orm";
import { countStatements, literal, runBatch } from "../../db/client.ts";
import { shaped, text, textOf } from "../../db/rows.ts";
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
import type { Owner, Work } from "../kernel/job.ts";
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
  asked,
  begun,
  counted,
  failed,
  isRateLimited,
  keepReading,
  keptReading,
  newAmong,
  nextRead,
  noteTaking,
  passed,
  readingOf,
  readingStatus,
  takenIn,
  taking,
  type Reading,
  type ReadingStatus,
  type Unparsable,
  unparsableSince,
  unread,
} from "./reading.ts";

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
   * Does a bounded part: fetches a page and takes in an event of it, takes in another one, or, after the last, asks for the
   * payment of a refund that waits, or for the name of a code. Whether more is to be done now. The place is kept after each
   * page, so that what a crash broke off is read again, and nothing is passed over.
   */
  step(): Promise<boolean>;
}

/** So many calls and statements a step makes at most, where it takes in an event as long as they get. */
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
    stored.under_way?.cursor ? stored : begun(stored, program, reads.kept_ms, now),
  );

  async function open(): Promise<boolean> {
    const api_key = await openApiKey(ctx, provider.name);
    const before = api_key === null ? null : await beforeList(ctx, provider, reads, place, api_key);
    if (before !== null) return before;
    const { reading } = place;
    const answer = await nextPage(reads, api_key, reading);
    if (answer.outcome === "failed") {
      return place.keep(failed(fromWhere(reading, answer.reason), answer.reason, now), answer.retry_after_ms);
    }
    page = { ...(await missing(ctx, provider, answer, reading)), next: answer.next };
    return page.left.length > 0 ? true : close(page);
  }

  async function close({ next, unparsable }: Page): Promise<boolean> {
    page = null;
    const { reading } = place;
    const onwards = passed(reading, next, iso(now - reads.kept_ms), unparsable);
    // Those that no reading has found before.
    if (await place.keep(onwards, null, newAmong(reading, unparsable).length)) return true;
    if (place.isOvertaken) return false;
    questions = await openQuestions(ctx, provider.name, reads, reading.unanswered?.attempts ?? 0);
    if (!questions && reading.unanswered) await place.keep(asked(place.reading, null, now));
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
    if (why || reading.unanswered) await place.keep(asked(reading, why?.reason ?? null, now), why?.retry_after_ms);
    return false;
  }

  return {
    async step() {
      if (questions) return ask(questions);
      // The next run fetches a page again: each step that fetches one leaves less of it to be taken in.
      const isMore = page !== null || (await open());
      return page === null ? isMore : take(page);
    },
  };
}

/**
 * What a key needs before the list is read with it: whether more is to be done now; null if nothing is, and it is read. With a
 * test-mode key the reading starts again while live payments alone count.
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
    const restarted = { ...begun(unread(place.reading), program, reads.kept_ms, now), trouble };
    return place.keep(failed(restarted, "test_key", now));
  }
  if (noted_again === null) return null;
  const last = await reopenQuestions(ctx, provider.name, reads, noted_again ?? "");
  await place.keep({ ...place.reading, noted_again: last });
  return !place.isOvertaken;
}

/** The event that the place names may be too old by now: then the list is read from its beginning. */
function fromWhere(reading: Reading, reason: VendorTrouble): Reading {
  const { under_way } = reading;
  return reason === "refused" && under_way?.cursor
    ? { ...reading, under_way: { ...under_way, cursor: null } }
    : reading;
}

/** How far a list is read, and the text of it that is kept. */
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

  /** Whether another run went on with it, or the key changed. */
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

  /** Takes in an event of the list; whether the reading goes on. */
  async take({ body, event }: Listed): Promise<boolean> {
    const [ctx, { name }, { event_id }] = [this.#ctx, this.#provider, event];
    const lost = isSent(this.#provider, connectionOf(ctx.program, name), event.event_type, ctx.now) ? 1 : 0;
    const [before, reading] = [this.#kept, taking(this.reading, event_id, lost)];
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
      this.reading = takenIn(this.reading, event_id);
      // What a run before left is kept as done: one that is cut off after it would do it again.
      if (!isNew) return wasLeft ? this.keep({ ...this.reading, trouble: null }) : true;
      if (isWithEvent) return true;
    } catch (error) {
      if ((await keptReading(ctx, name)) === JSON.stringify(reading)) this.#isKept(reading);
      await this.keep(failed(this.reading, "not_stored", ctx.now));
      throw error;
    }
    // No transaction is of two databases: what a crash breaks off here is not counted.
    return this.keep(counted(this.reading, lost));
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
 * Those of a page that are not stored, or not taken in to the end, each once. One of no documented shape is refused as its
 * webhook would be, and is missing until it is of one.
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
    // What is older than the reading goes back to is none of its own.
    if (occurred_at < from) continue;
    unparsable.set(event_id, { event_id, event_type, occurred_at, problem: problemOf(result.details), at, since: at });
  }
  const ids = [...listed.keys(), ...unparsable.keys()];
  const [rows] = await ctx.read(
    shaped(
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

/** Where the first fault is, and what it is: no value of the event. */
function problemOf([first]: readonly ErrorDetail[]): string {
  return `${first?.path ?? ""}: ${first?.message ?? ""}`.slice(0, MAX_PROBLEM);
}

/**
 * Takes in one event through the door of the webhooks; whether it was missing. Which account's it is the API key says:
 * another program is of that account where they share a signing secret.
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
  // Only a remembered program can have changed.
  if (!taken) throw new Error("an event of a list was refused");
  return taken.isNew;
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

/** After so many statements, or so long, a call takes no further step; the minute's job goes on. */
const STATEMENTS_A_CALL = 300;
const CALL_MS = 20 * SECOND;

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

/** Notes the reading before it begins, so that it goes on also where this call is cut off. What another run keeps meanwhile stays. */
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
    const begins = begun(before, program, reads.kept_ms, now, back);
    // What the vendor asked to wait is kept.
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

/** The program as it is by now. */
async function programOf({ db, program }: ProgramCtx, provider: VendorName): Promise<Program> {
  const [[now]] = await runBatch(db, [selectPrograms(db, provider).where(sql`${programs.id} = ${program.id}`)]);
  return now ?? program;
}
