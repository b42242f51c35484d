import { Hono } from "hono";
import type { AppEnv } from "../env.ts";
import { LONGEST_QUERY, search, type Entry, type SearchIndex } from "./docs-rank.ts";
import { render } from "./jsx.ts";
import { PageHead } from "./pages/layout.tsx";

/** `GET /docs/search` (HTTP-34): fills the results into the static page of the documentation (`src/site`). */
export const docsSearch = new Hono<AppEnv>().get("/docs/search", async (c) => {
  const query = (c.req.query("q") ?? "").trim().slice(0, LONGEST_QUERY);
  const read = (path: string) => c.env.ASSETS.fetch(`https://static${path}`);
  const [page, index] = await Promise.all([read("/docs/search"), read("/docs/search.json")]);
  const found = search(await index.json<SearchIndex>(), query);
  // The rewriter escapes only quotes in an attribute.
  const shown = render(query);
  const contents = render(<FoundPage query={query} found={found} />);
  const filled = new HTMLRewriter()
    .on("[data-search] input", { element: (field) => void field.setAttribute("value", shown) })
    .on("main", { element: (main) => void main.setInnerContent(contents, { html: true }) })
    .transform(page);
  filled.headers.delete("ETag");
  filled.headers.set("Cache-Control", "no-store");
  return filled;
});

/** The results of a search in the guides and the reference. */
export function FoundPage({ query, found }: { query: string; found: Entry[] }) {
  return (
    <>
      <PageHead title="Search" lede={query === "" ? "Enter what you are looking for." : `Results for “${query}”`} />
      <section class="card">
        {found.length > 0 ? (
          <ul class="titled-list">
            {found.map(({ title, href, kind, about }) => (
              <li>
                <a href={href}>{title}</a> <span class="muted small">{kind}</span>
                {about === "" ? null : (
                  <p class="muted small">
                    <Marked text={about} />
                  </p>
                )}
              </li>
            ))}
          </ul>
        ) : (
          <p class="muted">{query === "" ? "Nothing to search for yet." : "No results. Try another word."}</p>
        )}
      </section>
    </>
  );
}

/** Text with `code` and **bold** in it. */
export function Marked({ text }: { text: string }) {
  return (
    <>
      {text.split(/(`[^`]+`|\*\*[^*]+\*\*)/).map((part) => {
        if (part.startsWith("`")) return <code>{part.slice(1, -1)}</code>;
        return part.startsWith("**") ? <strong>{part.slice(2, -2)}</strong> : part;
      })}
    </>
  );
}
