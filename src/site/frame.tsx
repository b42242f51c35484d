import { Mark, Places, type Place } from "../http/pages/layout.tsx";
import type { Children } from "../http/pages/page.tsx";
import { DOCUMENT } from "./document.ts";
import { GUIDES } from "./guide-list.ts";
import { sectionGroups, sectionPath } from "./sections.ts";

interface DocsFrameProps extends Children {
  /** The path of this page. */
  at: string;
  /** The sections of this page. */
  places: Place[];
}

/** The frame of the reference and the guides: the search, the pages, and the sections of this one. */
export function DocsFrame({ at, places, children }: DocsFrameProps) {
  return (
    <div class="frame docs">
      <a class="skip" href="#main">
        Skip to content
      </a>
      <aside class="side">
        <Mark />
        <Search />
        <nav aria-label="Documentation">
          <Contents at={at} places={places} />
        </nav>
      </aside>
      <header class="top">
        <Mark />
        <details class="menu">
          <summary>Contents</summary>
          <div class="menu-body">
            <Search />
            <nav aria-label="Contents">
              <Contents at={at} places={places} />
            </nav>
          </div>
        </details>
      </header>
      <main id="main" tabindex={-1}>
        {children}
      </main>
    </div>
  );
}

/** Without a script the form leads to a page of results; the script shows them below the field. */
function Search() {
  return (
    <form method="get" action="/docs/search" role="search" aria-label="Documentation" class="find" data-search>
      <input
        type="search"
        name="q"
        aria-label="Search the documentation"
        placeholder="Search"
        maxlength={200}
        autocomplete="off"
        aria-keyshortcuts="/"
        title="Press / to get here."
      />
      <ul aria-live="polite" aria-label="Found" hidden></ul>
    </form>
  );
}

/** The guides and the sections of the reference, with the places of this page below its own. */
function Contents({ at, places }: { at: string; places: Place[] }) {
  const guides = GUIDES.map(({ name, title }) => ({ href: `/docs/${name}`, label: title }));
  const groups = sectionGroups(DOCUMENT).map(({ name, sections }) => ({
    name,
    places: sections.map((section) => ({ href: sectionPath(section.name), label: section.title })),
  }));
  return (
    <>
      <Places places={[[{ href: "/docs", label: "Documentation" }]]} at={at} />
      {places.length > 0 ? <Group name="On this page" places={places} at={at} /> : null}
      <Group name="Guides" places={guides} at={at} />
      {groups.map((group) => (
        <Group {...group} at={at} />
      ))}
    </>
  );
}

function Group({ name, places, at }: { name: string; places: Place[]; at: string }) {
  return (
    <>
      <p class="muted small nav-title">{name}</p>
      <Places places={[places]} at={at} />
    </>
  );
}
