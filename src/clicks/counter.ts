import { DurableObject } from "cloudflare:workers";
import { flushClicks, registerClickObject } from "../core/clicks/clicks.ts";
import type { DatabaseBindings } from "../core/kernel/database.ts";
import type { Arrival } from "../domain/click.ts";
import { EXPIRED, startDeadline } from "../lib/deadline.ts";
import { logLine, reasonOf } from "../lib/log.ts";
import { MINUTE, SECOND } from "../lib/time.ts";
import type { ClickBatch, CommitReply } from "./batch.ts";
import { flushDelay, type FlushOptions } from "./flush-time.ts";
import { ClickStore, type Stretch } from "./store.ts";

type ClickBindings = DatabaseBindings & FlushOptions;

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
/** An alarm this late has been forgotten. */
const OVERDUE = 30 * SECOND;

/**
 * Takes clicks near the visitor and brings them to the database, each exactly once.
 *
 * `commit` answers when its batch is durable here. The alarm, armed in the same write as the first click, flushes in
 * stretches (`core/clicks/clicks.ts`) until nothing is left; what fails stays and is tried again, later each time.
 */
export class ClickCounter extends DurableObject<ClickBindings> {
  readonly #store: ClickStore;
  #gathered: { batch: ClickBatch; reply: (reply: CommitReply) => void }[] = [];
  #gatheredLength = 0;
  #writing = false;
  #flushing = false;
  #alarmAt: number | null = null;
  #failures = 0;
  backlogLimit = MAX_BACKLOG;

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
    if (!this.#writing) return this.#write([batch]);
    const { promise, resolve } = Promise.withResolvers<CommitReply>();
    this.#gathered.push({ batch, reply: resolve });
    this.#gatheredLength += batch.entries.length;
    return promise;
  }

  /** For the cron: arms the alarm where clicks wait and none is due. Says how many wait. */
  async ensureAlarm(): Promise<{ waiting: number }> {
    const now = Date.now();
    this.#store.forget(now);
    const waiting = this.#store.backlog.clicks;
    if (waiting > 0 && !this.#flushing) {
      this.#alarmAt = await this.ctx.storage.getAlarm();
      if (this.#alarmAt === null || this.#alarmAt < now - OVERDUE) this.#arm(now + DENSE_DELAY);
    }
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

  #write(batches: readonly ClickBatch[]): CommitReply {
    try {
      const first = this.#store.isNew;
      this.#store.add(batches, Date.now());
      const due = Date.now() + this.#untilFlush();
      const isSooner = this.#alarmAt === null || (this.#failures === 0 && this.#alarmAt > due);
      if (!this.#flushing && isSooner) this.#arm(due);
      if (first) this.ctx.waitUntil(this.#register());
    } catch (error) {
      logLine("error", { what: "clicks not stored", reason: reasonOf(error) });
      return { stored: false, reason: "storage" };
    }
    this.#writing = true;
    // Should the storage fail, the platform breaks off every reply that waits for it and restarts the object.
    this.ctx.storage.sync().then(this.#written, this.#written);
    return { stored: true };
  }

  readonly #written = (): void => {
    this.#writing = false;
    if (this.#gathered.length === 0) return;
    const group = this.#gathered;
    this.#gathered = [];
    this.#gatheredLength = 0;
    const reply = this.#write(group.map(({ batch }) => batch));
    for (const waiting of group) waiting.reply(reply);
  };

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
