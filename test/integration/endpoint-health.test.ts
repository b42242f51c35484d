import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { openDatabase } from "../../src/db/client.ts";
import { disableFailingEndpoints } from "../../src/core/webhooks/health.ts";
import { serveAll } from "../support/jobs.ts";
import { openMailbox, type Mailbox } from "../support/mailbox.ts";
import { playOutsideWorld, type Receiver } from "../support/dns.ts";
import { deliveriesOf, makeEndpoint, openOutbound } from "../support/outbound.ts";
import { makePartner, makeProgram, testContext, type TestProgram } from "../support/program.ts";
import { watchDatabase } from "../support/watched-database.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

beforeEach(async () => {
  vi.spyOn(console, "info").mockImplementation(() => {});
  // The daily check covers all programs, so the endpoints of earlier tests must be healthy.
  await env.DB.prepare("update webhook_endpoints set failing_since = null, failure_count = 0").run();
});
afterEach(() => vi.restoreAllMocks());

interface Health {
  active: number;
  failing_since: string | null;
  failure_count: number;
  disabled_at: string | null;
}

async function healthOf(id: string): Promise<Health> {
  return (await env.DB.prepare(
    "select active, failing_since, failure_count, disabled_at from webhook_endpoints where id = ?",
  )
    .bind(id)
    .first<Health>())!;
}

/** Makes an endpoint appear to have failed `failures` times since `since`. */
async function ail(id: string, since: number, failures: number): Promise<void> {
  await env.DB.prepare("update webhook_endpoints set failing_since = ?, failure_count = ? where id = ?")
    .bind(new Date(since).toISOString(), failures, id)
    .run();
}

const disableAt = (...given: Parameters<typeof disableFailingEndpoints>) => serveAll(disableFailingEndpoints(...given));

async function endpointEvents(program: TestProgram) {
  const { body } = await program.api<{ data: { payload: Record<string, unknown> }[] }>(
    "GET",
    "/api/v1/events?type=webhook_endpoint.updated",
  );
  return body.data.map(({ payload }) => payload);
}

/** The sent e-mails, without the security e-mail about the test's endpoint. */
async function healthMailsIn(mailbox: Mailbox, program: TestProgram) {
  return (await mailbox.deliver(program.id)).filter(({ subject }) => !subject.startsWith("Security change"));
}

describe("the health of an endpoint", () => {
  async function attempts(answers: (number | "blocked")[]) {
    const program = await makeProgram();
    const endpoint = await makeEndpoint(program, "https://hooks.example/");
    let status: number | "blocked" = 200;
    const receiver: Receiver = () => new Response(null, { status: status === "blocked" ? 200 : status });
    const zone = { "hooks.example": () => ({ A: [status === "blocked" ? "10.0.0.1" : "93.184.215.14"] }) };
    const clock = { now: Date.now() };
    const outbound = openOutbound(playOutsideWorld({ zone, receivers: { "hooks.example": receiver } }), clock);
    const starts: string[] = [];
    for (const answer of answers) {
      await makePartner(program, {}, "invited");
      status = answer;
      clock.now = Math.max(clock.now + 1_000, Date.now());
      starts.push(new Date(clock.now).toISOString());
      await outbound.deliver((await deliveriesOf(program)).at(-1)!.id);
    }
    return { health: await healthOf(endpoint.id), starts };
  }

  it("counts the failures since the last success, from the first of them", async () => {
    const { health, starts } = await attempts([500, 200, 404, 500, "blocked"]);
    expect(health).toMatchObject({ active: 1, failure_count: 3, failing_since: starts[2] });
  });

  it("is as new after one success", async () => {
    const { health } = await attempts([500, 500, 200]);
    expect(health).toEqual({ active: 1, failure_count: 0, failing_since: null, disabled_at: null });
  });

  it("of attempts that end together is counted in the order in which they ended", async () => {
    const program = await makeProgram();
    const endpoint = await makeEndpoint(program, "https://hooks.example/");
    const statuses = [500, 200, 500, 500, 500];
    const arrived = Promise.withResolvers<void>();
    let n = 0;
    const receiver: Receiver = async () => {
      const status = statuses[n++]!;
      if (n === statuses.length) arrived.resolve();
      await arrived.promise;
      return new Response(null, { status });
    };
    for (let i = 0; i < statuses.length; i++) await makePartner(program, {}, "invited");
    const outbound = openOutbound(playOutsideWorld({ receivers: { "hooks.example": receiver } }), { now: Date.now() });
    await outbound.deliver(...(await deliveriesOf(program)).map(({ id }) => id));
    expect(await healthOf(endpoint.id)).toMatchObject({ failure_count: 3 });
  });
});

