/** The replies of the inbound endpoints (IN-2 to IN-4) over HTTP, and races between deliveries. */
import { env } from "cloudflare:workers";
import { describe, expect, it, vi } from "vitest";
import { VENDOR_NAMES, VENDORS, type ListedVendor } from "../../src/providers/registry.ts";
import { ledgerOf, sendA, sendB } from "../support/ledger.ts";
import {
  bodyOfA,
  chargeRefunded,
  customerEvent,
  disputeClosed,
  invoicePaid,
  sessionCompleted,
  signA,
} from "../support/provider-a.ts";
import { adjustmentUpdated, bodyOfB, eventB, signB, transactionCompleted } from "../support/provider-b.ts";
import {
  call,
  makePartner,
  makeProgram,
  SECRET_A,
  SECRET_B,
  TEST_SECRETS,
  type TestProgram,
} from "../support/program.ts";
import { saleAt } from "../support/sale.ts";
import { signatureHeader, signatureOf } from "../support/signed.ts";

interface Answer {
  received?: boolean;
  outcome?: string;
  error?: { code: string; details?: { path: string }[] };
}

function post(
  program_id: string | null,
  body: string | Uint8Array,
  headers: Record<string, string>,
  provider: ListedVendor = "provider_a",
) {
  const query = program_id === null ? "" : `?program_id=${program_id}`;
  return call<Answer>(`/webhooks/${provider}${query}`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: body as BodyInit,
  });
}

/** Counts all stored rows except `webhook.refused`, which notifies the owner. */
async function stored(program: TestProgram): Promise<number> {
  const row = await env.DB.prepare(
    `select (select count(*) from provider_events where program_id = ?1) + (select count(*) from facts where program_id = ?1)
      + (select count(*) from payments where program_id = ?1) + (
        select count(*) from events where program_id = ?1 and type <> 'webhook.refused') as n`,
  )
    .bind(program.id)
    .first<{ n: number }>();
  return row!.n;
}

const now = () => Math.floor(Date.now() / 1000);

describe("signatures", () => {
  type Signature = (provider: ListedVendor, body: string) => Promise<Record<string, string>>;
  const headerOf = async (provider: ListedVendor, value: string | Promise<string>) => ({
    [signatureHeader(provider)]: await value,
  });
  const own = (provider: ListedVendor, body: string, at = now()) =>
    signatureOf(provider, body, TEST_SECRETS[provider], at);
  const bad: [string, Signature][] = [
    ["missing", async () => ({})],
    ["empty", (provider) => headerOf(provider, "")],
    ["garbage", (provider) => headerOf(provider, "I am not even a header")],
    ["another secret", (provider, body) => headerOf(provider, signatureOf(provider, body, "another secret"))],
    ["stale", (provider, body) => headerOf(provider, own(provider, body, now() - 320))],
    ["future", (provider, body) => headerOf(provider, own(provider, body, now() + 320))],
    ["truncated", async (provider, body) => headerOf(provider, (await own(provider, body)).slice(0, -1))],
    ["of another body", (provider, body) => headerOf(provider, own(provider, `${body} `))],
    ...VENDOR_NAMES.map((form): [string, Signature] => [
      `of the form of ${form}`,
      (provider, body) =>
        headerOf(provider, signatureOf(form, body, form === provider ? "another secret" : TEST_SECRETS[provider])),
    ]),
  ];
  it.each(bad)("%s is 401 and stores nothing (IN-3)", async (_name, headers) => {
    const program = await makeProgram();
    for (const provider of VENDOR_NAMES) {
      const body = saleAt(provider, { ref: "jane", program: program.id });
      const reply = await post(program.id, body, await headers(provider, body), provider);
      expect([provider, reply.status, reply.body.error?.code]).toEqual([provider, 401, "invalid_signature"]);
    }
    expect(await stored(program)).toBe(0);
  });

  it("are taken in each header of the provider (IN-6)", async () => {
    const program = await makeProgram();
    for (const { name, signature_headers } of VENDORS) {
      const provider = name as ListedVendor;
      for (const header of [signatureHeader(provider), ...signature_headers]) {
        const body = saleAt(provider, { ref: "jane", program: program.id });
        const reply = await post(program.id, body, { [header]: await own(provider, body) }, provider);
        expect([header, reply.status]).toEqual([header, 200]);
      }
    }
  });

  it("takes exact bytes whatever they hold, and a rotated secret's old signature for 24 h (IN-8)", async () => {
    const program = await makeProgram();
    const body = bodyOfA(sessionCompleted({ ref: "jane" }));
    const unicode = `${JSON.stringify(sessionCompleted({ ref: "jane", metadata: { note: "Grüße 🎉" } }), null, 4)}\n`;
    const exact = await post(program.id, unicode, { "Stripe-Signature": await signA(unicode, SECRET_A) });
    expect(exact.status).toBe(200);
    const day = 86_400_000;
    for (const [until, status] of [
      [Date.now() + day, 200],
      [Date.now() - 1, 401],
    ] as const) {
      const rotated = await makeProgram({
        provider_a_webhook_secret_previous: "whsec_previous",
        provider_a_webhook_secret_previous_until: new Date(until).toISOString(),
      });
      const old = await post(rotated.id, body, { "Provider-A-Signature": await signA(body, "whsec_previous") });
      expect(old.status).toBe(status);
    }
  });
});

