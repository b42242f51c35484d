import { env } from "cloudflare:workers";
import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { app } from "../../src/app.ts";
import { parseClick } from "../../src/domain/click.ts";
import { ERROR_CODES, statusOf } from "../../src/http/errors.ts";
import { ROUTES } from "../../src/http/openapi/document.ts";
import { REPLY_EXAMPLES, REQUEST_EXAMPLES } from "../../src/http/openapi/examples.ts";
import { REPLIES, type ReplyName } from "../../src/http/openapi/replies.ts";
import { REQUESTS, type RequestName } from "../../src/http/openapi/requests.ts";
import { click } from "../support/clicks.ts";
import { lookUp, schemaProblems } from "../support/json-schema.ts";
import { sendA } from "../support/ledger.ts";
import { assertDocumented, documentedAnswer, operationAt, servedDocument } from "../support/openapi.ts";
import { call, callApi, makePartner, makeProgram, type Reply, type TestProgram } from "../support/program.ts";
import { sessionCompleted } from "../support/provider-a.ts";
import { makeStocked, type Stocked } from "../support/stocked.ts";

/** Of replies, the fields that stand only where there is something to say. */
const OPTIONAL = new Set(["dropped", "reason"]);

/** Pages for people are not part of the API. */
const PAGES = /^\/($|\*|sign-in|sign-out|switch|dashboard|portal|assets)/;

const SERVED = new Set(
  app.routes
    .filter(({ method, path }) => method !== "ALL" && !PAGES.test(path))
    .map(({ method, path }) => `${method} ${path}`),
);

describe("the document tells of every route", () => {
  it("and of none that does not exist", () => {
    const documented = ROUTES.map(({ method, path }) => `${method} ${path}`);
    expect(documented.toSorted()).toEqual([...SERVED].toSorted());
    expect(new Set(documented).size).toBe(documented.length);
    expect(documented).toEqual(
      expect.arrayContaining(["POST /api/v1/partners", "POST /click", "POST /admin/programs"]),
    );
  });

  it("with a reply below 400, and every error code somewhere", () => {
    const { paths, components } = servedDocument();
    for (const [path, methods] of Object.entries(paths)) {
      for (const [method, { responses }] of Object.entries(methods)) {
        expect([path, method, Object.keys(responses).some((status) => Number(status) < 400)]).toEqual([
          path,
          method,
          true,
        ]);
      }
    }
    const told = Object.keys(components.responses).flatMap((name) => name.split("-or-"));
    // `forbidden` is a page's, and 405 is no route's.
    const expected = ERROR_CODES.filter((code) => code !== "forbidden" && code !== "method_not_allowed");
    expect([...new Set(told)].toSorted()).toEqual(expected.toSorted());
  });
});

