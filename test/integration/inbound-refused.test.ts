/**
 * The status contains each provider's last refusal with its reason (PROG-10). For each reason, refused deliveries are counted
 * once a minute and become events once an hour (IN-11).
 */
import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { app } from "../../src/app.ts";
import { noteRefusals } from "../../src/core/inbound/refusals.ts";
import type { RefusalReason, UnreadReason } from "../../src/domain/refusal.ts";
import type { Bindings } from "../../src/env.ts";
import { newId } from "../../src/lib/id.ts";
import { HOUR, iso, MINUTE } from "../../src/lib/time.ts";
import { VENDOR_NAMES, type ListedVendor } from "../../src/providers/registry.ts";
import {
  BASE_URL,
  loseSecrets,
  makeProgram,
  programContext,
  SECRET_A,
  setSecrets,
  TEST_SECRETS,
  type TestProgram,
} from "../support/program.ts";
import { bodyOfA, customerEvent, sessionCompleted, signA } from "../support/provider-a.ts";
import { limitOf, playLimiter, type PlayedLimiter } from "../support/rate-limits.ts";
import { signatureHeader, signatureOf } from "../support/signed.ts";
import { nowSeconds } from "../support/vendor.ts";
import { signInOwner, textOf } from "../support/visitor.ts";
import { callWith, SILENT_QUEUE, watchDatabase, type Faults } from "../support/watched-database.ts";

const LIMIT = limitOf("RATE_LIMIT_FAILED_AUTH");
let failures: PlayedLimiter;
let now: number;
/** Lines of the log about refused deliveries. */
let lines: Record<string, unknown>[];

