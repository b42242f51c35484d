/**
 * The storage fails, is overloaded, slow or unresponsive (HTTP-16): every class of route gives its documented answer
 * within a bounded time, acknowledged data is kept, and everything resumes when the storage is back.
 */
import {
  createExecutionContext,
  createMessageBatch,
  createScheduledController,
  getQueueResult,
  waitOnExecutionContext,
} from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ANSWER_WITHIN } from "../../src/db/bounded-database.ts";
import { wakeClickObjects } from "../../src/clicks/wake-objects.ts";
import type { Bindings } from "../../src/env.ts";
import worker from "../../src/index.ts";
import { claimsPrograms, VENDOR_NAMES } from "../../src/providers/registry.ts";
import { serveAll } from "../support/jobs.ts";
import { playOutsideWorld } from "../support/dns.ts";
import { ledgerOf } from "../support/ledger.ts";
import { deliveriesOf, makeEndpoint, openOutbound } from "../support/outbound.ts";
import {
  makePartner,
  makeProgram,
  TEST_SECRETS,
  testContext,
  type Reply,
  type TestProgram,
} from "../support/program.ts";
import { saleAt } from "../support/sale.ts";
import { signed } from "../support/signed.ts";
import { makeVisitor, signInOwner } from "../support/visitor.ts";
import { callWith } from "../support/watched-database.ts";

type Failure = "away" | "overloaded" | "locked" | "hung";

const SAYS: Record<Exclude<Failure, "hung">, string> = {
  away: "D1_ERROR: Network connection lost.",
  overloaded: "D1_ERROR: D1 DB is overloaded. Too many requests queued.",
  locked: "D1_ERROR: database is locked: SQLITE_BUSY",
};

/** The database, which fails from the `from`-th call on; `lost` carries its calls out and loses the replies. */
function failingDatabase(failure: Failure | "lost", from = 0): D1Database {
  let calls = 0;
  const fail = async <T>(work: () => Promise<T>): Promise<T> => {
    if (calls++ < from) return work();
    if (failure === "hung") return new Promise(() => {});
    if (failure !== "lost") throw new Error(SAYS[failure]);
    await work();
    throw new Error(SAYS.away);
  };
  const wrap = (statement: D1PreparedStatement): D1PreparedStatement =>
    new Proxy(statement, {
      get(target, name) {
        if (name === "inner") return target;
        const member = Reflect.get(target, name) as (...args: unknown[]) => unknown;
        const asked = (...args: unknown[]) => Reflect.apply(member, target, args);
        if (name === "bind") return (...args: unknown[]) => wrap(asked(...args) as D1PreparedStatement);
        return (...args: unknown[]) => fail(async () => asked(...args));
      },
    });
  const plain = (statement: D1PreparedStatement) => (statement as unknown as { inner: D1PreparedStatement }).inner;
  return {
    prepare: (query: string) => wrap(env.DB.prepare(query)),
    batch: (statements: D1PreparedStatement[]) => fail(() => env.DB.batch(statements.map(plain))),
  } as unknown as D1Database;
}

let program: TestProgram;
let partner: { id: string };

