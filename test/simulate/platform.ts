/**
 * `cloudflare:workers` and `cloudflare:test` for suites that run the service in Node: D1 is SQLite in this process, which
 * `stand-in.test.ts` compares with D1. Rate limits are not bound, and no alarm rings.
 */
import { expect, inject } from "vitest";
import { addByteReader } from "../../src/dev/stand-in/byte-reader.ts";
import { PlayedObjects } from "../../src/dev/stand-in/click-objects.ts";
import { PlayedDatabase } from "../../src/dev/stand-in/database.ts";
import { migrations } from "./deployment.ts";
import { computeAtOnce } from "./synchronous-crypto.ts";

declare module "vitest" {
  interface ProvidedContext {
    bindings: Record<string, string>;
    furtherDatabases: [suite: string, count: number][];
  }
}

/** A variable: the types of the Worker and of Node exclude each other. */
const SERVICE = "../../src/index.ts";

interface Service {
  default: { fetch(request: Request, env: object, execution: Work): Promise<Response> };
  ClickCounter: new (state: object, env: object) => never;
}

// Loaded late, because the service imports this module.
const loadService = async () => (await import(/* @vite-ignore */ SERVICE)) as Service;

export class DurableObject {
  readonly ctx: unknown;
  readonly env: unknown;

  constructor(ctx: unknown, env: unknown) {
    this.ctx = ctx;
    this.env = env;
  }
}

type Binding = PlayedDatabase["binding"];

interface Work {
  waitUntil(work: Promise<unknown>): void;
}

addByteReader();
computeAtOnce();

const put = (name: string, value: unknown) =>
  Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });

put("scheduler", { wait: async (ms: number) => new Promise((resolve) => void setTimeout(resolve, ms)) });
// The Workers runtime does not read `process.env`, and keeps it.
put(
  "Request",
  class extends Request {
    readonly cf: unknown;

    constructor(input: RequestInfo | URL, init?: RequestInit & { cf?: unknown }) {
      super(input, { duplex: "half", ...init } as RequestInit);
      this.cf = init?.cf ?? (input as { cf?: unknown }).cf;
    }
  },
);

/** One object for all files: the service and the tests use it as a key. */
class Database implements Binding {
  private played: PlayedDatabase | null = null;

  private get binding(): Binding {
    this.played ??= new PlayedDatabase(migrations, async (call) => call(), null);
    return this.played.binding;
  }

  prepare(sql: string) {
    return this.binding.prepare(sql);
  }

  async batch(...given: Parameters<Binding["batch"]>) {
    return this.binding.batch(...given);
  }

  withSession() {
    return this.binding.withSession();
  }

  async exec(sql: string): Promise<void> {
    await this.binding.prepare(sql).run();
  }

  reset(): void {
    this.played?.close();
    this.played = null;
  }
}

/** A bucket of R2. */
class Bucket {
  readonly #objects = new Map<string, Uint8Array<ArrayBuffer>>();

  async put(key: string, bytes: ArrayBuffer | Uint8Array<ArrayBuffer>): Promise<void> {
    this.#objects.set(key, new Uint8Array(bytes));
  }

  async head(key: string) {
    const bytes = this.#objects.get(key);
    return bytes ? { key, size: bytes.byteLength } : null;
  }

  async get(key: string) {
    const bytes = this.#objects.get(key);
    return bytes ? { key, size: bytes.byteLength, body: new Blob([bytes]).stream() } : null;
  }

