/** Every page is found: a link or a form of another page leads to it, and the browser's suite looks at it. */
import { exports } from "cloudflare:workers";
import { beforeAll, describe, expect, it } from "vitest";
import { app } from "../../src/app.ts";
import { LOOKED_AT, NOT_LOOKED_AT } from "../support/looked-at.ts";
import { CHANGING, MAKING, OTHERS } from "../support/page-forms.ts";
import { BASE_URL } from "../support/program.ts";
import { makeStocked, pageAddress, pageRoutes, type Stocked } from "../support/stocked.ts";
import { makeVisitor, signInOwner, signInPartner, type Visitor } from "../support/visitor.ts";

const GETS = pageRoutes("dashboard", "portal")
  .filter(({ method }) => method === "GET")
  .map(({ path }) => path);

/** Pages that nothing leads to, each with its reason. */
const ALONE: Record<string, string> = {
  "/dashboard/partners/:id/forget-account": "offered where the partner has an account there",
  "/dashboard/payouts/:id/pay": "offered where provider A can pay, which it cannot in this program",
  "/dashboard/payouts/:id/was-made": "offered where provider A cannot be asked about an open transfer",
  "/dashboard/payouts/:id/was-not-made": "the same",
};

let stocked: Stocked;
let visitors: Record<"dashboard" | "portal", Visitor>;

beforeAll(async () => {
  stocked = await makeStocked();
  visitors = {
    dashboard: await signInOwner(stocked.program, makeVisitor()),
    portal: await signInPartner(stocked.partner.email, makeVisitor()),
  };
});

/** The routes that the links and forms of a page lead to. */
function routesIn(body: string): string[] {
  const addresses = [...body.matchAll(/\s(?:href|action|formaction)="([^"#?]+)/g)].map(([, address]) => address!);
  return GETS.filter((route) => {
    const pattern = new RegExp(`^${route.replaceAll(/:[a-z_]+/g, "[^/]+")}$`);
    return addresses.some(
      (address) => pattern.test(address) && !GETS.some((other) => other === address && other !== route),
    );
  });
}

describe("every page", () => {
  it("is reached from the first one", async () => {
    const reached = new Set<string>(["/dashboard", "/portal"]);
    for (const route of reached) {
      const visitor = route.startsWith("/portal") ? visitors.portal : visitors.dashboard;
      const { body } = await visitor.get(pageAddress(route, stocked.ids));
      for (const next of routesIn(body)) reached.add(next);
    }
    expect(GETS.filter((route) => !reached.has(route))).toEqual(Object.keys(ALONE));
  });

  it("is looked at in a browser, or listed with the reason why not", () => {
    expect([...LOOKED_AT, ...Object.keys(NOT_LOOKED_AT)].toSorted()).toEqual(GETS.toSorted());
  });

  it("that makes or changes a thing is among the forms that are tried", () => {
    const posts = pageRoutes("dashboard", "portal").flatMap(({ method, path }) => (method === "POST" ? [path] : []));
    expect([...MAKING, ...CHANGING, ...Object.values(OTHERS).flat()].toSorted()).toEqual(posts.toSorted());
  });
});

describe("an address with a slash at its end (PAGE-28)", () => {
  const addresses = new Set(
    app.routes.flatMap(({ method, path }) =>
      method === "GET" && path !== "/" && !path.includes("*") ? [path.replaceAll(/:[a-z_]+(\{[^}]*\})?/g, "some")] : [],
    ),
  );
  /** What programs ask for. */
  const STRICT = /^\/(api|admin|webhooks|r|assets)\/|^\/(healthz|click|service\.js|openapi\.json|llms\.txt)$/;
  const ask = (path: string, init: RequestInit = {}) =>
    exports.default.fetch(new Request(`${BASE_URL}${path}`, { redirect: "manual", ...init }));

  it("leads to every page, signed in or not, with its query; what programs ask for is strict", async () => {
    for (const page of ["/dashboard", "/dashboard/customers", "/portal/details", "/docs", "/sign-in"]) {
      expect(addresses).toContain(page);
    }
    for (const path of addresses) {
      for (const method of ["GET", "HEAD"]) {
        const { status, headers } = await ask(`${path}/?a=b%2F&c=1`, { method });
        const found = [path, status, headers.get("location")];
        if (!STRICT.test(path)) expect(found).toEqual([path, 308, `${path}?a=b%2F&c=1`]);
        else expect([401, 404], path).toContain(status);
      }
    }
    expect((await visitors.dashboard.get("/dashboard/")).headers.get("location")).toBe("/dashboard");
  });

  it("is unknown where there is no page, and for a form", async () => {
    for (const path of ["/nowhere/", "/dashboard/nowhere/", "//example.com/", "/dashboard//example.com/", "//docs/"]) {
      expect([path, (await visitors.dashboard.get(path)).status]).toEqual([path, 404]);
    }
    expect((await ask("/sign-in/", { method: "POST" })).headers.get("location")).toBeNull();
  });
});
