import Stripe from "stripe";
import { describe, expect, it } from "vitest";
import { cents } from "../../src/domain/money.ts";
import { API_VERSION } from "../../src/providers/provider-a/api.ts";
import { providerAConnect } from "../../src/providers/provider-a/connect.ts";
import { connectJourney, EXPECTED_JOURNEY } from "../support/connect-journey.ts";
import { fixtures } from "../support/fixtures.ts";
import { openVendor, VENDOR_URL, type VendorApi } from "../support/provider-a-api.ts";

const KEY = "sk_test_123";
const ACCOUNT = "acct_1PgafTB7WZ01zgkW";

const ORDER = {
  payout_id: "pay_01m7wm09zvxvqv5qacvfsnxhhk",
  program_id: "prog_01m7wm09zvxvqv5qacvfsnxhhk",
  partner_id: "par_01m7wm09zvxvqv5qacvfsnxhhk",
  amount_cents: cents(1_100),
  currency: "USD",
  account_id: ACCOUNT,
};

function played(): { vendor: VendorApi; client: ReturnType<typeof providerAConnect> } {
  const vendor = openVendor({ keys: [KEY], accounts: { [ACCOUNT]: "active" } });
  const client = providerAConnect({ fetch: vendor.fetch, baseUrl: VENDOR_URL, now: () => vendor.now, timeoutMs: 50 });
  return { vendor, client };
}

/** A client whose every call is answered so. */
function answering(make: () => Response) {
  return providerAConnect({ fetch: async () => make(), baseUrl: VENDOR_URL, now: Date.now, timeoutMs: 50 });
}

const json = (status: number, body: unknown, headers: Record<string, string> = {}) =>
  new Response(JSON.stringify(body), { status, headers });

/** The vendor's own SDK, talking to the played vendor. */
function sdkOf(vendor: VendorApi): Stripe {
  const fetch = (url: string | URL | Request, init?: RequestInit) => vendor.fetch(url, init);
  return new Stripe(KEY, {
    httpClient: Stripe.createFetchHttpClient(fetch),
    maxNetworkRetries: 0,
  });
}

