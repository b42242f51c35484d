import { GUIDES } from "../guides/list.ts";
import { placesOf, type Place } from "../openapi/samples.ts";
import type { OpenApiDocument } from "../openapi/types.ts";
import { PageHead } from "../pages/layout.tsx";
import { sectionGroups, sectionPath } from "./sections.ts";
import { Marked } from "./text.tsx";

/** The first page: every guide, what holds for every call, and every operation by section. */
export function StartPage({ document }: { document: OpenApiDocument }) {
  const places = placesOf(document);
  return (
    <>
      <PageHead
        title="Documentation"
        lede={
          <>
            The reference is also there as <a href="/openapi.json">OpenAPI 3.1</a>, and all of it as{" "}
            <a href="/llms.txt">text</a>.
          </>
        }
      />
      <section class="card" id="guides">
        <h2>Guides</h2>
        <ul class="plain-list">
          {GUIDES.map(({ name, title, about }) => (
            <li>
              <a href={`/docs/${name}`}>{title}</a> <span class="muted">{about}</span>
            </li>
          ))}
        </ul>
      </section>
      <section class="card prose" id="every-call">
        <h2>Every call</h2>
        {document.info.description.split("\n\n").map((paragraph) => (
          <p>
            <Marked text={paragraph} />
          </p>
        ))}
      </section>
      {sectionGroups(document).map((group) => (
        <section class="card" id={idOf(group.name)}>
          <h2>{group.name}</h2>
          {group.sections.map(({ name, title, about }) => (
            <details class="more">
              <summary>{title}</summary>
              <p>
                <a href={sectionPath(name)}>{title}</a> <span class="muted">{about}</span>
              </p>
              <Operations
                at={sectionPath(name)}
                places={places.filter(({ operation }) => operation.tags.includes(title))}
              />
            </details>
          ))}
        </section>
      ))}
    </>
  );
}

function Operations({ at, places }: { at: string; places: Place[] }) {
  if (places.length === 0) return null;
  return (
    <ul class="plain-list">
      {places.map(({ method, path, operation }) => (
        <li>
          <a href={`${at}#${operation.operationId}`}>{operation.summary}</a>{" "}
          <code>
            {method} {path}
          </code>
        </li>
      ))}
    </ul>
  );
}

export function idOf(group: string): string {
  return group.toLowerCase().replaceAll(" ", "-");
}
