import { env } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import { describe, expect, it } from "vitest";
import type { Program } from "../../src/core/kernel/rows.ts";
import { connectionOf } from "../../src/core/kernel/connections.ts";
import { seenTypes } from "../../src/core/kernel/seen-types.ts";
import { selectPrograms } from "../../src/core/kernel/program-rows.ts";
import { providerSecrets } from "../../src/core/kernel/provider-secrets.ts";
import { programs } from "../../src/db/schema.ts";
import { isCurrency } from "../../src/domain/currency.ts";
import { sha256Hex } from "../../src/lib/crypto.ts";
import { DAY, HOUR, MINUTE } from "../../src/lib/time.ts";
import { byVendor, bySecretSet, VENDOR_NAMES, SECRET_SETTINGS } from "../../src/providers/registry.ts";
import { makeCommissions } from "../support/payouts.ts";
import { makePartner, makeProgram, testContext, type TestProgram } from "../support/program.ts";
import { PROGRAM } from "../support/samples.ts";
import { eventually } from "../support/time.ts";
import { callWith, watchDatabase } from "../support/watched-database.ts";

interface ProgramBody {
  id: string;
  [setting: string]: unknown;
}

interface ErrorBody {
  error: { code: string; details?: { path: string }[] };
}

const ME = "/api/v1/programs/me";

/** Some currencies other than the program's. */
const OTHERS = Array.from({ length: 26 * 26 * 26 }, (_, i) =>
  String.fromCharCode(65 + Math.floor(i / 676), 65 + (Math.floor(i / 26) % 26), 65 + (i % 26)),
).filter((code) => isCurrency(code) && code !== "USD");

async function stored(program: TestProgram): Promise<Program> {
  const [row] = await selectPrograms(testContext().db).where(eq(programs.id, program.id));
  if (!row) throw new Error("the program is gone");
  return row;
}

async function updates(program: TestProgram) {
  const { body } = await program.api<{ data: { payload: { program_id: string; changed: string[] } }[] }>(
    "GET",
    "/api/v1/events?type=program.updated",
  );
  return body.data.map(({ payload }) => payload);
}

