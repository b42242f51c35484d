import { createHmac } from "node:crypto";
import { env } from "cloudflare:workers";
import { Webhook } from "standardwebhooks";
import { afterEach, describe, expect, it, vi } from "vitest";
import { LEASE_MS } from "../../src/core/kernel/deliveries.ts";
import { playOutsideWorld, never, type Receiver } from "../support/dns.ts";
import {
  attemptsOf,
  deliveriesOf,
  makeEndpoint,
  openOutbound,
  wakeUpBatch,
  type DeliveryRow,
} from "../support/outbound.ts";
import { makePartner, makeProgram, type TestProgram } from "../support/program.ts";
import { eventually, inPlayedTime } from "../support/time.ts";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

afterEach(() => vi.restoreAllMocks());

/** A program with one endpoint and one event for it, and the consumer with its own clock. */
async function setUp(receiver: Receiver, zone: Parameters<typeof playOutsideWorld>[0]["zone"] = {}) {
  vi.spyOn(console, "info").mockImplementation(() => {});
  const program = await makeProgram();
  const endpoint = await makeEndpoint(program, "https://hooks.example/in");
  const partner = await makePartner(program, { first_name: "Zoë 😀" }, "invited");
  const world = playOutsideWorld({ receivers: { "hooks.example": receiver }, zone });
  const clock = { now: Date.now() };
  const [delivery] = await deliveriesOf(program);
  return { program, endpoint, partner, world, clock, delivery: delivery!, outbound: openOutbound(world, clock) };
}

async function rowOf(program: TestProgram, id: string): Promise<DeliveryRow> {
  return (await deliveriesOf(program)).find((row) => row.id === id)!;
}

