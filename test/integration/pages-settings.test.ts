import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, it } from "vitest";
import { MAX_ENDPOINTS } from "../../src/core/webhooks/endpoints.ts";
import { bySecretSetting, VENDORS, SECRET_SETTINGS } from "../../src/providers/registry.ts";
import { click, recorded } from "../support/clicks.ts";
import { sendA } from "../support/ledger.ts";
import { callApi, makePartner, makeProgram, type TestProgram } from "../support/program.ts";
import { sessionCompleted } from "../support/provider-a.ts";
import { signInOwner, textOf, type Visitor, programOfOwner } from "../support/visitor.ts";

let program: TestProgram;
let owner: Visitor;

beforeAll(async () => {
  program = await makeProgram();
  owner = await signInOwner(program);
});

/** Each page of the settings with its input. */
const SETTINGS = {
  "/dashboard/settings": { name: "New name", domain: "https://new.example/pricing?a=b", currency: "usd" },
  "/dashboard/settings/commissions": {
    ...{ default_commission_pct: "12.5", cookie_days: "30", attribution: "first" },
    ...{ auto_approve_days: "14", live_only: "false" },
  },
  "/dashboard/settings/payouts": { payout_term: "net-30", min_payout_cents: "25.50" },
};

async function me(of: TestProgram = program) {
  return (await of.api<Record<string, unknown>>("GET", "/api/v1/programs/me")).body;
}

describe("settings (PAGE-7)", () => {
  it("are saved with amounts in the currency, and change the script tag", async () => {
    for (const [path, fields] of Object.entries(SETTINGS)) {
      await owner.get(path);
      expect((await owner.post(path, fields)).headers.get("location")).toBe(`${path}?done=saved`);
    }
    expect(await me()).toMatchObject({
      name: "New name",
      domain: "new.example",
      default_commission_pct: 12.5,
      payout_term: "NET-30",
      min_payout_cents: 2550,
      attribution: "first",
      auto_approve_days: 14,
      live_only: false,
    });
    expect(textOf((await owner.get("/dashboard/settings?done=saved")).body)).toContain(
      `<script src="https://service.example/service.js" data-program="${program.id}" data-cookie-days="30" data-attribution="first" defer></script>`,
    );
    expect((await owner.get("/dashboard/settings/payouts")).body).toContain('value="25.50"');
  });

  it("show every mistake beside its field and change nothing", async () => {
    const before = await me();
    for (const [path, wrong] of Object.entries({
      "/dashboard/settings": { name: "", domain: "no host", currency: "DOLLAR" },
      "/dashboard/settings/commissions": {
        ...{ default_commission_pct: "101", cookie_days: "0", auto_approve_days: "1.5" },
        ...{ attribution: "best", live_only: "maybe" },
      },
      "/dashboard/settings/payouts": { payout_term: "soon", min_payout_cents: "-1" },
    })) {
      await owner.get(path);
      const reply = await owner.post(path, wrong);
      expect(reply.status).toBe(422);
      for (const field of Object.keys(wrong))
        expect(reply.body).toMatch(new RegExp(`id="f-${field}"[^>]*aria-invalid="true"`));
    }
    expect(await me()).toEqual(before);
  });

  it("show that the currency is locked once a commission exists", async () => {
    const [locked, boss] = await programOfOwner();
    const partner = await makePartner(locked);
    await sendA(locked, sessionCompleted({ ref: partner.slug }));
    await boss.get("/dashboard/settings");
    const reply = await boss.post("/dashboard/settings", { name: "New name", currency: "EUR" });
    expect(textOf(reply.body)).toContain("The currency is locked once a commission or a lead exists.");
    expect(await me(locked)).toMatchObject({ currency: "USD", name: "Test program" });
  });
});

