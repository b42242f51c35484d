import { PageHead } from "../pages/layout.tsx";
import type { Entry } from "./search.ts";
import { Marked } from "./text.tsx";

/** What a search of the guides and the reference found. */
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
