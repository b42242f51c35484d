/**
 * The Worker with meters at its bindings, on a clock and with chance of its own, so that a run counts the same every
 * time. `test/bench/year/measure.ts` builds it and talks to it under /measure; everything else reaches the service.
 */
import { arrivalOf, batchOf } from "../../src/clicks/batch.ts";
import { ClickCounter, DENSE, DENSE_DELAY } from "../../src/clicks/counter.ts";
import { flushDelay } from "../../src/clicks/flush-time.ts";
import { flushWaiting } from "../../src/clicks/flush.ts";
import { OBJECTS_PER_REGION } from "../../src/clicks/region.ts";
import { SPLIT_LOAD } from "../../src/clicks/split.ts";
import { SEEN_WINDOW } from "../../src/clicks/store.ts";
import { MAX_GAP, WAITING } from "../../src/core/clicks/roll-up.ts";
import type { Bindings } from "../../src/env.ts";
import worker from "../../src/index.ts";
import { HOUR, SECOND } from "../../src/lib/time.ts";
import { meterDatabase } from "./metered-database.ts";

/** The platform's billed counts. */
const tally = {
  requests: 0,
  d1_rows_read: 0,
  d1_rows_written: 0,
  do_requests: 0,
  do_rows_read: 0,
  do_rows_written: 0,
  queue_operations: 0,
  log_lines: 0,
};

for (const level of ["debug", "error", "info", "log", "warn"] as const) console[level] = () => void tally.log_lines++;

/** An operation of a queue is a message written, read or deleted. */
const OPERATIONS_PER_MESSAGE = 3;

let clock = Date.UTC(2026, 0, 5, 12);
Date.now = () => clock;

let seed = 1;
crypto.getRandomValues = <T extends ArrayBufferView | null>(array: T): T => {
  if (array) {
    const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
    for (let i = 0; i < bytes.length; i++) {
      seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
      bytes[i] = seed >>> 24;
    }
  }
  return array;
};

/** Alarms do not fire here: `bring` runs the alarm's work. */
class MeasuredCounter extends ClickCounter {
  constructor(state: DurableObjectState, env: Bindings) {
    meterStorage(state.storage);
    super(state, metered(env));
  }

  override async alarm(): Promise<void> {}

  /** Everything that waits, flushed by the object itself. */
  async bring(): Promise<void> {
    await super.alarm();
  }

  /** The object as the next call finds it is a new one, over the same storage. */
  async evict(): Promise<void> {
    await this.ctx.storage.sync();
    this.ctx.abort("evicted");
  }

  async bytes(): Promise<number> {
    return this.ctx.storage.sql.databaseSize;
  }
}
export { MeasuredCounter as ClickCounter };

/** A second, each alone in its commit: by commits, and by ids, of which each click has its own and that of its batch. */
function clicksOfOneObject(): number {
  return Math.min(SPLIT_LOAD.commits / SPLIT_LOAD.within, SPLIT_LOAD.ids / 2 / SEEN_WINDOW) * SECOND;
}

let made = 0;
/** Decides the next page, host and country. */
let source = 0;
const COUNTRIES = ["DE", "US", "FR"];

interface Commits {
  object: string;
  /** The clicks of each commit. */
  commits: { program_id: string; ref: string }[][];
  /** The same pages, hosts and countries as the earlier clicks. */
  isAgain?: boolean;
}

interface Flushes {
  object: string;
  rounds: Commits["commits"][];
  ms: number;
  evicted: boolean;
}

const controls: Record<string, (env: Bindings, input: never) => unknown> = {
  tally: () => {
    settleCursors();
    const read = { ...tally };
    for (const name of Object.keys(tally) as (keyof typeof tally)[]) tally[name] = 0;
    return read;
  },
  constants: () => ({
    flush_delay_ms: flushDelay({}),
    dense: { clicks: DENSE, delay_ms: DENSE_DELAY },
    shards: OBJECTS_PER_REGION,
    one_object_to: clicksOfOneObject(),
    roll_up: { clicks: WAITING, hours: MAX_GAP / HOUR },
    now: clock,
  }),
  advance: (_env, { ms }: { ms: number }) => ({ now: (clock += ms) }),
  commit: async (env, { object, commits, isAgain = false }: Commits) => {
    if (isAgain) source -= commits.flat().length;
    await commitAll(env, object, commits);
    return {};
  },
  /** Commits, and as much later their flush by the Worker, again and again; between all of them the object may be evicted. */
  flush: async (env, { object, rounds, ms, evicted }: Flushes) => {
    // It may keep the record of a requested flush that never came.
    await evict(env, object);
    for (const commits of rounds) {
      await commitAll(env, object, commits);
      clock += ms;
      if (evicted) await evict(env, object);
      await flushWaiting(counterOf(env, object), env);
      if (evicted) await evict(env, object);
    }
    return {};
  },
  bring: async (env, { object }: { object: string }) => {
    await counterOf(env, object).bring();
    return {};
  },
  stored: async (env, { object }: { object: string }) => ({ bytes: await counterOf(env, object).bytes() }),
  sql: async (env, { sql }: { sql: string }) => {
    const { results, meta } = await env.DB.prepare(sql).all();
    return { results, rows_written: meta.rows_written };
  },
};

