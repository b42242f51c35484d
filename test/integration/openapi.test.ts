import { env } from "cloudflare:workers";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { app } from "../../src/app.ts";
import { parseClick } from "../../src/domain/click.ts";
import { ERROR_CODES, statusOf } from "../../src/http/errors.ts";
import { DOCUMENTED, requestSchemas } from "../../src/http/openapi/document.ts";
import { REPLY_EXAMPLES } from "../../src/http/openapi/examples.ts";
import { replies, type ReplyName } from "../../src/http/openapi/replies.ts";
import { lookUp, schemaProblems } from "../support/json-schema.ts";
import { documentedAnswer, operationAt, operations, servedDocument } from "../support/openapi.ts";
import { BASE_URL, call } from "../support/program.ts";

/** Fields of replies that are present only if they have a value. */
const OPTIONAL = new Set(["dropped", "reason"]);

const REQUESTS = requestSchemas();

/** Pages are not part of the API. */
const PAGES =
  /^\/($|\*|sign-in|embed|sign-out|switch|join|confirm-payout-details|dashboard|portal|assets|dev|unsubscribe)/;

/** Routes that the platform answers with the files of `src/site`; `openapi-live.test.ts` calls each. */
const STATIC_ROUTES = [
  ...["/service.js", "/client.d.ts", "/openapi.json", "/llms.txt", "/docs", "/docs/:guide", "/docs/api/:section"],
  ...["/docs/search.json", "/docs/events/:file"],
];

const SERVED = new Set(
  app.routes
    .filter(({ method, path }) => method !== "ALL" && !PAGES.test(path))
    .map(({ method, path }) => `${method} ${path}`)
    .concat(STATIC_ROUTES.map((path) => `GET ${path}`)),
);

describe("the document describes every route", () => {
  it("and of none that does not exist", () => {
    const documented = DOCUMENTED.map(({ method, path }) => `${method} ${path}`);
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
    const reported = Object.keys(components.responses).flatMap((name) => name.split("-or-"));
    // Routes do not list 405.
    const expected = ERROR_CODES.filter((code) => code !== "method_not_allowed");
    expect([...new Set(reported)].toSorted()).toEqual(expected.toSorted());
  });
});

describe("GET /openapi.json (HTTP-17)", () => {
  it("is served to anybody, as JSON", async () => {
    const reply = await call("/openapi.json");
    expect([reply.status, reply.headers.get("content-type")]).toEqual([200, "application/json"]);
    expect(reply.body).toEqual({ ...servedDocument(), servers: [{ url: BASE_URL }] });
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
        expect(["get", "post", "put", "patch", "delete", "options"]).toContain(method);
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
    expect(operations).toBe(DOCUMENTED.length);
    expect(ids.size).toBe(operations);
  });

  it("says which bearer a route needs, and where a repeated POST is safe", () => {
    for (const { method, path, scope } of DOCUMENTED) {
      const operation = operationAt(method, path.replaceAll(/:([a-z_]+)/g, "{$1}"))?.operation;
      const isOperators = path.startsWith("/admin/");
      if (scope || isOperators)
        expect(operation?.security).toEqual([scope ? { api_key: scope } : { operator_token: [] }]);
      const isSafe = operation?.parameters?.some(({ name }) => name === "Idempotency-Key") ?? false;
      expect([path, isSafe]).toEqual([path, method === "POST" && path.startsWith("/api/v1/")]);
    }
  });

  it("gives refusals the statuses of their codes, with Retry-After where one may try again (HTTP-3)", () => {
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
    expect(parameters.map(({ name, schema }) => [name, schema.type])).toEqual([
      ["page", "integer"],
      ["per_page", "integer"],
      ["cursor", "string"],
      ["status", "string"],
      ["group_id", "string"],
      ["search", "string"],
      ["X-D1-Bookmark", "string"],
    ]);
    expect(parameters[1]?.schema).toMatchObject({ minimum: 1, maximum: 100, default: 20 });
    const { properties } = servedDocument().components.schemas["PartnerList"] as { properties: object };
    expect(Object.keys(properties)).toEqual(["data", "total", "page", "per_page", "next_cursor"]);
  });
});

describe("the schemas", () => {
  it.each(Object.keys(replies()) as ReplyName[])("of the reply %s fit its example, and nothing more", (name) => {
    const schema = { $ref: `#/components/schemas/${name}` };
    const example = REPLY_EXAMPLES[name] as object;
    expect(schemaProblems(schema, example, servedDocument())).toEqual([]);
    expect(replies()[name].safeParse(example).error).toBeUndefined();
    const more = { ...example, undocumented: 1 };
    expect(schemaProblems(schema, more, servedDocument())).not.toEqual([]);
    for (const field of Object.keys(example).filter((key) => !OPTIONAL.has(key))) {
      const { [field]: _, ...less } = example as Record<string, unknown>;
      expect([field, schemaProblems(schema, less, servedDocument()).length]).not.toEqual([field, 0]);
    }
  });

  it.each(Object.entries(REQUESTS))("of the request %s fit its example, as the validator does", (name, validator) => {
    const schema = { $ref: `#/components/schemas/${name}` };
    const bodies = operations().flatMap(({ operation }) => Object.values(operation.requestBody?.content ?? {}));
    const example = bodies.find((body) => body.schema?.$ref === schema.$ref)?.example;
    expect(schemaProblems(schema, example, servedDocument())).toEqual([]);
    expect(validator.safeParse(example).error).toBeUndefined();
  });

  it("refuse what the validator refuses for its shape", () => {
    const bad: [string, unknown][] = [
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
      expect([name, REQUESTS[name]?.safeParse(body).success]).toEqual([name, false]);
      const problems = schemaProblems({ $ref: `#/components/schemas/${name}` }, body, servedDocument());
      expect([name, problems.length]).not.toEqual([name, 0]);
    }
  });

  it("have patterns that mean the same without their flags, which JSON Schema does not have", () => {
    const flagged: string[] = [];
    const queries = DOCUMENTED.flatMap(({ query }) => query ?? []);
    for (const schema of [...Object.values(REQUESTS), ...Object.values(replies()), ...queries]) {
      z.toJSONSchema(schema, {
        ...{ io: "input", unrepresentable: "any" },
        override: ({ zodSchema }) => {
          for (const { _zod } of zodSchema._zod.def.checks ?? []) {
            const { pattern } = _zod.def as { pattern?: RegExp };
            if (pattern && pattern.flags !== "") flagged.push(String(pattern));
          }
        },
      });
    }
    expect(flagged).toEqual([]);
    const colored = { brand_color: "#0F766E" };
    expect(REQUESTS["ProgramUpdate"]?.safeParse(colored).success).toBe(true);
    expect(schemaProblems({ $ref: "#/components/schemas/ProgramUpdate" }, colored, servedDocument())).toEqual([]);
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
        expect([value, REQUESTS["Click"]?.safeParse(value).success]).toEqual(wanted(value));
      }),
      { numRuns: Number(env.PROPERTY_RUNS) * 5 },
    );
  });
});
