/** The service's OpenAPI document as it is served, and live replies checked against it. */
import { buildDocument } from "../../src/http/openapi/document.ts";
import type { Answer, OpenApiDocument, Operation } from "../../src/http/openapi/types.ts";
import { lookUp, schemaProblems } from "./json-schema.ts";

let served: OpenApiDocument | undefined;

/** The document as a client reads it: without values that JSON cannot carry. */
export function servedDocument(): OpenApiDocument {
  served ??= JSON.parse(JSON.stringify(buildDocument())) as OpenApiDocument;
  return served;
}

interface Documented {
  method: string;
  path: string;
  pattern: RegExp;
  operation: Operation;
}

let documented: Documented[] | undefined;

/** Every operation; of two patterns that fit an address, the one with fewer parameters first, as the router chooses. */
export function operations(): readonly Documented[] {
  documented ??= Object.entries(servedDocument().paths)
    .flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => {
        const pattern = new RegExp(`^${escaped(path).replaceAll(/\\\{[a-z_]+\\\}/g, "[^/]+")}$`);
        return { method: method.toUpperCase(), path, pattern, operation };
      }),
    )
    .toSorted((a, b) => a.path.split("{").length - b.path.split("{").length);
  return documented;
}

/** The operation an address belongs to. */
export function operationAt(method: string, path: string): { path: string; operation: Operation } | null {
  const pathname = path.split(/[?#]/, 1)[0] ?? "";
  return operations().find((one) => one.method === method.toUpperCase() && one.pattern.test(pathname)) ?? null;
}

/** The documented answer, or null. */
export function documentedAnswer(method: string, path: string, status: number): Answer | null {
  const answer = operationAt(method, path)?.operation.responses[String(status)];
  if (!answer) return null;
  return "$ref" in answer ? (lookUp(servedDocument(), answer.$ref) as Answer) : answer;
}

/**
 * Throws unless the document describes this answer of this route: its status, its body field by field without missing or
 * additional fields and, if given, its headers. `path` is an address with or without a query. An undocumented address
 * may only be refused as such.
 */
export function assertDocumented(method: string, path: string, status: number, body: unknown, headers?: Headers): void {
  const documented = method === "HEAD" ? "GET" : method.toUpperCase();
  const problems = [
    ...documentationProblems(documented, path, status, method === "HEAD" ? null : body, headers),
    ...(headers ? headerProblems(documented, path, status, headers) : []),
  ];
  if (problems.length === 0) return;
  throw new Error(`${method} ${path} ${status} is not as documented:\n${problems.join("\n")}`);
}

const ERROR = { $ref: "#/components/schemas/Error" };

/**
 * The answers of an undocumented address: the key, the length of the body and the common headers are checked before the
 * route is looked up.
 */
const ELSEWHERE = new Set([401, 404, 405, 409, 413, 422, 429]);

/** A body of null is that of a HEAD request. */
function documentationProblems(
  method: string,
  path: string,
  status: number,
  body: unknown,
  headers: Headers | undefined,
): string[] {
  const document = servedDocument();
  // A browser gets an error as a page (HTTP-24).
  const isHtml = headers?.get("content-type")?.startsWith("text/html") === true;
  const isErrorPage = isHtml && status >= 400 && !path.startsWith("/api/");
  // A page with a slash at the end of its address leads to the page (PAGE-28).
  const [address = ""] = path.split("?");
  const to = headers?.get("location")?.split("?")[0];
  if (status === 308 && address === `${to}/` && !address.startsWith("/api/")) return [];
  if (!operationAt(method, path)) {
    if (!ELSEWHERE.has(status)) return ["no such route"];
    return body === null || isErrorPage ? [] : schemaProblems(ERROR, body, document);
  }
  const answer = documentedAnswer(method, path, status);
  if (!answer) return [`no such status: ${JSON.stringify(body)}`];
  if (body === null || isErrorPage) return [];
  const contents = Object.entries(answer.content ?? {});
  const sent = headers?.get("content-type")?.split(";")[0];
  const content = contents.find(([type]) => type === sent) ?? contents[0];
  if (!content) return body === "" ? [] : ["a body where there is none"];
  const [type, { schema }] = content;
  if (sent !== undefined && sent !== type) return [`${sent} in place of ${type}`];
  if (!schema) return (typeof body === "string") === (type !== "application/json") ? [] : [`no ${type}`];
  return schemaProblems(schema, body, document);
}

/** Every reply of the Worker has `X-Request-Id` (HTTP-2), so all but those documented without, 429 and 503 `Retry-After` in seconds (HTTP-3). */
function headerProblems(method: string, path: string, status: number, headers: Headers): string[] {
  const isSecond = (value: string | null) => /^[1-9]\d*$/.test(value ?? "");
  const answer = documentedAnswer(method, path, status);
  const named = Object.keys(answer?.headers ?? {});
  const needsId = answer === null || named.includes("X-Request-Id");
  const missing = named.filter((name) => !SOMETIMES.has(name) && !headers.has(name));
  return [
    ...missing.map((name) => `the header ${name} is missing`),
    ...(!needsId || headers.get("x-request-id")?.startsWith("req_") ? [] : ["no request id"]),
    ...([429, 503].includes(status) && !isSecond(headers.get("retry-after")) ? ["no Retry-After in seconds"] : []),
    ...(status === 405 && !headers.has("allow") ? ["405 without Allow"] : []),
  ];
}

/** Documented headers that not every such answer carries. */
const SOMETIMES = new Set(["Retry-After", "Idempotent-Replayed", "X-D1-Bookmark"]);

function escaped(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
}
