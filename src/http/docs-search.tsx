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

/** The number of results above the others. */
const FIRST = 8;

const GUIDES = [
  ["Start", "/docs/start"],
  ["Integrate", "/docs/integrate"],
  ["Commission rules", "/docs/rules"],
  ["Payouts", "/docs/payouts"],
  ["First deploy", "/docs/first-deploy"],
  ["All guides and the API reference", "/docs"],
] as const;

/** The results of a search in the guides and the reference. */
export function FoundPage({ query, found }: { query: string; found: Entry[] }) {
  return (
    <>
      <PageHead title="Search" lede={query === "" ? "Enter what you are looking for." : `Results for “${query}”`} />
      <section class="card">
        {found.length > 0 ? (
          <>
            <Results found={found.slice(0, FIRST)} />
            {found.length > FIRST ? (
              <details>
                <summary>Show {found.length - FIRST} more</summary>
                <Results found={found.slice(FIRST)} />
              </details>
            ) : null}
          </>
        ) : (
          // The script shows the list: the sentence is part of it.
          <ul class="titled-list">
            <li>{query === "" ? "Or begin with a guide:" : "No results. Try another word, or begin with a guide:"}</li>
            {GUIDES.map(([title, href]) => (
              <li>
                <a href={href}>{title}</a>
              </li>
            ))}
          </ul>
        )}
      </section>
    </>
  );
}

function Results({ found }: { found: readonly Entry[] }) {
  return (
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
