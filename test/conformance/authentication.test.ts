/** Authentication. The signatures of deliveries are in test/unit/send.test.ts. */
import { describe, expect, it } from "vitest";
import { create, ENDPOINT, type Failure } from "../support/conformance.ts";
import { call, callApi, makeProgram, SECRET_A, SECRET_B, type Reply, type TestProgram } from "../support/program.ts";
import { bodyOfA, sessionCompleted, signA } from "../support/provider-a.ts";
import { bodyOfB, signB, transactionCompleted } from "../support/provider-b.ts";

const ME = "/api/v1/programs/me";

function codeOf({ status, body }: Reply<Failure>): [number, string] {
  return [status, body.error.code];
}

/** Posts a provider's event as it sends it, with this signature or none. */
async function post(program: TestProgram, provider: "a" | "b", signature: string | null, body: string) {
  return call<Failure>(`/webhooks/provider_${provider}?program_id=${program.id}`, {
    method: "POST",
    body,
    headers: {
      "content-type": "application/json",
      ...(signature === null ? {} : { [`Provider-${provider.toUpperCase()}-Signature`]: signature }),
    },
  });
}

/** How many events are about something processed: a refusal is an event of its own (IN-11). */
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
    const a = bodyOfA(sessionCompleted({ ref: "jane" }));
    const b = bodyOfB(transactionCompleted({ ref: "jane", program: program.id }));
    for (const [provider, body, wrong] of [
      ["a", a, await signA(a, "whsec_other")],
      ["a", `${a} `, await signA(a, SECRET_A)],
      ["a", a, "t=1,v1=00"],
      ["b", b, await signB(b, "pdl_other")],
      ["b", `${b} `, await signB(b, SECRET_B)],
      ["b", b, "ts=1;h1=00"],
    ] as const) {
      expect(codeOf(await post(program, provider, wrong, body))).toEqual([401, "invalid_signature"]);
      expect(codeOf(await post(program, provider, null, body))).toEqual([401, "invalid_signature"]);
    }
    expect(await eventCount(program)).toBe(0);
    expect((await post(program, "a", await signA(a, SECRET_A), a)).status).toBe(200);
    expect((await post(program, "b", await signB(b, SECRET_B), b)).status).toBe(200);
    expect(await eventCount(program)).toBe(2);
    const keyed = await call(`/webhooks/provider_a?program_id=${program.id}`, {
      method: "POST",
      body: a,
      headers: { authorization: `Bearer ${program.api_key}`, "content-type": "application/json" },
    });
    expect(keyed.status).toBe(401);
  });

  it("4. without a stored secret nothing is processed (IN-4)", async () => {
    const program = await makeProgram({ provider_a_webhook_secret: null });
    const body = bodyOfA(sessionCompleted({ ref: "jane" }));
    for (const secret of [SECRET_A, ""]) {
      const reply = await post(program, "a", await signA(body, secret || "x"), body);
      expect(codeOf(reply)).toEqual([409, "provider_not_configured"]);
    }
    expect(await eventCount(program)).toBe(0);
  });

  it("5. the owner pastes each provider's signing secret into the program settings (PROG-9)", async () => {
    const program = await makeProgram({ provider_a_webhook_secret: null, provider_b_webhook_secret: null });
    const secrets = { provider_a_webhook_secret: "whsec_pasted", provider_b_webhook_secret: "pdl_pasted" };
    const patched = await program.api("PATCH", ME, secrets);
    expect([patched.status, patched.body]).toMatchObject([
      200,
      { provider_a_webhook_secret_set: true, provider_b_webhook_secret_set: true },
    ]);
    expect(JSON.stringify((await program.api("GET", ME)).body)).not.toContain("pasted");
    const a = bodyOfA(sessionCompleted({ ref: "jane" }));
    const b = bodyOfB(transactionCompleted({ ref: "jane", program: program.id }));
    expect((await post(program, "a", await signA(a, "whsec_pasted"), a)).status).toBe(200);
    expect((await post(program, "b", await signB(b, "pdl_pasted"), b)).status).toBe(200);
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