  async list({ prefix = "" } = {}) {
    return { objects: [...this.#objects.keys()].filter((key) => key.startsWith(prefix)).map((key) => ({ key })) };
  }

  async delete(key: string): Promise<void> {
    this.#objects.delete(key);
  }
}

let ClickCounter: Service["ClickCounter"];
const turns = { gate: async <T>(call: () => T) => call(), waitUntil: () => {} };
const openObjects = () => new PlayedObjects(turns, (state) => new ClickCounter(state, env));
let objects = openObjects();

const CLICKS = {
  getByName: (name: string) =>
    new Proxy(
      { name },
      {
        get: (stub, member) =>
          member in stub
            ? stub.name
            : async (...given: unknown[]) => {
                ({ ClickCounter } = await loadService());
                const object = objects.getByName(name) as unknown as Record<
                  PropertyKey,
                  (...args: unknown[]) => unknown
                >;
                return object[member]!(...given);
              },
      },
    ),
};

const queue = { send: async () => {}, sendBatch: async () => {} };
const main = new Database();
const further = Array.from({ length: 31 }, () => new Database());

export const env: Record<string, unknown> = {
  ...inject("bindings"),
  ...{ DB: main, ARCHIVE: new Bucket(), CLICKS, DELIVERIES: queue, DELIVERIES_DEAD: queue },
};

export async function runInDurableObject<T>(
  { name }: { name: string },
  run: Parameters<typeof objects.inside<T>>[1],
): Promise<T> {
  ({ ClickCounter } = await loadService());
  return objects.inside(name, run);
}

const open = new WeakMap<object, Promise<unknown>[]>();

export function createExecutionContext(): Work {
  const works: Promise<unknown>[] = [];
  const context = { waitUntil: (work: Promise<unknown>) => void works.push(work), passThroughOnException: () => {} };
  open.set(context, works);
  return context;
}

export async function waitOnExecutionContext(context: Work): Promise<void> {
  const works = open.get(context) ?? [];
  // Work may add further work.
  for (let done = 0; done < works.length;) {
    const from = done;
    done = works.length;
    await Promise.allSettled(works.slice(from));
  }
}

interface Message {
  id: string;
  body: unknown;
}

/** The consumer's answers: the messages of a batch, one by one or all at once. */
interface Batch {
  ids: string[];
  acked: string[];
  retried: { msgId: string; delaySeconds?: number }[];
  isAcked: boolean;
  retry: { retry: boolean; delaySeconds?: number };
}

const batches = new WeakMap<object, Batch>();

export function createMessageBatch(name: string, given: Message[]): object {
  const result: Batch = {
    ids: given.map(({ id }) => id),
    acked: [],
    retried: [],
    isAcked: false,
    retry: { retry: false },
  };
  const messages = given.map((message) => ({
    ...message,
    ack: () => void result.acked.push(message.id),
    retry: (how = {}) => void result.retried.push({ msgId: message.id, ...how }),
  }));
  const ackAll = () => void (result.isAcked = true);
  const batch = {
    queue: name,
    messages,
    ackAll,
    retryAll: (how = {}) => void (result.retry = { retry: true, ...how }),
  };
  batches.set(batch, result);
  return batch;
}

export async function getQueueResult(batch: object, context: Work): Promise<object> {
  await waitOnExecutionContext(context);
  const { ids, acked, retried, isAcked, retry } = batches.get(batch)!;
  const explicitAcks = ids.filter((id) => acked.includes(id));
  return { outcome: "ok", ackAll: isAcked, retryBatch: retry, explicitAcks, retryMessages: retried };
}

export function createScheduledController({ scheduledTime = new Date(), cron = "" } = {}): object {
  return { scheduledTime: Number(scheduledTime), cron, noRetry: () => {} };
}

export const exports = {
  default: {
    async fetch(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
      const { default: service } = await loadService();
      return service.fetch(new Request(input, init), env, createExecutionContext());
    },
  },
};

/** A database has its schema from the start. */
export async function applyD1Migrations(): Promise<void> {}

/** Empties everything, and binds as many databases as the suite's deployment has. */
export async function reset(): Promise<void> {
  const { testPath = "" } = expect.getState();
  const [, count = 0] = inject("furtherDatabases").find(([suite]) => testPath.includes(suite)) ?? [];
  for (const database of [main, ...further]) database.reset();
  for (const [at, database] of further.entries()) {
    if (at < count) env[`DB_${at + 1}`] = database;
    else delete env[`DB_${at + 1}`];
  }
  env["ARCHIVE"] = new Bucket();
  objects.close();
  objects = openObjects();
}
