import { DurableObject } from "cloudflare:workers";
import type { DatabaseBindings } from "../core/kernel/database.ts";
import { withTimeout } from "../lib/deadline.ts";
import { logLine, reasonOf } from "../lib/log.ts";
import { MINUTE, SECOND } from "../lib/time.ts";
import type { Bindings } from "../env.ts";
import { idsOf, type ClickBatch, type CommitReply } from "./batch.ts";
import { flushDelay, type FlushOptions } from "./flush-time.ts";
import { flushStretch, logFailedFlush, type Flushable, type Flushed, type Handed } from "./flush.ts";
import { firstOf, hintOf, isFirst } from "./region.ts";
import { ASK_FOR, Load, SPLIT_LOAD } from "./split.ts";
import { ClickStore } from "./store.ts";

type ClickBindings = DatabaseBindings & FlushOptions & Pick<Bindings, "CLICKS">;

/** Clicks waiting for the flush beyond which the object refuses more, in the units of `ClickStore.backlog`. */
export const MAX_BACKLOG = { clicks: 2_000_000, length: 1_000_000_000 };
/** UTF-16 units of entries that may wait for the commit in flight: limits memory. */
const MAX_GATHERED = 16_000_000;
/** The object itself flushes this many waiting clicks, after `DENSE_DELAY`, and does not hand them out. */
export const DENSE = 200;
export const DENSE_DELAY = SECOND;
/** The object requests a report of a flush, which costs a write, this many clicks after the last known one. */
export const REPORTED_AFTER = 50;
/** How much longer the object waits for a requested flush before it assumes that the Worker is gone. */
export const GRACE = 10 * SECOND;
/** How early a flush may arrive, by the object's clock. */
const EARLY = SECOND / 2;
const MAX_BACKOFF = MINUTE;
/** After a stretch the database is left to others for this many times as long as the stretch took. */
const REST = 2;
const FLUSH_TIMEOUT = 30 * SECOND;
/** Timeout of a call to another object of the region: shorter than the sender's total wait. */
const ASK_TIMEOUT = 3 * SECOND;
const STORED: CommitReply = { stored: true };
const NOT_STORED: CommitReply = { stored: false, reason: "storage" };

/** The first object's answer to another object of its region. */
export interface Report {
  /** When the region was split, in ms. */
  split_at: number;
  /** The requested ids that it took within the window. */
  known: string[];
}

interface Gathered {
  batch: ClickBatch;
  reply: (reply: CommitReply) => void;
}

/**
 * Takes clicks near the visitor and writes them to the database, each exactly once.
 *
 * `commit` answers once its batch is durable here. If no flush is requested yet, it asks its caller to return and flush
 * (`flush.ts`), in time for all clicks that arrive until then; the object itself flushes larger numbers. The pending
 * request, and the position of stretches that are on their way, are only in memory. If the Worker does not return in
 * time, or the object has forgotten its request, the next commit replaces it, or the cron, which compares the object
 * with its cursor in the database (`wake.ts`). The cron knows an object from its first flush on; only the first flush
 * needs an alarm. The cursor makes repeated, late or overlapping flushes harmless.
 *
 * The first object of a region takes all of its clicks (`take`) until there are many; then it splits the region
 * permanently, and each object takes those of its own data centers. A split happens in the turn that stores all
 * gathered batches, and no reply leaves before it is durable: the first object never takes an id later that it did not
 * know at the split. The others ask it about each batch for as long as a click from before may be repeated (`knows`).
 */
export class ClickCounter extends DurableObject<ClickBindings> implements Flushable {
  readonly #store: ClickStore;
  readonly #load = new Load();
  #gathered: Gathered[] = [];
  #gatheredLength = 0;
  /** A write, or a question to the first object, is in flight. */
  #busy = false;
  /** The time of the requested flush, in ms; null without a request. */
  #askedFor: number | null = null;
  /** The object's own flush. */
  #flushing: Promise<boolean> | null = null;
  #failures = 0;
  #pausesUntil = 0;
  backlogLimit = MAX_BACKLOG;
  splitLoad = SPLIT_LOAD;

  constructor(state: DurableObjectState, env: ClickBindings) {
    super(state, env);
    this.#store = new ClickStore(state.storage, Date.now());
  }