describe("a delivery", () => {
  it("reaches its endpoint with the bytes that were committed, verifiable by both kinds of signature", async () => {
    const { program, endpoint, partner, world, clock, delivery, outbound } = await setUp(() => new Response("thanks"));
    await outbound.deliver(delivery.id);

    expect(world.requests).toHaveLength(1);
    const { text, headers, body, method, url } = world.requests[0]!;
    expect([method, url.href]).toEqual(["POST", "https://hooks.example/in"]);
    expect(JSON.parse(text)).toEqual({
      event: "partner.created",
      timestamp: delivery.created_at,
      data: expect.objectContaining({ id: partner.id, first_name: "Zoë 😀" }) as unknown,
    });
    expect(headers.get("X-Service-Event")).toBe("partner.created");
    expect(headers.get("X-Service-Event-Id")).toBe(delivery.event_id);
    expect(headers.get("X-Service-Delivery-Id")).toBe(delivery.id);
    expect(new Webhook(endpoint.secret).verify(text, Object.fromEntries(headers))).toMatchObject({
      event: "partner.created",
    });
    expect(headers.get("X-Service-Signature")).toBe(createHmac("sha256", endpoint.secret).update(body).digest("hex"));
    const { results } = await env.DB.prepare("select id from events where program_id = ? and type = 'partner.created'")
      .bind(program.id)
      .all();
    expect(results).toEqual([{ id: delivery.event_id }]);

    expect(await rowOf(program, delivery.id)).toMatchObject({
      status: "succeeded",
      attempt_count: 1,
      next_attempt_at: null,
      claimed_until: null,
      completed_at: new Date(clock.now).toISOString(),
    });
    expect(await attemptsOf(delivery.id)).toEqual([
      {
        number: 1,
        started_at: new Date(clock.now).toISOString(),
        duration_ms: 0,
        status_code: 200,
        error: null,
        response_excerpt: "thanks",
      },
    ]);
    expect(outbound.wakeUps).toEqual([]);
  });

  it("that has succeeded is not sent again, however often it is woken", async () => {
    const { world, delivery, outbound, clock } = await setUp(() => new Response(null, { status: 204 }));
    await outbound.deliver(delivery.id);
    clock.now += 24 * HOUR;
    await outbound.deliver(delivery.id, delivery.id, delivery.id);
    expect(world.requests).toHaveLength(1);
  });

  it.each([
    ["500", () => new Response("no", { status: 500 }), { error: "http", status_code: 500 }],
    ["404", () => new Response(null, { status: 404 }), { error: "http", status_code: 404 }],
    ["301", () => Response.redirect("https://hooks.example/there", 301), { error: "redirect", status_code: 301 }],
    [
      "a broken connection",
      () => {
        throw new TypeError("reset");
      },
      { error: "connection", status_code: null },
    ],
  ] as [string, Receiver, object][])(
    "answered with %s follows the attempt table on its row, five attempts, then failed (HOOK-5)",
    async (_name, receiver, failure) => {
      const { program, world, clock, delivery, outbound } = await setUp(receiver);
      // 0, 5 min, 30 min, 2 h, 12 h (HOOK-5), each from the start of the previous attempt.
      const delays = [5 * MINUTE, 30 * MINUTE, 2 * HOUR, 12 * HOUR];
      for (const [i, delay] of delays.entries()) {
        await outbound.deliver(delivery.id);
        const due = new Date(clock.now + delay).toISOString();
        expect(await rowOf(program, delivery.id)).toMatchObject({
          status: "pending",
          attempt_count: i + 1,
          next_attempt_at: due,
          claimed_until: null,
          completed_at: null,
        });
        expect(outbound.wakeUps.splice(0)).toEqual([{ delivery_id: delivery.id, delay_seconds: delay / SECOND }]);
        // An attempt never starts early.
        clock.now += delay - 1;
        await outbound.deliver(delivery.id);
        expect(world.requests).toHaveLength(i + 1);
        clock.now += 1;
      }
      await outbound.deliver(delivery.id);
      expect(await rowOf(program, delivery.id)).toMatchObject({
        status: "failed",
        attempt_count: 5,
        next_attempt_at: null,
        completed_at: new Date(clock.now).toISOString(),
      });
      expect(outbound.wakeUps).toEqual([]);
      clock.now += 30 * 24 * HOUR;
      await outbound.deliver(delivery.id);
      expect(await outbound.sweep(program)).toEqual([]);
      expect(world.requests).toHaveLength(5);
      const attempts = await attemptsOf(delivery.id);
      expect(attempts.map(({ number }) => number)).toEqual([1, 2, 3, 4, 5]);
      for (const attempt of attempts) expect(attempt).toMatchObject(failure);
      // Every retry carries the same event id and bytes.
      expect(new Set(world.requests.map(({ text }) => text)).size).toBe(1);
      expect(new Set(world.requests.map(({ headers }) => headers.get("webhook-id")))).toEqual(
        new Set([delivery.event_id]),
      );
    },
  );

  it("whose name cannot be resolved is a failed attempt, and nothing is sent", async () => {
    const { program, world, delivery, outbound } = await setUp(() => new Response(), {
      "hooks.example": { status: 2 },
    });
    await outbound.deliver(delivery.id);
    expect(world.requests).toHaveLength(0);
    expect(await rowOf(program, delivery.id)).toMatchObject({ status: "pending", attempt_count: 1 });
    expect(await attemptsOf(delivery.id)).toMatchObject([{ error: "dns", status_code: null }]);
  });

  it("whose stored name starts to resolve to a private address ends as blocked, and nothing is sent", async () => {
    const { program, world, delivery, outbound } = await setUp(() => new Response(), {
      "hooks.example": { A: ["93.184.215.14", "10.0.0.5"] },
    });
    await outbound.deliver(delivery.id);
    expect(world.requests).toHaveLength(0);
    expect(await rowOf(program, delivery.id)).toMatchObject({
      status: "blocked",
      attempt_count: 1,
      next_attempt_at: null,
    });
    expect(await attemptsOf(delivery.id)).toMatchObject([{ number: 1, error: "blocked", status_code: null }]);
  });

  it("is claimed by one of many that are woken at once", async () => {
    const { program, world, delivery, outbound } = await setUp(() => new Response());
    await Promise.all(Array.from({ length: 20 }, () => outbound.deliver(delivery.id)));
    expect(world.requests).toHaveLength(1);
    expect(await attemptsOf(delivery.id)).toHaveLength(1);
    expect(await rowOf(program, delivery.id)).toMatchObject({ status: "succeeded", attempt_count: 1 });
  });

  it("is not attempted a second time while the first attempt is under way", async () => {
    const answer = Promise.withResolvers<Response>();
    const { program, world, clock, delivery, outbound } = await setUp(() => answer.promise);
    const { ended } = await outbound.begin(delivery.id);
    await eventually(() => expect(world.requests).toHaveLength(1));
    expect(await rowOf(program, delivery.id)).toMatchObject({ status: "delivering", attempt_count: 0 });
    clock.now += LEASE_MS - 1;
    await openOutbound(world, clock).deliver(delivery.id);
    expect(world.requests).toHaveLength(1);
    answer.resolve(new Response());
    await ended;
    expect(await rowOf(program, delivery.id)).toMatchObject({ status: "succeeded", attempt_count: 1 });
  });

  it("whose attempt was never recorded is attempted again under the same number, and only that is recorded", async () => {
    let lost: PromiseWithResolvers<Response> | null = Promise.withResolvers<Response>();
    const { program, world, clock, delivery, outbound } = await setUp(() => lost?.promise ?? new Response("second"));
    const first = await outbound.begin(delivery.id);
    await eventually(() => expect(world.requests).toHaveLength(1));
    const late = lost;
    lost = null;
    clock.now += LEASE_MS;
    await openOutbound(world, clock).deliver(delivery.id);
    expect(world.requests).toHaveLength(2);
    expect(await rowOf(program, delivery.id)).toMatchObject({ status: "succeeded", attempt_count: 1 });
    // The first process was only late. It does not change the row any more.
    late.resolve(new Response("first", { status: 500 }));
    await first.ended;
    expect(await rowOf(program, delivery.id)).toMatchObject({ status: "succeeded", attempt_count: 1 });
    expect(await attemptsOf(delivery.id)).toMatchObject([{ number: 1, response_excerpt: "second" }]);
  });

  it("is failed, not stuck, when its secret cannot be opened, says so, and goes out once that is replaced", async () => {
    const { program, endpoint, world, clock, delivery, outbound } = await setUp(() => new Response());
    await env.DB.prepare("update webhook_endpoints set secret = 'x.y.z' where id = ?").bind(endpoint.id).run();
    await outbound.deliver(delivery.id);
    expect(world.requests).toHaveLength(0);
    expect(await rowOf(program, delivery.id)).toMatchObject({ status: "pending", attempt_count: 1 });
    expect(await attemptsOf(delivery.id)).toMatchObject([{ error: "secret", status_code: null }]);
    const path = `/api/v1/webhooks/${endpoint.id}`;
    expect((await program.api("POST", `${path}/rotate-secret`)).status).toBe(200);
    expect((await program.api("POST", `${path}/deliveries/${delivery.id}/redeliver`)).status).toBe(201);
    clock.now = Date.now();
    await outbound.deliver(delivery.id);
    expect(await rowOf(program, delivery.id)).toMatchObject({ status: "succeeded", attempt_count: 2 });
  });
});

