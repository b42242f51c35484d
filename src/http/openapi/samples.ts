import type { OpenApiDocument, Operation, Parameter } from "./types.ts";

/** An operation and its address. */
export interface Place {
  /** The method in upper case. */
  method: string;
  /** A path with `{id}`. */
  path: string;
  operation: Operation;
}

/** One request in two languages. */
export interface Samples {
  curl: string;
  typescript: string;
}

/** Every operation of the document, in its order. */
export function placesOf(document: OpenApiDocument): Place[] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  );
}

/**
 * A runnable request from the document's examples; null if only a provider or browser sends it. The bearer is
 * `$API_KEY` or `$ADMIN_TOKEN`.
 */
export function samplesOf(place: Place, server: string): Samples | null {
  const [scheme] = Object.keys(place.operation.security[0] ?? {});
  const isAnswered = Object.keys(place.operation.responses).some((status) => status.startsWith("2"));
  if (place.method === "OPTIONS" || scheme?.endsWith("_signature") || !isAnswered) return null;
  const request = requestOf(place, server, scheme);
  const isTyped = place.path.startsWith("/api/v1/") && request.type !== "text/csv";
  return { curl: curlOf(request), typescript: isTyped ? clientCall(place, request) : fetchCall(place, request) };
}

interface Call {
  server: string;
  method: string;
  /** The address with the values of its path and query. */
  url: string;
  bearer: string | null;
  /** The media type of the body; null without one. */
  type: string | null;
  body: unknown;
}

function requestOf({ method, path, operation }: Place, server: string, scheme: string | undefined): Call {
  const { parameters = [], requestBody } = operation;
  const given = parameters.filter(({ required }) => required);
  const inPath = (_: string, name: string) => given.find((one) => one.name === name)?.example ?? name;
  const asked = given.filter((one) => one.in === "query").map((one) => `${one.name}=${valueOf(one)}`);
  const [type, content] = Object.entries(requestBody?.content ?? {})[0] ?? [];
  const isLeftOut = type === undefined || (requestBody?.required === false && isEmpty(content?.example));
  return {
    ...{ server, method },
    url: `${server}${path.replaceAll(/\{([a-z_]+)\}/g, inPath)}${asked.length > 0 ? `?${asked.join("&")}` : ""}`,
    bearer: scheme === undefined ? null : scheme === "operator_token" ? "ADMIN_TOKEN" : "API_KEY",
    type: isLeftOut ? null : type,
    body: content?.example,
  };
}

function valueOf({ example, schema }: Parameter): string {
  const value = example ?? schema.enum?.[0] ?? schema.default;
  return typeof value === "string" ? value : JSON.stringify(value);
}

function isEmpty(value: unknown): boolean {
  return JSON.stringify(value) === "{}";
}

function curlOf({ method, url, bearer, type, body }: Call): string {
  const implied = type === null ? "GET" : "POST";
  const text = () => (typeof body === "string" ? body : JSON.stringify(body, null, 2)).replaceAll("'", `'\\''`);
  const parts = [
    `curl "${url}"`,
    ...(method === implied ? [] : [`-X ${method}`]),
    ...(bearer === null ? [] : [`-H "Authorization: Bearer $${bearer}"`]),
    ...(type === null ? [] : [`-H "Content-Type: ${type}"`, `--data-binary '${text()}'`]),
  ];
  return parts.join(" \\\n  ");
}

/** A call of the typed client of `src/client`. */
function clientCall({ method, path, operation }: Place, { server, type, body }: Call): string {
  const steps = path
    .split("/")
    .slice(2)
    .map((part) => part.replace(/^\{(.*)\}$/, ":$1"))
    .map((part) => (/^[a-z0-9]+$/.test(part) ? `.${part}` : `["${part}"]`));
  const given = (operation.parameters ?? []).filter(({ required }) => required);
  const valuesIn = (where: string) =>
    Object.fromEntries(given.filter((one) => one.in === where).map((one) => [one.name, valueOf(one)]));
  const input = {
    ...(isEmpty(valuesIn("path")) ? {} : { param: valuesIn("path") }),
    ...(operation.parameters?.some((one) => one.in === "query") ? { query: valuesIn("query") } : {}),
    ...(type === null ? {} : { json: body }),
  };
  return [
    'import { hc } from "hono/client";',
    'import type { AffiliateApi } from "./client.d.ts";',
    "",
    `const { api } = hc<AffiliateApi>("${server}", {`,
    "  headers: { Authorization: `Bearer ${process.env.API_KEY}` },",
    "});",
    "",
    `const reply = await api${steps.join("")}.$${method.toLowerCase()}(${isEmpty(input) ? "" : literal(input)});`,
    "if (!reply.ok) throw new Error((await reply.json()).error.message);",
    `console.log(await reply.${isJson(operation) ? "json" : "text"}());`,
  ].join("\n");
}

/** A fetch for routes that the typed client lacks: the operator's routes, files, and routes without a key. */
function fetchCall({ operation }: Place, { method, url, bearer, type, body }: Call): string {
  const headers = [
    ...(bearer === null ? [] : [`    Authorization: \`Bearer \${process.env.${bearer}}\`,`]),
    ...(type === null ? [] : [`    "Content-Type": "${type}",`]),
  ];
  const text = () => (typeof body === "string" ? JSON.stringify(body) : `JSON.stringify(${literal(body, "  ")})`);
  const options = [
    ...(method === "GET" ? [] : [`  method: "${method}",`]),
    ...(headers.length > 0 ? ["  headers: {", ...headers, "  },"] : []),
    ...(type === null ? [] : [`  body: ${text()},`]),
  ];
  return [
    `const reply = await fetch("${url}"${options.length > 0 ? `, {\n${options.join("\n")}\n}` : ""});`,
    "if (!reply.ok) throw new Error(await reply.text());",
    `console.log(await reply.${isJson(operation) ? "json" : "text"}());`,
  ].join("\n");
}

function isJson({ responses }: Operation): boolean {
  const [answer] = Object.entries(responses).flatMap(([status, one]) => (status.startsWith("2") ? [one] : []));
  return answer !== undefined && "content" in answer && answer.content?.["application/json"] !== undefined;
}

/** A value in TypeScript syntax: names without quotes. */
function literal(value: unknown, indent = ""): string {
  return JSON.stringify(value, null, 2)
    .split("\n")
    .map((line) => line.replace(/^( *)"([A-Za-z_]\w*)": /, "$1$2: "))
    .join(`\n${indent}`);
}
