/** A signal or the person ends `npm run deploy`: its last lines are true, and the next run succeeds (DEP-6). */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { assertEndsAsAnother, inReadyWorld } from "../dev/platform/migrated.ts";
import { CTRL_C, CTRL_D, endsWith, HAS_TERMINAL, type Typed } from "../dev/platform/terminal.ts";
import { assertTrue, IN_CI_TO_A_DOMAIN as WAY, MIGRATIONS, stateOf } from "../dev/platform/ways.ts";
import { inWorld, WORKER } from "../dev/platform/world.ts";

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

describe("npm run deploy at a terminal", { skip: !HAS_TERMINAL && "there is no script of util-linux" }, () => {
  it("is ended by the person at a question, in a migration or in the upload, and says what is true", () =>
    inWorld(async (world) => {
      const nothing = JSON.stringify(world.account.state());
      const domain: Typed = ["Domain for the service", "\r"];
      const atQuestions: Typed[][] = [
        [["Domain for the service", CTRL_C]],
        [domain, ["ADMIN_TOKEN, which opens", CTRL_D]],
      ];
      for (const typed of atQuestions) {
        const ended = await world.deployAtTerminal(typed);
        endsWith(ended, 1);
        assert.match(ended.screen, /The question was not answered\.\s+Nothing was changed\./);
        assert.equal(JSON.stringify(world.account.state()), nothing);
      }

      const secrets: Typed[] = [
        ["ADMIN_TOKEN, which opens", "\r"],
        ["ENCRYPTION_KEY, base64", "\r"],
      ];
      const meanwhile = () => world.press(CTRL_C);
      world.platform.faultAt = ({ detail }) =>
        detail === MIGRATIONS[0] ? { how: "hangs", is_done: true, meanwhile } : null;
      const name: Typed = ["no workers.dev name yet", "somebody\r"];
      const first = await world.deployAtTerminal([domain, ...secrets, name]);
      endsWith(first, 1);
      assert.match(first.screen, /No version was deployed, and none is running yet\./);
      assert.match(first.screen, /Not set yet, and asked for again: ADMIN_TOKEN, ENCRYPTION_KEY\./);
      assert.match(first.screen, /Run the same command again: it continues from here\.\s*$/);
      assert.deepEqual(world.account.database(WORKER).applied, MIGRATIONS.slice(0, 1));

      const script = `/accounts/:id/workers/scripts/${WORKER}`;
      world.platform.faultAt = ({ call }) =>
        call === `PUT ${script}` ? { how: "hangs", is_done: true, meanwhile } : null;
      const second = await world.deployAtTerminal([domain, ...secrets]);
      endsWith(second, 1);
      assert.match(second.screen, /The new version is running, but/);
      assert.deepEqual(await world.filesLeft(), []);

      world.platform.faultAt = ({ call }) =>
        call === `POST ${script}/subdomain` ? { how: "refused", is_done: false } : null;
      const third = await world.deployAtTerminal([]);
      endsWith(third, 1);
      assert.match(third.screen, /The new version is running, but/);

      world.platform.faultAt = () => null;
      const last = await world.deployAtTerminal([]);
      endsWith(last, 0);
      assert.match(last.screen, /somebody\.workers\.dev\/healthz answers: the service runs\.\s*$/);
      assert.deepEqual(world.platform.unknown, []);
    }));
});
