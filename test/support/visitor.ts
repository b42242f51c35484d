/** A browser without scripts: keeps cookies, and sends forms with the token of the page they were on. */
import type { BaseCtx } from "../../src/core/kernel/context.ts";
import { countRequest, createLinkByHand, openRequest } from "../../src/core/sessions/sign-in.ts";
import { call, makeProgram, testContext, type ProgramFields, type Reply, type TestProgram } from "./program.ts";
import { playLimiter } from "./rate-limits.ts";
import { callWith } from "./watched-database.ts";

export interface Visitor {
  cookies: Map<string, string>;
  /** The document last received. */
  html: string;
  get: (path: string, headers?: HeadersInit) => Promise<Reply<string>>;
  /** Sends a form of the page last received, with its token unless `fields` has one, and follows to the page that answers it. */
  post: (path: string, fields?: Fields, headers?: HeadersInit) => Promise<Reply<string>>;
}

export type Fields = Record<string, string | string[] | File>;

export type Send = (path: string, init: RequestInit) => Promise<Reply<string>>;

export function makeVisitor(send: Send = call): Visitor {
  const cookies = new Map<string, string>();
  // The token of the previous page, for pages without a form.
  let csrf = "";
  const request = async (path: string, init: RequestInit): Promise<Reply<string>> => {
    const headers = new Headers(init.headers);
    if (cookies.size > 0) headers.set("cookie", [...cookies].map(([name, value]) => `${name}=${value}`).join("; "));
    const reply = await send(path, { ...init, headers, redirect: "manual" });
    for (const line of reply.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (/max-age=0/i.test(line)) cookies.delete(name);
      else cookies.set(name, value);
    }
    if (reply.headers.get("content-type")?.startsWith("text/html")) visitor.html = reply.body;
    csrf = csrfIn(visitor.html) || csrf;
    return reply;
  };
  const visitor: Visitor = {
    cookies,
    html: "",
    get: (path, headers = {}) => request(path, { headers }),
    post: async (path, fields = {}, headers = {}) => {
      const body = new FormData();
      if (!("csrf" in fields)) body.set("csrf", csrfIn(visitor.html) || csrf);
      for (const [name, value] of Object.entries(fields)) {
        for (const one of Array.isArray(value) ? value : [value]) body.append(name, one);
      }
      const reply = await request(path, { method: "POST", body, headers });
      if (reply.status === 200 && reply.headers.get("content-type")?.startsWith("text/html") && !ANSWERS.test(path)) {
        throw new Error(`POST ${path} answers with a page: reloading it would send the form again (PAGE-31)`);
      }
      const to = reply.headers.get("location") ?? "";
      return reply.status === 303 && SHOWN.test(to) ? request(to, {}) : reply;
    },
  };
  return visitor;
}

/** The pages that show the answer to a form. */
const SHOWN = /[?&]shown=[\w-]{16}$|^\/sign-in\/sent/;

/** Requests of mail programs, which do not follow redirects (RFC 8058). */
const ANSWERS = /^\/unsubscribe\//;

/** The token in the forms of a document; they all carry the same. */
export function csrfIn(html: string): string {
  return /name="csrf" value="([^"]+)"/.exec(html)?.[1] ?? "";
}

/** Follows a sign-in link as a person does: opens it, presses the button. */
export async function followLink(visitor: Visitor, token: string, as?: string): Promise<Reply<string>> {
  await visitor.get(`/sign-in?token=${token}`);
  return visitor.post("/sign-in/confirm", { token, ...(as === undefined ? {} : { as }) });
}

/** A link as the page requests it: null for an unknown address. */
export async function requestLink(ctx: BaseCtx, email: string): ReturnType<typeof openRequest> {
  return openRequest(ctx, await countRequest(ctx, email));
}

export async function signInOwner(program: TestProgram, visitor: Visitor = makeVisitor()): Promise<Visitor> {
  const { token } = await createLinkByHand(testContext(), program.program.owner_email);
  const reply = await followLink(visitor, token);
  if (reply.headers.get("location") !== "/dashboard") throw new Error(`not signed in: ${reply.status} ${reply.body}`);
  await visitor.get("/switch");
  return visitor;
}

/** A program, and a visitor who is signed in as its owner. */
export async function programOfOwner(fields: ProgramFields = {}): Promise<[program: TestProgram, owner: Visitor]> {
  const program = await makeProgram(fields);
  return [program, await signInOwner(program)];
}

/** Signs in with the address of any member of the program. */
export async function signInMember(program: TestProgram, email: string, visitor?: Visitor): Promise<Visitor> {
  return signInOwner({ ...program, program: { ...program.program, owner_email: email } }, visitor);
}

export async function signInPartner(email: string, visitor: Visitor = makeVisitor()): Promise<Visitor> {
  const requested = await requestLink(testContext(), email);
  if (!requested) throw new Error(`nobody has the address ${email}`);
  const reply = await followLink(visitor, requested.link.token);
  if (reply.headers.get("location") !== "/portal") throw new Error(`not signed in: ${reply.status} ${reply.body}`);
  await visitor.get("/switch");
  return visitor;
}

/** One whose files and sign-ins no minute's limit counts. */
export function makeUncountedVisitor(): Visitor {
  const RATE_LIMIT_SIGN_IN = playLimiter(Infinity);
  return makeVisitor((path, init) => callWith<string>({ RATE_LIMIT_SIGN_IN }, path, init));
}

/** The visible text of a document, without its markup. */
export function textOf(html: string): string {
  return html
    .replaceAll(/<(script|style)[\s\S]*?<\/\1>/g, "")
    .replaceAll(/<wbr ?\/?>/g, "")
    .replaceAll(/<[^>]+>/g, " ")
    .replaceAll("&amp;", "&")
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&quot;", '"')
    .replaceAll("&#39;", "'")
    .replaceAll(/[\s\u00a0]+/g, " ")
    .trim();
}
