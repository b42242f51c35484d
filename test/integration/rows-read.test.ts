/**
 * The cost of an operation does not grow with its program, nor with the other programs of the deployment: D1 bills the
 * rows read, and its planner does not use table sizes. Every operation is measured in a small deployment and in the same
 * one grown; its subject is made again and is as large both times.
 */
import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it, vi } from "vitest";
import { app } from "../../src/app.ts";
import { plannedByValue } from "../support/planned-by-value.ts";
import { BACKGROUND, OF_JOBS } from "../support/rows-background.ts";
import { GROWING, RECONCILING } from "../support/rows-growing.ts";
import { growingBeyond, routeOf } from "../support/rows-measured.ts";
import { openFile, ROUTES } from "../support/rows-routes.ts";
import { meter, type Operation, type Subject } from "../support/rows-world.ts";
import { pageAddress, pageRoutes } from "../support/stocked.ts";

/** Every page of the dashboard and the portal. */
function pages(): Record<string, Operation> {
  const routes = pageRoutes("dashboard", "portal").filter(({ method }) => method === "GET");
  const shown = routes.map(({ path }) => [`GET ${path}`, async (subject: Subject) => showPage(subject, path)] as const);
  // Each search on its own: each reads some rows by chance.
  const typed: Record<string, (subject: Subject) => string> = {
    slug: ({ partner }) => partner.slug,
    address: ({ partner }) => partner.email,
    customer: ({ customer_email }) => customer_email,
    payment: ({ payment }) => payment,
    stranger: () => "nobody",
  };
  const searches = Object.entries(typed).map(([what, textOf]): [string, Operation] => [
    `GET /dashboard/search, of a typed ${what}`,
    async (subject) => {
      const query = new URLSearchParams({ search: textOf(subject) }).toString();
      const { status } = await subject.owner.get(`/dashboard/search?${query}`);
      expect([what, status]).toEqual([what, what === "payment" ? 303 : 200]);
    },
  ]);
  return {
    ...Object.fromEntries(shown.filter(([name]) => !(name in GROWING))),
    ...Object.fromEntries(searches),
  };
}

async function showPage(subject: Subject, path: string): Promise<void> {
  const { partner, flow, endpoint, delivery, commissions, payment, payouts, event, claims, applications } = subject;
  const ids = {
    ...{ partners: partner.id, flows: flow, webhooks: endpoint, deliveries: delivery, payments: payment },
    groups: subject.group,
    ...{
      commissions: commissions[0]!,
      payouts: payouts[0]!,
      customers: payment,
      events: event,
      claims: claims[0]!,
      applications: applications[0]!,
      ...{ team: subject.member, keys: subject.api_key },
      ...(path.includes("/exports/") ? { exports: (await openFile(subject)).id } : {}),
      secrets: "provider_a_webhook_secret",
    },
  };
  const visitor = path.startsWith("/portal") ? subject.portal : subject.owner;
  const { status } = await visitor.get(pageAddress(path, ids));
  expect([path, status]).toEqual([path, 200]);
}

/** Operations that change data have subjects of their own. */
const GROUPS: Record<string, Operation>[] = [
  ROUTES,
  BACKGROUND,
  pages(),
  Object.fromEntries(
    Object.entries(GROWING)
      .filter(([name]) => !RECONCILING.includes(name))
      .map(([name, growing]) => [name, growing.run]),
  ),
];

afterEach(() => {
  vi.restoreAllMocks();
});

describe("the rows that an operation reads", () => {
  it("are as many in a program and a deployment that have grown", async () => {
    // The small program has more than a page of every list; another one lives as many stories as the grown one.
    expect(await growingBeyond(GROUPS, { small: 25, grown: 125, others: 60 })).toEqual([]);
    expect(meter.statements.size).toBeGreaterThan(300);
    expect(await plannedByValue(env.DB, meter.statements)).toEqual([]);
  });

  it("are measured for every route and every job", () => {
    const measured = new Set([...GROUPS.flatMap((group) => Object.keys(group)), ...RECONCILING].map(routeOf));
    const routes = app.routes.filter(({ method, path }) => method !== "ALL" && /^\/(api\/v1|admin)\//.test(path));
    const every = [...routes.map(({ method, path }) => `${method} ${path}`), ...Object.values(OF_JOBS).map(routeOf)];
    const missing = every.filter((route) => !measured.has(route));
    expect(missing).toEqual([]);
    expect(routes.length).toBeGreaterThan(40);
  });
});
