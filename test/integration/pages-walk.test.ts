/** Each page is rendered once, filled with hostile texts, and checked against every rule that all pages share. */
import { env, exports } from "cloudflare:workers";
import { beforeAll, describe, expect, it } from "vitest";
import * as z from "zod";
import { app } from "../../src/app.ts";
import { partnerCreate } from "../../src/http/api/partners.ts";
import { clicksOf } from "../support/clicks.ts";
import { isFile, LOOKED_AT } from "../support/looked-at.ts";
import {
  expectDocument,
  expectEscaped,
  expectForms,
  expectHeaders,
  expectNoSecret,
  guardedForms,
  HOSTILE,
  unguardedForms,
} from "../support/page-checks.ts";
import { CHANGING, MAKING } from "../support/page-forms.ts";
import { BASE_URL, call, setSecrets, TEST_SECRETS } from "../support/program.ts";
import { freeTexts, makeStocked, pageAddress, pageRoutes, type Stocked } from "../support/stocked.ts";
import { makeVisitor, signInOwner, signInPartner, type Visitor } from "../support/visitor.ts";
import { routeOf } from "../support/writing-routes.ts";
import { callWith, watchDatabase } from "../support/watched-database.ts";

const ROUTES = pageRoutes("dashboard", "portal");
const GETS = ROUTES.flatMap(({ method, path }) => (method === "GET" ? [path] : []));

const MAX_BYTES = 60 * 1024;
const MAX_ROUND_TRIPS = 3;
const API_KEY = "sk_test_walked";

/** Pages without a link to them, each with its reason. */
const ALONE: Record<string, string> = {
  "/dashboard/partners/:id/forget-account": "offered where the partner has an account there",
  "/dashboard/partners/:id/payout-details": "offered where the partner has a bank account or a crypto address",
  "/dashboard/payouts/exports/:id/cancel": "offered while a file is open",
  "/dashboard/payouts/:id/pay": "offered where provider A can pay, which it cannot in this program",
  "/dashboard/payouts/:id/returned": "offered where a payout is paid",
  "/dashboard/payouts/:id/was-made": "offered where provider A cannot be asked about an open transfer",
  "/dashboard/payouts/:id/was-not-made": "the same",
};

/** Forms whose values are not stored ones, each with its reason (PAGE-30). */
const UNGUARDED: Record<string, string> = {
  "/dashboard/flows/new": "a start for a new flow",
  "/dashboard/integration/check": "an address that is not stored",
  "/dashboard/webhooks/:id/recover": "the time of the last failure",
};

/** Forms that make or change a thing and that no test of forms tries, each with its reason. */
const UNTRIED: Record<string, string> = {
  "/dashboard/partners/groups/new": "its fields are those of the group's own form",
  "/dashboard/payouts/new": "nothing is typed but a day",
  "/dashboard/settings/mails": "only switches",
  "/portal/details/mails": "the same",
  "/dashboard/settings/payout-hold": "one field",
  "/dashboard/settings/team/:id": "one choice",
};

type Statement = { sql: string; values: unknown[] };

let stocked: Stocked;
let visitors: Record<"dashboard" | "portal", Visitor>;
let trips: Statement[][];
/** The routes that each page leads to, and the statements that it reads by. */
const leadsTo = new Map<string, string[]>();
const readBy = new Map<string, Statement[]>();
/** The forms that would overwrite newer values, and those that would not. */
const unguarded = new Set<string>();
const guarded = new Set<string>();

beforeAll(async () => {
  stocked = await makeStocked({ name: HOSTILE, note: HOSTILE });
  const { binding, roundTrips } = watchDatabase(env.DB);
  trips = roundTrips;
  const watched = () => makeVisitor((path, init) => callWith<string>({ DB: binding }, path, init));
  visitors = {
    dashboard: await signInOwner(stocked.program, watched()),
    portal: await signInPartner(stocked.partner.email, watched()),
  };
});

const open = (path: string) =>
  visitors[path.startsWith("/portal") ? "portal" : "dashboard"].get(pageAddress(path, stocked.ids));

