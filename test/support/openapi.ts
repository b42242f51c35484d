/** The service's OpenAPI document as it is served, and live replies held to it. */
import { buildDocument, type Answer, type OpenApiDocument, type Operation } from "../../src/http/openapi/document.ts";
import { lookUp, schemaProblems } from "./json-schema.ts";

let served: OpenApiDocument | undefined;

/** As a client reads it: what JSON cannot carry is gone. */
export function servedDocument(): OpenApiDocument {
  served ??= JSON.parse(JSON.stringify(buildDocument())) as OpenApiDocument;
  return served;
}

/** The operation an address belongs to; of two patterns the one with fewer parameters, as the router chooses. */
export function operationAt(method: string, path: string): { path: string; operation: Operation } | null {
  const { paths } = servedDocument();
  const [pathname = ""] = path.split("?", 1);
  const [found] = Object.keys(paths)
    .filter((pattern) => paths[pattern]?.[method.toLowerCase()])
    .filter((pattern) => new RegExp(`^${escaped(pattern).replaceAll(/\\\{[a-z_]+\\\}/g, "[^/]+")}$`).test(pathname))
    .toSorted((a, b) => a.split("{").length - b.split("{").length);
  const operation = found === undefined ? undefined : paths[found]?.[method.toLowerCase()];
  return found === undefined || !operation ? null : { path: found, operation };
}

/** What the document says of an answer; null where it says nothing. */
export function documentedAnswer(method: string, path: string, status: number): Answer | null {
  const answer = operationAt(method, path)?.operation.responses[String(status)];
  if (!answer) return null;
  return "$ref" in answer ? (lookUp(servedDocument(), answer.$ref) as Answer) : answer;
}

/**
 * Throws unless the document tells of this answer of this route: its status, and its body field by field, none missing
 * and none more. `path` is an address with or without a query. An address that is none of the document's may only be
 * refused as such.
 */
export function assertDocumented(method: string, path: string, status: number, body: unknown): void {
  const problems = documentationProblems(method, path, status, body);
  if (problems.length > 0) throw new Error(`${method} ${path} ${status} is not as documented:\n${problems.join("\n")}`);
}

function documentationProblems(method: string, path: string, status: number, body: unknown): string[] {
  const document = servedDocument();
  const error = { $ref: "#/components/schemas/Error" };
  if (!operationAt(method, path)) {
    return [401, 404, 405, 429].includes(status) ? schemaProblems(error, body, document) : ["no such route"];
  }
  const answer = documentedAnswer(method, path, status);
  if (!answer) return [`no such status: ${JSON.stringify(body)}`];
  const content = Object.entries(answer.content ?? {});
  if (content.length === 0) return body === "" ? [] : ["a body where there is none"];
  const [[type, { schema }] = ["", {}]] = content;
  if (!schema) return (typeof body === "string") === (type !== "application/json") ? [] : [`no ${type}`];
  return schemaProblems(schema, body, document);
}

function escaped(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
}