describe("the daily look at the endpoints (HOOK-9)", () => {
  it("disables what had no success for 5 days and at least 20 failures, notifies the owner and the audit log, once", async () => {
    const program = await makeProgram();
    const endpoint = await makeEndpoint(program, "https://hooks.example/<in>?a=1&b=2");
    const now = Date.now();
    await ail(endpoint.id, now - 5 * DAY, 20);
    const mailbox = openMailbox();
    const healthMails = () => healthMailsIn(mailbox, program);
    await Promise.all([disableAt(testContext(now)), disableAt(testContext(now))]);
    expect(await disableAt(testContext(now + DAY))).toBe(0);
    expect(await healthOf(endpoint.id)).toMatchObject({ active: 0, disabled_at: new Date(now).toISOString() });

    const mails = await healthMails();
    expect(mails).toHaveLength(1);
    expect(mails[0]).toMatchObject({ to: program.program.owner_email, from: "service@example.com" });
    expect(mails[0]!.text).toContain(endpoint.url);
    expect(mails[0]!.html).not.toContain("&b=2");
    const events = await endpointEvents(program);
    expect(events).toHaveLength(1);
    expect(events[0]).toMatchObject({ endpoint_id: endpoint.id, active: false, reason: "failing", failure_count: 20 });
  });

  it.each([
    ["5 days less a moment", 5 * DAY - 1_000, 1_000],
    ["19 failures", 30 * DAY, 19],
  ])("leaves alone what has %s", async (_name, age, failures) => {
    const program = await makeProgram();
    const endpoint = await makeEndpoint(program, "https://hooks.example/");
    const now = Date.now();
    await ail(endpoint.id, now - age, failures);
    const mailbox = openMailbox();
    const healthMails = () => healthMailsIn(mailbox, program);
    expect(await disableAt(testContext(now))).toBe(0);
    expect(await healthOf(endpoint.id)).toMatchObject({ active: 1 });
    expect(await healthMails()).toEqual([]);
  });

  it("leaves alone what its owner has disabled or deleted", async () => {
    const program = await makeProgram();
    const now = Date.now();
    const paused = await makeEndpoint(program, "https://hooks.example/");
    const gone = await makeEndpoint(program, "https://hooks.example/");
    for (const { id } of [paused, gone]) await ail(id, now - 9 * DAY, 99);
    await program.api("PATCH", `/api/v1/webhooks/${paused.id}`, { active: false });
    await program.api("DELETE", `/api/v1/webhooks/${gone.id}`);
    expect(await disableAt(testContext(now))).toBe(0);
    expect((await healthOf(paused.id)).disabled_at).toBeNull();
  });

  it("does not disable an endpoint that succeeds at the last moment", async () => {
    const program = await makeProgram();
    const endpoint = await makeEndpoint(program, "https://hooks.example/");
    const now = Date.now();
    await ail(endpoint.id, now - 6 * DAY, 30);
    const mailbox = openMailbox();
    const healthMails = () => healthMailsIn(mailbox, program);
    // One attempt succeeds after the endpoints are read and before the change is written.
    const { binding } = watchDatabase(env.DB, {
      before: async (statements) => {
        if (statements.length === 1) return;
        await env.DB.prepare("update webhook_endpoints set failing_since = null, failure_count = 0 where id = ?")
          .bind(endpoint.id)
          .run();
      },
    });
    await disableAt({ ...testContext(now), db: openDatabase(binding) });
    expect(await healthOf(endpoint.id)).toMatchObject({ active: 1, disabled_at: null });
    expect([await healthMails(), await endpointEvents(program)]).toEqual([[], []]);
  });

  it("is undone by PATCH active: true, which resets its health", async () => {
    const program = await makeProgram();
    const endpoint = await makeEndpoint(program, "https://hooks.example/");
    const now = Date.now();
    await ail(endpoint.id, now - 6 * DAY, 30);
    await disableAt(testContext(now));
    const shown = await program.api<{ active: boolean; disabled_at: string }>("GET", `/api/v1/webhooks/${endpoint.id}`);
    expect(shown.body).toMatchObject({ active: false, disabled_at: new Date(now).toISOString() });
    await program.api("PATCH", `/api/v1/webhooks/${endpoint.id}`, { active: true });
    expect(await healthOf(endpoint.id)).toEqual({
      active: 1,
      failing_since: null,
      failure_count: 0,
      disabled_at: null,
    });
    expect(await disableAt(testContext(now + DAY))).toBe(0);
  });
});
