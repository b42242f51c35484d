import { Hono } from "hono";
import docsScript from "./docs-script.txt";
import script from "./script.txt";
import styles from "./styles.css";

/** Where the pages find their style and script; the name changes with the content, so they may be cached without limit. */
export const STYLES_URL = `/assets/${fingerprint(styles)}.css`;
export const SCRIPT_URL = `/assets/${fingerprint(script)}.js`;
/** Of the documentation alone, beside the other. */
export const DOCS_SCRIPT_URL = `/assets/${fingerprint(docsScript)}.js`;

const IMMUTABLE = "public, max-age=31536000, immutable";

/** A page of the version before or after this one may ask for its own name: it gets what there is, and does not keep it. */
export const assets = new Hono().get("/assets/:file{[0-9a-f]{16}\\.(?:css|js)}", (c) => {
  const isStyle = c.req.path.endsWith(".css");
  const isCurrent = [STYLES_URL, SCRIPT_URL, DOCS_SCRIPT_URL].includes(c.req.path);
  const text = c.req.path === DOCS_SCRIPT_URL ? docsScript : script;
  return c.body(isStyle ? styles : text, 200, {
    "Content-Type": `text/${isStyle ? "css" : "javascript"}; charset=utf-8`,
    "Cache-Control": isCurrent ? IMMUTABLE : "no-store",
  });
});

/** FNV-1a over the text, forwards and backwards: a name for a version, no more. */
function fingerprint(text: string): string {
  const half = (from: number, step: number) => {
    let hash = 0x811c9dc5;
    for (let i = from; i >= 0 && i < text.length; i += step) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
    return (hash >>> 0).toString(16).padStart(8, "0");
  };
  return half(0, 1) + half(text.length - 1, -1);
}