async function commitAll(env: Bindings, object: string, commits: Commits["commits"]): Promise<void> {
  for (const clicks of commits) {
    const arrivals = clicks.map(({ program_id, ref }) => {
      const n = source++;
      const landing = `/pricing/plans-${n % 90}`;
      const referrer = `https://www.example-${n % 900}.org/blog/article-${n % 7}`;
      return arrivalOf({ program_id, ref, landing, referrer, id: `0.${1e12 + made++}` }, clock, COUNTRIES[n % 3]);
    });
    const reply = await counterOf(env, object).commit(batchOf(arrivals, `batch-${1e9 + made++}`));
    if (!reply.stored) throw new Error("a commit was refused");
  }
}

/** The platform would not bill this call. */
async function evict(env: Bindings, object: string): Promise<void> {
  settleCursors();
  await counterOf(env, object)
    .evict()
    .catch(() => {});
  tally.do_requests--;
}

function counterOf(env: Bindings, object: string): MeasuredCounter {
  return env.CLICKS.getByName(object) as unknown as MeasuredCounter;
}

export default {
  async fetch(request, env, execution) {
    const control = /^\/measure\/(\w+)$/.exec(new URL(request.url).pathname)?.[1];
    if (control !== undefined) {
      const text = await request.text();
      const run = controls[control];
      if (!run) return new Response(null, { status: 404 });
      const used = control === "sql" ? env : metered(env);
      return Response.json(await run(used, (text === "" ? {} : JSON.parse(text)) as never));
    }
    tally.requests++;
    return worker.fetch(request, metered(env), execution);
  },
  async queue(batch, env, execution) {
    tally.requests++;
    await worker.queue(batch, metered(env), execution);
  },
  async scheduled(event, env, execution) {
    tally.requests++;
    await worker.scheduled(event, metered(env), execution);
  },
} satisfies ExportedHandler<Bindings>;

const limiter = { limit: async () => ({ success: true }) };

function metered(env: Bindings): Bindings {
  return {
    ...env,
    DB: meterDatabase(env.DB, ({ rows_read, rows_written }) => {
      tally.d1_rows_read += rows_read;
      tally.d1_rows_written += rows_written;
    }),
    CLICKS: meterObjects(env.CLICKS),
    DELIVERIES: meterQueue(env.DELIVERIES),
    RATE_LIMIT_API: limiter,
    RATE_LIMIT_FAILED_AUTH: limiter,
    RATE_LIMIT_FAILED_AUTH_SITE: limiter,
    RATE_LIMIT_CLICK: limiter,
    RATE_LIMIT_CLICK_SITE: limiter,
    RATE_LIMIT_CLICK_DETAIL: limiter,
    RATE_LIMIT_CLICK_DETAIL_SITE: limiter,
    RATE_LIMIT_SIGN_IN: limiter,
    RATE_LIMIT_SIGN_IN_SITE: limiter,
  };
}

function meterObjects(namespace: Bindings["CLICKS"]): Bindings["CLICKS"] {
  const getByName: Bindings["CLICKS"]["getByName"] = (...args) =>
    new Proxy(namespace.getByName(...args), {
      get(stub, name) {
        const method = Reflect.get(stub, name) as (...values: unknown[]) => unknown;
        return (...values: unknown[]) => {
          tally.do_requests++;
          return Reflect.apply(method, stub, values);
        };
      },
    });
  return { getByName } as Bindings["CLICKS"];
}

function meterQueue(queue: Bindings["DELIVERIES"]): Bindings["DELIVERIES"] {
  return {
    sendBatch: async (messages: Iterable<MessageSendRequest>) => {
      const list = [...messages];
      tally.queue_operations += list.length * OPERATIONS_PER_MESSAGE;
      return queue.sendBatch(list);
    },
  } as unknown as Bindings["DELIVERIES"];
}

let cursors: SqlStorageCursor<Record<string, SqlStorageValue>>[] = [];

/** The rows read by a cursor are known only after it has been read. */
function settleCursors(): void {
  for (const cursor of cursors) {
    tally.do_rows_read += cursor.rowsRead;
    tally.do_rows_written += cursor.rowsWritten;
  }
  cursors = [];
}

let isMetered = false;

/** The storage of all objects at once: their methods are in shared prototypes. An alarm that is set is a row written. */
function meterStorage(storage: DurableObjectStorage): void {
  if (isMetered) return;
  isMetered = true;
  const sql = Object.getPrototypeOf(storage.sql) as SqlStorage;
  const { exec } = sql;
  sql.exec = function metered<T extends Record<string, SqlStorageValue>>(
    this: SqlStorage,
    query: string,
    ...bindings: unknown[]
  ): SqlStorageCursor<T> {
    const cursor = Reflect.apply(exec, this, [query, ...bindings]) as SqlStorageCursor<T>;
    cursors.push(cursor);
    return cursor;
  } as SqlStorage["exec"];
  const methods = Object.getPrototypeOf(storage) as DurableObjectStorage;
  const { setAlarm } = methods;
  methods.setAlarm = function metered(this: DurableObjectStorage, ...args: Parameters<typeof setAlarm>) {
    tally.do_rows_written++;
    return Reflect.apply(setAlarm, this, args);
  };
}
