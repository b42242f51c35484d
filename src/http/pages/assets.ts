import { Hono } from "hono";
import type { AppEnv } from "../../env.ts";
import { notFound } from "../../lib/errors.ts";
import names from "./asset-names.txt";

const [styles = "", script = "", docsScript = ""] = names.split("\n").map((name) => `/assets/${name}`);

/**
 * Addresses of the styles and scripts, static files of `npm run build:site`. Contents name them, for lasting caches.
 */
export const STYLES_URL = styles;
export const SCRIPT_URL = script;
/** The further script of the documentation. */
export const DOCS_SCRIPT_URL = docsScript;

/** A page of the version before or after this one may request its own name: it gets the current file, which is not kept. */
export const assets = new Hono<AppEnv>().get("/assets/:file{[0-9a-f]{16}\\.(?:css|js)}", async (c) => {
  const current = await c.env.ASSETS.fetch(`https://static${c.req.path.endsWith(".css") ? STYLES_URL : SCRIPT_URL}`);
  if (!current.ok) throw notFound("page");
  return c.body(await current.text(), 200, {
    "Content-Type": current.headers.get("Content-Type") ?? "",
    "Cache-Control": "no-store",
  });
});
