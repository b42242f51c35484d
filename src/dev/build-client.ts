/**
 * `npm run build:client`: writes the files that follow the OpenAPI document. src/client/index.d.ts has the types with which
 * `hono/client` calls the API: the named schemas and the operations, so that an owner's project needs this file alone of the
 * service's source. src/docs/webhooks.md has a table of the events. With --check it only compares, and fails if a file does
 * not follow the document.
 */
import { spawnSync } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { extname, join } from "node:path";
import { build } from "esbuild";
import type { Answer, JsonSchema, OpenApiDocument, Operation } from "../http/openapi/types.ts";
import { ROOT } from "./root.ts";

const source = await readDocument();
await follow("src/client/index.d.ts", () => clientTypes(source));
await follow("src/docs/webhooks.md", (guide) => guide.replace(/^\| `event`[^]*?(?=\n\n)/m, () => eventTable(source)));

async function follow(name: string, made: (written: string) => string): Promise<void> {
  const file = join(ROOT, name);
  const written = await readFile(file, "utf8").catch(() => "");
  const current = await formatted(made(written), extname(name));
  if (written === current) {
    console.log(`${name} is up to date.`);
  } else if (process.argv.includes("--check")) {
    console.error(`${name} does not follow the document: run npm run build:client.`);
    process.exitCode = 1;
  } else {
    await writeFile(file, current);
    console.log(`${name} written.`);
  }
}

function eventTable({ document: { webhooks } }: Source): string {
  const rows = Object.entries(webhooks).map(([event, { post }]) => {
    const data = post.requestBody?.content["application/json"]?.schema?.properties?.["data"];
    const name = data?.$ref?.split("/").at(-1) ?? "";
    return `| \`${event}\` | ${data?.description?.slice(0, -1)} | \`${name}\` |`;
  });
  return ["| `event` | when | `data` |", "| --- | --- | --- |", ...rows].join("\n");
}

interface Source {
  document: OpenApiDocument;
  /** The body of every refusal. */
  statuses: readonly number[];
}

async function readDocument(): Promise<Source> {
  const contents = `
    import { buildDocument } from "./openapi/document.ts";
    import { ERROR_CODES, statusOf } from "./errors.ts";
    export const document = buildDocument();
    export const statuses = [...new Set(ERROR_CODES.map(statusOf))];`;
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: join(ROOT, "src", "http"), loader: "ts" },
    ...{ bundle: true, write: false, format: "esm", platform: "node", logLevel: "error" },
    loader: { ".css": "text", ".txt": "text" },
  });
  const module = Buffer.from(outputFiles[0]!.contents).toString("base64");
  return (await import(`data:text/javascript;base64,${module}`)) as Source;
}

function clientTypes({ document: { paths, components }, statuses }: Source): string {
  const schemas = Object.entries(components.schemas).map(
    ([name, schema]) => `export type ${typeName(name)} = ${typeOf(schema)};\n`,
  );
  const routes = Object.entries(paths)
    .filter(([path]) => path.startsWith("/api/v1/"))
    .map(([path, operations]) => {
      const methods = Object.entries(operations).map(
        ([method, operation]) => `$${method}: ${methodType(operation)};\n`,
      );
      return `"${path.replaceAll(/\{(\w+)\}/g, ":$1")}": {\n${methods.join("")}};\n`;
    });
  return `// Made by npm run build:client from the OpenAPI document.
import type { Hono } from "hono";
import type { ApplyGlobalResponse } from "hono/client";
import type { BlankEnv } from "hono/types";
import type { JSONValue } from "hono/utils/types";

/** The API as \`hc<AffiliateApi>(url)\` of \`hono/client\` calls it: each route with its input and its replies. */
export type AffiliateApi = ApplyGlobalResponse<Hono<BlankEnv, Routes, "/">, Refusals>;

/** Any route may refuse; \`reply.ok\` distinguishes the two. */
type Refusals = { [Status in ${statuses.join(" | ")}]: { json: ApiError } };

type Json<Input, Output, Status extends number> = { input: Input; output: Output; outputFormat: "json"; status: Status };
type File<Input, Status extends number> = { input: Input; output: string; outputFormat: "body"; status: Status };

type Routes = {
${routes.join("")}};

${schemas.join("\n")}`;
}

