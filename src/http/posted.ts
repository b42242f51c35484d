/** Answers forms: always by a redirect, and by the same one if the same form is sent again (PAGE-31). */
import type { Context, Next } from "hono";
import { claimKey, endClaim, storeReplyBeside, type Claim } from "../core/kernel/idempotency.ts";
import { keepText, readKept, type KeptKey } from "../core/kernel/kept.ts";
import type { BaseCtx, ProgramCtx } from "../core/kernel/context.ts";
import { randomToken, sha256Hex } from "../lib/crypto.ts";
import { AppError } from "../lib/errors.ts";
import { logLine, reasonOf } from "../lib/log.ts";
import { HOUR } from "../lib/time.ts";
import { pathOf } from "./request-path.ts";
import type { PageEnv } from "./page-env.ts";

/** The field that distinguishes each display of a form. */
export const FORM_FIELD = "form";
/** The query parameter that names the kept page to show. */
const SHOWN = "shown";
const NONCE_BYTES = 12;
const NONCE = /^[\w-]{16}$/;

/** How long the page that answers a form can be loaded again; a page with a secret sets less (`c.var.kept_for`). */
const KEPT_FOR = HOUR;

/** How often and how many times to poll for the first submission: a double click waits for its first half. */
const [WAIT_MS, WAITS] = [250, 40];

/** The browser of the request: the program of its session, if it has one, and the secret of its cookie. */
export interface Holder {
  ctx: BaseCtx;
  program_id: string;
  token: string;
}

export function newFormNonce(): string {
  return randomToken(NONCE_BYTES);
}

/**
 * Runs the handler of a form once. If the form is sent again, it redirects to the same place without running the
 * handler. A page from the handler is kept for this browser, which is redirected to it. A refusal is not kept, and the
 * form can be sent again.
 */
export async function answerForm(c: Context<PageEnv>, holder: Holder, next: Next): Promise<Response | void> {
  const claimed = await claimForm(c);
  if (claimed && "led" in claimed) return claimed.led;
  await next();
  await leadToPage(c, holder);
  await claimed?.end(c.res.status === 303 ? c.res.headers.get("location") : null);
}

/** The kept page that the address names; null if it does not name one. */
export async function keptAnswer(c: Context<PageEnv>, { ctx, program_id, token }: Holder): Promise<Response | null> {
  const nonce = c.req.query(SHOWN);
  if (nonce === undefined || !NONCE.test(nonce)) return null;
  const text = await readKept(ctx, { program_id, id: await idOf(nonce, token) });
  if (text === null) throw new AppError("not_found", NO_LONGER);
  const { html, policy } = JSON.parse(text) as KeptPage;
  return c.html(html, 200, { "Content-Security-Policy": policy, Vary: "Cookie, Accept-Language" });
}

const NO_LONGER =
  "We can no longer show this page, but your change was made. A key or secret is shown only once: if you did not copy it, replace it.";

interface KeptPage {
  html: string;
  policy: string;
}

function idOf(nonce: string, token: string): Promise<string> {
  return sha256Hex(`${nonce}.${token}`);
}

/** A script's request for a preview does not change data, and the script shows the reply itself. */
function isNavigation(c: Context<PageEnv>): boolean {
  return (c.req.header("sec-fetch-mode") ?? "navigate") === "navigate";
}

