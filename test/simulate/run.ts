/** One simulated run: steps from a seed, each compared with the model. */
import { MAX_DELIVERY_ATTEMPTS } from "../../src/domain/delivery.ts";
import { Chance } from "../../src/dev/chance.ts";
import type { Versions } from "./bundle.ts";
import type { Call } from "../../src/dev/stand-in/database.ts";
import { openFiles } from "./compare-files.ts";
import { differences, follow, lawsOf, readShown, sumDifferences } from "./compare.ts";
import {
  afterCrons,
  candidatesAfter,
  distinct,
  finish,
  withPayoutsEnded,
  Wrong,
  type Candidate,
} from "./candidates.ts";
import type { Reply } from "./deployment.ts";
import { Endpoint } from "./endpoint.ts";
import { bestKnown } from "./history.ts";
import { restartKeys, type Operation, type Scene } from "./operation.ts";
import { choose } from "./operations.ts";
import { groupsOf } from "./operations-rules.ts";
import type { Flow } from "./model-flows.ts";
import { time } from "./played-globals.ts";
import { chanceOf, mainChance, type Step } from "./steps.ts";
import type { Luck } from "./turns.ts";
import { Vendors } from "./vendors.ts";
import { Visitors } from "./visitors.ts";
import { World } from "./world.ts";
import type { Change, State } from "./model-state.ts";

/** A failure of a run: its step, and the log until then. */
export interface Failure {
  step: number;
  problems: string[];
  story: string[];
}

const DAY = 86_400_000;
/** Callers whose machine failed. */
const UNANSWERED: Reply = { status: 599, body: {} };
/** Pages of sums are read this often; laws and lists after every step. */
const SUMS_EVERY = 10;
/** States that look alike are kept up to so many. */
const MAX_STATES = 24;

const PARTNERS = [
  { slug: "ann", pct: null, method: "provider_a", status: "active" },
  { slug: "bob", pct: 33, method: "provider_a", status: "active" },
  { slug: "cara", pct: null, method: "wallet", status: "active" },
  { slug: "ivy", pct: 10, method: "wallet", status: "invited" },
  { slug: "dan", pct: 50, method: "wallet", status: "deactivated" },
] as const;

/**
 * Runs steps, each of which is a seed of its own. Null where all was as the model and the laws say. `onCall` is called for
 * every call of the database.
 */
export async function runSteps(
  versions: Versions,
  seed: number,
  steps: readonly Step[],
  onCall: ((call: Call) => void) | null = null,
): Promise<Failure | null> {
  restartKeys();
  const world = new World(versions, seed);
  world.database.onCall = onCall;
  const run = new Run(world);
  let step = 0;
  try {
    await run.begin();
    for (; step < steps.length; step++) {
      await run.step(steps[step]!, step % SUMS_EVERY === SUMS_EVERY - 1 || step === steps.length - 1);
    }
    await run.end();
    return null;
  } catch (error) {
    const problems = error instanceof Wrong ? error.problems : [String((error as Error).stack)];
    return { step, problems, story: run.story };
  } finally {
    world.close();
  }
}

class Run {
  readonly story: string[] = [];
  readonly #world: World;
  #vendors!: Vendors;
  #endpoint!: Endpoint;
  readonly #visitors = new Visitors();
  readonly #ids: Record<string, string> = {};
  /** The source of chance for single requests; of the run, so that it repeats. */
  readonly #quiet: Luck = { chance: new Chance(0), faults: 0 };
  #states: State[] = [];

  constructor(world: World) {
    this.#world = world;
  }

