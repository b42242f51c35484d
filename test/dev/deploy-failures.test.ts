/**
 * `npm run deploy` when the platform fails (further ways in test/faults): the same command resumes, the Worker is
 * never ahead of its schema (DEP-4), and the last lines are true.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, it } from "node:test";
import { toolsOfThisMachine } from "../../src/dev/deploy/this-machine.ts";
import { PlayedAccount } from "./platform/account.ts";
import { inReadyWorld } from "./platform/migrated.ts";
import {
  assertTrue,
  EACH,
  failEach,
  IN_CI_TO_A_DOMAIN,
  isChange,
  MIGRATIONS,
  running,
  stateOf,
} from "./platform/ways.ts";
import { WORKER } from "./platform/world.ts";

const WAY = IN_CI_TO_A_DOMAIN;

describe("npm run deploy, where the platform fails", () => {
  it("goes on from failures of several kinds, and says what is true (DEP-6)", async () => {
    // Each call fails in test/faults/deploy-calls.test.ts.
    const failed = await failEach(WAY, (taken, nth) => (nth < 3 && isChange(taken) ? EACH[nth * 5]! : null));
    assert.equal(failed.length, 3);
  });

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
