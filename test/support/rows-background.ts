/** The service's work beside its API, and every operation that reads more rows as data grows, with the reason. */
import { env } from "cloudflare:workers";
import { expect } from "vitest";
import { approveDueCommissions } from "../../src/core/commissions/auto-approve.ts";
import { archiveNotedDays, noteArchivableDays } from "../../src/core/clicks/archive.ts";
import {
  findProgramDomain,
  flushClicks,
  listClickObjects,
  readCursors,
  registerClickObject,
} from "../../src/core/clicks/clicks.ts";
import { rollUpClicks } from "../../src/core/clicks/roll-up.ts";
import { markApplied } from "../../src/core/ledger/apply-from.ts";
import { disableFailingEndpoints } from "../../src/core/webhooks/health.ts";
import { foldSearchTexts } from "../../src/core/partners/search.ts";
import { generateMonthlyPayouts } from "../../src/core/payouts/month.ts";
import { reconcileTransfers } from "../../src/core/payouts/open-transfers.ts";
import { mailSenders } from "../../src/core/mails/senders.ts";
import { recountCodes } from "../../src/core/operations/recount-codes.ts";
import { recountEarnings } from "../../src/core/operations/recount-earnings.ts";
import { recountEvents } from "../../src/core/operations/recount-events.ts";
import { recountLists } from "../../src/core/operations/recount-lists.ts";
import { reconcilePrograms } from "../../src/core/reconcile/reconcile.ts";
import { forgetOld, forgetUnproved } from "../../src/core/operations/retention.ts";
import { readEventLists } from "../../src/core/inbound/read-list.ts";
import { finishVendorEvents, settleUnsettled } from "../../src/core/inbound/settle-jobs.ts";
import type { JobName } from "../../src/jobs.ts";
import { sendMails } from "../../src/outbound/mails.ts";
import { endClaimsAtInactive } from "../../src/outbound/sweep.ts";
import { openDatabase } from "../../src/db/client.ts";
import { newId } from "../../src/lib/id.ts";
import { DAY, HOUR, iso, MINUTE } from "../../src/lib/time.ts";
import { playOutsideWorld } from "./dns.ts";
import { PROVIDER_NAMES } from "../../src/providers/registry.ts";
import { run } from "./grown-program.ts";
import { serveAll } from "./jobs.ts";
import { openMailbox } from "./mailbox.ts";
import { deliveriesOf, openOutbound } from "./outbound.ts";
import { openEventLists } from "./event-lists.ts";
import { API_KEY_A, clientOf } from "./payouts.ts";
import { customerEvent } from "./provider-a.ts";
import { SECRET_B, testContext } from "./program.ts";
import { bodyOfB, signB, subscriptionCanceled } from "./provider-b.ts";
import { MAIL_JOBS } from "./rows-mails.ts";
import { admin, api, fresh, meter, METERED, meteredContext, send, type Operation, type Subject } from "./rows-world.ts";
import { nowSeconds } from "./vendor.ts";
import { followLink, makeVisitor, requestLink } from "./visitor.ts";
import { callWith } from "./watched-database.ts";

const now = Date.now();
/** A day on which payouts are made, before the first earnings. */
const FIRST_OF_MONTH = Date.parse(`${iso(now - 62 * DAY).slice(0, 7)}-01T00:00:30.000Z`);

const customerFile = ({ partner }: Subject) => `customer_email,code\n${fresh()}@customers.example,${partner.slug}\n`;

