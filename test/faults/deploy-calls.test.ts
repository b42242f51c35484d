/** `npm run deploy` where each call of the platform fails once, in each way: it goes on from what there is (DEP-4, DEP-6). */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  assertTrue,
  AT_A_TERMINAL_TO_WORKERS_DEV,
  EACH,
  failEach,
  IN_CI_TO_A_DOMAIN,
  isChange,
  LOST,
  MIGRATIONS,
  STAGING_TO_A_DOMAIN_WITH_MAIL,
  stateOf,
} from "../dev/platform/ways.ts";
import { inWorld, WORKER } from "../dev/platform/world.ts";

const WAY = IN_CI_TO_A_DOMAIN;

/** Each of these calls, without the account's part of its path, is among those that failed. */
function assertFailed(failed: string[], calls: string[]): void {
  for (const call of calls) {
    const path = call.replace(" ", " /accounts/:id/");
    assert.ok(
      failed.some((name) => name.startsWith(`${path} `)),
      `${path} is not in:\n${failed.join("\n")}`,
    );
  }
}

/** The changes of the Worker by a deploy over an empty account, and by one over a running version. */
const CHANGES = (worker: string) => [
  "POST d1/database",
  "POST queues",
  `POST workers/scripts/${worker}/assets-upload-session`,
  "POST workers/assets/upload",
  `PUT workers/scripts/${worker}`,
  `POST workers/scripts/${worker}/versions`,
  `POST workers/scripts/${worker}/deployments`,
  `PATCH workers/scripts/${worker}/script-settings`,
  `POST workers/scripts/${worker}/subdomain`,
  `PUT workers/scripts/${worker}/schedules`,
  "POST queues/:id/consumers",
  "PUT queues/:id/consumers/:id",
];

describe("npm run deploy, where a call of the platform fails", () => {
  it("goes on after the refusal of any call, and says what is true (DEP-6)", { timeout: 1_800_000 }, async () => {
    // Every migration fails in deploy-migrations.test.ts.
    const failed = await failEach(WAY, ({ detail }) =>
      MIGRATIONS.includes(detail) ? null : { how: "refused", is_done: false },
    );
    assertFailed(failed, [
      ...CHANGES(WORKER),
      "POST d1/database/:id/query",
      `PUT workers/scripts/${WORKER}/domains/records`,
    ]);
  });

  it("goes on after any change of which the answer was lost", { timeout: 1_800_000 }, async () => {
    const failed = await failEach(WAY, (taken, nth) => (isChange(taken) ? LOST[nth % LOST.length]! : null));
    assertFailed(failed, [...CHANGES(WORKER), `PUT workers/scripts/${WORKER}/domains/records`]);
  });

  it(
    "goes on from each failure at a terminal, on the way to the workers.dev name",
    { timeout: 1_800_000 },
    async () => {
      const ofName = (call: string) => call.includes("/workers/subdomain");
      const failed = await failEach(AT_A_TERMINAL_TO_WORKERS_DEV, (taken, nth) =>
        isChange(taken) || ofName(taken.call) ? EACH[nth % EACH.length]! : null,
      );
      const names = ["GET workers/subdomain", "GET workers/subdomains/somebody", "PUT workers/subdomain"];
      assertFailed(failed, [...CHANGES(WORKER), ...names]);
    },
  );

  it(
    "goes on from each failure of staging on its own domain, with mail, which is no reason to fail",
    {
      timeout: 1_800_000,
    },
    async () => {
      let ofMail = false;
      const failed = await failEach(
        STAGING_TO_A_DOMAIN_WITH_MAIL,
        (taken, nth) => {
          ofMail = taken.call.includes("/email/sending/");
          return isChange(taken) || ofMail ? EACH[(nth + 5) % EACH.length]! : null;
        },
        ({ printed }) =>
          assert.equal(
            printed.some((line) => line.startsWith("E-mail: could not")),
            ofMail,
          ),
      );
      const { worker } = STAGING_TO_A_DOMAIN_WITH_MAIL;
      assertFailed(failed, [...CHANGES(worker), `PUT workers/scripts/${worker}/domains/records`]);
      assertFailed(failed, ["GET email/sending/zones"]);
      assert.ok(failed.some((name) => name.startsWith("GET /zones/:id/email/sending/subdomains")));
    },
  );

  it("leaves the version before where the script is not taken as an asset, and goes on", () =>
    inWorld(async (world) => {
      await WAY.ready(world);
      const isUpload = (call: string) => call === "POST /accounts/:id/workers/assets/upload";
      world.platform.failWhen = isUpload;
      const before = stateOf(world, WAY);
      const first = await world.deployInCi();
      assert.equal(first.code, 1);
      assertTrue(world, WAY, before, first);
      // Wrangler tries for half a minute.
      assert.ok(world.platform.calls.filter(isUpload).length > 1);
      world.platform.failWhen = () => false;
      assert.equal((await world.deployInCi()).code, 0);
      const files = Object.keys(world.account.runningVersion(WORKER)?.assets?.files ?? {});
      assert.ok(["/service.js", "/docs.html"].every((file) => files.includes(file)));
    }));
});
