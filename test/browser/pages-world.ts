/** The real Worker with an operator, signed vendor events and a played outside world, and a real browser that visits it. */
import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { randomSecrets } from "../../src/dev/dev-vars.ts";
import { call, expectStatus, type Reply } from "../../src/dev/demo/client.ts";
import { PlayedWorld } from "../../src/dev/demo/receiver.ts";
import { freePort, startLocalService } from "../../src/dev/local-service.ts";
import { openDatabaseFile } from "../faults/database.ts";
import { carried } from "../support/local-proxy.ts";
import { bodyOfA, signA } from "../support/provider-a.ts";
import { launchChromium, PATIENCE } from "./chromium.ts";

export const RECEIVER_HOST = "receiver.example.com";
export const SECRET_A = "whsec_secret_of_the_browser_tests";

export interface PagesWorld {
  url: string;
  browser: Browser;
  /** Everything the Worker logged, one text a line. */
  log: string[];
  /** Creates a program with its first API key. */
  createProgram(fields: Record<string, unknown>): Promise<OwnedProgram>;
  /** A one-time link for the owner with this address, as the operator passes it on. */
  ownerLink(email: string): Promise<string>;
  visitor(options?: VisitorOptions): Promise<Page>;
  /** Runs statements on the service's database beside it, for a past that the API cannot make. */
  sql(statements: string): Promise<void>;
  close(): Promise<void>;
}

export interface OwnedProgram {
  id: string;
  owner_email: string;
  api: <T = { id: string }>(method: string, path: string, body?: unknown) => Promise<T>;
  /** Imports active partners from a CSV file. */
  importPartners: (file: string) => Promise<void>;
  /** Sends an event of provider A, signed with `SECRET_A`. */
  sendA: (event: object) => Promise<void>;
}

export interface VisitorOptions {
  dark?: boolean;
  width?: number;
  /** False for a browser with scripts switched off. */
  scripts?: boolean;
  /**
   * Gives the page an address of its own: one address may sign in 30 times a minute. Only for pages of the service,
   * since another site's may not send the header with the address.
   */
  isApart?: boolean;
}

/** `vendor`: answers the Worker's requests to provider A. */
export async function startPagesWorld(vendor?: {
  url: string;
  fetch: (request: Request) => Promise<Response>;
}): Promise<PagesWorld> {
  const state = await mkdtemp(join(tmpdir(), "affiliate-pages-"));
  // `npm run test:browser` applies the migrations once for all suites.
  const migrated = process.env["MIGRATED_STATE"];
  if (migrated !== undefined) await cp(migrated, state, { recursive: true });
  const outside = new PlayedWorld(RECEIVER_HOST);
  const secrets = { ...randomSecrets(), DNS_RESOLVER_URL: outside.resolver_url };
  const log: string[] = [];
  let visitors = 0;
  const [service, browser] = await Promise.all([
    startLocalService({
      port: await freePort(),
      persistTo: state,
      isMigrated: migrated !== undefined,
      secrets,
      outbound: (request) =>
        vendor && request.url.startsWith(vendor.url) ? vendor.fetch(request) : outside.outbound(request),
      onLog: ({ message }) => void log.push(message),
    }),
    launchChromium(),
  ]);
  const operator = async <T>(method: string, path: string, body?: unknown) =>
    expectStatus(await call<T>(`${service.url}${path}`, { method, bearer: secrets.ADMIN_TOKEN, body }), 201);
  return {
    url: service.url,
    browser,
    log,
    async createProgram(fields) {
      const made = await operator<{ program: { id: string; owner_email: string }; api_key: string }>(
        "POST",
        "/admin/programs",
        fields,
      );
      return ownedProgram(service.url, made.program, made.api_key);
    },
    async ownerLink(email) {
      return (await operator<{ url: string }>("POST", "/admin/sign-in-links", { email })).url;
    },
    async visitor({ dark = false, width = 1280, scripts = true, isApart = false } = {}) {
      const context: BrowserContext = await browser.newContext({
        viewport: { width, height: width < 600 ? 800 : 900 },
        colorScheme: dark ? "dark" : "light",
        javaScriptEnabled: scripts,
        locale: "en-GB",
        timezoneId: "Europe/Berlin",
        reducedMotion: "reduce",
        extraHTTPHeaders: isApart ? { "CF-Connecting-IP": `2001:db8:0:${(visitors++).toString(16)}::1` } : {},
      });
      context.setDefaultTimeout(PATIENCE);
      return context.newPage();
    },
    async sql(statements) {
      const database = await openDatabaseFile(join(state, "v3"));
      try {
        database.exec(statements);
      } finally {
        database.close();
      }
    },
    async close() {
      await browser.close();
      await service.stop();
      await rm(state, { recursive: true, force: true });
    },
  };
}

/** The reply, even if the local proxy loses it once. */
function sent<T>(send: () => Promise<Reply<T>>): Promise<Reply<T>> {
  return carried(send, async ({ status, body }) => [status, String(body)]);
}

function ownedProgram(url: string, program: { id: string; owner_email: string }, bearer: string): OwnedProgram {
  return {
    ...program,
    async api<T>(method: string, path: string, body?: unknown) {
      const headers: Record<string, string> = method === "POST" ? { "idempotency-key": crypto.randomUUID() } : {};
      const reply = await sent(() => call<T>(`${url}/api/v1${path}`, { method, bearer, headers, body }));
      if (reply.status >= 300) throw new Error(`${method} ${path}: ${reply.status} ${JSON.stringify(reply.body)}`);
      return reply.body;
    },
    async importPartners(file) {
      const headers = { "content-type": "text/csv" };
      const target = `${url}/api/v1/imports?kind=partners&status=active`;
      expectStatus(await sent(() => call(target, { method: "POST", bearer, headers, body: file })), 200);
    },
    async sendA(event) {
      const body = bodyOfA(event as Parameters<typeof bodyOfA>[0]);
      const headers = { "provider-a-signature": await signA(body, SECRET_A), "content-type": "application/json" };
      const target = `${url}/webhooks/provider_a?program_id=${program.id}`;
      expectStatus(await sent(() => call(target, { method: "POST", headers, body })), 200);
    },
  };
}

/** Signs an owner in as a person does: opens the link, presses the button. */
export async function signInOwner(world: PagesWorld, page: Page, email: string): Promise<void> {
  await page.goto(await world.ownerLink(email));
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.waitForURL("**/dashboard");
}

/** Signs a partner in by the link that development writes to the log in place of an e-mail. */
export async function signInPartner(world: PagesWorld, page: Page, email: string): Promise<void> {
  await page.goto(`${world.url}/sign-in`);
  await page.getByLabel("E-mail address").fill(email);
  const before = world.log.length;
  await page.getByRole("button", { name: "E-mail me a link" }).click();
  await page.goto(await mailedLink(world, email, before));
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.waitForURL("**/portal");
}

/** The newest link that was mailed to an address, of those after the first `before` lines of the log. */
export async function mailedLink(world: PagesWorld, email: string, before = 0): Promise<string> {
  for (let i = 0; i < 600; i++) {
    const line = world.log.slice(before).findLast((text) => text.includes(email) && text.includes("token="));
    const link = line === undefined ? null : /http[^\s"\\]+token=[A-Za-z0-9_-]{43}/.exec(line);
    if (link) return link[0];
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`no link was mailed to ${email}`);
}
