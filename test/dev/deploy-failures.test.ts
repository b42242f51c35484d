/**
 * `npm run deploy` when the platform fails: the same command resumes, the Worker is never ahead of its schema (DEP-4),
 * and the last lines are true.
 */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, it } from "node:test";
import { toolsOfThisMachine } from "../../src/dev/deploy/this-machine.ts";
import { PlayedAccount } from "./platform/account.ts";
import {
  assertTrue,
  AT_A_TERMINAL_TO_WORKERS_DEV,
  EACH,
  failEach,
  IN_CI_TO_A_DOMAIN,
  isChange,
  MIGRATIONS,
  running,
  stateOf,
} from "./platform/ways.ts";
import { inWorld, WORKER, type World } from "./platform/world.ts";

const WAY = IN_CI_TO_A_DOMAIN;

const inReadyWorld = (walk: (world: World) => Promise<void>) =>
  inWorld(async (world) => {
    await WAY.ready(world);
    await walk(world);
  });

/** The process of wrangler that this one started. */
function runningWrangler(): number {
  const { stdout } = spawnSync("ps", ["-A", "-o", "pid=,ppid=,args="], { encoding: "utf8" });
  const processes = stdout.split("\n").flatMap((line) => {
    const [, pid, parent, args = ""] = /^ *(\d+) +(\d+) (.*)$/.exec(line) ?? [];
    return pid === undefined ? [] : { pid: Number(pid), parent: Number(parent), args };
  });
  const below = (pid: number): typeof processes =>
    processes.filter(({ parent }) => parent === pid).flatMap((child) => [child, ...below(child.pid)]);
  const found = below(process.pid).find(({ args }) => args.includes("wrangler-dist/cli.js"));
  assert.ok(found, stdout);
  return found.pid;
}

