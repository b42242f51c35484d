import { Hono } from "hono";
import { html, raw } from "hono/html";
import { notFound } from "../lib/errors.ts";
import { GUIDES } from "./guides/list.ts";
import { PageHead } from "./pages/layout.tsx";
import { page } from "./pages/page.tsx";
import { DocsFrame } from "./pages/parts/docs-frame.tsx";
import type { PageEnv } from "./session.ts";

/** So long a guide may be kept by a browser or a cache: it changes with a deployment only. */
const CACHE = "public, max-age=3600";

/** `GET /docs/:guide`: the guides of src/docs, made into pages by `npm run build:guides`; the same for everybody. */
export const guides = new Hono<PageEnv>().get("/docs/:guide", (c) => {
  const guide = GUIDES.find(({ name }) => name === c.req.param("guide"));
  if (!guide) throw notFound("guide");
  let body = rendered.get(guide.name);
  if (!body) rendered.set(guide.name, (body = html`${<Guide {...guide} />}`));
  c.header("Cache-Control", CACHE);
  return page(c, { title: guide.title }, body);
});

/** By the guide's name, once for each isolate. */
const rendered = new Map<string, ReturnType<typeof html>>();

function Guide({ name, title, about, html: contents }: (typeof GUIDES)[number]) {
  const sections = [...contents.matchAll(/<h2 id="([^"]+)">([^\n]*)<\/h2>/g)].map(([, id = "", label = ""]) => ({
    href: `#${id}`,
    label: label.replaceAll(/<[^>]*>/g, ""),
  }));
  return (
    <DocsFrame at={`/docs/${name}`} places={sections}>
      <PageHead title={title} lede={about} />
      {/* Made at build time from a text of ours: it is the only page text that is not escaped here. */}
      <article class="card prose guide">{raw(contents)}</article>
    </DocsFrame>
  );
}
