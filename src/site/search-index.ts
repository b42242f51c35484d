import { ERROR_CODES, statusOf } from "../http/errors.ts";
import { stemsOf, type Entry, type SearchIndex } from "../http/docs-rank.ts";
import { ERRORS } from "../http/openapi/errors.ts";
import { placesOf } from "../http/openapi/samples.ts";
import type { OpenApiDocument, Operation } from "../http/openapi/types.ts";
import { CODE_TABLES, rowId } from "./codes.ts";
import { conventionsOf } from "./conventions.ts";
import type { RenderedGuide } from "./guides.tsx";
import { textOfHtml } from "./html-text.ts";
import { fieldsOf, refusalsOf } from "./operation-parts.ts";
import { sectionGroups, sectionPath } from "./sections.ts";
import { synonymsBy } from "./synonyms.ts";

interface Found extends Pick<Entry, "title" | "href" | "kind"> {
  about?: string;
  /** More text that leads to it, beside `title`, `kind` and `about`. */
  text: string;
}

/** Everything that can be found in the guides and the reference; equal matches are listed in this order. */
export function searchIndex(document: OpenApiDocument, guides: readonly RenderedGuide[]): SearchIndex {
  const dated = (name: string) => name === "changelog";
  const found = [
    ...guideEntries(guides.filter(({ name }) => !dated(name))),
    ...conventionEntries(document),
    ...sectionEntries(document),
    ...operationEntries(document),
    ...eventEntries(document),
    ...errorEntries(),
    ...codeEntries(),
    ...guideEntries(guides.filter(({ name }) => dated(name))),
  ];
  return { synonyms: synonymsBy(stemsOf), entries: found.map(entryOf) };
}

function entryOf({ title, href, kind, about = "", text }: Found): Entry {
  const head = stemsOf(title);
  const words = stemsOf(`${kind} ${about} ${text}`).filter((word) => word.length > 1 && !head.includes(word));
  return { title, href, kind, about: beginning(about), head: spaced(head), words: spaced(words) };
}

function operationEntries(document: OpenApiDocument): Found[] {
  return placesOf(document).map(({ method, path, operation }) => {
    const { operationId, summary, description = "", tags, parameters = [] } = operation;
    const names = [...parameters.map(({ name }) => name), ...fieldNames(document, operation)];
    return {
      title: summary,
      href: `${sectionPath(tags[0] ?? "")}#${operationId}`,
      kind: `${method} ${path}`,
      about: description,
      text: [operationId, ...tags, ...names, ...refusalsOf(operation)].join(" "),
    };
  });
}

function sectionEntries(document: OpenApiDocument): Found[] {
  const sections = sectionGroups(document).flatMap((group) => group.sections);
  return sections.map(({ name, title, about }) => ({
    title,
    href: sectionPath(name),
    kind: "Reference",
    about,
    text: "",
  }));
}

function conventionEntries(document: OpenApiDocument): Found[] {
  return conventionsOf(document).map(({ id, title, text }) => ({
    title,
    href: `/docs#${id}`,
    kind: "Conventions",
    about: text,
    text: "http rest",
  }));
}

function eventEntries(document: OpenApiDocument): Found[] {
  return Object.entries(document.webhooks).map(([event, { post }]) => ({
    title: event,
    href: `${sectionPath("outbound")}#${event}`,
    kind: "Event",
    about: post.description ?? "",
    text: fieldNames(document, post).join(" "),
  }));
}

function errorEntries(): Found[] {
  return ERROR_CODES.map((code) => ({
    title: code,
    href: `${sectionPath("errors")}#${code}`,
    kind: "Error",
    about: ERRORS[code].cause,
    text: `${ERRORS[code].cure} ${statusOf(code)}`,
  }));
}

function codeEntries(): Found[] {
  return CODE_TABLES.flatMap((table) =>
    table.rows.map(({ code, text }) => ({
      title: code,
      href: `${sectionPath("errors")}#${rowId(table, code)}`,
      kind: table.title,
      about: text,
      text: "",
    })),
  );
}

/** Each section of a guide, by its headings. */
function guideEntries(guides: readonly RenderedGuide[]): Found[] {
  return guides.flatMap(({ name, title, about, html }) => [
    {
      title,
      href: `/docs/${name}`,
      kind: "Guide",
      about: `${about}.`,
      text: textOfHtml(html.split("<h2")[0] ?? "", " "),
    },
    ...html
      .split(/(?=<h[23] id=")/)
      .slice(html.startsWith("<h2") ? 0 : 1)
      .map((part) => {
        const [, id = "", heading = ""] = /^<h[23] id="([^"]+)">(.*?)<\/h[23]>/.exec(part) ?? [];
        return {
          title: textOfHtml(heading),
          href: `/docs/${name}#${id}`,
          kind: `Guide: ${title}`,
          about: textOfHtml(/<p>(.*?)<\/p>/s.exec(part)?.[1] ?? ""),
          text: textOfHtml(part, " "),
        };
      }),
  ]);
}

/** The names of an operation's fields, in its body and in its replies. */
function fieldNames(
  document: OpenApiDocument,
  { requestBody, responses }: Pick<Operation, "requestBody" | "responses">,
): string[] {
  const replies = Object.values(responses).flatMap((answer) => ("$ref" in answer ? [] : [answer.content]));
  const contents = [requestBody?.content, ...replies].flatMap((content) => Object.values(content ?? {}));
  const names = contents.flatMap(({ schema }) => (schema ? fieldsOf(document, schema).map(({ name }) => name) : []));
  // `data[].trace.flows[].name` is found by its own name.
  return [...new Set(names.map((name) => name.split(".").at(-1) ?? ""))];
}

/** The first sentence. */
function beginning(text: string): string {
  return (/^.*?\.(?=\s|$)/s.exec(text)?.[0] ?? text).replace(/:$/, ".");
}

function spaced(words: string[]): string {
  return ` ${[...new Set(words)].join(" ")} `;
}
