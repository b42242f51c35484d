/** Programs in two databases (DEP-3). */
import {
  createExecutionContext,
  createMessageBatch,
  createScheduledController,
  env,
  getQueueResult,
  waitOnExecutionContext,
} from "cloudflare:test";
import { Webhook } from "standardwebhooks";
import { afterEach, describe, expect, it, vi } from "vitest";
import { shardOfKey, shardOfProgram, shardOfToken } from "../../src/domain/shard.ts";
import type { WakeUpMessage } from "../../src/domain/delivery.ts";
import type { Bindings } from "../../src/env.ts";
import worker from "../../src/index.ts";
import { playOutsideWorld, RESOLVER_URL } from "../support/dns.ts";
import { sendA, sendB } from "../support/ledger.ts";
import { call, makePartner, type TestProgram } from "../support/program.ts";
import { chargeRefunded, sessionCompleted } from "../support/provider-a.ts";
import { transactionCompleted } from "../support/provider-b.ts";
import { ADMIN, databaseOn, dump, makeProgramOn, tablesWith } from "../support/shards.ts";
import { uniqueId } from "../support/vendor.ts";
import { followLink, makeVisitor, signInPartner, textOf } from "../support/visitor.ts";
import { callWith } from "../support/watched-database.ts";

afterEach(() => vi.restoreAllMocks());

interface List<T> {
  data: T[];
  total: number;
}

