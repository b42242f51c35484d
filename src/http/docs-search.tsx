import { Hono } from "hono";
import { render } from "./jsx.ts";
import type { AppEnv } from "../env.ts";
import { PageHead } from "./pages/layout.tsx";

/** Something that can be found: an operation, an event, an error or another code, or a section of a guide. */
export interface Entry {
  title: string;
  href: string;
  /** The kind, for people. */
  kind: string;
  /** How its text begins, for people; Markdown. */
  about: string;
  /** Every word that leads to it, in lower case, each once. */
  words: string;
}

const LONGEST_QUERY = 200;
const MOST = 30;

/** `GET /docs/search` (HTTP-34): fills the results into the static page of the documentation (`src/site`). */
export const docsSearch = new Hono<AppEnv>().get("/docs/search", async (c) => {
  const query = (c.req.query("q") ?? "").trim().slice(0, LONGEST_QUERY);
  const read = (path: string) => c.env.ASSETS.fetch(`https://static${path}`);
  const [page, index] = await Promise.all([read("/docs/search"), read("/docs/search.json")]);
  const found = search(await index.json<Entry[]>(), query);
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

/** The entries with every word of the query, those with the words in their titles first; empty for an empty query. */
function search(index: readonly Entry[], query: string): Entry[] {
  const asked = query.toLowerCase().split(/\s/).filter(Boolean);
  if (asked.length === 0) return [];
  const inTitle = ({ title }: Entry) => asked.filter((word) => title.toLowerCase().includes(word)).length;
  return index
    .filter(({ title, words }) => asked.every((word) => `${title.toLowerCase()} ${words}`.includes(word)))
    .toSorted((a, b) => inTitle(b) - inTitle(a))
    .slice(0, MOST);
}

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
          <p class="muted">
            {query === "" ? "Nothing to search for yet." : "Nothing has all of these words. Try fewer."}
          </p>
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
