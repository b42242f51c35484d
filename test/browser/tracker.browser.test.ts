import assert from "node:assert/strict";
import { after, afterEach, before, describe, it } from "node:test";
import {
  expectClicks as expectClicksOf,
  PROGRAM,
  runOn,
  runUntil,
  SCRIPT,
  scriptTag,
  SHOP,
  startTrackerWorld,
  until,
  type TrackerWorld,
  type Visitor,
} from "./tracker-world.ts";

const DAY = 86_400;

let world: TrackerWorld;
let visitor: Visitor;

before(async () => {
  world = await startTrackerWorld();
});
after(() => world.close());

/** Every test ends with this check of the page's exceptions. */
afterEach(async () => {
  await visitor.context.close();
  assert.deepEqual(visitor.thrown, []);
  world.reset();
});

async function visit(path: string, origin = SHOP): Promise<void> {
  visitor ??= await world.visitor();
  await visitor.page.goto(origin + path);
}

async function newVisit(path: string, html?: string, origin = SHOP): Promise<void> {
  visitor = await world.visitor();
  if (html !== undefined) world.html = () => html;
  await visit(path, origin);
}

/** A visit whose page has a clock that the test runs. */
async function newTimedVisit(path: string): Promise<void> {
  visitor = await world.visitor();
  await visitor.page.clock.install();
  await visit(path);
}

const expectClicks = (count: number) => expectClicksOf(world, visitor, count);

const inDays = (expires: number) => (expires - Date.now() / 1000) / DAY;

