import type { Context } from "hono";
import { createContext, render, useContext, type Child } from "../jsx.ts";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import type { Bindings } from "../../env.ts";
import { pathOf } from "../request-path.ts";
import { NO_FRAME } from "../security-headers.ts";
import { MADE_FOR_FIELD, madeForToken } from "../kept-form.ts";
import { FORM_FIELD, newFormNonce } from "../posted.ts";
import { type Session, isFresh } from "../../core/sessions/sessions.ts";
import { CSRF_FIELD, type PageEnv } from "../session.ts";
import { PageZone } from "./locale.ts";
import { SCRIPT_URL, STYLES_URL } from "./assets.ts";
import { pageOfForm, ReaderContext, type Reader } from "./rights.tsx";

/** Set by a page that shows another address of this origin in a frame. */
const FRAMES = "frame-src 'self'";
export const LOADS = "connect-src 'self'";

/** No inline script or style, all of this origin, not in a frame (PAGE-10) except one (EMBED-3). */
export const PAGE_POLICY = [
  "default-src 'none'",
  "style-src 'self'",
  "script-src 'self'",
  "img-src 'self' data:",
  "form-action 'self'",
  NO_FRAME,
  "base-uri 'none'",
].join("; ");

export interface PageOptions {
  title: string;
  status?: ContentfulStatusCode;
  /** It has a `PreviewPlace`, for which the script loads from this origin. */
  previews?: boolean;
  /** It shows pages of this origin in frames. */
  frames?: boolean;
  /** The zone of its times, if it is not a program's (PAGE-23). */
  zone?: string;
  /** The sites that may frame it, if that does not follow from the session. */
  framer?: string | null;
}

/** A page of a session in a frame of the owner's site may be framed by that site, and no other page by anybody. */
function framerOf(c: Context<PageEnv>): string | null {
  const { session } = c.var;
  return (session as typeof session | undefined)?.limited === "framed" ? framedBy(session.program, c.env) : null;
}

/** The part of a policy that lets the program's own domain frame a page; null for a program without one. */
export function framedBy({ domain }: { domain: string | null }, { ENVIRONMENT }: Bindings): string | null {
  if (domain === null) return null;
  const [scheme, ports] = ENVIRONMENT === "development" ? ["http", ":*"] : ["https", ""];
  return `frame-ancestors ${scheme}://${domain}${ports} ${scheme}://*.${domain}${ports}`;
}

/** Answers with one whole document around `body`. */
export async function page(c: Context<PageEnv>, options: PageOptions, body: Child): Promise<Response> {
  const session = c.get("session") as PageEnv["Variables"]["session"] | undefined;
  const document = (
    <Tokens.Provider value={await tokensOf(c, session)}>
      <Document title={options.title}>
        <PageZone.Provider value={session?.program.time_zone ?? options.zone ?? null}>
          <ReaderContext.Provider value={readerOf(c)}>{body}</ReaderContext.Provider>
        </PageZone.Provider>
      </Document>
    </Tokens.Provider>
  );
  const framer = options.framer ?? framerOf(c);
  const policy = framer === null ? PAGE_POLICY : PAGE_POLICY.replace(NO_FRAME, framer);
  const more = [...(options.frames ? [FRAMES] : []), ...(options.previews ? [LOADS] : [])];
  c.header("Content-Security-Policy", [policy, ...more].join("; "));
  c.header("Vary", "Cookie, Accept-Language");
  return c.html(`<!doctype html>${render(document)}`, options.status ?? 200);
}

/** The whole document of a page; `script` is the address of a further script. */
export function Document({ title, script, children }: Children & { title: string; script?: string }) {
  return (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <title>{title}</title>
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <link rel="icon" href={ICON} />
        <link rel="stylesheet" href={STYLES_URL} />
        <script src={SCRIPT_URL} defer></script>
        {script === undefined ? null : <script src={script} defer></script>}
      </head>
      <body>{children}</body>
    </html>
  );
}

function readerOf(c: Context<PageEnv>): Reader {
  const session = c.get("session") as PageEnv["Variables"]["session"] | undefined;
  const { pathname, search } = pathOf(c.req.raw);
  const at = c.req.method === "GET" ? `${pathname}${search}` : pageOfForm(pathname);
  return { role: session?.member?.role ?? null, is_fresh: session !== undefined && isFresh(session), at };
}

const Tokens = createContext<Record<string, string>>({});

/** They are of the page: its session, the time it was made, and the account it was made for. */
async function tokensOf(c: Context<PageEnv>, session: Session | undefined): Promise<Record<string, string>> {
  const csrf = { [CSRF_FIELD]: c.get("csrf") ?? "" };
  if (!session) return csrf;
  return { ...csrf, [FORM_FIELD]: newFormNonce(), [MADE_FOR_FIELD]: await madeForToken(c, session) };
}

/** The fields that every form of a page sends back (`http/session.ts`, `http/posted.ts`, `http/kept-form.ts`). */
export function CsrfField() {
  return (
    <>
      {Object.entries(useContext(Tokens)).map(([name, value]) => (
        <input type="hidden" name={name} value={value} />
      ))}
    </>
  );
}

/** Joins the class names that are set. */
export function classes(...names: (string | false | undefined)[]): string {
  return names.filter(Boolean).join(" ");
}

export type Children = { children?: Child };

const ICON =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'%3E%3Crect width='32' height='32' rx='8' fill='%233730a3'/%3E%3Cpath d='M10 20a5 5 0 0 1 0-8h4m8 8a5 5 0 0 0 0-8h-4m-6 4h8' fill='none' stroke='%23fff' stroke-width='2.6' stroke-linecap='round'/%3E%3C/svg%3E";
