/** The platform fails or is silent during `npm run deploy`: its last lines are true, and the same command resumes. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { describe, it } from "node:test";
import { inReadyWorld } from "../dev/platform/migrated.ts";
import {
  assertTrue,
  AT_A_TERMINAL_TO_WORKERS_DEV,
  IN_CI_TO_A_DOMAIN,
  MIGRATIONS,
  running,
  stateOf,
} from "../dev/platform/ways.ts";
import { inWorld, WORKER } from "../dev/platform/world.ts";

const WAY = IN_CI_TO_A_DOMAIN;

/** The process of wrangler, a child of this process. */
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
});