describe("a program on shard 1", () => {
  it("is made, earns, pays and is looked at in its own database alone (DEP-3)", async () => {
    vi.spyOn(console, "info").mockImplementation(() => {});
    const before = await dump(0);
    const program = await makeProgramOn(1, { name: "On the second" });
    expect([shardOfProgram(program.id), shardOfKey(program.api_key), program.program.shard]).toEqual([1, 1, 1]);
    const partner = await makePartner(program, { email: "jane@second.example", slug: "jane" }, "invited");
    const flow = await program.api<{ id: string }>("POST", "/api/v1/flows", {
      name: "thirds",
      action_type: "percentage",
      action_value: 30,
    });
    expect(flow.status).toBe(201);

    // The partner's first sign-in activates, over the portal.
    const portal = await signInPartner("jane@second.example");
    expect(shardOfToken(portal.cookies.get("__Host-session") ?? "")).toBe(1);
    expect((await portal.get("/portal")).status).toBe(200);
    expect((await program.api<{ status: string }>("GET", `/api/v1/partners/${partner.id}`)).body.status).toBe("active");

    const payment_intent = uniqueId("pi_");
    const a = await sendA(program, sessionCompleted({ ref: "jane", amount: 10_000, payment_intent }));
    const b = await sendB(program, transactionCompleted({ ref: "jane", amount: 1_000, program: program.id }));
    const refund = await sendA(program, chargeRefunded({ payment_intent, amount: 10_000, refunded: 1_000 }));
    expect([a.body.outcome, b.body.outcome, refund.body.outcome]).toEqual(["commission", "commission", "adjusted"]);

    const commissions = await program.api<List<{ id: string; amount_cents: number }>>("GET", "/api/v1/commissions");
    expect(commissions.body.data.map(({ amount_cents }) => amount_cents).toSorted()).toEqual([2_700, 300]);
    const ids = commissions.body.data.map(({ id }) => id);
    await program.api("POST", "/api/v1/commissions/bulk", { ids, status: "approved" });
    const generated = await program.api<{ payouts: { id: string; amount_cents: number }[] }>(
      "POST",
      "/api/v1/payouts/generate",
      {},
      { "Idempotency-Key": "on shard 1" },
    );
    expect(generated.body.payouts).toMatchObject([{ amount_cents: 3_000 }]);
    const paid = await program.api("POST", `/api/v1/payouts/${generated.body.payouts[0]!.id}/mark-paid`, {});
    expect(paid.status).toBe(200);
    const one = await program.api<{ stats: object }>("GET", `/api/v1/partners/${partner.id}`);
    expect(one.body.stats).toMatchObject({ total_commissions: 2, paid_cents: 3_000 });
    const events = await program.api<List<{ type: string }>>("GET", "/api/v1/events?per_page=100");
    expect(events.body.data.map(({ type }) => type)).toContain("payout.paid");

    // The owner, by the operator's link.
    const link = await call<{ url: string }>("/admin/sign-in-links", {
      method: "POST",
      headers: ADMIN,
      body: JSON.stringify({ email: program.program.owner_email }),
    });
    const token = new URL(link.body.url).searchParams.get("token") ?? "";
    expect([link.status, shardOfToken(token)]).toEqual([201, 1]);
    const owner = makeVisitor();
    expect((await followLink(owner, token)).headers.get("location")).toBe("/dashboard");
    for (const page of ["", "/partners", "/commissions", "/payouts", "/events", "/settings"]) {
      const shown = await owner.get(`/dashboard${page}`);
      expect([page, shown.status, textOf(shown.body).includes("On the second")]).toEqual([page, 200, true]);
    }
    expect((await owner.post("/sign-out")).status).toBe(303);
    expect((await owner.get("/dashboard")).headers.get("location")).toBe("/sign-in");

    // The first database counts who asked for a link: the account is not known then.
    const after = await dump(0);
    expect(after["sign_in_links"]).toHaveLength((before["sign_in_links"]?.length ?? 0) + 1);
    expect({ ...after, sign_in_links: [] }).toEqual({ ...before, sign_in_links: [] });
    expect(await tablesWith(1, program.id)).toEqual(expect.arrayContaining(["programs", "payments", "payouts"]));
  });

  it("has its deliveries woken, sent and retried from its own database", async () => {
    vi.spyOn(console, "info").mockImplementation(() => {});
    const program = await makeProgramOn(1);
    const other = await makeProgramOn(0);
    const answers = [500, 200, 200];
    const world = playOutsideWorld({
      receivers: { "hooks.example": () => new Response(null, { status: answers.shift() ?? 200 }) },
    });
    vi.spyOn(globalThis, "fetch").mockImplementation(world.fetch as typeof fetch);
    const secrets = new Map<TestProgram, string>();
    const queued: { body: WakeUpMessage; delaySeconds?: number }[] = [];
    const DELIVERIES = { sendBatch: async (messages: typeof queued) => void queued.push(...messages) };
    const bindings = { DNS_RESOLVER_URL: RESOLVER_URL, DELIVERIES } as unknown as Partial<Bindings>;
    for (const one of [program, other]) {
      const endpoint = await one.api<{ secret: string }>("POST", "/api/v1/webhooks", {
        url: "https://hooks.example/",
        events: ["partner.created"],
      });
      secrets.set(one, endpoint.body.secret);
      const headers = { authorization: `Bearer ${one.api_key}`, "content-type": "application/json" };
      const body = JSON.stringify({ email: "p@p.example", slug: "p" });
      expect((await callWith(bindings, "/api/v1/partners", { method: "POST", headers, body })).status).toBe(201);
    }
    expect(queued.map(({ body }) => body.shard)).toEqual([1, 0]);
    const [woken, wokenElsewhere] = queued.splice(0).map(({ body }) => body);

    const consume = async (bodies: unknown[]) => {
      const messages = bodies.map((body, i) => ({ id: `m${i}`, timestamp: new Date(), attempts: 1, body }));
      const batch = createMessageBatch("deliveries", messages);
      const context = createExecutionContext();
      await worker.queue(batch, { ...(env as unknown as Bindings), ...bindings }, context);
      return getQueueResult(batch, context);
    };
    // Under another shard a delivery is not found; the row is untouched.
    expect(await consume([{ delivery_id: woken!.delivery_id, shard: 0 }])).toMatchObject({ explicitAcks: ["m0"] });
    expect(world.requests).toEqual([]);
    expect(await consume([woken])).toMatchObject({ explicitAcks: ["m0"] });
    expect(new Webhook(secrets.get(program)!).verify(world.requests[0]!.text, headersOf(world))).toBeTruthy();
    const retry = queued.splice(0);
    expect(retry.map(({ body }) => body)).toEqual([woken]);
    expect(retry[0]!.delaySeconds).toBeGreaterThan(290);

    // A batch of both databases and one that is not bound: each answers for its own.
    await databaseOn(1).prepare("update deliveries set next_attempt_at = created_at").run();
    const logged = vi.spyOn(console, "error").mockImplementation(() => {});
    const mixed = [woken, wokenElsewhere, { delivery_id: woken!.delivery_id, shard: 7 }, { ...woken, shard: "1" }];
    expect(await consume(mixed)).toMatchObject({ explicitAcks: ["m0", "m1", "m2", "m3"], retryMessages: [] });
    expect(logged.mock.calls.map(([line]) => JSON.parse(String(line)) as object)).toMatchObject([
      { what: "a message that is no wake-up" },
      { what: "wake-ups for a database that is not bound", shard: 7 },
    ]);
    expect(world.requests).toHaveLength(3);
    for (const [shard, one] of [[1, program] as const, [0, other] as const]) {
      const { results } = await databaseOn(shard)
        .prepare("select status from deliveries where program_id = ?")
        .bind(one.id)
        .all();
      expect(results).toEqual([{ status: "succeeded" }]);
    }
  });
});