/** The measurement of each periodic job's rows: a new job does not compile without its entry. */
export const OF_JOBS: Record<JobName, string> = {
  "wake due deliveries": "deliveries, from the sweep to the record",
  "end claims at inactive endpoints": "cron: end claims at inactive endpoints",
  "wake click objects": "a flush of clicks",
  "roll up clicks": "cron: roll up clicks",
  "finish vendor events": "cron: finish what is unfinished",
  "mark payments of applied rules": "cron: mark payments of applied rules",
  "settle payments": "cron: finish what is unfinished",
  "reconcile open transfers": "cron: reconcile transfers",
  "read the providers' events": "cron: read the providers' events",
  "fold what partners are searched by": "cron: fold what partners are searched by",
  "store weekly summaries": "cron: store weekly summaries",
  "store e-mails of commissions": "cron: store e-mails of commissions",
  "send e-mails": "cron: send e-mails",
  "forget what is not proved": "cron: forget what is not proved",
  "archive clicks": "cron: move clicks into the archive",
  "disable failing endpoints": "cron: disable failing endpoints",
  "forget what is past its time": "cron: forget what is past its time",
  "note clicks beyond their retention": "cron: note clicks beyond their retention",
  "approve due commissions": "cron: approve due commissions",
  "recount events": "cron: recount events",
  "recount lists": "cron: recount lists",
  "recount earnings": "cron: recount earnings",
  "recount codes": "cron: recount codes",
  "reconcile the ledger": "cron: reconcile the ledger, on another day",
  "mail about closed days of clicks": "cron: mail about closed days of clicks",
  "warn of full databases": "cron: warn of full databases",
  "generate the past month's payouts": "cron: the past month's payouts",
};

/** Clicks advance by an hour with each roll-up: a flush counts clicks from before the last one. */
let clickHours = 0;
const rolledUp = () => now + clickHours * HOUR;

async function flushAt({ program, partner }: Subject, at: number): Promise<void> {
  const flush = { object: "weur:rows", epoch: fresh(), from: 0, to: 3, now: at };
  const click = { created_at: iso(at), program_id: program.id, landing: "/", referrer: "", country: "DE" };
  await registerClickObject(METERED, flush);
  const arrivals = [
    ...[partner.slug, "nobody"].map((ref) => ({ ...click, id: newId("event", at), ref })),
    { created_at: iso(at), program_id: program.id, dropped: "bot" as const },
  ];
  expect(await flushClicks(METERED, { ...flush, arrivals })).toBe(3);
  await listClickObjects(meteredContext().db, "", 20);
  expect(await readCursors(meteredContext().db, [flush.epoch])).toEqual(new Map([[flush.epoch, 3]]));
}