describe("secrets", () => {
  const SECRET = "pasted_by_the_owner";

  it("are written and never shown again", async () => {
    const [fresh, boss] = await programOfOwner(bySecretSetting(() => null));
    for (const { setting: name, field } of SECRET_SETTINGS) {
      await boss.get("/dashboard/settings/providers");
      const reply = await boss.post("/dashboard/settings/secrets", { name, secret: `  ${field.begins[0]}${SECRET} ` });
      expect(reply.status).toBe(303);
      expect((await me(fresh))[`${name}_set`]).toBe(true);
      expect((await boss.get("/dashboard/settings/providers")).body).not.toContain(SECRET);
    }
    const asked = await boss.get("/dashboard/settings/secrets/provider_b_webhook_secret/remove");
    expect(asked.status).toBe(200);
    expect((await me(fresh))["provider_b_webhook_secret_set"]).toBe(true);
    await boss.post("/dashboard/settings/secrets/provider_b_webhook_secret/remove");
    expect((await me(fresh))["provider_b_webhook_secret_set"]).toBe(false);
  });

  it("are reported as missing beside the right field, and no other column can be written that way", async () => {
    await owner.get("/dashboard/settings");
    const empty = await owner.post("/dashboard/settings/secrets", { name: "provider_b_webhook_secret", secret: " " });
    expect(empty.status).toBe(422);
    expect(empty.body).toMatch(/id="f-provider_b_webhook_secret-secret"[^>]*aria-invalid="true"/);
    expect(empty.body.match(/aria-invalid/g)).toHaveLength(1);
    const before = await me();
    await owner.post("/dashboard/settings/secrets", { name: "api_key_hash", secret: "x" });
    await owner.post("/dashboard/settings/secrets", { name: "__proto__", secret: "x" });
    expect(await me()).toEqual(before);
  });

  it("of another kind are refused by name, and unusual ones are saved with a warning (PAGE-38)", async () => {
    const [fresh, boss] = await programOfOwner(bySecretSetting(() => null));
    await boss.get("/dashboard/settings/providers");
    const paste = (secret: string) =>
      boss.post("/dashboard/settings/secrets", { name: "provider_a_webhook_secret", secret });
    for (const [secret, problem] of [
      ["sk_live_51Hxyz", "This is the API key of Stripe. Paste it in that field."],
      ["rk_test_51Hxyz", "This is the API key of Stripe. Paste it in that field."],
      ["pdl_ntfset_01hs", "This is the webhook signing secret of Paddle. Paste it in that field."],
      ["pk_live_51Hxyz", "This is a publishable key, which is no secret."],
      [fresh.api_key, "This is an API key of this service."],
      ["https://shop.example/hook", "This is an address, not a secret."],
      ["whsec: abc", "A secret has no blanks. Paste only the secret."],
    ]) {
      const reply = await paste(secret!);
      expect([reply.status, textOf(reply.body)]).toEqual([422, expect.stringContaining(problem!)]);
      expect(reply.body).not.toContain(secret);
    }
    expect((await me(fresh))["provider_a_webhook_secret_set"]).toBe(false);
    const odd = await paste("wrong");
    expect(odd.headers.get("location")).toBe("/dashboard/settings/providers?done=odd");
    expect((await me(fresh))["provider_a_webhook_secret_set"]).toBe(true);
  });

  it("come with the exact webhook address and events of each provider", async () => {
    const shown = textOf((await owner.get("/dashboard/settings/providers")).body);
    for (const { name, wanted_events } of VENDORS) {
      expect(shown).toContain(`https://service.example/webhooks/${name}?program_id=${program.id}`);
      for (const { type } of wanted_events.needed) expect(shown).toContain(type);
    }
  });
});

describe("the API key", () => {
  it("is replaced only after a page that says what breaks, shown once, and ends every session (PAGE-13)", async () => {
    const [keyed, boss] = await programOfOwner();
    expect(textOf((await boss.get("/dashboard/settings/api-key")).body)).toContain("stops working right away");
    expect((await keyed.api("GET", "/api/v1/programs/me")).status).toBe(200);
    const reply = await boss.post("/dashboard/settings/api-key");
    const [key = ""] = /sk_[A-Za-z0-9_-]{43}/.exec(reply.body) ?? [];
    expect((await keyed.api("GET", "/api/v1/programs/me")).status).toBe(401);
    expect((await callApi(key, "GET", "/api/v1/programs/me")).status).toBe(200);
    expect(boss.cookies.has("__Host-session")).toBe(false);
    expect((await boss.get("/dashboard")).headers.get("location")).toBe("/sign-in");
  });
});