beforeEach(() => {
  failures = playLimiter(LIMIT);
  now = Date.now();
  vi.useFakeTimers({ toFake: ["Date"], now });
  lines = [];
  for (const method of ["info", "error"] as const) {
    vi.spyOn(console, method).mockImplementation((line: string) => {
      if (line.includes("refused")) lines.push(JSON.parse(line) as Record<string, unknown>);
    });
  }
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

function pass(ms: number): void {
  now += ms;
  vi.setSystemTime(now);
}

interface Options {
  provider?: ListedVendor;
  body?: string;
  header?: string | null;
  from?: string;
  faults?: Faults;
}

const forged = (provider: ListedVendor = "provider_a", at = nowSeconds()) =>
  signatureOf(provider, "{}", "another secret", at);

/** Sends a delivery. `writes` are the transactions that changed a program or its log. */
async function send(program_id: string, options: Options = {}) {
  const { provider = "provider_a", body = "{}", from = `198.51.100.${Math.random()}` } = options;
  const header = options.header === undefined ? await forged(provider) : options.header;
  const { binding, roundTrips } = watchDatabase(env.DB, options.faults);
  const { status } = await callWith(
    { DB: binding, RATE_LIMIT_FAILED_AUTH: failures },
    `/webhooks/${provider}?program_id=${program_id}`,
    {
      method: "POST",
      headers: {
        "cf-connecting-ip": from,
        "content-length": String(new TextEncoder().encode(body).length),
        ...(header === null ? {} : { [signatureHeader(provider)]: header }),
      },
      body,
    },
  );
  const writes = roundTrips.filter((statements) =>
    statements.some(({ sql }) => sql.startsWith("insert into provider_connections")),
  );
  return { status, trips: roundTrips.length, writes: writes.length };
}

interface AuditEvent {
  type: string;
  payload: { provider: string; reason: string; count: number };
  actor: object;
}

async function reported(program: TestProgram) {
  const { data } = (await program.api<{ data: AuditEvent[] }>("GET", "/api/v1/events?type=webhook.refused")).body;
  return data;
}

async function statusOf(program: TestProgram) {
  return (await program.api<Record<ListedVendor, object>>("GET", "/api/v1/integrations/status")).body;
}

interface Case {
  status: number;
  secret?: null;
  sent: (provider: ListedVendor) => Promise<Options>;
}

/** The reasons that every provider can have. `thin-events.test.ts` tests the others. */
type Reason = Exclude<RefusalReason, UnreadReason>;

const CASES: Record<Reason, Case> = {
  no_signature: { status: 401, sent: async () => ({ header: null }) },
  wrong_signature: { status: 401, sent: async (provider) => ({ header: await forged(provider) }) },
  time: { status: 401, sent: async (provider) => ({ header: await forged(provider, nowSeconds() - 301) }) },
  not_configured: { status: 409, secret: null, sent: async (provider) => ({ header: await forged(provider) }) },
  unparsable: {
    status: 400,
    sent: async (provider) => ({
      header: await signatureOf(provider, "hello", TEST_SECRETS[provider]),
      body: "hello",
    }),
  },
};

describe("a refused delivery of a program", () => {
  it.each(Object.keys(CASES) as Reason[])("is reported with its reason: %s", async (reason) => {
    const { status, secret, sent } = CASES[reason];
    const none = () => Object.fromEntries(VENDOR_NAMES.map((name) => [`${name}_webhook_secret`, null]));
    const secrets = secret === null ? none() : {};
    const program = await makeProgram(secrets);
    for (const provider of VENDOR_NAMES) {
      const before = await statusOf(program);
      expect(before[provider]).toMatchObject({ refused: 0, last_refusal: null });
      expect((await send(program.id, { provider, ...(await sent(provider)) })).status).toBe(status);
      expect((await statusOf(program))[provider]).toMatchObject({
        ...{ refused: 1, last_refusal: { at: iso(now), reason } },
      });
      const events = await reported(program);
      expect(events.find(({ payload }) => payload.provider === provider)).toMatchObject({
        type: "webhook.refused",
        payload: { provider, reason, count: 1 },
        actor: { type: "provider", id: null, name: provider },
      });
    }
    expect(await reported(program)).toHaveLength(VENDOR_NAMES.length);
  });

  it("is one without a signing secret where no key of the deployment opens the stored one", async () => {
    const program = await makeProgram();
    await loseSecrets(program.id);
    const body = JSON.stringify(sessionCompleted());
    expect((await send(program.id, { body, header: await signA(body, SECRET_A) })).status).toBe(409);
    expect(await statusOf(program)).toMatchObject({ provider_a: { last_refusal: { reason: "not_configured" } } });
    await setSecrets(program.id, { provider_a_webhook_secret: SECRET_A });
    expect((await send(program.id, { body, header: await signA(body, SECRET_A) })).status).toBe(200);
  });

  it("that is signed and not of the documented shape is reported as well (PROG-10)", async () => {
    const program = await makeProgram();
    const body = '{"id": 1}';
    expect((await send(program.id, { body, header: await signA(body, SECRET_A) })).status).toBe(422);
    expect(await statusOf(program)).toMatchObject({ provider_a: { last_refusal: { reason: "unparsable" } } });
  });

  it("shows on the page with what to do, calmly once a verified event has come after it (PROG-10)", async () => {
    const program = await makeProgram();
    const owner = await signInOwner(program);
    const page = async (path: string) => textOf((await owner.get(path)).body);
    expect(await page("/dashboard/integration")).not.toContain("refused");
    await send(program.id, { provider: "provider_b" });
    for (const path of ["/dashboard/integration", "/dashboard/settings/providers"]) {
      const text = await page(path);
      expect(text).toContain("its signature does not match the signing secret that is set here");
      expect(text).toContain("test mode and live mode differ");
      expect(text).toContain("1 refused so far");
    }
    await send(program.id, { header: await forged("provider_a", nowSeconds() - 3_600) });
    expect(await page("/dashboard/integration")).toContain("or a clock is wrong");
    pass(2 * MINUTE);
    const body = bodyOfA(customerEvent({}));
    expect((await send(program.id, { body, header: await signA(body, SECRET_A) })).status).toBe(200);
    expect(await page("/dashboard/integration")).toContain("Verified events arrived later");
    expect(await page("/dashboard/integration")).not.toContain("or a clock is wrong");
  });

  it("is all that comes once the signing secret is removed: the pages do not call that connected (PROG-10)", async () => {
    const program = await makeProgram();
    const owner = await signInOwner(program);
    const body = bodyOfA(customerEvent({}));
    expect((await send(program.id, { body, header: await signA(body, SECRET_A) })).status).toBe(200);
    const page = async (path: string) => textOf((await owner.get(path)).body);
    for (const path of ["/dashboard/integration", "/dashboard/integration/check", "/dashboard/settings/providers"]) {
      expect(await page(path)).toContain("Connected. Last event");
    }
    expect((await program.api("PATCH", "/api/v1/programs/me", { provider_a_webhook_secret: null })).status).toBe(200);
    expect((await statusOf(program)).provider_a).toMatchObject({ configured: false });
    for (const path of ["/dashboard/integration", "/dashboard/integration/check", "/dashboard/settings/providers"]) {
      expect(await page(path)).not.toContain("Connected. Last event");
      expect(await page(path)).toContain("Not connected: no signing secret is set. Last event");
    }
  });

  it("is shown no longer once the secret of its signature is removed", async () => {
    const program = await makeProgram();
    const owner = await signInOwner(program);
    await send(program.id, {});
    const pages = async () => {
      const paths = ["/dashboard", "/dashboard/integration", "/dashboard/settings/providers"];
      const texts = await Promise.all(paths.map(async (path) => textOf((await owner.get(path)).body)));
      return texts.map((text) => /of Stripe refused|was refused/.test(text));
    };
    expect(await pages()).toEqual([true, true, true]);
    await program.api("PATCH", "/api/v1/programs/me", { provider_a_webhook_secret: null });
    expect(await pages()).toEqual([false, false, false]);
  });

  it("is one write a minute, and one event an hour for each provider and reason, however many come from wherever (IN-11)", async () => {
    const program = await makeProgram();
    const writes: number[] = [];
    for (let n = 0; n < 60; n++) writes.push((await send(program.id)).writes);
    expect(writes).toEqual([1, ...Array.from({ length: 59 }, () => 0)]);
    pass(MINUTE + 1);
    expect((await send(program.id)).writes).toBe(1);
    expect(await statusOf(program)).toMatchObject({ provider_a: { refused: 61, last_refusal: { at: iso(now) } } });
    expect((await reported(program)).map(({ payload }) => payload.count)).toEqual([1]);
    await send(program.id, { provider: "provider_b" });
    await send(program.id, { header: null });
    expect(await reported(program)).toHaveLength(3);
    pass(HOUR);
    await send(program.id);
    expect((await reported(program)).map(({ payload }) => payload.count)).toEqual([62, 1, 1, 1]);
  });

  it("of several isolates at once is counted by each, and one of them reports it", async () => {
    const program = await makeProgram();
    const ctx = programContext(program, now);
    await Promise.all(Array.from({ length: 10 }, () => noteRefusals(ctx, "provider_a", "time", 3)));
    expect(await statusOf(program)).toMatchObject({ provider_a: { refused: 30 } });
    expect(await reported(program)).toHaveLength(1);
  });

  it("is answered before it is noted, and the same where it cannot be", async () => {
    const program = await makeProgram();
    const noting = Promise.withResolvers<void>();
    const isNote = (statements: string[]) =>
      statements.some((statement) => statement.startsWith("insert into provider_connections"));
    const { binding } = watchDatabase(env.DB, {
      before: async (statements) => {
        if (isNote(statements)) await noting.promise;
      },
    });
    const context = createExecutionContext();
    const bindings = { ...(env as unknown as Bindings), DELIVERIES: SILENT_QUEUE, DB: binding };
    const request = new Request(`${BASE_URL}/webhooks/provider_a?program_id=${program.id}`, {
      ...{ method: "POST", headers: { "Provider-A-Signature": await forged() }, body: "{}" },
    });
    const { status } = await app.fetch(request, bindings, context);
    expect([status, (await reported(program)).length]).toEqual([401, 0]);
    noting.resolve();
    await waitOnExecutionContext(context);
    expect(await reported(program)).toHaveLength(1);
    const failing: Faults = {
      before: (statements) => {
        if (isNote(statements)) throw new Error("D1 is down.");
      },
    };
    expect((await send(program.id, { header: null, faults: failing })).status).toBe(401);
    expect(lines).toMatchObject([{ level: "error", what: "a refused delivery could not be noted" }]);
    expect(await reported(program)).toHaveLength(1);
  });
});

describe("a refused delivery of no program", () => {
  it("is a line of the log, one a minute with their number, and nothing is written", async () => {
    pass(10 * MINUTE);
    // Flushes the log lines of other tests in this isolate.
    await send("prog_x");
    pass(MINUTE + 1);
    lines.length = 0;
    for (let n = 0; n < 5; n++) {
      expect(await send(newId("program", now), { from: "192.0.2.77" })).toMatchObject({ status: 404, writes: 0 });
    }
    expect((await send("prog_x")).status).toBe(404);
    pass(MINUTE + 1);
    expect((await send("prog_x")).status).toBe(404);
    const line = { what: "deliveries of a provider refused", provider: "provider_a", reason: "unknown_program" };
    expect(lines).toMatchObject([
      { ...line, count: 1 },
      { ...line, count: 6 },
    ]);
  });

  it("without a signature is looked for 30 times a minute for an address", async () => {
    const from = "192.0.2.78";
    const unknown = newId("program", now);
    expect(await send(unknown, { header: null, from })).toMatchObject({ status: 401, trips: 1 });
    expect(await send(unknown, { header: null, from })).toMatchObject({ status: 401, trips: 0 });
    const trips: number[] = [];
    for (let n = 0; n < 40; n++) {
      trips.push((await send(newId("program", now), { header: null, from })).trips);
    }
    expect(trips.reduce((sum, one) => sum + one, 0)).toBe(LIMIT - 1);
  });
});
