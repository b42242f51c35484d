/** The measured cases, each with the requests of one run. */
import { bodyOfA, invoicePaid, signA } from "../support/provider-a.ts";
import { uniqueId } from "../support/vendor.ts";
import { PLACE, rawRequest } from "./load.ts";
import { ADMIN_TOKEN } from "./raw-service.ts";

export const VISITOR =
  "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36";
export const SECRET = "whsec_bench_secret_of_provider_a";
/** Signed events of one run; the vendor's tolerance is five minutes, so they are made shortly before. */
const EVENTS = 3_000;

export interface BenchWorld {
  program_id: string;
  api_key: string;
  ref: string;
}

export interface BenchCase {
  name: string;
  /** The share of the bare Worker that it must reach, by connections. */
  goal: Partial<Record<number, number>>;
  /** Statuses that count as done. */
  done: number[];
  requests: (world: BenchWorld) => string[] | Promise<string[]>;
  /** Whether `least-worker.ts` answers the same requests, or it alone does. */
  least?: true | "only";
  /** Whether its program is the large one (`large-world.ts`). */
  isLarge?: true;
}

export const CASES: BenchCase[] = [
  {
    name: "click",
    goal: { 16: 0.28, 64: 0.45 },
    done: [202],
    requests: (world) => [clickRequest(world)],
    least: true,
  },
  { name: "empty call", goal: {}, done: [204], requests: () => [rawRequest("GET", "/call", {})], least: "only" },
  {
    name: "API list",
    goal: { 64: 0.05 },
    done: [200],
    requests: (world) => [readRequest(world)],
    least: true,
  },
  {
    name: "API create",
    goal: { 64: 0.035 },
    done: [201],
    least: true,
    requests: (world) => [
      rawRequest(
        "POST",
        "/api/v1/partners",
        { ...authorized(world), "Content-Type": "application/json" },
        JSON.stringify({ email: `${PLACE}@partners.example`, slug: `b${PLACE}` }),
      ),
    ],
  },
  {
    name: "inbound webhook",
    goal: { 64: 0.02 },
    done: [200],
    least: true,
    requests: async ({ program_id, ref }) =>
      Promise.all(
        Array.from({ length: EVENTS }, async () => {
          // Each of another customer: the flows of the large program compare the first 900 payments of one.
          const body = bodyOfA(invoicePaid({ ref, email: `${uniqueId("b")}@customers.example` }));
          return rawRequest(
            "POST",
            `/webhooks/provider_a?program_id=${program_id}`,
            { "Content-Type": "application/json", "Provider-A-Signature": await signA(body, SECRET) },
            body,
          );
        }),
      ),
  },
];

/** Twenty partners of the program. */
export function readRequest(world: BenchWorld): string {
  return rawRequest("GET", "/api/v1/partners", authorized(world));
}

/** A click as the script sends it, with an id of its own; the address makes the rate limiter part of it. */
export function clickRequest({ program_id, ref }: BenchWorld): string {
  return rawRequest(
    "POST",
    "/click",
    {
      "User-Agent": VISITOR,
      "Content-Type": "text/plain;charset=UTF-8",
      Origin: "https://shop.example",
      Referer: "https://shop.example/",
      "CF-Connecting-IP": "203.0.113.7",
    },
    JSON.stringify({
      program_id,
      ref,
      landing: "/pricing/plans",
      referrer: "https://www.example.org/blog/some-article",
      id: `0.${PLACE}`,
    }),
  );
}

/** Gives the least Worker the key, the secret and the reference that the requests of this world come with. */
export async function prepareLeast(url: string, { api_key, ref }: BenchWorld): Promise<void> {
  const headers = { authorization: `Bearer ${api_key}`, "x-secret": SECRET, "x-ref": ref };
  const response = await fetch(`${url}/prepare`, { headers });
  if (!response.ok) throw new Error(`The least Worker: ${response.status}`);
}

/** A program with its secret, and twenty partners for the lists. */
export async function makeBenchWorld(url: string): Promise<BenchWorld> {
  const made = await call<{ program: { id: string }; api_key: string }>(url, "POST", "/admin/programs", ADMIN_TOKEN, {
    name: "Bench",
    owner_email: "owner@bench.example",
    domain: "shop.example",
  });
  const world = { program_id: made.program.id, api_key: made.api_key, ref: "jane" };
  await call(url, "PATCH", "/api/v1/programs/me", world.api_key, { provider_a_webhook_secret: SECRET });
  for (let i = 0; i < 20; i++) {
    const partner = { email: `p${i}@partners.example`, slug: i === 0 ? world.ref : `p${i}` };
    const { id } = await call<{ id: string }>(url, "POST", "/api/v1/partners", world.api_key, partner);
    await call(url, "PATCH", `/api/v1/partners/${id}`, world.api_key, { status: "active" });
  }
  return world;
}

export async function call<T>(url: string, method: string, path: string, token: string, body?: unknown): Promise<T> {
  const response = await fetch(url + path, {
    method,
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
  return JSON.parse(text) as T;
}

function authorized({ api_key }: BenchWorld): Record<string, string> {
  return { Authorization: `Bearer ${api_key}` };
}