describe("further API keys (PAGE-13)", () => {
  const KEYS = "/dashboard/settings/keys";
  const ME = "/api/v1/programs/me";

  it("are made with what is ticked, shown once, listed, and deleted after a page that asks", async () => {
    const [, boss] = await programOfOwner();
    expect((await boss.get("/dashboard/settings")).body).toContain(`href="${KEYS}"`);
    await boss.get(KEYS);
    const made = await boss.post(KEYS, { name: " Reporting ", scopes: "read", expires_at: "2099-01-01" });
    const [key = ""] = /sk_[A-Za-z0-9_-]{44}/.exec(made.body) ?? [];
    expect(made.status).toBe(200);
    expect((await callApi(key, "GET", ME)).status).toBe(200);
    expect((await callApi(key, "PATCH", ME, { name: "x" })).status).toBe(403);
    const list = await boss.get(KEYS);
    expect(list.body).not.toContain(key);
    for (const shown of ["Reporting", `sk_…${key.slice(-4)}`, "read", "1 Jan 2099"]) {
      expect(textOf(list.body)).toContain(shown);
    }
    const [at = ""] = new RegExp(`${KEYS}/key_[0-9a-z]+/delete`).exec(list.body) ?? [];
    expect(textOf((await boss.get(at)).body)).toContain("stops working right away");
    expect((await callApi(key, "GET", ME)).status).toBe(200);
    expect((await boss.post(at)).headers.get("location")).toBe(`${KEYS}?done=deleted`);
    expect([(await callApi(key, "GET", ME)).status, (await boss.get(at)).status]).toEqual([401, 404]);
    expect((await boss.get("/dashboard")).status).toBe(200);
  });

  it("are rotated, from the overview where one that is used ends soon, and go on beside the new one (PAGE-16)", async () => {
    const [keyed, boss] = await programOfOwner();
    const make = async (name: string, days: number | null) => {
      const expires_at = days === null ? null : new Date(Date.now() + days * 86_400_000).toISOString();
      const { body } = await keyed.api<{ id: string; api_key: string }>("POST", "/api/v1/api-keys", {
        ...{ name, scopes: ["read", "write"], expires_at },
      });
      return body;
    };
    const soon = await make("Shop", 10);
    const age = "update api_keys set created_at = '2026-01-01T00:00:00.000Z' where id in (?1, ?2)";
    for (const other of [await make("Later", 20), await make("Always", null)])
      expect((await callApi(other.api_key, "GET", ME)).status).toBe(200);
    const unused = await make("Never used", 5);
    await env.DB.prepare(age).bind(unused.id, unused.id).run();
    expect(textOf((await boss.get("/dashboard")).body)).not.toContain("API key to replace");
    expect((await callApi(soon.api_key, "GET", ME)).status).toBe(200);
    // Made for ten days, so that it is at its begin.
    expect(textOf((await boss.get("/dashboard")).body)).not.toContain("API key to replace");
    await env.DB.prepare(age).bind(soon.id, soon.id).run();
    const shown = await boss.get("/dashboard");
    expect(textOf(shown.body)).toContain("1 API key to replace");
    const forms = shown.body.match(/action="[^"]*\/rotate"/g);
    expect(forms).toEqual([`action="${KEYS}/${soon.id}/rotate"`]);
    const made = await boss.post(`${KEYS}/${soon.id}/rotate`);
    const [key = ""] = /sk_[A-Za-z0-9_-]{44}/.exec(made.body) ?? [];
    expect(textOf(made.body)).toContain(`The previous key, sk_…${soon.api_key.slice(-4)} , works until`);
    for (const one of [key, soon.api_key]) expect((await callApi(one, "GET", ME)).status).toBe(200);
    expect((await callApi(key, "PATCH", ME, { name: "Renamed" })).status).toBe(200);
    const { data } = (await keyed.api<{ data: { name: string; expires_at: string }[] }>("GET", "/api/v1/api-keys"))
      .body;
    expect(data.map(({ name }) => name)).toEqual(["Shop", "Later", "Always", "Never used", "Shop"]);
    expect(Date.parse(data.at(-1)!.expires_at) - Date.now()).toBeGreaterThan(300 * 86_400_000);
    expect(textOf((await boss.get("/dashboard")).body)).not.toContain("API key to replace");
    // Fills the list up to its limit.
    for (let i = data.length; i < 50; i++) await make(`Key ${i}`, null);
    const full = await boss.post(`${KEYS}/${soon.id}/rotate`);
    expect([full.status, textOf(full.body).includes("at most 50 API keys")]).toEqual([422, true]);
  });

  it("are refused in the form with what was typed, and nothing is made", async () => {
    const [keyed, boss] = await programOfOwner();
    await boss.get(KEYS);
    for (const [typed, problem] of [
      [{ name: "", scopes: "read" }, "This must not be empty."],
      [{ name: "Typed name" }, "Choose at least one."],
      [{ name: "Typed name", scopes: "everything" }, "Choose at least one."],
      [{ name: "Typed name", scopes: "keys", expires_at: "2020-01-01" }, "This time is in the past."],
    ] as const) {
      const reply = await boss.post(KEYS, typed);
      expect([typed, reply.status]).toEqual([typed, 422]);
      expect(textOf(reply.body)).toContain(problem);
      expect(reply.body).toContain(`value="${typed.name}"`);
    }
    expect((await keyed.api("GET", "/api/v1/api-keys")).body).toEqual({ data: [] });
  });
});

