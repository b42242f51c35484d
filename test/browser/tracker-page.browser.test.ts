import assert from "node:assert/strict";
import { after, afterEach, before, describe, it } from "node:test";
import { CONSENT_CALL } from "../../src/domain/installation.ts";
import {
  expectClicks as expectClicksOf,
  PROGRAM,
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

interface ServicePage {
  Service: { getRef(): string | null; push(task: unknown): void };
  seen: unknown[];
}

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

async function newVisit(path: string, html?: string, prepare?: () => void): Promise<void> {
  visitor = await world.visitor();
  if (html !== undefined) world.html = () => html;
  if (prepare) await visitor.page.addInitScript(prepare);
  await visitor.page.goto(SHOP + path);
}

const expectClicks = (count: number) => expectClicksOf(world, visitor, count);

describe("it never breaks the page: every failure is silent (TRACK-1)", () => {
  it("without storage: cookies that are thrown away", async () => {
    await newVisit("/?ref=jane", scriptTag(), () => {
      Object.defineProperty(document, "cookie", { get: () => "", set: () => {} });
    });
    await expectClicks(1);
    assert.equal(await visitor.getRef(), "jane");
  });

  it("without storage: cookies that throw, as in a sandboxed frame (TRACK-3)", async () => {
    world.html = (url) =>
      url.pathname === "/frame" ? scriptTag() : `<iframe sandbox="allow-scripts" src="/frame?ref=jane"></iframe>`;
    visitor = await world.visitor();
    await visitor.page.goto(`${SHOP}/`);
    await expectClicks(1);
    const [, frame] = visitor.page.frames();
    assert.equal(await frame?.evaluate(() => (globalThis as unknown as ServicePage).Service.getRef()), "jane");
    await assert.rejects(async () => frame?.evaluate(() => document.cookie), /sandboxed/);
  });

  it("without network", async () => {
    world.answers = [0, 0, 0, 0, 0];
    visitor = await world.visitor();
    await visitor.page.clock.install();
    await visitor.page.goto(`${SHOP}/?ref=jane`);
    await runUntil(visitor, () => world.clicks.length >= 3);
    await until(() => visitor.warnings.length > 0);
    await runOn(visitor);
    await visitor.arrived();
    assert.equal(world.clicks.length, 3, "three tries, then it gives up");
    assert.equal(await visitor.getRef(), "jane");
  });

  it("under a policy that blocks the click", async () => {
    world.headers = { "content-security-policy": `default-src 'self'; script-src ${SERVICE}; connect-src 'self'` };
    await newVisit("/?ref=jane");
    await expectClicks(0);
    assert.equal(await visitor.getRef(), "jane");
  });

  it("in a browser that lacks what it uses", async () => {
    await newVisit("/?ref=jane", scriptTag(), () => {
      Object.assign(globalThis, { fetch: undefined, RegExp: undefined });
      Object.defineProperty(performance, "navigation", { value: undefined });
    });
    await expectClicks(0);
    assert.equal(await visitor.page.evaluate(() => typeof (globalThis as unknown as ServicePage).Service), "object");
  });

  for (const tag of [
    `<script src="${SERVICE}/service.js"></script>`,
    `<script src="${SERVICE}/service.js" data-program="nonsense"></script>`,
    `<script type="module" src="${SERVICE}/service.js" data-program="${PROGRAM}" data-cookie-days="x"></script>`,
  ]) {
    it(`however it is included: ${tag.slice(8, 110)}`, async () => {
      world.headers = {};
      await newVisit("/?ref=jane", `${tag}<a id="pay" href="https://buy.stripe.com/x">pay</a>`);
      await visitor.page.evaluate(() => history.pushState(null, "", "/?ref=joe"));
      await visitor.page.evaluate(() => {
        document.addEventListener("click", (event) => event.preventDefault());
        document.querySelector<HTMLElement>("#pay")?.click();
      });
    });
  }

  it("when it is included twice: one click, decorated once", async () => {
    await newVisit("/?ref=jane", `${scriptTag()}${scriptTag()}<a id="pay" href="https://buy.stripe.com/x">pay</a>`);
    await expectClicks(1);
    await visitor.page.evaluate(() => history.pushState(null, "", "/?ref=joe"));
    await expectClicks(2);
  });
});

describe("`Service` before the script is loaded (queue stub)", () => {
  const stub =
    '<script>(window.Service = window.Service || []).push(function (s) { seen.push("first " + s.getRef()) })</script>';

  it("calls what was queued in order, one failure notwithstanding, and at once what comes later", async () => {
    const queue = `<script>
      window.seen = [];
      Service.push(function () { throw new Error("the page's own mistake") });
      Service.push("not a function");
      Service.push(function (s) { seen.push("second " + s.getRef()) });
    </script>`;
    await newVisit("/?ref=jane", stub + queue + scriptTag("async"));
    await visitor.page.waitForFunction(() => !Array.isArray((globalThis as unknown as ServicePage).Service));
    const seen = () => visitor.page.evaluate(() => (globalThis as unknown as ServicePage).seen);
    assert.deepEqual(await seen(), ["first jane", "second jane"]);
    await visitor.page.evaluate(() => {
      const { Service, seen } = globalThis as unknown as ServicePage;
      Service.push(() => seen.push("later"));
    });
    assert.deepEqual(await seen(), ["first jane", "second jane", "later"]);
  });

  it("lets consent be given before, or after, by what the guide says", async () => {
    await newVisit("/?ref=jane", `<script>${CONSENT_CALL}</script>${scriptTag('async data-consent="required"')}`);
    await expectClicks(1);
    await newVisit("/?ref=joe", scriptTag('data-consent="required"'));
    await visitor.page.evaluate(CONSENT_CALL);
    await expectClicks(2);
  });
});

describe("single-page applications: the reference appears in the address without a load", () => {
  const go = (how: "pushState" | "replaceState", path: string) =>
    visitor.page.evaluate(([name, url]) => history[name as "pushState"]({ kept: true }, "", url), [how, path] as const);

  it("is an arrival by pushState and by replaceState, once", async () => {
    await newVisit("/");
    await go("pushState", "/plans?ref=jane");
    await expectClicks(1);
    assert.equal(world.clicks[0]?.landing, "/plans");
    await go("pushState", "/plans?ref=jane&tab=2");
    await go("replaceState", "/other");
    await expectClicks(1);
    await go("replaceState", "/?via=joe");
    await expectClicks(2);
    assert.equal(await visitor.getRef(), "joe");
    assert.deepEqual(await visitor.page.evaluate(() => history.state as unknown), { kept: true });
  });

  it("leaves the errors of history to the page that made them", async () => {
    await newVisit("/");
    const name = await visitor.page.evaluate(() => {
      try {
        history.pushState(null, "", "https://elsewhere.example/");
        return "nothing";
      } catch (error) {
        return (error as DOMException).name;
      }
    });
    assert.equal(name, "SecurityError");
  });
});

describe("going back", () => {
  it("restores a page from the back/forward cache without a second click", async () => {
    world.html = () =>
      `${scriptTag()}<script>addEventListener("pageshow", (e) => { window.persisted = e.persisted })</script>`;
    visitor = await world.visitor();
    await visitor.page.goto(`${SHOP}/?ref=jane`);
    await expectClicks(1);
    await visitor.page.goto("http://other.test/");
    // A restored page does not load a resource that could be awaited.
    await visitor.page.goBack({ waitUntil: "commit" });
    await visitor.page.waitForFunction(() => (globalThis as unknown as { persisted: boolean }).persisted);
    assert.equal(await visitor.getRef(), "jane");
    await expectClicks(1);
    await visitor.page.evaluate(() => history.pushState(null, "", "/?ref=joe"));
    await expectClicks(2);
  });

  it("to an earlier arrival, loaded again, is neither a click nor a new reference", async () => {
    world.headers = { "cache-control": "no-store" };
    await newVisit("/?ref=jane", `${scriptTag()}<script>addEventListener("unload", () => {})</script>`);
    await expectClicks(1);
    await visitor.page.goto(`${SHOP}/?ref=joe`);
    await expectClicks(2);
    await visitor.page.goBack();
    assert.equal(new URL(visitor.page.url()).search, "?ref=jane");
    await expectClicks(2);
    assert.equal(await visitor.getRef(), "joe");
  });
});

describe("links to provider A's payment pages get client_reference_id when clicked (TRACK-13)", () => {
  /** Clicks a link added after the script was loaded; gives the address it then has. */
  async function followed(href: string, how: "click" | "middle" | "keyboard" | "script" = "click"): Promise<string> {
    await visitor.page.evaluate((url) => {
      document.querySelector("#late")?.remove();
      const link = document.createElement("a");
      link.id = "late";
      link.href = url;
      link.innerHTML = "<span>pay <b>now</b></span>";
      document.body.append(link);
      addEventListener("click", (event) => event.preventDefault());
      addEventListener("auxclick", (event) => event.preventDefault());
    }, href);
    if (how === "keyboard") await visitor.page.locator("#late").press("Enter");
    else if (how === "script") await visitor.page.evaluate(() => document.querySelector<HTMLElement>("#late")?.click());
    else await visitor.page.locator("#late b").click({ button: how === "middle" ? "middle" : "left" });
    return visitor.page.evaluate(() => document.querySelector<HTMLAnchorElement>("#late")?.href ?? "");
  }

  it("gets the reference however the link is followed, added to the page later too", async () => {
    await newVisit("/?ref=jane");
    for (const how of ["click", "middle", "keyboard", "script"] as const) {
      assert.equal(
        await followed("https://buy.stripe.com/abc", how),
        "https://buy.stripe.com/abc?client_reference_id=jane",
      );
    }
    for (const host of ["book", "donate"]) {
      const link = `https://${host}.stripe.com/abc`;
      assert.equal(await followed(link), `${link}?client_reference_id=jane`);
    }
    assert.equal(
      await followed("https://checkout.stripe.com/c/pay/x?prefilled_email=a%40b.example#frag"),
      "https://checkout.stripe.com/c/pay/x?prefilled_email=a%40b.example&client_reference_id=jane#frag",
    );
  });

  it("is added once, and never over the page's own", async () => {
    await newVisit("/?ref=jane");
    await followed("https://buy.stripe.com/abc");
    await visitor.page.locator("#late").click();
    assert.equal(
      await visitor.page.locator("#late").getAttribute("href"),
      "https://buy.stripe.com/abc?client_reference_id=jane",
    );
    const own = "https://buy.stripe.com/abc?client_reference_id=order-7";
    assert.equal(await followed(own), own);
  });

  it("is added on the owner's own hosts of payment pages, as data-checkout names them", async () => {
    await newVisit("/?ref=jane", scriptTag('data-checkout="pay.shop.example|pay.shop.example.org"'));
    for (const host of ["pay.shop.example", "pay.shop.example.org"]) {
      assert.equal(await followed(`https://${host}/b/x`), `https://${host}/b/x?client_reference_id=jane`);
    }
    for (const href of ["https://shop.example/b/x", "https://pay.shop.example.net/", "mailto:a@b.example"]) {
      assert.equal(await followed(href), href);
    }
    await newVisit("/?ref=jane", scriptTag('data-checkout=""'));
    assert.equal(await followed("mailto:a@b.example"), "mailto:a@b.example");
  });

  it("leaves every other link alone, and all of them without a reference", async () => {
    await newVisit("/?ref=jane");
    for (const href of [
      "https://stripe.com/",
      "https://buy.stripe.com.evil.example/x",
      "https://evil.example/?u=https://buy.stripe.com/",
      `${SHOP}/next`,
      "mailto:a@b.example",
    ]) {
      assert.equal(await followed(href), href);
    }
    await newVisit("/");
    assert.equal(await followed("https://buy.stripe.com/abc"), "https://buy.stripe.com/abc");
  });

  it("reaches links inside a shadow tree", async () => {
    await newVisit("/?ref=jane");
    const href = await visitor.page.evaluate(() => {
      const host = document.body.appendChild(document.createElement("div"));
      const root = host.attachShadow({ mode: "open" });
      root.innerHTML = '<a href="https://buy.stripe.com/abc">pay</a>';
      addEventListener("click", (event) => event.preventDefault());
      const link = root.querySelector("a");
      link?.click();
      return link?.href;
    });
    assert.equal(href, "https://buy.stripe.com/abc?client_reference_id=jane");
  });

  it("is no error on a click at anything else", async () => {
    await newVisit(
      "/?ref=jane",
      `${scriptTag()}<p>text</p><svg width="50" height="50"><a href="/x"><rect width="50" height="50"/></a></svg>`,
    );
    await visitor.page.click("p");
    await visitor.page.evaluate(() => addEventListener("click", (event) => event.preventDefault()));
    await visitor.page.click("svg rect");
    await visitor.page.evaluate(() => dispatchEvent(new MouseEvent("click")));
  });
});