describe("other refusals (IN-4)", () => {
  it("without a stored secret nothing is processed: 409, and the vendor retries until it is there", async () => {
    const program = await makeProgram({ provider_a_webhook_secret: null, provider_b_webhook_secret: null });
    const reply = await sendA(program, sessionCompleted());
    expect([reply.status, reply.body.error?.code]).toEqual([409, "provider_not_configured"]);
    expect((await sendB(program, transactionCompleted())).status).toBe(409);
    expect(await stored(program)).toBe(0);
  });

  it("an unknown or absent program is 404", async () => {
    const body = bodyOfA(sessionCompleted());
    for (const id of ["prog_unknown", null]) {
      const reply = await post(id, body, { "Provider-A-Signature": await signA(body, SECRET_A) });
      expect([reply.status, reply.body.error?.code]).toEqual([404, "not_found"]);
    }
  });

  it("provider B's program comes from custom_data, else the query, else the stored payment", async () => {
    const program = await makeProgram();
    const other = await makeProgram();
    const send = async (event: ReturnType<typeof transactionCompleted>, query: string | null) => {
      const body = bodyOfB(event);
      return post(query, body, { "Provider-B-Signature": await signB(body, SECRET_B) }, "provider_b");
    };
    expect((await send(transactionCompleted({ id: "txn_own", program: program.id }), other.id)).status).toBe(200);
    expect((await ledgerOf(program)).payments).toHaveLength(1);
    expect((await ledgerOf(other)).payments).toHaveLength(0);
    expect((await send(adjustmentUpdated({ transaction: "txn_own" }), null)).status).toBe(200);
    expect((await send(adjustmentUpdated({ transaction: "txn_nobody" }), null)).status).toBe(404);
    expect((await send(transactionCompleted({ custom_data: null }), program.id)).status).toBe(200);
  });

  it("a claimed program chooses only the secret that is tried", async () => {
    const mine = await makeProgram({ provider_b_webhook_secret: "pdl_mine" });
    const theirs = await makeProgram();
    const body = bodyOfB(transactionCompleted({ program: theirs.id }));
    const reply = await post(mine.id, body, { "Provider-B-Signature": await signB(body, "pdl_mine") }, "provider_b");
    expect(reply.status).toBe(200);
    expect([await stored(theirs), (await ledgerOf(mine)).payments.length]).toEqual([0, 1]);
  });

  it("signed but not JSON is 400, not the documented shape 422 with paths, too large 413; nothing is stored", async () => {
    const program = await makeProgram();
    const signed = async (text: string | Uint8Array) =>
      post(program.id, text, { "Provider-A-Signature": await signA(text, SECRET_A) });
    expect((await signed("{nope")).status).toBe(400);
    expect((await signed(new Uint8Array([0x7b, 0xff, 0x7d]))).status).toBe(400);
    expect((await signed("")).status).toBe(400);
    const event = sessionCompleted();
    const shapeless = await signed(
      JSON.stringify({ ...event, data: { object: { ...event.data.object, amount_total: "lots" } } }),
    );
    expect(shapeless.status).toBe(422);
    expect(shapeless.body.error?.details?.[0]?.path).toContain("amount_total");
    expect((await signed("null")).status).toBe(422);
    expect((await signed(`"${"x".repeat(1024 * 1024)}"`)).status).toBe(413);
    expect(await stored(program)).toBe(0);
  });

  it("accepts 1 MiB, extra fields and unknown types; ignored ones leave their audit event with a reason (IN-2, IN-9)", async () => {
    const program = await makeProgram();
    const event = customerEvent({});
    const filler = { ...event, extra: "x".repeat(1024 * 1024 - JSON.stringify(event).length - 20) };
    const text = JSON.stringify(filler);
    expect(text.length).toBeGreaterThan(1024 * 1024 - 50);
    const big = await post(program.id, text, { "Provider-A-Signature": await signA(text, SECRET_A) });
    expect(big.status).toBe(200);
    const unknown = await sendB(program, eventB("report.created", { id: "rep_1" }));
    expect(unknown).toMatchObject({ status: 200, body: { received: true, outcome: "ignored" } });
    const events = await program.api<{ data: { type: string; payload: object }[] }>("GET", "/api/v1/events");
    expect(events.body.data.map((row) => row.type).toSorted()).toEqual(["webhook.provider_a", "webhook.provider_b"]);
  });

  it("storage that fails is 503 with Retry-After, and the redelivery finishes the work (IN-4, LAW-10)", async () => {
    const program = await makeProgram();
    await makePartner(program, { slug: "jane" });
    const event = sessionCompleted({ ref: "jane" });
    const prototype = Object.getPrototypeOf(env.DB) as D1Database;
    let calls = 0;
    const batch = prototype.batch;
    // The first batch stores the facts; every later batch fails.
    const spy = vi.spyOn(prototype, "batch").mockImplementation(function (this: D1Database, statements) {
      return calls++ < 1 ? batch.call(this, statements) : Promise.reject(new Error("D1_ERROR: gone"));
    });
    const failed = await sendA(program, event);
    spy.mockRestore();
    expect(failed.status).toBe(503);
    expect(failed.headers.get("retry-after")).toMatch(/^\d+$/);
    expect(JSON.stringify(failed.body)).not.toContain("gone");
    expect((await ledgerOf(program)).commissions).toEqual([]);
    expect((await sendA(program, event)).body.outcome).toBe("commission");
    const ledger = await ledgerOf(program);
    expect(ledger.commissions).toHaveLength(1);
    expect(ledger.eventCounts).toMatchObject({ "webhook.provider_a": 1, "commission.created": 1 });
  });
});

