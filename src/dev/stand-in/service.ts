/** The service in this thread, on a database file and a clock that is set back: most requests cannot be dated. */
import type { DatabaseSync } from "node:sqlite";
import { breathe, finished, setTime, timeNow } from "./clock.ts";
import { addByteReader } from "./byte-reader.ts";
import { PlayedObjects } from "./click-objects.ts";
import { PlayedDatabase } from "./database.ts";
import type { Worker } from "./worker.ts";

export interface Variables {
  PUBLIC_URL: string;
  ADMIN_TOKEN: string;
  ENCRYPTION_KEY: string;
}

/** A visitor's place, as the platform reports it. */
export interface Place {
  country: string;
}

interface Sent {
  method?: string;
  bearer?: string;
  headers?: Record<string, string>;
  /** A text, or an object that is sent as JSON. */
  body?: string | object | FormData;
  place?: Place;
}

const MINUTELY = "* * * * *";

export class PastService {
  readonly #worker: Worker;
  readonly #url: string;
  readonly #env: Record<string, unknown>;
  readonly #objects: PlayedObjects;
  readonly #works = new Set<Promise<unknown>>();

  constructor(worker: Worker, database: DatabaseSync, variables: Variables) {
    addByteReader();
    this.#worker = worker;
    this.#url = variables.PUBLIC_URL;
    const gate = async <T>(call: () => T) => call();
    this.#objects = new PlayedObjects(
      { gate, waitUntil: (work) => this.#keep(work) },
      (state) => new worker.ClickCounter(state, this.#env),
    );
    const queue = { send: async () => {}, sendBatch: async () => {} };
    this.#env = {
      ...{ ENVIRONMENT: "development", WORKER_NAME: "", CLICK_FLUSH_SECONDS: "15", DNS_RESOLVER_URL: NOWHERE },
      ...{ PROVIDER_A_API_URL: NOWHERE, PROVIDER_B_API_URL: NOWHERE },
      ...variables,
      DB: new PlayedDatabase(database, gate, { now: timeNow }).binding,
      ...{ CLICKS: this.#objects, DELIVERIES: queue, DELIVERIES_DEAD: queue },
    };
  }

  /** Goes on to a time, in ms, and runs the timers that are due until then. */
  async until(at: number): Promise<void> {
    await setTime(at);
    await breathe();
  }

  async send(path: string, { method = "GET", bearer, headers = {}, body, place }: Sent = {}): Promise<Response> {
    const isJson = typeof body === "object" && !(body instanceof FormData);
    const request = new Request(`${this.#url}${path}`, {
      method,
      headers: {
        ...(bearer === undefined ? {} : { authorization: `Bearer ${bearer}` }),
        ...(isJson ? { "content-type": "application/json" } : {}),
        ...headers,
      },
      ...(body === undefined ? {} : { body: isJson ? JSON.stringify(body) : body }),
      redirect: "manual",
    });
    if (place) Object.defineProperty(request, "cf", { value: place });
    return finished(this.#worker.fetch(request, this.#env, this.#execution));
  }

  /** @throws with the whole reply if it is no success */
  async json<T>(path: string, sent: Sent = {}): Promise<T> {
    const response = await this.send(path, sent);
    const text = await response.text();
    if (!response.ok) throw new Error(`${sent.method ?? "GET"} ${path} answered ${response.status}: ${text}`);
    return JSON.parse(text) as T;
  }

  /** Runs a cron, then the minutely one, and waits for their work. */
  async cron(cron = MINUTELY): Promise<void> {
    await this.#objects.ring(timeNow(), () => false);
    for (const one of new Set([cron, MINUTELY])) {
      await finished(this.#worker.scheduled({ cron: one }, this.#env, this.#execution));
    }
    await breathe();
  }

  /** Waits for work that goes on after the replies. */
  async idle(): Promise<void> {
    while (this.#works.size > 0) {
      await this.until(timeNow() + 1_000);
      await breathe();
    }
  }

  readonly #execution = {
    waitUntil: (work: Promise<unknown>) => this.#keep(work),
    passThroughOnException: () => {},
    props: {},
  };

  #keep(work: Promise<unknown>): void {
    const ended = () => void this.#works.delete(work);
    this.#works.add(work);
    work.then(ended, ended);
  }
}

/** Receives no request, because no provider's API key is set. */
const NOWHERE = "https://nowhere.invalid";
