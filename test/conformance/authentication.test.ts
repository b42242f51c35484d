/** Authentication. The signatures of deliveries are in test/unit/send.test.ts. */
import { describe, expect, it } from "vitest";
import { VENDOR_NAMES, type ListedVendor } from "../../src/providers/registry.ts";
import { create, ENDPOINT, type Failure } from "../support/conformance.ts";
import { call, callApi, makeProgram, TEST_SECRETS, type Reply, type TestProgram } from "../support/program.ts";
import { saleAt } from "../support/sale.ts";
import { signatureHeader, signatureOf } from "../support/signed.ts";

const ME = "/api/v1/programs/me";

function codeOf({ status, body }: Reply<Failure>): [number, string] {
  return [status, body.error.code];
}

/** Posts a provider's event as it sends it, with this signature, or unsigned. */
async function post(program: TestProgram, provider: ListedVendor, signature: string | null, body: string) {
  return call<Failure>(`/webhooks/${provider}?program_id=${program.id}`, {
    method: "POST",
    body,
    headers: {
      "content-type": "application/json",
      ...(signature === null ? {} : { [signatureHeader(provider)]: signature }),
    },
  });
}

/** The settings of a program without a signing secret. */
function withoutSecrets() {
  return Object.fromEntries(VENDOR_NAMES.map((name) => [`${name}_webhook_secret`, null]));
}

/** The number of events about processed objects: a refusal is an event of its own (IN-11). */
async function eventCount(program: TestProgram): Promise<number> {
  const { data } = (await program.api<{ data: { type: string }[] }>("GET", "/api/v1/events?per_page=100")).body;
  return data.filter(({ type }) => type !== "webhook.refused").length;
}

describe("authentication", () => {
  it("1. requires the header Authorization: Bearer <API_KEY> (ACCESS-1)", async () => {
    const program = await makeProgram();
    expect((await callApi(program.api_key, "GET", ME)).status).toBe(200);
    expect(codeOf(await callApi(null, "GET", ME))).toEqual([401, "unauthorized"]);
    for (const authorization of ["Bearer sk_x", program.api_key, `Token ${program.api_key}`, "Bearer"]) {
      expect(codeOf(await callApi(null, "GET", ME, undefined, { authorization }))).toEqual([401, "unauthorized"]);
    }
    expect((await call(`${ME}?api_key=${program.api_key}`)).status).toBe(401);
  });

  it("3. the old key stops working immediately when it is regenerated (ACCESS-3)", async () => {
    const operate = <T>(path: string, body?: unknown) => callApi<T>("test-admin-token", "POST", path, body);
    const { body: first } = await operate<{ program: { id: string }; api_key: string }>("/admin/programs", {
      name: "Regenerated",
      owner_email: "owner@example.com",
    });
    expect((await callApi(first.api_key, "GET", ME)).status).toBe(200);
    const { body: second } = await operate<{ api_key: string }>(`/admin/programs/${first.program.id}/api-key`);
    expect((await callApi(first.api_key, "GET", ME)).status).toBe(401);
    expect((await callApi(second.api_key, "GET", ME)).status).toBe(200);
  });

  it("4. inbound webhooks are verified by their signature headers; unverified requests are rejected (IN-3, IN-8)", async () => {
    const program = await makeProgram();
    const sales = VENDOR_NAMES.map((name) => [name, saleAt(name, { ref: "jane", program: program.id })] as const);
    for (const [provider, body] of sales) {
      const secret = TEST_SECRETS[provider];
      for (const wrong of [
        await signatureOf(provider, body, "another secret"),
        await signatureOf(provider, `${body} `, secret),
        (await signatureOf(provider, body, secret)).replace(/[0-9a-f]{64}/, "00"),
        null,
      ]) {
        expect(codeOf(await post(program, provider, wrong, body))).toEqual([401, "invalid_signature"]);
      }
    }
    expect(await eventCount(program)).toBe(0);
    for (const [provider, body] of sales) {
      const right = await signatureOf(provider, body, TEST_SECRETS[provider]);
      expect([provider, (await post(program, provider, right, body)).status]).toEqual([provider, 200]);
    }
    expect(await eventCount(program)).toBe(sales.length);
    for (const [provider, body] of sales) {
      const keyed = await call(`/webhooks/${provider}?program_id=${program.id}`, {
        method: "POST",
        body,
        headers: { authorization: `Bearer ${program.api_key}`, "content-type": "application/json" },
      });
      expect(keyed.status).toBe(401);
    }
  });

  it("4. without a stored secret nothing is processed (IN-4)", async () => {
    const program = await makeProgram(withoutSecrets());
    for (const provider of VENDOR_NAMES) {
      const body = saleAt(provider, { ref: "jane", program: program.id });
      for (const secret of [TEST_SECRETS[provider], "x"]) {
        const reply = await post(program, provider, await signatureOf(provider, body, secret), body);
        expect(codeOf(reply)).toEqual([409, "provider_not_configured"]);
      }
    }
    expect(await eventCount(program)).toBe(0);
  });

  it("5. the owner pastes each provider's signing secret into the program settings (PROG-9)", async () => {
    const program = await makeProgram(withoutSecrets());
    const secretOf = (provider: ListedVendor) => `${TEST_SECRETS[provider]}_pasted`;
    const settings = VENDOR_NAMES.map((name) => [`${name}_webhook_secret`, secretOf(name)] as const);
    const patched = await program.api("PATCH", ME, Object.fromEntries(settings));
    const set = Object.fromEntries(settings.map(([name]) => [`${name}_set`, true]));
    expect([patched.status, patched.body]).toMatchObject([200, set]);
    expect(JSON.stringify((await program.api("GET", ME)).body)).not.toContain("pasted");
    for (const provider of VENDOR_NAMES) {
      const body = saleAt(provider, { ref: "jane", program: program.id });
      const signature = await signatureOf(provider, body, secretOf(provider));
      expect([provider, (await post(program, provider, signature, body)).status]).toEqual([provider, 200]);
    }
  });

  it("6. the endpoint's secret is returned once, in the create response (HOOK-8)", async () => {
    const program = await makeProgram();
    const { id, ...created } = await create(program, "/api/v1/webhooks", ENDPOINT);
    const secret = String(created["secret"]);
    expect(secret).toMatch(/^whsec_/);
    const later = [
      await program.api("GET", "/api/v1/webhooks"),
      await program.api("GET", `/api/v1/webhooks/${id}`),
      await program.api("PATCH", `/api/v1/webhooks/${id}`, { active: false }),
      await program.api("GET", "/api/v1/events"),
    ];
    for (const { body } of later) expect(JSON.stringify(body)).not.toContain(secret);
  });
});
