import { html, raw } from "hono/html";
import type { Child } from "hono/jsx";
import { DOCS_SCRIPT_URL } from "../pages/assets.ts";
import { page } from "../pages/page.tsx";

/** So long a page may be kept by a browser or a cache: it changes with a deployment only. */
export const CACHE = "public, max-age=3600";

/** Answers with a page of the documentation; `body` has the frame. */
export async function docsPage(c: Parameters<typeof page>[0], title: string, body: Child | Promise<string>) {
  return page(c, { title, script: DOCS_SCRIPT_URL }, body instanceof Promise ? raw(await body) : body);
}

/** Answers with the text of a page, for programs that read. */
export function textReply(c: Parameters<typeof page>[0], markdown: string): Response {
  return c.body(markdown, 200, { "Content-Type": "text/markdown; charset=utf-8", "Cache-Control": CACHE });
}

/** What is the same for everybody is rendered once for each isolate. */
export function rendered(key: string, make: () => Child): Promise<string> {
  let body = kept.get(key);
  if (!body) kept.set(key, (body = written(make())));
  return body;
}

async function written(body: Child): Promise<string> {
  return (await html`${body}`).toString();
}

const kept = new Map<string, Promise<string>>();
