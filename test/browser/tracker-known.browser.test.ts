/** TRACK-4: an unknown reference never displaces a known one. Noah is a partner, Product Hunt is not. */
import assert from "node:assert/strict";
import { after, afterEach, before, describe, it } from "node:test";
import {
  runOn,
  runUntil,
  scriptTag,
  SERVICE,
  SHOP,
  startTrackerWorld,
  until,
  type TrackerWorld,
  type Visitor,
} from "./tracker-world.ts";

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

async function begin(attributes = ""): Promise<void> {
  world.partners = ["noah", "joe", "jane"];
  world.html = () => scriptTag(attributes);
  visitor = await world.visitor();
}

/** The same, with a clock of the page that the test runs. */
async function beginTimed(): Promise<void> {
  await begin();
  await visitor.page.clock.install();
}

const visit = (path: string) => visitor.page.goto(SHOP + path);

async function kept(): Promise<{ ref: string | null; cookie: string | undefined }> {
  const { service_ref } = await visitor.cookies();
  return { ref: await visitor.getRef(), cookie: service_ref?.value };
}

/** Waits until the script holds the reference, in the page and in the cookie. */
async function becomes(ref: string): Promise<void> {
  await until(async () => (await kept()).cookie === ref);
  assert.deepEqual(await kept(), { ref, cookie: ref });
}

const settled = () => visitor.settled();

async function stays(ref: string): Promise<void> {
  assert.deepEqual(await kept(), { ref, cookie: ref });
}

/** Clicks, or those of one reference, wait for their answers until the returned function is called. */
function holdAnswers(of?: string): () => void {
  const gate = Promise.withResolvers<void>();
  world.delay = ({ ref }) => (of === undefined || ref === of ? gate.promise : 0);
  return gate.resolve;
}

const sent = () => world.clicks.map(({ ref }) => ref);

describe("?ref=noah, then ?ref=producthunt (TRACK-4)", () => {
  it("noah stays once the answer says that the other leads to nobody; both clicks are reported once", async () => {
    await begin();
    await visit("/?ref=noah");
    await settled();
    await visit("/?ref=producthunt");
    await stays("noah");
    await settled();
    await stays("noah");
    await visit("/next");
    await visitor.arrived();
    await stays("noah");
    assert.deepEqual(sent(), ["noah", "producthunt"]);
  });

  it("noah stays while the click endpoint is slow, and when the answer comes", async () => {
    await begin();
    await visit("/?ref=noah");
    await settled();
    const answer = holdAnswers();
    await visit("/?ref=producthunt");
    await until(() => world.clicks.length >= 2);
    await stays("noah");
    answer();
    await settled();
    await stays("noah");
  });

  it("noah stays although no answer to either click came before the page was left", async () => {
    await begin();
    const answer = holdAnswers();
    await visit("/?ref=noah");
    await visit("/?ref=producthunt");
    await stays("noah");
    await visit("/next");
    await stays("noah");
    answer();
    await settled();
    await stays("noah");
    assert.deepEqual(new Set(sent()), new Set(["noah", "producthunt"]));
  });

  for (const status of [0, 403, 404, 422, 429, 500, 503]) {
    it(`noah stays while the click endpoint fails: ${status || "no connection"}`, async () => {
      await begin();
      await visit("/?ref=noah");
      await settled();
      world.answers = Array.from({ length: 9 }, () => status);
      await visit("/?ref=producthunt");
      await stays("noah");
      await visit("/next");
      await stays("noah");
    });
  }

  it("noah stays where the click endpoint is blocked, as by an extension, from the first visit on", async () => {
    await begin();
    await visitor.context.route(`${SERVICE}/click*`, (route) => route.abort("blockedbyclient"));
    for (const path of ["/?ref=noah", "/?ref=producthunt", "/next"]) {
      await visit(path);
      await stays("noah");
    }
  });

  it("noah stays where the page's own policy forbids the report", async () => {
    await begin();
    world.headers = { "content-security-policy": `default-src 'self'; script-src ${SERVICE}; connect-src 'self'` };
    for (const path of ["/?ref=noah", "/?ref=producthunt", "/next"]) {
      await visit(path);
      await stays("noah");
    }
  });

  it("noah stays where the service does not know for the moment", async () => {
    await beginTimed();
    world.isTold = false;
    await visit("/?ref=noah");
    await visit("/?ref=producthunt");
    await until(() => sent().includes("producthunt"));
    await runOn(visitor);
    await stays("noah");
  });

  it("noah stays in a single-page application", async () => {
    await begin();
    await visit("/?ref=noah");
    await settled();
    await visitor.page.evaluate(() => history.pushState(null, "", "/plans?ref=producthunt"));
    await stays("noah");
    await settled();
    await stays("noah");
  });

  it("noah stays where cookies are refused, as far as the page goes", async () => {
    await beginTimed();
    await visitor.page.addInitScript(() => {
      Object.defineProperty(document, "cookie", { get: () => "", set: () => {} });
    });
    await visit("/?ref=noah");
    await visitor.page.evaluate(() => history.pushState(null, "", "/plans?ref=producthunt"));
    await until(() => world.clicks.length >= 2);
    await runOn(visitor);
    assert.equal(await visitor.getRef(), "noah");
    await visitor.page.evaluate(() => history.pushState(null, "", "/plans?ref=joe"));
    await until(async () => (await visitor.getRef()) === "joe");
    assert.deepEqual(sent(), ["noah", "producthunt", "joe"]);
  });

  it("noah is on the payment link that is followed before the answer comes", async () => {
    await begin();
    await visit("/?ref=noah");
    await settled();
    holdAnswers();
    world.html = () => `${scriptTag()}<a id="pay" href="https://buy.stripe.com/abc">pay</a>`;
    await visit("/?ref=producthunt");
    const href = await visitor.page.evaluate(() => {
      addEventListener("click", (event) => event.preventDefault());
      const link = document.querySelector<HTMLAnchorElement>("#pay");
      link?.click();
      return link?.href;
    });
    assert.equal(href, "https://buy.stripe.com/abc?client_reference_id=noah");
  });
});