describe("races", () => {
  it("50 concurrent deliveries of mixed events for one payment leave one consistent result and no error", async () => {
    const program = await makeProgram();
    await makePartner(program, { slug: "jane" });
    const ids = { invoice: "in_race", subscription: "sub_race", customer: "cus_race" };
    const charge = { charge: "ch_race", payment_intent: "pi_race", invoice: "in_race", amount: 12_000 };
    const events = [
      sessionCompleted({ ref: "jane", amount: 12_000, tax: 2_000, ...ids }),
      invoicePaid({
        id: "in_race",
        amount: 12_000,
        tax: 2_000,
        subscription: ids.subscription,
        customer: ids.customer,
      }),
      chargeRefunded({ ...charge, refunded: 1_200, created: now() + 1 }),
      chargeRefunded({ ...charge, refunded: 2_400, created: now() + 2 }),
      disputeClosed({ id: "du_race", charge: charge.charge, amount: 1_200, created: now() + 3 }),
    ];
    const replies = await Promise.all(Array.from({ length: 50 }, (_, i) => sendA(program, events[i % events.length]!)));
    expect([...new Set(replies.map((reply) => reply.status))]).toEqual([200]);
    const ledger = await ledgerOf(program);
    // 3,600 of 12,000 gross is 3,000 of 10,000 net.
    expect(ledger.payments).toMatchObject([{ outcome: "commission", adjusted_cents: 3_000 }]);
    expect(ledger.commissions).toMatchObject([{ amount_cents: 1_400 }]);
    expect(ledger.eventCounts).toMatchObject({ "commission.created": 1, "webhook.provider_a": 5 });
  });

  it("the same event id of two programs is two events (IN-7)", async () => {
    const event = sessionCompleted({ ref: "jane" });
    for (let i = 0; i < 2; i++) {
      const program = await makeProgram();
      await makePartner(program, { slug: "jane" });
      expect((await sendA(program, event)).body.outcome).toBe("commission");
    }
  });
});
