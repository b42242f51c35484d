/** The vendor's webhook destination, created with the API key: the stored data, and the state after a failed call. */
import { Environment, Paddle } from "@paddle/paddle-node-sdk";
import Stripe from "stripe";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { makeDestination, type MadeDestination } from "../../src/core/inbound/destination.ts";
import { webhookUrl } from "../../src/domain/webhook-url.ts";
import { MINUTE } from "../../src/lib/time.ts";
import { byVendor, vendorNamed } from "../../src/providers/registry.ts";
import { LIST_KEYS, LIST_URLS, type ListFault, type Reading } from "../support/event-lists.ts";
import { BASE_URL, call, makeProgram, programContext, webhookSecrets, type TestProgram } from "../support/program.ts";
import { saleAt } from "../support/sale.ts";
import { signed } from "../support/signed.ts";
import { eventually } from "../support/time.ts";
import {
  DESTINATIONS,
  openDestinations,
  type PlayedDestination,
  type PlayedVendors,
} from "../support/vendor-destinations.ts";
import { signInOwner, textOf } from "../support/visitor.ts";
import { callWith } from "../support/watched-database.ts";

let vendors: PlayedVendors;
beforeEach(() => {
  vendors = openDestinations();
  vi.spyOn(globalThis, "fetch").mockImplementation((input, init) =>
    vendors.fetch(new Request(input, init).url, init ?? {}),
  );
});
afterEach(() => vi.restoreAllMocks());

type Error = { error: { code: string; message: string; details?: { path: string; message: string }[] } };

const NAMES = Object.keys(DESTINATIONS) as Reading[];
const NO_SECRETS = webhookSecrets(byVendor(() => null));
const apiKeys = (keyOf: (provider: Reading) => string) =>
  Object.fromEntries(NAMES.map((provider) => [`${provider}_api_key`, keyOf(provider)]));

const withKeys = (secrets: Partial<Record<`${Reading}_webhook_secret`, string>> = {}) =>
  makeProgram({ ...NO_SECRETS, ...apiKeys((provider) => LIST_KEYS[provider]), ...secrets });

const press = (program: TestProgram, provider: Reading, body?: object) =>
  program.api<MadeDestination & Error>("POST", `/api/v1/integrations/${provider}/destination`, body);

/** Calls the verb directly, with played vendors and at any time. */
const make = (program: TestProgram, provider: Reading, { now = Date.now(), replace = false } = {}) =>
  makeDestination(programContext(program, now), { provider, origin: BASE_URL, replace }, vendors.destinationsOf);

const wantedOf = (provider: Reading) => {
  const { needed, better } = vendorNamed(provider)!.wanted_events;
  return [...needed, ...better].map(({ type }) => type);
};

/** Whether a delivery signed with this secret is accepted. */
async function isTaken(program: TestProgram, provider: Reading, secret: string): Promise<boolean> {
  const body = saleAt(provider, { ref: null, program: program.id });
  const signature = await signed(provider, body, secret);
  const headers = { "content-type": "application/json", ...signature };
  const reply = await call(`/webhooks/${provider}?program_id=${program.id}`, { method: "POST", headers, body });
  return reply.status === 200;
}

/** Adds a destination that the owner created manually. */
function byHand(program: TestProgram, provider: Reading, fields: Partial<PlayedDestination> = {}) {
  const made: PlayedDestination = {
    id: `${DESTINATIONS[provider].id_prefix}byhand`,
    url: webhookUrl(BASE_URL, program.id, provider),
    types: wantedOf(provider).slice(0, 2),
    ...{ description: "Shop", is_active: true, secret: `secret_by_hand_of_${provider}` },
    api_key: LIST_KEYS[provider],
    ...fields,
  };
  vendors.at[provider].push(made);
  return made;
}

const eventsOf = async (program: TestProgram, type: string) =>
  (
    await program.api<{ data: { payload: object; actor: object; changes: object }[] }>(
      "GET",
      `/api/v1/events?type=${type}`,
    )
  ).body.data;

