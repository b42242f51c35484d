/** Keeps the input of a form whose session has ended, and fills it in again after the sign-in (PAGE-32). */
import type { Context } from "hono";
import { deleteCookie, getCookie, setCookie } from "hono/cookie";
import { keepText, readKept } from "../core/kernel/kept.ts";
import { onShard } from "../core/kernel/shards.ts";
import type { Session } from "../core/sessions/sessions.ts";
import { shardOfProgram } from "../domain/shard.ts";
import { constantTimeEqualText, hmacSha256, randomToken, sha256Hex, toHex } from "../lib/crypto.ts";
import { HOUR } from "../lib/time.ts";
import { countCaller } from "./rate-limit.ts";
import { pathOf } from "./request-path.ts";
import { pageOfForm } from "./pages/rights.tsx";
import { returnPath } from "./pages/return-to.ts";
import type { PageEnv } from "./page-env.ts";

/** The form field with the signed account that the form was made for. */
export const MADE_FOR_FIELD = "made_for";

const COOKIE_NAME = "kept";
const COOKIE = { path: "/", secure: true, httpOnly: true, sameSite: "Lax", prefix: "host" } as const;
const KEPT_FOR = HOUR;
/** The most characters of input that are kept. */
const MAX_TYPED = 64 * 1024;

/** Fields that are never kept: tokens and secrets. */
const NEVER: ReadonlySet<string> = new Set(["csrf", "form", MADE_FOR_FIELD, "secret", "credential", "token", "csv"]);

/** The account that a form was made for, in its signed form. */
type MadeFor = readonly [program_id: string, partner_id: string | null, email: string];

interface KeptForm {
  made_for: MadeFor;
  action: string;
  /** The page that shows the form. */
  at: string;
  typed: [name: string, value: string][];
  /** Whether some of the input was not kept. */
  is_partial: boolean;
}

function madeFor({ program, partner, record }: Session): MadeFor {
  return [program.id, partner?.id ?? null, record.email.toLowerCase()];
}

async function mark(key: string, text: string): Promise<string> {
  return toHex(await hmacSha256(key, JSON.stringify(["form made for", text])));
}

/** The value of `MADE_FOR_FIELD` in the forms of a session; empty if the deployment cannot sign. */
export async function madeForToken(c: Context<PageEnv>, session: Session): Promise<string> {
  const { ENCRYPTION_KEY } = c.env;
  if (!ENCRYPTION_KEY || session.limited === "framed") return "";
  const text = JSON.stringify(madeFor(session));
  return `${await mark(ENCRYPTION_KEY, text)}${text}`;
}

const MARK_LENGTH = 64;

/** Null if this deployment did not sign the token: then the form is not kept. */
async function readMadeFor(c: Context<PageEnv>, token: string): Promise<MadeFor | null> {
  const { ENCRYPTION_KEY } = c.env;
  const text = token.slice(MARK_LENGTH);
  if (!ENCRYPTION_KEY || text === "") return null;
  const isOurs = await constantTimeEqualText(token.slice(0, MARK_LENGTH), await mark(ENCRYPTION_KEY, text));
  return isOurs ? (JSON.parse(text) as MadeFor) : null;
}

/**
 * Keeps the input of a form after its session, for this browser and account, without running it. Returns the next path,
 * and whether it was kept.
 */
export async function keepForm(c: Context<PageEnv>): Promise<{ to: string | null; isKept: boolean }> {
  const { pathname } = pathOf(c.req.raw);
  const at = pathname.startsWith("/portal") ? portalPage(pathname) : pageOfForm(pathname);
  const to = returnPath(at);
  const site = c.req.header("sec-fetch-site") ?? "same-origin";
  const form = site === "same-origin" ? await c.req.formData().catch(() => null) : null;
  const token = form?.get(MADE_FOR_FIELD);
  const made_for = typeof token === "string" ? await readMadeFor(c, token) : null;
  if (!form || !made_for || to === null) return { to, isKept: false };
  const ctx = onShard(c.var.base, shardOfProgram(made_for[0]));
  if (!ctx || (await countCaller(c.env, "RATE_LIMIT_SIGN_IN", c.req.raw.headers)) !== null)
    return { to, isKept: false };
  const fields = [...form];
  const typed = fields.filter(
    (field): field is [string, string] => typeof field[1] === "string" && !NEVER.has(field[0]),
  );
  const isTooLong = typed.reduce((sum, [name, value]) => sum + name.length + value.length, 0) > MAX_TYPED;
  const left = fields.some(([name, value]) => (typeof value === "string" ? SECRETS.has(name) : value.size > 0));
  const kept: KeptForm = {
    made_for,
    action: pathname,
    at,
    typed: isTooLong ? [] : typed,
    is_partial: isTooLong || left,
  };
  const key = randomToken(32);
  await keepText(ctx, { program_id: made_for[0], id: await sha256Hex(key) }, JSON.stringify(kept), KEPT_FOR);
  setCookie(c, COOKIE_NAME, key, { ...COOKIE, maxAge: KEPT_FOR / 1000 });
  return { to, isKept: true };
}

