import type { Context, MiddlewareHandler, Next } from "hono";
import { matchedRoutes } from "hono/route";
import { deleteCookie, getCookie, setCookie } from "hono/cookie";
import { actingAs, forProgram } from "../core/kernel/context.ts";
import type { Audience } from "../core/sessions/identities.ts";
import {
  actorOf,
  endSession,
  isFresh,
  recordSessionUse,
  readSession,
  type OpenedSession,
  type Session,
} from "../core/sessions/sessions.ts";
import { TOKEN_PATTERN } from "../domain/shard.ts";
import { constantTimeEqualText, hmacSha256, randomToken, toHex } from "../lib/crypto.ts";
import { needsProof, ROLE_TITLES, roleMay, type Right } from "../domain/member.ts";
import { AppError } from "../lib/errors.ts";
import { homeOf, returnPath, signInAddress } from "./pages/return-to.ts";
import { dropKeptForm, fillKeptForm, keepForm } from "./kept-form.ts";
import { answerForm, keptAnswer, type Holder } from "./posted.ts";
import type { PageEnv } from "./page-env.ts";
import { pathOf } from "./request-path.ts";
import { countWrongSecret, refuseGuesser } from "./rate-limit.ts";

export type { PageEnv } from "./page-env.ts";

const SESSION = "session";
const VISIT = "visit";
const TOKEN_BYTES = 32;
export const CSRF_FIELD = "csrf";

/** `__Host-` cookies: only this host sets and gets them (PAGE-9). */
const COOKIE = { path: "/", secure: true, httpOnly: true, sameSite: "Lax", prefix: "host" } as const;

/** The cookie of a session in a frame of the owner's site: the browser keeps it for that site alone (EMBED-3). */
const FRAMED = "framed";
const FRAMED_COOKIE = { ...COOKIE, sameSite: "None", partitioned: true } as const;

/** The values of `Sec-Fetch-Dest` for a document within another one. */
const FRAMES = new Set(["iframe", "frame", "object", "embed"]);

/** Whether the request comes from a frame, which has its own cookie: sessions work only inside or outside. */
export function isFramed(c: Context): boolean {
  return FRAMES.has(c.req.header("sec-fetch-dest") ?? "");
}

function cookieFor(c: Context) {
  return isFramed(c) ? { name: FRAMED, options: FRAMED_COOKIE } : { name: SESSION, options: COOKIE };
}

function forget(c: Context): void {
  const { name, options } = cookieFor(c);
  deleteCookie(c, name, options);
}

/** Lets in a session's holder (of this kind) and binds the program; others are redirected. A POST needs its token. */
export function requireSession(audience?: Audience): MiddlewareHandler<PageEnv> {
  return async function requireSession(c, next) {
    const token = presentedToken(c);
    const session = await currentSession(c);
    if (!session || token === null) {
      // Each page would send the invalid token again, and each would count as a guess.
      if (token !== null) forget(c);
      const hasEnded = token !== null;
      if (isFramed(c)) return c.redirect("/sign-in", 303);
      if (c.req.method !== "POST") return c.redirect(signInAddress(addressOf(c), { hasEnded }), 303);
      const { to, isKept } = await keepForm(c);
      return c.redirect(signInAddress(to, { hasEnded, isKept }), 303);
    }
    const own = session.record.audience;
    if (audience !== undefined && own !== audience) return c.redirect(homeOf(own), 303);
    c.set("session", session);
    c.set("ctx", forProgram(actingAs(session.ctx, actorOf(session)), session.program));
    c.set("csrf", await csrfToken(token));
    await refuseForeignPost(c);
    return answer(c, { ctx: session.ctx, program_id: session.program.id, token }, next);
  };
}

/** Redirects after a POST (PAGE-31); a GET shows a form's kept page or fills in kept input (PAGE-32). */
async function answer(c: Context<PageEnv>, holder: Holder, next: Next): Promise<Response | void> {
  const session = c.get("session") as Session | undefined;
  if (c.req.method === "POST") {
    if (session) dropKeptForm(c);
    return answerForm(c, holder, next);
  }
  const shown = await keptAnswer(c, holder);
  if (shown) return shown;
  await next();
  if (session) await fillKeptForm(c, session);
}

export interface Rights {
  of: (method: string, pattern: string) => Right;
  /** The page that requires a fresh proof, for a request to this address; it leads back to the page of the request. */
  proofPage: (method: string, address: ReturnType<typeof pathOf>) => string;
}

