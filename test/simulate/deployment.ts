/** A deployment in this process: the service as the platform calls it, and requests from outside. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../../src/dev/root.ts";
import { byVendor, type ListedVendor } from "../../src/providers/registry.ts";
import { signed } from "../support/signed.ts";
import type { Service } from "./bundle.ts";

const MIGRATIONS = join(ROOT, "migrations");
export const migrations = readdirSync(MIGRATIONS)
  .filter((name) => name.endsWith(".sql"))
  .toSorted()
  .map((name) => readFileSync(join(MIGRATIONS, name), "utf8"));

const BASE = "https://service.example";
export const ADMIN_TOKEN = "the-operator-of-a-simulated-deployment";
const SECRETS = byVendor((name) => `whsec_of_the_simulated_${name}`);
/** The owner's settings that accept the events of every vendor. */
export const SIGNING_SECRETS = Object.fromEntries(
  Object.entries(SECRETS).map(([name, secret]) => [`${name}_webhook_secret`, secret]),
);

/** The configuration of every deployment. */
export const VARIABLES = {
  ENVIRONMENT: "development",
  CLICK_FLUSH_SECONDS: "1",
  PUBLIC_URL: BASE,
  WORKER_NAME: "affiliate-program-service",
  ADMIN_TOKEN,
  ENCRYPTION_KEY: btoa("0123456789abcdef0123456789abcdef"),
};

export interface Reply {
  status: number;
  // Replies are read at their comparison.
  body: Record<string, unknown>;
}

export interface ProgramKey {
  id: string;
  api_key: string;
}

export abstract class Deployment {
  program!: ProgramKey;
  protected abstract readonly env: Record<string, unknown>;
  #make: () => Service;
  #service: Service | null = null;

  constructor(make: () => Service) {
    this.#make = make;
  }

  /** The isolate that serves now, made when it is first called: many go before they are. */
  protected get service(): Service {
    return (this.#service ??= this.#make());
  }

  /** Serves with a new isolate from now on; keeps the earlier one if it was made. */
  protected replaceService(make: () => Service): Service | null {
    const replaced = this.#service;
    this.#make = make;
    this.#service = null;
    return replaced;
  }

  /** Work that goes on after the reply. */
  protected abstract waitUntil(work: Promise<unknown>): void;

  /** A call of the API, with JSON or a file, of the first program unless another key is given. */
  async call(method: string, path: string, body?: unknown, key = this.program.api_key, headers = {}): Promise<Reply> {
    const isText = typeof body === "string";
    return this.#fetch(path, {
      method,
      headers: { authorization: `Bearer ${key}`, "content-type": isText ? "text/csv" : "application/json", ...headers },
      ...(body === undefined ? {} : { body: isText ? body : JSON.stringify(body) }),
    });
  }

  /** A vendor's signing secret. */
  protected secretOf(provider: ListedVendor): string {
    return SECRETS[provider];
  }

  /** Vendor events arrive signed; one that claims programs has one address for all of its account. */
  async vendorEvent(provider: ListedVendor, body: string, { id } = this.program): Promise<Reply> {
    const signature = await signed(provider, body, this.secretOf(provider));
    const headers = { "content-type": "application/json", ...signature };
    return this.#fetch(`/webhooks/${provider}?program_id=${id}`, { method: "POST", headers, body });
  }

  async #fetch(path: string, init: RequestInit): Promise<Reply> {
    return this.send(new Request(`${BASE}${path}`, init));
  }

  /** A reply without a JSON object counts as an empty object. */
  protected async send(request: Request): Promise<Reply> {
    const response = await this.service.fetch(request, this.env, this.execution());
    const text = await response.text();
    return { status: response.status, body: text.startsWith("{") ? (JSON.parse(text) as Reply["body"]) : {} };
  }

  async cron(cron: string): Promise<void> {
    await this.service.scheduled({ cron }, this.env, this.execution());
  }

  protected execution(): object {
    return {
      waitUntil: (work: Promise<unknown>) => this.waitUntil(work),
      passThroughOnException: () => {},
      props: {},
    };
  }

  protected addressOf(path: string): string {
    return `${BASE}${path}`;
  }
}