describe("a reference that leads to a partner", () => {
  it("takes the place of another one with the answer, not before", async () => {
    await begin();
    await visit("/?ref=noah");
    await settled();
    const answer = holdAnswers();
    await visit("/?ref=joe");
    await until(() => world.clicks.length >= 2);
    await stays("noah");
    answer();
    await becomes("joe");
    assert.deepEqual(sent(), ["noah", "joe"]);
  });

  it("takes the place of one that leads to nobody", async () => {
    await begin();
    await visit("/?ref=producthunt");
    await stays("producthunt");
    await settled();
    await stays("producthunt");
    await visit("/?ref=noah");
    await becomes("noah");
  });

  it("is asked for again on a later page under the same id, where no answer came", async () => {
    await begin();
    await visit("/?ref=noah");
    await settled();
    world.answers = [503];
    await visit("/?ref=joe");
    await visit("/next");
    await becomes("joe");
    await settled();
    const tries = world.clicks.filter(({ ref }) => ref === "joe");
    assert.equal(tries.length, 2);
    assert.equal(new Set(tries.map(({ id }) => id)).size, 1);
    await visit("/next");
    await visitor.arrived();
    assert.equal(world.clicks.length, 3, "answered, so it is not sent again");
  });

  it("is asked for again on the same page where the service does not know for the moment", async () => {
    await beginTimed();
    await visit("/?ref=noah");
    await settled();
    world.isTold = false;
    await visit("/?ref=joe");
    await until(() => world.clicks.length >= 2);
    await stays("noah");
    world.isTold = true;
    await runUntil(visitor, async () => (await kept()).cookie === "joe");
    await becomes("joe");
  });

  it("is not lost to one that leads to nobody, though its own answer was still on the way", async () => {
    await begin();
    await visit("/?ref=noah");
    await settled();
    const answer = holdAnswers("joe");
    await visit("/?ref=joe");
    await visit("/?ref=producthunt");
    await until(() => sent().includes("producthunt"));
    answer();
    await becomes("joe");
  });

  it("gives way to a later one, though the answer to the later click was the first to come", async () => {
    await beginTimed();
    await visit("/?ref=noah");
    await settled();
    const answer = holdAnswers("joe");
    await visit("/?ref=joe");
    await visit("/?ref=jane");
    await becomes("jane");
    const answered = visitor.page.waitForEvent("requestfinished", (request) => /"joe"/.test(request.postData() ?? ""));
    answer();
    await answered;
    await runOn(visitor);
    await stays("jane");
  });

  it("is asked for half an hour and no longer", async () => {
    await begin();
    await visit("/?ref=noah");
    await settled();
    world.answers = [503];
    await visit("/?ref=joe");
    const { service_hit } = await visitor.cookies();
    assert.match(service_hit?.value ?? "", /^joe&.*service_click=/);
    assert.ok(Math.abs((service_hit?.expires ?? 0) - Date.now() / 1000 - 1800) < 60);
  });
});

describe('with data-attribution="first"', () => {
  it("the first that leads to a partner stays, whatever comes, and every click is reported", async () => {
    await begin('data-attribution="first"');
    await visit("/?ref=noah");
    await settled();
    for (const ref of ["producthunt", "joe"]) {
      await visit(`/?ref=${ref}`);
      await settled();
      await stays("noah");
    }
    assert.deepEqual(sent(), ["noah", "producthunt", "joe"]);
  });

  it("one that leads to nobody does not keep out the first that leads to a partner", async () => {
    await begin('data-attribution="first"');
    await visit("/?ref=producthunt");
    await settled();
    await visit("/?ref=noah");
    await becomes("noah");
    await visit("/?ref=joe");
    await settled();
    await stays("noah");
  });

  it("does so too when no answer came before the page was left", async () => {
    await begin('data-attribution="first"');
    world.delay = () => 700;
    for (const ref of ["producthunt", "noah"]) await visit(`/?ref=${ref}`);
    await becomes("noah");
    await visit("/?ref=joe");
    await settled();
    await stays("noah");
  });

  it("asks about the new one together with the one that is kept", async () => {
    await begin('data-attribution="first"');
    await visit("/?ref=noah");
    await settled();
    await visit("/?ref=joe");
    await settled();
    assert.deepEqual(world.queries, ["?kept=noah&first", "?kept=noah&first"]);
  });
});