/** Refuses a role without the route's right (TEAM-1), and first requires a fresh proof if it needs one (PROOF-3). */
export function requireRight(rights: Rights): MiddlewareHandler<PageEnv> {
  return async function requireRight(c, next) {
    const { member } = c.var.session;
    const route = matchedRoutes(c).find(({ method }) => method !== "ALL");
    const right = route && rights.of(route.method, route.path);
    if (!member || !right || !roleMay(member.role, right)) {
      const role = member ? ` Your role is ${ROLE_TITLES[member.role]}.` : "";
      throw new AppError("forbidden", `Your role does not allow this.${role} An owner can change it.`);
    }
    if (needsProof(right) && !isFresh(c.var.session)) {
      return c.redirect(rights.proofPage(c.req.method, pathOf(c.req.raw)), 303);
    }
    return next();
  };
}

/** Refuses a session of the owner's link: it does not prove that the address was reached (EMBED-2). */
export function refuseLimited(): MiddlewareHandler<PageEnv> {
  return async function refuseLimited(c, next) {
    if (c.var.session.limited !== null) {
      throw new AppError("forbidden", "To do this, sign in with a link from your e-mail.");
    }
    return next();
  };
}

/** Guards the pages before a session: a visit cookie takes its place, so that their forms are guarded too. */
export function requireVisit(): MiddlewareHandler<PageEnv> {
  return async function requireVisit(c, next) {
    let visit = getCookie(c, VISIT, "host");
    if (visit === undefined || !TOKEN_PATTERN.test(visit)) {
      visit = randomToken(TOKEN_BYTES);
      setCookie(c, VISIT, visit, COOKIE);
    }
    c.set("csrf", await csrfToken(visit));
    await refuseForeignPost(c);
    return answer(c, { ctx: c.var.base, program_id: "", token: visit }, next);
  };
}

/** The request's session of any kind; null without one. @throws `rate_limited` after too many wrong secrets */
export async function currentSession(c: Context<PageEnv>): Promise<Session | null> {
  const token = presentedToken(c);
  if (token === null) return null;
  refuseGuesser(c);
  const session = await readSession(c.var.base, token);
  if (!session || (session.limited === "framed") !== isFramed(c)) {
    await countWrongSecret(c);
    return null;
  }
  const noted = recordSessionUse(session);
  // If this write fails, the next request records the use.
  if (noted) c.executionCtx.waitUntil(noted.catch(() => undefined));
  return session;
}

/** Gives the browser its new session; its previous one, if any, ends (no fixation). */
export async function startSession(c: Context<PageEnv>, opened: OpenedSession): Promise<void> {
  const before = presentedToken(c);
  if (before !== null) await endSession(c.var.base, before);
  const { name, options } = cookieFor(c);
  setCookie(c, name, opened.token, { ...options, expires: new Date(opened.expires_at) });
  deleteCookie(c, VISIT, COOKIE);
}

/** Ends the session in the database and in the browser. */
export async function dropSession(c: Context<PageEnv>): Promise<void> {
  const token = presentedToken(c);
  if (token !== null) await endSession(c.var.base, token);
  forget(c);
}

/** Ends the session after a form, and shows the form's answer to the same browser only. */
export async function dropSessionAndShow(c: Context<PageEnv>): Promise<void> {
  await dropSession(c);
  const visit = randomToken(TOKEN_BYTES);
  setCookie(c, VISIT, visit, COOKIE);
  c.set("visit_after", visit);
}

/** The address to lead a browser back to: that of a page that was opened. */
function addressOf(c: Context): string | null {
  const { pathname, search } = pathOf(c.req.raw);
  return c.req.method === "GET" ? returnPath(`${pathname}${search}`) : null;
}

function presentedToken(c: Context<PageEnv>): string | null {
  const token = getCookie(c, cookieFor(c).name, "host");
  return token !== undefined && TOKEN_PATTERN.test(token) ? token : null;
}

/** Only a holder of the cookie can make the token, and the token does not reveal the cookie. */
async function csrfToken(cookie: string): Promise<string> {
  return toHex(await hmacSha256(cookie, "csrf"));
}

/** A form of another site lacks the token. If the browser reports the origin of the request, that is checked first. */
async function refuseForeignPost(c: Context<PageEnv>): Promise<void> {
  if (c.req.method !== "POST") return;
  const site = c.req.header("sec-fetch-site") ?? "same-origin";
  const sent = site === "same-origin" || site === "none" ? await sentToken(c) : null;
  if (sent === null || !(await constantTimeEqualText(sent, c.var.csrf))) {
    throw new AppError(
      "forbidden",
      "This form is out of date or came from another site. Open the page again and retry.",
    );
  }
}

async function sentToken(c: Context<PageEnv>): Promise<string | null> {
  try {
    const sent = (await c.req.formData()).get(CSRF_FIELD);
    return typeof sent === "string" ? sent : null;
  } catch {
    return null;
  }
}
