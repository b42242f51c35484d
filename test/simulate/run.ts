/** One simulated run: steps from a seed, each compared with the model; and the shortest list of steps that still fails. */
import { Chance } from "../faults/random.ts";
import type { Service } from "./bundle.ts";
import type { Call } from "./database.ts";
import { differences, follow, lawsOf, readShown, sumDifferences } from "./compare.ts";
import { choose, MINUTE, type Operation, type Scene } from "./operations.ts";
import type { Beside } from "./model-payouts.ts";
import { copyOf, keyOf, type Flow, type State } from "./model.ts";
import { time } from "./played-globals.ts";
import { Vendors } from "./vendors.ts";
import { World, type Reply } from "./world.ts";

/** What a run showed that should not be: the step at which it did, and all that happened until then. */
export interface Failure {
  step: number;
  problems: string[];
  story: string[];
}

const DAY = 86_400_000;
const QUIET = { chance: new Chance(0), faults: 0 };
/** Pages of sums are asked for so often; the laws and lists after every step. */
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

class Wrong extends Error {
  readonly problems: string[];

  constructor(problems: string[]) {
    super(problems[0] ?? "nothing");
    this.problems = problems;
  }
}

/** Where the model may be: the state, and which operations of the step it has seen. */
interface Candidate {
  state: State;
  applied: Operation[];
}

/**
 * Runs steps, each of which is a seed of its own. Null where all was as the model and the laws say. `onCall` is called for
 * every call of the database.
 */
export async function runSteps(
  make: () => Service,
  seed: number,
  steps: readonly number[],
  onCall: ((call: Call) => void) | null = null,
): Promise<Failure | null> {
  const world = new World(make(), seed);
  world.database.onCall = onCall;
  const run = new Run(world);
  let step = 0;
  try {
    await run.begin();
    for (; step < steps.length; step++) await run.step(steps[step]!, step % SUMS_EVERY === SUMS_EVERY - 1);
    await run.end();
    return null;
  } catch (error) {
    const problems = error instanceof Wrong ? error.problems : [String((error as Error).stack)];
    return { step, problems, story: run.story };
  }
}

class Run {
  readonly story: string[] = [];
  readonly #world: World;
  #vendors!: Vendors;
  readonly #ids: Record<string, string> = {};
  #states: State[] = [];

  constructor(world: World) {
    this.#world = world;
  }

