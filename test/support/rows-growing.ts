/** Every operation that reads more rows as data grows, with the reason. */
import { expect } from "vitest";
import { approveDueCommissions } from "../../src/core/commissions/auto-approve.ts";
import { noteArchivableDays } from "../../src/core/clicks/archive.ts";
import { disableFailingEndpoints } from "../../src/core/webhooks/health.ts";
import { generateMonthlyPayouts } from "../../src/core/payouts/month.ts";
import { recountCodes } from "../../src/core/operations/recount-codes.ts";
import { recountEarnings } from "../../src/core/operations/recount-earnings.ts";
import { recountEvents } from "../../src/core/operations/recount-events.ts";
import { recountLists } from "../../src/core/operations/recount-lists.ts";
import { reconcilePrograms } from "../../src/core/reconcile/reconcile.ts";
import { forgetOld } from "../../src/core/operations/retention.ts";
import { DAY, iso } from "../../src/lib/time.ts";
import { PROVIDER_NAMES } from "../../src/providers/registry.ts";
import { run } from "./grown-program.ts";
import { serveAll } from "./jobs.ts";
import { clientOf } from "./payouts.ts";
import { admin, api, fresh, meter, meteredContext, type Operation, type Subject } from "./rows-world.ts";

const now = Date.now();
/** A day on which payouts are made, before the first earnings. */
const FIRST_OF_MONTH = Date.parse(`${iso(now - 62 * DAY).slice(0, 7)}-01T00:00:30.000Z`);

const customerFile = ({ partner }: Subject) => `customer_email,code\n${fresh()}@customers.example,${partner.slug}\n`;

async function reconcileDaily(vendor: Subject["vendor"], at = now): Promise<void> {
  await serveAll(reconcilePrograms(meteredContext(at), clientOf(vendor)));
}

/**
 * Operations that read more as data grows: the reason, and the largest number of additional rows for each story,
 * delivery or program.
 */
export interface Growing {
  run: Operation;
  why: string;
  story?: number;
  delivery?: number;
  program?: number;
}

const SUMMED = "what is still to be paid is summed by partner, and its payments must be settled";
const CODES = "the answer is all codes that partners have";
const EXPORTED = "the answer is all payouts, and their number is in the event";

/** All rows of a list, as people see it, and this many more of each for a story. */
function filesOfLists(): Record<string, Growing> {
  const why = "the answer is all rows of a list";
  const lists = {
    partners: 24,
    "partners/applications": 2,
    claims: 7,
    payments: 30,
    "payments/leads": 20,
    customers: 140,
    commissions: 30,
    payouts: 8,
    events: 60,
    "events/clicks": 60,
  };
  const files = Object.entries(lists).map(([list, story]): [string, Growing] => {
    const path = `/dashboard/${list}/list.csv`;
    return [`GET ${path}`, { run: async ({ owner }) => owner.get(path), why, story }];
  });
  const deliveries = async ({ owner, endpoint }: Subject) =>
    owner.get(`/dashboard/webhooks/${endpoint}/deliveries.csv`);
  return {
    ...Object.fromEntries(files),
    "GET /dashboard/webhooks/:id/deliveries.csv": { run: deliveries, why, delivery: 6 },
  };
}