describe.each(NAMES)("the destination of the webhooks of %s", (provider) => {
  it("is made with the types that are needed, and its secret is stored and never shown (IN-20)", async () => {
    const program = await withKeys();
    const { status, body } = await press(program, provider);
    const [made] = vendors.at[provider];
    expect(made).toMatchObject({ url: webhookUrl(BASE_URL, program.id, provider), types: wantedOf(provider) });
    expect([status, body]).toEqual([
      201,
      {
        ...{ provider, destination_id: made!.id, url: made!.url, outcome: "created", test: false },
        ...{ event_types_added: wantedOf(provider), secret: "stored", not_removed: 0, other_programs: 0 },
      },
    ]);
    expect(await isTaken(program, provider, made!.secret)).toBe(true);
    expect(await isTaken(program, provider, `${made!.secret}x`)).toBe(false);
    const [event] = await eventsOf(program, "destination.created");
    expect(event).toMatchObject({
      actor: { type: "api_key" },
      payload: { provider, destination_id: made!.id, event_types: wantedOf(provider), test: false },
    });
    const [updated] = await eventsOf(program, "program.updated");
    const setting = `${provider}_webhook_secret`;
    expect(updated).toMatchObject({ actor: { type: "api_key" }, changes: { [setting]: [null, "(secret)"] } });
    const shown = [
      ...[body, await eventsOf(program, "destination.created"), await eventsOf(program, "program.updated")],
      (await program.api("GET", "/api/v1/programs/me")).body,
    ];
    expect(JSON.stringify(shown)).not.toContain(made!.secret);
  });

  it("comes with how many other programs here have one, for what the account sends comes to all of them (IN-20)", async () => {
    const [program, other] = [await withKeys(), await withKeys()];
    const { id } = byHand(other, provider);
    byHand(other, provider, { id: `${id}2`, is_active: false });
    byHand(other, provider, { id: `${id}3`, url: "https://shop.example/webhooks" });
    expect((await press(program, provider)).body).toMatchObject({ outcome: "created", other_programs: 1 });
    const owner = await signInOwner(program);
    const { headers } = await owner.post(`/dashboard/integration/${provider}/destination`, {});
    const page = textOf((await owner.get(headers.get("location")!)).body);
    expect(page).toContain("This account sends the same events to another program here.");
    const { claims_programs, text } = vendorNamed(provider)!;
    const what = claims_programs ? `Let ${text} send to one address only` : `an account of its own at ${text}`;
    expect(page.split(what)).toHaveLength(3);
  });

  it("is left as it is where it lacks nothing, and gets what it lacks (IN-20)", async () => {
    const program = await withKeys();
    await press(program, provider);
    const [made] = vendors.at[provider];
    vendors.calls = [];
    const again = await press(program, provider);
    expect([again.status, again.body]).toMatchObject([
      200,
      { outcome: "unchanged", secret: "kept", event_types_added: [] },
    ]);
    expect(vendors.calls.map(({ method }) => method)).toEqual(["GET"]);
    const [first, ...others] = wantedOf(provider);
    const extra = DESTINATIONS[provider].other_type;
    Object.assign(made!, { types: [first, extra], is_active: false });
    const mended = await press(program, provider);
    expect([mended.status, mended.body]).toMatchObject([
      200,
      { outcome: "updated", secret: "kept", event_types_added: others },
    ]);
    expect(vendors.at[provider]).toMatchObject([{ is_active: true, types: [first, extra, ...others] }]);
    expect(await isTaken(program, provider, made!.secret)).toBe(true);
    expect(await eventsOf(program, "destination.updated")).toMatchObject([
      {
        changes: {
          active: [false, true],
          event_types: [
            [first, extra],
            [first, extra, ...others],
          ],
        },
      },
    ]);
    expect(await eventsOf(program, "program.updated")).toHaveLength(1);
  });

  it("of the owner's own hand keeps the secret that was pasted, and gets what it lacks (IN-20)", async () => {
    const program = await withKeys({ [`${provider}_webhook_secret`]: `secret_by_hand_of_${provider}` });
    const made = byHand(program, provider);
    const { body } = await press(program, provider);
    // The stored secret cannot be verified if the vendor does not show it again.
    const secret = DESTINATIONS[provider].shows_secret ? "kept" : "unverified";
    expect(body).toMatchObject({ outcome: "updated", destination_id: made.id, secret });
    expect(vendors.at[provider]).toHaveLength(1);
    expect(made.types).toEqual(wantedOf(provider));
    expect(await isTaken(program, provider, made.secret)).toBe(true);
  });

  it("of the owner's own hand whose secret nobody pasted ends as one whose secret is stored (IN-20)", async () => {
    const program = await withKeys();
    byHand(program, provider, { id: `${DESTINATIONS[provider].id_prefix}first` });
    byHand(program, provider, { url: "https://elsewhere.example/", secret: "other" });
    const { body } = await press(program, provider);
    expect(body).toMatchObject({ secret: "stored", not_removed: 0 });
    const [elsewhere, ...here] = vendors.at[provider].toSorted((x) => (x.secret === "other" ? -1 : 1));
    expect(elsewhere).toMatchObject({ url: "https://elsewhere.example/", secret: "other" });
    expect(here).toHaveLength(1);
    expect(here[0]!.types).toEqual(wantedOf(provider));
    expect(await isTaken(program, provider, here[0]!.secret)).toBe(true);
  });

  it("does not take the place of another one's secret unless that is asked for (IN-20, PROG-5)", async () => {
    const program = await withKeys({ [`${provider}_webhook_secret`]: "secret_of_another_address" });
    const refused = await press(program, provider);
    expect([refused.status, refused.body.error.code]).toEqual([409, "already_exists"]);
    expect(vendors.at[provider]).toEqual([]);
    expect(await isTaken(program, provider, "secret_of_another_address")).toBe(true);
    const { status } = await press(program, provider, { replace: true });
    expect(status).toBe(201);
    expect(await isTaken(program, provider, vendors.at[provider][0]!.secret)).toBe(true);
    expect(await isTaken(program, provider, "secret_of_another_address")).toBe(true);
    // The pasted secret belongs to another destination.
    await program.api("PATCH", "/api/v1/programs/me", { [`${provider}_webhook_secret`]: "secret_of_a_third" });
    expect((await press(program, provider)).status).toBe(409);
    const again = await press(program, provider, { replace: true });
    expect(again.body).toMatchObject({ secret: "stored" });
    expect(vendors.at[provider]).toHaveLength(1);
    expect(await isTaken(program, provider, vendors.at[provider][0]!.secret)).toBe(true);
  });

  it("is gone on with where a call broke off before it stored what the vendor answered (IN-20)", async () => {
    const program = await withKeys();
    const now = Date.now();
    // The vendor has created the destination, but the process ends before the reply.
    const { destinationsOf } = vendors;
    let asked = 0;
    vendors.destinationsOf = (of) => {
      const vendor = destinationsOf(of)!;
      return {
        ...vendor,
        make: async (...order) => {
          await vendor.make(...order);
          asked++;
          return new Promise(() => {});
        },
      };
    };
    void make(program, provider, { now });
    await eventually(() => expect(asked).toBe(1));
    vendors.destinationsOf = destinationsOf;
    expect(vendors.at[provider]).toHaveLength(1);
    await expect(make(program, provider, { now: now + MINUTE })).rejects.toMatchObject({ code: "invalid_transition" });
    const made = await make(program, provider, { now: now + 4 * MINUTE });
    expect(made).toMatchObject({ secret: "stored", not_removed: 0 });
    expect(vendors.at[provider]).toMatchObject([{ id: made.destination_id }]);
    expect(await isTaken(program, provider, vendors.at[provider][0]!.secret)).toBe(true);
  });

  it("is one, however many calls make it at once (IN-20)", async () => {
    const program = await withKeys();
    const replies = await Promise.all(Array.from({ length: 4 }, () => press(program, provider)));
    const statuses = replies.map(({ status }) => status).toSorted();
    expect(statuses[0]).toBeLessThan(202);
    expect(new Set(statuses)).toEqual(new Set([...statuses.filter((one) => one < 202), 409]));
    expect(vendors.at[provider]).toHaveLength(1);
    expect(await isTaken(program, provider, vendors.at[provider][0]!.secret)).toBe(true);
  });

  it("is removed again where the secret was changed while it was made (IN-20)", async () => {
    const program = await withKeys();
    vendors.meanwhile = async ({ method }) => {
      if (method !== "POST") return;
      await program.api("PATCH", "/api/v1/programs/me", { [`${provider}_webhook_secret`]: "pasted_meanwhile" });
    };
    const { status, body } = await press(program, provider);
    expect([status, body.error.code]).toEqual([409, "invalid_transition"]);
    expect(vendors.at[provider]).toEqual([]);
    expect(await isTaken(program, provider, "pasted_meanwhile")).toBe(true);
    expect(await eventsOf(program, "destination.created")).toEqual([]);
  });

  const FAULTS: [ListFault, string, RegExp][] = [
    ["lost", "provider_unavailable", /did not answer/],
    ["slow", "provider_unavailable", /did not answer/],
    ["broken", "provider_unavailable", /did not answer/],
    ["cut", "provider_unavailable", /unreadable answer/],
    ["garbage", "provider_unavailable", /unreadable answer/],
    ["other", "provider_unavailable", /unreadable answer/],
    ["limited", "provider_unavailable", /limits requests at the moment/],
    ["forbidden", "validation_failed", /it needs write for (?:Webhook Endpoints|Notification settings)/],
    ["gone", "validation_failed", /refuses it: The call is refused\./],
  ];

  it.each(FAULTS)(
    "is said to have failed, and the next call leaves one: %s is %s (IN-20)",
    async (fault, code, words) => {
      for (const method of ["GET", "POST", "POST after"]) {
        const program = await withKeys();
        vendors = openDestinations();
        const [of, isAfter] = method.split(" ");
        vendors.faultOf = (call) => (call.method === of ? (isAfter ? `${fault} after` : fault) : null);
        const failed = await make(program, provider).catch((error: unknown) => error);
        expect(failed).toMatchObject({ code });
        const { message, details, retryAfter } = failed as Error["error"] & { retryAfter?: number };
        expect(details?.[0]?.message ?? message).toMatch(words);
        if (fault === "limited") expect(retryAfter).toBe(600);
        const { body } = await program.api<Record<string, unknown>>("GET", "/api/v1/programs/me");
        expect(body[`${provider}_webhook_secret_set`]).toBe(false);
        vendors.faultOf = () => null;
        const made = await make(program, provider);
        expect(made).toMatchObject({ secret: "stored", not_removed: 0 });
        expect(vendors.at[provider]).toMatchObject([{ id: made.destination_id }]);
        expect(await isTaken(program, provider, vendors.at[provider][0]!.secret)).toBe(true);
      }
    },
  );

  it("is not made with a key that was revoked, and where the vendor allows no more: in words, without the key (IN-20)", async () => {
    const program = await withKeys();
    vendors.most = 0;
    const full = await press(program, provider);
    expect(full.status).toBe(422);
    expect(full.body.error.details![0]!.path).toBe(`${provider}_api_key`);
    expect(full.body.error.details![0]!.message).toMatch(/refuses it: .*maximum of 0 .*\(key\)/);
    vendors.keys.clear();
    const revoked = await press(program, provider);
    expect(revoked.status).toBe(422);
    expect(revoked.body.error.details![0]!.message).toMatch(/does not accept the stored API key: it may be revoked/);
    expect(await eventsOf(program, "destination.created")).toEqual([]);
  });

  it("leaves another one of its address to the next call where the vendor does not remove it (IN-20)", async () => {
    const program = await withKeys();
    // If the vendor shows the first destination's secret, only the second is left over.
    const { id_prefix, shows_secret } = DESTINATIONS[provider];
    for (const id of ["1", "2"]) byHand(program, provider, { id: `${id_prefix}${id}` });
    vendors.at[provider].forEach((one) => (one.description = `Affiliate program ${program.id}`));
    vendors.faultOf = ({ method }) => (method === "DELETE" ? "broken" : null);
    const { body } = await press(program, provider);
    expect(body).toMatchObject({ secret: "stored", not_removed: shows_secret ? 1 : 2 });
    vendors.faultOf = () => null;
    expect((await press(program, provider)).body).toMatchObject({ outcome: "unchanged", not_removed: 0 });
    expect(vendors.at[provider]).toMatchObject([{ id: body.destination_id }]);
  });

  it("needs PUBLIC_URL, an API key, and a provider that there is (IN-20, HTTP-25)", async () => {
    const program = await withKeys();
    const path = `/api/v1/integrations/${provider}/destination`;
    const headers = { authorization: `Bearer ${program.api_key}`, "content-type": "application/json" };
    const bindings = { PUBLIC_URL: "", ENVIRONMENT: "production" } as const;
    const reply = await callWith<Error>(bindings, path, { method: "POST", headers });
    expect([reply.status, reply.body.error.code]).toEqual([503, "not_configured"]);
    expect(vendors.calls).toEqual([]);
    await program.api("PATCH", "/api/v1/programs/me", { [`${provider}_api_key`]: null });
    expect((await press(program, provider)).body.error.code).toBe("provider_not_configured");
    expect((await program.api("POST", "/api/v1/integrations/provider_x/destination")).status).toBe(404);
    expect((await program.api("POST", "/api/v1/integrations/api/destination")).status).toBe(404);
  });

  it("is made by a button of the integration page, which says what it did (IN-20)", async () => {
    const program = await withKeys({ [`${provider}_webhook_secret`]: "secret_of_another_address" });
    const owner = await signInOwner(program);
    const at = `/dashboard/integration/${provider}/destination`;
    const refused = await owner.post(at, {});
    expect(refused.status).toBe(409);
    expect(textOf(refused.body)).toContain("Add our address and replace the stored secret");
    const done = await owner.post(at, { replace: "yes" });
    expect(done.status).toBe(303);
    const page = textOf((await owner.get(done.headers.get("location")!)).body);
    expect(page).toContain("Our address is set up at the provider with all of the events below");
    expect(page).not.toContain(vendors.at[provider][0]!.secret);
    expect(await eventsOf(program, "destination.created")).toMatchObject([{ actor: { type: "member" } }]);
    vendors.faultOf = () => "limited";
    const later = await owner.post(at, {});
    expect([later.status, later.headers.get("retry-after")]).toEqual([503, "600"]);
    expect(textOf(later.body)).toContain("limits requests at the moment");
  });
});

