/**
 * A program and its secrets are cached for some seconds, so that an event costs two round trips. The transaction that stores
 * the event refuses outdated data, and the event is processed again (IN-14).
 */
import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { ledgerOf } from "../support/ledger.ts";
import { makePartner, makeProgram, SECRET_A, SECRET_B, setSecrets, type TestProgram } from "../support/program.ts";
import { bodyOfA, customerEvent, sessionCompleted, signA } from "../support/provider-a.ts";
import { adjustmentUpdated, bodyOfB, signB, transactionCompleted, type EventB } from "../support/provider-b.ts";
import { limitOf, playLimiter, type PlayedLimiter } from "../support/rate-limits.ts";
import { holdClock } from "../support/time.ts";
import { callWith, watchDatabase } from "../support/watched-database.ts";

const NEW_SECRET = "whsec_after_the_rotation";

let failures: PlayedLimiter;
/** Runs once, before the next transaction that stores an event. */
let beforeStoring: (() => Promise<unknown>) | null;
let world: ReturnType<typeof watchDatabase>;
beforeEach(() => {
  holdClock();
  failures = playLimiter(limitOf("RATE_LIMIT_FAILED_AUTH"));
  beforeStoring = null;
  world = watchDatabase(env.DB, {
    before: async (statements) => {
      if (!statements.some((text) => text.startsWith("insert into provider_events"))) return;
      const act = beforeStoring;
      beforeStoring = null;
      await act?.();
    },
  });
});

/** Delivers a body from the vendor's address. Returns the reply and the number of round trips. */
async function deliver(program: TestProgram, provider: "a" | "b", body: string, signature: string) {
  const before = world.roundTrips.length;
  const { status, body: reply } = await callWith<{ outcome?: string; error?: { code: string } }>(
    { DB: world.binding, RATE_LIMIT_FAILED_AUTH: failures },
    `/webhooks/provider_${provider}?program_id=${program.id}`,
    {
      method: "POST",
      headers: { "cf-connecting-ip": "192.0.2.7", [`Provider-${provider.toUpperCase()}-Signature`]: signature },
      body,
    },
  );
  return { status, said: reply.outcome ?? reply.error?.code, trips: world.roundTrips.length - before };
}

async function sendA(program: TestProgram, event = sessionCompleted({ ref: "jane" }), secret = SECRET_A) {
  const body = bodyOfA(event);
  return deliver(program, "a", body, await signA(body, secret));
}

async function sendB(program: TestProgram, event: EventB) {
  const body = bodyOfB(event);
  return deliver(program, "b", body, await signB(body, SECRET_B));
}

/** A program whose secrets this isolate has just read. */
async function knownProgram(): Promise<TestProgram> {
  const program = await makeProgram();
  await makePartner(program, { slug: "jane" });
  expect(await sendA(program)).toEqual({ status: 200, said: "commission", trips: 3 });
  return program;
}

const PAID = { status: 200, said: "commission" };
const WRONG = { status: 401, said: "invalid_signature" };
const settings = (program: TestProgram, patch: object) => program.api("PATCH", "/api/v1/programs/me", patch);
const paymentsOf = async (program: TestProgram) => (await ledgerOf(program)).payments.length;

