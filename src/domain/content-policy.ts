/** A page's Content-Security-Policy (CSP Level 3): its scripts and calls, as far as the tracking script needs. */

/** Sources of a policy by directive, with directive names in lower case. */
export type ContentPolicy = ReadonlyMap<string, readonly string[]>;

/** Parses a header, which may hold several policies, or a meta element, which holds one. Never throws. */
export function readPolicies(text: string): ContentPolicy[] {
  return text.split(",").flatMap((one) => {
    const policy = new Map<string, readonly string[]>();
    for (const directive of one.split(";")) {
      const [name = "", ...sources] = directive.trim().split(/[\t\n\f\r ]+/);
      // CSP: a repeated directive counts once, the first one.
      if (name !== "" && !policy.has(name.toLowerCase())) policy.set(name.toLowerCase(), sources);
    }
    return policy.size > 0 ? [policy] : [];
  });
}

/** The parts of a script element that policies check. */
export interface PolicyScript {
  url: URL;
  nonce: string | null;
  integrity: string | null;
}

/** The directive that blocks the script on a page; null if every policy allows it. */
export function whyNotLoaded(policies: readonly ContentPolicy[], script: PolicyScript, page: URL): string | null {
  return blockedBy(policies, ["script-src-elem", "script-src", "default-src"], (sources) => {
    if (script.nonce !== null && script.nonce !== "" && sources.includes(`'nonce-${script.nonce}'`)) return true;
    const hashes = (script.integrity ?? "").split(/\s+/).filter((hash) => hash !== "");
    if (hashes.length > 0 && hashes.every((hash) => sources.includes(`'${hash}'`))) return true;
    // Hosts are ignored beside `'strict-dynamic'`.
    return !lower(sources).includes("'strict-dynamic'") && isListed(sources, script.url, page);
  });
}

/** The directive that blocks a request to this address; null if every policy allows it. */
export function whyNotCalled(policies: readonly ContentPolicy[], url: URL, page: URL): string | null {
  return blockedBy(policies, ["connect-src", "default-src"], (sources) => isListed(sources, url, page));
}

/** Every policy has to allow the request, each by the first of the directives that it contains. */
function blockedBy(
  policies: readonly ContentPolicy[],
  directives: readonly string[],
  isAllowed: (sources: readonly string[]) => boolean,
): string | null {
  for (const policy of policies) {
    const directive = directives.find((name) => policy.has(name));
    if (directive !== undefined && !isAllowed(policy.get(directive)!)) return directive;
  }
  return null;
}

const lower = (sources: readonly string[]) => sources.map((source) => source.toLowerCase());

function isListed(sources: readonly string[], url: URL, page: URL): boolean {
  return sources.some((source) => matches(source, url, page));
}

const HOST_SOURCE = /^(?:([a-z][a-z0-9+.-]*):\/\/)?(\*|(?:\*\.)?[^*:/?#]+|\[[0-9a-f:.]+\])(?::(\d+|\*))?(\/[^?#]*)?$/i;
const SCHEME_SOURCE = /^([a-z][a-z0-9+.-]*):$/i;

function matches(source: string, url: URL, page: URL): boolean {
  if (source === "*") return isScheme("http", url) || url.protocol === page.protocol;
  if (source.toLowerCase() === "'self'") return url.host === page.host && isScheme(page.protocol.slice(0, -1), url);
  const [, scheme] = SCHEME_SOURCE.exec(source) ?? [];
  if (scheme !== undefined) return isScheme(scheme, url);
  const [, given = page.protocol.slice(0, -1), host, port, path] = HOST_SOURCE.exec(source) ?? [];
  return (
    host !== undefined && isScheme(given, url) && isHost(host, url) && isPort(port, url) && isPath(path ?? "", url)
  );
}

/** Whether the URL has this scheme or its secure form. */
function isScheme(scheme: string, { protocol }: URL): boolean {
  const own = `${scheme.toLowerCase()}:`;
  return protocol === own || (own === "http:" && protocol === "https:");
}

function isHost(pattern: string, { hostname }: URL): boolean {
  const host = pattern.toLowerCase();
  if (host === "*") return true;
  return host.startsWith("*.") ? hostname.endsWith(host.slice(1)) : hostname === host;
}

function isPort(port: string | undefined, url: URL): boolean {
  const standard = url.protocol === "https:" ? "443" : "80";
  const own = url.port === "" ? standard : url.port;
  return port === "*" || own === (port ?? standard) || (port === "80" && own === "443");
}

/** A path that ends in a slash covers every path below it. */
function isPath(path: string, { pathname }: URL): boolean {
  if (path === "" || path === "/") return true;
  return path.endsWith("/") ? pathname.startsWith(path) : pathname === path;
}
