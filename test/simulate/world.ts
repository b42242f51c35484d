/** One deployment in this process: the service, its database, its queue, and the outside world that it talks to. */
import type { ListedVendor } from "../../src/providers/registry.ts";
import { playOutsideWorld, RESOLVER_URL } from "../support/dns.ts";
import { LIST_URLS, openEventLists } from "../support/event-lists.ts";
import {
  FAULTS as VENDOR_FAULTS,
  openVendor,
  VENDOR_URL,
  type Fault as VendorFault,
  type VendorApi,
} from "../support/provider-a-api.ts";
import { Chance } from "../../src/dev/chance.ts";
import type { Versions } from "./bundle.ts";
import { PlayedObjects } from "../../src/dev/stand-in/click-objects.ts";
import { PlayedDatabase } from "../../src/dev/stand-in/database.ts";
import {
  ADMIN_TOKEN,
  Deployment,
  migrations,
  SIGNING_SECRETS,
  VARIABLES,
  type ProgramKey,
  type Reply,
} from "./deployment.ts";
import { Isolates } from "./isolates.ts";
import { played, restart, stopTimers, time } from "./played-globals.ts";
import { Turns, type Luck } from "./turns.ts";

export const HOOK_URL = "https://hooks.shop.example/in";
/** The API keys of the two accounts at provider A. */
export const VENDOR_KEYS = ["sk_test_first_account", "sk_test_second_account"] as const;
/** The API keys of the one account at provider B, which has no events to list. */
export const LIST_KEYS = ["pdl_live_apikey_first", "pdl_live_apikey_second"] as const;

const BROWSER = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";

/** Most deployments have one database. */
const SHARDS = [
  { program: 0, neighbor: 0 },
  { program: 0, neighbor: 0 },
  { program: 0, neighbor: 1 },
  { program: 1, neighbor: 0 },
];

/** The visitors' locations: each a region of its own. */
export const CONTINENTS = ["EU", "NA", "SA", "AS", "OC", "AF"] as const;

/** Regions split with the first click, after few that come together, or not at all. */
const SPLIT_LOADS = [1, 2, 3, 1_000].map((commits) => ({ commits, within: 20_000, ids: 1_000 }));

interface Message {
  body: unknown;
  due: number;
}

export class World extends Deployment {
  readonly turns = new Turns();
  /** The program's, and the neighbor's: one, or two of a deployment with two. */
  readonly database: PlayedDatabase;
  readonly neighborDatabase: PlayedDatabase;
  readonly vendors: VendorApi[];
  /** The webhooks that the receiver accepted, in order. */
  readonly received: { id: string; body: string }[] = [];
  /** How the receiver answers next; empty: well. */
  readonly refusals: number[] = [];
  /** Programs of the same account at provider B, with the same events. */
  neighbor!: ProgramKey;
  endpoint_id!: string;
  readonly clicks: PlayedObjects;
  readonly #versions: Versions;
  readonly #isolates: { now: Isolates; before: Isolates | null };
  protected readonly env: Record<string, unknown>;
  /** The number of each one's database. */
  readonly #shards: { program: number; neighbor: number };
  #queue: Message[] = [];
  /** The secrets that vendors were given since: until then they sign with the one before. */
  readonly #signing = new Map<ListedVendor, { secret: string; before: string; until: number }>();
  /** How look-ups at the vendor fail, and the next of the other calls. */
  #mood: { look: VendorFault | null; calls: (VendorFault | null)[] } = { look: null, calls: [] };

  constructor(versions: Versions, seed: number) {
    restart(seed);
    const now = new Isolates(versions.now);
    super(now.make);
    this.#versions = versions;
    this.#isolates = { now, before: versions.before && new Isolates(versions.before) };
    this.#shards = SHARDS[seed % SHARDS.length]!;
    const open = () =>
      new PlayedDatabase(migrations, (call) => this.turns.gate(call, ["before", "after", "silence"]), played);
    this.database = open();
    this.neighborDatabase = this.#shards.program === this.#shards.neighbor ? this.database : open();
    const latency = () => this.turns.gate(() => {}, []);
    this.vendors = VENDOR_KEYS.map((key) => openVendor({ now: time.now, keys: [key], latency }));
    this.clicks = new PlayedObjects(this.turns, (state, isKept) => {
      const databases = this.#bound((database) => database.behind(isKept));
      const object = new this.service.ClickCounter(state, { ...databases, CLICKS: this.clicks.behind(isKept) });
      object.splitLoad = SPLIT_LOADS[seed % SPLIT_LOADS.length]!;
      return object;
    });
    this.env = this.#bindings();
    this.#playOutside();
  }

