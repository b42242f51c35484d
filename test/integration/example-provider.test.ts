/**
 * A provider is one folder and one line. These tests add a provider to the list of `src/providers/list.ts` (the project
 * `example-provider` of vitest.config.ts) and play it from the pasted secret to the clawback without another source change.
 */
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { PROVIDER_NAMES, PROVIDERS, providerNamed } from "../../src/providers/registry.ts";
import { sendImport } from "../support/imports.ts";
import { servedDocument } from "../support/openapi.ts";
import { call, callApi, makePartner, makeProgram, type Reply, type TestProgram } from "../support/program.ts";
import { orderPaid, orderRefunded, signExample, type ExampleEvent } from "../support/example-provider.ts";
import { signInOwner, textOf } from "../support/visitor.ts";

const SECRET = "secret_of_provider_example";
const PATH = "/webhooks/provider_example";

async function sendExample(
  program: TestProgram,
  event: ExampleEvent,
  secret = SECRET,
): Promise<Reply<{ outcome?: string }>> {
  const body = JSON.stringify(event);
  const headers = { "content-type": "application/json", "Provider-Example-Signature": await signExample(body, secret) };
  return call(`${PATH}?program_id=${program.id}`, { method: "POST", headers, body });
}

interface Commission {
  id: string;
  kind: string;
  status: string;
  amount_cents: number;
  provider: string;
}

async function commissionsOf(program: TestProgram): Promise<Commission[]> {
  const { body } = await program.api<{ data: Commission[] }>("GET", "/api/v1/commissions?provider=provider_example");
  return body.data.toSorted((a, b) => b.amount_cents - a.amount_cents);
}

async function connected() {
  const program = await makeProgram();
  const owner = await signInOwner(program);
  await owner.get("/dashboard/settings");
  const pasted = await owner.post("/dashboard/settings/secrets", {
    name: "provider_example_webhook_secret",
    secret: SECRET,
  });
  expect([pasted.status, pasted.headers.get("location")]).toEqual([303, expect.stringMatching(/\?done=\w+$/)]);
  const partner = await makePartner(program);
  return { program, owner, partner };
}