describe("an arrival with a reference (TRACK-2)", () => {
  it("is kept on the registrable domain, found by trying, and reported once", async () => {
    await newVisit("/pricing?ref=Jane_1&x=1");
    await expectClicks(1);
    const { service_ref, ...others } = await visitor.cookies();
    assert.equal(service_ref?.value, "Jane_1");
    assert.equal(service_ref?.domain, ".example.co.uk");
    assert.equal(service_ref?.sameSite, "Lax");
    assert.equal(service_ref?.secure, false, "a plain http page cannot keep a secure cookie");
    assert.ok(Math.abs(inDays(service_ref?.expires ?? 0) - 60) < 0.01);
    assert.deepEqual(Object.keys(others), ["service_hit"]);
    const { id, ...click } = world.clicks[0]!;
    assert.deepEqual(click, { program_id: PROGRAM, ref: "Jane_1", landing: "/pricing", referrer: "" });
    assert.match(id, /^[A-Za-z0-9._-]{1,64}$/);
    assert.deepEqual(world.contentTypes, ["text/plain;charset=UTF-8"], "no preflight");
    assert.equal(await visitor.getRef(), "Jane_1");
  });

  it("shows where the visitor came from", async () => {
    world.html = (url) => (url.pathname === "/blog" ? `<a href="${SHOP}/?ref=jane">go</a>` : scriptTag());
    visitor = await world.visitor();
    await visit("/blog", "http://blog.test");
    await visitor.page.click("a");
    await expectClicks(1);
    assert.equal(world.clicks[0]?.referrer, "http://blog.test/");
  });

  it("is a secure cookie on an https page (TRACK-14)", async () => {
    visitor = await world.visitor();
    await visitor.context.route(/^https:/, (route) => {
      const { hostname, pathname } = new URL(route.request().url());
      if (hostname === "service.test" && pathname === "/service.js") {
        return route.fulfill({ contentType: "text/javascript", body: SCRIPT });
      }
      if (pathname === "/click") return route.fulfill({ status: 202, headers: { "access-control-allow-origin": "*" } });
      return route.fulfill({ contentType: "text/html", body: scriptTag().replace("http:", "https:") });
    });
    await visitor.page.goto("https://www.example.co.uk/?ref=jane");
    const { service_ref, service_hit } = await visitor.cookies();
    assert.deepEqual([service_ref?.value, service_ref?.domain, service_ref?.secure], ["jane", ".example.co.uk", true]);
    assert.equal(service_ref?.sameSite, "Lax");
    assert.equal(service_hit?.secure, true);
  });

  it("keeps to hosts that share no registrable domain: an address, a public suffix's customer", async () => {
    visitor = await world.visitor();
    await visit("/?ref=jane", `http://127.0.0.1:${world.port}`);
    assert.equal(await visitor.getRef(), "jane");
    await visit("/?ref=joe", "http://owner.github.io");
    assert.equal(await visitor.getRef(), "joe");
    const domains = (await visitor.context.cookies())
      .filter(({ name }) => name === "service_ref")
      .map(({ domain }) => domain);
    assert.deepEqual(domains.toSorted(), [".owner.github.io", "127.0.0.1"]);
  });

  it("leaves no cookie behind from the trying", async () => {
    await newVisit("/?ref=jane");
    assert.deepEqual(Object.keys(await visitor.cookies()).toSorted(), ["service_hit", "service_ref"]);
  });

  for (const [query, sub] of [
    ["?ref=jane&sub=news-1", "news-1"],
    ["?sub=news-1&ref=jane", "news-1"],
    ["?ref=jane&sub=a%20b", undefined],
    [`?ref=jane&sub=${"a".repeat(65)}`, undefined],
  ] as const) {
    it(`reports the sub-id with the click, never with the reference: ${query.slice(0, 30)} (TRACK-19)`, async () => {
      await newVisit(`/${query}`);
      await expectClicks(1);
      assert.equal(world.clicks[0]?.sub, sub);
      assert.equal(await visitor.getRef(), "jane");
    });
  }

  for (const [query, ref] of [
    ["?ref=jane", "jane"],
    ["?via=joe", "joe"],
    ["?via=joe&ref=jane", "jane"],
    ["?ref=not%20a%20slug&via=joe", "joe"],
    ["?x=ref&ref=jane#ref=joe", "jane"],
    [`?ref=${"a".repeat(64)}`, "a".repeat(64)],
    ["?ref=-_-", "-_-"],
  ] as const) {
    it(`reads ${query.slice(0, 40)}`, async () => {
      await newVisit(`/${query}`);
      await expectClicks(1);
      assert.equal(world.clicks[0]?.ref, ref);
      assert.equal(await visitor.getRef(), ref);
    });
  }

  for (const query of [
    "",
    "?ref=",
    "?ref=%3Cscript%3E",
    `?ref=${"a".repeat(65)}`,
    "?href=jane",
    "?my-ref=jane",
    "?ref=j%C3%A4ne",
  ]) {
    it(`finds nothing in ${query.slice(0, 40) || "an address without a query"} (TRACK-3)`, async () => {
      await newVisit(`/${query}`);
      await expectClicks(0);
      assert.equal(await visitor.getRef(), null);
      assert.deepEqual(await visitor.cookies(), {});
    });
  }

  it("takes another parameter with data-param, and then only that (TRACK-11)", async () => {
    await newVisit("/?ref=jane&aff=joe", scriptTag('data-param="aff"'));
    await expectClicks(1);
    assert.equal(await visitor.getRef(), "joe");
    await newVisit("/?ref=jane");
    assert.equal(await visitor.getRef(), null);
  });

  // The link parameters of other products, as the import page shows them.
  for (const [data_param, query] of [
    ["via", "?via=joe"],
    ["fpr|ref", "?fpr=joe"],
    ["fpr|ref", "?utm_source=x&ref=joe&service_click=k1"],
    ["a_aid|ref", "?a_aid=joe&a_bid=9f2c"],
    ["afmc|ref", "?afmc=joe"],
    ["_from|ref", "?_from=joe"],
  ] as const) {
    it(`keeps links with ${query} working by data-param="${data_param}"`, async () => {
      await newVisit(`/${query}`, scriptTag(`data-param="${data_param}"`));
      await expectClicks(1);
      assert.equal(world.clicks[0]?.ref, "joe");
      assert.equal(await visitor.getRef(), "joe");
    });
  }

  it("finds none of the names of data-param within a longer one", async () => {
    await newVisit("/?xfpr=jane&refs=jane&my-ref=jane", scriptTag('data-param="fpr|ref"'));
    await expectClicks(0);
    assert.equal(await visitor.getRef(), null);
  });

  it("lasts for data-cookie-days (TRACK-11)", async () => {
    await newVisit("/?ref=jane", scriptTag('data-cookie-days="7"'));
    const { service_ref } = await visitor.cookies();
    assert.ok(Math.abs(inDays(service_ref?.expires ?? 0) - 7) < 0.01);
  });

  it("survives to other pages and subdomains, where it is no click", async () => {
    await newVisit("/?ref=jane");
    await expectClicks(1);
    await visit("/next");
    await visit("/", "http://checkout.example.co.uk");
    assert.equal(await visitor.getRef(), "jane");
    await expectClicks(1);
  });

  it("reports long addresses cut, so that the report is never too long", async () => {
    await newVisit(`/${"p".repeat(3000)}?ref=jane`);
    await expectClicks(1);
    assert.equal(world.clicks[0]?.landing.length, 1024);
  });
});

