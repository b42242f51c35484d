/** The service's work beside its API, whose rows are counted. */
import { env } from "cloudflare:workers";
import { expect } from "vitest";
import { archiveNotedDays } from "../../src/core/clicks/archive.ts";
import {
  findProgramDomain,
  flushClicks,
  listClickObjects,
  readCursors,
  registerClickObject,
} from "../../src/core/clicks/clicks.ts";
import { rollUpClicks } from "../../src/core/clicks/roll-up.ts";
import { markApplied } from "../../src/core/ledger/apply-from.ts";
import { foldSearchTexts } from "../../src/core/partners/search.ts";
import { observeRates } from "../../src/core/payouts/observe-rates.ts";
import { readRate } from "../../src/domain/exchange.ts";
import { reconcileTransfers } from "../../src/core/payouts/open-transfers.ts";
import { mailSenders } from "../../src/core/mails/senders.ts";
import { forgetUnproved } from "../../src/core/operations/retention.ts";
import { readEventLists } from "../../src/core/inbound/read-list.ts";
import { finishVendorEvents, settleUnsettled } from "../../src/core/inbound/settle-jobs.ts";
import type { JobName } from "../../src/jobs.ts";
import { sendMails } from "../../src/outbound/mails.ts";
import { endClaimsAtInactive } from "../../src/outbound/sweep.ts";
import { openDatabase } from "../../src/db/client.ts";
import { newId } from "../../src/lib/id.ts";
import { DAY, HOUR, iso, MINUTE } from "../../src/lib/time.ts";
import { playOutsideWorld } from "./dns.ts";
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
import { fresh, meter, METERED, meteredContext, send, type Operation, type Subject } from "./rows-world.ts";
import { nowSeconds } from "./vendor.ts";
import { followLink, makeVisitor, requestLink } from "./visitor.ts";
import { callWith } from "./watched-database.ts";

const now = Date.now();
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
  "read the provider's exchange rates": "cron: read the provider's exchange rates",
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
  "cron: read the provider's exchange rates": async ({ program }) => {
    await run("update programs set payout_currency = 'EUR' where id = ?", program.id);
    const reads = () => ({
      isTestKey: () => false,
      readRates: async () => ({
        outcome: "read" as const,
        rates: [{ from: "USD", to: "EUR", rate: readRate("0.9")!, at: iso(now) }],
      }),
    });
    expect(await serveAll(observeRates(meteredContext(now), reads))).toBe(1);
    await run("update programs set payout_currency = null where id = ?", program.id);
    await run("delete from exchange_rates where program_id = ?", program.id);
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
