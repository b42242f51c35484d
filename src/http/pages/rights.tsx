/** The right that each page and form of the dashboard requires of a member (TEAM-1), by `route-rights.ts`. */
import { createContext, useContext, type Child } from "../jsx.ts";
import type { pathOf } from "../request-path.ts";
import { needsProof, roleMay, type MemberRole, type Right } from "../../domain/member.ts";
import { ROUTES_OF } from "./route-rights.ts";

const DASHBOARD = "/dashboard";

const RIGHT_OF = new Map<string, Right>(
  (Object.keys(ROUTES_OF) as Right[]).flatMap((right) => ROUTES_OF[right].map((route) => [route, right] as const)),
);

/** The right of a route, from the router's pattern: `/dashboard/flows/:id`. */
export function rightOfRoute(method: string, pattern: string): Right {
  return RIGHT_OF.get(`${method} ${pattern.slice(DASHBOARD.length)}`) ?? "secure";
}

interface Matched {
  method: string;
  right: Right;
  isAddress: RegExp;
}

/** Patterns without parameters first, in the router's order; other addresses match no pattern. */
const MATCHED: readonly Matched[] = [...RIGHT_OF]
  .filter(([route]) => !route.endsWith("*"))
  .toSorted(([a], [b]) => a.split(":").length - b.split(":").length)
  .map(([route, right]) => {
    const [method = "", path = ""] = route.split(" ");
    return { method, right, isAddress: new RegExp(`^${path.replaceAll(/:[a-z_]+/g, "[^/]+")}$`) };
  });

/** The right of a request to an address of the dashboard; null for any other address. */
function rightOfRequest(method: "GET" | "POST", address: string): Right | null {
  const [path = ""] = address.split(/[?#]/);
  if (path !== DASHBOARD && !path.startsWith(`${DASHBOARD}/`)) return null;
  const below = path.slice(DASHBOARD.length);
  return MATCHED.find((one) => one.method === method && one.isAddress.test(below))?.right ?? "secure";
}

/** Whether a member may send a request to the address of a link or form; always true outside the dashboard. */
export function mayRequest(role: MemberRole | null, method: "GET" | "POST", address: string): boolean {
  const right = role === null ? null : rightOfRequest(method, address);
  return role === null || right === null || roleMay(role, right);
}

/** The page that shows the form of a request: its own address, or the nearest page above it. */
export function pageOfForm(path: string): string {
  const isPage = (below: string) => MATCHED.some((one) => one.method === "GET" && one.isAddress.test(below));
  let below = path.slice(DASHBOARD.length);
  while (below !== "" && !isPage(below)) below = below.slice(0, below.lastIndexOf("/"));
  return `${DASHBOARD}${below}`;
}

/** The reader of the page. */
export interface Reader {
  /** Null if the reader is not a member. */
  role: MemberRole | null;
  /** Whether the address was proven within 15 minutes. */
  is_fresh: boolean;
  /** The address of the page, to return to. */
  at: string;
}

export const ReaderContext = createContext<Reader>({ role: null, is_fresh: false, at: "/" });

/** The reader's role; null if the reader is not a member. */
export function useRole(): MemberRole | null {
  return useContext(ReaderContext).role;
}

/** Whether the reader has the right now; a right that needs a fresh proof counts only with it. */
export function useMay(right: Right): boolean {
  const { role, is_fresh } = useContext(ReaderContext);
  return role === null || (roleMay(role, right) && (is_fresh || !needsProof(right)));
}

/** Whether the reader may send a form; `unproven`: only after a fresh proof of the address. */
export function useSending(action: string | undefined): "allowed" | "unproven" | "forbidden" {
  const { role, is_fresh, at } = useContext(ReaderContext);
  const right = role === null ? null : rightOfRequest("POST", action ?? at);
  if (role === null || right === null) return "allowed";
  if (!roleMay(role, right)) return action === undefined ? "allowed" : "forbidden";
  return is_fresh || !needsProof(right) ? "allowed" : "unproven";
}

/** The page that requires a fresh proof, and leads back to the path. */
export function proofPage(to: string): string {
  return `/sign-in/again?${new URLSearchParams({ to }).toString()}`;
}

/** The same for a request: a sent form leads back to the page that shows it. */
export function proofFor(method: string, { pathname, search }: ReturnType<typeof pathOf>): string {
  return proofPage(method === "GET" ? `${pathname}${search}` : pageOfForm(pathname));
}

/** The link to a fresh proof, in place of a form that needs one (PROOF-3). */
export function ProveFirst({ to = "change this" }: { to?: string | undefined }) {
  const { at } = useContext(ReaderContext);
  return (
    <p class="muted">
      To {to}, <a href={proofPage(at)}>confirm it's you</a>: you signed in more than 15 minutes ago.
    </p>
  );
}

/** Content that only readers with the right see. */
export function IfMay({ right, children }: { right: Right; children?: Child }) {
  return useMay(right) ? <>{children}</> : null;
}

/** Hides a payout destination. */
export function Masked({ children }: { children?: Child }) {
  return useMay("details") ? <>{children}</> : <span class="muted">Not shown to viewers</span>;
}

/** A link to an action. Other readers do not see it; within a text they see only its words. */
export function ActionLink({ href, children, ...rest }: { href: string; class?: string; children?: Child }) {
  if (mayRequest(useContext(ReaderContext).role, "GET", href)) {
    return (
      <a class={rest.class} href={href}>
        {children}
      </a>
    );
  }
  return rest.class === undefined ? <>{children}</> : null;
}