describe("one click per arrival (TRACK-12)", () => {
  it("does not report a reload within 30 minutes, and does after", async () => {
    await newVisit("/?ref=jane");
    await expectClicks(1);
    await visitor.page.reload();
    await visit("/?ref=jane");
    await expectClicks(1);
    const { service_hit } = await visitor.cookies();
    assert.ok(Math.abs((service_hit?.expires ?? 0) - Date.now() / 1000 - 1800) < 600);
    await visitor.context.clearCookies({ name: "service_hit" });
    await visit("/?ref=jane");
    await expectClicks(2);
    assert.notEqual(world.clicks[0]?.id, world.clicks[1]?.id);
  });

  it("does not take a reload for an arrival after another partner's click in another tab", async () => {
    await newVisit("/?ref=jane");
    await expectClicks(1);
    const other = await visitor.context.newPage();
    await other.goto(`${SHOP}/?ref=joe`);
    await expectClicks(2);
    await visitor.page.reload();
    await expectClicks(2);
    assert.equal(await visitor.getRef(), "joe");
  });

  it("reports another reference, of which the first is only the beginning, too", async () => {
    await newVisit("/?ref=janet");
    await expectClicks(1);
    await visit("/?ref=jane");
    await expectClicks(2);
    assert.equal(await visitor.getRef(), "jane");
  });

  it("takes the id of a redirect link, which has counted the click already", async () => {
    await newVisit("/?ref=jane&service_click=AbC-123_x");
    await expectClicks(1);
    assert.equal(world.clicks[0]?.id, "AbC-123_x");
  });

  it("tries three times at most on a page when the click itself is refused, with the same id", async () => {
    world.answers = [422, 422, 422, 422];
    await newTimedVisit("/?ref=jane");
    await runUntil(visitor, () => world.clicks.length >= 3);
    await until(() => visitor.warnings.length > 0);
    await runOn(visitor);
    await visitor.arrived();
    assert.equal(world.clicks.length, 3);
    assert.equal(new Set(world.clicks.map(({ id }) => id)).size, 1);
  });

  it("sends a first visitor's click again on the next page, with the same id, where no answer came", async () => {
    world.answers = [503];
    await newVisit("/?ref=jane");
    await until(() => world.clicks.length === 1);
    await visit("/next");
    await expectClicks(2);
    assert.equal(world.clicks[0]?.id, world.clicks[1]?.id);
    assert.equal(await visitor.getRef(), "jane");
    await visit("/next");
    await expectClicks(2);
  });

  it("tries again with the same id when the service refuses or cannot be reached, and stops when it is taken", async () => {
    world.answers = [503, 0];
    await newTimedVisit("/?ref=jane");
    await runUntil(visitor, () => world.clicks.length >= 3);
    await expectClicks(3);
    await runOn(visitor);
    await expectClicks(3);
    assert.equal(new Set(world.clicks.map(({ id }) => id)).size, 1);
  });
});

describe("attribution: the last click wins, unless data-attribution says first (TRACK-11)", () => {
  it("last: the later reference replaces the earlier", async () => {
    await newVisit("/?ref=jane");
    await expectClicks(1);
    await visit("/?ref=joe");
    await expectClicks(2);
    assert.equal(await visitor.getRef(), "joe");
  });

  it("first: the earlier stays, and the later click is reported anyway", async () => {
    await newVisit("/?ref=jane", scriptTag('data-attribution="first"'));
    await expectClicks(1);
    const before = (await visitor.cookies())["service_ref"];
    await visit("/?ref=joe");
    await expectClicks(2);
    assert.equal(await visitor.getRef(), "jane");
    assert.deepEqual((await visitor.cookies())["service_ref"], before);
  });

  it("a referenceless visit changes nothing", async () => {
    await newVisit("/?ref=jane");
    await expectClicks(1);
    await visit("/");
    assert.equal(await visitor.getRef(), "jane");
    await expectClicks(1);
  });
});