  /**
   * Makes a batch durable, or refuses it: the platform holds the reply back until earlier writes are durable. Group
   * commit here too: one write is in flight at a time, and batches that several isolates send meanwhile become one row.
   * A batch sent again with the same id is stored once.
   */
  async commit(batch: ClickBatch): Promise<CommitReply> {
    const { clicks, length } = this.#store.backlog;
    if (
      clicks >= this.backlogLimit.clicks ||
      length >= this.backlogLimit.length ||
      this.#gatheredLength >= MAX_GATHERED
    ) {
      return { stored: false, reason: "backlog" };
    }
    if (!this.#busy && !this.#asksFirst()) return this.#write([batch]);
    const { promise, resolve } = Promise.withResolvers<CommitReply>();
    this.#gathered.push({ batch, reply: resolve });
    this.#gatheredLength += batch.entries.length;
    if (!this.#busy) void this.#ask();
    return promise;
  }

  /** Like `commit`, on the first object of an unsplit region, for a batch of any data center. */
  async take(batch: ClickBatch): Promise<CommitReply> {
    return this.#store.splitAt === null ? this.commit(batch) : { stored: false, reason: "moved" };
  }

  /** The ids (see `idsOf`) that this first object took. The caller takes clicks itself, so the region is split now. */
  async knows(ids: readonly string[]): Promise<Report> {
    const now = Date.now();
    const split_at = this.#store.splitAt ?? this.#split(now);
    return { split_at, known: ids.filter((id) => this.#store.knows(id, now)) };
  }

  /**
   * The waiting clicks for the Worker that flushes, or null. After a restart that lost the request, a commit requests
   * another.
   */
  async waiting(): Promise<Handed | null> {
    if (this.#askedFor !== null && Date.now() >= this.#askedFor - EARLY) this.#askedFor = null;
    return this.#handOut();
  }

  /** Stores the database's cursor. A stretch that was handed out beyond it waits again, and is returned. */
  async flushed(done: Flushed): Promise<Handed | null> {
    this.#store.flushed(done);
    return done.cursor < done.to ? this.#handOut() : null;
  }

  /** The cron reads the least position that the object's cursor must have, or null if every click awaits a flush. */
  async look(): Promise<{ epoch: string; last: number } | null> {
    const last = this.#store.takenBy(Date.now() - flushDelay(this.env) - GRACE);
    return last === 0 || this.#flushing !== null ? null : { epoch: this.#store.epoch, last };
  }

  /** Flushes clicks beyond the database's cursor, or null, for the cron. */
  async catchUp(cursor: number | null): Promise<void> {
    if (cursor === null) this.#store.takeBack();
    else this.#store.flushed({ to: Infinity, cursor });
    this.#flushSoon();
  }

  /** Until its first flush the cron does not know an object: the alarm flushes its clicks. */
  override async alarm(): Promise<void> {
    this.#store.takeBack();
    if (!(await this.#flush())) this.#arm(Date.now());
  }

  /** Writes all gathered batches at once, so that they are in the same turn as a split. */
  #write(batches: readonly ClickBatch[], elsewhere?: ReadonlySet<string>): CommitReply {
    try {
      const first = this.#store.isNew;
      const now = Date.now();
      this.#store.add(batches, now, elsewhere);
      if (isFirst(this.#name()) && this.#store.splitAt === null && this.#isMuch(batches.length, now)) {
        this.#store.split(now);
      }
      if (first) this.#arm(now);
    } catch (error) {
      logLine("error", { what: "clicks not stored", reason: reasonOf(error) });
      return NOT_STORED;
    }
    this.#busy = true;
    // If the storage fails, the platform aborts every waiting reply and restarts the object.
    this.ctx.storage.sync().then(this.#goOn, this.#goOn);
    const flush_in = this.#askToFlush(Date.now());
    return flush_in === null ? STORED : { stored: true, flush_in };
  }

  readonly #goOn = (): void => {
    this.#busy = false;
    if (this.#gathered.length === 0) return;
    if (this.#asksFirst()) void this.#ask();
    else this.#writeGathered();
  };

  #writeGathered(): void {
    const group = this.#takeGathered();
    answer(group, this.#write(group.map(({ batch }) => batch)));
  }

  #takeGathered(): Gathered[] {
    const group = this.#gathered;
    this.#gathered = [];
    this.#gatheredLength = 0;
    return group;
  }

  /** Stores gathered batches without the clicks that the first object knows; refuses them if it cannot be reached. */
  async #ask(): Promise<void> {
    this.#busy = true;
    const group = this.#takeGathered();
    const batches = group.map(({ batch }) => batch);
    let reply: CommitReply = NOT_STORED;
    try {
      reply = this.#write(batches, await this.#learn(batches.flatMap(idsOf)));
    } catch (error) {
      logLine("error", { what: "first click object not asked", object: this.#name(), reason: reasonOf(error) });
    }
    answer(group, reply);
    if (!reply.stored) this.#goOn();
  }

  /** Whether the first object may know ids of clicks that arrive here. */
  #asksFirst(): boolean {
    const { splitAt } = this.#store;
    return (splitAt === null || Date.now() < splitAt + ASK_FOR) && firstOf(this.#name()) !== null;
  }

  /** The ids that the first object knows. */
  async #learn(ids: readonly string[]): Promise<ReadonlySet<string>> {
    const name = firstOf(this.#name())!;
    const first = this.env.CLICKS.getByName(name, { locationHint: hintOf(name) });
    const report: Report = await withTimeout(ASK_TIMEOUT, "the object", first.knows(ids));
    if (report.split_at !== this.#store.splitAt) this.#store.split(report.split_at);
    return new Set(report.known);
  }

  /** Splits the region, unless writing the gathered batches already did. Returns the time of the split. */
  #split(now: number): number {
    if (this.#gathered.length > 0) this.#writeGathered();
    if (this.#store.splitAt === null) this.#store.split(now);
    return this.#store.splitAt ?? now;
  }

  #isMuch(commits: number, now: number): boolean {
    const most = this.splitLoad;
    return this.#load.add(commits, now, most.within) >= most.commits || this.#store.ids >= most.ids;
  }

  /** Ms after which the caller of a commit should return and flush; null if it should not. */
  #askToFlush(now: number): number | null {
    const isGone = this.#askedFor !== null && now >= this.#askedFor + GRACE;
    if (isGone) this.#askedFor = null;
    if (isGone || this.#store.backlog.clicks >= DENSE) this.#flushSoon(DENSE_DELAY);
    if (this.#askedFor !== null || this.#store.left === 0) return null;
    const delay = flushDelay(this.env);
    this.#askedFor = now + delay;
    return delay;
  }

  #handOut(): Handed | null {
    const { clicks: waiting } = this.#store.backlog;
    if (waiting >= DENSE) this.#flushSoon();
    if (waiting >= DENSE || this.#flushing !== null) return null;
    const stretch = this.#store.next();
    if (stretch === null) return null;
    // A few clicks of maximum length may exceed one stretch.
    if (this.#store.left > 0) this.#flushSoon();
    const reports = stretch.to - stretch.known >= REPORTED_AFTER;
    return { ...stretch, object: this.#name(), epoch: this.#store.epoch, waiting, reports };
  }

  #flushSoon(delay = 0): void {
    if (this.#flushing === null) this.ctx.waitUntil(this.#flush(delay));
  }

  /** Flushes here after `delay` ms and returns whether it succeeded; pauses after a failure. Never rejects. */
  async #flush(delay = 0): Promise<boolean> {
    if (Date.now() < this.#pausesUntil) return false;
    return (this.#flushing ??= this.#flushAll(delay));
  }

  /** Flushes all waiting clicks, and those that arrive meanwhile if they are many or no flush is requested for them. */
  async #flushAll(delay: number): Promise<boolean> {
    try {
      await scheduler.wait(delay);
      for (let stretch = this.#store.next(); stretch !== null; stretch = this.#store.next()) {
        const began = Date.now();
        const own = { ...stretch, object: this.#name(), epoch: this.#store.epoch };
        const cursor = await flushStretch(own, this.env, FLUSH_TIMEOUT);
        const ended = Date.now();
        this.#store.flushed({ to: stretch.to, cursor });
        this.#failures = 0;
        const { left } = this.#store;
        if (cursor >= stretch.to && (left === 0 || (left < DENSE && this.#askedFor !== null))) break;
        await scheduler.wait(Math.min((ended - began) * REST, SECOND));
      }
      return true;
    } catch (error) {
      this.#pausesUntil = Date.now() + backoff(++this.#failures);
      this.#store.takeBack();
      logFailedFlush(error, {
        object: this.ctx.id.name ?? this.ctx.id.toString(),
        waiting: this.#store.backlog.clicks,
      });
      return false;
    } finally {
      this.#flushing = null;
    }
  }

  /** The write does not await it: the first click's row and the alarm are atomic with each other. */
  #arm(now: number): void {
    void this.ctx.storage.setAlarm(now + MINUTE);
  }

  /** The name contains the database's number. It is read in the write that stores it with the first clicks. */
  #name(): string {
    return this.#store.nameFor(this.ctx.id.name);
  }
}

/** Replies to each batch, and asks at most one caller to flush. */
function answer(group: readonly Gathered[], reply: CommitReply): void {
  for (const [i, waiting] of group.entries()) waiting.reply(i === 0 || !reply.stored ? reply : STORED);
}

/** Ms until the next try after so many failures in a row: doubling, jittered so that objects do not retry together. */
function backoff(failures: number): number {
  return Math.min(SECOND * 2 ** failures, MAX_BACKOFF) * (0.75 + Math.random() / 2);
}
