/**
 * What the version before had under way goes on after the upgrade (src/docs/deploy.md): a transfer without an answer, who is
 * signed in, e-mails that are due, clicks that an object keeps (DEP-4).
 */
import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it, vi } from "vitest";
import { wakeClickObjects } from "../../src/clicks/wake.ts";
import { journalOldCommissions } from "../../src/core/ledger/journal.ts";
import { attemptOf } from "../../src/core/payouts/attempt.ts";
import { randomToken, sha256Hex } from "../../src/lib/crypto.ts";
import { newId } from "../../src/lib/id.ts";
import { DAY, HOUR, iso, MINUTE } from "../../src/lib/time.ts";
import { fill, goBack, goOn } from "../support/before-journal.ts";
import { clicksOf, clickStub, countsOf, HERE, unflushed } from "../support/clicks.ts";
import { serveAll } from "../support/jobs.ts";
import { openMailbox } from "../support/mailbox.ts";
import { API_KEY_A, reconcileAt, type CommissionRow, type PayoutRow } from "../support/payouts.ts";
import { testContext } from "../support/program.ts";
import { openVendor, VENDOR_URL, type VendorApi } from "../support/provider-a-api.ts";
import { all } from "../support/rows.ts";
import { eventually } from "../support/time.ts";
import { followLink, makeVisitor, textOf } from "../support/visitor.ts";

interface PartnerRow {
  id: string;
  slug: string;
  email: string;
  provider_a_account_id: string | null;
}

/** A partner of the recorded program, by what comes after the program's name in the slug. */
async function partnerNamed(name: string): Promise<PartnerRow> {
  const [partner] = await all<PartnerRow>("select * from partners where slug like '%-' || ?", name);
  return partner!;
}

afterEach(() => vi.restoreAllMocks());

