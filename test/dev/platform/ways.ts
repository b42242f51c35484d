/** The ways to deploy whose every call is made to fail, and the invariants after each deploy. */
import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { ROOT } from "../process.ts";
import type { Fault } from "./fault.ts";
import type { TakenCall } from "./platform.ts";
import { ADMIN, inWorld, KEY, WORKER, type Ended, type World } from "./world.ts";

export const MIGRATIONS = (await readdir(join(ROOT, "migrations"))).filter((name) => name.endsWith(".sql")).toSorted();

/** A way to deploy. */
export interface Way {
  worker: string;
  /** The address of the service after the deploy. */
  origin: string;
  /** Prepares the account and wrangler.toml. */
  ready: (world: World) => Promise<void>;
  deploy: (world: World) => Promise<Ended>;
}

const ROUTE = (domain: string) => `routes = [{ pattern = "${domain}", custom_domain = true }]`;

export const IN_CI_TO_A_DOMAIN: Way = {
  worker: WORKER,
  origin: "https://affiliates.example.com",
  ready: async (world) => {
    world.account.addZone("example.com");
    await world.configure((text) => text.replace(/^# routes = .*$/m, ROUTE("affiliates.example.com")));
  },
  deploy: (world) => world.deployInCi(),
};

/** The account has no name below workers.dev yet; the person is asked again for unset values. */
export const AT_A_TERMINAL_TO_WORKERS_DEV: Way = {
  worker: WORKER,
  origin: `https://${WORKER}.somebody.workers.dev`,
  ready: (world) => world.configure((text) => `${text}\n`),
  deploy: (world) => world.deploy(answerTo),
};

const ANSWERS: [RegExp, string][] = [
  [/^Domain for the service/, ""],
  [/^ADMIN_TOKEN/, ADMIN],
  [/^ENCRYPTION_KEY/, KEY],
  [/^The account has no workers\.dev name yet/, "somebody"],
];

function answerTo(question: string): string {
  const found = ANSWERS.find(([asked]) => asked.test(question));
  assert.ok(found, question);
  return found[1];
}

export const STAGING_TO_A_DOMAIN_WITH_MAIL: Way = {
  worker: `${WORKER}-staging`,
  origin: "https://staging.example.com",
  ready: async (world) => {
    world.account.addZone("example.com");
    world.account.sendingDomains.push("mail.example.com");
    await world.configure((text) => {
      const [production = "", staging = ""] = text.split(/^\[env\.staging\]\nroutes = \[\]$/m);
      const mail =
        '[[env.staging.send_email]]\nname = "EMAIL"\n\n[env.staging.vars]\nEMAIL_FROM = "a@mail.example.com"';
      return `${production}[env.staging]\n${ROUTE("staging.example.com")}${staging.replace("[env.staging.vars]", mail)}`;
    });
  },
  deploy: (world) => world.deployInCi("--env=staging"),
};

/** The version that receives requests. */
export const running = ({ account }: World, { worker }: Way): string | null =>
  account.runningVersion(worker)?.id ?? null;

export interface Before {
  state: string;
  version: string | null;
}

export const stateOf = (world: World, way: Way): Before => ({
  state: JSON.stringify(world.account.state()),
  version: running(world, way),
});

/** The sentences of which exactly one ends a deploy that failed, and when each is true. */
const TRUE_WHEN: [RegExp, (account: World["account"], before: Before, now: string | null) => boolean][] = [
  [/^Nothing was changed\./m, (account, { state }) => JSON.stringify(account.state()) === state],
  [/^No version was deployed, and none is running yet\./m, (_, _1, now) => now === null],
  [/the previous version keeps running\./m, (_, { version }, now) => version !== null && now === version],
  [/^The new version is running, but/m, (_, { version }, now) => now !== null && now !== version],
  [/^Could not look up which version is running/m, () => true],
];

/** The invariants after every deploy, failed or not. */
export function assertTrue(world: World, way: Way, before: Before, { code, printed }: Pick<Ended, "code" | "printed">) {
  const text = printed.join("\n");
  const now = running(world, way);
  if (now !== null) {
    assert.deepEqual(world.account.database(way.worker).applied, MIGRATIONS, "code ahead of its schema");
  }
  const said = TRUE_WHEN.filter(([sentence]) => sentence.test(text));
  assert.equal(said.length, code === 0 ? 0 : 1, text);
  for (const [sentence, isTrue] of said) assert.ok(isTrue(world.account, before, now), `${sentence}\n${text}`);
  if (code === 0) assert.ok(world.isHealthy(way.origin), text);
  else assert.match(text, /^(?:Run the same command again: it continues|Nothing was changed\. Run the same command)/m);
}

/** The failure of a call that has not failed yet; null if it succeeds. `nth` counts the failed ones. */
export type Chosen = (taken: TakenCall, nth: number) => Fault | null;

/**
 * Deploys until it succeeds, from an empty account and then over the running service, until every chosen call has
 * failed. Each fails once, at its first place and at its second; a run resumes from the state that the one before left.
 * Each account ends as the last, which had no failure. Gives the calls that failed.
 */
export async function failEach(way: Way, chosen: Chosen, check: (ended: Ended) => void = () => {}): Promise<string[]> {
  const failed = new Set<string>();
  const shapes: unknown[] = [];
  for (let hits = -1; hits !== failed.size;) {
    hits = failed.size;
    await inWorld(async (world) => {
      await way.ready(world);
      await failUntilWell(world, way, failed, chosen, check);
      await failUntilWell(world, way, failed, chosen, check);
      shapes.push(world.account.shape());
    });
  }
  for (const shape of shapes) assert.deepEqual(shape, shapes.at(-1));
  return [...failed];
}

/** Deploys until it ends well; in each run the first call that is chosen and has not failed yet does. */
async function failUntilWell(
  world: World,
  way: Way,
  failed: Set<string>,
  chosen: Chosen,
  check: (ended: Ended) => void,
): Promise<void> {
  for (;;) {
    let hit: string | null = null;
    const times = new Map<string, number>();
    world.platform.calls = [];
    world.platform.faultAt = (taken) => {
      const kind = `${taken.call} ${taken.detail}`.trim();
      times.set(kind, (times.get(kind) ?? 0) + 1);
      const name = `${kind} #${Math.min(times.get(kind)!, 2)}`;
      if (hit !== null || failed.has(name)) return null;
      const fault = chosen(taken, failed.size);
      if (!fault) return null;
      hit = `${name}: ${fault.how}, ${fault.is_done ? "done" : "not done"}`;
      failed.add(name);
      return fault;
    };
    const before = stateOf(world, way);
    const ended = await way.deploy(world);
    try {
      assertTrue(world, way, before, ended);
      check(ended);
      assert.deepEqual(world.platform.unknown, []);
      assert.ok(hit !== null || ended.code === 0, ended.printed.join("\n"));
    } catch (error) {
      throw new Error(`after ${hit ?? "no failure"}: ${(error as Error).message}`, { cause: error });
    }
    if (ended.code === 0) return;
  }
}

/** A call that changes the platform. */
export const isChange = ({ call }: TakenCall): boolean => /^(?:POST|PUT|PATCH) (?!.*(?:changeset|\/query$))/.test(call);

/** The answer of a completed call is lost, in each way in turn. Wrangler itself would wait for minutes. */
export const LOST: Fault[] = [
  { how: "refused", is_done: true },
  { how: "page", is_done: true },
  { how: "reset", is_done: true },
  { how: "broken", is_done: true },
  { how: "cut", is_done: true },
];

/** Every failure that ends within moments, with and without the effect of the call. */
export const EACH: Fault[] = [
  { how: "refused", is_done: false },
  { how: "too many", is_done: false },
  { how: "page", is_done: true },
  { how: "broken", is_done: false },
  { how: "reset", is_done: false },
  { how: "refused", is_done: true },
  { how: "page", is_done: false },
  { how: "reset", is_done: true },
  { how: "forbidding page", is_done: false },
  { how: "cut", is_done: false },
  { how: "broken", is_done: true },
  { how: "token revoked", is_done: false },
  { how: "cut", is_done: true },
  { how: "missing page", is_done: false },
];
