/**
 * `npm run deploy` at a real terminal, after `wrangler login`: wrangler has the terminal too, and asks its own
 * questions.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { HAS_TERMINAL, type Typed } from "./platform/terminal.ts";
import { inWorld, WORKER } from "./platform/world.ts";
import { MIGRATIONS } from "./platform/ways.ts";

const DOMAIN = "affiliates.example.com";

const CTRL_C = "\x03";
const CTRL_D = "\x04";

const DOMAIN_ASKED: Typed = ["Domain for the service", `${DOMAIN}\r`];
const CONFLICT = "Update them to point to this script instead?";

function endsWith({ code, screen }: { code: number | null; screen: string }, wanted: number) {
  assert.equal(code, wanted, `ended with ${code}, not ${wanted}: ${screen.slice(-600)}`);
}

describe("npm run deploy at a terminal", { skip: !HAS_TERMINAL && "there is no script of util-linux" }, () => {
  it("deploys from an empty account; an address that leads elsewhere is replaced only if the person says so", () =>
    inWorld(async (world) => {
      world.account.addZone("example.com");
      world.account.zoneOf(DOMAIN)?.records.push({ name: DOMAIN, type: "CNAME", content: "shop.example.net" });
      const first = await world.deployAtTerminal([
        DOMAIN_ASKED,
        ["ADMIN_TOKEN, which opens", "\r"],
        ["ENCRYPTION_KEY, base64", "\r"],
        [CONFLICT, "n"],
      ]);
      endsWith(first, 1);
      assert.match(first.screen, /The new version is running, but/);
      assert.match(first.screen, /Run the same command again: it continues from here\.\s*$/);
      assert.deepEqual(world.account.domains, []);
      assert.equal(world.account.script(WORKER).crons.length, 3);

      const second = await world.deployAtTerminal([DOMAIN_ASKED, [CONFLICT, "y"]]);
      endsWith(second, 0);
      assert.deepEqual(
        world.account.domains.map(({ hostname, service }) => [hostname, service]),
        [[DOMAIN, WORKER]],
      );
      assert.match(second.screen, /https:\/\/affiliates\.example\.com\/healthz answers: the service runs\.\s*$/);
      assert.ok(!second.screen.includes("ADMIN_TOKEN, which opens"));
      assert.deepEqual(world.platform.unknown, []);

      // Another tool has changed the Worker, and the person, asked by wrangler, keeps the change.
      world.account.script(WORKER).last_deployed_from = "api";
      const version = world.account.runningVersion(WORKER)?.id;
      const third = await world.deployAtTerminal([["Would you like to continue?", "n"]]);
      endsWith(third, 1);
      assert.match(third.screen, /No new version was deployed: the previous version keeps running\./);
      assert.equal(world.account.runningVersion(WORKER)?.id, version);
    }));

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

  it("says that nobody is logged in, and how to", () =>
    inWorld(async (world) => {
      world.isLoggedIn = false;
      const { code, screen } = await world.deployAtTerminal([]);
      assert.equal(code, 1);
      assert.match(screen, /You are not logged in: run npx wrangler login, or set CLOUDFLARE_API_TOKEN/);
      assert.deepEqual(world.platform.calls, []);
    }));
});
