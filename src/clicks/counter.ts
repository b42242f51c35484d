import { DurableObject } from "cloudflare:workers";
import type { DatabaseBindings } from "../core/kernel/database.ts";
import { inTime } from "../lib/deadline.ts";
import { logLine, reasonOf } from "../lib/log.ts";
import { MINUTE, SECOND } from "../lib/time.ts";
import type { Bindings } from "../env.ts";
import { idsOf, type ClickBatch, type CommitReply } from "./batch.ts";
import { flushDelay, type FlushOptions } from "./flush-time.ts";
import { bring, notFlushed, type Flushable, type Flushed, type Handed } from "./flush.ts";
import { firstOf, hintOf, isFirst } from "./region.ts";
import { ASK_FOR, Load, SPLIT_LOAD } from "./split.ts";
import { ClickStore } from "./store.ts";

type ClickBindings = DatabaseBindings & FlushOptions & Pick<Bindings, "CLICKS">;

/** What may wait for the flush before the object refuses, as `ClickStore.backlog`: storage, and time to catch up. */
export const MAX_BACKLOG = { clicks: 2_000_000, length: 1_000_000_000 };
/** UTF-16 units of entries that may wait for the commit in flight: memory. */
const MAX_GATHERED = 16_000_000;
/**
 * Where so many clicks wait, the object flushes them itself, after `DENSE_DELAY`: it is at work all the time anyway. It hands
 * none out then: it knows when the database is to be left alone, which Workers, one after the other, do not.
 */
export const DENSE = 200;
export const DENSE_DELAY = SECOND;
/** So many clicks beyond those that it knows to be flushed, and the object wants to hear of the flush: it writes that down. */
export const REPORTED_AFTER = 50;
/** Whoever was asked to flush is waited for so much longer; then it is taken to be gone. */
export const GRACE = 10 * SECOND;
/** By so much it may come early, by its own clock. */
const EARLY = SECOND / 2;
const MAX_BACKOFF = MINUTE;
/**
 * Between two stretches the database is left to others for this many times as long as the last one took: it does one
 * thing at a time, and many objects may be behind at once. So a burst is taken at full speed and written later.
 */
const REST = 2;
const FLUSH_TIMEOUT = 30 * SECOND;
/** Of a call to another object of the region: less than the sender waits for all of it. */
const ASK_TIMEOUT = 3 * SECOND;
const STORED: CommitReply = { stored: true };
const NOT_STORED: CommitReply = { stored: false, reason: "storage" };

/** What the first object of a region says to another one. */
export interface Report {
  /** When the region was split, in ms. */
  split_at: number;
  /** Those of the ids that it took within the window. */
  known: string[];
}

interface Gathered {
  batch: ClickBatch;
  reply: (reply: CommitReply) => void;
}

/**
 * Takes clicks near the visitor and brings them to the database, each exactly once.
 *
 * `commit` answers when its batch is durable here. The first that finds nobody asked asks its caller to come back and flush
 * (`flush.ts`), in time for all that come until then; many clicks the object flushes itself. That somebody was asked, and how
 * far what is on its way goes, is in memory alone: who is not there in time, or asked by an object that forgot it, is replaced
 * by the next commit, or by the cron, which compares the object with its cursor in the database (`wake.ts`). The cron knows
 * an object from its first flush on, for which alone there is an alarm. The cursor is what makes a flush that comes twice,
 * late or in between do nothing twice.
 *
 * The first object of a region takes all of its clicks (`take`) until they are many; then it splits the region, once and
 * for good, and each object takes those of its own data centers. A split comes in the turn that stores all that has
 * gathered, and no reply leaves before it is safe: so what the first object does not know after it, it never takes. The
 * others ask it about each batch for as long as a repetition may be of a click from before (`knows`).
 */
export class ClickCounter extends DurableObject<ClickBindings> implements Flushable {
  readonly #store: ClickStore;
  readonly #load = new Load();
  #gathered: Gathered[] = [];
  #gatheredLength = 0;
  /** A write is on its way, or a question to the first object. */
  #busy = false;
  /** For when somebody was asked to flush, in ms; null where nobody is to come. */
  #askedFor: number | null = null;
  /** The flush of the object itself. */
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
   * Makes a batch durable, or refuses it: the platform holds the reply back until what was written before is safe.
   * Group commit here too: one write is on its way at a time, and what several isolates sent meanwhile becomes one row.
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

  /** As `commit`, called on the first object of a region for a batch of any data center while the region is not split. */
  async take(batch: ClickBatch): Promise<CommitReply> {
    return this.#store.splitAt === null ? this.commit(batch) : { stored: false, reason: "moved" };
  }

