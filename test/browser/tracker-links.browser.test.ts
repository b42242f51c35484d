/** Changes that tools, tag managers and optimizers make to links and to the script's tag, in a real browser. */
import assert from "node:assert/strict";
import { after, afterEach, before, describe, it } from "node:test";
import {
  expectClicks as expectClicksOf,
  PROGRAM,
  runOn,
  runUntil,
  SCRIPT,
  scriptTag,
  SERVICE,
  SHOP,
  startTrackerWorld,
  until,
  type TrackerWorld,
  type Visitor,
} from "./tracker-world.ts";

const OTHER_PROGRAM = "prog_01h2xcejqtf2nbrexx3vqjhp99";

let world: TrackerWorld;
let visitor: Visitor;

before(async () => {
  world = await startTrackerWorld();
});
after(() => world.close());

afterEach(async () => {
  await visitor.context.close();
  assert.deepEqual(visitor.thrown, []);
  world.reset();
});

async function newVisit(path: string, html?: string): Promise<void> {
  visitor = await world.visitor();
  if (html !== undefined) world.html = () => html;
  await visitor.page.goto(SHOP + path);
}

/** A visit whose page has a clock that the test runs. */
async function newTimedVisit(path: string, html: string): Promise<void> {
  visitor = await world.visitor();
  await visitor.page.clock.install();
  world.html = () => html;
  await visitor.page.goto(SHOP + path);
}

const expectClicks = (count: number) => expectClicksOf(world, visitor, count);

describe("a reference that a tool has changed (TRACK-22)", () => {
  for (const address of [
    "/?ref=ann?utm_source=mail",
    "/?utm_source=nl&amp;ref=ann",
    "/?utm_source=nl&amp;ref=ann&amp;utm_medium=x",
    "/?utm_source=nl&#38;ref=ann",
    "/?utm_source=nl&amp%3Bref=ann",
    "/?a=1;ref=ann",
    "/?ref=ann;x",
    "/?ref=ann%20",
    "/?ref=ann+",
    "/?ref=%20ann",
    "/?ref=+ann+",
    "/?ref=%E2%80%8Bann%E2%80%8B",
    "/?ref=ann%C2%A0",
    "/?ref=%61nn",
    "/?ref=ann%2520",
    "/?ref=ann%",
    "/?ref%3Dann",
    "/?ref%3Dann%26utm_source%3Dx",
    "/?ref=ann%26utm_source=x",
    "/?ref=ann%3Futm_source=x",
    "/?ref=ann%23top",
    "/?ref=ann/",
    "/?ref=ann.",
    "/?ref=ann,",
    "/?ref=ann)",
    "/?ref=ann%22",
    "/?ref=ann%E2%80%9D",
    "/?ref=ann%0D%0A",
    "/??ref=ann",
    "/%3Fref=ann",
    "/?x=50%&ref=ann",
    "/?ref=&via=ann",
    "/?ref=/pricing&via=ann",
    "/#/pricing?ref=ann",
    "/?utm_source=x#/pricing?ref=ann&y=1",
  ]) {
    it(`is found in ${address}`, async () => {
      await newVisit(address);
      await expectClicks(1);
      assert.equal(world.clicks[0]?.ref, "ann");
      assert.equal(await visitor.getRef(), "ann");
    });
  }

  it("may have encoded characters of the slug", async () => {
    await newVisit("/?ref=jane%5Fdoe%2D1");
    await expectClicks(1);
    assert.equal(await visitor.getRef(), "jane_doe-1");
  });

  for (const address of [
    "/?next=%2F%3Fref%3Dann",
    "/?next=%2F%3Fa%3D1%26ref%3Dann",
    "/?ref=ann@shop.example",
    "/?ref=shop.example",
    "/?ref=https://shop.example/",
    "/?ref=ann%20smith",
    "/?ref=anné",
    "/?ref=%E9ann",
    "/?ref=#top",
    "/?ref=/pricing",
    "/?ref={{slug}}",
    "/ref=ann",
    "/#ref=ann",
  ]) {
    it(`is not made of another text: ${address}`, async () => {
      await newVisit(address);
      await expectClicks(0);
      assert.equal(await visitor.getRef(), null);
    });
  }

  it("is found if the site has cleaned the address before the script runs, once", async () => {
    await newVisit("/a?ref=ann", `<script>history.replaceState(null, "", "/clean")</script>${scriptTag()}`);
    await expectClicks(1);
    assert.deepEqual([world.clicks[0]?.ref, world.clicks[0]?.landing], ["ann", "/a"]);
    await visitor.page.evaluate(() => history.pushState(null, "", "/next"));
    await visitor.page.reload();
    await expectClicks(1);
  });

  it("counts a link that is opened by a change of the hash route alone", async () => {
    await newVisit("/#/home");
    await visitor.page.evaluate(() => void (location.hash = "#/pricing?ref=ann"));
    await expectClicks(1);
    assert.equal(await visitor.getRef(), "ann");
  });
});