function headersOf({ requests }: ReturnType<typeof playOutsideWorld>): Record<string, string> {
  return Object.fromEntries(requests.at(-1)!.headers);
}

describe("the crons", () => {
  it("run over both databases", async () => {
    const programs = [await makeProgramOn(0), await makeProgramOn(1)] as const;
    for (const [shard, program] of programs.entries()) {
      const partner = await makePartner(program, { slug: "jane" });
      await sendA(program, sessionCompleted({ ref: "jane", amount: 5_000 }));
      await program.api("PATCH", "/api/v1/programs/me", { auto_approve_days: 0 });
      // A disabled endpoint, and a delivery without a wake-up.
      await program.api("POST", "/api/v1/webhooks", { url: "https://hooks.example/", events: ["*"] });
      await program.api("PATCH", `/api/v1/partners/${partner.id}`, { first_name: "J" });
      const database = databaseOn(shard as 0 | 1);
      await database.batch([
        database
          .prepare("update commissions set created_at = '2026-01-01T00:00:00.000Z' where program_id = ?")
          .bind(program.id),
        database
          .prepare(
            "insert into sign_in_links (token_hash, audience, email, program_id, created_at, expires_at) values ('old', 'owner', 'o@example.com', ?, '2020', '2020')",
          )
          .bind(program.id),
      ]);
    }
    vi.spyOn(console, "info").mockImplementation(() => {});
    const queued: { body: WakeUpMessage }[] = [];
    const DELIVERIES = { sendBatch: async (messages: typeof queued) => void queued.push(...messages) };
    const fire = async (cron: string) => {
      const context = createExecutionContext();
      const bindings = { ...(env as unknown as Bindings), DELIVERIES } as unknown as Bindings;
      await worker.scheduled(createScheduledController({ cron, scheduledTime: new Date() }), bindings, context);
      await waitOnExecutionContext(context);
    };
    await fire("* * * * *");
    await fire("17 3 * * *");
    expect(new Set(queued.map(({ body }) => body.shard))).toEqual(new Set([0, 1]));
    for (const [shard, program] of programs.entries()) {
      const { body } = await program.api<List<{ status: string }>>("GET", "/api/v1/commissions");
      expect(body.data).toMatchObject([{ status: "approved" }]);
      expect(await tablesWith(shard as 0 | 1, '"token_hash":"old"')).toEqual([]);
    }
  });
});