describe("what a receiver can do to us", () => {
  it("hang: the attempt ends after 5 seconds", async () => {
    const { program, clock, delivery, outbound } = await setUp(never);
    delete outbound.deps.budgetMs;
    const started = Date.now();
    const ended = await inPlayedTime(async () => {
      await outbound.deliver(delivery.id);
      return Date.now();
    });
    expect(ended - started).toBeGreaterThanOrEqual(5_000);
    expect(ended - started).toBeLessThan(6_000);
    const next_attempt_at = new Date(clock.now + 5 * MINUTE).toISOString();
    expect(await rowOf(program, delivery.id)).toMatchObject({ status: "pending", attempt_count: 1, next_attempt_at });
    expect(await attemptsOf(delivery.id)).toMatchObject([{ number: 1, error: "timeout", status_code: null }]);
  });

  it("answer 10 MB of script: 1 KiB of it is kept, as text", async () => {
    const page = `<script>alert(1)</script>${"x".repeat(10_000_000)}`;
    const { program, endpoint, delivery, outbound } = await setUp(() => new Response(page));
    await outbound.deliver(delivery.id);
    const { body, headers } = await program.api<{ deliveries: { attempts: { response_excerpt: string }[] }[] }>(
      "GET",
      `/api/v1/webhooks/${endpoint.id}`,
    );
    const excerpt = body.deliveries[0]!.attempts[0]!.response_excerpt;
    expect(excerpt).toBe(page.slice(0, 1024));
    expect(headers.get("content-type")).toMatch(/^application\/json/);
  });
});