describe("the client of provider A's connected accounts", () => {
  it("goes through the journey that the sandbox is asked to go through as well", async () => {
    const { client } = played();
    const story = await connectJourney(client, { api_key: KEY, account_id: ACCOUNT, currency: "USD", country: "US" });
    expect(story).toEqual(EXPECTED_JOURNEY);
  });

  it("finds which account a key is of, and its mode; a restricted key's by the refusal that names it", async () => {
    const account = "acct_1PgafTB7WZ01zgkW";
    const own = answering(() => json(200, { object: "account", id: account }));
    const denied = answering(() =>
      json(403, {
        error: {
          type: "invalid_request_error",
          message: `The provided key 'rk_live_****' does not have the required permissions for this endpoint on account '${account}'.`,
        },
      }),
    );
    expect(await own.identify("sk_live_1")).toEqual({ outcome: "known", account: `${account} (live)` });
    expect(await own.identify("sk_test_1")).toEqual({ outcome: "known", account: `${account} (test)` });
    expect(await denied.identify("rk_live_1")).toEqual({ outcome: "known", account: `${account} (live)` });
    const silent = [
      answering(() => json(403, { error: { type: "invalid_request_error", message: "No." } })),
      answering(() => json(401, { error: { type: "invalid_request_error", message: "Invalid API Key" } })),
      answering(() => json(200, { object: "list", data: [{ id: account }] })),
      answering(() => json(200, { object: "account", id: "cus_1" })),
      answering(() => new Response("<html>", { status: 200 })),
      answering(() => json(500, { error: { message: `on account '${account}'` } })),
      answering(() => {
        throw new Error("connection reset");
      }),
    ];
    for (const client of silent) expect(await client.identify("sk_live_1")).toMatchObject({ outcome: "unknown" });
  });

  it("sends what the vendor's SDK sends, under that SDK's version", async () => {
    const { vendor, client } = played();
    await client.send(KEY, client.freeze(ORDER), `${ORDER.payout_id}:1`);
    const sdk = sdkOf(vendor);
    await sdk.transfers.create(
      {
        amount: 1_100,
        currency: "usd",
        destination: ACCOUNT,
        transfer_group: ORDER.payout_id,
        description: `Payout ${ORDER.payout_id}`,
        metadata: { payout_id: ORDER.payout_id, partner_id: ORDER.partner_id, program_id: ORDER.program_id },
      },
      { idempotencyKey: "another" },
    );
    const [ours, theirs] = vendor.calls;
    const params = (body: string) => Object.fromEntries(new URLSearchParams(body));
    expect(params(ours!.body)).toEqual(params(theirs!.body));
    for (const name of ["authorization", "content-type", "stripe-version"]) {
      expect([name, ours!.headers.get(name)]).toEqual([name, theirs!.headers.get(name)]);
    }
    expect(ours!.path).toBe(theirs!.path);
    expect(API_VERSION).toBe(Stripe.API_VERSION);
  });

  it("asks for accounts, links, transfers and its own account as the vendor's SDK does, whose types hold each field", async () => {
    const { vendor, client } = played();
    const { payout_id, program_id, partner_id } = ORDER;
    const [return_url, refresh_url] = ["https://shop.example/done", "https://shop.example/again"];
    const person = { email: "jane@mail.example", display_name: "Jane Doe" };
    await client.createAccount(KEY, { ...person, program_id, partner_id, country: "DE", forgotten: 0 });
    await client.createLink(KEY, { account_id: ACCOUNT, return_url, refresh_url });
    await client.find(KEY, payout_id);
    await client.identify(KEY);
    await client.balances(KEY);
    const ours = [...vendor.calls.splice(0), ...vendor.balanceCalls.splice(0)];
    const sdk = sdkOf(vendor);
    await sdk.v2.core.accounts.create({
      contact_email: "jane@mail.example",
      display_name: "Jane Doe",
      dashboard: "express",
      identity: { country: "de" },
      configuration: { recipient: { capabilities: { stripe_balance: { stripe_transfers: { requested: true } } } } },
      defaults: { responsibilities: { fees_collector: "application", losses_collector: "application" } },
      metadata: { partner_id, program_id },
    });
    await sdk.v2.core.accountLinks.create({
      account: ACCOUNT,
      use_case: { type: "account_onboarding", account_onboarding: { refresh_url, return_url } },
    });
    await sdk.transfers.list({ transfer_group: payout_id, limit: 10 });
    await sdk.accounts.retrieveCurrent();
    await sdk.balance.retrieve();
    const sent = (calls: typeof ours) =>
      calls.map(({ method, path, headers, body }) => ({
        ...{ method, path, version: headers.get("stripe-version") },
        ...(body === "" ? {} : { type: headers.get("content-type"), body: JSON.parse(body) as unknown }),
      }));
    expect(sent(ours)).toEqual(sent([...vendor.calls, ...vendor.balanceCalls]));
    expect(ours.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
  });

  it("the same order always freezes to the same bytes", () => {
    const { client } = played();
    expect(client.freeze({ ...ORDER })).toBe(client.freeze({ ...ORDER }));
    expect(client.freeze(ORDER)).toBe(
      "amount=1100&currency=usd&destination=acct_1PgafTB7WZ01zgkW&transfer_group=pay_01m7wm09zvxvqv5qacvfsnxhhk" +
        "&description=Payout+pay_01m7wm09zvxvqv5qacvfsnxhhk&metadata%5Bpayout_id%5D=pay_01m7wm09zvxvqv5qacvfsnxhhk" +
        "&metadata%5Bpartner_id%5D=par_01m7wm09zvxvqv5qacvfsnxhhk&metadata%5Bprogram_id%5D=prog_01m7wm09zvxvqv5qacvfsnxhhk",
    );
  });

  const error = (fields: Record<string, unknown>) => ({
    error: { type: "invalid_request_error", message: "No.", ...fields },
  });
  it.each<[string, () => Response, string]>([
    ["a refusal", () => json(400, error({ code: "balance_insufficient" })), "refused: balance_insufficient"],
    ["a refusal without a code", () => json(400, error({})), "refused: invalid_request_error"],
    ["a rejected account", () => json(403, error({ code: "account_invalid" })), "refused: account_invalid"],
    ["a rate limit as 429", () => json(429, error({ code: "rate_limit" })), "unknown: rate_limit"],
    ["a rate limit as 400", () => json(400, error({ code: "rate_limit" })), "unknown: rate_limit"],
    ["a lock timeout", () => json(400, error({ code: "lock_timeout" })), "unknown: lock_timeout"],
    [
      "other parameters under the key",
      () => json(400, error({ type: "idempotency_error" })),
      "unknown: idempotency_error",
    ],
    [
      "a key in use",
      () => json(409, error({ type: "idempotency_error", code: "idempotency_key_in_use" })),
      "unknown: idempotency_key_in_use",
    ],
    ["a server error", () => json(500, error({ type: "api_error" })), "unknown: api_error"],
    ["a 400 that is not the vendor's", () => new Response("<html>Bad request", { status: 400 }), "unknown: http_400"],
    ["a 404 from something on the way", () => json(404, { message: "no route" }), "unknown: http_404"],
    [
      "a redirect",
      () => new Response(null, { status: 302, headers: { location: "https://evil.example/" } }),
      "unknown: http_302",
    ],
    ["an empty 200", () => new Response("", { status: 200 }), "unknown: http_200"],
    ["a 200 that is no transfer", () => json(200, { object: "charge", id: "ch_1" }), "unknown: http_200"],
    [
      "another payout's transfer",
      () => json(200, { object: "transfer", id: "tr_1", amount: 1_100, currency: "usd", transfer_group: "pay_other" }),
      "unknown: http_200",
    ],
    [
      "a transfer of another amount",
      () =>
        json(200, { object: "transfer", id: "tr_1", amount: 1_101, currency: "usd", transfer_group: ORDER.payout_id }),
      "unknown: http_200",
    ],
  ])("%s is %s", async (_, make, expected) => {
    const client = answering(make);
    const answer = await client.send(KEY, client.freeze(ORDER), "key");
    expect("code" in answer ? `${answer.outcome}: ${answer.code}` : answer.outcome).toBe(expected);
  });

  it.each<[string, () => Response, string]>([
    ["an empty list", () => json(200, { object: "list", data: [] }), "none"],
    [
      "a list that was not filtered",
      () =>
        json(200, {
          object: "list",
          data: [{ object: "transfer", id: "tr_1", amount: 1, currency: "usd", transfer_group: "pay_other" }],
        }),
      "unknown",
    ],
    ["a list that cannot be read", () => json(200, { data: [] }), "unknown"],
    ["a refusal to list", () => json(403, error({})), "unknown"],
    ["nothing", () => new Response("", { status: 502 }), "unknown"],
  ])("looking and getting %s: %s", async (_, make, expected) => {
    expect((await answering(make).find(KEY, ORDER.payout_id)).outcome).toBe(expected);
  });

  it("reads the available balance by currency, the largest of its sources; and nothing from any other answer (OUT-40)", async () => {
    const available = [
      { amount: 900, currency: "usd", source_types: { card: 1_000, bank_account: -100 } },
      { amount: -5, currency: "eur" },
    ];
    const known = answering(() => json(200, { object: "balance", available, pending: [] }));
    expect([...((await known.balances(KEY)) ?? [])]).toEqual([
      ["USD", 1_000],
      ["EUR", -5],
    ]);
    for (const make of [
      () => json(200, { object: "balance" }),
      () => json(200, { object: "list", available }),
      () => json(403, error({})),
      () => json(500, error({ type: "api_error" })),
      () => new Response("<html>", { status: 200 }),
    ]) {
      expect(await answering(make).balances(KEY)).toBeNull();
    }
  });

  it("waits as long as the vendor asks, within reason, and never longer than its own time limit", async () => {
    const limited = answering(() => json(429, error({ code: "rate_limit" }), { "retry-after": "7" }));
    expect(await limited.send(KEY, limited.freeze(ORDER), "key")).toMatchObject({ retry_after_ms: 7_000 });
    const date = new Date(Date.now() + 60_500).toUTCString();
    const dated = answering(() => json(429, error({ code: "rate_limit" }), { "retry-after": date }));
    const { retry_after_ms } = (await dated.send(KEY, dated.freeze(ORDER), "key")) as { retry_after_ms: number };
    expect(retry_after_ms).toBeGreaterThan(50_000);
    expect(retry_after_ms).toBeLessThanOrEqual(60_500);
    const odd = answering(() => json(429, error({ code: "rate_limit" }), { "retry-after": "soon" }));
    expect(await odd.send(KEY, odd.freeze(ORDER), "key")).toMatchObject({ retry_after_ms: null });
    const never = providerAConnect({
      fetch: () => new Promise(() => {}),
      baseUrl: VENDOR_URL,
      now: Date.now,
      timeoutMs: 20,
    });
    expect(await never.send(KEY, never.freeze(ORDER), "key")).toMatchObject({ outcome: "unknown", code: "no_answer" });
    const huge = answering(() => new Response("x".repeat(300_000), { status: 200 }));
    expect(await huge.send(KEY, huge.freeze(ORDER), "key")).toMatchObject({ outcome: "unknown" });
  });

  it("never repeats a key, whatever the vendor says of it", async () => {
    const echo = answering(() =>
      json(400, error({ message: "The key sk_live_abc123 and rk_test_9 are wrong", code: "x" })),
    );
    const answer = await echo.send(KEY, echo.freeze(ORDER), "key");
    expect(answer).toMatchObject({ message: "The key (key) and (key) are wrong" });
  });

  it("never repeats a whole account id, whatever the vendor says of it (ACCESS-12)", async () => {
    const naming = answering(() => json(400, error({ message: `No such destination: '${ACCOUNT}'`, code: "x" })));
    const message = "No such destination: 'acct_****zgkW'";
    expect(await naming.send(KEY, naming.freeze(ORDER), "key")).toMatchObject({ message });
    const links = { account_id: ACCOUNT, return_url: "https://a.example", refresh_url: "https://a.example" };
    expect(await naming.createLink(KEY, links)).toMatchObject({ outcome: "refused", message });
  });
});

describe("the played vendor", () => {
  it("is understood by the vendor's own SDK, errors and replays included", async () => {
    const { vendor } = played();
    const sdk = sdkOf(vendor);
    const params = { amount: 500, currency: "usd", destination: ACCOUNT, transfer_group: "pay_x" };
    const made = await sdk.transfers.create(params, { idempotencyKey: "k" });
    const replayed = await sdk.transfers.create(params, { idempotencyKey: "k" });
    expect(replayed.id).toBe(made.id);
    await expect(sdk.transfers.create({ ...params, amount: 501 }, { idempotencyKey: "k" })).rejects.toMatchObject({
      type: "StripeIdempotencyError",
    });
    vendor.balance.set("usd", 0);
    await expect(sdk.transfers.create(params, { idempotencyKey: "l" })).rejects.toMatchObject({
      code: "balance_insufficient",
      statusCode: 400,
    });
    vendor.balance.clear();
    // The first answer stays under its key for 24 hours, even if the transfer becomes possible meanwhile.
    await expect(sdk.transfers.create(params, { idempotencyKey: "l" })).rejects.toMatchObject({
      code: "balance_insufficient",
    });
    vendor.now += 86_400_000;
    expect((await sdk.transfers.create(params, { idempotencyKey: "l" })).object).toBe("transfer");
    const listed = await sdk.transfers.list({ transfer_group: "pay_x" });
    expect(listed.data.map(({ id }) => id)).toContain(made.id);
    const account = await sdk.v2.core.accounts.create({
      contact_email: "jane@example.com",
      configuration: { recipient: { capabilities: { stripe_balance: { stripe_transfers: { requested: true } } } } },
    });
    const link = await sdk.v2.core.accountLinks.create({
      account: account.id,
      use_case: { type: "account_onboarding", account_onboarding: { refresh_url: "https://a.example/" } },
    });
    expect([account.object, link.object]).toEqual(["v2.core.account", "v2.core.account_link"]);
  });

  it("makes transfers with the fields of the vendor's published example", async () => {
    const { vendor, client } = played();
    await client.send(KEY, client.freeze(ORDER), "k");
    const example = fixtures["a.object.transfer.openapi-2026-07.json"];
    const expected = [
      ...["amount", "amount_reversed", "balance_transaction", "created", "currency", "description", "destination"],
      ...["destination_payment", "id", "livemode", "metadata", "object", "reversals", "reversed", "source_transaction"],
      ...["source_type", "transfer_group"],
    ];
    expect(Object.keys(vendor.transfers[0]!).toSorted()).toEqual(expected);
    if (example) expect(Object.keys(JSON.parse(example) as object).toSorted()).toEqual(expected);
  });
});