describe('data-consent="required" keeps nothing until Service.consent() is called, nor after Service.revoke() (TRACK-5)', () => {
  const say = (what: "consent" | "revoke") =>
    visitor.page.evaluate(
      (name) => (globalThis as unknown as { Service: Record<typeof name, () => void> }).Service[name](),
      what,
    );
  const consent = () => say("consent");

  it("keeps and sends nothing before, the arrival as it was after, and once", async () => {
    await newVisit("/landing?ref=jane", scriptTag('data-consent="required"'));
    await expectClicks(0);
    assert.deepEqual(await visitor.cookies(), {});
    assert.equal(await visitor.getRef(), null);
    assert.equal(await visitor.page.evaluate(() => localStorage.length + sessionStorage.length), 0);
    await visitor.page.evaluate(() => history.pushState(null, "", "/elsewhere"));
    await consent();
    await consent();
    await expectClicks(1);
    assert.equal(world.clicks[0]?.landing, "/landing");
    assert.equal(await visitor.getRef(), "jane");
  });

  it("given on a page without a reference, or ahead of an arrival, is not an error", async () => {
    await newVisit("/", scriptTag('data-consent="required"'));
    await consent();
    await expectClicks(0);
    await visitor.page.evaluate(() => history.pushState(null, "", "/?ref=jane"));
    await expectClicks(1);
  });

  it("given on a later page finds what came with an earlier one, once", async () => {
    await newVisit("/landing?ref=jane", scriptTag('data-consent="required"'));
    await visit("/prices");
    await visit("/about");
    await expectClicks(0);
    assert.deepEqual(await visitor.cookies(), {});
    await consent();
    await expectClicks(1);
    assert.equal(world.clicks[0]?.landing, "/landing");
    assert.equal(await visitor.getRef(), "jane");
    await visit("/prices");
    await consent();
    await expectClicks(1);
  });

  it("given late finds it beyond a page whose Referrer-Policy hides its address from the tab", async () => {
    world.headers = { "referrer-policy": "no-referrer" };
    await newVisit("/", scriptTag('data-consent="required"'));
    world.headers = {};
    await visit("/landing?ref=jane");
    await visit("/prices");
    await consent();
    await expectClicks(1);
    assert.equal(world.clicks[0]?.landing, "/landing");
    assert.equal(await visitor.getRef(), "jane");
  });

  it("given late takes no reference from another site's address", async () => {
    await newVisit("/", scriptTag('data-consent="required"'));
    await visit("/?ref=jane", "http://other.test");
    await visit("/prices");
    await consent();
    await expectClicks(0);
    assert.equal(await visitor.getRef(), null);
  });

  it("is taken back by Service.revoke(): nothing is left, and nothing is kept or sent until consent", async () => {
    await newVisit("/?ref=jane");
    await expectClicks(1);
    await say("revoke");
    assert.deepEqual(await visitor.cookies(), {});
    assert.equal(await visitor.getRef(), null);
    await visitor.page.evaluate(() => history.pushState(null, "", "/?ref=joe"));
    await expectClicks(1);
    assert.deepEqual(await visitor.cookies(), {});
    await consent();
    await expectClicks(2);
    assert.equal(await visitor.getRef(), "joe");
  });

  it("taken back while a click waits for its answer keeps nothing of it, and does not send it again", async () => {
    let answer = () => {};
    world.delay = () => new Promise<void>((resolve) => (answer = resolve));
    world.answers = [503];
    await newTimedVisit("/?ref=jane");
    await until(() => world.clicks.length === 1);
    await say("revoke");
    const answered = visitor.page.waitForEvent("requestfinished");
    answer();
    await answered;
    await runOn(visitor);
    await visitor.arrived();
    assert.equal(world.clicks.length, 1);
    assert.deepEqual(await visitor.cookies(), {});
  });
});
