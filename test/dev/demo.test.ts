/** The whole journey in the real runtime, with a real D1, Queue and Durable Object: `npm run demo` on its own. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { freePort } from "../../src/dev/local-service.ts";
import { runScript } from "./process.ts";

describe("npm run demo", () => {
  it("finds every step as expected", async () => {
    // A free port, so that it starts a service of its own.
    const demo = runScript("src/dev/demo.ts", { PORT: String(await freePort()) });
    const code = await demo.ended;
    const printed = `${demo.printed.out}${demo.printed.err}`;
    const [, expected, all] = /^(\d+) of (\d+) steps as expected\.$/m.exec(demo.printed.out) ?? [];
    assert.equal(expected, all, printed);
    assert.ok(Number(all) >= 20, printed);
    assert.equal(demo.printed.err, "");
    assert.equal(code, 0);
  });

  it("ends with 1 and shows what differs where the service is not what it says", async () => {
    const demo = runScript("src/dev/demo.ts", { BASE_URL: "http://localhost:1", ADMIN_TOKEN: "x" });
    assert.equal(await demo.ended, 1);
    assert.match(demo.printed.out, /^ 1 ✗ The service answers\n {5}expected: GET \/healthz is 200 ok\n {5}but: /m);
  });
});
