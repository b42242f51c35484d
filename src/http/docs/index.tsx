import { Hono } from "hono";
import type { Bindings } from "../../env.ts";
import { notFound } from "../../lib/errors.ts";
import { readPublicUrl } from "../../lib/public-url.ts";
import { openApiDocument } from "../openapi.ts";
import { placesOf } from "../openapi/samples.ts";
import { DocsFrame } from "../pages/parts/docs-frame.tsx";
import type { PageEnv } from "../session.ts";
import { CACHE, docsPage, rendered, textReply } from "./docs-page.tsx";
import { FoundPage } from "./found.tsx";
import { guides } from "./guides.tsx";
import { llmsText, sectionMarkdown } from "./markdown.ts";
import { partsOf, SectionPage } from "./reference.tsx";
import { search, searchIndex, type Entry } from "./search.ts";
import { sectionGroups } from "./sections.ts";
import { idOf, StartPage } from "./start.tsx";

/** Where `PUBLIC_URL` is not set, the samples call this. */
const EXAMPLE_SERVER = "https://affiliates.example.com";
const LONGEST_QUERY = 200;

/**
 * `/docs` and what is below it: the guides and the document of `openapi.ts` for people to read (HTTP-17, HTTP-33).
 * Whole without a script. The pages are the same for everybody, and rendered once for each isolate.
 */
export const docs = new Hono<PageEnv>()
  .get("/docs", (c) => {
    const document = openApiDocument();
    const places = [
      { href: "#guides", label: "Guides" },
      ...sectionGroups(document).map(({ name }) => ({ href: `#${idOf(name)}`, label: name })),
      { href: "#conventions", label: "Conventions" },
    ];
    c.header("Cache-Control", CACHE);
    return docsPage(
      c,
      "Documentation",
      rendered("/docs", () => (
        <DocsFrame at="/docs" places={places}>
          <StartPage document={document} />
        </DocsFrame>
      )),
    );
  })
  .get("/docs/search", (c) => {
    const query = (c.req.query("q") ?? "").trim().slice(0, LONGEST_QUERY);
    return docsPage(
      c,
      "Search",
      <DocsFrame at="/docs/search" places={[]} query={query}>
        <FoundPage query={query} found={search(index(), query)} />
      </DocsFrame>,
    );
  })
  // The index of the search, for the script of these pages.
  .get("/docs/search.json", (c) => {
    c.header("Cache-Control", CACHE);
    return c.json(index().map(({ about: _, ...entry }) => entry));
  })
  // With `.md` behind its name, the same as Markdown.
  .get("/docs/api/:section", (c) => {
    const document = openApiDocument();
    const [, name = "", isText] = /^([^.]*)(\.md)?$/.exec(c.req.param("section")) ?? [];
    const section = sectionGroups(document)
      .flatMap(({ sections }) => sections)
      .find((one) => one.name === name);
    if (!section) throw notFound("section");
    const server = serverOf(c.env);
    const places = placesOf(document).filter(({ operation }) => operation.tags.includes(section.title));
    if (isText !== undefined) return textReply(c, sectionMarkdown(document, server, section, places));
    const body = rendered(`${server} ${name}`, () => (
      <DocsFrame at={`/docs/api/${name}`} places={partsOf(section, places)}>
        <SectionPage document={document} server={server} section={section} places={places} />
      </DocsFrame>
    ));
    c.header("Cache-Control", CACHE);
    return docsPage(c, `${section.title} · API reference`, body);
  })
  .get("/llms.txt", (c) => {
    c.header("Cache-Control", CACHE);
    return c.text(llmsText(openApiDocument(), serverOf(c.env)));
  })
  .route("/", guides);

function serverOf(env: Bindings): string {
  const base = readPublicUrl(env);
  return "origin" in base ? base.origin : EXAMPLE_SERVER;
}

function index(): readonly Entry[] {
  return (made ??= searchIndex(openApiDocument()));
}

let made: Entry[] | undefined;