describe("a destination of the vendor's test mode", () => {
  it("is said to be one (IN-20)", async () => {
    const program = await makeProgram({
      ...NO_SECRETS,
      ...apiKeys((provider) => DESTINATIONS[provider].test_key),
    });
    for (const provider of NAMES) vendors.keys.add(DESTINATIONS[provider].test_key);
    for (const provider of NAMES) expect((await press(program, provider)).body).toMatchObject({ test: true });
  });

  it.each(NAMES)(
    "takes the place of no secret where live payments alone count, also where it is asked to: %s (IN-20, IN-17)",
    async (provider) => {
      const { test_key } = DESTINATIONS[provider];
      vendors.keys.add(test_key);
      const secret = "secret_of_the_live_address";
      const program = await makeProgram({
        ...{ ...NO_SECRETS, live_only: true },
        ...{ [`${provider}_webhook_secret`]: secret, [`${provider}_api_key`]: test_key },
      });
      for (const body of [{}, { replace: true }]) {
        const { status, body: answer } = await press(program, provider, body);
        expect([status, answer.error?.code]).toEqual([422, "validation_failed"]);
        expect(answer.error.details).toMatchObject([
          { path: `${provider}_api_key`, message: expect.stringContaining("is a test-mode key") },
        ]);
      }
      const owner = await signInOwner(program);
      const page = textOf((await owner.post(`/dashboard/integration/${provider}/destination`, {})).body);
      expect(page).toContain("has not changed");
      expect(page).not.toContain("replace the stored secret");
      expect(vendors.at[provider]).toEqual([]);
      // Later than the period in which a replaced secret is still accepted.
      vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 2 * 24 * 60 * MINUTE });
      expect(await isTaken(program, provider, secret)).toBe(true);
      vi.useRealTimers();
      // The program may accept test events.
      await program.api("PATCH", "/api/v1/programs/me", { live_only: false });
      expect((await press(program, provider, { replace: true })).body).toMatchObject({
        outcome: "created",
        test: true,
      });
    },
  );
});