describe("the operator", () => {
  it("lists the programs of both databases as one, newest first, with the exact total, by page and by cursor", async () => {
    const made: string[] = [];
    for (let i = 0; i < 6; i++) {
      made.unshift((await makeProgramOn(i % 3 === 0 ? 0 : 1)).id);
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
    const list = async (query: string) => {
      const reply = await call<List<{ id: string }> & { next_cursor: string | null }>(`/admin/programs?${query}`, {
        headers: ADMIN,
      });
      expect(reply.status).toBe(200);
      return { ...reply.body, ids: reply.body.data.map(({ id }) => id) };
    };
    const counts = await Promise.all(
      [databaseOn(0), databaseOn(1)].map((database) =>
        database.prepare("select count(*) as n from programs").first("n"),
      ),
    );
    const total = Number(counts[0]) + Number(counts[1]);
    expect(await list("per_page=6")).toMatchObject({ ids: made, total });
    expect((await list("per_page=2&page=2")).ids).toEqual(made.slice(2, 4));
    expect((await list("per_page=4&page=2")).ids.slice(0, 2)).toEqual(made.slice(4));
    const walked: string[] = [];
    let cursor: string | null = "";
    while (cursor !== null) {
      const page: Awaited<ReturnType<typeof list>> = await list(
        `per_page=${walked.length < 6 ? 1 : 100}${cursor && `&cursor=${cursor}`}`,
      );
      expect(page.total).toBe(total);
      walked.push(...page.ids);
      cursor = page.next_cursor;
    }
    expect(walked.slice(0, 6)).toEqual(made);
    const reported = await Promise.all(
      [databaseOn(0), databaseOn(1)].map((database, shard) =>
        database
          .prepare("select count(*) as n from programs where substr(id, 6, 1) = ?")
          .bind(String(shard))
          .first("n"),
      ),
    );
    // If another test plays a copy, the second database also holds programs of the first.
    const reachable = Number(reported[0]) + Number(reported[1]);
    expect(new Set(walked).size).toBe(reachable);
  });

  it("gives a program of shard 1 a new key there", async () => {
    const program = await makeProgramOn(1);
    const path = `/admin/programs/${program.id}/api-key`;
    const reply = await call<{ api_key: string }>(path, { method: "POST", headers: ADMIN });
    expect([reply.status, shardOfKey(reply.body.api_key)]).toEqual([201, 1]);
    expect((await program.api("GET", "/api/v1/programs/me")).status).toBe(401);
    const headers = { authorization: `Bearer ${reply.body.api_key}` };
    expect((await call("/api/v1/programs/me", { headers })).status).toBe(200);
  });

  it.each([
    ["2", "no database is bound as DB_2"],
    ["31", "no database is bound as DB_31"],
    ["32", "not a number from 0 to 31"],
    ["-1", "not a number"],
    ["one", "not a number"],
    ["1.5", "not a number"],
  ])("is reported when NEW_PROGRAM_SHARD is %s, where programs are made and by /healthz", async (value, said) => {
    vi.spyOn(console, "error").mockImplementation(() => {});
    const bindings = { NEW_PROGRAM_SHARD: value };
    const body = JSON.stringify({ name: "Nowhere", owner_email: "o@example.com" });
    const refused = await callWith<{ error: { code: string; message: string } }>(bindings, "/admin/programs", {
      method: "POST",
      headers: ADMIN,
      body,
    });
    expect([refused.status, refused.body.error.code]).toEqual([503, "storage_unavailable"]);
    expect(refused.body.error.message).toContain(said);
    const health = await callWith<typeof refused.body>(bindings, "/healthz");
    expect([health.status, health.body.error.message]).toEqual([503, refused.body.error.message]);
  });

  it("may give it as a number, or leave it empty for shard 0", async () => {
    for (const [value, shard] of [
      [1, 1],
      ["", 0],
      ["0", 0],
    ] as const) {
      const reply = await callWith<{ program: { id: string } }>({ NEW_PROGRAM_SHARD: value }, "/admin/programs", {
        method: "POST",
        headers: ADMIN,
        body: JSON.stringify({ name: "N", owner_email: "o@example.com" }),
      });
      expect(shardOfProgram(reply.body.program.id)).toBe(shard);
    }
    expect((await call("/healthz")).body).toEqual({ status: "ok" });
  });
});
