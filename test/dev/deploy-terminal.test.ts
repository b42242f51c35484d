/** `npm run deploy` at a real terminal, after `wrangler login`: wrangler has the terminal too, and asks what it has to. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { HAS_TERMINAL, type Typed } from "./platform/terminal.ts";
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
      assert.equal(first.code, 1, first.screen);
      assert.match(first.screen, /The new version runs, but/);
      assert.match(first.screen, /Run the same command again: it goes on from here\.\s*$/);
      assert.deepEqual(world.account.domains, []);
      assert.equal(world.account.script(WORKER).crons.length, 3);

      const second = await world.deployAtTerminal([DOMAIN_ASKED, [CONFLICT, "y"]]);
      assert.equal(second.code, 0, second.screen);
      assert.deepEqual(
        world.account.domains.map(({ hostname, service }) => [hostname, service]),
        [[DOMAIN, WORKER]],
      );
      assert.match(second.screen, /https:\/\/affiliates\.example\.com\/healthz answers: the service runs\.\s*$/);
      assert.ok(!second.screen.includes("ADMIN_TOKEN, which opens"));
      assert.deepEqual(world.platform.unknown, []);
    }));

  it("says that nobody is logged in, and how to", () =>
    inWorld(async (world) => {
      world.isLoggedIn = false;
      const { code, screen } = await world.deployAtTerminal([]);
      assert.equal(code, 1);
      assert.match(screen, /Nobody is logged in: run npx wrangler login, or set CLOUDFLARE_API_TOKEN/);
      assert.deepEqual(world.platform.calls, []);
    }));
});
