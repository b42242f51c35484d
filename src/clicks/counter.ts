import { DurableObject } from "cloudflare:workers";
import { flushClicks, registerClickObject } from "../core/clicks/clicks.ts";
import type { DatabaseBindings } from "../core/kernel/database.ts";
import type { Arrival } from "../domain/click.ts";
import { EXPIRED, startDeadline } from "../lib/deadline.ts";
import { logLine, reasonOf } from "../lib/log.ts";
import { MINUTE, SECOND } from "../lib/time.ts";
import type { Bindings } from "../env.ts";
import { idsOf, type ClickBatch, type CommitReply } from "./batch.ts";
import { flushDelay, type FlushOptions } from "./flush-time.ts";
import { firstOf, hintOf, isFirst } from "./region.ts";
import { ASK_FOR, isUnknownMethod, Load, SPLIT_LOAD, YOUNG_FOR } from "./split.ts";
import { ClickStore, type Stretch } from "./store.ts";

type ClickBindings = DatabaseBindings & FlushOptions & Pick<Bindings, "CLICKS">;

/** What may wait for the flush before the object refuses, as `ClickStore.backlog`: storage, and time to catch up. */
export const MAX_BACKLOG = { clicks: 2_000_000, length: 1_000_000_000 };
/** UTF-16 units of entries that may wait for the commit in flight: memory. */
const MAX_GATHERED = 16_000_000;
/** Where so many clicks wait, they are flushed after `DENSE_DELAY`, and not as late as those that are few. */
export const DENSE = 200;
export const DENSE_DELAY = SECOND;
const MAX_BACKOFF = MINUTE;
/** One alarm works no longer than this before it arms the next. */
const FLUSH_BUDGET = 20 * SECOND;
/**
 * Between two stretches the database is left to others for this many times as long as the last one took: it does one
 * thing at a time, and many objects may be behind at once. So a burst is taken at full speed and written later.
 */
const REST = 2;
const FLUSH_TIMEOUT = 30 * SECOND;
/** Of a call to another object of the region: less than the sender waits for all of it. */
const ASK_TIMEOUT = 3 * SECOND;
/** An alarm this late has been forgotten. */
const OVERDUE = 30 * SECOND;
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
 * `commit` answers when its batch is durable here. The alarm, armed in the same write as the first click, flushes in
 * stretches (`core/clicks/clicks.ts`) until nothing is left; what fails stays and is tried again, later each time.
 *
 * The first object of a region takes all of its clicks (`take`) until they are many; then it splits the region, once and
 * for good, and each object takes those of its own data centers. A split comes in the turn that stores all that has
 * gathered, and no reply leaves before it is safe: so what the first object does not know after it, it never takes. The
 * others ask it about each batch for as long as a repetition may be of a click from before (`knows`).
 */
export class ClickCounter extends DurableObject<ClickBindings> {
  readonly #store: ClickStore;
  readonly #load = new Load();
  #gathered: Gathered[] = [];
  #gatheredLength = 0;
  /** A write is on its way, or a question to the first object. */
  #busy = false;
  #flushing = false;
  #alarmAt: number | null = null;
  #failures = 0;
  backlogLimit = MAX_BACKLOG;
  splitLoad = SPLIT_LOAD;

