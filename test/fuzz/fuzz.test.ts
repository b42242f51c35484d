/**
 * Generated requests against every route: "never a 500, never another program's data, every reply as documented".
 * `FUZZ_RUNS` says how many, `FUZZ_SEED` repeats a run.
 */
import { env, exports } from "cloudflare:workers";
import fc from "fast-check";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { operationAt, operations } from "../support/openapi.ts";
import { BASE_URL, isPage, replyTo, staticFile, TEST_SECRETS, type Reply } from "../support/program.ts";
import { signed } from "../support/signed.ts";
import { bytesOf } from "../support/vendor.ts";
import { trackingRequest } from "./clicks.ts";
import { MARKUP } from "./hostile.ts";
import { inboundRequest, type SignedDraft } from "./inbound.ts";
import { pageRequest, type Form } from "./pages.ts";
import { filled } from "./places.ts";
import { apiRequest, type Draft } from "./requests.ts";
import { outsideWorld } from "./outside.ts";
import { dumpOf, makeWorld, renewed, type World } from "./world.ts";

const RUNS = Number(env.FUZZ_RUNS);
const SEED = env.FUZZ_SEED === undefined ? Date.now() % 0x7fffffff : Number(env.FUZZ_SEED);
/** So many come from one program: its flows and its requests a minute are limited, and they spoil things for each other. */
const RUNS_PER_PROGRAM = 250;

let world: World;
let before: string;

beforeAll(async () => {
  world = await makeWorld();
  before = await dumpOf(world.other.program.id);
  vi.spyOn(globalThis, "fetch").mockImplementation(outsideWorld());
});
afterAll(() => vi.restoreAllMocks());

type AnyDraft = Draft | SignedDraft | ((forms: readonly Form[]) => Draft);

const anyRequest: fc.Arbitrary<AnyDraft> = fc.oneof(
  { weight: 12, arbitrary: apiRequest },
  { weight: 4, arbitrary: pageRequest },
  { weight: 3, arbitrary: inboundRequest },
  { weight: 1, arbitrary: trackingRequest },
);

it(`${RUNS} requests of every kind (FUZZ_SEED=${SEED})`, { timeout: 600_000 + RUNS * 600 }, async () => {
  vi.spyOn(console, "error").mockImplementation(() => {});
  vi.spyOn(console, "log").mockImplementation(() => {});
  const statuses = new Map<number, number>();
  const problems = new Map<string, string>();
  const untaken = new Set(operations().map(({ method, path }) => `${method} ${path}`));
  let runs = 0;
  await fc.assert(
    fc.asyncProperty(anyRequest, async (draft) => {
      if (++runs % RUNS_PER_PROGRAM === 0) world = await renewed(world);
      const { status, route, problem } = await tried(typeof draft === "function" ? draft(world.forms) : draft);
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      if (status > 0 && status < 400) untaken.delete(route);
      if (status === 201 && route === NEW_KEY) world = await renewed(world);
      // Requests share state: failures are not shrunk, and each kind of problem is reported once.
      if (problem !== null && problems.size < MAX_PROBLEMS) problems.set(kindOf(problem), problem);
    }),
    { numRuns: RUNS, seed: SEED },
  );
  vi.restoreAllMocks();
  const counts = JSON.stringify(Object.fromEntries([...statuses].toSorted(([a], [b]) => a - b)));
  console.info(`fuzz: ${runs} requests, seed ${SEED}: ${counts}; never taken: ${[...untaken].join(", ") || "none"}`);
  expect([...problems.values()].join("\n\n")).toBe("");
  // Requests that are all refused at once would prove little.
  const of = (...all: number[]) => all.reduce((sum, status) => sum + (statuses.get(status) ?? 0), 0);
  for (const status of [200, 201, 400, 401, 404, 405, 409, 415, 422])
    expect([status, of(status)]).not.toEqual([status, 0]);
  expect(of(200, 201, 202, 302, 303) / runs).toBeGreaterThan(0.2);
  expect(await dumpOf(world.other.program.id)).toBe(before);
});

const MAX_PROBLEMS = 20;
/** After it the program's key and its owner's sessions are no more. */
const NEW_KEY = "POST /admin/programs/{id}/api-key";

