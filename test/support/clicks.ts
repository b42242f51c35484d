/** The click path as a deployment runs it, and its stored results. */
import { createExecutionContext, runInDurableObject, waitOnExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { Hono } from "hono";
import { expect, vi } from "vitest";
import type { ClickBatch, CommitReply } from "../../src/clicks/batch.ts";
import type { ClickCounter } from "../../src/clicks/counter.ts";
import { flushWaiting } from "../../src/clicks/flush.ts";
import { clickObject, hintOf } from "../../src/clicks/region.ts";
import { readCursors } from "../../src/core/clicks/clicks.ts";
import { databaseFor } from "../../src/core/kernel/database.ts";
import { shardOfClickObject } from "../../src/domain/shard.ts";
import type { AppEnv, Bindings } from "../../src/env.ts";
import { renderError } from "../../src/http/errors.ts";
import { track } from "../../src/http/track.ts";
import { DAY } from "../../src/lib/time.ts";
import { replyTo, type Reply } from "./program.ts";
import { eventually } from "./time.ts";
import { LEFT_TO_ROLL_UP } from "./left-to-roll-up.ts";

export const VISITOR =
  "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36";

const app = new Hono<AppEnv>().route("/", track);
app.onError(renderError);

/** The object that counts a request without `cf`. */
export const HERE = clickObject(undefined).name;

interface VisitOptions extends RequestInit {
  env?: Partial<Bindings>;
}

/** Click objects that do not request a flush: the test flushes (`flush`, `recorded`). */
export function held(CLICKS: Bindings["CLICKS"] = env.CLICKS): Bindings["CLICKS"] {
  const unasked = async (reply: Promise<CommitReply>): Promise<CommitReply> => {
    const { stored, ...more } = await reply;
    return stored ? { stored } : ({ stored, ...more } as CommitReply);
  };
  const getByName: Bindings["CLICKS"]["getByName"] = (...named) => {
    const stub = CLICKS.getByName(...named);
    return {
      commit: (batch: ClickBatch) => unasked(stub.commit(batch)),
      take: (batch: ClickBatch) => unasked(stub.take(batch)),
    } as unknown as typeof stub;
  };
  return { getByName } as Bindings["CLICKS"];
}

/** One request to the tracking routes, awaited to its end. Only the test flushes its click. */
export async function visit<T = string>(
  path: string,
  { env: bindings, ...init }: VisitOptions = {},
): Promise<Reply<T>> {
  const context = createExecutionContext();
  const headers = new Headers(init.headers);
  if (!headers.has("user-agent")) headers.set("user-agent", VISITOR);
  const request = new Request(`https://service.example${path}`, { redirect: "manual", ...init, headers });
  const CLICKS = held(bindings?.CLICKS);
  const response = await app.fetch(request, { ...env, RATE_LIMIT_CLICK: undefined, ...bindings, CLICKS }, context);
  const reply = await replyTo<T>(request, response);
  await waitOnExecutionContext(context);
  return reply;
}

export function click(
  body: unknown,
  headers: HeadersInit = {},
  cf?: CfProperties,
): Promise<Reply<{ error: { code: string; details: { path: string }[] } }>> {
  return visit("/click", {
    method: "POST",
    headers: { "content-type": "text/plain;charset=UTF-8", ...headers },
    ...(cf === undefined ? {} : { cf }),
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
}

export function clickStub(name: string = HERE): DurableObjectStub<ClickCounter> {
  return env.CLICKS.getByName(name, { locationHint: hintOf(name) });
}

/**
 * Holds the clock a day ahead, until `vi.useRealTimers()`: a requested flush is on time, and only the test fires alarms,
 * however long it takes.
 */
export function holdTime(): void {
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + DAY });
}

/** Flushes an object as the requested flush does, into other databases if given; false if there were no clicks. */
export async function flush(name: string = HERE, databases: Partial<Bindings> = {}): Promise<boolean> {
  let isGiven = false;
  const stub = clickStub(name);
  const waiting = async () => {
    const handed = await stub.waiting();
    isGiven ||= handed !== null;
    return handed;
  };
  await flushWaiting({ waiting, flushed: async (done) => stub.flushed(done) }, { ...env, ...databases });
  return isGiven;
}

/** How many clicks of an object are not in its database. */
export async function unflushed(name: string = HERE): Promise<number> {
  const object = await runInDurableObject(clickStub(name), (_, { storage: { sql } }) => {
    if (sql.exec("select 1 from sqlite_master where name = 'object'").toArray().length === 0) return null;
    return sql
      .exec<{ epoch: string; last: number }>(
        "select epoch, coalesce((select max(last) from batches), 0) as last from object",
      )
      .one();
  });
  if (object === null) return 0;
  const cursors = await readCursors(databaseFor(env, shardOfClickObject(name)), [object.epoch]);
  return object.last - (cursors.get(object.epoch) ?? 0);
}

/** Waits until the clicks of an object are recorded, by any flush. */
export async function recorded(name: string = HERE): Promise<void> {
  await flush(name);
  await eventually(async () => expect(await unflushed(name)).toBe(0));
}

export interface ClickRow {
  id: string;
  type: string;
  created_at: string;
  payload: { ref: string; landing: string; referrer: string; partner_id: string; sub?: string; country?: string };
}

export async function clicksOf(program_id: string): Promise<ClickRow[]> {
  const { results } = await env.DB.prepare(
    "select id, type, created_at, payload from events where program_id = ? and type = 'click' order by id",
  )
    .bind(program_id)
    .all<Omit<ClickRow, "payload"> & { payload: string }>();
  return results.map((row) => ({ ...row, payload: JSON.parse(row.payload) as ClickRow["payload"] }));
}

export interface ClickCounts {
  rows: number;
  /** Sum of `event_counts` of type click, and the clicks that are left to the roll-up. */
  events: number;
  /** Sum of `click_counts` by partner, and the same. */
  partners: Record<string, number>;
  drops: Record<string, number>;
}

export async function countsOf(program_id: string): Promise<ClickCounts> {
  const [rows, events, partners, drops] = await env.DB.batch<{ name: string; count: number }>(
    [
      "select '' as name, count(*) as count from events where program_id = ? and type = 'click'",
      `select '' as name, sum(count) as count from (
        select coalesce(sum(count), 0) as count from event_counts where program_id = ?1 and type = 'click'
        union all select count(*) from ${LEFT_TO_ROLL_UP} e where e.program_id = ?1)`,
      `select name, sum(count) as count from (
        select partner_id as name, count from click_counts where program_id = ?1
        union all select e.payload ->> 'partner_id', 1 from ${LEFT_TO_ROLL_UP} e where e.program_id = ?1) group by 1`,
      "select reason as name, sum(count) as count from click_drops where program_id = ? group by 1",
    ].map((statement) => env.DB.prepare(statement).bind(program_id)),
  );
  const named = (result: typeof rows) =>
    Object.fromEntries((result?.results ?? []).map(({ name, count }) => [name, count]));
  return {
    rows: rows?.results[0]?.count ?? -1,
    events: events?.results[0]?.count ?? -1,
    partners: named(partners),
    drops: named(drops),
  };
}

/** `down`: calls do not reach the database. `lost`: the database does its work and the reply is lost. */
export type Fault = "down" | "lost" | null;

export interface FaultyDatabase {
  binding: D1Database;
  fault: Fault;
  /** Runs before a batch is sent. */
  before: (() => Promise<void>) | null;
  rowsRead: number;
  rowsWritten: number;
  batches: number;
  /** Batches that failed in the database. */
  refused: number;
}

/** The database behind a network: it may be away, and it may not answer. */
export function faultyDatabase(database: D1Database = env.DB): FaultyDatabase {
  const faulty: FaultyDatabase = {
    binding: database,
    fault: null,
    before: null,
    rowsRead: 0,
    rowsWritten: 0,
    batches: 0,
    refused: 0,
  };
  const prepare = (query: string) => {
    if (faulty.fault === "down") throw new Error("the database is away");
    return database.prepare(query);
  };
  const batch = async (statements: D1PreparedStatement[]) => {
    await faulty.before?.();
    if (faulty.fault === "down") throw new Error("the database is away");
    const results = await database.batch(statements).catch((error: unknown) => {
      faulty.refused++;
      throw error;
    });
    faulty.batches++;
    for (const { meta } of results) {
      faulty.rowsRead += meta.rows_read;
      faulty.rowsWritten += meta.rows_written;
    }
    if (faulty.fault === "lost") throw new Error("the reply is lost");
    return results;
  };
  faulty.binding = new Proxy(database, {
    get(target, name) {
      if (name === "prepare") return prepare;
      if (name === "batch") return batch;
      return Reflect.get(target, name) as unknown;
    },
  });
  return faulty;
}

/** Puts another database under an object, until it is evicted. */
export async function connect(database: D1Database, name: string = HERE): Promise<void> {
  await equip({ DB: database }, name);
}

/** Gives an object other bindings, beside those that it has, until it is evicted. */
export async function equip(bindings: Partial<Bindings>, name: string = HERE): Promise<void> {
  await runInDurableObject(clickStub(name), (object) => {
    const before = Reflect.get(object, "env") as Partial<Bindings>;
    Object.assign(object, { env: { ...before, ...bindings } });
  });
}
