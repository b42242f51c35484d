/**
 * Where a redirect link leads: `https://<domain><to>` with the reference and the click's id. `to` is a path, perhaps
 * with a query and a fragment; whatever could lead anywhere else gives the domain's root instead, so that a visitor
 * always arrives and always there.
 */
export function linkTarget(domain: string, to: string, ref: string, clickId: string): URL {
  const origin = `https://${domain}`;
  const path = PATH_PATTERN.test(to) ? to : "/";
  const target = URL.parse(path, origin);
  const safe = target !== null && target.origin === new URL(origin).origin ? target : new URL(origin);
  safe.searchParams.set("ref", ref);
  safe.searchParams.set("service_click", clickId);
  return safe;
}

/** One slash and no second, no backslash (browsers read it as a slash), no control character (they drop some). */
// eslint-disable-next-line no-control-regex -- those are what it refuses
const PATH_PATTERN = /^\/(?!\/)[^\\\u0000-\u001f\u007f]*$/;