  readonly #ask = async (path: string): Promise<Reply> => {
    const [reply] = await this.#world.turns.drive([() => this.#world.call("GET", path)], QUIET);
    return reply!;
  };

  async #do(operation: () => Promise<Reply | void>): Promise<Reply> {
    const [reply] = await this.#world.turns.drive([operation], QUIET);
    if (reply && reply.status >= 300) throw new Error(`unexpected: ${JSON.stringify(reply)}`);
    return reply ?? { status: 200, body: {} };
  }

  async begin(): Promise<void> {
    const world = this.#world;
    await world.open();
    this.#vendors = new Vendors(world.program.id);
    const partners: State["partners"] = {};
    for (const { slug, pct, method, status } of PARTNERS) {
      const email = `${slug}@partners.example`;
      const input = { slug, email, commission_pct: pct, payout_method: method, payout_email: email };
      const id = String((await this.#do(() => world.call("POST", "/api/v1/partners", input))).body["id"]);
      if (status !== "invited") await this.#do(() => world.call("PATCH", `/api/v1/partners/${id}`, { status }));
      if (method === "provider_a") await this.#onboard(id);
      this.#ids[slug] = id;
      partners[slug] = { status, pct, email };
    }
    for (const cron of ["* * * * *", "17 3 * * *", "23 0 1 * *"]) await this.#do(() => world.cron(cron));
    const books = {
      purchases: {},
      sales: {},
      remembered: [],
      learned: [],
      ended: [],
      judgements: {},
      rows: [],
      payouts: [],
    };
    const settings = { pct: 20, auto_approve_days: null, min_payout_cents: 0, flows: [], changes: [], months: [] };
    this.#states = [{ partners, ...books, ...settings }];
  }

  /** Both accounts of the vendor know the partner's, so that a second transfer would be made. */
  async #onboard(id: string): Promise<void> {
    await this.#do(() => this.#world.call("POST", `/api/v1/partners/${id}/provider-a-account`, {}));
    for (const [account, known] of this.#world.vendors[0]!.accounts) {
      known.state = "active";
      this.#world.vendors[1]!.accounts.set(account, known);
    }
  }

  async step(seed: number, withSums: boolean): Promise<void> {
    const chance = new Chance(seed);
    const world = this.#world;
    world.calmVendor();
    time.advance(chance.happens(0.1) ? chance.whole(1, 12) * DAY : chance.whole(1_000, 7_200_000));
    if (chance.happens(0.55)) this.story.push(`     ${this.#vendors.happen(chance)}`);
    const scene: Scene = {
      world,
      vendors: this.#vendors,
      state: this.#states[0]!,
      ids: this.#ids,
      near: null,
      nearPayout: null,
    };
    const operations = [choose(scene, chance)];
    // Two at once mostly meet on one purchase.
    if (chance.happens(0.4)) {
      const [near = null] = chance.happens(0.7) ? operations[0]!.sales : [];
      operations.push(choose({ ...scene, near, nearPayout: operations[0]!.payout ?? null }, chance));
    }
    const faults = chance.happens(0.25) ? chance.whole(1, 3) : 0;
    const began = time.now;
    const stamp = new Date(began).toISOString();
    for (const { text } of operations) this.story.push(`${stamp} ${text}`);
    const failedBefore = world.turns.failed;
    const replies = await world.turns.drive(
      operations.map(({ run }) => run),
      { chance, faults },
    );
    const failed = world.turns.failed - failedBefore;
    if (failed > 0) this.story.push(`     with ${failed} calls of the database that fail`);
    let candidates = candidatesAfter(this.#states, operations, replies, failed > 0, began);
    // What the faults left undone is done by the crons.
    if (failed > 0) candidates = afterCrons(candidates, await this.#mend(), operations);
    for (const [i, operation] of operations.entries()) {
      // Whoever has no answer asks again, and so does now and then somebody who had one.
      const { status } = replies[i]!;
      if (!operation.again || !chance.happens(status >= 500 ? 0.6 : status < 300 ? 0.15 : 0)) continue;
      candidates = await this.#again(operation, status, candidates);
    }
    for (const [i, { arrived }] of operations.entries()) if (replies[i]!.status < 300) arrived?.();
    await this.#compare(
      candidates.map(({ state }) => state),
      withSums,
    );
  }

  /** What the crons do about what a fault has left behind. */
  async #mend(): Promise<number> {
    time.advance(61_000);
    for (let i = 0; i < 3; i++) await this.#do(() => this.#world.cron("* * * * *"));
    return time.now;
  }

  /** The same request under the same key: done once, whatever happened to the first. */
  async #again(operation: Operation, before: number, candidates: Candidate[]): Promise<Candidate[]> {
    this.story.push(`     ${operation.text}: asked again`);
    const [reply] = await this.#world.turns.drive([operation.again!], QUIET);
    if (before < 300 && reply!.status !== before) {
      throw new Wrong([`${operation.text}: ${before}, and asked again ${reply!.status}`]);
    }
    if (reply!.status >= 300) return candidates;
    return candidates.flatMap(({ state, applied }) => {
      if (applied.includes(operation)) return [{ state, applied }];
      return operation.effects.flatMap((effect) => {
        const after = changed(state, effect, time.now);
        return after ? [{ state: after, applied: [...applied, operation] }] : [];
      });
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
    const broken = lawsOf(this.#world);
    if (good.length === 0) throw new Wrong([...nearest, ...broken]);
    this.#states = distinct(good).slice(0, MAX_STATES);
    if (withSums) broken.push(...(await sumDifferences(this.#states[0]!, this.#ask, this.#ids)));
    if (broken.length > 0) throw new Wrong(broken);
  }

  /** What no list shows distinguishes states that look alike: which events were stored, months done and settings made. */
  #hidden(): (state: State) => string[] {
    const { database, program } = this.#world;
    const all = <Row>(sql: string) => database.look<Row>(sql);
    const stored = all<{ id: string }>("select distinct event_id as id from provider_events order by 1");
    const months = all<{ id: string }>(`select period_end as id from payout_runs where program_id = '${program.id}'`);
    const flows = all<Flow>("select id, name, priority, active from flows order by created_at, id");
    const partners = all<{ slug: string }>("select slug, status, commission_pct as pct from partners order by slug");
    const [settings] = all(
      `select default_commission_pct as pct, auto_approve_days, min_payout_cents from programs where id = '${program.id}'`,
    );
    const real = JSON.stringify([stored.map(({ id }) => id), months.length, flows, partners, settings]);
    return (state) => {
      for (const flow of state.flows) {
        const id = flows.find(({ name }) => name === flow.name)?.id;
        if (id !== undefined) flow.id = id;
      }
      const reported = JSON.stringify([
        state.learned.toSorted(),
        state.months.length,
        state.flows.map(({ id, name, priority, active }) => ({ id, name, priority, active: Number(active) })),
        Object.entries(state.partners)
          .map(([slug, { status, pct }]) => ({ slug, status, pct }))
          .toSorted((one, other) => (one.slug < other.slug ? -1 : 1)),
        { pct: state.pct, auto_approve_days: state.auto_approve_days, min_payout_cents: state.min_payout_cents },
      ]);
      return reported === real ? [] : [`stored: ${real}`, `not stored: ${reported}`];
    };
  }

  /** In the end every webhook is sent that could be, and nothing else is. */
  async end(): Promise<void> {
    const world = this.#world;
    world.refusals.length = 0;
    const open = () => world.database.look("select id from deliveries where status in ('pending', 'delivering')");
    for (let i = 0; i < 60 && open().length > 0; i++) {
      time.advance(i < 20 ? 60_000 : 3_600_000);
      await this.#do(() => world.cron("* * * * *"));
      await this.#do(() => world.consume(null));
    }
    const reported = new Map(world.received.map(({ id, body }) => [id, body]));
    const problems = world.database
      .look<{ id: string; event_id: string; status: string; body: string | null }>(
        "select d.id, d.event_id, d.status, m.body from deliveries d join messages m on m.event_id = d.event_id",
      )
      .filter(({ event_id, status }) => (status === "succeeded") !== reported.has(event_id))
      .map(
        (row) =>
          `a delivery is ${row.status}, and the receiver ${reported.has(row.event_id) ? "has" : "lacks"} it: ${row.id}`,
      );
    problems.push(...open().map((row) => `a delivery is left over: ${JSON.stringify(row)}`));
    if (problems.length > 0) throw new Wrong(problems);
  }
}

const ALONE: Beside = { without: [], before: null };

/** A copy of the state with the effect; null where the rules refuse it. */
function changed(
  state: State,
  effect: Operation["effects"][number],
  now: number,
  beside: Beside = ALONE,
): State | null {
  const copy = copyOf(state);
  return effect(copy, now, beside) === false ? null : copy;
}

/**
 * Every state that the answers allow: one operation after the other in each order. One that was carried out is in it,
 * one that was refused changes nothing, and of one that failed nobody knows.
 */
function candidatesAfter(
  states: readonly State[],
  operations: readonly Operation[],
  replies: readonly Reply[],
  hasFailed: boolean,
  now: number,
): Candidate[] {
  const found: Candidate[] = [];
  const isAlone = operations.length === 1;
  for (const order of ordersOf([...operations.keys()])) {
    // Requests that begin at one moment carry one time; else the second is later. It matters to what is dated before.
    for (const tick of operations.some(({ generates }) => generates) && !isAlone ? [0, 1] : [0]) {
      for (const before of states) {
        let candidates: Candidate[] = [{ state: before, applied: [] }];
        for (const [place, i] of order.entries()) {
          const others = operations.filter((_, other) => other !== i).flatMap(({ sales }) => sales);
          const at = { before, hasFailed, others, now: now + place * tick };
          candidates = distinctly(candidates.flatMap((one) => afterOne(one, operations[i]!, replies[i]!, at)));
        }
        found.push(...candidates);
      }
    }
  }
  return found;
}

/** Crons alone, after all else; what changed just before may not be settled yet when they generate. */
function afterCrons(candidates: readonly Candidate[], now: number, before: readonly Operation[]): Candidate[] {
  const besides = [[], ...withoutSome(before.flatMap(({ sales }) => sales))];
  return distinctly(
    candidates.flatMap(({ state, applied }) =>
      MINUTE.flatMap((effect) =>
        besides.flatMap((without) => {
          const after = changed(state, effect, now, { without, before: null });
          return after ? [{ state: after, applied }] : [];
        }),
      ),
    ),
  );
}

/** What a generation may find unsettled of the purchases that change beside it. */
function withoutSome(others: readonly string[]): string[][] {
  return [[...others], ...(others.length < 6 ? others.map((one) => [one]) : [])];
}

function ordersOf(all: readonly number[]): number[][] {
  if (all.length < 2) return [[...all]];
  return all.flatMap((one) => ordersOf(all.filter((other) => other !== one)).map((rest) => [one, ...rest]));
}

interface Circumstances {
  /** The state in which the step began. */
  before: State;
  hasFailed: boolean;
  others: string[];
  now: number;
}

function afterOne(candidate: Candidate, operation: Operation, reply: Reply, at: Circumstances): Candidate[] {
  const { status } = reply;
  const { text, effects, arrived, generates } = operation;
  if (status >= 500 && !at.hasFailed) throw new Wrong([`${text}: ${status} ${JSON.stringify(reply.body)}`]);
  const isExpected =
    status < 300 || status >= 500 || (!arrived && (status === 409 || status === 404 || status === 422));
  if (!isExpected) throw new Wrong([`${text}: ${status} ${JSON.stringify(reply.body)}`]);
  const isBeside = generates && (at.others.length > 0 || candidate.applied.length > 0);
  const others = isBeside
    ? [
        ALONE,
        ...withoutSome(at.others).map((without) => ({ without, before: null })),
        { without: [], before: at.before },
      ]
    : [ALONE];
  const done = effects.flatMap((effect) => others.map((beside) => changed(candidate.state, effect, at.now, beside)));
  const applied = done.flatMap((state) => (state ? [{ state, applied: [...candidate.applied, operation] }] : []));
  const isCron = operation.text.startsWith("cron ");
  if (status < 300) return isCron && at.hasFailed ? [...applied, candidate] : applied;
  if (status >= 500) return [...applied, candidate];
  return applied.length === 0 || at.others.length > 0 ? [candidate] : [];
}

function distinct(states: readonly State[]): State[] {
  if (states.length < 2) return [...states];
  return [...new Map(states.map((state) => [keyOf(state), state])).values()];
}

function distinctly(candidates: readonly Candidate[]): Candidate[] {
  const key = ({ state, applied }: Candidate) =>
    `${applied
      .map(({ text }) => text)
      .toSorted()
      .join()} ${keyOf(state)}`;
  return [...new Map(candidates.map((one) => [key(one), one])).values()];
}

/** The shortest list of steps found that still fails, and how: steps are left out as long as it does. */
export async function shrink(
  make: () => Service,
  seed: number,
  steps: readonly number[],
  failure: Failure,
  hasTime: () => boolean,
): Promise<{ steps: number[]; failure: Failure }> {
  let best = { steps: steps.slice(0, failure.step + 1), failure };
  for (let size = Math.ceil(best.steps.length / 2); size >= 1;) {
    let isShorter = false;
    for (let at = 0; at < best.steps.length && hasTime();) {
      const fewer = best.steps.toSpliced(at, size);
      const failed = fewer.length < best.steps.length ? await runSteps(make, seed, fewer) : null;
      if (failed) {
        best = { steps: fewer.slice(0, failed.step + 1), failure: failed };
        isShorter = true;
      } else at += size;
    }
    if (!hasTime()) break;
    if (!isShorter || size > 1) size = size === 1 ? 0 : Math.floor(size / 2);
  }
  return best;
}