function kindOf(problem: string): string {
  return problem.slice(problem.lastIndexOf("\n=> ")).replaceAll(/[a-z]{3,4}_[0-9a-z]+|%\S+|\d+/g, "");
}

interface Outcome {
  /** 0 for a request that cannot even be written as HTTP. */
  status: number;
  /** The documented route of the request. */
  route: string;
  problem: string | null;
}

/** Sends a draft and judges the answer. */
async function tried(draft: Draft | SignedDraft): Promise<Outcome> {
  const sent = await written(draft);
  let request: Request;
  try {
    request = new Request(sent.url, {
      method: sent.method,
      headers: sent.headers,
      body: sent.body,
      redirect: "manual",
    });
  } catch {
    return { status: 0, route: "", problem: null };
  }
  const url = new URL(request.url);
  const route = `${request.method} ${operationAt(request.method, url.pathname)?.path}`;
  let status = 0;
  try {
    // The platform's own replies are proven by test/dev/static-files.test.ts.
    const file = await staticFile(request);
    if (file) return { status: file.status, route, problem: file.status < 500 ? null : `${textOf(sent)}\n=> failed` };
    const response = await exports.default.fetch(request);
    ({ status } = response);
    judge(draft, url, await replyTo<unknown>(request, response));
    return { status, route, problem: null };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return { status, route, problem: `${textOf(sent)}\n=> ${status} ${message.slice(0, 2_000)}` };
  }
}

interface Sent {
  method: string;
  url: string;
  headers: [string, string][];
  body: Uint8Array<ArrayBuffer> | null;
}

/** The draft with everything in its place, and signed. */
async function written(draft: Draft | SignedDraft): Promise<Sent> {
  const { method } = draft;
  const text = typeof draft.body === "string" ? filled(draft.body, world.places) : draft.body;
  const bytes = text === null ? null : bytesOf(text);
  // The runtime writes a line about every header that is not ASCII.
  const headers = draft.headers.map(([name, value]): [string, string] => [
    name,
    filled(value, world.places).replaceAll(/[^ -~\r\n\0]/g, "?"),
  ]);
  if ("signs" in draft && draft.signs !== null && bytes) {
    headers.push(...Object.entries(await signed(draft.signs, bytes, TEST_SECRETS[draft.signs])));
  }
  const takesBody = !["get", "head"].includes(method.toLowerCase());
  return { method, url: `${BASE_URL}${filled(draft.path, world.places)}`, headers, body: takesBody ? bytes : null };
}

/** A request as it went out. */
function textOf({ method, url, headers, body }: Sent): string {
  const text = JSON.stringify(new TextDecoder().decode(body ?? new Uint8Array()));
  const lines = headers.map(([name, value]) => `${name}: ${value.slice(0, 300)}`).join("\n");
  return `${method} ${url.slice(0, 2_000)}\n${lines}\n${text.slice(0, 2_000)} (${text.length})`;
}

const SECURE = ["content-security-policy", "x-content-type-options", "referrer-policy"];

function judge({ refused, method }: Draft, { pathname }: URL, { status, headers, body }: Reply<unknown>): void {
  const text = `${typeof body === "string" ? body : JSON.stringify(body)}\n${[...headers].join("\n")}`;
  expect(status).not.toBe(500);
  // The storage is there: who blames it hides a fault of his own. The played vendor may be away.
  if (status === 503 && isPage(pathname)) expect(text).not.toContain("<h1>Please try again");
  else if (status === 503) expect(text).toContain("provider_unavailable");
  expect(headers.get("x-request-id")).toMatch(/^req_/);
  expect(text).not.toMatch(/SQLITE_|D1_ERROR|TypeError|\[object Object\]|node_modules|\bat \w+ \(/);
  if (!pathname.startsWith("/admin")) for (const mark of world.marks) expect(text).not.toContain(mark);
  if (refused) expect(status, "another program's").toBeGreaterThanOrEqual(isPage(pathname) ? 300 : 400);
  expect(headers.get("x-injected")).toBeNull();
  if (!headers.get("content-type")?.startsWith("text/html")) return;
  for (const markup of MARKUP) expect(text).not.toContain(markup);
  if (method !== "HEAD") for (const name of SECURE) expect(headers.has(name), name).toBe(true);
}
