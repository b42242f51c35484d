import { LOADS, PAGE_POLICY } from "../http/pages/page.tsx";
import { UNLESS_SET } from "../http/security-headers.ts";
import { ANY_ORIGIN } from "../http/track.ts";

/** Only a deployment changes these files. */
const KEPT = { ...UNLESS_SET, "Cache-Control": "public, max-age=3600" };

const POLICY = "Content-Security-Policy";

/**
 * Headers of the static files, for each pattern of addresses. If several patterns match, the headers are joined, unless
 * a rule removes one first (`! <name>`).
 */
const RULES: Record<string, Record<string, string>> = {
  "/service.js": {
    ...ANY_ORIGIN,
    "Cache-Control": "public, max-age=3600, stale-while-revalidate=86400",
    "Cross-Origin-Resource-Policy": "cross-origin",
  },
  "/assets/*": { ...UNLESS_SET, "Cache-Control": "public, max-age=31536000, immutable" },
  // The platform takes a file that ends in .ts for a video.
  "/client.d.ts": { ...KEPT, "Content-Type": "text/plain; charset=utf-8" },
  "/openapi.json": KEPT,
  "/llms.txt": KEPT,
  "/docs*": { ...KEPT, [POLICY]: `${PAGE_POLICY}; ${LOADS}` },
  // These are not pages and do not load anything.
  "/docs/*.json": { [`! ${POLICY}`]: "", [POLICY]: UNLESS_SET[POLICY] },
  "/docs/*.md": { [`! ${POLICY}`]: "", [POLICY]: UNLESS_SET[POLICY] },
};

/** The file `_headers`, from which the platform takes the headers of static files: those that the Worker would set (HTTP-29). */
export function headersText(): string {
  return Object.entries(RULES)
    .map(([pattern, headers]) => {
      const lines = Object.entries(headers).map(([name, value]) =>
        value === "" ? `  ${name}` : `  ${name}: ${value}`,
      );
      return [pattern, ...lines, ""].join("\n");
    })
    .join("");
}
