/**
 * Every parser of strangers' input is fed hostile texts every night (`test/nightly/linear-time.test.ts`): this suite
 * proves that none is left out, and that each accepts valid input.
 */
import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { app } from "../../src/app.ts";
import { HTTP_PARSERS } from "../support/parsers-http.ts";
import { PARSERS } from "../support/parsers.ts";

const ALL = [...PARSERS, ...HTTP_PARSERS];

describe("what is good is taken by", () => {
  it.each(ALL.map((parser) => [`${parser.module}: ${parser.name}`, parser] as const))("%s", async (_, parser) => {
    const result = await parser.read(parser.good);
    if (result instanceof Response) expect(result.status).not.toBe(500);
  });
});

describe("an address with more parameters than any route takes", () => {
  it.each([
    [200, 404],
    [201, 422],
  ])("is refused: of %i the status is %i (HTTP-30)", async (parameters, status) => {
    const request = new Request(`https://service.example/nothing?${"&".repeat(parameters - 1)}`);
    const execution = createExecutionContext();
    expect((await app.fetch(request, env, execution)).status).toBe(status);
  });
});

/**
 * Code that can take longer than linear time: a repetition in a pattern, a loop over characters, a URL, a normal form.
 */
const READING = [
  /(?<=[(,=:?&|!\s[])\/(?![/*\s])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n[])*?(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n[(])(?:[*+]|\{\d+,\})/,
  /\.(?:normalize|charCodeAt|codePointAt|charAt)\(|\bURL\.(?:parse|canParse)\(|\bnew (?:URL|RegExp)\(/,
];

const SOURCES = import.meta.glob<string>("../../src/**/*.{ts,tsx}", { query: "?raw", import: "default", eager: true });

/** Modules that read only texts of this service, its operator or the platform, by the kind of text. */
const OURS: Record<string, string[]> = {
  "amounts and counts": ["domain/currency.ts", "http/pages/parts/figures.tsx"],
  "variables of the deployment": ["jobs.ts", "lib/public-url.ts", "providers/api-call.ts", "core/mails/senders.ts"],
  "errors of the database and the runtime": ["core/kernel/conflict.ts", "http/errors.ts"],
  "its own routes and schemas": [
    ...["http/docs-search.tsx", "http/openapi/example-id.ts", "http/openapi/samples.ts"],
    ...["http/openapi/document.ts", "http/openapi/outside.ts", "resources/output.ts"],
    ...["http/openapi/field-texts.ts"],
  ],
  "what was checked when it was stored": [
    ...[
      "core/customers/trace.ts",
      "core/webhooks/endpoints.ts",
      "domain/payout.ts",
      "http/mails/endpoint-disabled.ts",
      "http/mails/security.ts",
      "http/pages/layout.tsx",
    ],
  ],
  "its own words": ["db/client.ts", "db/reusable-part.ts", "db/query-text.ts", "http/pages/parts/plot.tsx"],
  "one address of a page, and the type that it says it has": [
    "core/overview/installation.ts",
    "core/overview/site-page.ts",
  ],
  "an answer of a vendor's API, one address or id at a time": [
    "core/inbound/destination.ts",
    "providers/provider-a/reads.ts",
  ],
  "names of data centers": ["clicks/region.ts"],
};

describe("every module that reads texts", () => {
  const reading = Object.entries(SOURCES)
    .map(([path, text]) => ({
      module: path.replace("../../src/", ""),
      text: text.replaceAll(/^\s*(?:\/\/|\/?\*).*$/gm, ""),
    }))
    .filter(({ module }) => !/^(?:dev|site|client)\/|\.d\.ts$/.test(module))
    .filter(({ text }) => READING.some((pattern) => pattern.test(text)))
    .map(({ module }) => module);
  const fed = new Set(ALL.map(({ module }) => module));
  const ours = Object.values(OURS).flat();

  it("is fed, or reads what this service wrote", () => {
    expect(reading.filter((module) => !fed.has(module) && !ours.includes(module))).toEqual([]);
    expect(ours.filter((module) => !reading.includes(module) || fed.has(module))).toEqual([]);
    expect([...fed].filter((module) => !(`../../src/${module}` in SOURCES))).toEqual([]);
    expect(reading.length).toBeGreaterThan(40);
  });
});