describe("a tag whose attributes a tag manager drops (TRACK-23)", () => {
  const insert = (query: string) => `<script>
    const script = document.createElement("script");
    script.src = "${SERVICE}/service.js?${query}";
    document.body.appendChild(script);
  </script>`;

  it("works with the program in the script's address", async () => {
    await newVisit("/?ref=ann", insert(`program=${PROGRAM}`));
    await expectClicks(1);
    assert.equal(world.clicks[0]?.program_id, PROGRAM);
    assert.equal(await visitor.getRef(), "ann");
  });

  it("works if the tag manager removes the tag as soon as it has loaded", async () => {
    await newVisit("/?ref=ann", insert(`program=${PROGRAM}`).replace("</script>", "script.remove();</script>"));
    await expectClicks(1);
    assert.equal(await visitor.getRef(), "ann");
  });

  it("takes every option from the address", async () => {
    await newVisit("/?aff=ann", insert(`program=${PROGRAM}&param=aff|via&cookie-days=7&attribution=first`));
    await expectClicks(1);
    assert.match(world.queries[0] ?? "", /&first$/);
    const { service_ref } = await visitor.cookies();
    assert.ok(Math.abs(((service_ref?.expires ?? 0) - Date.now() / 1000) / 86_400 - 7) < 0.01);
    await newVisit("/?ref=ann", insert(`program=${PROGRAM}&consent=required`));
    await expectClicks(1);
    assert.equal(await visitor.getRef(), null);
  });
});

describe("a copy of the script that another host serves (TRACK-23)", () => {
  const rehosted = (attributes: string) =>
    `<script data-minify="1" src="/cache/min/1/service.js?ver=1" data-program="${PROGRAM}" ${attributes}></script>`;

  it("reports to the origin that data-origin names", async () => {
    await newVisit("/?ref=ann", rehosted(`data-origin="${SERVICE}"`));
    await expectClicks(1);
    await visitor.page.goto(`${SHOP}/?ref=bob`);
    await expectClicks(2);
    assert.equal(await visitor.getRef(), "bob");
    assert.deepEqual(visitor.warnings, []);
  });

  it("works within the page itself, with data-origin", async () => {
    await newVisit("/?ref=ann", `<script data-program="${PROGRAM}" data-origin="${SERVICE}">${SCRIPT}</script>`);
    await expectClicks(1);
    assert.equal(await visitor.getRef(), "ann");
  });

  it("finds the tag elsewhere in the page if it is part of another file", async () => {
    const html = `<meta data-program="${PROGRAM}" data-origin="${SERVICE}"><script>${SCRIPT}</script>`;
    await newVisit("/?ref=ann", html);
    await expectClicks(1);
    assert.equal(await visitor.getRef(), "ann");
  });
});

describe("a script that cannot work says so once in the console (TRACK-24)", () => {
  const warns = async (...texts: string[]) => {
    await until(() => visitor.warnings.length >= texts.length);
    assert.deepEqual(visitor.warnings, texts);
  };

  it("without a program", async () => {
    await newVisit("/?ref=ann", `<script src="${SERVICE}/service.js"></script>`);
    await warns("Service: no data-program");
    await expectClicks(0);
  });

  it("if its clicks do not arrive, however many there are", async () => {
    await newTimedVisit("/?ref=ann", `<script src="/min/service.js" data-program="${PROGRAM}"></script>`);
    await visitor.page.evaluate(() => history.pushState(null, "", "/?ref=bob"));
    await runUntil(visitor, () => visitor.warnings.length > 0);
    await runOn(visitor);
    await warns(`Service: no click at ${SHOP}/min/service.js`);
  });

  it("if a second program's tag is on the page; the first one counts", async () => {
    await newVisit("/?ref=ann", scriptTag() + scriptTag().replace(PROGRAM, OTHER_PROGRAM));
    await warns("Service: second data-program");
    await expectClicks(1);
    assert.equal(world.clicks[0]?.program_id, PROGRAM);
  });

  it("not if the same tag is on the page twice, nor if the reply does not say yet", async () => {
    world.isTold = false;
    await newTimedVisit("/?ref=ann", scriptTag() + scriptTag());
    await runUntil(visitor, () => world.clicks.length >= 3);
    await runOn(visitor);
    assert.deepEqual(visitor.warnings, []);
  });
});
