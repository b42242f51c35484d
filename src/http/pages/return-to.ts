/** Where a detour, such as signing in, leads back to. */
import type { Audience } from "../../core/sessions/identities.ts";

const MAX_LENGTH = 1_000;

/** The pages of a session, without what an address does not need or could be read as another host: quotes, spaces, backslashes. */
const PATTERN = /^\/(?:dashboard|portal)(?:[/?][\w\-./?&=%+~:,;*!'()@]*)?$/;

/** A query may contain the address of a person who was searched for. */
const ADDRESS = /@|%40/i;

/**
 * A path of the dashboard or the portal that a person may be led to by GET, in its normal form; null for anything else: another
 * host, a scheme, another page of this service. Without its query where that has an e-mail address, which is to be in no link.
 */
export function returnPath(text: string | undefined): string | null {
  if (text === undefined || text.length > MAX_LENGTH || !PATTERN.test(text)) return null;
  // Dots between slashes are resolved before it is judged where it leads.
  const { pathname, search } = new URL(text, "https://this.invalid");
  const normal = ADDRESS.test(search) ? pathname : `${pathname}${search}`;
  return PATTERN.test(normal) && !ADDRESS.test(pathname) ? normal : null;
}

/** Where somebody who has signed in goes: back, where that is one of their pages, else to their first one. */
export function homeOf(audience: Audience, to: string | null = null): string {
  const home = audience === "owner" ? "/dashboard" : "/portal";
  return to !== null && (to === home || to.startsWith(`${home}/`) || to.startsWith(`${home}?`)) ? to : home;
}

/** The sign-in page that leads back to a path; with `hasEnded` it says that a session is over. */
export function signInAddress(to: string | null, { hasEnded = false, isKept = false } = {}): string {
  const isFurther = to !== null && to !== "/dashboard" && to !== "/portal";
  const query = new URLSearchParams({
    ...(isFurther && { to }),
    ...(hasEnded && { ended: "yes" }),
    ...(isKept && { kept: "yes" }),
  }).toString();
  return query === "" ? "/sign-in" : `/sign-in?${query}`;
}
