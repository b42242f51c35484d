/** What each page and form of the dashboard needs of the member who asks (TEAM-1): the one place that says so. */
import { createContext, useContext } from "hono/jsx";
import type { Child } from "hono/jsx";
import { roleMay, type MemberRole, type Right } from "../../domain/member.ts";

/** By right, each route below `/dashboard`. One that is not here is an owner's alone, and fails `team-rights.test.ts`. */
export const ROUTES_OF: Record<Right, readonly string[]> = {
  own: [
    "GET /settings/sessions",
    "POST /settings/sessions/end",
    "POST /settings/sessions/end-all",
    "POST /settings/sessions/passkeys",
    "POST /settings/sessions/passkeys/remove",
  ],
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
      "GET /settings/keys",
      "GET /settings/team",
    ],
    ...["GET /partners", "GET /partners/list.csv", "GET /partners/:id", "GET /partners/:id/codes"],
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
      "GET /webhooks",
      "GET /webhooks/:id",
      "GET /webhooks/:id/deliveries.csv",
      "GET /*",
    ],
  ],
  // E-mails that did not arrive name addresses that payouts went to.
  details: ["GET /payouts/export.csv", "GET /payouts/files", "GET /payouts/list.csv", "GET /settings/mails"],
  money: [
    ...["POST /commissions/:id", "POST /commissions/bulk", "GET /commissions/new", "POST /commissions/new"],
    ...["GET /commissions/matching", "POST /commissions/matching"],
    ...["GET /payouts/new", "POST /payouts/new", "POST /payouts/chosen", "POST /payouts/chosen/confirmed"],
    ...["GET /payouts/:id/pay", "POST /payouts/:id/pay", "GET /payouts/:id/mark-paid", "POST /payouts/:id/mark-paid"],
    ...["GET /payouts/:id/cancel", "POST /payouts/:id/cancel"],
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
    ...["GET /flows/new", "POST /flows/new", "POST /flows/:id", "POST /flows/:id/switch"],
    ...["GET /flows/:id/delete", "POST /flows/:id/delete"],
    "POST /integration/check",
    ...["POST /integration/:provider/destination", "POST /integration/:provider/reconcile"],
    ...["GET /partners/new", "POST /partners/new", "GET /partners/import", "POST /partners/import"],
    ...[
      "GET /partners/:id/edit",
      "POST /partners/:id/edit",
      "POST /partners/:id/activate",
      "POST /partners/:id/invite",
    ],
    ...["GET /partners/:id/deactivate", "POST /partners/:id/deactivate"],
    ...["GET /partners/:id/forget-account", "POST /partners/:id/forget-account"],
    ...["POST /partners/:id/codes", "POST /partners/:id/codes/:code_id/remove"],
    ...["POST /partners/applications/chosen", "POST /partners/applications/chosen/confirmed"],
    ...["POST /partners/applications/:id/approve", "POST /partners/applications/:id/decline"],
    ...["POST /settings", "POST /settings/secrets", "GET /settings/api-key", "POST /settings/api-key"],
    ...[
      "POST /settings/keys",
      "POST /settings/keys/:id/rotate",
      "GET /settings/keys/:id/delete",
      "POST /settings/keys/:id/delete",
    ],
    ...["GET /settings/secrets/:name/remove", "POST /settings/secrets/:name/remove"],
    ...["POST /settings/mails", "POST /settings/mails/:id/send-again"],
    ...["POST /settings/team", "POST /settings/team/:id"],
    ...["GET /settings/team/:id/remove", "POST /settings/team/:id/remove"],
    ...["GET /webhooks/new", "POST /webhooks/new", "GET /webhooks/:id/edit", "POST /webhooks/:id/edit"],
    ...[
      "GET /webhooks/:id/delete",
      "POST /webhooks/:id/delete",
      "POST /webhooks/:id/switch",
      "POST /webhooks/:id/test",
    ],
    ...["GET /webhooks/:id/rotate-secret", "POST /webhooks/:id/rotate-secret"],
    ...["GET /webhooks/:id/recover", "POST /webhooks/:id/recover"],
    "POST /webhooks/:id/deliveries/:delivery_id/redeliver",
  ],
};

const DASHBOARD = "/dashboard";

const RIGHT_OF = new Map<string, Right>(
  (Object.keys(ROUTES_OF) as Right[]).flatMap((right) => ROUTES_OF[right].map((route) => [route, right] as const)),
);

/** Of a route by its pattern, as the router has it: `/dashboard/flows/:id`. */
export function rightOfRoute(method: string, pattern: string): Right {
  return RIGHT_OF.get(`${method} ${pattern.slice(DASHBOARD.length)}`) ?? "manage";
}

interface Matched {
  method: string;
  right: Right;
  isAddress: RegExp;
}

/** Those without parameters first, as the router matches them; an address that is no page's is none of them. */
const MATCHED: readonly Matched[] = [...RIGHT_OF]
  .filter(([route]) => !route.endsWith("*"))
  .toSorted(([a], [b]) => a.split(":").length - b.split(":").length)
  .map(([route, right]) => {
    const [method = "", path = ""] = route.split(" ");
    return { method, right, isAddress: new RegExp(`^${path.replaceAll(/:[a-z_]+/g, "[^/]+")}$`) };
  });

/** Whether a member may send a request to an address of a page's link or form; anything else than the dashboard is no matter. */
export function mayRequest(role: MemberRole | null, method: "GET" | "POST", address: string): boolean {
  const [path = ""] = address.split(/[?#]/);
  if (role === null || (path !== DASHBOARD && !path.startsWith(`${DASHBOARD}/`))) return true;
  const below = path.slice(DASHBOARD.length);
  const found = MATCHED.find((one) => one.method === method && one.isAddress.test(below));
  return roleMay(role, found?.right ?? "manage");
}

/** Of the member who reads the page; null where it is no member's. */
export const ReaderRole = createContext<MemberRole | null>(null);

export function useMay(right: Right): boolean {
  const role = useContext(ReaderRole);
  return role === null || roleMay(role, right);
}

/** What only who has the right sees. */
export function IfMay({ right, children }: { right: Right; children?: Child }) {
  return useMay(right) ? <>{children}</> : null;
}

/** Where a payout goes. */
export function Masked({ children }: { children?: Child }) {
  return useMay("details") ? <>{children}</> : <span class="muted">Not shown to viewers</span>;
}

/** A link to where something is done: for others it is not there, and within a text only its words are. */
export function ActionLink({ href, children, ...rest }: { href: string; class?: string; children?: Child }) {
  if (mayRequest(useContext(ReaderRole), "GET", href)) {
    return (
      <a class={rest.class} href={href}>
        {children}
      </a>
    );
  }
  return rest.class === undefined ? <>{children}</> : null;
}
