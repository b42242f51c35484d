/** The return address of a detour, such as the sign-in. */
import type { Audience } from "../../core/sessions/identities.ts";

const MAX_LENGTH = 1_000;

/** A session's pages, without characters that no address needs or that could change its host. */
const PATTERN = /^\/(?:dashboard|portal)(?:[/?][\w\-./?&=%+~:,;*!'()@]*)?$/;

/** A query may contain the e-mail address of a search. */
const ADDRESS = /@|%40/i;

/**
 * The normalized path of a page of the dashboard or the portal to return to by GET. Null for any other address: another
 * host, a scheme, another page of this service. Drops a query that contains an e-mail address, which must not be in a
 * link.
 */
export function returnPath(text: string | undefined): string | null {
  if (text === undefined || text.length > MAX_LENGTH || !PATTERN.test(text)) return null;
  // Resolve dots between slashes before the target is checked.
  const { pathname, search } = new URL(text, "https://this.invalid");
  const normal = ADDRESS.test(search) ? pathname : `${pathname}${search}`;
  return PATTERN.test(normal) && !ADDRESS.test(pathname) ? normal : null;
}

/** The first page after a sign-in: the return page if it belongs to the audience, else its home page. */
export function homeOf(audience: Audience, to: string | null = null): string {
  const home = audience === "owner" ? "/dashboard" : "/portal";
  return to !== null && (to === home || to.startsWith(`${home}/`) || to.startsWith(`${home}?`)) ? to : home;
}

/** The sign-in page that leads back to a path; with `hasEnded` it mentions that a session has ended. */
export function signInAddress(to: string | null, { hasEnded = false, isKept = false } = {}): string {
  const isFurther = to !== null && to !== "/dashboard" && to !== "/portal";
  const query = new URLSearchParams({
    ...(isFurther && { to }),
    ...(hasEnded && { ended: "yes" }),
    ...(isKept && { kept: "yes" }),
  }).toString();
  return query === "" ? "/sign-in" : `/sign-in?${query}`;
}
