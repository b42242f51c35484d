/** The exchange rates of a program: the owner's (OUT-37), and those of provider A (OUT-38). */
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { observeRates } from "../../src/core/payouts/observe-rates.ts";
import type { ProgramRates } from "../../src/core/payouts/exchange-rates.ts";
import { providerAReads } from "../../src/providers/provider-a/reads.ts";
import { iso } from "../../src/lib/time.ts";
import { serveAll } from "../support/jobs.ts";
import { newKey } from "../support/keys.ts";
import { makeProgram, testContext, type ProgramFields, type TestProgram } from "../support/program.ts";
import { API_KEY_A } from "../support/payouts.ts";
import { refusedByA } from "../support/vendor-a-requests.ts";

const DAY = 86_400_000;

interface Refused {
  error: { code: string; details: { path: string }[] };
}

const put = <T = ProgramRates>(program: TestProgram, body: unknown) => program.api<T>("PUT", "/api/v1/rates", body);
const get = async (program: TestProgram) => (await program.api<ProgramRates>("GET", "/api/v1/rates")).body;

describe("the owner's rates (OUT-37)", () => {
  it("are replaced as a whole, from numbers and texts, and shown with those in force", async () => {
    const program = await makeProgram({ payout_currency: "EUR" });
    expect(await get(program)).toEqual({
      ...{ base: null, rates: {}, rated_at: null, payout_currency: "EUR", in_force: [] },
    });
    await put(program, { base: "EUR", rates: { CHF: 0.93 } });
    const { status, body } = await put(program, { base: "EUR", rates: { USD: 1.0853, GBP: "0.84120", IDR: 17350.12 } });
    expect(status).toBe(200);
    expect(body).toMatchObject({
      base: "EUR",
      rates: { GBP: "0.8412", IDR: "17350.12", USD: "1.0853" },
      in_force: [
        { currency: "GBP", rate: "1.188778", rate_source: "owner", rate_at: body.rated_at },
        { currency: "IDR", rate: "0.00005763649", rate_source: "owner" },
        { currency: "USD", rate: "0.9214042", rate_source: "owner" },
      ],
    });
    expect(await get(program)).toEqual(body);
    expect((await put(program, { base: "USD", rates: {} })).body).toMatchObject({
      base: "USD",
      rates: {},
      in_force: [],
    });
  });

  it("are an event with the change (EVT-2)", async () => {
    const program = await makeProgram();
    await put(program, { base: "EUR", rates: { USD: 1.1 } });
    await put(program, { base: "EUR", rates: { USD: 1.2 } });
    const { body } = await program.api<{ data: { payload: object; changes: object }[] }>(
      "GET",
      "/api/v1/events?type=exchange_rates.updated",
    );
    expect(body.data[0]).toMatchObject({
      payload: { program_id: program.id, base: "EUR" },
      changes: { base: ["EUR", "EUR"], rates: [{ USD: "1.1" }, { USD: "1.2" }] },
    });
  });

  it.each([
    ["a base that is no currency", { base: "XYZ", rates: {} }, "base"],
    ["a code that is no currency", { base: "EUR", rates: { XYZ: 1 } }, "rates.XYZ"],
    ["a code that a record drops", JSON.parse('{"base":"EUR","rates":{"__proto__":1}}'), "rates.__proto__"],
    ["the base itself", { base: "EUR", rates: { EUR: 1 } }, "rates.EUR"],
    ["zero", { base: "EUR", rates: { USD: 0 } }, "rates.USD"],
    ["a negative rate", { base: "EUR", rates: { USD: "-1.1" } }, "rates.USD"],
    ["a rate of eight digits", { base: "EUR", rates: { USD: 1.2345678 } }, "rates.USD"],
    ["a rate out of bounds", { base: "EUR", rates: { USD: 10_000_001 } }, "rates.USD"],
    ["a text that is no number", { base: "EUR", rates: { USD: "1,1" } }, "rates.USD"],
    ["another type", { base: "EUR", rates: { USD: null } }, "rates.USD"],
    ["an unknown field", { base: "EUR", rates: {}, to: "USD" }, ""],
  ])("refuse %s", async (_, body, path) => {
    const program = await makeProgram();
    const refused = await put<Refused>(program, body);
    expect([refused.status, refused.body.error.code]).toEqual([422, "validation_failed"]);
    expect(refused.body.error.details[0]?.path).toContain(path);
    expect((await get(program)).base).toBeNull();
  });

  it("need the scope payouts (ACCESS-11)", async () => {
    const program = await makeProgram();
    const key = await newKey(program, ["read", "write"]);
    expect((await key.api("PUT", "/api/v1/rates", { base: "EUR", rates: {} })).status).toBe(403);
    expect((await key.api("GET", "/api/v1/rates")).status).toBe(200);
  });
});

