import { ERROR_CODES, statusOf } from "../http/errors.ts";
import { GUIDES } from "./guide-list.ts";
import { ERRORS } from "../http/openapi/errors.ts";
import { samplesOf, type Place } from "../http/openapi/samples.ts";
import type { OpenApiDocument } from "../http/openapi/types.ts";
import { CODE_TABLES } from "./codes.ts";
import { accessOf, fieldsOf, refusalsOf } from "./operation-parts.ts";
import { prettyJson, textOf, typeOf } from "./schema-text.ts";
import { sectionGroups, sectionPath, type Section } from "./sections.ts";
import type { JsonSchema } from "../http/openapi/types.ts";

/** `llms.txt`: every guide and every section of the reference, with the addresses of their texts. */
export function llmsText({ info, ...document }: OpenApiDocument, server: string): string {
  const line = (title: string, path: string, about: string) => `- [${title}](${server}${path}): ${about}`;
  const [about = ""] = info.description.split("\n\n");
  return [
    `# ${info.title}`,
    `> ${about}`,
    "## Guides",
    GUIDES.map((guide) => line(guide.title, `/docs/${guide.name}.md`, guide.about)).join("\n"),
    ...sectionGroups({ info, ...document }).flatMap(({ name, sections }) => [
      `## Reference: ${name}`,
      sections.map((one) => line(one.title, `${sectionPath(one.name)}.md`, one.about)).join("\n"),
    ]),
    "## Optional",
    line("OpenAPI", "/openapi.json", "the document that the reference is made from"),
    "",
  ].join("\n\n");
}

export function sectionMarkdown(
  document: OpenApiDocument,
  server: string,
  section: Section,
  places: readonly Place[],
): string {
  const own = section.name === "errors" ? errorParts() : section.name === "outbound" ? eventParts(document) : [];
  const parts = [`# ${section.title}`, section.about, ...own];
  return [...parts, ...places.flatMap((place) => operationParts(document, server, place)), ""].join("\n\n");
}

function errorParts(): string[] {
  const errors = ERROR_CODES.map(
    (code) => `- \`${code}\` (${statusOf(code)}): ${ERRORS[code].cause} ${ERRORS[code].cure}`,
  );
  const tables = CODE_TABLES.flatMap(({ title, about, rows }) => [
    `## ${title}`,
    about,
    rows.map(({ code, text }) => `- \`${code}\`: ${text}`).join("\n"),
  ]);
  return [errors.join("\n"), ...tables];
}

function eventParts(document: OpenApiDocument): string[] {
  const headers = document.webhooks["ping"]?.post.parameters ?? [];
  return [
    "Each event is a POST to your endpoint. `/docs/webhooks.md` shows how to verify it.",
    ...list(
      "Headers",
      headers.map(({ name, description = "" }) => `- \`${name}\`: ${description}`),
    ),
    ...Object.entries(document.webhooks).flatMap(([event, { post }]) => {
      const { schema, example } = post.requestBody?.content["application/json"] ?? {};
      return [
        `## ${event}`,
        post.description ?? "",
        ...list("Fields", fieldLines(document, schema)),
        block("json", prettyJson(example)),
      ];
    }),
  ];
}

function operationParts(document: OpenApiDocument, server: string, place: Place): string[] {
  const { method, path, operation } = place;
  const { operationId, summary, description, parameters = [], requestBody, responses, security } = operation;
  const [body] = Object.values(requestBody?.content ?? {});
  const samples = samplesOf(place, server);
  return [
    `## ${summary}`,
    `\`${method} ${path}\` (\`${operationId}\`). ${accessOf(security)}`,
    ...(description === undefined ? [] : [description]),
    ...list(
      "Parameters",
      parameters.map(({ name, schema, required, description: text = "" }) =>
        fieldLine(name, { description: text, ...schema }, required),
      ),
    ),
    ...list("Body", fieldLines(document, body?.schema)),
    ...(samples === null ? [] : [block("sh", samples.curl)]),
    ...Object.entries(responses).flatMap(([status, answer]) => {
      if ("$ref" in answer) return [];
      const { schema, example } = answer.content?.["application/json"] ?? {};
      return [
        `${status}: ${answer.description}`,
        ...list("Fields", fieldLines(document, schema)),
        ...(example === undefined ? [] : [block("json", prettyJson(example))]),
      ];
    }),
    `Errors: ${
      refusalsOf(operation)
        .map((code) => `\`${code}\``)
        .join(", ") || "none"
    }.`,
  ];
}

function fieldLines(document: OpenApiDocument, schema: JsonSchema | undefined): string[] {
  if (schema === undefined) return [];
  return fieldsOf(document, schema).map(({ name, field, required }) => fieldLine(name, field, required));
}

function fieldLine(name: string, field: JsonSchema, required: boolean): string {
  return `- \`${name}\` (${typeOf(field)}${required ? ", required" : ""}): ${textOf(field)}`;
}

function list(title: string, lines: string[]): string[] {
  return lines.length === 0 ? [] : [`${title}:\n\n${lines.join("\n")}`];
}

function block(language: string, text: string): string {
  return `\`\`\`${language}\n${text}\n\`\`\``;
}