describe("npm run deploy, where the platform fails", () => {
  it("goes on from failures of several kinds, and says what is true (DEP-6)", async () => {
    // Each call fails in test/faults/deploy-calls.test.ts.
    const failed = await failEach(WAY, (taken, nth) => (nth < 3 && isChange(taken) ? EACH[nth * 5]! : null));
    assert.equal(failed.length, 3);
  });

  it("waits no longer than a minute for the answer of a change, and goes on from it whether it was done or not", async () => {
    for (const [way, change] of [
      [IN_CI_TO_A_DOMAIN, "POST /accounts/:id/d1/database"],
      [AT_A_TERMINAL_TO_WORKERS_DEV, "PUT /accounts/:id/workers/subdomain"],
    ] as const) {
      for (const is_done of [false, true]) {
        await inWorld(async (world) => {
          await way.ready(world);
          world.patience = 2;
          world.platform.faultAt = ({ call }) => (call === change ? { how: "hangs", is_done } : null);
          const before = stateOf(world, way);
          const first = await way.deploy(world);
          assert.equal(first.code, 1, first.printed.join("\n"));
          assertTrue(world, way, before, first);
          assert.ok(first.printed.some((line) => line.endsWith("got no answer: none within 2 seconds")));
          world.patience = 60;
          world.platform.faultAt = () => null;
          const second = await way.deploy(world);
          assert.equal(second.code, 0, second.printed.join("\n"));
        });
      }
    }
  });

  it("does not take a wrangler that was killed for one that deployed", () =>
    inReadyWorld(async (world) => {
      assert.equal((await world.deployInCi()).code, 0);
      const before = stateOf(world, WAY);
      const isUpload = (call: string) => call === `POST /accounts/:id/workers/scripts/${WORKER}/versions`;
      world.platform.faultAt = ({ call }) =>
        isUpload(call)
          ? { how: "hangs", is_done: false, meanwhile: () => process.kill(runningWrangler(), "SIGKILL") }
          : null;
      const killed = await world.deployInCi();
      assert.equal(killed.code, 1, killed.printed.join("\n"));
      assertTrue(world, WAY, before, killed);
      assert.equal(running(world, WAY), before.version);
      world.platform.faultAt = () => null;
      assert.equal((await world.deployInCi()).code, 0);
    }));

  it("says where each request is still logged, because the platform did not take the setting", () =>
    inReadyWorld(async (world) => {
      assert.equal((await world.deployInCi()).code, 0);
      world.account.script(WORKER).observability = { enabled: true, logs: { invocation_logs: true } };
      world.platform.failWhen = (call) => call.startsWith("PATCH ");
      const before = stateOf(world, WAY);
      const first = await world.deployInCi();
      assert.equal(first.code, 1);
      assertTrue(world, WAY, before, first);
      assert.ok(first.printed.some((line) => line.startsWith("The platform did not take [observability.logs]")));
      world.platform.failWhen = () => false;
      assert.equal((await world.deployInCi()).code, 0);
      assert.deepEqual(world.account.script(WORKER).observability, { enabled: true, logs: { invocation_logs: false } });
    }));

  it("gives up an address that takes a request and never answers it", async () => {
    const server = createServer(() => {}).listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const tools = toolsOfThisMachine(new AbortController().signal);
    const began = Date.now();
    assert.equal(await tools.isHealthy(`http://127.0.0.1:${port}`, 1), false);
    assert.ok(Date.now() - began < 30_000);
    server.closeAllConnections();
    server.close();
  });

  it("imports what the platform does not take as a query, and goes on after a failed import", () =>
    inReadyWorld(async (world) => {
      world.account.addDatabase(WORKER).knowsTriggers = false;
      world.platform.failWhen = (call) => call.endsWith("/import");
      const before = stateOf(world, WAY);
      const first = await world.deployInCi();
      assert.equal(first.code, 1);
      assertTrue(world, WAY, before, first);
      world.platform.failWhen = () => false;
      const second = await world.deployInCi();
      assert.equal(second.code, 0, second.printed.join("\n"));
      assert.deepEqual(world.account.database(WORKER).applied, MIGRATIONS);
      assert.ok(world.platform.calls.some((call) => call.endsWith("/import")));
    }));

  it("does not take wrangler's exit code for it that no migration is left: the database is asked", () =>
    inReadyWorld(async (world) => {
      world.account.addDatabase(WORKER).failsQuietly = true;
      const before = stateOf(world, WAY);
      const ended = await world.deployInCi();
      assert.equal(ended.code, 1);
      assertTrue(world, WAY, before, ended);
      assert.ok(
        ended.printed.some((line) => line.startsWith(`${WORKER} still has migrations to apply: ${MIGRATIONS[0]}`)),
      );
      assert.equal(running(world, WAY), null);
    }));

  it("says that it does not know what runs, where the platform is gone during the upload", () =>
    inReadyWorld(async (world) => {
      let isGone = false;
      world.platform.failWhen = (call) => (isGone ||= call === `PUT /accounts/:id/workers/scripts/${WORKER}`);
      const { code, printed } = await world.deployInCi();
      assert.equal(code, 1);
      assert.ok(printed.some((line) => line.startsWith("Could not look up which version is running")));
      assert.equal(printed.at(-1), "Run the same command again: it continues from here.");
    }));

  it("names the permission that the domain lacked, with the new version running", () =>
    inReadyWorld(async (world) => {
      world.platform.granted = ["Account Settings: Read", "D1: Edit", "DNS: Read", "Queues: Edit"];
      world.platform.granted.push("Workers Scripts: Edit", "Zone: Read");
      const { code, printed } = await world.deployInCi();
      assert.equal(code, 1);
      assert.ok(printed.some((line) => line.startsWith("The new version is running, but")));
      assert.equal(printed.at(-1), "The token lacks a permission: Zone, Workers Routes: Edit.");
      world.platform.granted.push("Workers Routes: Edit");
      const again = await world.deploy(null);
      assert.deepEqual([again.code, again.printed.at(-1)], [0, `${WAY.origin}/healthz answers: the service runs.`]);
    }));

  it("shows made secrets, and says which of them were not set", () =>
    inReadyWorld(async (world) => {
      world.platform.failWhen = (call) => call === "POST /accounts/:id/queues";
      const { code, printed } = await world.deploy(["", ""]);
      assert.equal(code, 1);
      assert.ok(printed.includes("Not set yet, and asked for again: ADMIN_TOKEN, ENCRYPTION_KEY."));
      world.platform.failWhen = (call) => call.endsWith("/schedules");
      const partly = await world.deploy(["", ""]);
      assert.ok(partly.printed.some((line) => line.startsWith("The new version is running, but")));
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
      assert.ok(first.printed.includes(`${WAY.origin}/healthz does not answer with 200.`));
      assert.match(first.printed.at(-1) ?? "", /^The version is deployed\. Check again in a few minutes/);
      assert.ok(!first.printed.some((line) => line.includes("rollback")));
      const second = await world.deploy(["1"]);
      assert.match(second.printed.at(-1) ?? "", /npx wrangler rollback --env=/);
      assert.deepEqual(world.waits, [600, 60]);
    }));
});