  /**
   * Which of the ids, as of `idsOf`, this first object of a region took. Who asks takes clicks, so the region is split now
   * if it was not.
   */
  async knows(ids: readonly string[]): Promise<Report> {
    const now = Date.now();
    const split_at = this.#store.splitAt ?? this.#split(now);
    return { split_at, known: ids.filter((id) => this.#store.knows(id, now)) };
  }

  /**
   * What waits, for who was asked to flush it. Null where nothing does, and where the object flushes it itself. What comes
   * from now on is for the next, which the next commit asks for; one that an object asked and forgot leaves that to another.
   */
  async waiting(): Promise<Handed | null> {
    if (this.#askedFor !== null && Date.now() >= this.#askedFor - EARLY) this.#askedFor = null;
    return this.#handOut();
  }

  /** Takes over where the cursor is. What was handed out before and is not there waits again, and is given to this caller. */
  async flushed(done: Flushed): Promise<Handed | null> {
    this.#store.flushed(done);
    return done.cursor < done.to ? this.#handOut() : null;
  }

  /**
   * For the cron: how far the object's cursor in the database must be at least, which is past each click that nobody is to come
   * for any more. Null where there is none.
   */
  async look(): Promise<{ epoch: string; last: number } | null> {
    const last = this.#store.takenBy(Date.now() - flushDelay(this.env) - GRACE);
    return last === 0 || this.#flushing !== null ? null : { epoch: this.#store.epoch, last };
  }

  /** For the cron: flushes here what is not in the database, whose cursor is given; null where it has none. */
  async catchUp(cursor: number | null): Promise<void> {
    if (cursor === null) this.#store.takeBack();
    else this.#store.flushed({ to: Infinity, cursor });
    this.#flushSoon();
  }

  /** The cron knows an object from its first flush on. Until then the alarm flushes what no Worker has flushed. */
  override async alarm(): Promise<void> {
    this.#store.takeBack();
    if (!(await this.#flush())) this.#arm(Date.now());
  }

  /** Everything that has gathered at once, so that it is in the same turn as a split. */
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
    // Should the storage fail, the platform breaks off every reply that waits for it and restarts the object.
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

  /** Stores what has gathered but for what the first object knows; nothing where that cannot be asked. */
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

  /** Whether the first object may know ids of clicks that come here. */
  #asksFirst(): boolean {
    const { splitAt } = this.#store;
    return (splitAt === null || Date.now() < splitAt + ASK_FOR) && firstOf(this.#name()) !== null;
  }

  /** Those of the ids that the first object knows. */
  async #learn(ids: readonly string[]): Promise<ReadonlySet<string>> {
    const name = firstOf(this.#name())!;
    const first = this.env.CLICKS.getByName(name, { locationHint: hintOf(name) });
    const report: Report = await inTime(ASK_TIMEOUT, "the object", first.knows(ids));
    if (report.split_at !== this.#store.splitAt) this.#store.split(report.split_at);
    return new Set(report.known);
  }

  /** Splits the region, unless the write of what has gathered does so. Returns when it was split. */
  #split(now: number): number {
    if (this.#gathered.length > 0) this.#writeGathered();
    if (this.#store.splitAt === null) this.#store.split(now);
    return this.#store.splitAt ?? now;
  }

  #isMuch(commits: number, now: number): boolean {
    const most = this.splitLoad;
    return this.#load.add(commits, now, most.within) >= most.commits || this.#store.ids >= most.ids;
  }

  /** Ms after which the caller of a commit is to come back and flush; null where it is not to. */
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
    // Few clicks of the longest may be more than one stretch.
    if (this.#store.left > 0) this.#flushSoon();
    const reports = stretch.to - stretch.known >= REPORTED_AFTER;
    return { ...stretch, object: this.#name(), epoch: this.#store.epoch, waiting, reports };
  }

  #flushSoon(delay = 0): void {
    if (this.#flushing === null) this.ctx.waitUntil(this.#flush(delay));
  }

  /** Flushes here, after `delay` ms, and says whether it succeeded; not for a while after it failed. Never rejects. */
  async #flush(delay = 0): Promise<boolean> {
    if (Date.now() < this.#pausesUntil) return false;
    return (this.#flushing ??= this.#flushAll(delay));
  }

  /** Everything that waits, and what comes meanwhile where that is much, or nobody was asked to come for it. */
  async #flushAll(delay: number): Promise<boolean> {
    try {
      await scheduler.wait(delay);
      for (let stretch = this.#store.next(); stretch !== null; stretch = this.#store.next()) {
        const began = Date.now();
        const own = { ...stretch, object: this.#name(), epoch: this.#store.epoch };
        const cursor = await bring(own, this.env, FLUSH_TIMEOUT);
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
      notFlushed(error, { object: this.ctx.id.name ?? this.ctx.id.toString(), waiting: this.#store.backlog.clicks });
      return false;
    } finally {
      this.#flushing = null;
    }
  }

  /** Not awaited by the write: the row of the first click and the alarm are atomic with each other. */
  #arm(now: number): void {
    void this.ctx.storage.setAlarm(now + MINUTE);
  }

  /** It says which database the clicks go to. Asked for in the same write as the first clicks, which keeps it with them. */
  #name(): string {
    return this.#store.nameFor(this.ctx.id.name);
  }
}

/** One of them is asked to flush, at most: what else the reply says is said to all. */
function answer(group: readonly Gathered[], reply: CommitReply): void {
  for (const [i, waiting] of group.entries()) waiting.reply(i === 0 || !reply.stored ? reply : STORED);
}

/** Ms until the next try after so many failures in a row: doubling, jittered so that objects do not come together. */
function backoff(failures: number): number {
  return Math.min(SECOND * 2 ** failures, MAX_BACKOFF) * (0.75 + Math.random() / 2);
}
