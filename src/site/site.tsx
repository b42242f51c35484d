import { render, type Child } from "../http/jsx.ts";
import styles from "../http/pages/styles.css";
import script from "../http/pages/script.txt";
import { SENT_EVENT_TYPES } from "../domain/event.ts";
import { FoundPage } from "../http/docs-search.tsx";
import { dataSchema, schemaPath } from "../http/openapi/document.ts";
import { placesOf } from "../http/openapi/samples.ts";
import { DOCS_SCRIPT_URL, SCRIPT_URL, STYLES_URL } from "../http/pages/assets.ts";
import { Document } from "../http/pages/page.tsx";
import { DOCUMENT } from "./document.ts";
import { DocsFrame } from "./frame.tsx";
import { GuidePage, guideMarkdown, renderGuides, type RenderedGuide } from "./guides.tsx";
import { headersText } from "./headers.ts";
import { llmsText, sectionMarkdown } from "./markdown.ts";
import { partsOf, SectionPage } from "./reference.tsx";
import docsScript from "./script.txt";
import { searchIndex } from "./search-index.ts";
import { sectionGroups, sectionPath } from "./sections.ts";
import { idOf, StartPage } from "./start-page.tsx";

/** The samples call this if the deployment's address is not known. */
const EXAMPLE_SERVER = "https://affiliates.example.com";

/**
 * Makes all that is the same for every caller: the tracking script, style and scripts of the pages, the types of the
 * client, the OpenAPI document with the schemas of events (HTTP-17, HOOK-21), and the documentation as pages, Markdown and a search index (HTTP-33 to
 * HTTP-35). Returns the text of each file by its path, with the headers in `_headers`, as the platform serves them.
 * `server` is the deployment's origin, or null.
 */
export function makeSite(
  { tracker, client }: { tracker: string; client: string },
  server: string | null,
): Record<string, string> {
  const guides = renderGuides();
  return {
    _headers: headersText(),
    "service.js": tracker,
    "client.d.ts": client,
    [fileOf(STYLES_URL)]: styles,
    [fileOf(SCRIPT_URL)]: script,
    [fileOf(DOCS_SCRIPT_URL)]: docsScript,
    "openapi.json": JSON.stringify({ ...DOCUMENT, servers: [{ url: server ?? "/" }] }),
    "llms.txt": llmsText(DOCUMENT, server ?? EXAMPLE_SERVER),
    ...Object.fromEntries(
      SENT_EVENT_TYPES.map((event) => [fileOf(schemaPath(event)), JSON.stringify(dataSchema(event))]),
    ),
    "docs.html": startPage(),
    ...searchFiles(guides),
    ...guideFiles(guides),
    ...referenceFiles(server ?? EXAMPLE_SERVER),
  };
}

function fileOf(path: string): string {
  return path.slice(1);
}

function pageText(title: string, body: Child): string {
  const document = (
    <Document title={title} script={DOCS_SCRIPT_URL}>
      {body}
    </Document>
  );
  return `<!doctype html>${render(document)}`;
}

function startPage(): string {
  const places = [
    { href: "#guides", label: "Guides" },
    ...sectionGroups(DOCUMENT).map(({ name }) => ({ href: `#${idOf(name)}`, label: name })),
    { href: "#conventions", label: "Conventions" },
  ];
  return pageText(
    "Documentation",
    <DocsFrame at="/docs" places={places}>
      <StartPage document={DOCUMENT} />
    </DocsFrame>,
  );
}

function searchFiles(guides: readonly RenderedGuide[]): Record<string, string> {
  const page = (
    <DocsFrame at="/docs/search" places={[]}>
      <FoundPage query="" found={[]} />
    </DocsFrame>
  );
  return {
    "docs/search.html": pageText("Search", page),
    "docs/search.json": JSON.stringify(searchIndex(DOCUMENT, guides)),
  };
}

function guideFiles(guides: readonly RenderedGuide[]): Record<string, string> {
  const files: Record<string, string> = {};
  for (const guide of guides) {
    files[`docs/${guide.name}.html`] = pageText(guide.title, <GuidePage {...guide} />);
    files[`docs/${guide.name}.md`] = guideMarkdown(guide);
  }
  return files;
}

function referenceFiles(server: string): Record<string, string> {
  const files: Record<string, string> = {};
  for (const section of sectionGroups(DOCUMENT).flatMap(({ sections }) => sections)) {
    const places = placesOf(DOCUMENT).filter(({ operation }) => operation.tags.includes(section.title));
    const path = sectionPath(section.name);
    const page = (
      <DocsFrame at={path} places={partsOf(section, places)}>
        <SectionPage document={DOCUMENT} server={server} section={section} places={places} />
      </DocsFrame>
    );
    files[`${fileOf(path)}.html`] = pageText(`${section.title} · API reference`, page);
    files[`${fileOf(path)}.md`] = sectionMarkdown(DOCUMENT, server, section, places);
  }
  return files;
}