describe("a provider that only the list of the tests has", () => {
  it("is in the registry beside the others", () => {
    const names = PROVIDERS.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(["provider_a", "provider_b", "provider_example"]));
    expect(providerNamed("provider_example")?.text).toBe("Example Pay");
  });

  it("goes from a pasted secret to a commission, a payout and a clawback", async () => {
    const program = await makeProgram();
    const unset = await sendExample(program, orderPaid({ cents: 100, partner: null }));
    expect(unset.status).toBe(409);
    const { program: own, partner } = await connected();
    const order = orderPaid({ cents: 10_000, partner: partner.slug });
    expect((await sendExample(own, order, "another secret")).status).toBe(401);
    expect((await sendExample(own, order)).body).toMatchObject({ received: true, outcome: "commission" });
    expect((await sendExample(own, order)).status).toBe(200);
    const [sale] = await commissionsOf(own);
    expect(sale).toMatchObject({ kind: "sale", status: "pending", amount_cents: 2_000, provider: "provider_example" });
    expect((await own.api("PATCH", `/api/v1/commissions/${sale!.id}`, { status: "approved" })).status).toBe(200);
    await own.api("POST", "/api/v1/payouts/generate", {});
    const { body: payouts } = await own.api<{ data: { id: string }[] }>("GET", "/api/v1/payouts");
    expect((await own.api("POST", `/api/v1/payouts/${payouts.data[0]!.id}/mark-paid`, {})).status).toBe(200);
    expect((await sendExample(own, orderRefunded(order.order.id, 4_000))).body.outcome).toBe("adjusted");
    const rows = await commissionsOf(own);
    expect(rows.map(({ kind, status, amount_cents }) => [kind, status, amount_cents])).toEqual([
      ["sale", "paid", 2_000],
      ["clawback", "approved", -800],
    ]);
    const { body: events } = await own.api<{ data: { payload: { event_type: string } }[] }>(
      "GET",
      "/api/v1/events?type=webhook.provider_example",
    );
    expect(events.data.map(({ payload }) => payload.event_type)).toEqual(["order.refunded", "order.paid"]);
  });

  it("is in the settings, the status and the pages, and its secret is sealed", async () => {
    const { program, owner, partner } = await connected();
    await sendExample(program, orderPaid({ cents: 100, partner: partner.slug }), "wrong");
    await sendExample(program, orderPaid({ cents: 100, partner: partner.slug }));
    const me = await program.api<Record<string, unknown>>("GET", "/api/v1/programs/me");
    expect(me.body["provider_example_webhook_secret_set"]).toBe(true);
    expect(me.body).not.toHaveProperty("provider_example_api_key_set");
    const status = await program.api<Record<string, unknown>>("GET", "/api/v1/integrations/status");
    expect(status.body["provider_example"]).toMatchObject({ configured: true, last_event_at: expect.any(String) });
    const settings = textOf((await owner.get("/dashboard/settings/providers")).body);
    for (const text of ["Example Pay", "Signing secret of Example Pay", "Connected.", "every order of the example"])
      expect(settings).toContain(text);
    const integration = await owner.get("/dashboard/integration");
    expect(textOf(integration.body)).toContain("Or the checkout: Example Pay");
    expect(integration.body).toContain(`${PATH}?program_id=${program.id}`);
    expect(textOf((await owner.get("/dashboard/payments?provider=provider_example")).body)).toContain("Example Pay");
    expect((await owner.get("/dashboard/settings/secrets/provider_example_webhook_secret/remove")).body).toContain(
      "The example is refused then.",
    );
    const row = await env.DB.prepare(
      "select webhook_secret from provider_connections where program_id = ? and provider = ?",
    )
      .bind(program.id, "provider_example")
      .first<{ webhook_secret: string }>();
    expect(row?.webhook_secret).toMatch(/^v2\./);
    expect((await callApi("test-admin-token", "POST", "/admin/secrets/reseal")).body).toMatchObject({ left: 0 });
    await program.api("PATCH", "/api/v1/programs/me", { provider_example_webhook_secret: null });
    expect((await sendExample(program, orderPaid({ cents: 100, partner: null }))).status).toBe(409);
    const changed = await program.api<{ data: { changes: Record<string, unknown> }[] }>(
      "GET",
      "/api/v1/events?type=program.updated",
    );
    expect(changed.body.data[0]?.changes).toEqual({ provider_example_webhook_secret: ["(secret)", null] });
  });

  it("is in imports and in conditions of flows", async () => {
    const { program, partner } = await connected();
    const file = `customer_id,partner_code\nexample_7,${partner.slug}\n`;
    expect((await sendImport(program, { kind: "customers" }, file)).body).toMatchObject({ added: 1, refused: 0 });
    const named = { kind: "customers", provider: "provider_example" };
    expect((await sendImport(program, named, `customer_id,partner_code\nexample_9,${partner.slug}\n`)).body.added).toBe(
      1,
    );
    const conditions = [{ field: "provider", op: "eq", value: "provider_example" }];
    const flow = { name: "Example", action_type: "percentage", action_value: 50, conditions };
    expect((await program.api("POST", "/api/v1/flows", flow)).status).toBe(201);
    await sendExample(program, orderPaid({ cents: 1_000, partner: null, buyer: "example_7" }));
    expect((await commissionsOf(program)).map(({ amount_cents }) => amount_cents)).toEqual([500]);
  });

  it("is in the OpenAPI document", () => {
    const { paths, components } = servedDocument();
    expect(paths[PATH]?.["post"]).toMatchObject({ summary: "Receive an event from Example Pay" });
    expect(components.schemas).toHaveProperty("ProviderExampleEvent");
    expect(components.securitySchemes).toHaveProperty("provider_example_signature");
    const { enum: providers } = (paths["/api/v1/payments"]?.["get"]?.parameters ?? []).find(
      ({ name }) => name === "provider",
    )!.schema;
    expect(providers).toEqual(PROVIDER_NAMES);
  });
});
