import { openDestinations } from "../support/vendor-destinations.ts";
import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, it, vi } from "vitest";
import { DOCUMENTED } from "../../src/http/openapi/document.ts";
import { REPLY_EXAMPLES } from "../../src/http/openapi/examples.ts";
import { makeApplication } from "../support/applications.ts";
import { makeClaim } from "../support/claims.ts";
import { click } from "../support/clicks.ts";
import { VENDOR_NAMES } from "../../src/providers/registry.ts";
import { LIST_KEYS, openEventLists } from "../support/event-lists.ts";
import { sendBody } from "../support/ledger.ts";
import { saleAt } from "../support/sale.ts";
import { assertDocumented, operationAt } from "../support/openapi.ts";
import { call, callApi, makePartner, makeProgram, type Reply, type TestProgram } from "../support/program.ts";
import { ROUTES } from "../support/rows-routes.ts";
import { signA } from "../support/provider-a.ts";
import { makeStocked, type Stocked } from "../support/stocked.ts";

describe("live answers are as documented", () => {
  let stocked: Stocked;
  let program: TestProgram;
  const walked = new Set<string>();

  /** Calls the API with the program's key and checks the response against the document. */
  async function send<T = Record<string, never>>(
    status: number,
    method: string,
    path: string,
    body?: unknown,
    headers?: HeadersInit,
  ): Promise<Reply<T>> {
    return held(status, method, path, await program.api<T>(method, path, body, headers));
  }

  function held<T>(status: number, method: string, path: string, reply: Reply<T>): Reply<T> {
    expect([method, path, reply.status, reply.status === status ? "" : reply.body]).toEqual([method, path, status, ""]);
    assertDocumented(method, path, reply.status, reply.body);
    if (reply.status < 400) walked.add(`${method} ${operationAt(method, path)?.path ?? path}`);
    return reply;
  }

  beforeAll(async () => {
    stocked = await makeStocked();
    program = stocked.program;
  });

  it("of the program", async () => {
    await send(200, "GET", "/api/v1/programs/me");
    await send(200, "PATCH", "/api/v1/programs/me", { payout_term: "NET-30", domain: "shop.example" });
    await send(422, "PATCH", "/api/v1/programs/me", { currency: "EUR" });
    await send(415, "PATCH", "/api/v1/programs/me", "x", { "content-type": "text/plain" });
    await send(200, "GET", "/api/v1/integrations/status");
    await send(200, "GET", "/api/v1/integrations/script?url=https://localhost/");
    await send(422, "GET", `/api/v1/integrations/script?url=https://x.example/${"x".repeat(2_048)}`);
    await send(409, "POST", "/api/v1/integrations/provider_a/reconcile");
    await send(404, "POST", "/api/v1/integrations/provider_x/reconcile", {});
    await send(422, "POST", "/api/v1/integrations/provider_a/reconcile", { since: "soon" });
    vi.spyOn(globalThis, "fetch").mockImplementation((url, init) =>
      openEventLists().fetch(new Request(url).url, init ?? {}),
    );
    await send(200, "PATCH", "/api/v1/programs/me", { provider_a_api_key: LIST_KEYS.provider_a });
    await send(200, "POST", "/api/v1/integrations/provider_a/reconcile", { since: "2026-01-01" });
    const destination = "/api/v1/integrations/provider_a/destination";
    await send(404, "POST", "/api/v1/integrations/provider_x/destination", {});
    await send(422, "POST", destination, { replace: 1 });
    vi.spyOn(globalThis, "fetch").mockImplementation((url, init) =>
      openDestinations().fetch(new Request(url, init).url, init ?? {}),
    );
    await send(409, "POST", destination);
    await send(201, "POST", destination, { replace: true });
    await send(200, "PATCH", "/api/v1/programs/me", { provider_a_api_key: null });
    vi.restoreAllMocks();
  });

  it("of partners", async () => {
    const at = "/api/v1/partners";
    const made = await send<{ id: string }>(201, "POST", at, {
      email: "ann@example.com",
      slug: "ann",
      metadata: { __proto__x: [1, { deep: null }] },
    });
    await send(409, "POST", at, { email: "ann@example.com", slug: "ann2" });
    await send(422, "POST", at, { slug: "ann2", nick: "a" });
    await send(400, "POST", at, "{");
    await send(413, "POST", at, { email: "a".repeat(70_000) });
    const page = await send<{ next_cursor: string }>(200, "GET", `${at}?per_page=1&search=a`);
    await send(200, "GET", `${at}?cursor=${page.body.next_cursor}`);
    await send(422, "GET", `${at}?per_page=0`);
    await send(200, "GET", `${at}/${stocked.partner.id}`);
    await send(404, "GET", `${at}/par_none`);
    for (const what of ["balance", "entries"]) {
      await send(200, "GET", `${at}/${stocked.partner.id}/${what}`);
      await send(404, "GET", `${at}/par_none/${what}`);
    }
    await send(200, "PATCH", `${at}/${made.body.id}`, { status: "active" });
    await send(409, "POST", `${at}/${made.body.id}/provider-a-account`, {});
    await send(200, "DELETE", `${at}/${made.body.id}`);
    await send(404, "DELETE", `${at}/par_none`);
  });

  it("of a POST repeated under one key", async () => {
    const at = "/api/v1/partners";
    const key = { "Idempotency-Key": "openapi" };
    await send(201, "POST", at, { email: "bob@example.com", slug: "bob" }, key);
    const again = await send(201, "POST", at, { email: "bob@example.com", slug: "bob" }, key);
    expect(again.headers.get("Idempotent-Replayed")).toBe("true");
    await send(422, "POST", at, { email: "bob2@example.com", slug: "bob2" }, key);
  });

  it("of codes", async () => {
    const at = `/api/v1/partners/${stocked.partner.id}/codes`;
    const made = await send<{ id: string }>(201, "POST", at, { code: "ANN20", provider: "provider_a" });
    await send(409, "POST", at, { code: "ann20", provider: "provider_a" });
    await send(422, "POST", at, { code: "ANN30" });
    await send(404, "POST", "/api/v1/partners/par_none/codes", { code: "ANN30", provider: "provider_a" });
    await send(200, "GET", at);
    await send(404, "GET", "/api/v1/partners/par_none/codes");
    await send(200, "GET", "/api/v1/codes/summary?from=2026-01-01&to=2026-01-31");
    await send(422, "GET", "/api/v1/codes/summary?from=2020-01-01");
    await send(200, "GET", "/api/v1/codes/export.csv");
    await send(200, "GET", `/api/v1/codes/${made.body.id}`);
    await send(200, "DELETE", `/api/v1/codes/${made.body.id}`);
    for (const method of ["GET", "DELETE"]) await send(404, method, `/api/v1/codes/${made.body.id}`);
  });

  it("of flows", async () => {
    const at = "/api/v1/flows";
    const flow = { name: "Flat", action_type: "flat", action_value: 5, conditions: [] };
    const made = await send<{ id: string }>(201, "POST", at, flow);
    await send(422, "POST", at, { ...flow, action_value: 1.5 });
    await send(200, "GET", at);
    await send(200, "GET", `${at}/${made.body.id}`);
    await send(200, "PATCH", `${at}/${made.body.id}`, { active: false });
    await send(200, "POST", `${at}/simulate`, { flow, last: 100 });
    await send(404, "POST", `${at}/simulate`, { flow_id: "flw_none", last: 1 });
    await send(200, "DELETE", `${at}/${made.body.id}`);
    await send(404, "DELETE", `${at}/${made.body.id}`);
  });

  it("of payments and commissions", async () => {
    const { payments, commissions } = stocked.ids;
    await send(200, "GET", "/api/v1/payments?provider=provider_a");
    await send(422, "GET", "/api/v1/payments?outcome=x");
    await send(200, "GET", `/api/v1/payments/${payments}`);
    await send(200, "POST", `/api/v1/payments/${payments}/reprocess`);
    const applications = [await makeApplication(program), await makeApplication(program)];
    await send(200, "GET", "/api/v1/applications?status=pending");
    await send(200, "GET", `/api/v1/applications/${applications[0]}`);
    await send(200, "POST", `/api/v1/applications/${applications[0]}/approve`);
    await send(409, "POST", `/api/v1/applications/${applications[0]}/decline`);
    await send(200, "POST", `/api/v1/applications/${applications[1]}/decline`, { note: "no" });
    await send(200, "POST", "/api/v1/applications/bulk", { ids: applications, status: "declined" });
    const invited = await makePartner(program, {}, "invited");
    await send(200, "POST", `/api/v1/partners/${invited.id}/invite`);
    const claims = await makeClaim(program, stocked.partner.id, { order_id: "documented" });
    await send(200, "GET", "/api/v1/claims?status=open");
    await send(201, "POST", `/api/v1/partners/${stocked.partner.id}/portal-links`);
    await send(200, "GET", `/api/v1/claims/${stocked.ids["claims"]}`);
    await send(404, "GET", "/api/v1/claims/none");
    await send(422, "POST", `/api/v1/claims/${claims}/grant`);
    await send(200, "POST", `/api/v1/claims/${claims}/grant`, { payment_id: payments });
    await send(409, "POST", `/api/v1/claims/${claims}/decline`, { note: "late" });
    await send(200, "POST", `/api/v1/claims/${stocked.ids["claims"]}/decline`);
    await send(404, "GET", "/api/v1/payments/pmt_none");
    const list = await send<{ data: { id: string }[] }>(200, "GET", "/api/v1/commissions?from=2020-01-01");
    await send(200, "GET", `/api/v1/commissions/${commissions}`);
    await send(200, "PATCH", `/api/v1/commissions/${commissions}`, { status: "rejected", reason: "no" });
    await send(409, "PATCH", `/api/v1/commissions/${commissions}`, { status: "paid" });
    const body = { partner_id: stocked.partner.id, amount_cents: -100, note: "correction" };
    await send(201, "POST", "/api/v1/commissions", body);
    const ids = [...list.body.data.map(({ id }) => id), "com_none"];
    await send(200, "POST", "/api/v1/commissions/bulk", { ids, status: "approved" });
  });

  it("of facts that the owner's server reports", async () => {
    const at = "/api/v1/track";
    const order = { external_id: "o", amount_cents: 100, currency: "USD", net_of_tax: true };
    await send(200, "POST", `${at}/lead`, { external_id: "l", ref: "ada", customer: { id: "u" } });
    await send(422, "POST", `${at}/lead`, { external_id: "l", ref: "ada", customer: {} });
    await send(200, "POST", `${at}/sale`, order);
    await send(409, "POST", `${at}/sale`, { ...order, amount_cents: 101 });
    await send(422, "POST", `${at}/sale`, { ...order, net_of_tax: false });
    await send(200, "POST", `${at}/refund`, { external_id: "r", sale_external_id: "o", amount_cents: 1 });
  });

  it("of the team", async () => {
    const at = "/api/v1/members";
    const made = await send<{ id: string }>(201, "POST", at, { email: "kim@shop.example", role: "viewer" });
    await send(409, "POST", at, { email: "Kim@shop.example", role: "owner" });
    await send(422, "POST", at, { email: "kim", role: "viewer" });
    const { body } = await send<{ data: { id: string }[] }>(200, "GET", at);
    await send(200, "PATCH", `${at}/${made.body.id}`, { role: "finance" });
    await send(409, "PATCH", `${at}/${body.data[0]?.id}`, { role: "viewer" });
    await send(200, "DELETE", `${at}/${made.body.id}`);
    await send(404, "DELETE", `${at}/${made.body.id}`);
    await send(409, "DELETE", `${at}/${body.data[0]?.id}`);
  });

  it("of payouts", async () => {
    const at = "/api/v1/payouts";
    await send(200, "GET", at);
    await send(200, "GET", `${at}/${stocked.ids["payouts"]}`);
    await send(200, "POST", `${at}/generate`, { dry_run: true });
    await send(422, "POST", `${at}/generate`, { period_end: "2999-01-01" });
    await send(200, "GET", `${at}/export.csv?format=wallet`);
    await send(422, "GET", `${at}/export.csv?format=pdf`);
    await send(409, "POST", `${at}/${stocked.ids["payouts"]}/pay`);
    await send(200, "POST", `${at}/${stocked.ids["payouts"]}/cancel`);
    await send(409, "POST", `${at}/${stocked.ids["payouts"]}/mark-paid`, { reference: "x" });
    const run = await send<{ payouts: { id: string }[] }>(200, "POST", `${at}/generate`);
    await send(200, "POST", `${at}/${run.body.payouts[0]?.id}/mark-paid`);
    await send(404, "POST", `${at}/pay_none/cancel`);
  });

  it("of clicks, events and customers", async () => {
    await send(200, "GET", "/api/v1/clicks/summary?from=2026-01-01&to=2026-01-31");
    await send(200, "GET", `/api/v1/clicks/summary?partner_id=${stocked.partner.id}`);
    await send(422, "GET", "/api/v1/clicks/summary?from=2020-01-01");
    const events = await send<{ data: { id: string }[] }>(200, "GET", "/api/v1/events?per_page=100");
    await send(200, "GET", `/api/v1/events/${events.body.data[0]!.id}`);
    await send(404, "GET", "/api/v1/events/evt_none");
    await send(422, "GET", "/api/v1/events?type=none");
    const csv = { "content-type": "text/csv" };
    await send(
      200,
      "POST",
      "/api/v1/imports?kind=partners&dry_run=true",
      "email,code\nx,y z\nim@example.com,im\n",
      csv,
    );
    await send(200, "POST", "/api/v1/imports?kind=customers", "customer_id,code\ncus_live,nobody\n", csv);
    await send(415, "POST", "/api/v1/imports?kind=partners", "email,code\n", { "content-type": "text/plain" });
    await send(422, "POST", "/api/v1/imports", "email,code\nim@example.com,im\n", csv);
    await send(200, "POST", "/api/v1/customers/erase", { email: "customer@example.com" });
    await send(422, "POST", "/api/v1/customers/erase", { email: "" });
  });

  it("of webhook endpoints", async () => {
    const at = "/api/v1/webhooks";
    const made = await send<{ id: string }>(201, "POST", at, { url: "https://hook.example.com/", events: ["*"] });
    const own = `${at}/${made.body.id}`;
    await send(422, "POST", at, { url: "http://localhost/", events: ["*"] });
    await send(200, "GET", at);
    await send(200, "GET", `${at}/${stocked.ids["webhooks"]}`);
    await send(200, "GET", `${at}/${stocked.ids["webhooks"]}/deliveries?status=pending`);
    await send(200, "PATCH", own, { description: "other" });
    await send(200, "POST", `${own}/rotate-secret`);
    const ping = await send<{ id: string }>(201, "POST", `${own}/test`);
    await send(201, "POST", `${own}/deliveries/${ping.body.id}/redeliver`);
    await env.DB.prepare("update deliveries set status = 'delivering' where id = ?").bind(ping.body.id).run();
    await send(409, "POST", `${own}/deliveries/${ping.body.id}/redeliver`);
    await env.DB.prepare("update deliveries set status = 'failed', completed_at = created_at where id = ?")
      .bind(ping.body.id)
      .run();
    await send(201, "POST", `${own}/deliveries/${ping.body.id}/redeliver`);
    await send(200, "POST", `${own}/recover`, { since: "2026-01-01" });
    await send(422, "POST", `${own}/recover`, {});
    await send(200, "DELETE", own);
    await send(404, "GET", own);
  });

  it("of further keys", async () => {
    const made = await send<{ id: string; api_key: string }>(201, "POST", "/api/v1/api-keys", {
      name: "Documented",
      scopes: ["read"],
    });
    await send(422, "POST", "/api/v1/api-keys", { name: "None", scopes: [] });
    await send(200, "GET", "/api/v1/api-keys");
    held(403, "GET", "/api/v1/api-keys", await callApi(made.body.api_key, "GET", "/api/v1/api-keys"));
    await send(200, "DELETE", `/api/v1/api-keys/${made.body.id}`);
    await send(404, "DELETE", `/api/v1/api-keys/${made.body.id}`);
  });

  it("of every route without a key, and with a wrong one", async () => {
    for (const { method, path } of DOCUMENTED.filter((route) => /^\/(api|admin)\//.test(route.path))) {
      const at = path.replaceAll(/:[a-z_]+/g, "x");
      for (const key of [null, "sk_wrong"]) held(401, method, at, await callApi(key, method, at));
    }
  });

  it("of the operator's routes", async () => {
    const operator = async (status: number, method: string, path: string, body?: unknown) =>
      held(status, method, path, await callApi<{ program: { id: string } }>("test-admin-token", method, path, body));
    const owner_email = "openapi-owner@example.com";
    const made = await operator(201, "POST", "/admin/programs", { name: "Documented", owner_email });
    await operator(422, "POST", "/admin/programs", { name: "" });
    await operator(200, "GET", "/admin/programs?per_page=2");
    await operator(201, "POST", `/admin/programs/${made.body.program.id}/api-key`);
    await operator(404, "POST", "/admin/programs/prog_none/api-key");
    await operator(201, "POST", "/admin/sign-in-links", { email: owner_email });
    await operator(404, "POST", "/admin/sign-in-links", { email: "nobody@example.com" });
    await operator(200, "POST", "/admin/reconcile", { program_id: made.body.program.id });
    await operator(422, "POST", "/admin/reconcile", { program_id: "x" });
    await operator(404, "POST", "/admin/reconcile", { program_id: "prog_00000000000000000000000000" });
    await operator(200, "POST", "/admin/secrets/reseal");
    await operator(422, "POST", "/admin/secrets/reseal", { all: true });
  });

  it("of inbound webhooks", async () => {
    for (const name of VENDOR_NAMES) {
      const sale = saleAt(name, { ref: stocked.partner.slug, program: program.id });
      held(200, "POST", `/webhooks/${name}`, await sendBody(program, name, sale));
    }
    const at = `/webhooks/provider_a?program_id=${program.id}`;
    held(401, "POST", at, await call(at, { method: "POST", body: "{}" }));
    const signed = async (secret: string) => ({ "Provider-A-Signature": await signA("{}", secret) });
    const unknown = "/webhooks/provider_a?program_id=prog_00000000000000000000000000";
    held(404, "POST", unknown, await call(unknown, { method: "POST", body: "{}", headers: await signed("any") }));
    const bare = await makeProgram({ provider_a_webhook_secret: null });
    const unset = `/webhooks/provider_a?program_id=${bare.id}`;
    held(409, "POST", unset, await call(unset, { method: "POST", body: "{}", headers: await signed("any") }));
    held(413, "POST", at, await call(at, { method: "POST", body: "x".repeat(1024 * 1024 + 1) }));
  });

  it("of clicks, links and the script", async () => {
    const jane = await makePartner(program, {});
    const good = { program_id: program.id, ref: jane.slug, landing: "/" };
    held(202, "POST", "/click", await click(good));
    held(422, "POST", "/click", await click({ ...good, ref: "a b" }));
    held(400, "POST", "/click", await click("{"));
    held(413, "POST", "/click", await click("x".repeat(5_000)));
    held(415, "POST", "/click", await click(good, { "content-type": "text/html" }));
    held(204, "OPTIONS", "/click", await call("/click", { method: "OPTIONS" }));
    const link = `/r/${program.id}/${jane.slug}?to=/pricing`;
    held(302, "GET", link, await call(link));
    held(404, "GET", "/r/prog_none/jane", await call("/r/prog_none/jane"));
    const script = held(200, "GET", "/service.js", await call("/service.js"));
    const etag = script.headers.get("etag") ?? "";
    held(304, "GET", "/service.js", await call("/service.js", { headers: { "if-none-match": etag } }));
  });

  it("of the service itself", async () => {
    const docs = [
      "/docs",
      "/docs/events/ping.json",
      "/docs/start",
      "/docs/api/partners",
      "/docs/search",
      "/docs/search.json",
      "/llms.txt",
    ];
    for (const path of ["/healthz", "/openapi.json", ...docs]) held(200, "GET", path, await call(path));
    held(404, "GET", "/nowhere", await call("/nowhere"));
    held(405, "PUT", "/healthz", await call("/healthz", { method: "PUT" }));
  });

  it("of every route at its best, here or in `rows-read.test.ts`", () => {
    const all = DOCUMENTED.map(({ method, path }) => `${method} ${path}`);
    const calledThere = new Set(Object.keys(ROUTES).map((name) => name.split(",")[0]));
    const isCalledHere = (route: string) => walked.has(route.replaceAll(/:([a-z_]+)/g, "{$1}"));
    expect(all.filter((route) => !isCalledHere(route) && !calledThere.has(route))).toEqual([]);
  });

  it("and one that is not is noticed", () => {
    const partner = REPLY_EXAMPLES.Partner as object;
    expect(() => assertDocumented("POST", "/api/v1/partners", 201, partner)).not.toThrow();
    expect(() => assertDocumented("POST", "/api/v1/partners", 201, { ...partner, secret: 1 })).toThrow(/secret/);
    expect(() => assertDocumented("POST", "/api/v1/partners", 200, partner)).toThrow(/status/);
    expect(() => assertDocumented("PUT", "/api/v1/partners", 200, partner)).toThrow(/route/);
    const error = (code: string) => ({ error: { code, message: "x", request_id: "req_1" } });
    expect(() => assertDocumented("GET", "/api/v1/partners", 401, error("unauthorized"))).not.toThrow();
    expect(() => assertDocumented("GET", "/api/v1/partners", 401, error("invalid_signature"))).toThrow(/one of/);
  });
});