  readonly #ask = async (path: string): Promise<Reply> => {
    const [reply] = await this.#world.turns.drive([() => this.#world.call("GET", path)], this.#quiet);
    return reply!;
  };

  async #do(operation: () => Promise<Reply | void>): Promise<Reply> {
    const [reply] = await this.#world.turns.drive([operation], this.#quiet);
    if (reply && reply.status >= 300) throw new Error(`unexpected: ${JSON.stringify(reply)}`);
    return reply ?? { status: 200, body: {} };
  }

  async begin(): Promise<void> {
    const world = this.#world;
    await world.open();
    this.#vendors = new Vendors(world.program.id);
    this.#endpoint = new Endpoint(world);
    const partners: Record<string, State["partners"][string]> = {};
    await this.#do(() => world.call("POST", "/api/v1/groups", { name: "Club", slug: "club" }));
    const groups = { default: { pct: null, hold: null }, club: { pct: null, hold: null } };
    const group = "default";
    const changes: Change[] = [];
    for (const { slug, pct, method, status } of PARTNERS) {
      const email = `${slug}@partners.example`;
      const input = { slug, email, commission_pct: pct, payout_method: method, payout_email: email };
      const id = String((await this.#do(() => world.call("POST", "/api/v1/partners", input))).body["id"]);
      if (status !== "invited") {
        await this.#do(() => world.call("PATCH", `/api/v1/partners/${id}`, { status }));
        changes.push({ at: time.now, undo: { partner: [slug, { status: "invited", pct, called: slug, group }] } });
      }
      if (method === "provider_a") await this.#onboard(id);
      this.#ids[slug] = id;
      partners[slug] = { status, pct, called: slug, group, email };
    }
    for (const cron of ["* * * * *", "17 3 * * *", "23 0 1 * *"]) await this.#do(() => world.cron(cron));
    const billing = { self_billing: "on", payer_name: "Shop", payer_address: "Here", payer_country: "DE" };
    // The version before refuses settings that it does not know.
    await this.#do(async () => void (await world.call("PATCH", "/api/v1/programs/me", billing)));
    const books = {
      purchases: {},
      sales: {},
      remembered: [],
      learned: [],
      ended: [],
      erased: { customers: [], addresses: {} },
      judgements: {},
      rows: [],
      payouts: [],
      files: [],
      held: {},
    };
    const settings = {
      pct: 20,
      attribution: "last" as const,
      auto_approve_days: null,
      min_payout_cents: 0,
      payout_currency: null,
      rates: null,
      groups,
      default_group: group,
      flows: [],
      changes,
      months: [],
    };
    this.#states = [{ partners, ...books, ...settings }];
  }

  /** Both accounts of the vendor know the partner's, so that a second transfer would be made. */
  async #onboard(id: string): Promise<void> {
    await this.#do(() => this.#world.call("POST", `/api/v1/partners/${id}/provider-a-account`, {}));
    // The account is new, but each link to it starts a hold (OUT-24). The version before has no such route.
    await this.#do(async () => void (await this.#world.call("POST", `/api/v1/partners/${id}/release-hold`)));
    for (const [account, known] of this.#world.vendors[0]!.accounts) {
      known.state = "active";
      this.#world.vendors[1]!.accounts.set(account, known);
    }
  }

  async step(step: Step, withSums: boolean): Promise<void> {
    const chance = mainChance(step);
    const world = this.#world;
    if (chance.happens(0.5)) world.calmVendor();
    time.advance(chance.happens(0.1) ? chance.whole(1, 12) * DAY : chance.whole(1_000, 7_200_000));
    this.#begin(step);
    const operations = this.#choose(step, chance);
    const began = time.now;
    this.#endpoint.begin(began);
    const stamp = new Date(began).toISOString();
    for (const { text } of operations) this.story.push(`${stamp} ${text}`);
    const { replies, failed } = await this.#carryOut(operations, step, chance);
    // The crons finish the work that faults or jobs left.
    const goesOn = operations.some((one) => one.goesOn);
    const isCron = goesOn || failed || operations.some(({ text }) => text.startsWith("cron "));
    const states = isCron ? withPayoutsEnded(this.#states, operations, began) : this.#states;
    let candidates = candidatesAfter(states, operations, replies, failed, began);
    if (failed || goesOn) candidates = afterCrons(candidates, await this.#mend(), operations, replies);
    const again = chanceOf(step, "again");
    for (const [i, operation] of operations.entries()) {
      // Callers without an answer repeat, and sometimes others do.
      const { status } = replies[i]!;
      const isWanted = again?.happens(status >= 500 ? 0.6 : status < 300 ? 0.15 : 0);
      const isAgain = isWanted || (status >= 500 && operation.insists);
      if (!operation.again || !isAgain) continue;
      candidates = await this.#again(operation, status, candidates);
    }
    this.#endpoint.end(operations.some(({ switches }) => switches));
    for (const [i, { arrived }] of operations.entries()) if (replies[i]!.status < 300) arrived?.();
    await this.#compare(
      candidates.map(({ state }) => state),
      withSums,
    );
    if (withSums) await this.#compareClicks(false);
  }

  /** Events before any request: at the vendors, and in the machine. */
  #begin(step: Step): void {
    const happening = chanceOf(step, "happening");
    if (happening?.happens(0.55)) {
      this.story.push(`     ${this.#vendors.happen(happening, settledIn(this.#states[0]!))}`);
    }
    // The platform evicts idle objects.
    if (chanceOf(step, "eviction")?.happens(0.3)) this.#world.evict();
    const renewal = chanceOf(step, "renewal");
    const { hasBefore } = this.#world;
    if (!renewal?.happens(hasBefore ? 0.15 : 0.03)) return;
    const [objects, isBefore] = [renewal.happens(0.5), hasBefore && renewal.happens(0.5)];
    this.#world.renew(objects, isBefore);
    if (hasBefore) this.story.push(`     ${isBefore ? "the version before" : "this version"} is deployed`);
  }

  #choose(step: Step, chance: Chance): Operation[] {
    const scene: Scene = {
      world: this.#world,
      vendors: this.#vendors,
      state: this.#states[0]!,
      ids: this.#ids,
      isBeside: false,
      near: null,
      nearPayout: null,
      isFreeing: false,
    };
    const operations = [choose(scene, chance)];
    const { sales, payout = null, frees = false, meets = false, goesOn, isAlone } = operations[0]!;
    if (goesOn || isAlone) return operations;
    // Two at once mostly meet on one purchase.
    const second = chanceOf(step, "second");
    if (second?.happens(frees ? 0.8 : meets ? 0.6 : 0.4)) {
      const [near = null] = second.happens(0.7) ? sales : [];
      operations.push(choose({ ...scene, isBeside: true, near, nearPayout: payout, isFreeing: frees }, second));
    }
    return operations;
  }

  /** Concurrent operations, beside visitors and alarms, with faults; returns whether one happened. */
  async #carryOut(operations: Operation[], step: Step, chance: Chance): Promise<{ replies: Reply[]; failed: boolean }> {
    const { turns, clicks, crash } = this.#world;
    const come = chanceOf(step, "visits");
    const visits = Array.from({ length: come?.happens(0.5) ? come.whole(1, 3) : 0 }, () =>
      this.#visitors.choose(this.#world, come!),
    );
    for (const { text } of visits) this.story.push(`     ${text}`);
    const [fail, go] = [chanceOf(step, "faults"), chanceOf(step, "crash")];
    const isGone = go?.happens(operations.some(({ claims }) => claims) ? 0.15 : 0.04) ?? false;
    const luck: Luck = {
      chance,
      faults: fail?.happens(0.25) ? fail.whole(1, 3) : 0,
      crash: isGone ? { after: go!.whole(1, 12), happens: crash } : null,
    };
    this.#visitors.note(this.#world);
    const failedBefore = turns.failed;
    // The cron finds objects that have flushed once.
    const isKnown = (name: string) =>
      this.#world.databases.some((one) => one.look("select 1 from click_objects where name = ?", name).length > 0);
    const isLost = (name: string) => fail?.happens(0.05) === true && isKnown(name);
    clicks.isGone = isLost;
    const alarms = () => clicks.ring(time.now, isLost);
    const replies = await turns.drive<Reply | void>(
      [...operations.map(({ run }) => run), ...visits.map(({ run }) => run), alarms],
      luck,
    );
    this.#visitors.note(this.#world);
    const failed = turns.failed - failedBefore;
    if (failed > 0) this.story.push(`     with ${failed} calls that fail`);
    else if (replies.slice(operations.length, -1).some((reply) => reply?.status !== 202)) {
      throw new Wrong([`a click is refused, and nothing has failed: ${JSON.stringify(replies)}`]);
    }
    return { replies: operations.map((_, i) => replies[i] ?? UNANSWERED), failed: failed > 0 };
  }

  /** Once every click is in the log, it and its counts are compared. The crons handle abandoned clicks. */
  async #compareClicks(isLast: boolean): Promise<void> {
    const { clicks, databases } = this.#world;
    clicks.isGone = () => false;
    for (let i = 0; i < 5 && clicks.waiting(databases) > 0; i++) {
      time.advance(120_000);
      await this.#do(() => clicks.ring(time.now, () => false));
    }
    const waiting = clicks.waiting(databases);
    if (waiting > 0 && !isLast) return;
    const found = this.#visitors.differences(this.#world);
    if (waiting > 0) found.push(`${waiting} clicks are left over`);
    if (found.length > 0) throw new Wrong(found);
  }

  /** The crons' repair after a fault. Jobs run side by side: one may leave a payment to the next minute's settling. */
  async #mend(): Promise<number> {
    time.advance(61_000);
    for (let i = 0; i < 3; i++) await this.#do(() => this.#world.cron("* * * * *"));
    const isLeft = () => this.#world.database.look(UNSETTLED).length > 0;
    for (let i = 0; i < 3 && isLeft(); i++) {
      time.advance(61_000);
      await this.#do(() => this.#world.cron("* * * * *"));
    }
    return time.now;
  }

  /** The same request under the same key: done once, even if the first failed. */
  async #again(operation: Operation, before: number, candidates: Candidate[]): Promise<Candidate[]> {
    this.story.push(`     ${operation.text}: asked again`);
    const [reply] = await this.#world.turns.drive([operation.again!], this.#quiet);
    if (before < 300 && reply!.status !== before) {
      throw new Wrong([
        `${operation.text}: ${before}, and asked again ${reply!.status} ${JSON.stringify(reply!.body)}`,
      ]);
    }
    if (reply!.status >= 300) return candidates;
    return candidates.flatMap((one) => {
      if (!one.applied.includes(operation)) return finish(one, operation, time.now);
      // A broken generation continues with the partners that are due by now.
      const goesOn = operation.generates && before >= 500;
      return goesOn ? [one, ...finish({ state: one.state, applied: [] }, operation, time.now)] : [one];
    });
  }

  async #compare(states: State[], withSums: boolean): Promise<void> {
    const shown = await readShown(this.#ask, this.#ids);
    const hidden = this.#hidden();
    let nearest: string[] = ["the model has no such outcome"];
    const good: State[] = [];
    for (const state of distinct(states)) {
      follow(state, shown, time.now);
      const found = [...differences(state, shown), ...hidden(state)];
      if (found.length === 0) good.push(state);
      else if (nearest.length > found.length || nearest[0]!.startsWith("the model")) nearest = found;
    }
    const broken = lawsOf(this.#world, this.#endpoint);
    if (good.length === 0) throw new Wrong([...nearest, ...broken]);
    const { database, program } = this.#world;
    this.#states = bestKnown(distinct(good), database, program.id).slice(0, MAX_STATES);
    if (withSums) broken.push(...(await sumDifferences(this.#states[0]!, this.#ask, this.#ids)));
    if (broken.length > 0) throw new Wrong(broken);
  }

  /** Hidden state distinguishes states that look alike: stored events, finished months, settings. */
  #hidden(): (state: State) => string[] {
    const { database, databases, program } = this.#world;
    const all = <Row>(sql: string) => database.look<Row>(sql);
    const stored = new Set(
      databases
        .flatMap((one) => one.look<{ id: string }>("select event_id as id from provider_events"))
        .map(({ id }) => id),
    );
    const months = all<{ id: string }>(`select period_end as id from payout_runs where program_id = '${program.id}'`);
    const flows = all<Flow>("select id, name, priority, active from flows order by created_at, id");
    const partners = all<{ slug: string }>("select slug, status, commission_pct as pct from partners order by slug");
    const [settings] = all(
      `select default_commission_pct as pct, attribution, auto_approve_days, min_payout_cents, payout_currency
        from programs where id = '${program.id}'`,
    );
    const groups = all<{ slug: string }>(
      `select g.slug, g.commission_pct as pct, g.hold_days as hold, g.id = p.default_group_id as isDefault
        from groups g join programs p on p.id = g.program_id where p.id = '${program.id}' order by g.slug`,
    );
    const filesOf = openFiles(database, program.id, this.#ids);
    const real = JSON.stringify([[...stored].toSorted(), months.length, flows, partners, settings, groups]);
    return (state) => {
      for (const flow of state.flows) {
        const id = flows.find(({ name }) => name === flow.name)?.id;
        if (id !== undefined) flow.id = id;
      }
      const reported = JSON.stringify([
        state.learned.toSorted(),
        state.months.length,
        state.flows.map(({ id, name, priority, active }) => ({ id, name, priority, active: Number(active) })),
        Object.values(state.partners)
          .map(({ called: slug, status, pct }) => ({ slug, status, pct }))
          .toSorted((one, other) => (one.slug < other.slug ? -1 : 1)),
        {
          pct: state.pct,
          attribution: state.attribution,
          auto_approve_days: state.auto_approve_days,
          min_payout_cents: state.min_payout_cents,
          payout_currency: state.payout_currency,
        },
        groupsOf(state)
          .toSorted()
          .map((slug) => {
            const { pct, hold } = state.groups[slug]!;
            return { slug, pct, hold, isDefault: Number(slug === state.default_group) };
          }),
      ]);
      const found = reported === real ? [] : [`stored: ${real}`, `not stored: ${reported}`];
      return [...found, ...filesOf(state)];
    };
  }

  /** At the end every possible webhook is sent, and no other. */
  async end(): Promise<void> {
    const world = this.#world;
    world.refusals.length = 0;
    world.loseMessages();
    await this.#do(() => world.call("PATCH", `/api/v1/webhooks/${world.endpoint_id}`, { active: true }));
    const open = () => world.database.look("select id from deliveries where status in ('pending', 'delivering')");
    for (let i = 0; i < 60 && (i === 0 || open().length > 0); i++) {
      time.advance(i < 20 ? 60_000 : 3_600_000);
      await this.#do(() => world.cron("* * * * *"));
      await this.#do(() => world.consume(null));
    }
    const reported = new Set(world.received.map(({ id }) => id));
    // If an attempt's record is lost, the receiver may have it though all later attempts fail.
    const problems = world.database
      .look<{ id: string; event_id: string; status: string; attempts: number; taken: number }>(
        `select d.id, d.event_id, d.status, count(a.number) as attempts, count(*) filter (where a.status_code = 200) as taken
          from deliveries d left join delivery_attempts a on a.delivery_id = d.id
          where d.status in ('succeeded', 'failed') group by d.id`,
      )
      .filter(({ event_id, status, attempts, taken }) =>
        status === "succeeded" ? taken !== 1 || !reported.has(event_id) : taken > 0 || attempts < MAX_DELIVERY_ATTEMPTS,
      )
      .map(
        (row) =>
          `a delivery is not what its attempts were: ${JSON.stringify(row)}, at the receiver: ${reported.has(row.event_id)}`,
      );
    problems.push(...open().map((row) => `a delivery is left over: ${JSON.stringify(row)}`));
    if (problems.length > 0) throw new Wrong(problems);
    await this.#compareClicks(true);
  }
}

const UNSETTLED = "select id from payments where settled_revision <> facts_revision";

/** Purchases that are paid, in a payout, or owed: any change shows in the books. */
function settledIn({ rows }: State): string[] {
  return rows.flatMap(({ sale, payout, kind }) => (payout !== null || kind === "clawback" ? [sale] : []));
}
