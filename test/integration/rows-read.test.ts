/**
 * The cost of an operation does not grow with its program, nor with the other programs of the deployment: D1 bills the
 * rows read, and its planner does not use table sizes. Every operation is measured in a small deployment and in the same
 * one grown; its subject is made again and is as large both times.
 */
import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it, vi } from "vitest";
import { app } from "../../src/app.ts";
import { foldSearchTexts } from "../../src/core/partners/search.ts";
import { newId } from "../../src/lib/id.ts";
import { HOUR, MINUTE } from "../../src/lib/time.ts";
import { repeatStory, run } from "../support/grown-program.ts";
import { serveAll } from "../support/jobs.ts";
import { playOutside } from "../support/payouts.ts";
import { plannedByValue } from "../support/planned-by-value.ts";
import { makeProgram, testContext } from "../support/program.ts";
import { BACKGROUND, GROWING, OF_JOBS } from "../support/rows-background.ts";
import { ROUTES } from "../support/rows-routes.ts";
import { meter, newSubject, openWorld, type Operation, type Subject, type World } from "../support/rows-world.ts";
import { SENDING_NOTHING } from "../support/unsent-routes.ts";
import { runClockFrom } from "../support/time.ts";
import { pageAddress, pageRoutes } from "../support/stocked.ts";

/** The number of stories in a program; the small one has more than a page of every list. */
const SMALL = 25;
const GROWN = 125;
/** Other programs that a deployment has grown by, the first of which has lived as many stories. */
const OTHERS = 60;
/**
 * Rows an operation may read in addition by chance: up to 20 deliveries of a counted lane, and partners with common
 * parts of names.
 */
const SLACK = 40;
/** Both histories are longer than any page. */
const HISTORY = { small: 120, grown: 320 };

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
  Object.fromEntries(Object.entries(GROWING).map(([name, growing]) => [name, growing.run])),
];

type Measured = Map<string, ReturnType<typeof meter.taken>>;

const UNSENT = new Set(Object.values(SENDING_NOTHING).flat());

/** An operation's name is its route and, after it, its variant. */
function routeOf(name: string): string {
  return name.split(",")[0]!;
}

async function messagesOf({ program }: World): Promise<number> {
  const count = env.DB.prepare("select count(*) as n from messages where program_id = ?").bind(program.id);
  return (await count.first<number>("n"))!;
}

async function measure(world: World, history: number): Promise<Measured> {
  const measured: Measured = new Map();
  playOutside(world.vendor);
  // The story's partners are copied as they were made, a moment ago: a minute later the job has been there.
  await serveAll(foldSearchTexts(testContext()));
  for (const group of GROUPS) {
    const subject = await newSubject(world, history);
    for (const [name, operation] of Object.entries(group)) {
      const sent = await messagesOf(world);
      meter.taken();
      await operation(subject);
      measured.set(name, meter.taken());
      // An endpoint of the story is subscribed to everything.
      if (UNSENT.has(routeOf(name))) expect([name, await messagesOf(world)]).toEqual([name, sent]);
    }
  }
  return measured;
}

async function grow(world: World): Promise<void> {
  const now = Date.now();
  await repeatStory(world.story, SMALL, GROWN);
  const neighbor = await openWorld();
  await repeatStory(neighbor.story, 0, GROWN);
  for (let i = 1; i < OTHERS; i++) {
    const { id } = await makeProgram();
    await run(
      `insert into webhook_endpoints (id, program_id, url, secret, events, active, created_at, updated_at)
      select ?, ?, 'https://others.example.com', secret, '["*"]', 1, '', '' from webhook_endpoints limit 1`,
      ...[newId("endpoint", now), id],
    );
  }
}

afterEach(() => {
  vi.restoreAllMocks();
});

describe("the rows that an operation reads", () => {
  it("are as many in a program and a deployment that have grown", async () => {
    // A second hour would split the counts of the story: everything stays within one.
    runClockFrom(Math.ceil(Date.now() / HOUR) * HOUR + 10 * MINUTE);
    const world = await openWorld();
    await repeatStory(world.story, 0, SMALL);
    const small = await measure(world, HISTORY.small);
    await grow(world);
    const grown = await measure(world, HISTORY.grown);
    const tooMany = [...grown].flatMap(([name, { rows, most }]) => {
      const before = small.get(name)!.rows;
      const { story = 0, delivery = 0, program = 0 } = GROWING[name] ?? {};
      const more = story * (GROWN - SMALL) + delivery * (HISTORY.grown - HISTORY.small) + program * OTHERS;
      return rows - before <= SLACK + more ? [] : [{ name, before, rows, most }];
    });
    expect(tooMany).toEqual([]);
    expect(meter.statements.size).toBeGreaterThan(300);
    expect(await plannedByValue(env.DB, meter.statements)).toEqual([]);
  });

  it("are measured for every route and every job", () => {
    const measured = new Set(GROUPS.flatMap((group) => Object.keys(group).map(routeOf)));
    const routes = app.routes.filter(({ method, path }) => method !== "ALL" && /^\/(api\/v1|admin)\//.test(path));
    const every = [...routes.map(({ method, path }) => `${method} ${path}`), ...Object.values(OF_JOBS).map(routeOf)];
    const missing = every.filter((route) => !measured.has(route));
    expect(missing).toEqual([]);
    expect(routes.length).toBeGreaterThan(40);
  });
});
