import type { Child } from "../jsx.ts";
import type { Session, SessionWaiting } from "../../core/sessions/sessions.ts";
import { ROLE_TITLES, roleMay } from "../../domain/member.ts";
import { CsrfField, type Children } from "./page.tsx";
import { PlaceIcon } from "./icons.tsx";
import { mayRequest } from "./rights.tsx";
import { countText, plural } from "./parts/figures.tsx";
import { programText } from "./parts/shown-name.ts";

export interface Place {
  href: string;
  label: string;
  /** The key after `g` that leads there (PAGE-26). */
  key?: string;
}

const OWNER_PLACES = [
  [
    { href: "/dashboard", label: "Overview", key: "o" },
    { href: "/dashboard/partners", label: "Partners", key: "p" },
    { href: "/dashboard/commissions", label: "Commissions", key: "c" },
    { href: "/dashboard/payouts", label: "Payouts", key: "t" },
  ],
  [
    { href: "/dashboard/payments", label: "Payments", key: "y" },
    { href: "/dashboard/customers", label: "Customers", key: "u" },
    { href: "/dashboard/claims", label: "Claims", key: "l" },
    { href: "/dashboard/flows", label: "Flows", key: "f" },
    { href: "/dashboard/events", label: "Events", key: "e" },
  ],
  [
    { href: "/dashboard/integration", label: "Integration", key: "n" },
    { href: "/dashboard/partners/import", label: "Import", key: "i" },
    { href: "/dashboard/webhooks", label: "Webhooks", key: "w" },
    { href: "/dashboard/settings/keys", label: "API keys", key: "k" },
    { href: "/dashboard/settings", label: "Settings", key: "s" },
  ],
] as const satisfies Place[][];

