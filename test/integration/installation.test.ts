/** The check of an installation (PROG-12), with a played site. */
import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it, vi } from "vitest";
import { rollUpClicks } from "../../src/core/clicks/roll-up.ts";
import { checkInstallation, type Installation } from "../../src/core/overview/installation.ts";
import type { Check } from "../../src/domain/installation.ts";
import { openDatabase } from "../../src/db/client.ts";
import { HOUR } from "../../src/lib/time.ts";
import { click, recorded } from "../support/clicks.ts";
import { never, OWN_HOSTS, playOutsideWorld, RESOLVER_URL, type Receiver, type ZoneEntry } from "../support/dns.ts";
import { serveAll } from "../support/jobs.ts";
import { callApi, makePartner, makeProgram, programContext, type TestProgram } from "../support/program.ts";
import { signInOwner, textOf } from "../support/visitor.ts";
import { callWith } from "../support/watched-database.ts";

const SCRIPT_URL = "https://service.example/service.js";
const SITE = "shop.example";

const tagOf = (program_id: string, more = "") =>
  `<script src="${SCRIPT_URL}" data-program="${program_id}"${more} defer></script>`;
const html = (body: string, headers: Record<string, string> = {}) =>
  new Response(`<!doctype html><html><head></head><body>${body}</body></html>`, {
    headers: { "content-type": "text/html; charset=utf-8", ...headers },
  });

interface Played {
  found: Installation;
  /** The requests to sites, in order. */
  asked: string[];
}

async function check(
  program: TestProgram,
  receivers: Receiver | Record<string, Receiver>,
  { url, zone = {}, timeoutMs = 10_000 }: { url?: string; zone?: Record<string, ZoneEntry>; timeoutMs?: number } = {},
): Promise<Played> {
  const world = playOutsideWorld({
    zone,
    receivers: typeof receivers === "function" ? { [SITE]: receivers } : receivers,
  });
  const found = await checkInstallation(
    programContext(program),
    { url, script_url: SCRIPT_URL },
    { fetch: world.fetch, resolverUrl: RESOLVER_URL, ownHosts: OWN_HOSTS, timeoutMs, count: async () => undefined },
  );
  return { found, asked: world.requests.map((request) => request.url.href) };
}

/** The service's own reply to an empty click. */
const refuseAsService = () =>
  callWith({}, "/click", { method: "POST", headers: { "content-type": "text/plain" }, body: "{}" }).then(
    ({ body, status }) => Response.json(body, { status }),
  );

const makeSite = (settings: Record<string, unknown> = {}) => makeProgram({ domain: SITE, ...settings });

/** The reasons of the failed checks, by check. */
function faults({ found: { checks } }: Played): Record<string, string | null> {
  const left = checks.filter(({ result }) => result === "failed");
  return Object.fromEntries(left.map(({ check: name, reason }) => [name, reason]));
}

const resultsOf = (checks: readonly Check[]) => checks.map(({ result }) => result);

async function withClick(program: TestProgram): Promise<void> {
  const { slug } = await makePartner(program);
  await click({ program_id: program.id, ref: slug, landing: "/", referrer: "https://blog.example/" });
  await recorded();
}

describe("a page that has the script (PROG-12)", () => {
  it("is installed once a click has come", async () => {
    const program = await makeSite();
    const site: Receiver = ({ method, headers, redirect }) => {
      expect([method, headers.get("cookie"), headers.get("authorization"), redirect]).toEqual([
        ...["GET", null, null, "manual"],
      ]);
      return html(tagOf(program.id));
    };
    const before = await check(program, site);
    expect(before.asked).toEqual(["https://shop.example/"]);
    expect([before.found.installed, faults(before)]).toEqual([false, { click: "no_click" }]);
    expect(before.found.checks.at(-1)?.text).toContain("https://shop.example/?ref=");
    await withClick(program);
    const after = await check(program, site, { url: "https://shop.example/pricing" });
    expect(after.found).toMatchObject({ url: "https://shop.example/pricing", installed: true });
    expect(resultsOf(after.found.checks)).toEqual(Array(7).fill("ok"));
  });

  it.each([
    [
      "a relative address behind the owner's proxy",
      (id: string) =>
        `<base href="https://cdn.shop.example/x/"><script src="service.js" data-program="${id}"></script>`,
    ],
    ["a module, in capitals", (id: string) => `<SCRIPT TYPE="module" SRC='${SCRIPT_URL}' DATA-PROGRAM=${id}></SCRIPT>`],
    [
      "another script of the page before it",
      (id: string) => `<script src="https://x.example/service.js?v=1"></script>${tagOf(id)}`,
    ],
    [
      "character references",
      (id: string) => `<script src="https&#58;//service.example/service.js?a&amp;b" data-program="${id}"></script>`,
    ],
  ])("is found with %s", async (_, body) => {
    const program = await makeSite();
    const played = await check(program, {
      [SITE]: () => html(body(program.id)),
      "cdn.shop.example": refuseAsService,
    });
    expect(faults(played)).toEqual({ click: "no_click" });
  });

  it.each([
    ["no script", () => "<p>Hello</p>", { script: "absent" }],
    ["a comment of it", (id: string) => `<!-- ${tagOf(id)} -->`, { script: "absent" }],
    ["one that a consent tool holds back", (id: string) => tagOf(id, ` type="text/plain"`), { script: "held_back" }],
    ["no program", () => `<script src="${SCRIPT_URL}"></script>`, { program: "no_program" }],
    ["another's program", () => tagOf("prog_other"), { program: "other_program" }],
  ])("says so of %s", async (_, body, faulty) => {
    const program = await makeSite();
    const played = await check(program, () => html(body(program.id)));
    expect(faults(played)).toEqual({ ...faulty, click: "no_click" });
    if ("script" in faulty) expect(resultsOf(played.found.checks).slice(2, 6)).toEqual(Array(4).fill("unknown"));
    if ("program" in faulty) expect(played.found.checks[2]?.text).toContain(`data-program="${program.id}"`);
  });
});

