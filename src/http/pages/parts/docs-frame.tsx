import { GUIDES } from "../../guides/list.ts";
import { Mark, Places, type Place } from "../layout.tsx";
import type { Children } from "../page.tsx";

interface DocsFrameProps extends Children {
  /** The path of this page. */
  at: string;
  /** The sections of this page. */
  places: Place[];
}

/** The frame of the reference and the guides: the pages, and the sections of this one. */
export function DocsFrame({ at, places, children }: DocsFrameProps) {
  return (
    <div class="frame">
      <a class="skip" href="#main">
        Skip to content
      </a>
      <aside class="side">
        <Mark />
        <nav aria-label="Documentation">
          <Contents at={at} places={places} />
        </nav>
      </aside>
      <header class="top">
        <Mark />
        <details class="menu">
          <summary>Contents</summary>
          <div class="menu-body">
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

const PAGES: Place[] = [
  ...GUIDES.map(({ name, title }) => ({ href: `/docs/${name}`, label: title })),
  { href: "/docs", label: "API reference" },
];

function Contents({ at, places }: { at: string; places: Place[] }) {
  return (
    <>
      <Places places={[PAGES]} at={at} />
      <p class="muted small nav-title">On this page</p>
      <Places places={[places]} at={at} />
    </>
  );
}
