/**
 * `cloudflare:workers` and `cloudflare:test` for suites that run the service in Node: D1 is SQLite in this process, which
 * `stand-in.test.ts` compares with D1.
 */
import { inject } from "vitest";
import { addByteReader } from "./byte-reader.ts";
import { PlayedDatabase } from "./database.ts";
import { migrations } from "./deployment.ts";

declare module "vitest" {
  interface ProvidedContext {
    bindings: Record<string, string>;
  }
}

/** A variable: the types of the Worker and of Node exclude each other. */
const SERVICE = "../../src/index.ts";

type Service = { fetch(request: Request, env: object, execution: Work): Promise<Response> };

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

const openDatabase = () => new PlayedDatabase(migrations, async (call) => call(), null);
let database = openDatabase();
const queue = { send: async () => {}, sendBatch: async () => {} };

export const env: Record<string, unknown> = {
  ...inject("bindings"),
  // One object for all files: the service and the tests keep what they know by it.
  DB: {
    prepare: (sql: string) => database.binding.prepare(sql),
    batch: (...given: Parameters<Binding["batch"]>) => database.binding.batch(...given),
    withSession: () => database.binding.withSession(),
  },
  DELIVERIES: queue,
  DELIVERIES_DEAD: queue,
};

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

export const exports = {
  default: {
    async fetch(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
      // Loaded late, because the service imports this module.
      const { default: service } = (await import(/* @vite-ignore */ SERVICE)) as { default: Service };
      return service.fetch(new Request(input, init), env, createExecutionContext());
    },
  },
};

/** The database has its schema from the start. */
export async function applyD1Migrations(): Promise<void> {}

export async function reset(): Promise<void> {
  database.close();
  database = openDatabase();
}