export const GROWING: Record<string, Growing> = {
  "GET /api/v1/commissions, of a time": {
    run: api("GET", "/api/v1/commissions?from=2026-01-01&to=2026-01-02"),
    why: "a commission has no index by time, a row written for each; it is looked for and counted",
    story: 23,
  },
  "GET /api/v1/payouts/export.csv": { run: api("GET", "/api/v1/payouts/export.csv"), why: EXPORTED, story: 8 },
  "GET /dashboard/payouts/export.csv": {
    run: async ({ owner }) => owner.get("/dashboard/payouts/export.csv"),
    why: EXPORTED,
    story: 8,
  },
  "GET /dashboard/payouts/pay": {
    run: async ({ owner }) => owner.get("/dashboard/payouts/pay"),
    why: "what is still to be paid is summed by method and currency, and the partners without details are counted",
    story: 9,
  },
  "GET /dashboard/payouts/matching": {
    run: async ({ owner }) => owner.get("/dashboard/payouts/matching"),
    why: "all that match are counted and summed before they are changed",
    story: 3,
  },
  ...filesOfLists(),
  "GET /api/v1/codes/export.csv": { run: api("GET", "/api/v1/codes/export.csv"), why: CODES, story: 4 },
  "GET /dashboard/payments/codes/export.csv": {
    run: async ({ owner }) => owner.get("/dashboard/payments/codes/export.csv"),
    why: CODES,
    story: 4,
  },
  "POST /api/v1/payouts/generate": {
    run: api("POST", "/api/v1/payouts/generate", { dry_run: true }),
    why: SUMMED,
    story: 19,
  },
  "GET /dashboard/payouts/new": {
    run: async ({ owner }) => owner.get("/dashboard/payouts/new"),
    why: SUMMED,
    story: 20,
  },
  "GET /dashboard/customers": {
    run: async ({ owner }) => owner.get("/dashboard/customers"),
    why: "a customer is no row of its own: until 1,000 are counted, payments are looked at for newer ones of their customer",
    story: 24,
  },
  "GET /dashboard/customers, by revenue": {
    run: async ({ owner }) => owner.get("/dashboard/customers?sort=-revenue"),
    why: "all payments of all customers are read, until there are 1,000 customers",
    story: 160,
  },
  "GET /dashboard/partners, by revenue": {
    run: async ({ owner }) => owner.get("/dashboard/partners?sort=-revenue"),
    why: "partners are sorted by a figure of each, which no index has",
    story: 4,
  },
  "GET /dashboard/commissions, by amount": {
    run: async ({ owner }) => owner.get("/dashboard/commissions?sort=-amount"),
    why: "a list is sorted by a value that no index has, up to 20,000 rows",
    story: 24,
  },
  "GET /dashboard/payments/codes": {
    run: async ({ owner }) => owner.get("/dashboard/payments/codes"),
    why: "of the newest 500 payments that name no partner, however many there are",
    story: 5,
  },
  "GET /dashboard/commissions/matching": {
    run: async ({ owner }) => owner.get("/dashboard/commissions/matching"),
    why: "all that match are counted and summed before they are changed",
    story: 31,
  },
  "GET /dashboard": {
    run: async ({ owner }) => owner.get("/dashboard"),
    why: "what partners earned and sold in these days is summed by day; holds, amounts and disputes are each looked up in a thousand rows",
    story: 25,
  },
  "POST /api/v1/customers/erase": {
    run: api("POST", "/api/v1/customers/erase", ({ customer_email }) => ({ email: customer_email })),
    why: "an address may be in everything that was ever stored",
    story: 60,
  },
  "POST /api/v1/imports, customers": {
    run: api("POST", "/api/v1/imports?kind=customers&product=rewardful&provider=provider_a", customerFile),
    why: "payments that came meanwhile are looked for in the last 31 days, for they have no index by address",
    story: 13,
  },
  "GET /api/v1/events, clicks": {
    run: api("GET", "/api/v1/events?type=click"),
    why: "clicks have no index by type, a row written for each: other events between them are read over",
    story: 60,
  },
  "GET /dashboard/events/clicks": {
    run: async ({ owner }) => owner.get("/dashboard/events/clicks"),
    why: "clicks have no index by type, a row written for each: other events between them are read over",
    story: 60,
  },
  "GET /api/v1/webhooks/:id/deliveries": {
    run: api("GET", "/api/v1/webhooks/{endpoint}/deliveries"),
    why: "the deliveries of one endpoint are counted, of 90 days at most",
    delivery: 1,
  },
  "GET /dashboard/webhooks/:id": {
    run: async ({ owner, endpoint }) => owner.get(`/dashboard/webhooks/${endpoint}`),
    why: "the deliveries of one endpoint are counted, of 90 days at most",
    delivery: 1,
  },
  "POST /api/v1/webhooks/:id/recover": {
    run: api("POST", "/api/v1/webhooks/{endpoint}/recover", { since: iso(now - DAY) }),
    why: "the deliveries of one endpoint since then are looked through for failed ones",
    delivery: 1,
  },
  "GET /admin/programs": { run: admin("GET", "/admin/programs?per_page=5"), why: "programs are counted", program: 1.2 },
  "POST /admin/reconcile": {
    run: admin("POST", "/admin/reconcile", ({ program }) => ({ program_id: program.id })),
    why: "the operator asks for all of a program, as far as the statements of one call go",
    story: 500,
  },
  "cron: reconcile the ledger, the first time": {
    run: async ({ vendor }) => reconcileDaily(vendor),
    why: "once, all of a program is looked at",
    story: 6_500,
    program: 60,
  },
  "cron: reconcile the ledger, on another day": {
    run: async ({ vendor }) => {
      // Rows that events touched, which are not part of the daily round.
      await reconcileDaily(vendor, now + 2 * DAY);
      meter.taken();
      await reconcileDaily(vendor, now + 4 * DAY);
    },
    why: "once a day each program is looked at, and a part of what it has, for whole partners",
    story: 250,
    program: 60,
  },
  "POST /admin/secrets/reseal": {
    run: admin("POST", "/admin/secrets/reseal"),
    why: "every sealed value of the deployment is looked at: the connections of a program, three columns of each, twice, and the program",
    program: 12 * PROVIDER_NAMES.length + 3,
    story: 7,
  },
  "cron: disable failing endpoints": {
    run: async () => serveAll(disableFailingEndpoints(meteredContext())),
    why: "once a day each endpoint is looked at",
    program: 1.2,
  },
  "cron: forget what is past its time": {
    run: async () => serveAll(forgetOld(meteredContext())),
    why: "once a day each endpoint, session, e-mail and sign-in link is looked at, those of members who are invited among them",
    program: 3,
  },
  "cron: approve due commissions": {
    run: async ({ commissions }) => {
      await run("update commissions set created_at = ? where id = ?", iso(now - 40 * DAY), commissions[0]);
      expect(await serveAll(approveDueCommissions(meteredContext()))).toBeGreaterThan(0);
    },
    why: "once a day each pending commission is looked at, of programs where they approve themselves",
    story: 27,
    program: 4,
  },
  "cron: note clicks beyond their retention": {
    run: async () => serveAll(noteArchivableDays(meteredContext(), 30)),
    why: "once a day each program and each of its days with clicks is looked at",
    program: 2.2,
  },
  "cron: recount events": {
    run: async () => serveAll(recountEvents(meteredContext())),
    why: "once a day each event in the database is counted, and each click by page and sub-id again, some thousand at a time",
    story: 305,
    program: 100,
  },
  "cron: recount lists": {
    run: async () => serveAll(recountLists(meteredContext())),
    why: "once a day each row of a list is counted, some ten thousand at a time; partners twice, by state and by group",
    story: 250,
    program: 24,
  },
  "cron: recount earnings": {
    run: async () => serveAll(recountEarnings(meteredContext())),
    why: "once a day each commission and each payment of a partner is added up, those of some partners at a time",
    story: 280,
    program: 20,
  },
  "cron: recount codes": {
    run: async () => serveAll(recountCodes(meteredContext())),
    why: "once a day each payment that a code decided is added up, those of some codes at a time",
    story: 110,
    program: 10,
  },
  "cron: the past month's payouts": {
    run: async () => serveAll(generateMonthlyPayouts(meteredContext(FIRST_OF_MONTH))),
    why: "on the first of a month each program is looked at, and there each payable commission of that day",
    story: 4,
    program: 4,
  },
};

/** The jobs of `GROWING` that look at all of each program, in their order: they take long if the programs are large. */
export const RECONCILING: readonly string[] = [
  "cron: reconcile the ledger, the first time",
  "cron: reconcile the ledger, on another day",
];