  get databases(): PlayedDatabase[] {
    return [...new Set([this.database, this.neighborDatabase])];
  }

  /** Gives the memory of its databases back. */
  close(): void {
    this.clicks.close();
    for (const database of this.databases) database.close();
  }

  #bound(binding: (database: PlayedDatabase) => object): Record<string, object> {
    const name = (shard: number) => (shard === 0 ? "DB" : `DB_${shard}`);
    return {
      [name(this.#shards.program)]: binding(this.database),
      [name(this.#shards.neighbor)]: binding(this.neighborDatabase),
    };
  }

  #bindings(): Record<string, unknown> {
    const queue = {
      sendBatch: (messages: { body: unknown; delaySeconds?: number }[]) => {
        const put = () => {
          for (const { body, delaySeconds = 0 } of messages) {
            this.#queue.push({ body, due: time.now + delaySeconds * 1_000 });
          }
        };
        return this.turns.gate(put, ["before", "after"]);
      },
    };
    return {
      ...this.#bound(({ binding }) => binding),
      CLICKS: this.clicks,
      DELIVERIES: queue,
      ...VARIABLES,
      DNS_RESOLVER_URL: RESOLVER_URL,
      PROVIDER_A_API_URL: VENDOR_URL,
      PROVIDER_B_API_URL: LIST_URLS.provider_b,
    };
  }

  #playOutside(): void {
    const { fetch } = playOutsideWorld({
      receivers: {
        "hooks.shop.example": ({ headers, text }) => {
          const status = this.refusals.shift() ?? 200;
          if (status === 200) this.received.push({ id: headers.get("x-service-event-id") ?? "", body: text });
          return new Response("", { status });
        },
      },
    });
    const lists = openEventLists();
    lists.keys = new Set(LIST_KEYS);
    globalThis.fetch = async (input, init) => {
      const request = new Request(input, init);
      if (request.url.startsWith(`${LIST_URLS.provider_b}/`)) return lists.fetch(request.url, init);
      if (!request.url.startsWith(`${VENDOR_URL}/`)) return fetch(request.url, init);
      const key = request.headers.get("authorization")?.replace("Bearer ", "");
      const vendor = this.vendors[VENDOR_KEYS.findIndex((one) => one === key)]!;
      vendor.now = time.now;
      const isBalance = new URL(request.url).pathname === "/v1/balance";
      (isBalance ? vendor.balanceFaults : vendor.faults).push(this.#faultOf(request));
      return vendor.fetch(input, init);
    };
  }

  /** Two programs of one vendor account, and an endpoint that gets every event of the first. */
  async open(): Promise<void> {
    const luck: Luck = { chance: new Chance(1), faults: 0 };
    const make = async (name: string, shard: number): Promise<ProgramKey> => {
      this.env["NEW_PROGRAM_SHARD"] = String(shard);
      const init = { name, owner_email: `${name}@shop.example`, domain: "shop.example" };
      const [made] = await this.turns.drive([() => this.call("POST", "/admin/programs", init, ADMIN_TOKEN)], luck);
      const { program, api_key } = made!.body as unknown as { program: { id: string }; api_key: string };
      return { id: program.id, api_key };
    };
    this.program = await make("first", this.#shards.program);
    this.neighbor = await make("neighbor", this.#shards.neighbor);
    const ready = [
      () => this.call("PATCH", "/api/v1/programs/me", { ...SIGNING_SECRETS, provider_a_api_key: VENDOR_KEYS[0] }),
      () => this.call("PATCH", "/api/v1/programs/me", SIGNING_SECRETS, this.neighbor.api_key),
      () => this.call("POST", "/api/v1/webhooks", { url: HOOK_URL, events: ["*"] }),
    ];
    for (const one of ready) {
      const [reply] = await this.turns.drive([one], luck);
      if (reply!.status >= 300) throw new Error(`the world does not begin: ${JSON.stringify(reply)}`);
      this.endpoint_id = String(reply!.body["id"]);
    }
  }

  /** Whether a vendor signs with a secret that is about to end. */
  isChanging(provider: ListedVendor): boolean {
    return (this.#signing.get(provider)?.until ?? 0) > time.now;
  }

  /** The vendor was given another secret, and signs with the one before for so long (ms). */
  giveSecret(provider: ListedVendor, secret: string, longer: number): void {
    const signing = this.#signing.get(provider);
    if (signing?.secret === secret) return;
    this.#signing.set(provider, { secret, before: this.secretOf(provider), until: time.now + longer });
  }

  protected override secretOf(provider: ListedVendor): string {
    const signing = this.#signing.get(provider);
    if (!signing) return super.secretOf(provider);
    return this.isChanging(provider) ? signing.before : signing.secret;
  }

  protected override waitUntil(work: Promise<unknown>): void {
    this.turns.waitUntil(work);
  }

  /** Hands the due messages of the queue to the service, with some lost or doubled. */
  async consume(chance: Chance | null): Promise<void> {
    const due = this.#queue.filter((message) => message.due <= time.now);
    this.#queue = this.#queue.filter((message) => message.due > time.now);
    const bodies = due.flatMap(({ body }) =>
      chance?.happens(0.1) ? (chance.happens(0.5) ? [] : [body, body]) : [body],
    );
    for (let i = 0; i < bodies.length; i += 5) {
      const messages = bodies.slice(i, i + 5).map((body) => ({
        body,
        ack: () => {},
        retry: () => void this.#queue.push({ body, due: time.now + 30_000 }),
      }));
      await this.service.queue({ queue: "deliveries", messages }, this.env, this.execution());
    }
  }

  loseMessages(): void {
    this.#queue = [];
  }

  get hasBefore(): boolean {
    return this.#versions.before !== null;
  }

  /**
   * A new isolate, as after a deploy, or of the version before, as after a rollback; and with `objects` new click
   * objects, which forget what they had in memory.
   */
  renew(objects: boolean, isBefore = false): void {
    const { now, before } = this.#isolates;
    const replaced = this.replaceService(isBefore && before ? before.make : now.make);
    for (const isolates of [now, before]) if (replaced) isolates?.leave(replaced);
    if (objects) this.evict();
  }

  /** The platform evicts the click objects; isolates that no longer serve are free. */
  evict(): void {
    this.clicks.die();
    this.#isolates.now.free();
    this.#isolates.before?.free();
  }

  /** The machine fails: current work stops, and unsaved data is lost. */
  readonly crash = (): void => {
    stopTimers();
    this.renew(true);
  };

  /** A visitor's click, near a data center, with any result. */
  async click(
    body: object,
    { colo, continent, country, bot }: { colo: string; continent: string; country?: string | undefined; bot: boolean },
  ): Promise<Reply> {
    const headers = { "content-type": "text/plain", "user-agent": bot ? "Googlebot/2.1" : BROWSER };
    const request = new Request(this.addressOf("/click"), { method: "POST", headers, body: JSON.stringify(body) });
    Object.defineProperty(request, "cf", { value: { colo, continent, country } });
    return this.send(request);
  }

  /** The vendor's API fails for a while: some calls, or look-ups as long as it lasts and the next sending; or keys. */
  upsetVendor(chance: Chance): void {
    const look = () => chance.of(["drop_request", "gateway", "rate_limit"] as const);
    if (chance.happens(0.2)) {
      // Earlier deliveries are unknown, and the next one is refused.
      this.#mood = { look: look(), calls: [] };
      for (const vendor of this.vendors) vendor.keys.clear();
      return;
    }
    if (chance.happens(0.5)) {
      const reply = chance.of(["drop_reply", "hang", "garbage", "error_after_effect"] as const);
      this.#mood = { look: look(), calls: [reply] };
    } else {
      const calls = Array.from({ length: chance.whole(1, 4) }, () =>
        chance.happens(0.3) ? null : chance.of(VENDOR_FAULTS),
      );
      this.#mood = { look: null, calls };
    }
    if (chance.happens(0.25)) for (const vendor of this.vendors) vendor.keys.clear();
    if (chance.happens(0.15)) {
      for (const vendor of this.vendors) for (const currency of ["usd", "eur", "jpy"]) vendor.balance.set(currency, 1);
    }
  }

  calmVendor(): void {
    this.#mood = { look: null, calls: [] };
    for (const [i, vendor] of this.vendors.entries()) {
      vendor.keys.add(VENDOR_KEYS[i]!);
      vendor.balance.clear();
    }
  }

  #faultOf({ method }: Request): VendorFault | null {
    const { look, calls } = this.#mood;
    return look !== null && method === "GET" ? look : (calls.shift() ?? null);
  }
}