const SECRETS: ReadonlySet<string> = new Set(["secret", "credential", "csv"]);

function portalPage(pathname: string): string {
  const pages = ["/portal/details/sessions", "/portal/details/mails", "/portal/details", "/portal/claims"];
  return pages.find((page) => pathname === page || pathname.startsWith(`${page}/`)) ?? "/portal";
}

/** Drops the kept input as soon as a form was sent in a session. */
export function dropKeptForm(c: Context<PageEnv>): void {
  if (getCookie(c, COOKIE_NAME, "host") !== undefined) deleteCookie(c, COOKIE_NAME, COOKIE);
}

/** Fills a form with this browser's kept input, for the same account. It is shown, not sent. */
export async function fillKeptForm(c: Context<PageEnv>, session: Session): Promise<void> {
  const key = getCookie(c, COOKIE_NAME, "host");
  if (key === undefined || c.res.status !== 200 || !c.res.headers.get("content-type")?.startsWith("text/html")) return;
  const text = await readKept(session.ctx, { program_id: session.program.id, id: await sha256Hex(key) });
  const kept = text === null ? null : (JSON.parse(text) as KeptForm);
  const { pathname } = pathOf(c.req.raw);
  if (!kept || kept.at !== pathname || JSON.stringify(kept.made_for) !== JSON.stringify(madeFor(session))) return;
  const filled = filledIn(c.res, kept, pathname);
  c.res = undefined;
  c.res = filled;
}

function noticeOf({ typed, is_partial }: KeptForm): string {
  const what = typed.some(([, value]) => value !== "")
    ? " Your input is filled in below: check it, then send it again."
    : "";
  const left = is_partial ? " Enter secrets, files and very long texts again." : "";
  return `<div class="notice warn" role="status"><div><p>You were signed out before the form was sent, so nothing was saved.${what}${left}</p></div></div>`;
}

/** The rewriter escapes quotes alone. */
function inAttribute(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

function filledIn(page: Response, kept: KeptForm, pathname: string): Response {
  const values = Map.groupBy(kept.typed, ([name]) => name);
  const of = (name: string | null) => (name === null ? undefined : values.get(name)?.map(([, value]) => value));
  let isInForm = false;
  let chosen: string[] | undefined;
  const inForm = (work: (element: Element) => void) => ({
    element(element: Element) {
      if (isInForm) work(element);
    },
  });
  return new HTMLRewriter()
    .on("main#main", { element: (main) => void main.prepend(noticeOf(kept), { html: true }) })
    .on("form", {
      element(form) {
        const [action = ""] = (form.getAttribute("action") ?? pathname).split(/[?#]/);
        isInForm = form.getAttribute("method") === "post" && action === kept.action;
        form.onEndTag(() => void (isInForm = false));
      },
    })
    .on(
      "input",
      inForm((input) => {
        const [name, type] = [input.getAttribute("name"), input.getAttribute("type")];
        const typed = of(name);
        if (!typed || NEVER.has(name ?? "") || type === "file" || type === "password") return;
        if (type === "checkbox" || type === "radio") {
          if (typed.includes(input.getAttribute("value") ?? "on")) input.setAttribute("checked", "");
          else input.removeAttribute("checked");
        } else if (type !== "hidden" || name === "shown") {
          input.setAttribute("value", inAttribute(typed[0] ?? ""));
        }
      }),
    )
    .on(
      "textarea",
      inForm(
        (area) =>
          void (of(area.getAttribute("name")) && area.setInnerContent(of(area.getAttribute("name"))?.[0] ?? "")),
      ),
    )
    .on(
      "select",
      inForm((select) => void (chosen = of(select.getAttribute("name")))),
    )
    .on(
      "option",
      inForm((option) => {
        if (!chosen) return;
        if (chosen.includes(option.getAttribute("value") ?? "")) option.setAttribute("selected", "");
        else option.removeAttribute("selected");
      }),
    )
    .transform(page);
}
