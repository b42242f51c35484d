import type { Child } from "hono/jsx";
import type { Session } from "../../core/sessions/sessions.ts";
import { CsrfField, type Children } from "./page.tsx";

export interface Place {
  href: string;
  label: string;
}

const OWNER_PLACES = [
  [
    { href: "/dashboard", label: "Overview" },
    { href: "/dashboard/partners", label: "Partners" },
    { href: "/dashboard/commissions", label: "Commissions" },
    { href: "/dashboard/payouts", label: "Payouts" },
  ],
  [
    { href: "/dashboard/payments", label: "Payments" },
    { href: "/dashboard/claims", label: "Claims" },
    { href: "/dashboard/flows", label: "Flows" },
    { href: "/dashboard/events", label: "Events" },
  ],
  [
    { href: "/dashboard/integration", label: "Integration" },
    { href: "/dashboard/webhooks", label: "Webhooks" },
    { href: "/dashboard/settings", label: "Settings" },
  ],
] as const satisfies Place[][];

const PARTNER_PLACES = [
  [
    { href: "/portal", label: "Overview" },
    { href: "/portal/statistics", label: "Statistics" },
    { href: "/portal/assets", label: "Banners and texts" },
    { href: "/portal/commissions", label: "Commissions" },
    { href: "/portal/claims", label: "Missing sale?" },
    { href: "/portal/payouts", label: "Payouts" },
    { href: "/portal/details", label: "Payout details" },
  ],
] as const satisfies Place[][];

/** An address of the navigation. */
export type NavigationPlace = (typeof OWNER_PLACES | typeof PARTNER_PLACES)[number][number]["href"];

interface FrameProps extends Children {
  session: Session;
  /** The place in the navigation that the page belongs to. */
  at: NavigationPlace;
}

/** The frame of every page behind a session: where one is, where one can go, who is signed in. */
export function Frame({ session, at, children }: FrameProps) {
  const places = session.partner ? placesOf(session) : OWNER_PLACES;
  return (
    <div class="frame">
      <a class="skip" href="#main">
        Skip to content
      </a>
      <aside class="side">
        <ProgramName name={session.program.name} />
        {session.partner ? null : <Find />}
        <nav aria-label="Main">
          <Places places={places} at={at} />
        </nav>
        <Account session={session} />
      </aside>
      <header class="top">
        <ProgramName name={session.program.name} />
        <details class="menu">
          <summary>Menu</summary>
          <div class="menu-body">
            {session.partner ? null : <Find />}
            <nav aria-label="Menu">
              <Places places={places} at={at} />
            </nav>
            <Account session={session} />
          </div>
        </details>
      </header>
      <main id="main" tabindex={-1}>
        {children}
      </main>
    </div>
  );
}

/** From every page to the payments of an order, a customer or a partner; the script lets `/` lead to it. */
function Find() {
  return (
    <form method="get" action="/dashboard/payments" role="search" aria-label="Payments" class="find">
      <input
        type="search"
        name="search"
        aria-label="Find payments"
        placeholder="Find payments"
        maxlength={200}
        aria-keyshortcuts="/"
        title="By order, customer or partner. Press / to get here."
      />
    </form>
  );
}

/** Without what only who was reached at the address may see. */
function placesOf({ limited }: Session): Place[][] {
  if (limited === null) return PARTNER_PLACES;
  return PARTNER_PLACES.map((group) => group.filter(({ href }) => href !== "/portal/details"));
}

/** The frame of the pages before a session. */
export function Plain({ children }: Children) {
  return (
    <main id="main" class="plain">
      {children}
    </main>
  );
}

/** The service's own mark, for the pages that belong to no program. */
export function Mark() {
  return (
    <p class="program">
      <span class="program-mark" aria-hidden="true">
        <svg viewBox="6 8 20 16">
          <path
            d="M10 20a5 5 0 0 1 0-8h4m8 8a5 5 0 0 0 0-8h-4m-6 4h8"
            fill="none"
            stroke="currentColor"
            stroke-width="2.6"
            stroke-linecap="round"
          />
        </svg>
      </span>
    </p>
  );
}

/** The head of a page: its one `h1`, a sentence on what it is for, and what can be done. */
export function PageHead({
  title,
  lede,
  back,
  actions,
}: {
  title: Child;
  lede?: Child;
  back?: Place;
  actions?: Child;
}) {
  return (
    <header class="page-head">
      {back ? (
        <p class="back">
          <a href={back.href}>← {back.label}</a>
        </p>
      ) : null}
      <div class="page-head-row">
        <div>
          <h1>{title}</h1>
          {lede ? <p class="lede">{lede}</p> : null}
        </div>
        {actions ? <div class="actions">{actions}</div> : null}
      </div>
    </header>
  );
}

/** Whose page it is. */
export function ProgramName({ name }: { name: string }) {
  return (
    <p class="program">
      <span class="program-mark" aria-hidden="true">
        {String.fromCodePoint(name.trim().codePointAt(0) ?? 0x3f).toUpperCase()}
      </span>
      <span class="program-name">{name}</span>
    </p>
  );
}

/** Links in groups; the one of this page is marked. */
export function Places({ places, at }: { places: readonly (readonly Place[])[]; at: string }) {
  return (
    <>
      {places.map((group) => (
        <ul>
          {group.map(({ href, label }) => (
            <li>
              <a href={href} aria-current={href === at ? "page" : undefined}>
                {label}
              </a>
            </li>
          ))}
        </ul>
      ))}
    </>
  );
}

function Account({ session }: { session: Session }) {
  // A frame has no page to go to from there.
  if (session.limited === "framed") return null;
  return (
    <div class="account">
      <p class="account-who" title={session.record.email}>
        {session.record.email}
      </p>
      <form method="post" action="/sign-out">
        <CsrfField />
        {session.limited === null ? <a href="/switch">Switch</a> : null}
        <button class="as-link" type="submit">
          Sign out
        </button>
      </form>
    </div>
  );
}