describe("a transfer that was left open (OUT-14)", () => {
  /** Sends it as the version before did. */
  async function sendFirst(vendor: VendorApi, payout: PayoutRow): Promise<void> {
    const reply = await vendor.fetch(`${VENDOR_URL}/v1/transfers`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${API_KEY_A}`,
        "content-type": "application/x-www-form-urlencoded",
        "idempotency-key": `${payout.id}:${payout.attempt}`,
      },
      body: attemptOf(payout).request,
    });
    expect(reply.status).toBe(200);
  }

  it.each([
    ["whose answer was lost, an hour later", true, HOUR],
    ["that never arrived, an hour later", false, HOUR],
    ["whose answer was lost, after the vendor has forgotten the key", true, 3 * DAY],
    ["that never arrived, after the vendor has forgotten the key", false, 3 * DAY],
  ])("one %s ends paid, and there is one", async (_, isMade, later) => {
    vi.spyOn(console, "info").mockImplementation(() => {});
    await goBack(env.DB);
    await fill(env.DB, 1);
    await goOn(env.DB);
    // The recorded API key is of test mode.
    await all("update programs set live_only = 0");
    await serveAll(journalOldCommissions(testContext()));
    const [payout] = await all<PayoutRow>("select * from payouts where status = 'processing'");
    const { provider_a_account_id } = await partnerNamed("transferring");
    const vendor = openVendor({
      now: Date.parse(payout!.attempt_started_at!),
      keys: [API_KEY_A],
      accounts: { [provider_a_account_id!]: "active" },
    });
    if (isMade) await sendFirst(vendor, payout!);

    const due = Date.parse(payout!.attempt_started_at!) + later;
    for (let run = 0; run < 4; run++) await reconcileAt(vendor, due + run * HOUR);
    const [after] = await all<PayoutRow>("select * from payouts where id = ?", payout!.id);
    expect(after).toMatchObject({ status: "paid", attempt: payout!.attempt, reconcile_at: null, failure_code: null });
    expect(vendor.transfers).toMatchObject([{ id: after!.reference, amount: payout!.amount_cents }]);
    const held = await all<CommissionRow>("select * from commissions where payout_id = ?", payout!.id);
    expect(held.map(({ status, amount_cents }) => [status, amount_cents])).toEqual([["paid", payout!.amount_cents]]);
    const books = await all(
      "select account, amount_cents from balances where partner_id = ? and amount_cents <> 0",
      payout!.partner_id,
    );
    expect(books).toEqual([{ account: "paid", amount_cents: payout!.amount_cents }]);
  });
});

describe("sessions", () => {
  /** A session, or a link that opens one, as that version keeps it. */
  async function proofOf(table: "sessions" | "sign_in_links", audience: string, who: object): Promise<string> {
    const token = randomToken(32);
    const { email, program_id, partner_id } = who as Record<string, string | null>;
    await env.DB.prepare(
      `insert into ${table} (token_hash, audience, email, program_id, partner_id, created_at, expires_at)
        values (?, ?, ?, ?, ?, ?, ?)`,
    )
      .bind(await sha256Hex(token), audience, email, program_id, partner_id, iso(Date.now()), iso(Date.now() + HOUR))
      .run();
    return token;
  }

  it("of an owner and of a partner hold, and a link that is on its way opens one (PAGE-2, PAGE-3)", async () => {
    await goBack(env.DB);
    const program_id = await fill(env.DB, 1);
    const [owner] = await all<{ email: string }>("select owner_email as email from programs");
    const { id: partner_id, email, slug } = await partnerNamed("paid");
    const asOwner = { ...owner, program_id, partner_id: null };
    const asPartner = { email, program_id, partner_id };
    const opened = [
      await proofOf("sessions", "owner", asOwner),
      await proofOf("sessions", "partner", asPartner),
    ] as const;
    const link = await proofOf("sign_in_links", "partner", asPartner);
    await goOn(env.DB);

    const [dashboard, portal, another] = [makeVisitor(), makeVisitor(), makeVisitor()];
    dashboard.cookies.set("__Host-session", opened[0]);
    expect((await dashboard.get("/dashboard/settings/team")).status).toBe(200);
    expect(textOf(dashboard.html)).toContain(owner!.email);
    portal.cookies.set("__Host-session", opened[1]);
    expect((await portal.get("/portal")).status).toBe(200);
    expect(portal.html).toContain(slug);
    expect((await followLink(another, link)).headers.get("location")).toBe("/portal");
    // It is used up, and the first session holds.
    expect((await followLink(makeVisitor(), link)).headers.get("location")).toBe(null);
    expect((await portal.get("/portal/payouts")).status).toBe(200);
  });
});

describe("e-mails", () => {
  it("that are due or were tried are sent once; of one that may have been taken nobody knows (MAIL-3)", async () => {
    vi.spyOn(console, "info").mockImplementation(() => {});
    vi.spyOn(console, "error").mockImplementation(() => {});
    await goBack(env.DB);
    const program_id = await fill(env.DB, 1);
    await goOn(
      env.DB,
      env.TEST_MIGRATIONS.findIndex(({ name }) => name.endsWith("_unsure_mails.sql")),
    );
    const now = Date.now();
    const { sealer } = testContext();
    const partner = await partnerNamed("paid");
    const keep = async (subject: string, fields: Record<string, string | number>) => {
      const id = newId("mail", now);
      const content = { subject, text: subject, html: `<p>${subject}</p>` };
      const row: Record<string, unknown> = {
        ...{ id, program_id, kind: "payout_paid", recipient: partner.email, partner_id: partner.id },
        content: await sealer.seal(JSON.stringify(content), { table: "mails", column: "content", row: id }),
        ...{ status: "pending", attempt_count: 0, created_at: iso(now - MINUTE), ...fields },
      };
      await env.DB.prepare(
        `insert into mails (${Object.keys(row).join(", ")}) values (${Object.keys(row).fill("?").join(", ")})`,
      )
        .bind(...Object.values(row))
        .run();
    };
    const sender = "binding";
    await keep("due", { next_attempt_at: iso(now - MINUTE) });
    await keep("tried", { next_attempt_at: iso(now - MINUTE), attempt_count: 1, sender, error: "no answer" });
    await keep("under way", { status: "sending", attempt_count: 1, claimed_until: iso(now - 1), sender });
    await goOn(env.DB);

    const mailbox = openMailbox();
    await mailbox.deliver(program_id, now);
    await mailbox.deliver(program_id, now + HOUR);
    expect(mailbox.mails.map(({ subject, to }) => [subject, to]).toSorted()).toEqual([
      ["due", partner.email],
      ["tried", partner.email],
    ]);
    const left = await all("select status, content, unsure from mails order by id");
    expect(left.map((row) => (row as { status: string }).status).toSorted()).toEqual(["sent", "sent", "unknown"]);
  });
});

describe("clicks that an object keeps (TRACK-8)", () => {
  it("come to the log and the counts once", async () => {
    await goBack(env.DB);
    const program_id = await fill(env.DB, 1);
    const now = Date.now() - HOUR;
    const partner = await partnerNamed("paid");
    const arrival = (n: number) => ({
      ...{ id: newId("event", now + n), created_at: iso(now + n), program_id, ref: partner.slug },
      ...{ landing: `/${n}`, referrer: "" },
    });
    const entries = [arrival(0), arrival(1)].map((one) => JSON.stringify(one)).join(",");
    await env.DB.prepare("insert into click_objects (name, created_at) values (?, ?)").bind(HERE, iso(now)).run();
    await runInDurableObject(clickStub(), (_, { storage: { sql } }) => {
      sql.exec("create table object (epoch text not null, flushed integer not null)");
      sql.exec(`create table batches (last integer primary key, stored_at integer not null, length integer not null,
        keys text not null, entries text not null)`);
      sql.exec("insert into object (epoch, flushed) values (?, 0)", randomToken(12));
      sql.exec("insert into batches values (2, ?, ?, ?, ?)", now, entries.length, ",batch:one", entries);
    });
    await evictDurableObject(clickStub());
    await goOn(env.DB);

    const wake = () => serveAll(wakeClickObjects(testContext(), env));
    await wake();
    await eventually(async () => expect(await unflushed()).toBe(0));
    await wake();
    const clicks = await clicksOf(program_id);
    expect(clicks.map(({ payload }) => [payload.partner_id, payload.landing])).toEqual([
      [partner.id, "/0"],
      [partner.id, "/1"],
    ]);
    expect(await countsOf(program_id)).toMatchObject({ rows: 2, events: 2, partners: { [partner.id]: 2 } });
  });
});
