import { Hono } from "hono";
import { bodyLimit } from "hono/body-limit";
import { AppError, notFound } from "../../lib/errors.ts";
import { currentSession, type PageEnv } from "../session.ts";
import { assets } from "./assets.ts";
import { dashboard } from "./dashboard/index.ts";
import { devMails } from "./dev/mails.tsx";
import { renderPageError } from "./errors.tsx";
import { inLanguageOfBrowser } from "./locale.ts";
import { join } from "./join/join.tsx";
import { homeOf } from "./return-to.ts";
import { portal } from "./portal/index.ts";
import { unsubscribe } from "./unsubscribe.tsx";
import { embed } from "./sign-in/embed.tsx";
import { signIn } from "./sign-in/sign-in.tsx";

const FORM_BODY_LIMIT = 512 * 1024;

/** An imported file of 1 MiB plus the other fields of the form. */
const IMPORT_FORM_BODY_LIMIT = 1_088 * 1024;

/** The pages for people (PAGE-1, PAGE-10): from the server, complete without a script, every POST guarded. */
export const pages = new Hono<PageEnv>();

pages.onError(renderPageError);

const limitBody = bodyLimit({
  maxSize: FORM_BODY_LIMIT,
  onError: () => {
    throw new AppError("payload_too_large", "A form or file is at most 512 KiB.");
  },
});
const limitImport = bodyLimit({
  maxSize: IMPORT_FORM_BODY_LIMIT,
  onError: () => {
    throw new AppError("payload_too_large", "A file to import is at most 1 MiB.");
  },
});
for (const path of [
  "/join/*",
  "/sign-in/*",
  "/embed",
  "/sign-out",
  "/switch",
  "/unsubscribe/*",
  "/dashboard/*",
  "/portal/*",
]) {
  pages.use(path, inLanguageOfBrowser);
  pages.use(path, (c, next) => (c.req.path === "/dashboard/partners/import" ? limitImport : limitBody)(c, next));
}

pages.get("/", async (c) => {
  const session = await currentSession(c);
  return c.redirect(session ? homeOf(session.record.audience) : "/sign-in", 303);
});
pages.route("/", assets);
pages.route("/", signIn);
pages.route("/embed", embed);
pages.route("/join", join);
pages.route("/dashboard", dashboard);
pages.route("/portal", portal);
pages.route("/dev", devMails);
pages.route("/unsubscribe", unsubscribe);
for (const path of ["/join/*", "/dashboard/*", "/portal/*"]) {
  pages.get(path, () => {
    throw notFound("page");
  });
}