describe("where the page's script reports clicks (PROG-12, TRACK-23)", () => {
  const SHOP_SCRIPT = "/cache/min/1/service.js?ver=1";

  it.each([
    ["a copy on the shop's host, which answers nothing", "", () => new Response("Not found", { status: 404 }), false],
    ["a copy whose host answers any address", "", () => html("<p>Shop</p>"), false],
    ["a copy whose host answers in JSON", "", () => Response.json({ known: true, error: "x" }), false],
    ["a copy whose host is away", "", () => Promise.reject(new Error("away")), false],
    ["a copy behind a proxy of the service", "", refuseAsService, true],
    ["a copy that names the service", ` data-origin="https://service.example"`, null, true],
    ["a copy that names another host", ` data-origin="https://other.example"`, null, false],
    ["a copy that names no address", ` data-origin="nonsense"`, null, false],
  ] as const)("%s", async (_, attributes, answer, arrives) => {
    const program = await makeSite();
    const tag = `<script src="${SHOP_SCRIPT}" data-program="${program.id}"${attributes}></script>`;
    const asked: string[] = [];
    const site: Receiver = ({ method, url, text }) => {
      if (method === "GET") return html(tag);
      asked.push(`${url.pathname} ${text}`);
      return answer?.() ?? new Response();
    };
    const played = await check(program, site);
    expect(faults(played)).toEqual(arrives ? { click: "no_click" } : { click_address: "elsewhere", click: "no_click" });
    expect(asked).toEqual(answer === null ? [] : ["/click {}"]);
  });

  it("takes the program from the script's address", async () => {
    const program = await makeSite();
    const tag = `<script src="${SCRIPT_URL}?program=${program.id}"></script>`;
    expect(faults(await check(program, () => html(tag)))).toEqual({ click: "no_click" });
  });
});

describe("a page's Content-Security-Policy (PROG-12)", () => {
  const meta = (policy: string) => `<meta http-equiv="Content-Security-Policy" content="${policy}">`;

  it.each([
    ["the header, script-src", "script-src 'self'", "", "", { script_policy: "policy" }],
    ["the header, connect-src", "connect-src 'self'", "", "", { click_policy: "policy" }],
    ["the header, default-src", "default-src 'self'", "", "", { script_policy: "policy", click_policy: "policy" }],
    ["a meta element", "", meta("script-src &#39;self&#39;; connect-src *"), "", { script_policy: "policy" }],
    [
      "a meta element after the script",
      "",
      "",
      meta("script-src 'none'; connect-src 'none'"),
      { click_policy: "policy" },
    ],
    ["all together", "script-src *", meta("connect-src 'self'"), "", { click_policy: "policy" }],
    [
      "one that allows both",
      "default-src 'self'; script-src https://service.example; connect-src service.example",
      "",
      "",
      {},
    ],
  ])("of %s", async (_, header, before, after, faulty) => {
    const program = await makeSite();
    const headers: Record<string, string> = header === "" ? {} : { "content-security-policy": header };
    const played = await check(program, () => html(before + tagOf(program.id) + after, headers));
    expect(faults(played)).toEqual({ ...faulty, click: "no_click" });
    for (const { reason, text } of played.found.checks) {
      if (reason === "policy") expect(text).toMatch(/add https:\/\/service\.example to (?:script|connect)-src/);
    }
  });

  it("that only reports blocks nothing", async () => {
    const program = await makeSite();
    const headers = { "content-security-policy-report-only": "default-src 'none'" };
    const played = await check(program, () => html(tagOf(program.id), headers));
    expect(faults(played)).toEqual({ click: "no_click" });
  });
});