function methodType(operation: Operation): string {
  const replies = Object.entries(operation.responses).filter(([status]) => Number(status) < 300);
  const statuses = replies.map(([status]) => status).join(" | ");
  const { content } = replies[0]![1] as Answer;
  const reply = content?.["application/json"]?.schema;
  const input = inputType(operation);
  return reply ? `Json<${input}, ${typeOf(reply)}, ${statuses}>` : `File<${input}, ${statuses}>`;
}

function inputType({ parameters = [], requestBody }: Operation): string {
  const body = requestBody?.content["application/json"]?.schema;
  const inputs = (["path", "query"] as const).map((place) => {
    const fields = parameters.filter((one) => one.in === place);
    const members = fields.map(({ name, required, schema }) => member(name, required, textType(schema)));
    return fields.length === 0 ? "" : `${place === "path" ? "param" : place}: { ${members.join(" ")} };`;
  });
  return `{ ${inputs.join(" ")} ${requestBody && body ? member("json", requestBody.required, typeOf(body)) : ""} }`;
}

/** Returns the type of a parameter, which is text in an address. */
function textType(schema: JsonSchema): string {
  return schema.enum ? typeOf(schema) : "string";
}

function typeOf(schema: JsonSchema): string {
  const { $ref, enum: values, anyOf, oneOf, type, items, prefixItems } = schema;
  if ($ref !== undefined) return typeName($ref.slice($ref.lastIndexOf("/") + 1));
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (values) return values.map((value) => JSON.stringify(value)).join(" | ");
  const choices = anyOf ?? oneOf ?? (Array.isArray(type) ? type.map((one) => ({ ...schema, type: one })) : undefined);
  // In a union of arrays, the compiler may drop an element type that another one extends.
  if (choices?.every((one) => one.type === "array")) {
    return typeOf({ type: "array", items: { anyOf: choices.map((one) => one.items ?? {}) } });
  }
  if (choices) return choices.map(typeOf).join(" | ");
  if (prefixItems) return `[${prefixItems.map(typeOf).join(", ")}]`;
  if (type === "array") return `(${typeOf(items ?? {})})[]`;
  if (type === "object") return objectType(schema);
  return type === undefined ? "JSONValue" : type === "integer" ? "number" : String(type);
}

function objectType({ properties = {}, required = [], additionalProperties }: JsonSchema): string {
  const members = Object.entries(properties).map(([name, schema]) =>
    member(name, required.includes(name), typeOf(schema)),
  );
  if (typeof additionalProperties === "object") {
    // The known fields keep their own types.
    const others = members.length > 0 ? "JSONValue | undefined" : typeOf(additionalProperties);
    members.push(`[name: string]: ${others};`);
  }
  return `{\n${members.join("\n")}\n}`;
}

function member(name: string, isRequired: boolean, type: string): string {
  return isRequired ? `${name}: ${type};` : `${name}?: ${type} | undefined;`;
}

/** The global `Error` keeps its name. */
function typeName(schema: string): string {
  return schema === "Error" ? "ApiError" : schema;
}

async function formatted(text: string, extension: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "client-"));
  try {
    const file = join(folder, `file${extension}`);
    await writeFile(file, text);
    const oxfmt = join(ROOT, "node_modules", "oxfmt", "bin", "oxfmt");
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      [oxfmt, "--config", join(ROOT, ".oxfmtrc.json"), file],
      {
        encoding: "utf8",
      },
    );
    if (status !== 0) throw new Error(`not formatted:\n${stdout}${stderr}`);
    return await readFile(file, "utf8");
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