describe("the integration page (PAGE-7)", () => {
  it("fills its snippets with the program's own values", async () => {
    const shown = textOf((await owner.get("/dashboard/integration")).body);
    expect(shown).toContain(`data-program="${program.id}"`);
    expect(shown).toContain(`service_program: "${program.id}"`);
    expect(shown).toContain("client_reference_id: ref || undefined");
    expect(shown).toContain("subscription_data: { metadata: ref ? { service_ref: ref } : {} }");
    expect(shown).toContain("service_ref: window.Service?.getRef?.()");
    expect(shown).toContain("https://new.example/?ref=ada");
  });
});

describe("webhook endpoints (PAGE-7)", () => {
  it("show their secret once, at creation and after a rotation", async () => {
    await owner.get("/dashboard/webhooks/new");
    const url = "https://receiver.example.com/hooks";
    const made = await owner.post("/dashboard/webhooks/new", { url, events: ["payout.paid"], description: "" });
    expect(made.status).toBe(200);
    const [secret = ""] = /whsec_[A-Za-z0-9+/=]+/.exec(made.body) ?? [];
    expect(secret.length).toBeGreaterThan(40);
    const { data } = (await program.api<{ data: { id: string; url: string }[] }>("GET", "/api/v1/webhooks")).body;
    const path = `/dashboard/webhooks/${data.find((endpoint) => endpoint.url === url)?.id}`;
    expect((await owner.get(path)).body).not.toContain("whsec_");
    const asked = await owner.get(`${path}/rotate-secret`);
    expect(asked.body).not.toContain("whsec_");
    // HOOK-8: the old one signs one of the two headers alone.
    expect(textOf(asked.body)).toContain("X-Service-Signature uses the new secret right away");
    expect(textOf(asked.body)).not.toContain("nothing breaks");
    const rotated = await owner.post(`${path}/rotate-secret`);
    const [next = ""] = /whsec_[A-Za-z0-9+/=]+/.exec(rotated.body) ?? [];
    expect(next.length).toBe(secret.length);
    expect(next).not.toBe(secret);
    await owner.post(`${path}/test`);
    expect(textOf((await owner.get(path)).body)).toContain("ping");
    await owner.post(`${path}/switch`, { active: "false" });
    await owner.get(path);
    expect((await owner.post(`${path}/test`)).status).toBe(409);
    await owner.get(`${path}/delete`);
    await owner.post(`${path}/delete`);
    expect((await owner.get(path)).status).toBe(404);
  });

  it("refuse an address and what is missing beside the field", async () => {
    await owner.get("/dashboard/webhooks/new");
    const reply = await owner.post("/dashboard/webhooks/new", { url: "https://10.0.0.1/", events: ["*"] });
    expect(reply.status).toBe(422);
    expect(reply.body).toMatch(/id="f-url"[^>]*aria-invalid="true"/);
    const none = await owner.post("/dashboard/webhooks/new", { url: "https://receiver.example.com/" });
    expect(textOf(none.body)).toContain("Choose at least one.");
  });

  it("say why no other can be added, and point at no field for it", async () => {
    const [, boss] = await programOfOwner();
    const add = (name: string) =>
      boss.post("/dashboard/webhooks/new", { url: `https://${name}.example.com/`, events: ["*"] });
    await boss.get("/dashboard/webhooks/new");
    for (let i = 0; i < MAX_ENDPOINTS; i++) expect((await add(`hooks${i}`)).status).toBe(200);
    const { status, body } = await add("another");
    expect(status).toBe(422);
    expect(textOf(body)).toContain(`A program has at most ${MAX_ENDPOINTS} endpoints.`);
    expect(textOf(body)).not.toContain("marked fields");
    expect(body).not.toContain("aria-invalid");
  });
});

