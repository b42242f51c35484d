/**
 * `npm run deploy` when a migration fails, or the command is ended in it: the next run resumes there, and the schema
 * ends as that of a deploy without failures (DEP-4, DEP-6).
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  assertEndsAsAnother,
  failInMigrations,
  inReadyWorld,
  killInMigrations,
  REFUSED_AND_LOST,
} from "./platform/migrated.ts";
import { assertTrue, IN_CI_TO_A_DOMAIN as WAY, MIGRATIONS, stateOf } from "./platform/ways.ts";
import { WORKER } from "./platform/world.ts";

// The others fail in test/faults/deploy-migrations.test.ts.
const NEWEST = MIGRATIONS.length - 1;

describe("npm run deploy, where the newest migration fails", () => {
  it("goes on from it, refused or with its answer lost", { timeout: 1_800_000 }, () =>
    failInMigrations(REFUSED_AND_LOST.map((fault) => [NEWEST, fault])),
  );

  it("goes on from it, killed before it was done and after", { timeout: 1_800_000 }, () => killInMigrations([NEWEST]));
});

describe("npm run deploy, where it is ended", () => {
  it("ends wrangler, leaves no file behind and says what is true", { timeout: 1_800_000 }, () =>
    inReadyWorld(async (world) => {
      const script = `/accounts/:id/workers/scripts/${WORKER}`;
      for (const [name, is_done, signal, said] of [
        ["GET /accounts/:id/queues", false, "SIGTERM", /^GET .* got no answer: The command was ended \(SIGTERM\)\.$/m],
        [MIGRATIONS[0]!, false, "SIGTERM", /^No version was deployed, and none is running yet\./m],
        [MIGRATIONS[0]!, true, "SIGINT", /^No version was deployed, and none is running yet\./m],
        [`PUT ${script}`, false, "SIGHUP", /^No version was deployed, and none is running yet\./m],
        [`PUT ${script}`, true, "SIGTERM", /^The new version is running, but/m],
        [`POST ${script}/deployments`, false, "SIGINT", /the previous version keeps running\./m],
      ] as const) {
        const before = stateOf(world, WAY);
        const { pid, ended } = world.startInCi();
        const meanwhile = () => void process.kill(pid, signal);
        world.platform.faultAt = ({ call, detail }) =>
          call === name || detail === name ? { how: "hangs", is_done, meanwhile } : null;
        const { code, printed } = await ended;
        assert.equal(code, 1, printed);
        assert.match(printed, said);
        assertTrue(world, WAY, before, { code, printed: printed.split("\n") });
        assert.deepEqual(await world.filesLeft(), []);
      }
      await assertEndsAsAnother(world);
    }),
  );
});