/** Background work, and requests without a key. */
export const BACKGROUND: Record<string, Operation> = {
  "cron: end claims at inactive endpoints": async ({ program, endpoint, delivery }) => {
    await run("update webhook_endpoints set active = 0 where id = ?", endpoint);
    await run("update deliveries set status = 'delivering', claimed_until = ? where id = ?", iso(now - 1), delivery);
    const outbound = { db: openDatabase(meter.binding), now: () => now };
    expect([program.id, await serveAll(endClaimsAtInactive(outbound))]).toEqual([program.id, 1]);
    await run("update webhook_endpoints set active = 1 where id = ?", endpoint);
  },
  ...MAIL_JOBS,
  "cron: send e-mails": async ({ program }) => {
    const { bindings, mails } = openMailbox();
    const senders = mailSenders({ ...bindings, ENVIRONMENT: "production" }, () => Promise.reject(new Error("none")));
    await run("delete from mails");
    await run(
      `insert into mails (id, program_id, kind, recipient, subject_id, status, attempt_count, next_attempt_at, created_at)
        values (?, ?, 'claims_waiting', 'owner@shop.example', ?3, 'pending', 0, ?3, ?3)`,
      ...[newId("mail", now), program.id, iso(now - 1)],
    );
    await serveAll(sendMails(meteredContext(), { senders, keepsContent: false }, () => {}));
    expect(mails.length).toBeLessThan(2);
  },
  "cron: forget what is not proved": async ({ program }) => {
    await run(
      `insert into application_drafts (token_hash, program_id, email, name, answers, mailbox, created_at, expires_at)
        values (?1, ?2, 'jane@applicants.example', 'Jane', '[]', '', ?3, ?3)`,
      ...[fresh(), program.id, iso(now - 1)],
    );
    expect(await serveAll(forgetUnproved(meteredContext()))).toBe(1);
  },
  "the domain that a link leads to": async ({ program }) => findProgramDomain(meteredContext().db, program.id),
  "a sign-in of an owner, and the choice of accounts": async ({ program }) => {
    const requested = await requestLink(meteredContext(), program.program.owner_email);
    const visitor = makeVisitor(send);
    expect((await followLink(visitor, requested!.link.token)).status).toBe(303);
    expect((await visitor.get("/switch")).status).toBe(200);
  },
  "a sign-in of a partner": async ({ partner }) => {
    const requested = await requestLink(meteredContext(), partner.email);
    expect((await followLink(makeVisitor(send), requested!.link.token)).status).toBe(303);
  },
  "a link that is tried twice, and signing out everywhere": async ({ partner }) => {
    const requested = await requestLink(meteredContext(), partner.email);
    const visitor = makeVisitor(send);
    for (const status of [303, 410]) {
      expect((await followLink(visitor, requested!.link.token)).status).toBe(status);
    }
    await visitor.get("/portal/details/sessions");
    expect((await visitor.post("/portal/details/sessions/end-all")).headers.get("location")).toBe("/sign-in");
  },
  "an event of a provider that names no program": async () => {
    const body = bodyOfB(subscriptionCanceled({ id: "sub_of_nobody" }));
    const headers = { "Provider-B-Signature": await signB(body, SECRET_B) };
    const { status } = await callWith(METERED, "/webhooks/provider_b", { method: "POST", body, headers });
    expect(status).toBe(404);
  },
  "refused deliveries of a program, and what is noted of them": async ({ program }) => {
    const path = `/webhooks/provider_a?program_id=${program.id}`;
    const forged = `t=${nowSeconds()},v1=${"ab".repeat(32)}`;
    for (const headers of [{}, { "Provider-A-Signature": forged }]) {
      expect((await callWith(METERED, path, { method: "POST", body: "{}", headers })).status).toBe(401);
    }
  },
  "a flush of clicks": (subject) => flushAt(subject, rolledUp() + HOUR),
  "cron: roll up clicks": async () => {
    clickHours += 2;
    await serveAll(rollUpClicks(meteredContext(rolledUp())));
  },
  "a flush of clicks that come after their roll-up": (subject) => flushAt(subject, rolledUp() - HOUR),
  "deliveries, from the sweep to the record": async ({ program, endpoint, delivery }) => {
    await run(
      `update deliveries set status = 'pending', attempt_count = 0, next_attempt_at = ? where id = ?`,
      ...[iso(now), delivery],
    );
    const world = playOutsideWorld({ receivers: { "subject-one.example.com": () => new Response("ok") } });
    const outbound = openOutbound(world, { now: now + 10 * MINUTE }, openDatabase(meter.binding));
    expect(await outbound.sweep(program)).toHaveLength(1);
    await outbound.deliver(delivery);
    expect((await deliveriesOf(program, endpoint)).find(({ id }) => id === delivery)?.status).toBe("succeeded");
  },
  "cron: finish what is unfinished": async ({ program, payment, payment_intent }) => {
    const long_ago = iso(now - DAY);
    await run(
      "update payments set facts_revision = facts_revision + 1, updated_at = ? where id = ?",
      long_ago,
      payment,
    );
    await run(
      `update provider_events set audit_event_id = null, received_at = ? where program_id = ? and instr(body, ?)`,
      ...[long_ago, program.id, payment_intent],
    );
    expect(await serveAll(finishVendorEvents(meteredContext()))).toBe(1);
    expect(await serveAll(settleUnsettled(meteredContext()))).toBe(0);
  },
  "cron: mark payments of applied rules": async ({ program, payment, paid_at }) => {
    // The routes' own changes are done; only this one remains, which has not reached a payment yet.
    await run("delete from rule_applications");
    const change = { default_commission_pct: 27, apply_from: paid_at };
    expect((await program.api("PATCH", "/api/v1/programs/me", change)).status).toBe(200);
    await run("update rule_applications set marked_id = 'pmt_~'");
    // One step, with the settlement of the payments that it marks: a larger program has more steps, of 50 payments each.
    const work = markApplied(meteredContext());
    const due = await work.due("");
    expect(due).toHaveLength(1);
    for (const one of due) expect(await work.serve(one)).toBe(true);
    await run("delete from rule_applications");
    expect(await isUnsettled(payment)).toBe(true);
    expect(await serveAll(settleUnsettled(meteredContext(Date.now() + DAY)))).toBe(1);
  },
  "cron: reconcile transfers": async ({ payouts, vendor }) => {
    await run(
      `update payouts set status = 'processing', attempt = 1, reconcile_at = ?, attempt_started_at = ?,
        attempt_params = '{"request":"","key_mark":""}' where id = ?`,
      ...[iso(now - 1), iso(now - 2), payouts[0]],
    );
    // A moment before any other operation left a transfer open.
    expect(await serveAll(reconcileTransfers(meteredContext(now), clientOf(vendor)))).toBe(1);
  },
  "cron: read the providers' events": async ({ program }) => {
    await run("update provider_connections set next_read_at = iif(program_id = ?, '', '9')", program.id);
    const lists = openEventLists();
    lists.keys.add(API_KEY_A);
    lists.a.push(customerEvent({ ref: fresh() }));
    expect(await serveAll(readEventLists(meteredContext(now + MINUTE), lists.readsOf))).toBeGreaterThan(1);
  },
  "cron: fold what partners are searched by": async ({ partner }) => {
    // The texts of the routes' changes.
    await serveAll(foldSearchTexts(testContext()));
    await run("update partners set search_text = 'as before' where id = ?", partner.id);
    expect(await serveAll(foldSearchTexts(meteredContext()))).toBe(1);
  },
  "cron: move clicks into the archive": async ({ program }) => {
    const then = now - 40 * DAY;
    await run("insert into click_archive_days (program_id, day) values (?, ?)", program.id, iso(then).slice(0, 10));
    await run(
      "insert into events (program_id, id, type, payload, created_at) values (?, ?, 'click', ?, ?)",
      ...[program.id, newId("event", then)],
      ...[JSON.stringify({ ref: "x", landing: "/", referrer: "", partner_id: "par_x" }), iso(then)],
    );
    expect(await serveAll(archiveNotedDays(meteredContext(), env.ARCHIVE))).toBe(1);
  },
};

async function isUnsettled(payment: string): Promise<boolean> {
  const row = await env.DB.prepare("select settled_revision < facts_revision as due from payments where id = ?")
    .bind(payment)
    .first<{ due: number }>();
  return row?.due === 1;
}

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
    partners: 8,
    "partners/applications": 2,
    claims: 7,
    payments: 30,
    "payments/leads": 20,
    customers: 140,
    commissions: 30,
    payouts: 7,
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
  "GET /api/v1/payouts/export.csv": { run: api("GET", "/api/v1/payouts/export.csv"), why: EXPORTED, story: 7 },
  "GET /dashboard/payouts/export.csv": {
    run: async ({ owner }) => owner.get("/dashboard/payouts/export.csv"),
    why: EXPORTED,
    story: 7,
  },
  "GET /dashboard/payouts/files": {
    run: async ({ owner }) => owner.get("/dashboard/payouts/files"),
    why: "what is still to be paid to wallets is counted by currency",
    story: 1,
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
    why: "what partners earned and sold in these days is summed: a row for each by day, however many commissions",
    story: 17,
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
    why: "every sealed value of the deployment is looked at: the connections of a program, three columns of each, twice",
    program: 12 * PROVIDER_NAMES.length,
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
    story: 208,
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