beforeEach(async () => {
  vi.spyOn(console, "error").mockReturnValue();
  vi.spyOn(console, "info").mockReturnValue();
  program = await makeProgram();
  partner = await makePartner(program, { slug: "jane" });
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

interface Errored {
  error: { code: string; message: string };
}

/** Ends hanging work: only the timers of the code under test are played, by a clock that runs ahead. */
async function within<T>(failure: Failure, work: () => Promise<T>): Promise<T> {
  if (failure !== "hung") return work();
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const state = { isOver: false };
  const ended = work().finally(() => (state.isOver = true));
  for (let waited = 0; !state.isOver && waited <= 3 * ANSWER_WITHIN; waited += ANSWER_WITHIN / 10) {
    await vi.advanceTimersByTimeAsync(ANSWER_WITHIN / 10);
    // The platform's own work (hashes, streams) settles on the real event loop.
    await scheduler.wait(2);
  }
  vi.useRealTimers();
  expect(state.isOver, "it ended in bounded time").toBe(true);
  return ended;
}

/** A minute passes for the keys whose requests have not answered. */
async function abandonKeys(): Promise<void> {
  await env.DB.prepare("update idempotency_keys set created_at = ? where status_code is null and program_id = ?")
    .bind(new Date(Date.now() - 61_000).toISOString(), program.id)
    .run();
}

const json = (extra: Record<string, string> = {}) => ({ "content-type": "application/json", ...extra });

/** The events of one payment at each provider. */
const RECEIVED = Object.fromEntries(VENDOR_NAMES.map((name) => [`webhook.${name}`, 1]));

/** A payment at each provider, by its name. */
async function ofProviders(): Promise<Record<string, readonly [path: string, init: RequestInit]>> {
  const made = VENDOR_NAMES.map(async (name) => {
    const body = saleAt(name, { ref: "jane", program: program.id });
    const headers = json(await signed(name, body, TEST_SECRETS[name]));
    // A provider whose events claim programs is found by its event.
    const path = `/webhooks/${name}${claimsPrograms(name) ? "" : `?program_id=${program.id}`}`;
    return [name, [path, { method: "POST", headers, body }]] as const;
  });
  return Object.fromEntries(await Promise.all(made));
}

/** A request of each class of route, and how it is done for real. */
async function requests(): Promise<Record<string, readonly [path: string, init: RequestInit]>> {
  const authorization = `Bearer ${program.api_key}`;
  const owner = { authorization: "Bearer test-admin-token" };
  return {
    "API list": ["/api/v1/partners", { headers: { authorization } }],
    "API get": [`/api/v1/partners/${partner.id}`, { headers: { authorization } }],
    "API create": [
      "/api/v1/partners",
      { method: "POST", headers: json({ authorization }), body: '{"email": "new@example.com", "slug": "new"}' },
    ],
    "API create with a key": [
      "/api/v1/flows",
      {
        method: "POST",
        headers: json({ authorization, "Idempotency-Key": "k" }),
        body: '{"name": "x", "action_type": "flat", "action_value": 1}',
      },
    ],
    "API change": [
      `/api/v1/partners/${partner.id}`,
      { method: "PATCH", headers: json({ authorization }), body: '{"first_name": "Jane"}' },
    ],
    "API with a wrong key": ["/api/v1/flows", { headers: { authorization: "Bearer sk_wrong" } }],
    "payouts generated": ["/api/v1/payouts/generate", { method: "POST", headers: { authorization } }],
    operator: [
      "/admin/programs",
      { method: "POST", headers: json(owner), body: '{"name": "New", "owner_email": "new@example.com"}' },
    ],
    ...(await ofProviders()),
    "API delete": [`/api/v1/partners/${partner.id}`, { method: "DELETE", headers: { authorization } }],
    health: ["/healthz", {}],
    "redirect link": [`/r/${program.id}/jane`, { redirect: "manual" }],
  };
}

describe.each(["away", "overloaded", "locked", "hung"] as const)("a database that is %s", (failure) => {
  it("is 503 storage_unavailable with Retry-After on every class of route that needs it, and nothing is changed (HTTP-16)", async () => {
    const before = await program.api<{ data: unknown[] }>("GET", "/api/v1/events");
    for (const [name, [path, init]] of Object.entries(await requests())) {
      const reply = await within(failure, () => callWith<Errored>({ DB: failingDatabase(failure) }, path, init));
      expect([name, reply.status, reply.body.error?.code]).toEqual([name, 503, "storage_unavailable"]);
      expect([name, reply.headers.get("Retry-After")]).toEqual([name, expect.stringMatching(/^[1-9]\d*$/)]);
      expect(JSON.stringify(reply.body)).not.toMatch(/D1|SQLITE|overloaded|database took/);
    }
    const after = await program.api<{ data: unknown[] }>("GET", "/api/v1/events");
    expect(after.body.data).toEqual(before.body.data);
  });

  it("in the middle of a request is the same, and the same request again does all of it once", async () => {
    for (const [name, [path, init]] of Object.entries(await requests())) {
      if (init.method === undefined || name === "operator") continue;
      let failed = 0;
      for (let from = 1; from < 10; from++) {
        const reply = await within(failure, () =>
          callWith<Errored>({ DB: failingDatabase(failure, from) }, path, init),
        );
        if (reply.status < 500) break;
        expect([name, from, reply.status, reply.body.error.code]).toEqual([name, from, 503, "storage_unavailable"]);
        failed++;
        // A key that could not be released is free after a minute.
        await abandonKeys();
      }
      // A partner whose key was recently used is made in one round trip, which cannot fail halfway.
      if (name !== "API create") expect([name, failed > 0]).toEqual([name, true]);
    }
    const ledger = await ledgerOf(program);
    expect(ledger.commissions).toHaveLength(VENDOR_NAMES.length);
    expect(ledger.eventCounts).toEqual({
      "commission.created": VENDOR_NAMES.length,
      "flow.created": 1,
      "partner.created": 2,
      // Activated, renamed, deactivated.
      "partner.updated": 2,
      "partner.deleted": 1,
      ...RECEIVED,
    });
  });

  it("is a page that says so, signed in or not", async () => {
    const { cookies } = await signInOwner(program);
    for (const path of ["/dashboard", "/dashboard/partners", "/"]) {
      const visitor = makeVisitor((at, init) => callWith({ DB: failingDatabase(failure) }, at, init));
      for (const [name, value] of cookies) visitor.cookies.set(name, value);
      const reply = await within(failure, () => visitor.get(path));
      expect([path, reply.status, reply.headers.get("content-type")]).toEqual([
        path,
        503,
        expect.stringContaining("text/html"),
      ]);
      expect(reply.headers.get("Retry-After")).toMatch(/^[1-9]\d*$/);
      expect(reply.body).toContain("Please try again");
      expect(reply.body).not.toMatch(/D1_|SQLITE/);
      // The session outlives it.
      expect(visitor.cookies).toEqual(cookies);
    }
  });

  it("lets the queue try again and the crons fail without noise: nothing is answered for that was not done (LAW-10)", async () => {
    const bindings = { ...(env as unknown as Bindings), DB: failingDatabase(failure) };
    const batch = createMessageBatch("deliveries", [
      { id: "m", timestamp: new Date(), attempts: 1, body: { delivery_id: "dlv_x", shard: 0 } },
    ]);
    const context = createExecutionContext();
    await within(failure, () => worker.queue(batch, bindings, context));
    const result = await getQueueResult(batch, context);
    expect([result.explicitAcks, result.retryMessages.map(({ msgId }) => msgId)]).toEqual([[], ["m"]]);
    for (const cron of ["* * * * *", "17 3 * * *", "23 0 1 * *"]) {
      const firing = createExecutionContext();
      await within(failure, () => worker.scheduled(createScheduledController({ cron }), bindings, firing));
      await waitOnExecutionContext(firing);
    }
  });
});

describe("a database whose reply is lost after the work is done", () => {
  it("is 503 for a create with a key; the same request again gets the first answer, and there is one (HTTP-16)", async () => {
    const [path, init] = (await requests())["API create with a key"]!;
    const made: string[] = [];
    let replayed = 0;
    for (let from = 0; ; from++) {
      const sent = { ...init, headers: { ...(init.headers as object), "Idempotency-Key": `lost ${from}` } };
      const lost = await callWith<Errored>({ DB: failingDatabase("lost", from) }, path, sent);
      if (lost.status === 201) break;
      expect([from, lost.status, lost.body.error.code]).toEqual([from, 503, "storage_unavailable"]);
      // If only the claim was stored, it expires.
      await abandonKeys();
      const again = await callWith<{ id: string }>({}, path, sent);
      expect([from, again.status]).toEqual([from, 201]);
      if (again.headers.get("Idempotent-Replayed") === "true") replayed++;
      made.push(again.body.id);
    }
    expect(replayed, "lost after the commit").toBe(1);
    const flows = await program.api<{ data: { id: string }[] }>("GET", "/api/v1/flows");
    // The last one is from the attempt without a fault.
    expect(flows.body.data.map(({ id }) => id)).toEqual([...made, expect.any(String)]);
  });

  it("is 503 for a payment, and the provider's redelivery makes no second commission", async () => {
    for (const name of VENDOR_NAMES) {
      const [path, init] = (await requests())[name]!;
      for (const from of [1, 2, 3]) await callWith({ DB: failingDatabase("lost", from) }, path, init);
      expect((await callWith({}, path, init)).status).toBe(200);
    }
    const ledger = await ledgerOf(program);
    expect(ledger.commissions).toHaveLength(VENDOR_NAMES.length);
    expect(ledger.eventCounts).toMatchObject({
      "commission.created": VENDOR_NAMES.length,
      ...RECEIVED,
    });
  });
});

describe("a slow database", () => {
  it("is waited for", async () => {
    const slow = {
      prepare: (query: string) => env.DB.prepare(query),
      batch: async (statements: D1PreparedStatement[]) => {
        await new Promise((resolve) => setTimeout(resolve, 300));
        return env.DB.batch(statements);
      },
    } as unknown as D1Database;
    const [path, init] = (await requests())["API create with a key"]!;
    expect((await callWith({ DB: slow }, path, init)).status).toBe(201);
  });

  it("does not keep a visitor on a redirect link waiting for more than a few seconds", async () => {
    const other = await makeProgram();
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const reply = callWith<Errored>({ DB: failingDatabase("hung") }, `/r/${other.id}/jane`);
    await vi.advanceTimersByTimeAsync(3_100);
    vi.useRealTimers();
    expect((await reply).status).toBe(503);
  });
});

describe("a queue that is down (HOOK-6)", () => {
  it("fails no write, and the sweep delivers when it is back", async () => {
    await makeEndpoint(program, "https://hooks.example/");
    const down = {
      sendBatch: () => Promise.reject(new Error("Queue is unavailable")),
    } as unknown as Bindings["DELIVERIES"];
    const [path, init] = (await requests())["API create"]!;
    expect((await callWith({ DELIVERIES: down }, path, init)).status).toBe(201);
    const payment = (await ofProviders())[VENDOR_NAMES[0]!]!;
    expect((await callWith({ DELIVERIES: down }, ...payment)).status).toBe(200);
    const open = await deliveriesOf(program);
    expect(open.map(({ status, attempt_count }) => [status, attempt_count])).toEqual([
      ["pending", 0],
      ["pending", 0],
    ]);
    const world = playOutsideWorld({ receivers: { "hooks.example": () => new Response() } });
    const outbound = openOutbound(world, { now: Date.now() + 1_000 });
    const woken = await outbound.sweep(program);
    await outbound.deliver(...woken.map(({ delivery_id }) => delivery_id));
    expect((await deliveriesOf(program)).map(({ status }) => status)).toEqual(["succeeded", "succeeded"]);
    expect(world.requests).toHaveLength(2);
  });
});

describe("click objects that are away", () => {
  const away = (commit: () => Promise<unknown>) =>
    ({ CLICKS: { getByName: () => ({ commit, look: commit }) } }) as unknown as Partial<Bindings>;
  const click = (bindings: Partial<Bindings>): Promise<Reply<Errored>> =>
    callWith(bindings, "/click", {
      method: "POST",
      headers: { "content-type": "text/plain", "user-agent": "Mozilla/5.0 (X11) Firefox/140" },
      body: JSON.stringify({ program_id: program.id, ref: "jane", landing: "/", referrer: "" }),
    });

  it.each([
    ["fail", () => Promise.reject(new Error("Internal error in Durable Object storage caused object to be reset."))],
    ["are overloaded", () => Promise.reject(Object.assign(new Error("overloaded"), { overloaded: true }))],
    ["move twice", () => Promise.reject(Object.assign(new Error("moved"), { retryable: true }))],
    ["refuse", async () => ({ stored: false, reason: "storage", waiting: 0 })],
  ])("that %s: a click is 503 with Retry-After, a link leads on, the cron goes on", async (_, commit) => {
    const reply = await click(away(commit));
    expect([reply.status, reply.body.error.code, reply.headers.get("Retry-After")]).toEqual([
      503,
      "storage_unavailable",
      "5",
    ]);
    expect((await callWith(away(commit), `/r/${program.id}/jane`)).status).toBe(302);
    // The cron finds the object again, so clicks without a flush are not lost.
    await serveAll(wakeClickObjects(testContext(), away(commit) as Bindings));
    expect((await click({})).status, "it is back").toBe(202);
  });
});
