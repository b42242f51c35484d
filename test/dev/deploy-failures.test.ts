/**
 * `npm run deploy` where the platform fails: the same command goes on from what there is, the Worker is never ahead of its
 * schema (DEP-4), and the last lines are true.
 */
import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { PlayedAccount } from "./platform/account.ts";
import { inWorld, SMALL_WORKER, WORKER, type Ended, type World } from "./platform/world.ts";
import { ROOT } from "./process.ts";

const DOMAIN = "affiliates.example.com";
const MIGRATIONS = (await readdir(join(ROOT, "migrations"))).filter((name) => name.endsWith(".sql"));

const inReadyWorld = (walk: (world: World) => Promise<void>) =>
  inWorld(async (world) => {
    world.account.addZone("example.com");
    await world.configure(
      (text) => text.replace(/^# routes = .*$/m, `routes = [{ pattern = "${DOMAIN}", custom_domain = true }]`),
      SMALL_WORKER,
    );
    await walk(world);
  });

/** Which version takes requests. */
const running = ({ account }: World): string | null =>
  account.scripts.get(WORKER)?.deployments[0]?.versions[0]?.version_id ?? null;

/** The sentences of which exactly one ends a deploy that failed, and when each is true. */
const TRUE_WHEN: [RegExp, (world: World, before: Before) => boolean][] = [
  [/^Nothing was changed\./m, ({ account }, before) => JSON.stringify(account.state()) === before.state],
  [/^No version was deployed, and none runs yet\./m, (world) => running(world) === null],
  [/the version before runs on\./m, (world, { version }) => version !== null && running(world) === version],
  [/^The new version runs, but/m, (world, { version }) => running(world) !== null && running(world) !== version],
  [/^It could not be looked up which version runs/m, () => true],
];

interface Before {
  state: string;
  version: string | null;
}

const stateOf = (world: World): Before => ({ state: JSON.stringify(world.account.state()), version: running(world) });

/** What holds after every deploy, whatever failed in it. */
function assertTrue(world: World, before: Before, { code, printed }: Ended): void {
  const text = printed.join("\n");
  if (running(world) !== null) {
    assert.deepEqual(world.account.database(WORKER).applied, MIGRATIONS.toSorted(), "code ahead of its schema");
  }
  const said = TRUE_WHEN.filter(([sentence]) => sentence.test(text));
  assert.equal(said.length, code === 0 ? 0 : 1, text);
  for (const [sentence, isTrue] of said) assert.ok(isTrue(world, before), `${sentence}\n${text}`);
  if (code === 0) assert.ok(world.isHealthy(`https://${DOMAIN}`), text);
  else assert.match(text, /^(?:Run the same command again: it goes on|Nothing was changed\. Run the same command)/m);
}

/** Calls of a run with a number: the first two of a kind, as a migration of many files is the same call many times. */
function kindsOf(calls: readonly string[]): string[] {
  const seen = new Map<string, number>();
  return calls.map((call) => {
    const times = (seen.get(call) ?? 0) + 1;
    seen.set(call, times);
    return `${call} ${Math.min(times, 2)}`;
  });
}

/**
 * Deploys until it ends well, from an empty account and then over what runs, until nothing is left that could fail. Every
 * kind of call fails once, at its first place; a run goes on from what the one before left.
 */
async function failEach(how: "failWhen" | "loseWhen", only: RegExp): Promise<string[]> {
  const failed = new Set<string>();
  for (let hits = -1; hits !== failed.size;) {
    hits = failed.size;
    await inReadyWorld(async (world) => {
      await failUntilWell(world, failed, how, only);
      await failUntilWell(world, failed, how, only);
    });
  }
  return [...failed];
}

/** Deploys until it ends well; in each run the first call that has not failed yet does. */
async function failUntilWell(world: World, failed: Set<string>, how: "failWhen" | "loseWhen", only: RegExp) {
  for (;;) {
    let hit: string | null = null;
    world.platform.calls = [];
    world.platform[how] = (call, place) => {
      const kind = kindsOf(world.platform.calls)[place] ?? "";
      if (hit !== null || failed.has(kind) || !only.test(call)) return false;
      hit = kind;
      failed.add(kind);
      return true;
    };
    const before = stateOf(world);
    const ended = await world.deployInCi();
    assertTrue(world, before, ended);
    assert.deepEqual(world.platform.unknown, []);
    assert.ok(hit !== null || ended.code === 0, ended.printed.join("\n"));
    if (ended.code === 0) return;
  }
}

describe("npm run deploy, where the platform fails", () => {
  it("goes on after the refusal of any call, and says what is true (DEP-6)", { timeout: 900_000 }, async () => {
    const failed = await failEach("failWhen", /./);
    const kinds = new Set(failed.map((kind) => kind.replace(/ \d$/, "")));
    for (const [method, path] of [
      ["POST", "d1/database"],
      ["POST", "d1/database/:id/query"],
      ["POST", "queues"],
      ["POST", `workers/scripts/${WORKER}/assets-upload-session`],
      ["POST", "workers/assets/upload"],
      ["PUT", `workers/scripts/${WORKER}`],
      ["POST", `workers/scripts/${WORKER}/versions`],
      ["POST", `workers/scripts/${WORKER}/deployments`],
      ["PUT", `workers/scripts/${WORKER}/schedules`],
      ["PUT", `workers/scripts/${WORKER}/domains/records`],
      ["POST", "queues/:id/consumers"],
    ]) {
      assert.ok(kinds.has(`${method} /accounts/:id/${path}`), path);
    }
  });

  it("goes on after any change of which the answer was lost", { timeout: 900_000 }, async () => {
    const failed = await failEach("loseWhen", /^(?:POST|PUT|PATCH) (?!.*changeset)/);
    assert.ok(failed.length >= 10, failed.join("\n"));
  });

  it("imports what the platform does not take as a query, and goes on after a failed import", () =>
    inReadyWorld(async (world) => {
      world.account.addDatabase(WORKER).knowsTriggers = false;
      world.platform.failWhen = (call) => call.endsWith("/import");
      const before = stateOf(world);
      const first = await world.deployInCi();
      assert.equal(first.code, 1);
      assertTrue(world, before, first);
      world.platform.failWhen = () => false;
      const second = await world.deployInCi();
      assert.equal(second.code, 0, second.printed.join("\n"));
      assert.deepEqual(world.account.database(WORKER).applied, MIGRATIONS.toSorted());
      assert.ok(world.platform.calls.some((call) => call.endsWith("/import")));
    }));

  it("does not take wrangler's exit code for it that no migration is left: the database is asked", () =>
    inReadyWorld(async (world) => {
      world.account.addDatabase(WORKER).failsQuietly = true;
      const before = stateOf(world);
      const ended = await world.deployInCi();
      assert.equal(ended.code, 1);
      assertTrue(world, before, ended);
      assert.ok(
        ended.printed.some((line) => line.startsWith(`${WORKER} still has migrations to apply: 0000_initial.sql`)),
      );
      assert.equal(running(world), null);
    }));

  it("says that it does not know what runs, where the platform is gone during the upload", () =>
    inReadyWorld(async (world) => {
      let isGone = false;
      world.platform.failWhen = (call) => (isGone ||= call === `PUT /accounts/:id/workers/scripts/${WORKER}`);
      const { code, printed } = await world.deployInCi();
      assert.equal(code, 1);
      assert.ok(printed.some((line) => line.startsWith("It could not be looked up which version runs")));
      assert.equal(printed.at(-1), "Run the same command again: it goes on from here.");
    }));

  it("leaves the version before where the script is not taken as an asset, and goes on", () =>
    inReadyWorld(async (world) => {
      const isUpload = (call: string) => call === "POST /accounts/:id/workers/assets/upload";
      world.platform.failWhen = isUpload;
      const before = stateOf(world);
      const first = await world.deployInCi();
      assert.equal(first.code, 1);
      assertTrue(world, before, first);
      // Wrangler tries for half a minute.
      assert.ok(world.platform.calls.filter(isUpload).length > 1);
      world.platform.failWhen = () => false;
      assert.equal((await world.deployInCi()).code, 0);
      assert.deepEqual(Object.keys(world.account.runningVersion(WORKER)?.assets?.files ?? {}), ["/service.js"]);
    }));

  it("names the permission that the domain lacked, with the new version running", () =>
    inReadyWorld(async (world) => {
      world.platform.granted = ["Account Settings: Read", "D1: Edit", "DNS: Read", "Queues: Edit"];
      world.platform.granted.push("Workers Scripts: Edit", "Zone: Read");
      const { code, printed } = await world.deployInCi();
      assert.equal(code, 1);
      assert.ok(printed.some((line) => line.startsWith("The new version runs, but")));
      assert.equal(printed.at(-1), "The token lacks a permission: Zone, Workers Routes: Edit.");
      world.platform.granted.push("Workers Routes: Edit");
      const again = await world.deploy(null);
      assert.deepEqual([again.code, again.printed.at(-1)], [0, `https://${DOMAIN}/healthz answers: the service runs.`]);
    }));

  it("shows made secrets, and says which of them were not set", () =>
    inReadyWorld(async (world) => {
      world.platform.failWhen = (call) => call === "POST /accounts/:id/queues";
      const { code, printed } = await world.deploy(["", ""]);
      assert.equal(code, 1);
      assert.ok(printed.includes("Not set yet, and asked for again: ADMIN_TOKEN, ENCRYPTION_KEY."));
      world.platform.failWhen = (call) => call.endsWith("/schedules");
      const partly = await world.deploy(["", ""]);
      assert.ok(partly.printed.some((line) => line.startsWith("The new version runs, but")));
      assert.ok(!partly.printed.some((line) => line.startsWith("Not set yet")));
      world.platform.failWhen = () => false;
      const last = await world.deploy([]);
      assert.deepEqual([last.code, last.asked], [0, []]);
    }));

  it("reports an address that does not answer, with a way back only where a version was before", () =>
    inReadyWorld(async (world) => {
      world.platform.accounts.push(new PlayedAccount("Another"));
      world.answers = () => false;
      const first = await world.deploy(["1"], `--secrets-file=${world.secretsFile}`);
      assert.equal(first.code, 1);
      assert.ok(first.printed.includes(`https://${DOMAIN}/healthz does not answer 200.`));
      assert.match(first.printed.at(-1) ?? "", /^The version is deployed\. Look again in some minutes/);
      assert.ok(!first.printed.some((line) => line.includes("rollback")));
      const second = await world.deploy(["1"]);
      assert.match(second.printed.at(-1) ?? "", /npx wrangler rollback --env=/);
      assert.deepEqual(world.waits, [600, 60]);
    }));
});
