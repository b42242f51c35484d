/** Owners' pages on any host name, the tracking service beside them, and a real browser that visits both. */
import assert from "node:assert/strict";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { Browser, BrowserContext, Page, Request } from "playwright-core";
import { trackerScript } from "../../src/dev/tracker-script.ts";
import { launchChromium, PATIENCE } from "./chromium.ts";

export const PROGRAM = "prog_01h2xcejqtf2nbrexx3vqjhp41";
export const SERVICE = "http://service.test";
export const SHOP = "http://a.b.example.co.uk";

export const SCRIPT = await trackerScript();

export interface SentClick {
  program_id: string;
  ref: string;
  landing: string;
  referrer: string;
  sub?: string;
  id: string;
}

export function scriptTag(attributes = ""): string {
  return `<script src="${SERVICE}/service.js" data-program="${PROGRAM}" ${attributes}></script>`;
}

export interface TrackerWorld {
  browser: Browser;
  /** Reports that arrived, including those that were answered with an error. */
  clicks: SentClick[];
  /** How many tests have ended. */
  tests: number;
  /** Their query strings. */
  queries: string[];
  contentTypes: (string | undefined)[];
  /** Statuses of the next answers to a click; 0 breaks the connection, 202 after the last. */
  answers: number[];
  /** The partners; all references lead to one unless this is set. */
  partners: string[] | null;
  /** Whether the service's answer lists the references that lead to a partner. */
  isTold: boolean;
  /** The delay of the answer to a click (ms), or a promise before it. */
  delay: (click: SentClick) => number | Promise<void>;
  /** The HTML of an owner's page, and its headers. */
  html: (url: URL) => string;
  headers: Record<string, string>;
  port: number;
  /** A fresh visitor: no cookies, no storage. Pages opened through it must never throw. */
  visitor(): Promise<Visitor>;
  reset(): void;
  close(): Promise<void>;
}

export interface Visitor {
  context: BrowserContext;
  page: Page;
  /** The exceptions of the pages, unhandled rejections included. */
  thrown: string[];
  /** The script's own lines in the console. */
  warnings: string[];
  getRef(): Promise<string | null>;
  cookies(): Promise<
    Record<string, { value: string; domain: string; expires: number; secure: boolean; sameSite: string }>
  >;
  /** Resolves once the page has the answer to every click that it stores. */
  settled(): Promise<void>;
  /** Resolves once the service has received every click that the browser has sent so far. */
  arrived(): Promise<void>;
}

/** Waits as long as it takes. @throws after a time that no working code needs. */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  const end = Date.now() + PATIENCE;
  while (!(await holds())) {
    if (Date.now() > end) throw new Error(`It never came to hold: ${holds.toString()}`);
    await sleep(20);
  }
}

/** Waits for a number of reports and the answer to them, and for every other report that the browser has sent. */
export async function expectClicks(world: TrackerWorld, visitor: Visitor, count: number): Promise<void> {
  await until(() => world.clicks.length >= count);
  if (count > 0) await visitor.settled();
  await visitor.arrived();
  assert.equal(world.clicks.length, count);
}

/** The time until a page sends a click again that had no answer (ms). */
const RETRY = 4_000;

/** Runs the page's own clock, which the test has installed, from retry to retry until something holds. */
export async function runUntil({ page }: Visitor, holds: () => boolean | Promise<boolean>): Promise<void> {
  await until(async () => {
    if (await holds()) return true;
    await page.clock.runFor(RETRY);
    return holds();
  });
}

/** Runs the page's own clock, which the test has installed, through the times of many retries. */
export async function runOn({ page }: Visitor): Promise<void> {
  for (let i = 0; i < 10; i++) await page.clock.runFor(RETRY);
}

