import { env } from "cloudflare:workers";
import { Webhook } from "standardwebhooks";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { playOutsideWorld } from "../support/dns.ts";
import { deliveriesOf, makeEndpoint, openOutbound } from "../support/outbound.ts";
import { makePartner, makeProgram } from "../support/program.ts";
import { deliverPending, makeReceivingEndpoint } from "../support/endpoint-actions.ts";
import { iso } from "../../src/lib/time.ts";

beforeEach(() => void vi.spyOn(console, "info").mockImplementation(() => {}));
afterEach(() => vi.restoreAllMocks());

interface Delivery {
  id: string;
  event_id: string;
  event: string;
  status: string;
  attempt_count: number;
  payload: { event: string; data: Record<string, unknown> };
  attempts: unknown[];
}

type Failure = { error: { code: string; details?: { path: string }[] } };

describe("POST /:id/test (HOOK-10)", () => {
  it("sends a ping through the real path, to this endpoint alone", async () => {
    const { program, endpoint, world, clock, outbound, post } = await makeReceivingEndpoint();
    await makeEndpoint(program, "https://hooks.example/other");
    const { status, body } = await post<Delivery>("/test");
    expect(status).toBe(201);
    expect(body).toMatchObject({ event: "ping", status: "pending", attempt_count: 0, attempts: [] });
    expect(body.payload).toMatchObject({ event: "ping", data: { id: body.event_id, endpoint_id: endpoint.id } });
    expect(await deliveriesOf(program)).toMatchObject([{ id: body.id, endpoint_id: endpoint.id }]);
    await deliverPending(program, outbound, clock);
    expect(world.requests).toHaveLength(1);
    const { text, headers } = world.requests[0]!;
    expect(headers.get("X-Service-Event")).toBe("ping");
    expect(new Webhook(endpoint.secret).verify(text, Object.fromEntries(headers))).toEqual(body.payload);
    const shown = await program.api<{ deliveries: Delivery[] }>("GET", `/api/v1/webhooks/${endpoint.id}`);
    expect(shown.body.deliveries).toMatchObject([{ id: body.id, status: "succeeded", payload: body.payload }]);
  });

  it("is guarded like any other delivery", async () => {
    const program = await makeProgram();
    const endpoint = await makeEndpoint(program, "https://rebound.example/");
    const world = playOutsideWorld({
      zone: { "rebound.example": { A: ["127.0.0.1"] } },
      receivers: { "rebound.example": () => new Response() },
    });
    const clock = { now: Date.now() };
    await program.api("POST", `/api/v1/webhooks/${endpoint.id}/test`, {});
    await deliverPending(program, openOutbound(world, clock), clock);
    expect(world.requests).toEqual([]);
    expect(await deliveriesOf(program)).toMatchObject([{ status: "blocked" }]);
  });
});