describe("program settings", () => {
  it("come with every setting and a flag in place of each secret (PROG-4, PROG-7, ACCESS-8)", async () => {
    const program = await makeProgram({ provider_b_webhook_secret: null });
    const { status, body } = await program.api<ProgramBody>("GET", ME);
    expect(status).toBe(200);
    expect(body).toMatchObject({
      id: program.id,
      name: "Test program",
      domain: "shop.example",
      currency: "USD",
      default_commission_pct: 20,
      payout_term: "NET-15",
      min_payout_cents: 0,
      cookie_days: 60,
      attribution: "last",
      auto_approve_days: null,
      live_only: true,
      ...bySecretSet(({ setting, secret }) => secret === "webhook_secret" && setting !== "provider_b_webhook_secret"),
      api_key_last4: program.api_key.slice(-4),
    });
    const row = await stored(program);
    const { webhook_secret } = connectionOf(row, "provider_a");
    expect(webhook_secret).not.toBeNull();
    for (const hidden of [row.api_key_hash, program.api_key, webhook_secret]) {
      expect(JSON.stringify(body)).not.toContain(hidden);
    }
  });

  it("change one by one to every allowed value, at its bounds (PROG-1)", async () => {
    const program = await makeProgram({ api_key_last_used_at: new Date().toISOString() });
    const allowed: [string, unknown, unknown?][] = [
      ["name", "Nämé"],
      ["name", "x".repeat(200)],
      ["domain", "Shop.EXAMPLE.com", "shop.example.com"],
      ["domain", "münchen.example", "xn--mnchen-3ya.example"],
      ["domain", null],
      ["currency", "EUR"],
      ["currency", "JPY"],
      ["default_commission_pct", 0],
      ["default_commission_pct", 100],
      ["default_commission_pct", 12.3456],
      ["payout_term", "NET-0"],
      ["payout_term", "NET-365"],
      ["payout_term", "NET-30"],
      ["min_payout_cents", 0],
      ["min_payout_cents", 10 ** 12],
      ["min_payouts", { CHF: 10 ** 12, GBP: 0 }],
      ["min_payouts", {}],
      ["payout_currency", "JPY"],
      ["payout_currency", null],
      ["cookie_days", 1],
      ["cookie_days", 365],
      ["attribution", "first"],
      ["attribution", "last"],
      ["code_precedence", "code"],
      ["code_precedence", "link"],
      ["auto_approve_days", 0],
      ["auto_approve_days", 365],
      ["auto_approve_days", null],
      ["live_only", false],
      ["live_only", true],
      ["brand_color", "#0F766E", "#0f766e"],
      ["brand_color", null],
      ["time_zone", "america/new_york", "America/New_York"],
      ["time_zone", "UTC"],
      ["applications", "auto"],
      ["applications", "off"],
      ["slug", `s-${program.id.slice(5).toLowerCase()}`],
      ["slug", null],
      ["questions", ["q".repeat(200), ...Array.from({ length: 9 }, (_, i) => `${i}`)]],
      ["questions", []],
      ["questions", null, []],
      ["terms", "t".repeat(10_000)],
      ["terms", null],
      ["sale_amounts", "hidden"],
      ["sale_amounts", "shown"],
      ["assets", Array.from({ length: 20 }, (_, i) => ({ name: `${i}`, kind: "text", content: "c".repeat(1_000) }))],
      ["assets", [{ name: "n".repeat(100), kind: "banner", content: "https://cdn.example/a.png?x=1" }]],
      ["assets", null, []],
      ["debtor_name", " Example Shop GmbH ", "Example Shop GmbH"],
      ["debtor_name", null],
      ["debtor_iban", " de89 3704 0044 0532 0130 00", "DE** **** **** **** **30 00"],
      ["debtor_iban", "DE** **** **** **** **30 00"],
      ["debtor_iban", null],
      ["debtor_bic", "cobadeff", "COBADEFF"],
      ["debtor_bic", "COBADEFFXXX"],
      ["debtor_bic", null],
      ["payout_change_hold_days", 0],
      ["payout_change_hold_days", 30],
      ["payer_name", "Example Shop Ltd"],
      ["payer_address", "a".repeat(500)],
      ["payer_country", "ie", "IE"],
      ["payer_tax_id", "IE1234567T"],
      ["self_billing_prefix", "SB-2026/"],
      ["self_billing", "on"],
      ["self_billing", "off"],
      ["self_billing_prefix", ""],
      ["payer_tax_id", null],
      ["payer_country", null],
      ["payer_address", null],
      ["payer_name", null],
      ["partner_links", true],
      ["partner_links", false],
      ["require_tax_data", true],
      ["require_tax_data", false],
    ];
    expect([...new Set(allowed.map(([field]) => field))].toSorted()).toEqual(Object.keys(PROGRAM).toSorted());
    for (const [field, value, kept = value] of allowed) {
      const patched = await program.api<ProgramBody>("PATCH", ME, { [field]: value });
      expect([field, patched.status, patched.body[field]]).toEqual([field, 200, kept]);
      expect((await program.api<ProgramBody>("GET", ME)).body).toEqual(patched.body);
    }
  });

  it("refuse everything else, naming the field, and change nothing then (PROG-7)", async () => {
    const program = await makeProgram();
    const refused: [string, unknown[]][] = [
      ["name", ["", null, 1, "x".repeat(201), "a\0b", "\udfff"]],
      [
        "domain",
        ["", "https://shop.example", "shop.example/x", "shop.example:80", "a b.example", "localhost", "10.0.0.1"],
      ],
      ["domain", ["shop..example", "-a.example", "shop.example.", "user@shop.example", `${"a.".repeat(126)}ab`, 1]],
      ["currency", ["usd", "US", "XXX", "EURO", null, ""]],
      ["default_commission_pct", [-0.1, 100.1, 1.00001, "20", null]],
      ["payout_term", ["NET-366", "NET-015", "NET-", "net-15", "NET-1.5", "NET--1", "15", "NET-15 ", 15, null]],
      ["min_payout_cents", [-1, 0.5, 2 ** 53, "0", null]],
      ["payout_currency", ["", "eur", "XYZ", 1, {}]],
      ["min_payouts", [null, [], "EUR", Object.fromEntries(OTHERS.slice(0, 51).map((code) => [code, 1]))]],
      [
        "min_payouts",
        [{ USD: 1 }, { XXX: 1 }, { eur: 1 }, { EUR: -1 }, { EUR: 10 ** 12 + 1 }, { EUR: 0.5 }, { EUR: "1" }],
      ],
      ["cookie_days", [0, 366, 1.5, null]],
      ["attribution", ["middle", null]],
      ["code_precedence", ["coupon", null]],
      ["auto_approve_days", [-1, 366, 0.5, "1"]],
      ["live_only", [null, 0, 1, "true"]],
      ["brand_color", ["", "0f766e", "#fff", "#0f766g", "#0f766e ", "red", 1]],
      ["time_zone", ["", null, "Berlin", "+01:00", "Europe/Nowhere", "x".repeat(65), 1]],
      ["applications", ["open", null, true]],
      ["slug", ["", "Upper", "-x", "x-", "a_b", "a".repeat(65), 1]],
      ["questions", [[""], ["q".repeat(201)], ["same", "same"], Array.from({ length: 11 }, (_, i) => `q${i}`), "q"]],
      ["terms", ["", "t".repeat(10_001), 1]],
      ["sale_amounts", ["none", null, false]],
      [
        "assets",
        [
          ...["x", [{}], Array.from({ length: 21 }, () => ({ name: "n", kind: "text", content: "c" }))],
          ...[
            "http://a.example/x.png",
            "javascript:alert(1)",
            "https://u:p@a.example/",
            "https://a.example/a b",
            "x",
          ].map((content) => [{ name: "n", kind: "banner", content }]),
          [{ name: "a\nb", kind: "text", content: "c" }],
          [{ name: "n".repeat(101), kind: "text", content: "c" }],
          [{ name: "n", kind: "film", content: "c" }],
          [{ name: "n", kind: "text", content: "c".repeat(1_001) }],
          [{ name: "n", kind: "text", content: "c", more: 1 }],
        ],
      ],
      ["debtor_name", ["", "  ", 1, "x".repeat(141), "a\0b", "\udfff", "山田"]],
      ["debtor_iban", ["", 1, "*", "DE", "DE89 3704 0044 0532 0130 01", "US64 1234", "D".repeat(65)]],
      ["debtor_bic", ["", 1, "COBA", "COBADEFFXXXX", "C0BADEFF"]],
      ["payout_change_hold_days", [-1, 31, 0.5, "3", null]],
      ["self_billing", ["yes", true, null]],
      ["self_billing_prefix", ["-x", "a b", "x".repeat(21), null]],
      ["payer_name", ["", "x".repeat(201), "a\0b", 1]],
      ["payer_address", ["", "x".repeat(501), 1]],
      ["payer_country", ["", "IRL", "1E", 1]],
      ["payer_tax_id", ["", "x".repeat(51), 1]],
      ["require_tax_data", [null, 0, "true"]],
      ["partner_links", [null, 1, "on"]],
      ...SECRET_SETTINGS.map(({ setting }): [string, unknown[]] => [
        setting,
        ["", "   ", 1, {}, "a\0b", "x".repeat(501)],
      ]),
      ["id", ["prog_x"]],
      ["owner_email", ["x@example.com"]],
      ["shard", [1]],
      ["api_key_hash", ["x"]],
      ["__proto__x", [1]],
    ];
    const fields = new Set(refused.map(([field]) => field));
    expect(Object.keys(PROGRAM).filter((name) => !fields.has(name))).toEqual([]);
    const before = await stored(program);
    for (const [field, values] of refused) {
      for (const value of values) {
        const reply = await program.api<ErrorBody>("PATCH", ME, { name: "Other", [field]: value });
        expect([field, value, reply.status]).toEqual([field, value, 422]);
        expect(reply.body.error.details?.map(({ path }) => path.split(".")[0])).toContain(field);
      }
    }
    expect({ ...(await stored(program)), api_key_last_used_at: null }).toEqual({
      ...before,
      api_key_last_used_at: null,
    });
    expect(await updates(program)).toEqual([]);
  });

  it("write to the log which fields changed and never what a secret is", async () => {
    const program = await makeProgram();
    const patch = { name: "New", currency: "USD", cookie_days: 30, provider_a_api_key: "rk_very_secret" };
    expect((await program.api("PATCH", ME, patch)).status).toBe(200);
    const [seen, ...more] = await updates(program);
    expect(more).toEqual([]);
    expect(seen).toEqual({ program_id: program.id, changed: ["name", "cookie_days", "provider_a_api_key"] });
    for (const unchanged of [{}, patch, { name: "New" }]) {
      const again = await program.api<ProgramBody>("PATCH", ME, unchanged);
      expect([again.status, again.body["name"]]).toEqual([200, "New"]);
    }
    expect(await updates(program)).toHaveLength(1);
    expect(JSON.stringify(await stored(program))).not.toContain("rk_very_secret");
  });

  it("keep up to 50 minimums, in the order of their codes, and name the one that is wrong (OUT-19)", async () => {
    const program = await makeProgram();
    const patch = (body: unknown) => program.api<ProgramBody & ErrorBody>("PATCH", ME, body);
    const most = Object.fromEntries(OTHERS.slice(0, 50).map((code, i) => [code, i]));
    expect((await patch({ min_payouts: most })).body["min_payouts"]).toEqual(most);
    const { body } = await patch({ min_payouts: { JPY: 2, EUR: 1 } });
    expect(Object.keys(body["min_payouts"] as object)).toEqual(["EUR", "JPY"]);
    for (const code of ["USD", "XXX"]) {
      const wrong = await patch({ min_payouts: { EUR: 1, [code]: 1 } });
      expect([wrong.status, wrong.body.error.details?.map(({ path }) => path)]).toEqual([422, [`min_payouts.${code}`]]);
    }
  });

  it("change to a currency that has a minimum only if the entry is removed with it (OUT-19)", async () => {
    const program = await makeProgram({ min_payout_cents: 5_000, min_payouts: { EUR: 700, GBP: 800 } });
    const patch = (body: unknown) => program.api<ProgramBody & ErrorBody>("PATCH", ME, body);
    const refused = await patch({ currency: "EUR" });
    expect([refused.status, refused.body.error.details?.map(({ path }) => path)]).toEqual([422, ["min_payouts.EUR"]]);
    const changed = await patch({ currency: "EUR", min_payouts: { GBP: 800, USD: 900 } });
    expect(changed.body).toMatchObject({
      currency: "EUR",
      min_payout_cents: 5_000,
      min_payouts: { GBP: 800, USD: 900 },
    });
  });

  it("lock the currency once a commission exists (PROG-3)", async () => {
    const program = await makeProgram();
    const partner = await makePartner(program);
    expect((await program.api("PATCH", ME, { currency: "EUR" })).status).toBe(200);
    await makeCommissions(program, partner.id, [{ kind: "manual", status: "pending" }]);
    const locked = await program.api<ErrorBody>("PATCH", ME, { currency: "GBP", name: "Other" });
    expect([locked.status, locked.body.error.details?.[0]?.path]).toEqual([422, "currency"]);
    expect((await program.api<ProgramBody>("GET", ME)).body).toMatchObject({ currency: "EUR", name: "Test program" });
    expect((await program.api("PATCH", ME, { currency: "EUR", name: "Same" })).status).toBe(200);
  });

  it("lock the currency also where the first commission comes in between the look and the change (PROG-3)", async () => {
    const program = await makeProgram();
    const partner = await makePartner(program);
    let arrivals = 0;
    const { binding } = watchDatabase(env.DB, {
      async before(statements) {
        if (
          statements.some((text) => text.startsWith('update "programs"')) &&
          statements.length > 1 &&
          arrivals++ === 0
        ) {
          await makeCommissions(program, partner.id, [{ kind: "manual", status: "pending" }]);
        }
      },
    });
    const reply = await callWith<ErrorBody>({ DB: binding }, ME, {
      method: "PATCH",
      headers: { authorization: `Bearer ${program.api_key}`, "content-type": "application/json" },
      body: JSON.stringify({ currency: "EUR" }),
    });
    expect([arrivals, reply.status, reply.body.error.details?.[0]?.path]).toEqual([1, 422, "currency"]);
    expect((await stored(program)).currency).toBe("USD");
    expect(await updates(program)).toEqual([]);
  });

  it("lose no change where many come at once", async () => {
    const program = await makeProgram();
    const patches = [{ name: "A" }, { cookie_days: 9 }, { attribution: "first" }, { payout_term: "NET-7" }];
    const all = Array.from({ length: 16 }, (_, i) => program.api("PATCH", ME, patches[i % patches.length]));
    expect((await Promise.all(all)).map(({ status }) => status)).toEqual(all.map(() => 200));
    expect((await program.api("GET", ME)).body).toMatchObject(Object.assign({}, ...patches) as object);
    expect(await updates(program)).toHaveLength(4);
  });
});

