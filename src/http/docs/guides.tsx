import { Hono } from "hono";
import { raw } from "hono/html";
import { notFound } from "../../lib/errors.ts";
import { GUIDES } from "../guides/list.ts";
import { PageHead } from "../pages/layout.tsx";
import { DocsFrame } from "../pages/parts/docs-frame.tsx";
import type { PageEnv } from "../session.ts";
import { CACHE, docsPage, rendered, textReply } from "./docs-page.tsx";
import { textOfHtml } from "./html-text.ts";
import { guideMarkdown } from "./markdown.ts";

/** `GET /docs/:guide`: the guides of src/docs, made into pages by `npm run build:guides`; with `.md`, as Markdown. */
export const guides = new Hono<PageEnv>().get("/docs/:guide", (c) => {
  const asked = c.req.param("guide");
  const guide = GUIDES.find(({ name }) => name === asked || `${name}.md` === asked);
  if (!guide) throw notFound("guide");
  if (asked !== guide.name) return textReply(c, guideMarkdown(guide));
  c.header("Cache-Control", CACHE);
  return docsPage(
    c,
    guide.title,
    rendered(`/docs/${guide.name}`, () => <Guide {...guide} />),
  );
});

function Guide({ name, title, about, html: contents }: (typeof GUIDES)[number]) {
  const sections = [...contents.matchAll(/<h2 id="([^"]+)">([^\n]*)<\/h2>/g)].map(([, id = "", label = ""]) => ({
    href: `#${id}`,
    label: textOfHtml(label),
  }));
  return (
    <DocsFrame at={`/docs/${name}`} places={sections}>
      <PageHead title={title} lede={about} />
      {/* Made at build time from a text of ours: it is the only page text that is not escaped here. */}
      <article class="card prose guide">{raw(contents)}</article>
    </DocsFrame>
  );
}
