import { ERROR_CODES } from "../http/errors.ts";
import { ERRORS } from "../http/openapi/errors.ts";
import { placesOf } from "../http/openapi/samples.ts";
import type { JsonSchema, OpenApiDocument } from "../http/openapi/types.ts";
import type { Entry } from "../http/docs-search.tsx";
import { CODE_TABLES, rowId } from "./codes.ts";
import type { RenderedGuide } from "./guides.tsx";
import { textOfHtml } from "./html-text.ts";
import { sectionPath } from "./sections.ts";

/** All that can be found in the guides and the reference. */
export function searchIndex(document: OpenApiDocument, guides: readonly RenderedGuide[]): Entry[] {
  const codes = [...errorEntries(), ...codeEntries()];
  return [...operationEntries(document), ...eventEntries(document), ...codes, ...guideEntries(guides)];
}

function operationEntries(document: OpenApiDocument): Entry[] {
  return placesOf(document).map(({ method, path, operation }) => {
    const { operationId, summary, description = "", tags, parameters = [], requestBody } = operation;
    const body = Object.values(requestBody?.content ?? {})[0]?.schema;
    const names = [...parameters.map(({ name }) => name), ...(body ? fieldsOf(document, body) : [])];
    return {
      title: summary,
      href: `${sectionPath(tags[0] ?? "")}#${operationId}`,
      kind: `${method} ${path}`,
      about: beginning(description),
      words: wordsOf([operationId, method, path, description, ...tags, ...names].join(" ")),
    };
  });
}

function eventEntries({ webhooks }: OpenApiDocument): Entry[] {
  return Object.entries(webhooks).map(([event, { post }]) => ({
    title: event,
    href: `${sectionPath("outbound")}#${event}`,
    kind: "Event",
    about: beginning(post.description ?? ""),
    words: wordsOf(post.description ?? ""),
  }));
}

function errorEntries(): Entry[] {
  return ERROR_CODES.map((code) => ({
    title: code,
    href: `${sectionPath("errors")}#${code}`,
    kind: "Error",
    about: ERRORS[code].cause,
    words: wordsOf(`${ERRORS[code].cause} ${ERRORS[code].cure}`),
  }));
}

function codeEntries(): Entry[] {
  return CODE_TABLES.flatMap((table) =>
    table.rows.map(({ code, text }) => ({
      title: code,
      href: `${sectionPath("errors")}#${rowId(table, code)}`,
      kind: table.title,
      about: beginning(text),
      words: wordsOf(`${table.title} ${text}`),
    })),
  );
}

/** Each section of a guide, by its headings. */
function guideEntries(guides: readonly RenderedGuide[]): Entry[] {
  return guides.flatMap(({ name, title, about, html }) => [
    { title, href: `/docs/${name}`, kind: "Guide", about: `${about}.`, words: wordsOf(about) },
    ...html
      .split(/(?=<h[23] id=")/)
      .slice(html.startsWith("<h2") ? 0 : 1)
      .map((part) => {
        const [, id = "", heading = ""] = /^<h[23] id="([^"]+)">(.*?)<\/h[23]>/.exec(part) ?? [];
        return {
          title: textOfHtml(heading),
          href: `/docs/${name}#${id}`,
          kind: `${title} guide`,
          about: beginning(textOfHtml(/<p>(.*?)<\/p>/s.exec(part)?.[1] ?? "")),
          words: wordsOf(textOfHtml(part, " ")),
        };
      }),
  ]);
}

function fieldsOf({ components }: OpenApiDocument, { $ref, properties = {} }: JsonSchema): string[] {
  const { properties: named = properties } = components.schemas[$ref?.split("/").at(-1) ?? ""] ?? {};
  return Object.keys(named);
}

/** The first sentence. */
function beginning(text: string): string {
  return (/^.*?\.(?=\s|$)/s.exec(text)?.[0] ?? text).replace(/:$/, ".");
}

function wordsOf(text: string): string {
  const words = text.toLowerCase().split(/[^a-z0-9_./-]/);
  return [...new Set(words.filter((word) => word.length > 2))].join(" ");
}