/** Replaces a page in the reply with the redirect to it. */
async function leadToPage(c: Context<PageEnv>, holder: Holder): Promise<void> {
  const isPage = c.res.status === 200 && c.res.headers.get("content-type")?.startsWith("text/html");
  if (!isPage || !isNavigation(c)) return;
  const policy = c.res.headers.get("content-security-policy") ?? "";
  const kept: KeptPage = { html: await c.res.clone().text(), policy };
  const nonce = newFormNonce();
  const ended = c.get("visit_after");
  const { ctx, program_id, token } = ended === undefined ? holder : { ctx: c.var.base, program_id: "", token: ended };
  const key: KeptKey = { program_id, id: await idOf(nonce, token) };
  // If the page cannot be kept, show it at once: the change is made, and its result must not be lost.
  if (!(await isKept(ctx, key, JSON.stringify(kept), c.get("kept_for") ?? KEPT_FOR))) return;
  const { pathname, search } = pathOf(c.req.raw);
  const query = new URLSearchParams(search);
  query.set(SHOWN, nonce);
  const path = ended === undefined ? pathname : "/sign-in/done";
  c.res = c.redirect(`${path}?${ended === undefined ? query.toString() : `${SHOWN}=${nonce}`}`, 303);
}

async function isKept(ctx: BaseCtx, key: KeptKey, text: string, lifetime: number): Promise<boolean> {
  try {
    return await keepText(ctx, key, text, lifetime);
  } catch (error) {
    logLine("error", { what: "page of a form not kept", reason: reasonOf(error) });
    return false;
  }
}

interface ClaimedForm {
  /** Stores the target of the form; null if it was refused, or redirects to sign-in first, and may be sent again. */
  end: (location: string | null) => Promise<void>;
}

/** Null for a form without a nonce, and for one without a session, because such a form creates no object. */
async function claimForm(c: Context<PageEnv>): Promise<ClaimedForm | { led: Response } | null> {
  const form = await c.req.formData();
  const nonce = form.get(FORM_FIELD);
  const given = c.get("ctx") as ProgramCtx | undefined;
  if (typeof nonce !== "string" || !NONCE.test(nonce) || !given || !isNavigation(c)) return null;
  const parts = await Promise.all([...form].map(async ([name, value]) => [name, await textOf(value)]));
  const request_hash = await sha256Hex(JSON.stringify([pathOf(c.req.raw).pathname, parts]));
  const claim: Claim = { key: `form ${request_hash}`, request_hash, claimed_by: c.var.request_id };
  const { ctx, stored } = await claimOrWait(given, claim);
  if (stored) return { led: replayed(c, stored.body) };
  let isDone = false;
  // Stored beside the first change: even if the reply is lost, the form is not carried out twice.
  const alongside: ProgramCtx["alongside"] = async () => {
    if (isDone) return { statements: [], committed: () => {} };
    const reply = { status_code: 303, body: JSON.stringify({ location: null }) };
    return { statements: await storeReplyBeside(ctx, claim, reply), committed: () => void (isDone = true) };
  };
  c.set("ctx", { ...ctx, alongside });
  const end: ClaimedForm["end"] = async (location) => {
    const isElsewhere = location === null || location.startsWith("/sign-in?") || location.startsWith("/sign-in/again");
    const reply = isElsewhere ? null : { status_code: 303, body: JSON.stringify({ location }) };
    try {
      await endClaim(ctx, claim, reply);
    } catch (error) {
      // The change is made and its reply is ready: the claim expires by its age.
      logLine("error", { what: "form not closed", request_id: c.var.request_id, reason: reasonOf(error) });
    }
  };
  return { end };
}

function replayed(c: Context<PageEnv>, body: string): Response {
  const { location } = JSON.parse(body) as { location: string | null };
  if (location !== null) return c.redirect(location, 303);
  throw new AppError("idempotency_conflict", "This form was already sent and processed. Check the result first.");
}

async function claimOrWait(ctx: ProgramCtx, claim: Claim) {
  for (let waited = 0; ; waited++) {
    try {
      return await claimKey(ctx, claim);
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== "idempotency_conflict") throw error;
      if (waited < WAITS) await scheduler.wait(WAIT_MS);
      else throw new AppError(error.code, "This form was already sent and is being processed. Wait a minute.");
    }
  }
}

async function textOf(value: string | File): Promise<string> {
  return typeof value === "string"
    ? value
    : `${value.name} ${await sha256Hex(new Uint8Array(await value.arrayBuffer()))}`;
}
