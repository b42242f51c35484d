import { conventionsOf } from "./conventions.ts";
import { GUIDES } from "./guide-list.ts";
import { placesOf, type Place } from "../http/openapi/samples.ts";
import type { OpenApiDocument } from "../http/openapi/types.ts";
import { Marked } from "../http/docs-search.tsx";
import { PageHead } from "../http/pages/layout.tsx";
import { sectionGroups, sectionPath } from "./sections.ts";

/** The first page: every guide, every operation by section, and the conventions of all calls. */
export function StartPage({ document }: { document: OpenApiDocument }) {
  const places = placesOf(document);
  return (
    <>
      <PageHead
        title="Documentation"
        lede={
          <>
            Guides, and a reference with samples for every operation. For tools there are an{" "}
            <a href="/openapi.json">OpenAPI 3.1 document</a>, <a href="/client.d.ts">types for TypeScript</a> and an{" "}
            <a href="/llms.txt">index of everything as Markdown</a>.
          </>
        }
      />
      <section class="card" id="guides">
        <h2>Guides</h2>
        <ul class="titled-list in-columns">
          {GUIDES.map(({ name, title, about }) => (
            <li>
              <a href={`/docs/${name}`}>{title}</a>
              <p class="muted small">{about}</p>
            </li>
          ))}
        </ul>
      </section>
      {sectionGroups(document).map((group) => (
        <section class="card" id={idOf(group.name)}>
          <h2>{group.name}</h2>
          {group.sections.map(({ name, title, about }) => (
            <details class="docs-section">
              <summary>
                <strong>{title}</strong> <span class="muted small">{about}</span>
              </summary>
              <p class="small">
                <a href={sectionPath(name)}>Open {title}</a>
              </p>
              <Operations
                at={sectionPath(name)}
                places={places.filter(({ operation }) => operation.tags.includes(title))}
              />
            </details>
          ))}
        </section>
      ))}
      <section class="card prose" id="conventions">
        <h2>Conventions</h2>
        <p>
          <Marked text={document.info.description.split("\n\n")[0] ?? ""} />
        </p>
        {conventionsOf(document).map(({ id, title, text }) => (
          <>
            <h3 id={id}>{title}</h3>
            <p>
              <Marked text={text} />
            </p>
          </>
        ))}
      </section>
    </>
  );
}

function Operations({ at, places }: { at: string; places: Place[] }) {
  if (places.length === 0) return null;
  return (
    <ul class="titled-list in-columns">
      {places.map(({ method, path, operation }) => (
        <li>
          <a href={`${at}#${operation.operationId}`}>{operation.summary}</a>
          <p class="muted small">
            <code>
              {method} {path}
            </code>
          </p>
        </li>
      ))}
    </ul>
  );
}

export function idOf(group: string): string {
  return group.toLowerCase().replaceAll(" ", "-");
}
