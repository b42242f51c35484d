import {
  createExecutionContext,
  createMessageBatch,
  createScheduledController,
  env,
  getQueueResult,
  waitOnExecutionContext,
} from "cloudflare:test";
import { Webhook } from "standardwebhooks";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import wranglerToml from "../../wrangler.toml?raw";
import type { Bindings } from "../../src/env.ts";
import worker from "../../src/index.ts";
import { JOBS, triggerOf } from "../../src/jobs.ts";
import { countPending, playOutsideWorld, RESOLVER_URL, type OutsideWorld, type Receiver } from "../support/dns.ts";
import { attemptsOf, deliveriesOf, makeEndpoint, wakeUpBatch } from "../support/outbound.ts";
import { makePartner, makeProgram } from "../support/program.ts";
import { eventually, holdClock } from "../support/time.ts";
import { watchDatabase } from "../support/watched-database.ts";

beforeEach(() => void vi.spyOn(console, "info").mockImplementation(() => {}));
afterEach(() => vi.restoreAllMocks());

/** The deployment's bindings with a queue that only records, and the outside world behind the global fetch. */
function deployment(world: OutsideWorld) {
  const queued: { body: unknown; delaySeconds?: number }[] = [];
  vi.spyOn(globalThis, "fetch").mockImplementation((input, init) => {
    const { fetch } = world;
    return fetch(typeof input === "string" ? input : input instanceof URL ? input.href : input.url, init);
  });
  const bindings = {
    ...(env as unknown as Bindings),
    DNS_RESOLVER_URL: RESOLVER_URL,
    DELIVERIES: { sendBatch: async (messages: typeof queued) => void queued.push(...messages) },
  } as unknown as Bindings;
  return { bindings, queued };
}

describe("the queue handler", () => {
  it("delivers through the global fetch, and acknowledges each message (DEP-2)", async () => {
    const program = await makeProgram();
    const endpoint = await makeEndpoint(program, "https://hooks.example/");
    await makePartner(program, {}, "invited");
    const world = playOutsideWorld({ receivers: { "hooks.example": () => new Response(null, { status: 500 }) } });
    const { bindings, queued } = deployment(world);
    const [row] = await deliveriesOf(program);
    const batch = wakeUpBatch([row!.id, "dlv_unknown"]);
    const context = createExecutionContext();
    await worker.queue(batch, bindings, context);
    const result = await getQueueResult(batch, context);
    expect(result).toMatchObject({ outcome: "ok", explicitAcks: ["m0", "m1"], retryMessages: [] });
    const { text, headers } = world.requests[0]!;
    expect(new Webhook(endpoint.secret).verify(text, Object.fromEntries(headers))).toMatchObject({
      event: "partner.created",
    });
    expect(await attemptsOf(row!.id)).toMatchObject([{ number: 1, status_code: 500, error: "http" }]);
    expect(queued).toHaveLength(1);
    expect(queued[0]!.body).toEqual({ delivery_id: row!.id, shard: 0 });
    expect(queued[0]!.delaySeconds).toBeGreaterThan(290);
    expect(queued[0]!.delaySeconds).toBeLessThanOrEqual(300);
  });

  it("begins neither e-mails nor attempts without a free connection, of which the platform has six", async () => {
    holdClock();
    const answered = Promise.withResolvers<void>();
    const receiver: Receiver = async ({ signal }) => {
      await Promise.race([answered.promise, new Promise((end) => signal.addEventListener("abort", end))]);
      return Response.json({});
    };
    const hosts = ["a.example", "b.example", "c.example"];
    const world = playOutsideWorld({
      receivers: Object.fromEntries(["mail.example", ...hosts].map((host) => [host, receiver])),
    });
    const { fetch, counter } = countPending(world);
    const { bindings } = deployment({ ...world, fetch });
    const mail = { EMAIL_FROM: "service@example.com", EMAIL_API_URL: "https://mail.example/", EMAIL_API_KEY: "re_key" };
    const [program, other] = [await makeProgram(), await makeProgram()];
    for (const one of [program, other]) {
      const { id } = await makePartner(one, { payout_method: "wallet", payout_email: "old@wallet.example" });
      const changed = await one.api("PATCH", `/api/v1/partners/${id}`, { payout_email: "new@wallet.example" });
      expect(changed.status).toBe(200);
    }
    for (const host of hosts) await makeEndpoint(program, `https://${host}/`);
    await makePartner(program, {}, "invited");
    const bodies: unknown[] = [{ mails_of: program.id }, { mails_of: other.id }];
    for (const { id } of await deliveriesOf(program)) bodies.push({ delivery_id: id, shard: 0 });
    expect(bodies).toHaveLength(5);
    const batch = createMessageBatch(
      "deliveries",
      bodies.map((body, i) => ({ id: `m${i}`, timestamp: new Date(), attempts: 1, body })),
    );
    const context = createExecutionContext();
    await worker.queue(batch, { ...bindings, ...mail }, context);
    await eventually(() => expect(world.requests.length).toBeGreaterThanOrEqual(5));
    answered.resolve();
    await getQueueResult(batch, context);
    expect(counter.most).toBeLessThanOrEqual(6);
    // All of them were still called.
    expect(new Set(world.requests.map(({ url }) => url.host))).toEqual(new Set(["mail.example", ...hosts]));
    expect(world.requests.filter(({ url }) => url.host === "mail.example").length).toBeGreaterThanOrEqual(8);
  });

  const DEAD = ["deliveries-dead", "staging-deliveries-dead"];

  it.each(DEAD)("of dead letters (%s) says where the rows are, changes nothing, and sends nothing", async (queue) => {
    const program = await makeProgram();
    await makeEndpoint(program, "https://hooks.example/");
    await makePartner(program, {}, "invited");
    const before = await deliveriesOf(program);
    const world = playOutsideWorld({ receivers: { "hooks.example": () => new Response() } });
    const { bindings } = deployment(world);
    const logged = vi.spyOn(console, "error").mockImplementation(() => {});
    const bodies: unknown[] = [
      { delivery_id: before[0]!.id, shard: 0 },
      { delivery_id: "dlv_unknown", shard: 0 },
      "nonsense",
      null,
    ];
    const batch = createMessageBatch(
      queue,
      bodies.map((body, i) => ({ id: `d${i}`, timestamp: new Date(), attempts: 11, body })),
    );
    const context = createExecutionContext();
    await worker.queue(batch, bindings, context);
    expect(await getQueueResult(batch, context)).toMatchObject({ explicitAcks: ["d0", "d1", "d2", "d3"] });
    expect(logged.mock.calls.join()).toContain(`"status":"pending"`);
    expect(await deliveriesOf(program)).toEqual(before);
    expect(world.requests).toEqual([]);
    // Its message is not lost: the row is still due, and the sweep wakes it.
    const { bindings: later, queued } = deployment(world);
    const sweeping = createExecutionContext();
    await worker.scheduled(createScheduledController({ cron: "* * * * *" }), later, sweeping);
    await waitOnExecutionContext(sweeping);
    expect(queued.map(({ body }) => body)).toContainEqual({ delivery_id: before[0]!.id, shard: 0 });
  });
});

