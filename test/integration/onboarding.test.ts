/** `POST /api/v1/partners/:id/provider-a-account` (OUT-15). */
import { afterEach, describe, expect, it, vi } from "vitest";
import { eq } from "drizzle-orm";
import { partners } from "../../src/db/schema.ts";
import { API_VERSION } from "../../src/providers/provider-a/api.ts";
import { BASE_URL, loseSecrets, makePartner, makeProgram, setSecrets, type TestProgram } from "../support/program.ts";
import { API_KEY_A, db, playOutside } from "../support/payouts.ts";
import { openVendor, type VendorApi } from "../support/provider-a-api.ts";

interface OnboardingBody {
  partner_id: string;
  provider_a_account_id: string;
  url: string;
  expires_at: string;
  error?: { code: string; message: string; details?: { path: string; message: string }[] };
}

afterEach(() => {
  vi.restoreAllMocks();
});

async function world(): Promise<{ program: TestProgram; vendor: VendorApi; partner: { id: string; email: string } }> {
  const program = await makeProgram({ provider_a_api_key: API_KEY_A, live_only: false });
  const partner = await makePartner(program, { first_name: "Jane", last_name: "Doe" });
  const vendor = openVendor({ keys: [API_KEY_A] });
  playOutside(vendor);
  return { program, vendor, partner };
}

const start = (program: TestProgram, id: string, body?: unknown, headers?: HeadersInit) =>
  program.api<OnboardingBody>("POST", `/api/v1/partners/${id}/provider-a-account`, body, headers);

describe("onboarding of a connected account (OUT-15)", () => {
  it("creates a recipient account by the vendor's current API, stores its id and returns the hosted link", async () => {
    const { program, vendor, partner } = await world();
    const { status, body } = await start(program, partner.id, { country: "DE" });
    expect(status).toBe(201);
    const [account_id] = vendor.accounts.keys();
    expect(body).toEqual({
      partner_id: partner.id,
      provider_a_account_id: account_id,
      url: vendor.links[0]!.url,
      expires_at: vendor.links[0]!.expires_at,
    });
    const [create, link] = vendor.calls;
    expect(JSON.parse(create!.body)).toEqual({
      contact_email: partner.email,
      display_name: "Jane Doe",
      dashboard: "express",
      identity: { country: "de" },
      configuration: { recipient: { capabilities: { stripe_balance: { stripe_transfers: { requested: true } } } } },
      defaults: { responsibilities: { fees_collector: "application", losses_collector: "application" } },
      metadata: { partner_id: partner.id, program_id: program.id },
    });
    expect(create!.headers.get("stripe-version")).toBe(API_VERSION);
    expect(create!.headers.get("idempotency-key")).toMatch(new RegExp(`^${partner.id}:account:`));
    const portal = `${BASE_URL}/portal`;
    expect(JSON.parse(link!.body)).toEqual({
      account: account_id,
      use_case: { type: "account_onboarding", account_onboarding: { refresh_url: portal, return_url: portal } },
    });
    const stored = await program.api<{ provider_a_account_id: string }>("GET", `/api/v1/partners/${partner.id}`);
    expect(stored.body.provider_a_account_id).toBe(account_id);
    const log = await program.api<{ data: { payload: Record<string, unknown> }[] }>(
      "GET",
      "/api/v1/events?type=partner.updated",
    );
    expect(log.body.data[0]!.payload.partner_id).toBe(partner.id);
  });

  it("gives a new link for an account that exists, and never a second account", async () => {
    const { program, vendor, partner } = await world();
    const first = await start(program, partner.id);
    const second = await start(program, partner.id, {
      return_url: "https://shop.example/done",
      refresh_url: "https://shop.example/again",
    });
    expect([first.status, second.status]).toEqual([201, 200]);
    expect(second.body.provider_a_account_id).toBe(first.body.provider_a_account_id);
    expect(second.body.url).not.toBe(first.body.url);
    expect(vendor.links[1]!.use_case).toMatchObject({
      account_onboarding: { refresh_url: "https://shop.example/again", return_url: "https://shop.example/done" },
    });
    expect(vendor.accounts.size).toBe(1);
  });

  it("started several times at once, or again after a lost answer, it is one account", async () => {
    const { program, vendor, partner } = await world();
    const other = await makePartner(program);
    vendor.latency = () => new Promise((done) => setTimeout(done, 3));
    vendor.faults.push("drop_reply");
    const lost = await start(program, other.id);
    expect([lost.status, lost.body.error?.code]).toEqual([503, "provider_unavailable"]);
    expect(lost.headers.get("retry-after")).toBe("30");
    expect((await start(program, other.id)).status).toBe(201);
    expect(vendor.accounts.size).toBe(1);

    const replies = await Promise.all([
      start(program, partner.id),
      start(program, partner.id),
      start(program, partner.id),
    ]);
    // The vendor replies 409 while the first request is running; the service then requests a retry.
    expect(replies.every(({ status }) => [200, 201, 503].includes(status))).toBe(true);
    expect(replies.some(({ status }) => status === 201)).toBe(true);
    expect(vendor.accounts.size).toBe(2);
    expect((await start(program, partner.id)).status).toBe(200);
  });

  it("says what is missing or refused, without the key and without storing anything", async () => {
    const { program, vendor, partner } = await world();
    const keyless = await makeProgram();
    const theirs = await makePartner(keyless);
    expect((await start(keyless, theirs.id)).body.error?.code).toBe("provider_not_configured");
    expect((await start(keyless, partner.id)).status).toBe(404);
    for (const [body, path] of [
      [{ country: "de" }, "country"],
      [{ country: "DEU" }, "country"],
      [{ return_url: "javascript:alert(1)" }, "return_url"],
      [{ refresh_url: "nowhere" }, "refresh_url"],
      [{ email: "x@example.com" }, "email"],
    ] as const) {
      const reply = await start(program, partner.id, body);
      expect([reply.status, reply.body.error?.details?.[0]?.path]).toEqual([422, path]);
    }
    expect(vendor.calls).toEqual([]);
    const refused = await start(program, partner.id, { country: "XX" });
    expect([refused.status, refused.body.error?.code]).toEqual([422, "validation_failed"]);
    expect(refused.body.error?.details?.[0]).toMatchObject({ path: "provider_a" });
    expect(refused.body.error?.details?.[0]?.message).toContain("unsupported_country");
    await loseSecrets(program.id);
    const lost = await start(program, partner.id);
    expect([lost.status, lost.body.error?.code]).toEqual([409, "provider_not_configured"]);
    await setSecrets(program.id, { provider_a_api_key: API_KEY_A });
    vendor.keys.clear();
    const revoked = await start(program, partner.id);
    expect(revoked.status).toBe(422);
    expect(JSON.stringify(revoked.body)).not.toContain("sk_test");
    const [row] = await db.select().from(partners).where(eq(partners.id, partner.id));
    expect(row!.provider_a_account_id).toBeNull();
  });

  it("an account that is stored stays, though the link fails; the next call gives one", async () => {
    const { program, vendor, partner } = await world();
    vendor.faults.push(null, "gateway");
    const reply = await start(program, partner.id);
    expect([reply.status, reply.body.error?.code]).toEqual([503, "provider_unavailable"]);
    expect((await start(program, partner.id)).status).toBe(200);
    expect(vendor.accounts.size).toBe(1);
  });
});
