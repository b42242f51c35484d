import { Hono } from "hono";
import { notFound } from "../../lib/errors.ts";
import { limitBodyTo } from "../limit-body.ts";
import { currentSession, type PageEnv } from "../session.ts";
import { assets } from "./assets.ts";
import { confirmDetails } from "./confirm-details.tsx";
import { dashboard } from "./dashboard/index.ts";
import { devMails } from "./dev/mails.tsx";
import { renderPageError } from "./errors.tsx";
import { inLanguageOfBrowser } from "./locale.ts";
import { join } from "./join/join.tsx";
import { homeOf } from "./return-to.ts";
import { portal } from "./portal/index.ts";
import { unsubscribe } from "./unsubscribe.tsx";
import { embed } from "./sign-in/embed.tsx";
import { isResultsPath, RESULTS_BODY_LIMIT } from "../api/payout-results.ts";
import { signIn } from "./sign-in/sign-in.tsx";

const FORM_BODY_LIMIT = 512 * 1024;

/** An imported file of 1 MiB plus the other fields of the form. */
const IMPORT_FORM_BODY_LIMIT = 1_088 * 1024;

/** A result file of 4 MiB plus the other fields of the form. */
const RESULTS_FORM_BODY_LIMIT = RESULTS_BODY_LIMIT + 64 * 1024;

/** The pages for people (PAGE-1, PAGE-10): from the server, complete without a script, every POST guarded. */
export const pages = new Hono<PageEnv>();

pages.onError(renderPageError);

const limitBody = limitBodyTo(FORM_BODY_LIMIT, "A form or file is at most 512 KiB.");
const limitImport = limitBodyTo(IMPORT_FORM_BODY_LIMIT, "A file to import is at most 1 MiB.");
const limitResults = limitBodyTo(RESULTS_FORM_BODY_LIMIT, "A result file is at most 4 MiB.");

function limitOf(path: string) {
  if (isResultsPath(path)) return limitResults;
  return path === "/dashboard/partners/import" ? limitImport : limitBody;
}

for (const path of [
  "/join/*",
  "/sign-in/*",
  "/confirm-payout-details",
  "/embed",
  "/sign-out",
  "/switch",
  "/unsubscribe/*",
  "/dashboard/*",
  "/portal/*",
]) {
  pages.use(path, inLanguageOfBrowser);
  pages.use(path, (c, next) => limitOf(c.req.path)(c, next));
}

pages.get("/", async (c) => {
  const session = await currentSession(c);
  return c.redirect(session ? homeOf(session.record.audience) : "/sign-in", 303);
});
pages.route("/", assets);
pages.route("/", signIn);
pages.route("/confirm-payout-details", confirmDetails);
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