describe("the cron handler", () => {
  async function fire(cron: string, overrides: Partial<Bindings> = {}) {
    const { bindings, queued } = deployment(playOutsideWorld({}));
    const context = createExecutionContext();
    await worker.scheduled(
      createScheduledController({ cron, scheduledTime: new Date() }),
      { ...bindings, ...overrides },
      context,
    );
    await waitOnExecutionContext(context);
    return queued;
  }

  const crons = JSON.parse(/^crons = (\[.*\])$/m.exec(wranglerToml)![1]!) as string[];

  it("knows every cron that the deployment has, and each job has one (JOB-4)", () => {
    expect(new Set(crons.map(triggerOf))).toEqual(new Set(JOBS.map(({ every }) => every)));
  });

  it.each([
    ["*/2 * * * *", "minute"],
    ["0 5 * * *", "day"],
    ["30 23 1 * *", "month"],
    ["* * *", null],
    ["soon", null],
    ["0 0 1 * * 2026", null],
  ])("takes %s for %s", (cron, trigger) => {
    expect(triggerOf(cron)).toBe(trigger);
  });

  it.each(crons)("runs the jobs of %s without a failure, twice at once", async (cron) => {
    const logged = vi.spyOn(console, "error").mockImplementation(() => {});
    await Promise.all([fire(cron), fire(cron)]);
    expect(logged.mock.calls).toEqual([]);
  });

  it("runs the other jobs where one fails, and logs the failure", async () => {
    const logged = vi.spyOn(console, "error").mockImplementation(() => {});
    const { binding, roundTrips } = watchDatabase(env.DB, {
      before: (statements) => {
        if (statements.some((text) => text.includes("lanes as"))) throw new Error("no database for this");
      },
    });
    await fire("* * * * *", { DB: binding });
    const lines = logged.mock.calls.map(([line]) => JSON.parse(String(line)) as Record<string, string>);
    expect(lines).toMatchObject([{ what: "job failed", job: "wake due deliveries" }]);
    expect(lines[0]!["reason"]).toBe("no database for this");
    expect(roundTrips.flat().some(({ sql }) => sql.includes("from provider_events"))).toBe(true);
  });

  it("runs nothing for a cron that it does not know, and says so", async () => {
    const logged = vi.spyOn(console, "error").mockImplementation(() => {});
    expect(await fire("whenever")).toEqual([]);
    expect(logged.mock.calls.join()).toContain("unknown cron");
  });
});
