/**
 * `npm run deploy` at a real terminal, after `wrangler login`: wrangler has the terminal too, and asks its own
 * questions.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { endsWith, HAS_TERMINAL, type Typed } from "./platform/terminal.ts";
import { inWorld, WORKER } from "./platform/world.ts";

const DOMAIN = "affiliates.example.com";

const DOMAIN_ASKED: Typed = ["Domain for the service", `${DOMAIN}\r`];
const CONFLICT = "Update them to point to this script instead?";

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

  it("says that nobody is logged in, and how to", () =>
    inWorld(async (world) => {
      world.isLoggedIn = false;
      const { code, screen } = await world.deployAtTerminal([]);
      assert.equal(code, 1);
      assert.match(screen, /You are not logged in: run npx wrangler login, or set CLOUDFLARE_API_TOKEN/);
      assert.deepEqual(world.platform.calls, []);
    }));
});