describe("GET /openapi.json (contract §2: 'OpenAPI 3.1 at `/openapi.json`')", () => {
  it("is served to anybody, as JSON", async () => {
    const reply = await call("/openapi.json");
    expect([reply.status, reply.headers.get("content-type")]).toEqual([200, "application/json"]);
    expect(reply.body).toEqual(servedDocument());
    expect(reply.headers.get("x-request-id")).toMatch(/^req_/);
  });

  it("has the fixed parts of OpenAPI 3.1", () => {
    const document = servedDocument();
    expect(document.openapi).toMatch(/^3\.1\.\d+$/);
    expect(Object.keys(document.info)).toEqual(expect.arrayContaining(["title", "version"]));
    const allowed = ["openapi", "info", "servers", "tags", "paths", "webhooks", "components"];
    expect(Object.keys(document).filter((key) => !allowed.includes(key))).toEqual([]);
    for (const name of Object.values(document.components).flatMap((part) => Object.keys(part))) {
      expect(name).toMatch(/^[a-zA-Z0-9._-]+$/);
    }
  });

  it("has references that lead somewhere, and components that are used", () => {
    const document = servedDocument();
    const refs = [...JSON.stringify(document).matchAll(/"\$ref":"([^"]+)"/g)].map(([, ref = ""]) => ref);
    expect(refs.length).toBeGreaterThan(100);
    for (const ref of refs) expect([ref, lookUp(document, ref) !== undefined]).toEqual([ref, true]);
    for (const kind of ["schemas", "responses", "headers"] as const) {
      for (const name of Object.keys(document.components[kind])) expect(refs).toContain(`#/components/${kind}/${name}`);
    }
  });

  it("has sound operations: ids, tags, security, path parameters, answers", () => {
    const document = servedDocument();
    const tags = document.tags.map(({ name }) => name);
    const ids = new Set<string>();
    let operations = 0;
    for (const [path, methods] of Object.entries(document.paths)) {
      expect(path).toMatch(/^\/[^:*]*$/);
      for (const [method, operation] of Object.entries(methods)) {
        operations++;
        expect(["get", "post", "patch", "delete", "options"]).toContain(method);
        expect(operation.operationId).toMatch(/^[a-zA-Z0-9]+$/);
        ids.add(operation.operationId);
        for (const tag of operation.tags) expect(tags).toContain(tag);
        for (const scheme of operation.security.flatMap((one) => Object.keys(one))) {
          expect(document.components.securitySchemes).toHaveProperty(scheme);
        }
        const inPath = [...path.matchAll(/\{([a-z_]+)\}/g)].map(([, name]) => name);
        const parameters = operation.parameters ?? [];
        expect(parameters.filter((one) => one.in === "path").map(({ name }) => name)).toEqual(inPath);
        expect(new Set(parameters.map(({ name }) => name)).size).toBe(parameters.length);
        for (const { required, schema, in: where } of parameters) {
          expect(Object.keys(schema).length).toBeGreaterThan(0);
          if (where === "path") expect(required).toBe(true);
        }
        for (const [status, answer] of Object.entries(operation.responses)) {
          expect(status).toMatch(/^[2-5]\d\d$/);
          expect("$ref" in answer || answer.description.length > 0).toBe(true);
        }
        if (method === "get") expect(operation.requestBody).toBeUndefined();
      }
    }
    expect(operations).toBe(ROUTES.length);
    expect(ids.size).toBe(operations);
  });

  it("says which bearer a route needs, and where a repeated POST is safe", () => {
    for (const { method, path } of ROUTES) {
      const operation = operationAt(method, path.replaceAll(/:([a-z_]+)/g, "{$1}"))?.operation;
      const scheme = path.startsWith("/api/v1/") ? "api_key" : path.startsWith("/admin/") ? "operator_token" : null;
      const [named] = operation?.security ?? [];
      if (scheme !== null) expect(named).toEqual({ [scheme]: [] });
      const isSafe = operation?.parameters?.some(({ name }) => name === "Idempotency-Key") ?? false;
      expect([path, isSafe]).toEqual([path, method === "POST" && path.startsWith("/api/v1/")]);
    }
  });

  it("gives refusals the statuses of their codes, with Retry-After where one may try again", () => {
    for (const [path, methods] of Object.entries(servedDocument().paths)) {
      for (const [method, { responses }] of Object.entries(methods)) {
        for (const [status, answer] of Object.entries(responses)) {
          if (!("$ref" in answer)) continue;
          const codes = (answer.$ref.split("/").at(-1) ?? "").split("-or-");
          for (const code of ERROR_CODES.filter((one) => codes.includes(one))) {
            expect([path, method, code, statusOf(code)]).toEqual([path, method, code, Number(status)]);
          }
          const headers = Object.keys(documentedAnswer(method, path, Number(status))?.headers ?? {});
          expect(headers).toContain("X-Request-Id");
          if (["429", "503"].includes(status)) expect(headers).toContain("Retry-After");
        }
      }
    }
  });

  it("describes lists by page, per_page, cursor and next_cursor", () => {
    const { parameters = [] } = operationAt("GET", "/api/v1/partners")?.operation ?? {};
    expect(parameters.map(({ name, schema }) => [name, schema["type"]])).toEqual([
      ["page", "integer"],
      ["per_page", "integer"],
      ["cursor", "string"],
      ["status", "string"],
      ["search", "string"],
    ]);
    expect(parameters[1]?.schema).toMatchObject({ minimum: 1, maximum: 100, default: 20 });
    const { properties } = servedDocument().components.schemas["PartnerList"] as { properties: object };
    expect(Object.keys(properties)).toEqual(["data", "total", "page", "per_page", "next_cursor"]);
  });
});

