/** One story: customers' lives as the vendors report them, out of order and with losses, and the resulting ledger. */
import { Chance } from "../../src/dev/chance.ts";
import { PASSING_FAULTS, putOnList } from "../support/event-lists.ts";
import { expectedOf } from "../support/money-model.ts";
import { play } from "../support/money-played.ts";
import type { ApiEvent } from "../support/money-vendor.ts";
import { CODED, TEST_VENDORS } from "../support/vendors/index.ts";
import { vendorNamed, type ListedProvider, type ListedVendor } from "../../src/providers/registry.ts";
import type { Service } from "./bundle.ts";
import { time } from "./played-globals.ts";
import { differencesOf, type Paid } from "./story-compare.ts";
import { makeLives, type CustomerLife } from "./story-lives.ts";
import {
  changesOf,
  CODES,
  DEFAULT_PCT,
  emailOf,
  GROUPS,
  PARTNERS,
  programAt,
  type Change,
  type Changed,
  type Settings,
} from "./story-program.ts";
import { StoryWorld } from "./story-world.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const MONTH = 30;
/** Days until a sale approves itself. */
const APPROVED_AFTER = 30;

/** Monday, 2 February 2026, in seconds. */
const BEGINS = Date.UTC(2026, 1, 2) / 1_000;
/** Vendors keep their events so long. */
const KEPT = 30 * DAY;
/** The interval and number of runs of the minutely jobs: fewer would miss events that the vendors delete. */
const CRON_EVERY = 4 * DAY;
const CRONS_IN_A_ROW = 4;
/** How often the vendor sends a thin event that is not taken. */
const THIN_ATTEMPTS = 3;
/** The interval of the daily jobs. */
const DAILY_EVERY = 30 * DAY;

export interface StoryOptions {
  customers: number;
  months: number;
}

/** A story, and the differences at its end. */
export interface Outcome {
  payments: number;
  events: number;
  deliveries: number;
  recovered: number;
  differences: string[];
}

interface Event {
  provider: ListedProvider;
  body: string;
  /** ms */
  at: number;
  /** Whether it is of the vendor's test mode. */
  isTest: boolean;
}

interface Happening {
  /** ms */
  at: number;
  run: () => Promise<void>;
}

export async function playStory(service: () => Service, seed: number, options: StoryOptions): Promise<Outcome> {
  const story = new Story(service, seed, options);
  return story.play().finally(() => story.close());
}

class Story {
  readonly #chance: Chance;
  readonly #world: StoryWorld;
  readonly #days: number;
  readonly #settings: Settings;
  readonly #changes: Changed[];
  readonly #lives: CustomerLife[];
  readonly #ids: Record<string, string> = {};
  readonly #groups: Record<string, string> = {};
  readonly #flows = new Map<string, string>();
  readonly #paid = new Map<string, Paid>();
  readonly #tests = new Set<string>();
  readonly #events: Event[];
  #listed = 0;
  #deliveries = 0;