describe("endpoints that are not active (HOOK-12)", () => {
  it("rest: what is due waits, and goes out once they are active again", async () => {
    const { program, endpoint, world, clock, delivery, outbound } = await setUp(() => new Response());
    await program.api("PATCH", `/api/v1/webhooks/${endpoint.id}`, { active: false });
    await outbound.deliver(delivery.id);
    expect(await outbound.sweep(program)).toEqual([]);
    expect(world.requests).toHaveLength(0);
    expect(await rowOf(program, delivery.id)).toMatchObject({ status: "pending", attempt_count: 0 });
    clock.now += 3 * HOUR;
    await program.api("PATCH", `/api/v1/webhooks/${endpoint.id}`, { active: true });
    expect(await outbound.sweep(program)).toEqual([{ delivery_id: delivery.id, delay_seconds: 0 }]);
    await outbound.deliver(delivery.id);
    expect(await rowOf(program, delivery.id)).toMatchObject({ status: "succeeded", attempt_count: 1 });
  });

  it("that are deleted get nothing more: what was open ends as failed, also when an attempt is under way", async () => {
    const answer = Promise.withResolvers<Response>();
    const { program, endpoint, world, clock, delivery, outbound } = await setUp(() => answer.promise);
    await makePartner(program, {}, "invited");
    const { ended } = await outbound.begin(delivery.id);
    await eventually(() => expect(world.requests).toHaveLength(1));
    await program.api("DELETE", `/api/v1/webhooks/${endpoint.id}`);
    answer.resolve(new Response(null, { status: 500 }));
    await ended;
    const rows = await deliveriesOf(program);
    expect(rows.map(({ status, next_attempt_at }) => [status, next_attempt_at])).toEqual([
      ["failed", null],
      ["failed", null],
    ]);
    clock.now += HOUR;
    expect(await outbound.sweep(program)).toEqual([]);
    await outbound.deliver(...rows.map(({ id }) => id));
    expect(world.requests).toHaveLength(1);
  });
});

describe("the batch", () => {
  it("acknowledges every message, also one that is no wake-up or names nothing", async () => {
    const { delivery, world, outbound } = await setUp(() => new Response());
    const batch = wakeUpBatch([delivery.id, "dlv_none", "'; drop table deliveries; --"]);
    const odd = [
      ...batch.messages,
      ...[null, "text", 7, {}, { delivery_id: 3, shard: 0 }, { delivery_id: delivery.id }].map((body) => ({
        ...batch.messages[0],
        body,
      })),
    ];
    const answers: string[] = [];
    vi.spyOn(console, "error").mockImplementation(() => {});
    const { consumeDeliveries } = await import("../../src/outbound/consumer.ts");
    const background: Promise<unknown>[] = [];
    await consumeDeliveries(
      {
        queue: "deliveries",
        messages: odd.map((message) => ({
          ...message,
          ack: () => answers.push("ack"),
          retry: () => answers.push("retry"),
        })),
      } as unknown as MessageBatch,
      { ...outbound.deps, waitUntil: (work) => void background.push(work) },
    );
    expect(answers).toEqual(odd.map(() => "ack"));
    for (let i = 0; i < background.length; i++) await background[i];
    expect(world.requests).toHaveLength(1);
  });

  it("is tried again later when the database cannot be read", async () => {
    const { delivery, outbound } = await setUp(() => new Response());
    const retries: unknown[] = [];
    vi.spyOn(console, "error").mockImplementation(() => {});
    const { consumeDeliveries } = await import("../../src/outbound/consumer.ts");
    const broken = {
      ...outbound.deps.db,
      $client: { prepare: () => ({ bind: () => ({}) }), batch: () => Promise.reject(new Error("down")) },
    };
    await consumeDeliveries(
      {
        queue: "deliveries",
        messages: [
          {
            body: { delivery_id: delivery.id, shard: 0 },
            ack: () => retries.push("ack"),
            retry: (o: unknown) => retries.push(o),
          },
        ],
      } as unknown as MessageBatch,
      { ...outbound.deps, db: broken as unknown as typeof outbound.deps.db },
    );
    expect(retries).toEqual([{ delaySeconds: 30 }]);
  });
});