describe("the schemas", () => {
  it.each(Object.keys(REPLIES) as ReplyName[])("of the reply %s fit its example, and nothing more", (name) => {
    const schema = { $ref: `#/components/schemas/${name}` };
    const example = REPLY_EXAMPLES[name] as object;
    expect(schemaProblems(schema, example, servedDocument())).toEqual([]);
    expect(REPLIES[name].safeParse(example).error).toBeUndefined();
    const more = { ...example, undocumented: 1 };
    expect(schemaProblems(schema, more, servedDocument())).not.toEqual([]);
    for (const field of Object.keys(example).filter((key) => !OPTIONAL.has(key))) {
      const { [field]: _, ...less } = example as Record<string, unknown>;
      expect([field, schemaProblems(schema, less, servedDocument()).length]).not.toEqual([field, 0]);
    }
  });

  it.each(Object.keys(REQUESTS) as RequestName[])(
    "of the request %s fit its example, as the validator does",
    (name) => {
      const schema = { $ref: `#/components/schemas/${name}` };
      const example = REQUEST_EXAMPLES[name];
      expect(schemaProblems(schema, example, servedDocument())).toEqual([]);
      expect(REQUESTS[name].safeParse(example).error).toBeUndefined();
    },
  );

  it("refuse what the validator refuses for its shape", () => {
    const bad: [RequestName, unknown][] = [
      ["PartnerCreate", { email: "no address", slug: "jane" }],
      ["PartnerCreate", { email: "jane@example.com", slug: "a b" }],
      ["PartnerCreate", { email: "jane@example.com", slug: "jane", unknown: 1 }],
      ["PartnerCreate", { email: "jane@example.com", slug: "jane", metadata: [] }],
      ["FlowCreate", { name: "x", action_type: "double", action_value: 1 }],
      ["CommissionBulk", { ids: [], status: "approved" }],
      ["ProgramUpdate", { cookie_days: 366 }],
      ["Nothing", { a: 1 }],
    ];
    for (const [name, body] of bad) {
      expect([name, REQUESTS[name].safeParse(body).success]).toEqual([name, false]);
      const problems = schemaProblems({ $ref: `#/components/schemas/${name}` }, body, servedDocument());
      expect([name, problems.length]).not.toEqual([name, 0]);
    }
  });

  it("hold no schema that says nothing, but for what may be anything", () => {
    const { schemas } = servedDocument().components;
    const empty = [...JSON.stringify(schemas).matchAll(/"([A-Za-z_]+)":\{(?:"description":"[^"]*")?\}/g)].map(
      ([, key]) => key,
    );
    expect([...new Set(empty)].toSorted()).toEqual(["additionalProperties", "properties"]);
  });

  it("judge a click as the hand-written parser does", () => {
    const text = fc.oneof(
      fc.constantFrom(
        "",
        "/",
        "/pricing",
        "jane",
        "prog_1",
        "https://a.example/",
        "a://",
        "x y",
        "prog_",
        "-_.",
        "a".repeat(65),
      ),
      fc.string(),
    );
    const body = fc.oneof(
      fc.record(
        { program_id: text, ref: text, landing: text, referrer: text, id: text, other: text },
        { requiredKeys: [] },
      ),
      fc.record(
        { program_id: fc.constant("prog_1"), ref: fc.constant("jane"), landing: text, referrer: text, id: text },
        { requiredKeys: ["program_id", "ref"] },
      ),
      fc.jsonValue(),
    );
    const wanted = (value: unknown) => [value, parseClick(value).ok];
    fc.assert(
      fc.property(body, (value) => {
        expect([value, REQUESTS.Click.safeParse(value).success]).toEqual(wanted(value));
      }),
      { numRuns: Number(env.PROPERTY_RUNS) * 5 },
    );
  });
});

describe("live answers are as documented", () => {
  let stocked: Stocked;
  let program: TestProgram;
  const walked = new Set<string>();

  /** Calls with the program's key and holds the answer to the document. */
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
    await send(200, "GET", "/api/v1/events?per_page=100");
    await send(422, "GET", "/api/v1/events?type=none");
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
    await send(409, "POST", `${own}/deliveries/${ping.body.id}/redeliver`);
    await env.DB.prepare("update deliveries set status = 'failed' where id = ?").bind(ping.body.id).run();
    await send(201, "POST", `${own}/deliveries/${ping.body.id}/redeliver`);
    await send(200, "POST", `${own}/recover`, { since: "2026-01-01" });
    await send(422, "POST", `${own}/recover`, {});
    await send(200, "DELETE", own);
    await send(404, "GET", own);
  });

  it("of every route without a key, and with a wrong one", async () => {
    for (const { method, path } of ROUTES.filter((route) => /^\/(api|admin)\//.test(route.path))) {
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
  });

  it("of inbound webhooks", async () => {
    const at = `/webhooks/provider_a?program_id=${program.id}`;
    held(200, "POST", at, await sendA(program, sessionCompleted({ ref: stocked.partner.slug, amount: 5_000 })));
    held(401, "POST", at, await call(at, { method: "POST", body: "{}" }));
    held(404, "POST", "/webhooks/provider_b", await call("/webhooks/provider_b", { method: "POST", body: "{}" }));
    const bare = await makeProgram({ provider_a_webhook_secret: null });
    const unset = `/webhooks/provider_a?program_id=${bare.id}`;
    held(409, "POST", unset, await call(unset, { method: "POST", body: "{}" }));
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
    for (const path of ["/healthz", "/openapi.json", "/docs"]) held(200, "GET", path, await call(path));
    held(404, "GET", "/nowhere", await call("/nowhere"));
    held(405, "PUT", "/healthz", await call("/healthz", { method: "PUT" }));
  });

  it("of every route at its best, so none is left out above", () => {
    // The vendor has to be played for these: `onboarding.test.ts`, `payouts-pay.test.ts`, `inbound.test.ts`.
    const elsewhere = [
      "POST /api/v1/partners/{id}/provider-a-account",
      "POST /api/v1/payouts/{id}/pay",
      "POST /webhooks/provider_b",
    ];
    const all = ROUTES.map(({ method, path }) => `${method} ${path.replaceAll(/:([a-z_]+)/g, "{$1}")}`);
    expect(all.filter((route) => !walked.has(route)).toSorted()).toEqual(elsewhere.toSorted());
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

describe("GET /docs (contract §2: 'a readable reference page at `/docs`')", () => {
  it("tells of every route, error code and outbound event", async () => {
    const { status, headers, body } = await call<string>("/docs");
    expect([status, headers.get("content-type")]).toEqual([200, "text/html; charset=UTF-8"]);
    for (const [path, methods] of Object.entries(servedDocument().paths)) {
      for (const [method, { operationId }] of Object.entries(methods)) {
        expect(body).toContain(`id="${operationId}"`);
        expect(body).toContain(`${method.toUpperCase()} ${path}`);
      }
    }
    for (const code of ERROR_CODES) expect(body).toContain(`<code>${code}</code>`);
    for (const event of Object.keys(servedDocument().webhooks)) expect(body).toContain(`<code>${event}</code>`);
    expect((await call<string>("/docs")).body).toBe(body);
  });

  it("needs nothing from elsewhere and runs under the pages' policy", async () => {
    const { headers, body } = await call<string>("/docs");
    expect(headers.get("content-security-policy")).toContain("default-src 'none'");
    const loaded = [...body.matchAll(/<(?:link|script|img|iframe)[^>]*?(?:href|src)="([^"]*)"/g)].map(
      ([, at = ""]) => at,
    );
    expect(loaded.length).toBeGreaterThan(0);
    for (const at of loaded) expect(at).toMatch(/^(\/assets\/|data:)/);
    expect(body).not.toMatch(/<style|\sstyle=|\son[a-z]+=|<script(?![^>]*src)/);
  });

  it("has links that lead to a place on the page, and ids that occur once", async () => {
    const { body } = await call<string>("/docs");
    const ids = [...body.matchAll(/\sid="([^"]*)"/g)].map(([, id = ""]) => id);
    expect(new Set(ids).size).toBe(ids.length);
    for (const [, target = ""] of body.matchAll(/href="#([^"]*)"/g)) expect(ids).toContain(target);
  });
});