/** A movement of the vendor's balance. */
const moved = (fields: Record<string, unknown> = {}, source: unknown = { amount: 1_000, currency: "usd" }) => ({
  ...{ object: "balance_transaction", amount: 920, currency: "eur", exchange_rate: 0.92, created: 1_795_000_000 },
  source: typeof source === "object" ? { id: "ch_1", object: "charge", ...source } : source,
  ...fields,
});

describe("provider A's rates (OUT-38)", () => {
  let asked: URL[] = [];
  const observe = async (answer: () => Response, now = Date.now()) => {
    asked = [];
    const fetch = async (input: string | URL | Request, init?: RequestInit) => {
      const url = new URL(new Request(input, init).url);
      expect(refusedByA({ method: "GET", url, headers: new Headers(init?.headers), body: "" } as never)).toBeNull();
      asked.push(url);
      return answer();
    };
    const reads = () => providerAReads({ fetch, baseUrl: "https://api.stripe.com", now: () => now });
    return serveAll(observeRates(testContext(now), reads));
  };
  const list =
    (...data: unknown[]) =>
    () =>
      Response.json({ object: "list", data, has_more: false });
  const shop = (fields: ProgramFields = {}) =>
    makeProgram({ payout_currency: "EUR", provider_a_api_key: API_KEY_A, live_only: false, ...fields });
  const created = Math.floor(Date.now() / 1_000) - 3_600;

  it("are those of the newest conversions into the payout currency, after the owner's", async () => {
    const program = await shop();
    await observe(
      list(
        moved({ created }),
        moved({ created: created - 60, exchange_rate: 0.5, amount: 500 }),
        moved({ created, exchange_rate: 0.0062, amount: 620 }, { amount: 1_000, currency: "jpy" }),
        // The rate is of amounts in smallest units, as the vendor documents it.
        moved({ created, exchange_rate: 0.25, amount: 250 }, { amount: 1_000, currency: "kwd" }),
        moved({ created, amount: 1_230, exchange_rate: 1.23 }, { amount: 1_000, currency: "gbp" }),
        moved({ created, amount: 5_000, exchange_rate: 1.5 }, { amount: 1_000, currency: "chf" }),
        moved({ created, currency: "usd" }, { amount: 1_000, currency: "cad" }),
        moved({ created, exchange_rate: null }),
        moved({ created }, "ch_not_expanded"),
        moved({ created: 1e15, exchange_rate: 0.5, amount: 500 }),
        "garbage",
      ),
    );
    const rate_at = iso(created * 1_000);
    const of = { rate_source: "provider_a", rate_at };
    expect((await get(program)).in_force).toEqual([
      { currency: "GBP", rate: "1.23", ...of },
      { currency: "JPY", rate: "0.0062", ...of },
      { currency: "KWD", rate: "2.5", ...of },
      { currency: "USD", rate: "0.92", ...of },
    ]);
    await put(program, { base: "EUR", rates: { USD: 1.25 } });
    expect((await get(program)).in_force).toMatchObject([
      ...[{ currency: "GBP" }, { currency: "JPY" }, { currency: "KWD" }],
      { currency: "USD", rate: "0.8", rate_source: "owner" },
    ]);
  });

  it("are asked for once a day, with one request, and only with a payout currency and a key that counts", async () => {
    const program = await shop();
    await shop({ payout_currency: null });
    await makeProgram({ payout_currency: "EUR" });
    const testMode = await shop({ live_only: true });
    const now = Date.now();
    await env.DB.prepare("update exchange_rates set asked_at = ?").bind(iso(now)).run();
    await observe(list(moved({ created })), now);
    expect(asked.map(({ pathname, search }) => pathname + search)).toEqual([
      "/v1/balance_transactions?limit=100&expand%5B%5D=data.source",
    ]);
    expect((await get(testMode)).in_force).toEqual([]);
    await observe(list(), now + 3_600_000);
    expect(asked).toEqual([]);
    await observe(list(), now + DAY);
    expect(asked.length).toBeGreaterThan(0);
    expect((await get(program)).in_force).toHaveLength(1);
  });

  it.each([
    ["refuses", () => Response.json({ error: { type: "invalid_request_error" } }, { status: 403 })],
    ["fails", () => new Response("upstream", { status: 500 })],
    ["answers with something else", () => Response.json({ object: "balance" })],
    [
      "does not answer",
      () => {
        throw new Error("lost");
      },
    ],
  ])("stay as they are if the vendor %s", async (_, answer) => {
    const program = await shop();
    const now = Date.now();
    await observe(list(moved({ created })), now);
    const before = await get(program);
    await observe(answer, now + DAY);
    expect(asked.length).toBeGreaterThan(0);
    expect(await get(program)).toEqual(before);
  });
});