describe("POST /:id/deliveries/:delivery_id/redeliver (HOOK-10)", () => {
  it("sends the same event id and the same bytes under a new delivery (HOOK-16)", async () => {
    const { program, endpoint, world, clock, outbound, post, happen } = await makeReceivingEndpoint();
    await happen();
    const [original] = await deliveriesOf(program);
    const { status, body } = await post<Delivery>(`/deliveries/${original!.id}/redeliver`);
    expect(status).toBe(201);
    expect(body).toMatchObject({ event_id: original!.event_id, event: original!.event, status: "pending" });
    expect(body.id).not.toBe(original!.id);
    await deliverPending(program, outbound, clock);
    expect(world.requests).toHaveLength(2);
    const [first, second] = world.requests;
    expect(second!.body).toEqual(first!.body);
    for (const name of ["webhook-id", "X-Service-Event-Id", "X-Service-Signature"]) {
      expect(second!.headers.get(name)).toBe(first!.headers.get(name));
    }
    expect(second!.headers.get("X-Service-Delivery-Id")).toBe(body.id);
    expect((await deliveriesOf(program, endpoint.id)).map(({ status: s }) => s)).toEqual(["succeeded", "succeeded"]);
  });

  it.each(["failed", "blocked"])("works for a delivery that is %s", async (status) => {
    const { program, post } = await makeReceivingEndpoint();
    await makePartner(program, {}, "invited");
    const [row] = await deliveriesOf(program);
    await env.DB.prepare("update deliveries set status = ? where id = ?").bind(status, row!.id).run();
    expect((await post(`/deliveries/${row!.id}/redeliver`)).status).toBe(201);
  });

  it("attempts one that waits at once, as itself and no more often than before", async () => {
    const { program, world, clock, outbound, post, happen } = await makeReceivingEndpoint(
      () => new Response(null, { status: 500 }),
    );
    await happen();
    const [waiting] = await deliveriesOf(program);
    expect(waiting).toMatchObject({ status: "pending", attempt_count: 1 });
    await outbound.deliver(waiting!.id);
    expect(world.requests).toHaveLength(1);
    const replies = await Promise.all([1, 2].map(() => post<Delivery>(`/deliveries/${waiting!.id}/redeliver`)));
    for (const { status, body } of replies) {
      expect(status).toBe(201);
      expect(body).toMatchObject({ id: waiting!.id, event_id: waiting!.event_id, status: "pending", attempt_count: 1 });
      expect(body.attempts).toHaveLength(1);
    }
    await deliverPending(program, outbound, clock);
    expect(world.requests).toHaveLength(2);
    expect(await deliveriesOf(program)).toMatchObject([{ id: waiting!.id, attempt_count: 2 }]);
  });

  it("is refused while the delivery is attempted", async () => {
    const { program, post } = await makeReceivingEndpoint();
    await makePartner(program, {}, "invited");
    const [row] = await deliveriesOf(program);
    await env.DB.prepare(
      "update deliveries set status = 'delivering', claimed_until = '2099-01-01T00:00:00.000Z' where id = ?",
    )
      .bind(row!.id)
      .run();
    const reply = await post<Failure>(`/deliveries/${row!.id}/redeliver`);
    expect([reply.status, reply.body.error.code]).toEqual([409, "invalid_transition"]);
    expect(await deliveriesOf(program)).toHaveLength(1);
  });

  it("finds no delivery of another endpoint or another program", async () => {
    const { program, post, happen } = await makeReceivingEndpoint();
    const other = await makeEndpoint(program, "https://hooks.example/other");
    await happen();
    const foreign = (await deliveriesOf(program)).find(({ endpoint_id }) => endpoint_id === other.id)!;
    const reply = await post<Failure>(`/deliveries/${foreign.id}/redeliver`);
    expect([reply.status, reply.body.error.code]).toEqual([404, "not_found"]);
    expect((await post("/deliveries/dlv_none/redeliver")).status).toBe(404);
    const stranger = await makeProgram();
    for (const path of ["/rotate-secret", "/test", `/deliveries/${foreign.id}/redeliver`]) {
      expect((await stranger.api("POST", `/api/v1/webhooks/${other.id}${path}`)).status).toBe(404);
    }
    expect((await stranger.api("POST", `/api/v1/webhooks/${other.id}/recover`, { since: "2026-01-01" })).status).toBe(
      404,
    );
  });
});