/** The routes that the links and forms of a page lead to. */
function routesIn(body: string): string[] {
  const addresses = [...body.matchAll(/\s(?:href|action|formaction)="([^"#?]+)/g)].map(([, address]) => address!);
  return GETS.filter((route) => {
    const pattern = new RegExp(`^${route.replaceAll(/:[a-z_]+/g, "[^/]+")}$`);
    return addresses.some(
      (address) => pattern.test(address) && !GETS.some((other) => other === address && other !== route),
    );
  });
}

/** The route of a form's address. */
const routeOfForm = (address: string) => routeOf(`POST ${address}`)?.slice("POST ".length) ?? address;

async function gzipped(text: string): Promise<number> {
  const stream = new Blob([text]).stream().pipeThrough(new CompressionStream("gzip"));
  return (await new Response(stream).arrayBuffer()).byteLength;
}

describe("every page", () => {
  it("is filled with hostile texts, wherever a text can be given", async () => {
    expect(freeTexts(partnerCreate, { name: HOSTILE, note: HOSTILE })).toMatchObject({ last_name: HOSTILE });
    const short = z.strictObject({ short: z.string().max(40) });
    expect(freeTexts(short, { name: HOSTILE, note: HOSTILE })).toEqual({ short: HOSTILE.slice(0, 40) });
    expect(await clicksOf(stocked.program.id)).toMatchObject([{ payload: { referrer: `https://${HOSTILE}` } }]);
  });

  it.each(GETS)("%s", async (path) => {
    trips.length = 0;
    const { status, headers, body } = await open(path);
    const read = [...trips];
    expect(status).toBe(200);
    // The event of a file is written before the file begins.
    expect(read.length).toBeLessThanOrEqual(MAX_ROUND_TRIPS + (/\/(?:list\.csv|file)$/.test(path) ? 1 : 0));
    readBy.set(path, read.flat());
    leadsTo.set(path, isFile(path) ? [] : routesIn(body));
    if (isFile(path)) return;
    expectHeaders(path, headers);
    expectDocument(body);
    expectForms(body);
    for (const address of unguardedForms(path, body)) unguarded.add(routeOfForm(address));
    for (const address of guardedForms(path, body)) guarded.add(routeOfForm(address));
    expectNoSecret(body, [...Object.values(TEST_SECRETS), stocked.program.api_key]);
    expectEscaped(body);
    const files = [...body.matchAll(/(?:href|src)="(\/assets\/[^"]+)"/g)].map(([, file = ""]) => file);
    expect(files.map((file) => file.split(".").at(-1)).toSorted()).toEqual(["css", "js"]);
    const assets = await Promise.all(files.map(async (file) => (await call<string>(file)).body));
    const sizes = await Promise.all([body, ...assets].map(gzipped));
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(MAX_BYTES);
  });

  it("reads by keys: no statement goes through a table of many rows", async () => {
    expect([...readBy.keys()]).toEqual(GETS);
    const grows = /^SCAN (events|event_counts|click_counts|commissions|c|payments|partners|p|payouts|y|deliveries|d)\b/;
    for (const [path, statements] of readBy) {
      for (const { sql, values } of statements) {
        const { results } = await env.DB.prepare(`explain query plan ${sql}`)
          .bind(...values)
          .all<{ detail: string }>();
        expect([path, results.map(({ detail }) => detail).filter((line) => grows.test(line))]).toEqual([path, []]);
      }
    }
  });

  it("is reached from the first one", () => {
    const reached = new Set<string>(["/dashboard", "/portal"]);
    for (const route of reached) for (const next of leadsTo.get(route) ?? []) reached.add(next);
    expect(GETS.filter((route) => !reached.has(route))).toEqual(Object.keys(ALONE));
  });

  it("sends the stored values along that its form shows", () => {
    expect([...unguarded].toSorted()).toEqual(Object.keys(UNGUARDED).toSorted());
  });

  it("is looked at in a browser, unless it is a file", () => {
    expect(LOOKED_AT.toSorted()).toEqual(GETS.filter((path) => !isFile(path)).toSorted());
  });

  it("that makes or changes a thing is among the forms that are tried", () => {
    const atNew = ROUTES.flatMap(({ method, path }) => (method === "POST" && path.endsWith("/new") ? [path] : []));
    const tried = [...MAKING, ...CHANGING, ...Object.keys(UNTRIED)];
    expect(tried.toSorted()).toEqual([...new Set([...guarded, ...atNew])].toSorted());
  });

  it("shows a provider's secrets and what is asked for as no markup either (PAGE-10)", async () => {
    await setSecrets(stocked.program.id, { provider_a_api_key: API_KEY });
    const commission = stocked.ids["commissions"] ?? "";
    await stocked.program.api("PATCH", `/api/v1/commissions/${commission}`, { status: "rejected", reason: HOSTILE });
    for (const address of [
      ...[
        "/dashboard/settings",
        "/dashboard/integration",
        `/dashboard/commissions/${commission}`,
        "/portal/commissions",
      ],
      ...["/dashboard?done=<script>", `/dashboard/partners?search=${encodeURIComponent(HOSTILE)}`],
      "/dashboard/commissions?columns=rejected_reason",
    ]) {
      const { body } = await open(address);
      expectNoSecret(body, [API_KEY]);
      expectEscaped(body);
    }
  });
});

describe("an unknown address", () => {
  it("is answered with a page, 404", async () => {
    const reply = await visitors.dashboard.get("/dashboard/nowhere");
    expect(reply.status).toBe(404);
    expect(reply.headers.get("content-type")).toContain("text/html");
    expect(reply.headers.get("content-security-policy")).toContain("default-src 'none'");
  });
});

describe("an address with a slash at its end (PAGE-28)", () => {
  const addresses = new Set(
    app.routes.flatMap(({ method, path }) =>
      method === "GET" && path !== "/" && !path.includes("*") ? [path.replaceAll(/:[a-z_]+(\{[^}]*\})?/g, "some")] : [],
    ),
  );
  /** Routes of programs. */
  const STRICT = /^\/(api|admin|webhooks|r|assets)\/|^\/(healthz|click|docs\/search)$/;
  const ask = (path: string, init: RequestInit = {}) =>
    exports.default.fetch(new Request(`${BASE_URL}${path}`, { redirect: "manual", ...init }));

  it("leads to every page, signed in or not, with its query; what programs ask for is strict", async () => {
    for (const page of ["/dashboard", "/dashboard/customers", "/portal/details", "/docs/search", "/sign-in"]) {
      expect(addresses).toContain(page);
    }
    for (const path of addresses) {
      for (const method of ["GET", "HEAD"]) {
        const { status, headers } = await ask(`${path}/?a=b%2F&c=1`, { method });
        const found = [path, status, headers.get("location")];
        if (!STRICT.test(path)) expect(found).toEqual([path, 308, `${path}?a=b%2F&c=1`]);
        else expect([401, 404], path).toContain(status);
      }
    }
    expect((await visitors.dashboard.get("/dashboard/")).headers.get("location")).toBe("/dashboard");
  });

  it("is unknown where there is no page, and for a form", async () => {
    for (const path of ["/nowhere/", "/dashboard/nowhere/", "//example.com/", "/dashboard//example.com/", "//docs/"]) {
      expect([path, (await visitors.dashboard.get(path)).status]).toEqual([path, 404]);
    }
    expect((await ask("/sign-in/", { method: "POST" })).headers.get("location")).toBeNull();
  });
});

describe("style and script", () => {
  it("may be kept forever under their name, and only there", async () => {
    const { body } = await open("/dashboard");
    const files = [...body.matchAll(/"(\/assets\/([0-9a-f]{16})\.(css|js))"/g)];
    expect(files).toHaveLength(2);
    for (const [, file = "", name = "", kind = ""] of files) {
      const reply = await call<string>(file);
      expect([reply.status, reply.headers.get("cache-control")]).toEqual([200, "public, max-age=31536000, immutable"]);
      expect(reply.headers.get("content-type")).toContain(kind === "css" ? "text/css" : "text/javascript");
      const older = await call<string>(file.replace(name, "0123456789abcdef"));
      expect([older.status, older.body, older.headers.get("cache-control")]).toEqual([200, reply.body, "no-store"]);
    }
    expect((await call("/assets/x.css")).status).toBe(404);
    expect((await call("/assets/../wrangler.toml")).status).toBe(404);
  });
});
