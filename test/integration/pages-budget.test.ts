import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, it } from "vitest";
import { call } from "../support/program.ts";
import { makeStocked, pageAddress, pageRoutes, type Stocked } from "../support/stocked.ts";
import { makeVisitor, signInOwner, signInPartner, type Visitor } from "../support/visitor.ts";
import { callWith, watchDatabase } from "../support/watched-database.ts";

const MAX_BYTES = 60 * 1024;
const MAX_ROUND_TRIPS = 3;

let stocked: Stocked;
let visitors: Record<"dashboard" | "portal", Visitor>;
let trips: { sql: string; values: unknown[] }[][];

beforeAll(async () => {
  stocked = await makeStocked();
  const { binding, roundTrips } = watchDatabase(env.DB);
  trips = roundTrips;
  const watched = () => makeVisitor((path, init) => callWith<string>({ DB: binding }, path, init));
  visitors = {
    dashboard: await signInOwner(stocked.program, watched()),
    portal: await signInPartner(stocked.partner.email, watched()),
  };
});

const GETS = pageRoutes("dashboard", "portal").filter(({ method }) => method === "GET");

async function open(path: string) {
  trips.length = 0;
  const visitor = path.startsWith("/portal") ? visitors.portal : visitors.dashboard;
  const reply = await visitor.get(pageAddress(path, stocked.ids));
  return { ...reply, trips: [...trips] };
}

async function gzipped(text: string): Promise<number> {
  const stream = new Blob([text]).stream().pipeThrough(new CompressionStream("gzip"));
  return (await new Response(stream).arrayBuffer()).byteLength;
}

describe("every page", () => {
  it.each(GETS)(
    "$path answers in at most three D1 round trips, and a file of a list has one more",
    async ({ path }) => {
      const reply = await open(path);
      expect(reply.status).toBe(200);
      // Its event is written before the file begins.
      expect(reply.trips.length).toBeLessThanOrEqual(MAX_ROUND_TRIPS + (path.endsWith("/list.csv") ? 1 : 0));
    },
  );

  it.each(GETS.filter(({ path }) => !path.endsWith(".csv")))(
    "$path is one document under 60 KB gzipped with its CSS and script",
    async ({ path }) => {
      const { body } = await open(path);
      const files = [...body.matchAll(/(?:href|src)="(\/assets\/[^"]+)"/g)].map(([, file = ""]) => file);
      expect(files.map((file) => file.split(".").at(-1)).toSorted()).toEqual(["css", "js"]);
      const assets = await Promise.all(files.map(async (file) => (await call<string>(file)).body));
      const sizes = await Promise.all([body, ...assets].map(gzipped));
      expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(MAX_BYTES);
      // Nothing else is loaded: neither an image nor a font nor a page of somebody else.
      expect(
        body.match(/<(img|iframe|object|embed|link rel="(?!icon|stylesheet)|script src="(?!\/assets\/))/),
      ).toBeNull();
    },
  );

  it("reads by keys: no statement goes through a table of many rows", async () => {
    const grows = /^SCAN (events|event_counts|click_counts|commissions|c|payments|partners|p|payouts|y|deliveries|d)\b/;
    for (const { path } of GETS) {
      for (const { sql, values } of (await open(path)).trips.flat()) {
        const { results } = await env.DB.prepare(`explain query plan ${sql}`)
          .bind(...values)
          .all<{ detail: string }>();
        const scans = results.map(({ detail }) => detail).filter((line) => grows.test(line));
        expect([path, scans]).toEqual([path, []]);
      }
    }
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