  constructor(service: () => Service, seed: number, { customers, months }: StoryOptions) {
    this.#chance = new Chance(seed);
    this.#world = new StoryWorld(service, seed);
    this.#days = months * MONTH;
    this.#settings = {
      attribution: this.#chance.of(["first", "last"]),
      code_precedence: this.#chance.of(["link", "code"]),
    };
    this.#changes = changesOf(this.#chance, BEGINS, this.#days);
    this.#lives = makeLives(this.#chance, customers, BEGINS, this.#days);
    this.#events = [...codeEvents(), ...this.#lives.flatMap((life, n) => this.#live(life, n))].toSorted(
      (a, b) => a.at - b.at,
    );
  }

  /** Lives a life at its vendor: the events; payments are kept. */
  #live({ life, chapters }: CustomerLife, n: number): Event[] {
    const { vendor, bodies } = play(life.provider, life, `c${n}`);
    for (const [i, { at, next }] of chapters.entries()) vendor.live(next, i, at);
    const at = (second: number) => programAt(this.#changes, this.#settings, second);
    const expected = expectedOf(at, vendor.truths, vendor.said);
    for (const { key, currency, provider, also } of vendor.truths) {
      this.#paid.set(key, { ...expected.get(key)!, currency, provider, ...(also === undefined ? {} : { also }) });
    }
    for (const key of vendor.tests) this.#tests.add(key);
    const eventsOf = (provider: ListedProvider, all: readonly string[]) => all.map((body) => eventOf(provider, body));
    const leads = vendor.leads.map((lead) => JSON.stringify(lead));
    return [...eventsOf(life.provider, bodies()), ...eventsOf("api", leads)];
  }

  async play(): Promise<Outcome> {
    await this.#begin();
    const happenings = [...this.#sendings(), ...this.#doings(), ...this.#crons()].toSorted((a, b) => a.at - b.at);
    for (const { at, run } of happenings) {
      this.#goTo(at);
      await run();
    }
    await this.#end();
    const approved_until = new Date(time.now - APPROVED_AFTER * DAY).toISOString();
    await this.#cron("17 3 * * *");
    const differences = await differencesOf(this.#world, this.#paid, this.#tests, approved_until);
    const { recovered } = this.#readings();
    return {
      ...{ payments: this.#paid.size, events: this.#events.length, deliveries: this.#deliveries },
      ...{ recovered, differences },
    };
  }

  close(): void {
    this.#world.database.close();
  }

  async #begin(): Promise<void> {
    const world = this.#world;
    world.lists.faultOf = () => (this.#chance.happens(0.1) ? this.#chance.of(PASSING_FAULTS) : null);
    this.#goTo((BEGINS - 3_600) * 1_000);
    const settings = {
      ...{ default_commission_pct: DEFAULT_PCT, auto_approve_days: APPROVED_AFTER },
      ...this.#settings,
    };
    await world.open(settings);
    const groups = await world.ask("GET", "/api/v1/groups");
    for (const { slug, id } of groups["data"] as { slug: string; id: string }[]) this.#groups[slug] = id;
    for (const group of GROUPS) {
      this.#groups[group.slug] = String(
        (await world.ask("POST", "/api/v1/groups", { name: group.slug, ...group }))["id"],
      );
    }
    for (const { slug, status, commission_pct } of PARTNERS) {
      const email = emailOf(slug);
      const input = { slug, email, commission_pct, payout_method: "wallet", payout_email: email };
      const id = String((await world.ask("POST", "/api/v1/partners", input))["id"]);
      if (status !== "invited") await world.ask("PATCH", `/api/v1/partners/${id}`, { status });
      this.#ids[slug] = id;
    }
  }

  #goTo(at: number): void {
    time.advance(Math.max(0, at - time.now));
  }

  /** Every event as it comes: at once or late, once or again, or never. */
  #sendings(): Happening[] {
    const chance = this.#chance;
    const isWild = chance.happens(0.5);
    const outages = new Set(Array.from({ length: Math.ceil(this.#days / 45) }, () => chance.whole(0, this.#days)));
    const isOut = ({ at }: Event) => outages.has(Math.floor((at / 1_000 - BEGINS) / 86_400));
    return this.#events.flatMap((event) => {
      // A sender without a list sends again until it is answered; test mode has a list of its own.
      const isKept = !hasList(event.provider) || event.isTest;
      const copies = chance.happens(0.15) ? chance.whole(2, 3) : 1;
      if (!isKept && (isOut(event) || chance.happens(0.08))) return [];
      return Array.from({ length: copies }, () => {
        const isThin = thinOf(event) !== null && !isKept && chance.happens(0.2);
        const snapshot = !isThin || chance.happens(0.7);
        return {
          at: event.at + this.#delay(isWild),
          run: () => (isThin ? this.#deliverThin(event, snapshot) : this.#deliver(event)),
        };
      });
    });
  }

  #delay(isWild: boolean): number {
    const chance = this.#chance;
    if (isWild && chance.happens(0.3)) return chance.whole(0, 60 * DAY);
    const roll = chance.next();
    if (roll < 0.6) return chance.whole(0, MINUTE);
    return roll < 0.85 ? chance.whole(0, HOUR) : chance.whole(0, 3 * DAY);
  }

  /** Sent as a thin event, again if it cannot be read; lost at last if its object is gone. */
  async #deliverThin(event: Event, snapshot: boolean): Promise<void> {
    const thin = JSON.stringify(thinOf(event)!(JSON.parse(event.body) as object, snapshot));
    this.#list();
    for (let attempt = 1; attempt <= THIN_ATTEMPTS; attempt++) {
      this.#deliveries += 1;
      const [reply] = await this.#world.run(() => this.#world.vendorEvent(event.provider as ListedVendor, thin));
      if (reply!.status === 200) return;
      if (reply!.status !== 503) throw new Error(`${thin} is answered ${JSON.stringify(reply)}`);
    }
  }

  async #deliver({ provider, body }: Event): Promise<void> {
    this.#deliveries += 1;
    const world = this.#world;
    const [reply] = await world.run(() => {
      if (provider !== "api") return world.vendorEvent(provider, body);
      const { kind, body: reported } = JSON.parse(body) as ApiEvent;
      return world.call("POST", `/api/v1/track/${kind}`, reported);
    });
    if (reply!.status !== 200) throw new Error(`${body} is answered ${JSON.stringify(reply)}`);
  }

  /** The owner's actions. */
  #doings(): Happening[] {
    const changes = this.#changes.map(({ at, change }) => ({ at: at * 1_000, run: () => this.#change(change) }));
    const payouts = Array.from({ length: Math.floor(this.#days / MONTH) }, (_, i) => ({
      at: (BEGINS + (i * MONTH + 5) * 86_400) * 1_000,
      run: () => this.#payOut(),
    }));
    return [...changes, ...payouts];
  }

  async #change(change: Change): Promise<void> {
    const world = this.#world;
    if (change.do === "default rate") {
      await world.ask("PATCH", "/api/v1/programs/me", { default_commission_pct: change.pct });
    } else if (change.do === "rate") {
      await world.ask("PATCH", `/api/v1/partners/${this.#ids[change.slug]}`, { commission_pct: change.pct });
    } else if (change.do === "group's rate") {
      await world.ask("PATCH", `/api/v1/groups/${this.#groups[change.group]}`, { commission_pct: change.pct });
    } else if (change.do === "move") {
      const path = `/api/v1/partners/${this.#ids[change.slug]}`;
      await world.ask("PATCH", path, { group_id: this.#groups[change.group] });
    } else if (change.do === "flow") {
      const { above, provider, group = null, from = null, until = null, ...rule } = change.flow;
      const conditions = [
        { field: "txn_amount_cents", op: "gt", value: above },
        ...(provider === null ? [] : [{ field: "provider", op: "eq", value: provider }]),
        ...(group === null ? [] : [{ field: "partner_group", op: "eq", value: group }]),
      ];
      const limits = { starts_at: timeOf(from), ends_at: timeOf(until) };
      const made = await world.ask("POST", "/api/v1/flows", { name: change.name, ...rule, ...limits, conditions });
      this.#flows.set(change.name, String(made["id"]));
    } else if (change.do === "code") {
      const { code, provider, slug, by_id } = change;
      const id = by_id ? { provider_code_id: TEST_VENDORS[provider].codes!.idsOf(code).id } : {};
      const path = `/api/v1/partners/${this.#ids[slug]}/codes`;
      await world.ask("POST", path, { code: code.toUpperCase(), provider, move: true, ...id });
    } else {
      const id = this.#flows.get(change.name);
      if (this.#flows.delete(change.name)) await world.ask("DELETE", `/api/v1/flows/${id}`);
    }
  }

  /** Payouts are paid, now and then canceled, or left for later. */
  async #payOut(): Promise<void> {
    const { data } = await this.#world.ask("GET", "/api/v1/payouts?status=pending&per_page=100");
    for (const { id } of data as { id: string }[]) {
      const action = this.#chance.of(["mark-paid", "mark-paid", "mark-paid", "cancel", null]);
      if (action !== null) await this.#world.ask("POST", `/api/v1/payouts/${id}/${action}`, {});
    }
  }

  #crons(): Happening[] {
    const last = Math.max(...this.#events.map(({ at }) => at)) + 4 * DAY;
    const every = (step: number, offset: number, cron: string) =>
      Array.from({ length: Math.ceil((last - BEGINS * 1_000) / step) }, (_, i) => ({
        at: BEGINS * 1_000 + i * step + offset,
        run: () => this.#cron(cron),
      }));
    const months = Array.from({ length: this.#days / MONTH + 1 }, (_, i) => ({
      at: Date.UTC(2026, 2 + i, 1, 0, 23),
      run: () => this.#cron("23 0 1 * *"),
    }));
    return [
      ...Array.from({ length: CRONS_IN_A_ROW }, (_, i) => every(CRON_EVERY, (7 + 11 * i) * MINUTE, "* * * * *")).flat(),
      ...every(DAILY_EVERY, 3 * HOUR + 17 * MINUTE, "17 3 * * *"),
      ...months,
    ];
  }

  async #cron(cron: string): Promise<void> {
    this.#list();
    await this.#world.run(() => this.#world.cron(cron));
  }

  /** The vendors' lists have past events, without those that are too old. */
  #list(): void {
    const { lists } = this.#world;
    for (; (this.#events[this.#listed]?.at ?? Infinity) <= time.now; this.#listed++) {
      const event = this.#events[this.#listed]!;
      const { provider, body } = event;
      if (hasList(provider) && !event.isTest) putOnList(lists, provider, body);
    }
    const oldest = time.now - KEPT;
    lists.a = lists.a.filter(({ created }) => created * 1_000 >= oldest);
    lists.b = lists.b.filter(({ occurred_at }) => Date.parse(occurred_at) >= oldest);
  }

  /** Until the lists are complete and no work waits. */
  async #end(): Promise<void> {
    const last = Math.max(time.now, ...this.#events.map(({ at }) => at));
    this.#goTo(last + HOUR);
    for (let i = 0; i < 500; i++) {
      await this.#cron("* * * * *");
      if (this.#readings().complete_until > last && this.#unsettled() === 0) return;
      time.advance(11 * MINUTE);
    }
    throw new Error("the lists are never read to their ends");
  }

  #unsettled(): number {
    const sql = "select count(*) as n from payments where settled_revision < facts_revision";
    return this.#world.database.look<{ n: number }>(sql)[0]!.n;
  }

  /** The completeness of all lists, and their findings. */
  #readings(): { complete_until: number; recovered: number } {
    const sql = `select coalesce(reading ->> '$.complete_until', '1970') as complete_until,
      coalesce(reading ->> '$.recovered', 0) as recovered from provider_connections where api_key is not null`;
    const rows = this.#world.database.look<{ complete_until: string; recovered: number }>(sql);
    return {
      complete_until: Math.min(...rows.map((row) => Date.parse(row.complete_until))),
      recovered: rows.reduce((sum, row) => sum + row.recovered, 0),
    };
  }
}

const timeOf = (second: number | null) => (second === null ? null : new Date(second * 1_000).toISOString());

/** Each vendor's reports of its codes, before the first sale. */
function codeEvents(): Event[] {
  const at = BEGINS - 60;
  return CODES.flatMap((code) =>
    CODED.map(([provider, codes]): Event => {
      const { bodyOf } = TEST_VENDORS[provider];
      return eventOf(provider, bodyOf(codes.created(code, at)));
    }),
  );
}

function eventOf(provider: ListedProvider, body: string): Event {
  if (provider === "api") {
    const { occurred_at } = (JSON.parse(body) as ApiEvent).body;
    return { provider, body, at: Date.parse(occurred_at!), isTest: false };
  }
  const read = vendorNamed(provider)!.parse(JSON.parse(body));
  if (!read.ok) throw new Error(`${body} is not read`);
  return { provider, body, at: Date.parse(read.event.occurred_at), isTest: read.event.test };
}

function thinOf({ provider }: Event) {
  return provider === "api" ? null : TEST_VENDORS[provider].thinOf;
}

/** Whether the service finds lost events of it. */
function hasList(provider: ListedProvider): boolean {
  return vendorNamed(provider)?.reads !== undefined;
}