describe("provider secrets", () => {
  it("stay valid for 24 h after they are replaced, and not a moment after they are cleared (PROG-5)", async () => {
    for (const provider of VENDOR_NAMES) {
      const field = `${provider}_webhook_secret`;
      const program = await makeProgram({ [field]: null });
      const set = async (secret: string | null) => {
        const reply = await program.api<ProgramBody>("PATCH", ME, { [field]: secret });
        expect([reply.status, reply.body[`${field}_set`]]).toEqual([200, secret !== null]);
      };
      const valid = async (after = 0) =>
        providerSecrets(testContext(Date.now() + after), await stored(program), provider);
      await set("first");
      expect(await valid()).toEqual(["first"]);
      await set(" second\n");
      expect(await valid()).toEqual(["second", "first"]);
      expect(await valid(DAY - HOUR)).toEqual(["second", "first"]);
      expect(await valid(DAY + HOUR)).toEqual(["second"]);
      // Pasting the present one again must not push out the one that is still in use at the vendor.
      await set("second");
      expect(await valid()).toEqual(["second", "first"]);
      await set(null);
      expect(await valid()).toEqual([]);
      await set("third");
      expect(await valid()).toEqual(["third"]);
    }
  });

  it("show in the integrations status only as set, and as configured once a verified event has come (PROG-6, PROG-10)", async () => {
    const arrived = "2026-01-02T03:04:05.678Z";
    const program = await makeProgram({ provider_b_webhook_secret: null, provider_b_last_event_at: arrived });
    const status = () => program.api("GET", "/api/v1/integrations/status");
    const refusals = { refused: 0, last_refusal: null };
    const unread = { complete_from: null, complete_until: null, recovered: 0, is_reading: false };
    const untroubled = { read_failure: null, unanswered: null, unparsable: [] };
    const event_types = byVendor((_, provider) =>
      seenTypes(provider, connectionOf({ connections: {} }, provider.name), 0),
    );
    expect((await status()).body).toEqual({
      ...byVendor((name) => ({
        configured: false,
        webhook_secret_set: name !== "provider_b",
        last_event_at: name === "provider_b" ? arrived : null,
        is_last_event_test: false,
        event_types: event_types[name],
        ...refusals,
        ...{ api_key_set: false, ...unread, ...untroubled },
      })),
      email: { configured: false, last_refusal: null },
      reconciled_at: null,
      differences: 0,
      deliveries_left: 0,
    });
    await program.api("PATCH", ME, { provider_b_webhook_secret: "pdl_x" });
    expect((await status()).body).toMatchObject({
      provider_b: { configured: true, webhook_secret_set: true, last_event_at: arrived },
    });
  });
});

describe("an API key", () => {
  it("is kept as a hash with its last four characters and its last use, noted at most once an hour (ACCESS-2)", async () => {
    const program = await makeProgram();
    const kept = async () => {
      const row = await stored(program);
      expect(JSON.stringify(row)).not.toContain(program.api_key);
      expect([row.api_key_hash, row.api_key_last4]).toEqual([
        await sha256Hex(program.api_key),
        program.api_key.slice(-4),
      ]);
      return row.api_key_last_used_at;
    };
    const use = async (last_used: number) => {
      const api_key_last_used_at = new Date(last_used).toISOString();
      await testContext().db.update(programs).set({ api_key_last_used_at }).where(eq(programs.id, program.id));
      expect((await program.api("GET", ME)).status).toBe(200);
      return api_key_last_used_at;
    };
    const recent = await use(Date.now() - 50 * MINUTE);
    expect(await kept()).toBe(recent);
    const old = await use(Date.now() - 70 * MINUTE);
    await eventually(async () => expect(await kept()).not.toBe(old));
    expect(Date.now() - Date.parse((await kept()) ?? "")).toBeLessThan(10 * MINUTE);
  });
});