describe("POST /:id/recover (HOOK-10)", () => {
  it("sends every failed, blocked or missed event since then once, and nothing that succeeded or is on its way", async () => {
    const { program, endpoint, world, clock, outbound, post, happen } = await makeReceivingEndpoint();
    const since = iso(Date.now());
    const patch = (fields: object) => program.api("PATCH", `/api/v1/webhooks/${endpoint.id}`, fields);
    for (let i = 0; i < 5; i++) await happen();
    const [failed, blocked, failedTwice, succeeded, retried] = await deliveriesOf(program);
    const set = (status: string, id: string) =>
      env.DB.prepare("update deliveries set status = ?, completed_at = created_at where id = ?").bind(status, id).run();
    await set("failed", failed!.id);
    await set("blocked", blocked!.id);
    await set("failed", failedTwice!.id);
    await post(`/deliveries/${failedTwice!.id}/redeliver`);
    await set("failed", (await deliveriesOf(program)).at(-1)!.id);
    await set("failed", retried!.id);
    await post(`/deliveries/${retried!.id}/redeliver`);
    await deliverPending(program, outbound, clock);
    await patch({ active: false });
    await makePartner(program, {}, "invited");
    await patch({ active: true });
    await makePartner(program, {}, "invited");
    const open = (await deliveriesOf(program)).at(-1)!;
    expect(open.status).toBe("pending");
    world.requests.length = 0;

    const { status, body } = await post<Record<string, unknown>>("/recover", { since });
    expect([status, body]).toEqual([200, { recovered: 4, has_more: false }]);
    expect((await post("/recover", { since })).body).toEqual({ recovered: 0, has_more: false });
    await deliverPending(program, outbound, clock);
    const sent = world.requests.map(({ headers }) => headers.get("webhook-id"));
    expect(sent).toHaveLength(5);
    expect(new Set(sent).size).toBe(5);
    expect(sent).toEqual(expect.arrayContaining([failed, blocked, failedTwice, open].map((row) => row!.event_id)));
    expect(sent).not.toContain(succeeded!.event_id);
    expect(sent).not.toContain(retried!.event_id);
  });

  it("never sends what the endpoint was not subscribed to then, though it is now", async () => {
    const { program, endpoint, world, clock, outbound, post } = await makeReceivingEndpoint();
    const since = iso(Date.now());
    const patch = (fields: object) => program.api("PATCH", `/api/v1/webhooks/${endpoint.id}`, fields);
    await patch({ events: ["payout.paid"] });
    await makePartner(program, {}, "invited");
    await patch({ active: false });
    await makePartner(program, {}, "invited");
    await patch({ events: ["partner.created"] });
    const missed = await makePartner(program, {}, "invited");
    await patch({ active: true, events: ["*"] });
    const later = await makeEndpoint(program, "https://hooks.example/later");
    expect((await program.api("POST", `/api/v1/webhooks/${later.id}/recover`, { since })).body).toEqual({
      recovered: 0,
      has_more: false,
    });
    expect((await post("/recover", { since })).body).toEqual({ recovered: 1, has_more: false });
    await deliverPending(program, outbound, clock);
    expect(world.requests.map(({ text }) => (JSON.parse(text) as Delivery["payload"]).data["id"])).toEqual([missed.id]);
  });

  it("attempts at once what waits after a failed attempt, under its own delivery, and counts it", async () => {
    let answer = 500;
    const { program, world, clock, outbound, post, happen } = await makeReceivingEndpoint(
      () => new Response(null, { status: answer }),
    );
    const since = iso(Date.now());
    await happen();
    await happen();
    answer = 200;
    const before = await deliveriesOf(program);
    expect(before.map(({ status, attempt_count }) => [status, attempt_count])).toEqual([
      ["pending", 1],
      ["pending", 1],
    ]);
    await deliverPending(program, outbound, clock);
    expect(world.requests).toHaveLength(2);

    const later = iso(clock.now + 1);
    expect((await post("/recover", { since: later })).body).toEqual({ recovered: 0, has_more: false });
    const replies = await Promise.all([1, 2, 3].map(() => post<{ recovered: number }>("/recover", { since })));
    expect(replies.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(replies.reduce((sum, { body }) => sum + body.recovered, 0)).toBe(2);
    await deliverPending(program, outbound, clock);
    const after = await deliveriesOf(program);
    expect(after.map(({ id, status }) => [id, status])).toEqual(before.map(({ id }) => [id, "succeeded"]));
    expect(world.requests).toHaveLength(4);
  });

  it("makes each event one delivery when it is asked for many times at once", async () => {
    const { program, post } = await makeReceivingEndpoint();
    const since = iso(Date.now());
    for (let i = 0; i < 3; i++) await makePartner(program, {}, "invited");
    await env.DB.prepare("update deliveries set status = 'failed', completed_at = created_at where program_id = ?")
      .bind(program.id)
      .run();
    const replies = await Promise.all(
      Array.from({ length: 8 }, () => post<{ recovered: number }>("/recover", { since })),
    );
    expect(replies.map(({ status }) => status)).toEqual(replies.map(() => 200));
    expect(replies.reduce((sum, { body }) => sum + body.recovered, 0)).toBe(3);
    expect(await deliveriesOf(program)).toHaveLength(6);
  });

  it.each([
    [{}],
    [{ since: "yesterday" }],
    [{ since: 5 }],
    [{ since: null }],
    [{ since: "2026-02-30" }],
    [{ since: "2026-01-01", x: 1 }],
  ])("refuses %j", async (body) => {
    const { post } = await makeReceivingEndpoint();
    const reply = await post<Failure>("/recover", body);
    expect([reply.status, reply.body.error.code]).toEqual([422, "validation_failed"]);
    expect(reply.body.error.details![0]!.path).toBe("x" in body ? "x" : "since");
  });
});

describe("actions on an endpoint that is not active", () => {
  it("are refused, and make nothing; only its secret may change", async () => {
    const { program, endpoint, post, happen } = await makeReceivingEndpoint();
    await happen();
    const [row] = await deliveriesOf(program);
    await program.api("PATCH", `/api/v1/webhooks/${endpoint.id}`, { active: false });
    for (const [path, body] of [
      ["/test", undefined],
      [`/deliveries/${row!.id}/redeliver`, undefined],
      ["/recover", { since: "2026-01-01" }],
    ] as const) {
      const reply = await post<Failure>(path, body);
      expect([path, reply.status, reply.body.error.code]).toEqual([path, 409, "invalid_transition"]);
    }
    expect(await deliveriesOf(program)).toHaveLength(1);
    expect((await post("/rotate-secret")).status).toBe(200);
  });

  it("that is deleted are not found", async () => {
    const { program, endpoint, post } = await makeReceivingEndpoint();
    await program.api("DELETE", `/api/v1/webhooks/${endpoint.id}`);
    for (const path of ["/test", "/rotate-secret", "/deliveries/dlv_x/redeliver"])
      expect((await post(path)).status).toBe(404);
    expect((await post("/recover", { since: "2026-01-01" })).status).toBe(404);
  });
});

describe("bodies of actions that take none", () => {
  it.each([
    [undefined, {}, 201],
    ["", { "content-type": "application/json" }, 201],
    [{}, {}, 201],
    [{ event: "x" }, {}, 422],
    ["{", {}, 400],
    ["[]", {}, 422],
    ["x", { "content-type": "text/plain" }, 415],
  ] as [unknown, Record<string, string>, number][])("%j with %j is answered %i", async (body, headers, status) => {
    const { post } = await makeReceivingEndpoint();
    expect((await post("/test", body, headers)).status).toBe(status);
  });
});
