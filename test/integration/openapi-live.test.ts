import { beforeAll, describe, expect, it } from "vitest";
import { DOCUMENTED } from "../../src/http/openapi/document.ts";
import { REPLY_EXAMPLES } from "../../src/http/openapi/examples.ts";
import { click } from "../support/clicks.ts";
import { VENDOR_NAMES } from "../../src/providers/registry.ts";
import { sendBody } from "../support/ledger.ts";
import { saleAt } from "../support/sale.ts";
import { assertDocumented, operationAt } from "../support/openapi.ts";
import { call, callApi, makePartner, makeProgram, type Reply, type TestProgram } from "../support/program.ts";
import { GROWING } from "../support/rows-growing.ts";
import { ROUTES } from "../support/rows-routes.ts";
import { signA } from "../support/provider-a.ts";

describe("live answers are as documented", () => {
  let program: TestProgram;
  const walked = new Set<string>();

  /** Checks the reply against the document, and notes the route of a success. */
  function held<T>(status: number, method: string, path: string, reply: Reply<T>): Reply<T> {
    expect([method, path, reply.status, reply.status === status ? "" : reply.body]).toEqual([method, path, status, ""]);
    assertDocumented(method, path, reply.status, reply.body);
    if (reply.status < 400) walked.add(`${method} ${operationAt(method, path)?.path ?? path}`);
    return reply;
  }

  beforeAll(async () => {
    program = await makeProgram();
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
      const sale = saleAt(name, { ref: "jane", program: program.id });
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
      "/client.d.ts",
    ];
    for (const path of ["/healthz", "/openapi.json", ...docs]) held(200, "GET", path, await call(path));
    held(404, "GET", "/nowhere", await call("/nowhere"));
    held(405, "PUT", "/healthz", await call("/healthz", { method: "PUT" }));
  });

  it("of every route at its best, here or in `rows-read.test.ts`", () => {
    const all = DOCUMENTED.map(({ method, path }) => `${method} ${path}`);
    const calledThere = new Set(Object.keys({ ...ROUTES, ...GROWING }).map((name) => name.split(",")[0]));
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