const PARTNER_PLACES = [
  [
    { href: "/portal", label: "Overview" },
    { href: "/portal/assets", label: "Share" },
    { href: "/portal/statistics", label: "Statistics" },
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
  utcDays: boolean;
}

/** The frame of every page of a session: the current place, the navigation, the signed-in account. */
export function Frame({ session, at, utcDays, children }: FrameProps) {
  const places = placesOf(session);
  return (
    <div class="frame">
      <a class="skip" href="#main">
        Skip to content
      </a>
      <aside class="side">
        <ProgramName program={session.program} />
        {session.partner ? null : <Find />}
        <nav aria-label="Main">
          <Places places={places} at={at} waiting={session.waiting} />
        </nav>
        <Account session={session} />
      </aside>
      <header class="top">
        <ProgramName program={session.program} />
        <details class="menu">
          <summary>Menu</summary>
          <div class="menu-body">
            {session.partner ? null : <Find />}
            <nav aria-label="Menu">
              <Places places={places} at={at} waiting={session.waiting} />
            </nav>
            <Account session={session} />
          </div>
        </details>
      </header>
      <main id="main" tabindex={-1}>
        {children}
        <ZoneNote session={session} utcDays={utcDays} />
      </main>
      {session.partner ? null : <Shortcuts places={places} />}
    </div>
  );
}

/** The time zone of the page's times and days (PAGE-23), with the owner's link to change it. */
function ZoneNote({ session, utcDays }: Pick<FrameProps, "session" | "utcDays">) {
  const { time_zone } = session.program;
  const hasOtherDays = utcDays && time_zone !== "UTC";
  return (
    <p class={hasOtherDays ? "zone-note of-days" : "zone-note"}>
      Times are in the time zone {time_zone}
      {hasOtherDays ? "; daily figures use UTC days" : ""}.{" "}
      {session.member && roleMay(session.member.role, "manage") ? (
        <a href="/dashboard/settings#f-time_zone">Change</a>
      ) : null}
    </p>
  );
}

/** The search on every page (PAGE-25); the script lets `/` lead to it. */
function Find() {
  return (
    <form method="get" action="/dashboard/search" role="search" aria-label="Everything" class="find">
      <input
        type="search"
        name="search"
        aria-label="Find"
        placeholder="Find"
        maxlength={200}
        aria-keyshortcuts="/"
        title="A partner, a customer, a payment or an id. Press / to search."
      />
    </form>
  );
}

/** Leaves out places without the member's right, and those that need a partner reached at the address. */
function placesOf({ partner, member, limited }: Session): Place[][] {
  const isTheirs = partner
    ? ({ href }: Place) => limited === null || href !== "/portal/details"
    : ({ href }: Place) => mayRequest(member?.role ?? null, "GET", href);
  const places: readonly Place[][] = partner ? PARTNER_PLACES : OWNER_PLACES;
  return places.map((group) => group.filter(isTheirs));
}

/** The overlay that the script opens at `?`: every shortcut, and a switch to turn them off. */
function Shortcuts({ places }: { places: readonly (readonly Place[])[] }) {
  return (
    <dialog class="shortcuts" aria-labelledby="shortcuts">
      <h2 id="shortcuts">Keyboard shortcuts</h2>
      <dl>
        {places.flat().map(({ label, key }) => (
          <div>
            <dt>
              <kbd>g</kbd> then <kbd>{key}</kbd>
            </dt>
            <dd>{label}</dd>
          </div>
        ))}
        <div>
          <dt>
            <kbd>/</kbd>
          </dt>
          <dd>Find</dd>
        </div>
        <div>
          <dt>
            <kbd>?</kbd>
          </dt>
          <dd>This list</dd>
        </div>
      </dl>
      <form method="dialog">
        <label>
          <input type="checkbox" checked={true} /> On in this browser
        </label>
        <button type="submit" autofocus={true}>
          Close
        </button>
      </form>
    </dialog>
  );
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

export interface PageHeadProps {
  title: Child;
  lede?: Child;
  back?: Place;
  actions?: Child;
  /** Links to the pages beside it. */
  tabs?: Child;
}

/** The head of a page: its only `h1`, a sentence about its purpose, and its actions. */
export function PageHead({ title, lede, back, actions, tabs }: PageHeadProps) {
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
      {tabs}
    </header>
  );
}

/** The program of the page. */
export function ProgramName({ program }: { program: { name: string; id: string } }) {
  const name = programText(program);
  return (
    <p class="program">
      <span class="program-mark" aria-hidden="true">
        {String.fromCodePoint(name.codePointAt(0) ?? 0x3f).toUpperCase()}
      </span>
      <bdi class="program-name">{name}</bdi>
    </p>
  );
}

interface PlacesProps {
  places: readonly (readonly Place[])[];
  at: string;
  waiting?: SessionWaiting;
}

/** Links in groups, with the numbers of waiting tasks; the current page's link is marked. */
export function Places({ places, at, waiting }: PlacesProps) {
  return (
    <>
      {places.map((group) => (
        <ul>
          {group.map(({ href, label, key }) => (
            <li>
              <a
                href={href}
                aria-current={href === at ? "page" : undefined}
                aria-keyshortcuts={key === undefined ? undefined : `g ${key}`}
              >
                <PlaceIcon href={href} />
                {label}
                {waiting ? <WaitingCount href={href} waiting={waiting} /> : null}
              </a>
            </li>
          ))}
        </ul>
      ))}
    </>
  );
}

/** "Claims, 1 open" for screen readers; the number alone for others. */
function WaitingCount({ href, waiting: { claims, applications, failed_payouts } }: WaitingCountProps) {
  const [count, text] = {
    "/dashboard/claims": [claims, `${countText(claims)} open`] as const,
    "/dashboard/partners": [applications, plural(applications, "application")] as const,
    "/dashboard/payouts": [failed_payouts, `${countText(failed_payouts)} failed`] as const,
  }[href] ?? [0, ""];
  if (count === 0) return null;
  return (
    <>
      <span class="visually-hidden">, {text}</span>
      <span class="place-count" aria-hidden="true">
        {countText(count)}
      </span>
    </>
  );
}

interface WaitingCountProps {
  href: string;
  waiting: SessionWaiting;
}

function Account({ session }: { session: Session }) {
  // A frame has no page to return to.
  if (session.limited === "framed") return null;
  return (
    <div class="account">
      <p class="account-who" title={session.record.email}>
        {session.record.email}
      </p>
      {session.member ? <p class="muted small">{ROLE_TITLES[session.member.role]}</p> : null}
      {session.partner ? null : (
        <button class="as-link" type="button" data-shortcuts="" hidden={true}>
          Keyboard shortcuts
        </button>
      )}
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