describe("a page that cannot be read (PROG-12)", () => {
  const to = (location: string) => new Response(null, { status: 302, headers: { location } });

  it.each<[string, string, Receiver | Record<string, Receiver>, string, Record<string, ZoneEntry>?]>([
    ["an address of a private network", "https://192.168.0.1/", {}, "refused"],
    ["a local name", "https://localhost/", {}, "refused"],
    ["plain http", "http://shop.example/", () => html(""), "refused"],
    ["no address", "shop", {}, "refused"],
    ["credentials", "https://a:b@shop.example/", () => html(""), "refused"],
    ["the service itself", "https://service.example/", { "service.example": () => html("") }, "refused"],
    [
      "a name of a private address",
      "https://intra.example/",
      { "intra.example": () => html("") },
      "refused",
      { "intra.example": { A: ["10.0.0.1"] } },
    ],
    ["an unknown host", "https://nobody.example/", {}, "dns"],
    ["a host that refuses", "https://down.example/", {}, "unreachable", { "down.example": { A: ["93.184.215.14"] } }],
    [
      "a redirect to a private address",
      "https://shop.example/",
      () => to("https://169.254.169.254/latest/"),
      "refused",
    ],
    ["a redirect to plain http", "https://shop.example/", () => to("http://shop.example/"), "refused"],
    [
      "a redirect to a private name",
      "https://shop.example/",
      { [SITE]: () => to("https://intra.example/"), "intra.example": () => html("") },
      "refused",
      { "intra.example": { A: ["127.0.0.1"] } },
    ],
    ["redirects without end", "https://shop.example/", () => to("/again"), "too_many_redirects"],
    ["an error", "https://shop.example/", () => new Response("no", { status: 404 }), "status"],
    ["a redirect to nowhere", "https://shop.example/", () => new Response(null, { status: 302 }), "status"],
    [
      "a file",
      "https://shop.example/",
      () => new Response("{}", { headers: { "content-type": "application/json" } }),
      "not_html",
    ],
    ["bytes of no type", "https://shop.example/", () => new Response(new Uint8Array(3)), "not_html"],
    ["a very large page", "https://shop.example/", () => html("x".repeat(2 * 1024 * 1024)), "too_large"],
  ])("is said: %s", async (_, url, receivers, reason, zone = {}) => {
    const program = await makeSite();
    const played = await check(program, receivers, { url, zone });
    expect(played.found.checks[0]).toMatchObject({ check: "page", result: "failed", reason });
    expect(played.found.installed).toBe(false);
    expect(resultsOf(played.found.checks).slice(1, 6)).toEqual(Array(5).fill("unknown"));
    expect(played.asked.length).toBeLessThanOrEqual(6);
    for (const asked of played.asked) expect(asked).toMatch(/^https:\/\/shop\.example\//);
  });

  it("is said: a host that hangs, a body that hangs", async () => {
    const program = await makeSite();
    const hung: Receiver[] = [
      () => never(),
      () => new Response(new ReadableStream({ pull: never }), { headers: { "content-type": "text/html" } }),
    ];
    for (const receiver of hung) {
      const { found } = await check(program, receiver, { timeoutMs: 20 });
      expect(found.checks[0]).toMatchObject({ result: "failed", reason: "timed_out" });
    }
  });

  it("follows redirects between public hosts, and reads the last page", async () => {
    const program = await makeSite();
    const played = await check(program, {
      [SITE]: () => to("https://www.shop.example/home"),
      "www.shop.example": () => html(tagOf(program.id), { "content-security-policy": "script-src 'self'" }),
    });
    expect(played.asked).toEqual(["https://shop.example/", "https://www.shop.example/home"]);
    expect(faults(played)).toEqual({ script_policy: "policy", click: "no_click" });
  });
});

describe("GET /api/v1/integrations/script and its page (PROG-12)", () => {
  afterEach(() => vi.restoreAllMocks());

  function play(receiver: Receiver): void {
    const { fetch: outside } = playOutsideWorld({ receivers: { [SITE]: receiver } });
    vi.spyOn(globalThis, "fetch").mockImplementation(async (input, init) => {
      const asked = new Request(input, init);
      const url = new URL(asked.url);
      if (url.searchParams.has("type")) return outside(`${RESOLVER_URL}${url.search}`, { headers: asked.headers });
      return outside(asked.url, init);
    });
  }

  const PATH = "/api/v1/integrations/script";

  it("asks the program's domain unless another is given, and needs one of both", async () => {
    const program = await makeSite();
    play(() => html(tagOf(program.id)));
    const own = await program.api<Installation>("GET", PATH);
    expect([own.status, own.body.url, own.body.checks[1]?.result]).toEqual([200, "https://shop.example/", "ok"]);
    const nowhere = await makeProgram({ domain: null });
    const refused = await nowhere.api<{ error: { details: { path: string }[] } }>("GET", PATH);
    expect([refused.status, refused.body.error.details[0]?.path]).toEqual([422, "url"]);
    const there = await nowhere.api<Installation>("GET", `${PATH}?url=https://shop.example/x`);
    expect(there.body.checks[2]).toMatchObject({ check: "program", reason: "other_program" });
    expect((await callApi("sk_wrong", "GET", PATH)).status).toBe(401);
  });

  it("is limited for each program, on the page too", async () => {
    const program = await makeSite();
    play(() => html(tagOf(program.id)));
    const keys: string[] = [];
    const limiter = { limit: async ({ key }: { key: string }) => (keys.push(key), { success: false }) };
    const headers = { authorization: `Bearer ${program.api_key}` };
    const reply = await callWith({ RATE_LIMIT_SIGN_IN: limiter }, PATH, { headers });
    expect([reply.status, reply.headers.get("retry-after"), keys]).toEqual([429, "60", [`${program.id} site`]]);
    expect(fetch).not.toHaveBeenCalled();
  });

  it("is a page that says what to do, as text, beside what was refused of webhooks", async () => {
    const program = await makeSite();
    const owner = await signInOwner(program);
    await owner.get("/dashboard/integration/check");
    expect(textOf(owner.html)).toContain("Webhooks of Stripe");
    play(() => html(`<script src="${SCRIPT_URL}" data-program="&lt;b&gt;x"></script>`));
    const { status, body } = await owner.post("/dashboard/integration/check", { url: "shop.example/a" });
    expect(status).toBe(200);
    expect(textOf(body)).toContain("Something is missing");
    expect(textOf(body)).toContain("The page https://shop.example/a answers.");
    expect(body).toContain("program is &lt;b&gt;x");
    const long = await owner.post("/dashboard/integration/check", { url: "x".repeat(3_000) });
    expect(long.status).toBe(422);
  });
});

describe("the last click (PROG-12)", () => {
  it("is said on the page of the check, before it is rolled up and after", async () => {
    const program = await makeSite();
    const owner = await signInOwner(program);
    const page = async () => (await owner.get("/dashboard/integration/check")).body;
    expect(textOf(await page())).toContain("No click on a partner's link yet");
    await env.DB.prepare("insert into click_drops (program_id, day, reason, count) values (?, '2026-01-01', 'bot', 1)")
      .bind(program.id)
      .run();
    expect(textOf(await page())).toContain("There were clicks, but none led to an active partner");
    await withClick(program);
    const events = await program.api<{ data: { created_at: string }[] }>("GET", "/api/v1/events?type=click");
    const at = events.body.data[0]!.created_at;
    expect(await page()).toContain(`datetime="${at}"`);
    await serveAll(rollUpClicks({ db: openDatabase(env.DB), now: Date.now() + HOUR }));
    expect(await page()).toContain(`datetime="${at.slice(0, 16)}:00.000Z"`);
    expect(textOf(await page())).toMatch(/The last click came .* See the clicks/);
  });
});

describe("the setup of a new program (PROG-12)", () => {
  it("ends with a click and a payment that have come", async () => {
    const program = await makeSite();
    const owner = await signInOwner(program);
    const steps = async () => textOf((await owner.get("/dashboard")).body);
    expect(await steps()).toMatch(/See a click *, to do.*See a test payment *, to do/);
    await withClick(program);
    expect(await steps()).toMatch(/See a click *, done.*See a test payment *, to do/);
  });

  it("takes no lead for a payment, and asks for no provider where the owner's server reports the sales", async () => {
    const program = await makeSite();
    const owner = await signInOwner(program);
    const steps = async () => textOf((await owner.get("/dashboard")).body);
    const { slug: ref } = await makePartner(program);
    const lead = { external_id: "lead-1", ref, customer: { id: "cus_1" } };
    expect((await program.api("POST", "/api/v1/track/lead", lead)).status).toBe(200);
    expect(await steps()).toMatch(/Connect your payment provider *, to do.*See a test payment *, to do/);
    const sale = { external_id: "sale-1", ref, amount_cents: 500, currency: "USD", net_of_tax: true };
    expect((await program.api("POST", "/api/v1/track/sale", sale)).status).toBe(200);
    expect(await steps()).toMatch(
      /Connect your payment provider *, done *Your server reports the sales.*See a test payment *, done/,
    );
    await withClick(program);
    expect(await steps()).not.toContain("Set up your program");
  });
});
