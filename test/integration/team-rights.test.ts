/** The rights of each role to open, send and see: every route of the dashboard, for every role (TEAM-1). */
import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, it } from "vitest";
import { MEMBER_ROLES, type MemberRole } from "../../src/domain/member.ts";
import { mayRequest, rightOfRoute } from "../../src/http/pages/rights.tsx";
import { ROUTES_OF } from "../../src/http/pages/route-rights.ts";
import {
  everythingOf,
  makeStocked,
  pageAddress,
  pageRoutes,
  type PageRoute,
  type Stocked,
} from "../support/stocked.ts";
import { uniqueId } from "../support/vendor.ts";
import { makeUncountedVisitor, signInMember, textOf, type Visitor } from "../support/visitor.ts";

const ROUTES = pageRoutes("dashboard");
const GETS = ROUTES.filter(({ method }) => method === "GET");

/** Pages that only ask before a change, or are its form: for who may make it. */
const FORMS =
  /\/(?:new|edit|import|matching|api-key|pay|mark-paid|returned|results|was-made|was-not-made|cancel|deactivate|forget-account|delete|remove|rotate-secret|recover|erase)$/;
const MONEY = /^\/dashboard\/(?:commissions|payouts)(?:\/|$)/;
const OWN = /^\/dashboard\/settings\/sessions\//;
/** Pages that show payout details in clear. */
const DETAILS = new Set([
  ...[
    "/dashboard/payouts/export.csv",
    "/dashboard/payouts/exports/:id/file",
    "/dashboard/payouts/exports/list.csv",
    "/dashboard/payouts/list.csv",
  ],
  ...["/dashboard/settings/mails", "/dashboard/partners/:id/payout-details"],
  "/dashboard/partners/:id/tax-data",
  ...["/dashboard/payouts/:id/statement", "/dashboard/payouts/:id/statement.csv"],
]);

/** The rule, written independently of the pages' table. */
function isAllowed(role: MemberRole, { method, path }: PageRoute): boolean {
  if (role === "owner" || OWN.test(path)) return true;
  const isMoney = MONEY.test(path);
  if (method === "POST" || FORMS.test(path)) return role === "finance" && isMoney;
  return role === "finance" || !DETAILS.has(path);
}

const WALLET = "where-it-goes@wallet.example";

let stocked: Stocked;
const emails = {} as Record<MemberRole, string>;
const visitors = {} as Record<MemberRole, Visitor>;

beforeAll(async () => {
  stocked = await makeStocked();
  const { program, partner } = stocked;
  await program.api("PATCH", `/api/v1/partners/${partner.id}`, { payout_method: "wallet", payout_email: WALLET });
  await program.api("PATCH", `/api/v1/webhooks/${stocked.ids["webhooks"]}`, { description: "hears of it" });
  await env.DB.prepare("update payouts set method = 'wallet', recipient = ? where program_id = ?")
    .bind(WALLET, program.id)
    .run();
  for (const role of MEMBER_ROLES) {
    emails[role] = `${uniqueId(role)}@shop.example`.toLowerCase();
    await program.api("POST", "/api/v1/members", { email: emails[role], role });
    visitors[role] = await signInMember(program, emails[role], makeUncountedVisitor());
  }
});

/** Signed in, and on a page with a token. */
async function ready(role: MemberRole): Promise<Visitor> {
  if ((await visitors[role].get("/switch")).status !== 200) {
    visitors[role] = await signInMember(stocked.program, emails[role], makeUncountedVisitor());
  }
  return visitors[role];
}

describe("the table of rights (TEAM-1)", () => {
  it("has every route of the dashboard, and no other", () => {
    const named = Object.values(ROUTES_OF).flat();
    const routes = ROUTES.map(({ method, path }) => `${method} ${path.slice("/dashboard".length)}`);
    expect(named.filter((route) => route !== "GET /*").toSorted()).toEqual(routes.toSorted());
    expect(new Set(named).size).toBe(named.length);
  });

  it("lets only owners who prove themselves at what it does not name", () => {
    expect([rightOfRoute("GET", "/dashboard/later"), rightOfRoute("POST", "/dashboard")]).toEqual(["secure", "secure"]);
    expect(mayRequest("finance", "POST", "/dashboard/later")).toBe(false);
  });
});

// The owner comes last, because an owner's requests delete the rows of the other roles' pages.
describe.each(MEMBER_ROLES.toReversed())("as %s (TEAM-1)", (role) => {
  it.each(GETS)("GET $path", async (route) => {
    const address = pageAddress(route.path, stocked.ids);
    const { status, body } = await (await ready(role)).get(address);
    const isOpen = isAllowed(role, route);
    expect([address, status]).toEqual([address, isOpen ? 200 : 403]);
    if (!isOpen) expect(textOf(body)).toContain("Not allowed Your role does not allow this");
    if (!isOpen || route.path.endsWith(".csv")) return;
    // The page offers permitted actions only.
    const offered = [
      ...[...body.matchAll(/<a\s[^>]*href="([^"]+)"/g)].map(([, href]) => ["GET", href!] as const),
      ...[...body.matchAll(/<form\b([^>]*)>/g)]
        .filter(([, form]) => form!.includes('method="post"'))
        .map(([, form]) => ["POST", /action="([^"]+)"/.exec(form!)?.[1] ?? address] as const),
    ];
    expect(offered.filter(([method, at]) => !mayRequest(role, method, at.replaceAll("&amp;", "&")))).toEqual([]);
    if (role === "viewer") expect(body.replaceAll(/<form\b[\s\S]*?<\/form>/g, "")).not.toContain('type="submit"');
  });

  it("reads payout details, or nothing of them", async () => {
    const shown = [];
    for (const route of GETS) {
      const { body } = await (await ready(role)).get(pageAddress(route.path, stocked.ids));
      if (body.includes(WALLET)) shown.push(route.path);
    }
    const named = [
      "/dashboard/partners/:id",
      "/dashboard/payouts",
      "/dashboard/payouts/:id",
      "/dashboard/webhooks/:id",
    ];
    if (role === "viewer") expect(shown).toEqual([]);
    else expect(shown).toEqual(expect.arrayContaining(named));
  });

  it("reads payout details in what changed, or nothing of them", async () => {
    const { program, partner } = stocked;
    await program.api("PATCH", `/api/v1/partners/${partner.id}`, { payout_email: `${role}@wallet.example` });
    const seen = [];
    for (const path of ["/dashboard/events", "/dashboard/events/list.csv"]) {
      const { status, body } = await (await ready(role)).get(path);
      expect([path, status, body.includes("partner.updated")]).toEqual([path, 200, true]);
      seen.push(["payout_email", "@wallet.example", "failure_message"].some((text) => body.includes(text)));
    }
    expect(seen).toEqual(role === "viewer" ? [false, false] : [true, true]);
    await program.api("PATCH", `/api/v1/partners/${partner.id}`, { payout_email: WALLET });
  });

  it("sends what is the role's, and changes nothing otherwise", async () => {
    const refusals = [];
    for (const route of ROUTES.filter(({ method }) => method === "POST")) {
      const visitor = await ready(role);
      const before = await everythingOf(stocked.program.id);
      const { status } = await visitor.post(pageAddress(route.path, stocked.ids), { status: "nothing", note: "" });
      if (status === 403) refusals.push(route.path);
      if (status === 403) expect([route.path, await everythingOf(stocked.program.id)]).toEqual([route.path, before]);
    }
    const expected = ROUTES.filter((route) => route.method === "POST" && !isAllowed(role, route));
    expect(refusals).toEqual(expected.map(({ path }) => path));
  });
});
