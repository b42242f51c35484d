/**
 * The target of a redirect link: `https://<domain><to>` with the reference and the click's id. `to` is a path, with an
 * optional query and fragment; a `to` that could leave the domain is replaced by its root, so that a visitor always
 * arrives, and always there.
 */
export function linkTarget(domain: string, to: string, ref: string, clickId: string, sub: string | null = null): URL {
  const origin = `https://${domain}`;
  const path = PATH_PATTERN.test(to) ? to : "/";
  const target = URL.parse(path, origin);
  const safe = target !== null && target.origin === new URL(origin).origin ? target : new URL(origin);
  safe.searchParams.set("ref", ref);
  if (sub !== null) safe.searchParams.set("sub", sub);
  safe.searchParams.set("service_click", clickId);
  return safe;
}

/** One slash without a second; no backslash (a slash to browsers), no control character (some are dropped). */
// eslint-disable-next-line no-control-regex -- the pattern refuses them
const PATH_PATTERN = /^\/(?!\/)[^\\\u0000-\u001f\u007f]*$/;

/** The text after `?sub=`, a partner's id of a link's place (TRACK-19). If invalid it is dropped; the click counts. */
export const SUB_PATTERN = /^[A-Za-z0-9_-]{1,64}$/;

/** Campaign parameters that the site's analytics read; each is optional. */
export const UTM_NAMES = ["utm_source", "utm_medium", "utm_campaign"] as const;

/** The parts of a link that a partner chooses. */
export interface LinkParts extends Partial<Record<(typeof UTM_NAMES)[number], string>> {
  ref: string;
  sub?: string | undefined;
}

/** Parses a partner's page of the site: an address or a path. Null unless on the domain or below it. */
export function sitePage(domain: string, typed: string): URL | null {
  const text = typed.trim() || "/";
  if (text.startsWith("/") && !PATH_PATTERN.test(text)) return null;
  const address = text.startsWith("/") ? `https://${domain}${text}` : withScheme(text);
  const url = URL.parse(address.replace(/^http:/i, "https:"));
  if (url?.protocol !== "https:" || url.port !== "" || url.username !== "" || url.password !== "") return null;
  const site = domain.replace(/^www\./, "");
  return url.hostname === site || url.hostname.endsWith(`.${site}`) ? url : null;
}

function withScheme(text: string): string {
  return /^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `https://${text}`;
}

/** The page's address with the partner's reference, and the sub-id and campaign if given. */
export function partnerLink(page: URL, { ref, sub, ...utm }: LinkParts): string {
  const url = new URL(page);
  for (const [name, value] of Object.entries({ ref, sub, ...utm })) {
    if (value) url.searchParams.set(name, value);
    else if (name === "sub") url.searchParams.delete(name);
  }
  return url.href;
}