describe("an event of a program that was read of late (IN-14)", () => {
  it("costs two round trips from its delivery to its commission", async () => {
    const program = await knownProgram();
    expect(await sendA(program)).toEqual({ ...PAID, trips: 2 });
    expect(await sendA(program, customerEvent({}))).toMatchObject({ status: 200, trips: 2 });
    await sendB(program, transactionCompleted({ ref: "jane" }));
    const paid = transactionCompleted({ ref: "jane", program: program.id });
    expect(await sendB(program, paid)).toEqual({ ...PAID, trips: 2 });
    const refund = adjustmentUpdated({ transaction: paid.data.id, amount: 100 });
    expect(await sendB(program, refund)).toEqual({ status: 200, said: "adjusted", trips: 2 });
  });

  it("is refused where the secret that signed it was replaced, and taken where the new one did", async () => {
    const program = await knownProgram();
    await setSecrets(program.id, { provider_a_webhook_secret: NEW_SECRET });
    expect(await sendA(program)).toMatchObject(WRONG);
    await knownAgain(program);
    await setSecrets(program.id, { provider_a_webhook_secret: SECRET_A });
    expect(await sendA(program)).toMatchObject(PAID);
    expect(await paymentsOf(program)).toBe(3);
  });

  const knownAgain = async (program: TestProgram) =>
    expect(await sendA(program, sessionCompleted({ ref: "jane" }), NEW_SECRET)).toMatchObject(PAID);

  it("is taken by the secret before for 24 hours, and no longer where the owner has cleared it", async () => {
    const program = await knownProgram();
    await settings(program, { provider_a_webhook_secret: NEW_SECRET });
    expect(await sendA(program)).toMatchObject(PAID);
    await setSecrets(program.id, { provider_a_webhook_secret_previous_until: "2026-01-01T00:00:00.000Z" });
    expect(await sendA(program)).toMatchObject(WRONG);
    await knownAgain(program);
    await settings(program, { provider_a_webhook_secret: null });
    expect(await sendA(program, sessionCompleted({}), NEW_SECRET)).toMatchObject({
      ...{ status: 409, said: "provider_not_configured" },
    });
    expect(await paymentsOf(program)).toBe(3);
  });

  it("is refused where the secret goes while the event is on its way, and stores nothing", async () => {
    const program = await knownProgram();
    beforeStoring = () => setSecrets(program.id, { provider_a_webhook_secret: NEW_SECRET });
    expect(await sendA(program)).toMatchObject(WRONG);
    expect(await paymentsOf(program)).toBe(1);
  });

  it("is decided by the settings as they are", async () => {
    const program = await knownProgram();
    const test = sessionCompleted({ ref: "jane", livemode: false });
    await settings(program, { live_only: false });
    expect(await sendA(program, test)).toMatchObject(PAID);
    beforeStoring = () => settings(program, { live_only: true });
    expect(await sendA(program, sessionCompleted({ ref: "jane", livemode: false }))).toMatchObject({
      ...{ status: 200, said: "test_mode" },
    });
  });

  it("is of an unknown program where that is gone", async () => {
    const program = await makeProgram();
    expect((await sendA(program, customerEvent({}))).status).toBe(200);
    await env.DB.batch([
      env.DB.prepare("delete from program_members where program_id = ?").bind(program.id),
      env.DB.prepare("pragma defer_foreign_keys = on"),
      env.DB.prepare("update groups set program_id = program_id || 'x' where program_id = ?").bind(program.id),
      env.DB.prepare("update programs set id = id || 'x', api_key_hash = id where id = ?").bind(program.id),
    ]);
    expect(await sendA(program, customerEvent({}))).toMatchObject({ status: 404, said: "not_found" });
  });

  it("is refused as not readable only where its secret still counts", async () => {
    const program = await knownProgram();
    const unreadable = async () => deliver(program, "a", "{", await signA("{", SECRET_A));
    expect(await unreadable()).toMatchObject({ status: 400, said: "invalid_json" });
    await setSecrets(program.id, { provider_a_webhook_secret: NEW_SECRET });
    expect(await unreadable()).toMatchObject(WRONG);
  });

  it("that claims another program goes to that", async () => {
    const [program, other] = [await knownProgram(), await makeProgram()];
    await makePartner(other, { slug: "jane" });
    await sendB(program, transactionCompleted({ ref: "jane" }));
    expect(await sendB(program, transactionCompleted({ ref: "jane", program: other.id }))).toMatchObject(PAID);
    expect([await paymentsOf(program), await paymentsOf(other)]).toEqual([2, 1]);
  });
});

describe("what a stranger sends to a program that was read of late (IN-10)", () => {
  it("costs one read, and none once the address is over its limit", async () => {
    const program = await knownProgram();
    const forged = async () => {
      const body = bodyOfA(sessionCompleted({ ref: "jane" }));
      return deliver(program, "a", body, await signA(body, "whsec_guessed"));
    };
    const { trips, ...answer } = await forged();
    expect(answer).toEqual(WRONG);
    // The refusal is recorded once a minute, after the reply.
    expect(trips).toBeLessThanOrEqual(2);
    expect(await forged()).toEqual({ ...WRONG, trips: 1 });
    for (let i = 0; i < 28; i++) await forged();
    expect(await forged()).toEqual({ status: 429, said: "rate_limited", trips: 1 });
    expect(await forged()).toEqual({ status: 429, said: "rate_limited", trips: 0 });
    expect(await paymentsOf(program)).toBe(1);
  });
});
