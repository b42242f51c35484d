import { describe, expect, it } from "vitest";
import { ERROR_CODES } from "../../src/http/errors.ts";
import { servedDocument } from "../support/openapi.ts";
import { call } from "../support/program.ts";

describe("GET /docs is a page for people (HTTP-17)", () => {
  it("describes every route, error code and outbound event", async () => {
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
