import type { OpenApiDocument } from "../http/openapi/types.ts";

/** A rule of all calls: a paragraph of the document's description that begins with its name. */
export interface Convention {
  /** The anchor on the first page of the documentation. */
  id: string;
  title: string;
  /** Markdown. */
  text: string;
}

/** The conventions, from the paragraphs `**Name**: text` of the document's description. */
export function conventionsOf({ info }: OpenApiDocument): Convention[] {
  return info.description.split("\n\n").flatMap((paragraph) => {
    const [, title, text] = /^\*\*([^*]+)\*\*: (.*)$/s.exec(paragraph) ?? [];
    if (title === undefined || text === undefined) return [];
    return [
      { id: title.toLowerCase().replaceAll(" ", "-"), title, text: `${text.charAt(0).toUpperCase()}${text.slice(1)}` },
    ];
  });
}
