import { PageHead } from "../pages/layout.tsx";
import type { Entry } from "./search.ts";

/** What a search of the guides and the reference found. */
export function FoundPage({ query, found }: { query: string; found: Entry[] }) {
  return (
    <>
      <PageHead title="Search" lede={query === "" ? "Write what you look for into the field." : `For “${query}”`} />
      <section class="card">
        {found.length > 0 ? (
          <ul class="plain-list">
            {found.map(({ title, href, kind }) => (
              <li>
                <a href={href}>{title}</a> <span class="muted">{kind}</span>
              </li>
            ))}
          </ul>
        ) : (
          <p class="muted">{query === "" ? "Nothing is asked for." : "Nothing holds all of these words."}</p>
        )}
      </section>
    </>
  );
}
