/** The database between the Worker and D1: counts the round trips, fails if the test requests it. */
import { createExecutionContext, env, waitOnExecutionContext } from "cloudflare:test";
import { app } from "../../src/app.ts";
import type { Bindings } from "../../src/env.ts";
import { BASE_URL, initOf, replyTo, type ApiRequest, type Reply, type TestProgram } from "./program.ts";

export interface SentStatement {
  sql: string;
  values: unknown[];
}

export interface WatchedDatabase {
  binding: D1Database;
  /** The statements of every round trip, in order. */
  roundTrips: SentStatement[][];
}

export interface Faults {
  /** Runs before each round trip is sent, with its statements. */
  before?: (statements: string[]) => Promise<void> | void;
  /** Runs once the call is carried out, before its answer arrives. */
  after?: () => void;
  /** A statement to put into a batch at this position, or null to leave the batch as it is. */
  inject?: (statements: string[]) => { at: number; sql: string } | null;
}

export function watchDatabase(database: D1Database, faults: Faults = {}): WatchedDatabase {
  const roundTrips: SentStatement[][] = [];
  const watched = new WeakMap<object, { statement: D1PreparedStatement; sent: SentStatement }>();
  const send = async (statements: SentStatement[]) => {
    roundTrips.push(statements);
    await faults.before?.(statements.map(({ sql }) => sql));
  };
  const watchStatement = (statement: D1PreparedStatement, sent: SentStatement): D1PreparedStatement => {
    const proxy = new Proxy(statement, {
      get(target, name) {
        if (name === "bind") {
          return (...values: unknown[]) => watchStatement(target.bind(...values), { sql: sent.sql, values });
        }
        const member: unknown = Reflect.get(target, name);
        if (typeof member !== "function") return member;
        const call = (...args: unknown[]): unknown => Reflect.apply(member, target, args);
        if (!["run", "all", "first", "raw"].includes(String(name))) return call;
        return async (...args: unknown[]) => {
          await send([sent]);
          const answer = await call(...args);
          faults.after?.();
          return answer;
        };
      },
    });
    watched.set(proxy, { statement, sent });
    return proxy;
  };
  const batch = async (statements: D1PreparedStatement[]) => {
    const parts = statements.map((statement) => watched.get(statement) ?? { statement, sent: { sql: "", values: [] } });
    await send(parts.map(({ sent }) => sent));
    const plain = parts.map(({ statement }) => statement);
    const fault = faults.inject?.(parts.map(({ sent }) => sent.sql));
    if (fault) plain.splice(fault.at, 0, database.prepare(fault.sql));
    const answers = await database.batch(plain);
    faults.after?.();
    return answers;
  };
  const binding = new Proxy(database, {
    get(target, name) {
      if (name === "prepare") return (sql: string) => watchStatement(target.prepare(sql), { sql, values: [] });
      if (name === "batch") return batch;
      const member: unknown = Reflect.get(target, name);
      return typeof member === "function"
        ? (...args: unknown[]): unknown => Reflect.apply(member, target, args)
        : member;
    },
  });
  return { binding, roundTrips };
}

/** Drops wake-ups, so that a test decides when deliveries run. */
export const SILENT_QUEUE = { sendBatch: async () => ({}) } as unknown as Bindings["DELIVERIES"];

/** Calls the app with other bindings than the deployment's, or at another address; waits for its background work. */
export async function callWith<T = Record<string, unknown>>(
  bindings: Partial<Bindings>,
  path: string,
  init: RequestInit = {},
  base = BASE_URL,
): Promise<Reply<T>> {
  const context = createExecutionContext();
  const request = new Request(`${base}${path}`, init);
  const response = await app.fetch(
    request,
    { ...(env as unknown as Bindings), DELIVERIES: SILENT_QUEUE, ...bindings },
    context,
  );
  const reply = await replyTo<T>(request, response);
  await waitOnExecutionContext(context);
  return reply;
}

/** Calls the API with the program's key, in a deployment with these bindings. */
export function callApiWith<T = Record<string, unknown>>(
  bindings: Partial<Bindings>,
  { api_key }: Pick<TestProgram, "api_key">,
  ...request: ApiRequest
): Promise<Reply<T>> {
  return callWith<T>(bindings, request[1], initOf(api_key, ...request));
}