  constructor(state: DurableObjectState, env: ClickBindings) {
    super(state, env);
    this.#store = new ClickStore(state.storage, Date.now());
    void state.blockConcurrencyWhile(async () => {
      this.#alarmAt = await state.storage.getAlarm();
    });
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

  /** As `commit`, of the first object of a region for another one, `own`, while the region is not split. */
  async take(batch: ClickBatch, own: string): Promise<CommitReply> {
    if (this.#splitAt() === null && Date.now() < (this.#store.madeAt ?? Infinity) + YOUNG_FOR) {
      try {
        if (await this.#hasTaken(own)) this.#split();
      } catch (error) {
        logLine("error", { what: "click object not asked", object: own, reason: reasonOf(error) });
        return NOT_STORED;
      }
    }
    return this.#splitAt() === null ? this.commit(batch) : { stored: false, reason: "moved" };
  }

  /** Whether this object ever took a click. */
  async hasTaken(): Promise<boolean> {
    return !this.#store.isNew;
  }

  /**
   * Which of the ids, as of `idsOf`, this first object of a region took. Who asks takes clicks, so the region is split now
   * if it was not.
   */
  async knows(ids: readonly string[]): Promise<Report> {
    if (this.#splitAt() === null) this.#split();
    const now = Date.now();
    return { split_at: this.#splitAt() ?? now, known: ids.filter((id) => this.#store.knows(id, now)) };
  }

  /**
   * For the cron: arms the alarm where clicks wait and none is due. Says how many wait. Where a version took clicks that
   * knows nothing of splits, the first object of the region learns of it now.
   */
  async ensureAlarm(): Promise<{ waiting: number }> {
    const now = Date.now();
    this.#store.forget(now);
    const waiting = this.#store.backlog.clicks;
    if (waiting > 0 && !this.#flushing) {
      this.#alarmAt = await this.ctx.storage.getAlarm();
      if (this.#alarmAt === null || this.#alarmAt < now - OVERDUE) this.#arm(now + DENSE_DELAY);
    }
    if (!this.#store.isNew && this.#store.splitAt === null && this.#asksFirst()) await this.#learn([]);
    return { waiting };
  }

  override async alarm(): Promise<void> {
    this.#flushing = true;
    try {
      await this.#flush(Date.now() + FLUSH_BUDGET);
      this.#failures = 0;
    } catch (error) {
      this.#failures++;
      logLine("error", {
        what: "clicks not flushed",
        object: this.ctx.id.name ?? this.ctx.id.toString(),
        waiting: this.#store.backlog.clicks,
        failures: this.#failures,
        reason: reasonOf(error),
      });
    } finally {
      this.#flushing = false;
      this.#alarmAt = null;
      // Never rethrown: the platform gives an alarm up after six failures, so it is set again instead.
      if (this.#store.backlog.clicks > 0) {
        this.#arm(Date.now() + (this.#failures > 0 ? backoff(this.#failures) : this.#untilFlush()));
      }
    }
  }

  /** Everything that has gathered at once, so that it is in the same turn as a split. */
  #write(batches: readonly ClickBatch[], elsewhere?: ReadonlySet<string>): CommitReply {
    try {
      const first = this.#store.isNew;
      const now = Date.now();
      this.#store.add(batches, now, elsewhere);
      if (isFirst(this.#name()) && this.#splitAt() === null && this.#isMuch(batches.length, now)) {
        this.#store.split(now, now);
      }
      const due = Date.now() + this.#untilFlush();
      const isSooner = this.#alarmAt === null || (this.#failures === 0 && this.#alarmAt > due);
      if (!this.#flushing && isSooner) this.#arm(due);
      if (first) this.ctx.waitUntil(this.#register());
    } catch (error) {
      logLine("error", { what: "clicks not stored", reason: reasonOf(error) });
      return NOT_STORED;
    }
    this.#busy = true;
    // Should the storage fail, the platform breaks off every reply that waits for it and restarts the object.
    this.ctx.storage.sync().then(this.#goOn, this.#goOn);
    return { stored: true };
  }

  readonly #goOn = (): void => {
    this.#busy = false;
    if (this.#gathered.length === 0) return;
    if (this.#asksFirst()) void this.#ask();
    else this.#writeGathered();
  };

  #writeGathered(): void {
    const group = this.#takeGathered();
    const reply = this.#write(group.map(({ batch }) => batch));
    for (const waiting of group) waiting.reply(reply);
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
    for (const waiting of group) waiting.reply(reply);
    if (!reply.stored) this.#goOn();
  }

  /** Whether the first object may know ids of clicks that come here. */
  #asksFirst(): boolean {
    const { splitAt } = this.#store;
    return (splitAt === null || Date.now() < splitAt + ASK_FOR) && firstOf(this.#name()) !== null;
  }

  /** Those of the ids that the first object knows. One of a version before never took a click of another. */
  async #learn(ids: readonly string[]): Promise<ReadonlySet<string>> {
    const report = await this.#call(
      firstOf(this.#name())!,
      async (first): Promise<Report | null> => first.knows(ids),
      null,
    );
    if (report === null) return new Set();
    if (report.split_at !== this.#store.splitAt) this.#store.split(report.split_at, Date.now());
    return new Set(report.known);
  }

  /** One of a version before may have taken a click, or does before it hears of this one. */
  #hasTaken(other: string): Promise<boolean> {
    return this.#call(other, async (object) => object.hasTaken(), true);
  }

  /** Calls another object, or gives `before` where that runs a version that does not know the method. */
  async #call<T>(name: string, call: (other: DurableObjectStub<ClickCounter>) => Promise<T>, before: T): Promise<T> {
    const deadline = startDeadline(ASK_TIMEOUT);
    try {
      const answer = await deadline.race(call(this.env.CLICKS.getByName(name, { locationHint: hintOf(name) })));
      if (answer === EXPIRED) throw new Error("the object took too long");
      return answer;
    } catch (error) {
      if (isUnknownMethod(error)) return before;
      throw error;
    } finally {
      deadline.clear();
    }
  }

  /** Of a first object: when its region was split; null where it is not. One from a version before always was. */
  #splitAt(): number | null {
    const { isNew, madeAt, splitAt } = this.#store;
    return !isNew && madeAt === null ? 0 : splitAt;
  }

  #split(): void {
    if (this.#gathered.length > 0) this.#writeGathered();
    const now = Date.now();
    if (this.#splitAt() === null) this.#store.split(this.#store.isNew ? 0 : now, now);
  }

  #isMuch(commits: number, now: number): boolean {
    const most = this.splitLoad;
    return this.#load.add(commits, now, most.within) >= most.commits || this.#store.ids >= most.ids;
  }

  #untilFlush(): number {
    return this.#store.backlog.clicks < DENSE ? flushDelay(this.env) : DENSE_DELAY;
  }

  /** Not awaited by the write: the same row and alarm that hold the clicks are atomic with each other. */
  #arm(at: number): void {
    this.#alarmAt = at;
    void this.ctx.storage.setAlarm(at);
  }

  /** Everything that waits now, and what has come meanwhile where that is much; few wait for the next flush. */
  async #flush(until: number): Promise<void> {
    let last: number | null = null;
    for (let stretch = this.#store.next(); stretch !== null; stretch = this.#store.next()) {
      last ??= stretch.from + this.#store.backlog.clicks;
      const began = Date.now();
      const cursor = await this.#send(stretch);
      const ended = Date.now();
      this.#store.flushed(cursor, ended);
      const waiting = this.#store.backlog.clicks;
      if (ended >= until || waiting === 0 || (cursor >= last && waiting < DENSE)) return;
      await scheduler.wait(Math.min((ended - began) * REST, SECOND));
    }
  }

  /** A call that takes too long is given up: if it still ends well, the cursor in the database says so. */
  async #send({ from, to, entries }: Stretch): Promise<number> {
    const deadline = startDeadline(FLUSH_TIMEOUT);
    try {
      const { epoch } = this.#store;
      const arrivals = JSON.parse(`[${entries}]`) as Arrival[];
      const flush = { object: this.#name(), epoch, from, to, arrivals, now: Date.now() };
      const cursor = await deadline.race(flushClicks(this.env, flush));
      if (cursor === EXPIRED) throw new Error("the database took too long");
      return cursor;
    } finally {
      deadline.clear();
    }
  }

  /** Early, so that the cron knows the object even when its first alarm is lost; the first flush does it otherwise. */
  async #register(): Promise<void> {
    try {
      const { epoch } = this.#store;
      await registerClickObject(this.env, { object: this.#name(), epoch, from: 0, now: Date.now() });
    } catch (error) {
      logLine("error", { what: "click object not registered", reason: reasonOf(error) });
    }
  }

  /** It says which database the clicks go to. Asked for in the same write as the first clicks, which keeps it with them. */
  #name(): string {
    return this.#store.nameFor(this.ctx.id.name);
  }
}

/** Ms until the next try after so many failures in a row: doubling, jittered so that objects do not come together. */
function backoff(failures: number): number {
  return Math.min(SECOND * 2 ** failures, MAX_BACKOFF) * (0.75 + Math.random() / 2);
}