export async function startTrackerWorld(): Promise<TrackerWorld> {
  const server = createServer((request, response) => {
    answer(world, request, response).catch((error: unknown) => response.destroy(error as Error));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const browser = await launchChromium({
    args: [
      `--host-resolver-rules=MAP *.test 127.0.0.1:${port}, MAP *.co.uk 127.0.0.1:${port}, MAP *.github.io 127.0.0.1:${port}`,
    ],
    // The tests of the back/forward cache want it.
    ignoreDefaultArgs: ["--disable-back-forward-cache"],
  });
  const world: TrackerWorld = {
    browser,
    clicks: [],
    queries: [],
    contentTypes: [],
    answers: [],
    partners: null,
    isTold: true,
    delay: () => 0,
    html: () => scriptTag(),
    headers: {},
    port,
    tests: 0,
    visitor: () => newVisitor(world),
    reset() {
      world.tests += 1;
      Object.assign(world, { clicks: [], queries: [], contentTypes: [], answers: [] });
      Object.assign(world, { html: () => scriptTag(), headers: {} });
      Object.assign(world, { partners: null, isTold: true, delay: () => 0 });
    },
    async close() {
      await browser.close();
      await closeServer(server);
    },
  };
  return world;
}

async function answer(world: TrackerWorld, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const url = new URL(request.url ?? "/", `http://${request.headers.host}`);
  const isScript = url.pathname.endsWith("/service.js");
  if (url.hostname !== "service.test" && !isScript) {
    response.writeHead(200, { "content-type": "text/html; charset=utf-8", ...world.headers });
    response.end(`<!doctype html><title>shop</title><body>${world.html(url)}</body>`);
  } else if (isScript) {
    response.writeHead(200, { "content-type": "text/javascript; charset=utf-8", "cache-control": "no-store" });
    response.end(SCRIPT);
  } else if (url.pathname === "/click" && request.method === "POST") {
    const chunks: Buffer[] = await Array.fromAsync(request);
    const click = JSON.parse(Buffer.concat(chunks).toString()) as SentClick;
    // A closed page still sends a request that it had begun: that click is not part of the running test.
    if (!request.headers["user-agent"]?.endsWith(ofTest(world.tests))) return void response.writeHead(202).end();
    world.clicks.push(click);
    world.queries.push(url.search);
    world.contentTypes.push(request.headers["content-type"]);
    const status = world.answers.shift() ?? 202;
    const delay = world.delay(click);
    await (typeof delay === "number" ? sleep(delay) : delay);
    if (status === 0) response.destroy();
    else response.writeHead(status, { "access-control-allow-origin": "*" }).end(replyTo(world, click, url, status));
  } else {
    response.writeHead(404, { "access-control-allow-origin": "*" }).end();
  }
}

/** The answer of `POST /click` (TRACK-10). */
function replyTo({ partners, isTold }: TrackerWorld, { ref }: SentClick, url: URL, status: number): string {
  if (status !== 202) return "";
  const leads = (to: string | null) => partners === null || partners.includes(to ?? "");
  const stays = url.searchParams.has("first") && leads(url.searchParams.get("kept"));
  return JSON.stringify({ known: isTold ? leads(ref) && !stays : null });
}

/** The user agent of a visitor's browser, by the number of tests that ended before. */
function ofTest(tests: number): string {
  return `Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/150.0 Safari/537.36 test/${tests}`;
}

async function newVisitor(world: TrackerWorld): Promise<Visitor> {
  const context = await world.browser.newContext({ userAgent: ofTest(world.tests) });
  // Several visitors may be in one test.
  const before = world.clicks.length;
  let sent = 0;
  const count = (by: number) => (request: Request) => {
    if (!request.url().startsWith(`${SERVICE}/click`)) return;
    // The browser itself refused it: a policy of the page, or an extension.
    if (by > 0 || /csp|BLOCKED/i.test(request.failure()?.errorText ?? "")) sent += by;
  };
  context.on("request", count(1));
  context.on("requestfailed", count(-1));
  context.setDefaultTimeout(PATIENCE);
  const page = await context.newPage();
  const thrown: string[] = [];
  page.on("pageerror", (error) => thrown.push(error.message));
  const warnings: string[] = [];
  page.on("console", (line) => {
    if (line.type() === "warning" && line.text().startsWith("Service: ")) warnings.push(line.text());
  });
  const cookies = async () => {
    const found = await context.cookies();
    return Object.fromEntries(found.map(({ name, ...cookie }) => [name, cookie]));
  };
  return {
    context,
    page,
    thrown,
    warnings,
    getRef: () =>
      page.evaluate(() => (globalThis as unknown as { Service: { getRef(): string | null } }).Service.getRef()),
    cookies,
    arrived: async () => {
      // The requests that the page has begun are known once it answers.
      await page.evaluate(() => 0);
      await until(() => world.clicks.length - before >= sent);
    },
    settled: () => until(async () => !(await cookies())["service_hit"]?.value.includes("service_click")),
  };
}

function closeServer(server: Server): Promise<void> {
  server.closeAllConnections();
  return new Promise((resolve) => server.close(() => resolve()));
}
