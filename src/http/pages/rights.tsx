/** The right that each page and form of the dashboard requires of a member (TEAM-1), declared only here. */
import { createContext, useContext, type Child } from "../jsx.ts";
import type { pathOf } from "../request-path.ts";
import { needsProof, roleMay, type MemberRole, type Right } from "../../domain/member.ts";

/** Each route below `/dashboard`, by right. A missing one is `secure`, and fails `team-rights.test.ts`. */
export const ROUTES_OF: Record<Right, readonly string[]> = {
  own: ["GET /settings/sessions", "POST /settings/sessions/end", "POST /settings/sessions/end-all"],
  own_secure: ["POST /settings/sessions/passkeys", "POST /settings/sessions/passkeys/remove"],
  read: [
    ...[
      "GET ",
      "GET /claims",
      "GET /claims/list.csv",
      "GET /claims/:id",
      "GET /commissions",
      "GET /commissions/:id",
      "GET /commissions/list.csv",
    ],
    ...["GET /customers", "GET /customers/list.csv", "GET /customers/:id", "GET /events", "GET /events/list.csv"],
    ...["GET /events/clicks", "GET /events/clicks/list.csv"],
    ...[
      "GET /flows",
      "GET /flows/:id",
      "GET /integration",
      "GET /integration/check",
      "GET /search",
      "GET /settings",
      "GET /settings/commissions",
      "GET /settings/payouts",
      "GET /settings/portal",
      "GET /settings/providers",
      "GET /settings/keys",
      "GET /settings/team",
    ],
    ...["GET /partners", "GET /partners/list.csv", "GET /partners/:id", "GET /partners/:id/codes"],
    ...["GET /partners/groups", "GET /partners/groups/:id"],
    ...["GET /partners/applications", "GET /partners/applications/list.csv", "GET /partners/applications/:id"],
    ...[
      "GET /payments",
      "GET /payments/list.csv",
      "GET /payments/:id",
      "GET /payments/leads",
      "GET /payments/leads/list.csv",
      "GET /payments/codes",
      "GET /payments/codes/export.csv",
    ],
    ...[
      "GET /payouts",
      "GET /payouts/:id",
      "GET /payouts/exports",
      "GET /payouts/exports/:id",
      "GET /webhooks",
      "GET /webhooks/:id",
      "GET /webhooks/:id/deliveries.csv",
      "GET /*",
    ],
  ],
  // Undelivered e-mails contain the addresses of payouts.
  details: [
    "GET /payouts/export.csv",
    "GET /payouts/exports/:id/file",
    "GET /payouts/exports/list.csv",
    "GET /payouts/list.csv",
    "GET /settings/mails",
    "GET /partners/:id/payout-details",
    "GET /partners/:id/tax-data",
    "GET /payouts/:id/statement",
    "GET /payouts/:id/statement.csv",
  ],
  money: [
    ...["POST /commissions/:id", "POST /commissions/bulk", "GET /commissions/new", "POST /commissions/new"],
    ...["GET /commissions/matching", "POST /commissions/matching"],
    ...["GET /payouts/new", "POST /payouts/new", "POST /payouts/ask", "GET /payouts/pay", "POST /payouts/pay"],
    ...["GET /payouts/matching", "POST /payouts/matching"],
    ...["POST /payouts/exports/:id/paid", "GET /payouts/exports/:id/cancel", "POST /payouts/exports/:id/cancel"],
    ...["GET /payouts/:id/pay", "POST /payouts/:id/pay", "GET /payouts/:id/mark-paid", "POST /payouts/:id/mark-paid"],
    ...["GET /payouts/exports/:id/results", "POST /payouts/exports/:id/results"],
    ...["GET /payouts/:id/cancel", "POST /payouts/:id/cancel"],
    ...["GET /payouts/:id/returned", "POST /payouts/:id/returned"],
    ...["GET /payouts/:id/was-made", "POST /payouts/:id/was-made"],
    ...["GET /payouts/:id/was-not-made", "POST /payouts/:id/was-not-made"],
  ],
  manage: [
    ...["GET /customers/:id/erase", "POST /customers/:id/erase"],
    ...[
      "POST /claims/:id/decline",
      "POST /claims/:id/grant",
      "POST /payments/:id/reprocess",
      "POST /payments/codes/give",
    ],
    ...["GET /partners/groups/new", "POST /partners/groups/new", "POST /partners/groups/:id"],
    "POST /partners/groups/:id/default",
    ...["GET /partners/groups/:id/delete", "POST /partners/groups/:id/delete"],
    ...["GET /flows/new", "POST /flows/new", "POST /flows/order", "POST /flows/:id", "POST /flows/:id/switch"],
    ...["GET /flows/:id/delete", "POST /flows/:id/delete"],
    "POST /integration/check",
    "POST /integration/:provider/reconcile",
    ...["GET /partners/new", "POST /partners/new", "GET /partners/import", "POST /partners/import"],
    ...[
      "GET /partners/:id/edit",
      "POST /partners/:id/edit",
      "POST /partners/:id/activate",
      "POST /partners/:id/invite",
    ],
    "POST /partners/:id/tax-data",
    ...["GET /partners/:id/deactivate", "POST /partners/:id/deactivate"],
    ...["GET /partners/:id/forget-account", "POST /partners/:id/forget-account"],
    ...["POST /partners/:id/codes", "POST /partners/:id/codes/:code_id/remove"],
    ...["POST /partners/applications/chosen", "POST /partners/applications/chosen/confirmed"],
    ...["POST /partners/applications/:id/approve", "POST /partners/applications/:id/decline"],
    ...["POST /settings", "POST /settings/commissions", "POST /settings/payouts", "POST /settings/portal"],
    ...["POST /settings/rates", "POST /settings/mails", "POST /settings/mails/:id/send-again"],
    ...[
      "GET /webhooks/:id/delete",
      "POST /webhooks/:id/delete",
      "POST /webhooks/:id/switch",
      "POST /webhooks/:id/test",
    ],
    ...["GET /webhooks/:id/recover", "POST /webhooks/:id/recover"],
    "POST /webhooks/:id/deliveries/:delivery_id/redeliver",
  ],
  secure: [
    "POST /integration/:provider/destination",
    ...["POST /settings/payout-hold", "POST /partners/:id/release-hold"],
    ...["POST /settings/secrets", "GET /settings/secrets/:name/remove", "POST /settings/secrets/:name/remove"],
    ...["GET /settings/api-key", "POST /settings/api-key", "POST /settings/keys", "POST /settings/keys/:id/rotate"],
    ...["GET /settings/keys/:id/delete", "POST /settings/keys/:id/delete"],
    ...["POST /settings/team", "POST /settings/team/:id"],
    ...["GET /settings/team/:id/remove", "POST /settings/team/:id/remove"],
    ...["GET /webhooks/new", "POST /webhooks/new", "GET /webhooks/:id/edit", "POST /webhooks/:id/edit"],
    ...["GET /webhooks/:id/rotate-secret", "POST /webhooks/:id/rotate-secret"],
  ],
};

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
