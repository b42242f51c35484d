/** The deployment of a story: every call is carried out at once, and the vendors' lists of events are there. */
import { LIST_KEYS, LIST_URLS, openEventLists } from "../support/event-lists.ts";
import type { Service } from "./bundle.ts";
import { PlayedDatabase } from "../../src/dev/stand-in/database.ts";
import { ADMIN_TOKEN, Deployment, migrations, SIGNING_SECRETS, VARIABLES, type Reply } from "./deployment.ts";
import { breathe, played, restart, time } from "./played-globals.ts";

/** After so many turns of the event loop only time can bring something. */
const IDLE_TURNS = 50;

export class StoryWorld extends Deployment {
  readonly database = new PlayedDatabase(migrations, async (call) => call(), played);
  readonly lists = openEventLists();
  protected readonly env = {
    ...VARIABLES,
    DB: this.database.binding,
    DELIVERIES: { sendBatch: async () => {} },
    PROVIDER_A_API_URL: LIST_URLS.provider_a,
    PROVIDER_B_API_URL: LIST_URLS.provider_b,
  };
  #open = 0;

  constructor(service: () => Service, seed: number) {
    restart(seed);
    super(service);
    globalThis.fetch = (input, init) => this.lists.fetch(new Request(input, init).url, init);
  }

  protected override waitUntil(work: Promise<unknown>): void {
    this.#open += 1;
    const ended = () => void (this.#open -= 1);
    work.then(ended, ended);
  }

  /** Runs operations side by side to their end, with all that they leave behind. */
  async run<T>(...operations: (() => Promise<T>)[]): Promise<T[]> {
    const all = Promise.all(operations.map((operation) => operation()));
    this.waitUntil(all);
    for (let turn = 0; this.#open > 0; turn++) {
      await breathe();
      if (turn > IDLE_TURNS) time.fireNext();
    }
    return all;
  }

  /** A call that the service must accept. @throws if it does not. */
  async ask(method: string, path: string, body?: unknown, key?: string): Promise<Reply["body"]> {
    const [reply] = await this.run(() => this.call(method, path, body, key));
    if (reply!.status >= 300) throw new Error(`${method} ${path}: ${JSON.stringify(reply)}`);
    return reply!.body;
  }

  /** A program of every vendor, with the keys that read their lists. */
  async open(settings: object): Promise<void> {
    const owner = { name: "story", owner_email: "owner@shop.example", domain: "shop.example" };
    const made = await this.ask("POST", "/admin/programs", owner, ADMIN_TOKEN);
    const { program, api_key } = made as unknown as { program: { id: string }; api_key: string };
    this.program = { id: program.id, api_key };
    const keys = Object.fromEntries(Object.entries(LIST_KEYS).map(([name, key]) => [`${name}_api_key`, key]));
    await this.ask("PATCH", "/api/v1/programs/me", { ...SIGNING_SECRETS, ...keys, live_only: true, ...settings });
  }
}
