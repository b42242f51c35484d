import type { OpenApiDocument } from "../http/openapi/types.ts";

/** A page of the reference. */
export interface Section {
  /** The last part of its address. */
  name: string;
  title: string;
  about: string;
}

/** The sections of the reference, in groups by their callers; each has a page of its own. */
export function sectionGroups(document: OpenApiDocument): { name: string; sections: Section[] }[] {
  const groups = document["x-tagGroups"].map(({ name, tags }) => ({
    name,
    sections: document.tags
      .filter((tag) => tags.includes(tag.name))
      .map((tag) => ({ name: nameOf(tag.name), title: tag.name, about: tag.description })),
  }));
  return [...groups, { name: "Errors and events", sections: OWN }];
}

/** Those that are of no tag. */
const OWN: Section[] = [
  {
    name: "errors",
    title: "Errors",
    about: "Every error code with its cause and cure, and what outcomes and other reasons mean.",
  },
  {
    name: "outbound",
    title: "Outbound webhooks",
    about: "What your endpoints receive: events, headers and signatures.",
  },
];

/** The address of a section, given its name or the name of its tag. */
export function sectionPath(name: string): string {
  return `/docs/api/${nameOf(name)}`;
}

function nameOf(tag: string): string {
  return tag.toLowerCase().replaceAll(" ", "-");
}