describe("the overview (PAGE-7)", () => {
  it("ticks each step of the setup when the service sees it happen, and then leaves it out", async () => {
    const fresh = await makeProgram({ domain: null, ...bySecretSetting(() => null) });
    // A provider, the domain, a partner, the script, a click, a payment; an endpoint is optional.
    const all = 6;
    const boss = await signInOwner(fresh);
    const steps = async () => textOf((await boss.get("/dashboard")).body);
    expect(await steps()).toContain(`0 of ${all} done`);
    await fresh.api("PATCH", "/api/v1/programs/me", { domain: "shop.example" });
    expect(await steps()).toContain("Set your domain , done");
    const partner = await makePartner(fresh);
    expect(await steps()).toContain("Add a partner , done");
    await fresh.api("POST", "/api/v1/webhooks", { url: "https://receiver.example.com/", events: ["*"] });
    expect(await steps()).toContain(`2 of ${all} done`);
    await fresh.api("PATCH", "/api/v1/programs/me", { provider_a_webhook_secret: "whsec_test_secret_of_provider_a" });
    expect(await steps()).toContain("Waiting for the first event.");
    expect(await steps()).toContain("See a test payment , to do");
    await sendA(fresh, sessionCompleted({ ref: partner.slug, livemode: false }));
    expect(await steps()).toContain("Connect your payment provider , done");
    expect(await steps()).toContain("See a test payment , done");
    expect(await steps()).toContain(`4 of ${all} done`);
    expect(await steps()).not.toContain("Paddle");
    await env.DB.prepare("insert into click_drops (program_id, day, reason, count) values (?, '2026-01-01', 'bot', 1)")
      .bind(fresh.id)
      .run();
    expect(await steps()).toContain("Add the script to your site , done");
    expect(await steps()).toContain("See a click , to do");
    await click({ program_id: fresh.id, ref: partner.slug, landing: "/", referrer: "" });
    await recorded();
    expect(await steps()).not.toContain("Set up your program");
  });

  it("plots days of UTC with the same numbers as a table behind", async () => {
    const [plotted, boss] = await programOfOwner();
    const partner = await makePartner(plotted, { first_name: "Ada" });
    const day = 86_400;
    const now = Math.floor(Date.now() / 1000);
    for (const [days, amount] of [
      [0, 10_000],
      [1, 20_000],
      [6, 30_000],
      [40, 50_000],
    ] as const) {
      await sendA(plotted, sessionCompleted({ ref: partner.slug, amount, created: now - days * day }));
    }
    await sendA(plotted, sessionCompleted({ ref: partner.slug, amount: 7_000, currency: "eur" }));
    const month = textOf((await boss.get("/dashboard")).body);
    expect(month).toContain("Sales (all currencies) 4");
    expect(month).toContain("Commissions 120.00 USD");
    expect(textOf((await boss.get("/dashboard?currency=EUR")).body)).toContain("Commissions 14.00 EUR");
    expect(textOf((await boss.get("/dashboard?days=90")).body)).toContain("Commissions 220.00 USD");
    expect(textOf((await boss.get("/dashboard?days=nonsense&currency=XXX")).body)).toContain("Commissions 120.00 USD");
    const today = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeZone: "UTC" }).format(new Date());
    expect(month).toContain(`${today} 100.00 USD 20.00 USD`);
    // Without a click there is one for revenue and commissions, and one for sales.
    expect((await boss.get("/dashboard?days=7")).body.match(/<label class="plot-point">/g)).toHaveLength(14);
  });
});