it("a destination of provider B for simulated events gets the real ones too (IN-20)", async () => {
  const program = await withKeys({ provider_b_webhook_secret: "secret_by_hand_of_provider_b" });
  const made = byHand(program, "provider_b", { types: wantedOf("provider_b"), traffic_source: "simulation" });
  expect((await press(program, "provider_b")).body).toMatchObject({ outcome: "updated", event_types_added: [] });
  expect(made).toMatchObject({ is_active: true, traffic_source: "all" });
  expect((await press(program, "provider_b")).body).toMatchObject({ outcome: "unchanged" });
});

describe("the played vendors", () => {
  it("are understood by the vendors' own clients", async () => {
    const url = "https://shop.example/hook";
    const fetched = Stripe.createFetchHttpClient((input, init) => vendors.fetch(new Request(input).url, init ?? {}));
    const { webhookEndpoints } = new Stripe(LIST_KEYS.provider_a, { httpClient: fetched, maxNetworkRetries: 0 });
    const made = await webhookEndpoints.create({
      url,
      enabled_events: ["invoice.paid"],
      api_version: "2026-10-28.endive",
    });
    expect(made.secret).toMatch(/^whsec_/);
    await webhookEndpoints.update(made.id, { enabled_events: ["invoice.paid", "charge.refunded"] });
    for (let i = 0; i < 3; i++) await webhookEndpoints.create({ url, enabled_events: ["*"] });
    const all = await webhookEndpoints.list().autoPagingToArray({ limit: 10 });
    expect(all).toHaveLength(4);
    expect(all.at(-1)).toMatchObject({ id: made.id, enabled_events: ["invoice.paid", "charge.refunded"], url });
    expect(all.every(({ secret }) => secret === undefined)).toBe(true);
    expect(await webhookEndpoints.del(made.id)).toMatchObject({ deleted: true });
    for (const type of ["nothing", "invoice.lost"]) {
      await expect(webhookEndpoints.create({ url, enabled_events: [type as "*"] })).rejects.toMatchObject({
        code: "parameter_invalid",
      });
    }

    const { notificationSettings } = new Paddle(LIST_KEYS.provider_b, { environment: Environment.production });
    const setting = await notificationSettings.create({
      ...{ description: "x", type: "url", destination: url, subscribedEvents: ["transaction.completed"] },
    });
    expect(setting.endpointSecretKey).toMatch(/^pdl_ntfset_/);
    await notificationSettings.update(setting.id, { active: false });
    const [listed] = await notificationSettings.list();
    expect(listed).toMatchObject({ id: setting.id, active: false, endpointSecretKey: setting.endpointSecretKey });
    await notificationSettings.delete(setting.id);
    expect(await notificationSettings.list()).toEqual([]);
    expect(LIST_URLS.provider_b).toBe("https://api.paddle.com");
  });
});
