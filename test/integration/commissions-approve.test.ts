/** Time-based approval (COM-6). */
import { env } from "cloudflare:workers";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { approveDueCommissions } from "../../src/core/commissions/auto-approve.ts";
import { commissionChanged } from "../../src/core/ledger/plan.ts";
import { iso } from "../../src/lib/time.ts";
import { serveAll } from "../support/jobs.ts";
import { patchCommission } from "../support/commissions.ts";
import { sendA } from "../support/ledger.ts";
import { makePartner, makeProgram, testContext } from "../support/program.ts";
import { commissionsOf, makeCommissions, payoutsOf } from "../support/payouts.ts";
import { invoicePaid, invoicePaymentPaid, sessionCompleted } from "../support/provider-a.ts";
import { saidSale } from "../support/sale.ts";

const NOW = Date.parse("2028-03-01T03:17:00.000Z");
const DAY = 86_400_000;

/** The fields of a commission that show how long it waits. */
interface Held {
  id: string;
  hold_until: string | null;
  created_at: string;
}

const approve = (goOn?: () => boolean) => serveAll(approveDueCommissions(testContext(NOW)), goOn);

async function reported(program_id: string) {
  const rows = await env.DB.prepare(
    `select e.id, e.payload, m.body from events e left join messages m on m.event_id = e.id
     where e.program_id = ? and e.type = 'commission.updated' order by e.id`,
  )
    .bind(program_id)
    .all<{ id: string; payload: string; body: string | null }>();
  return rows.results.map(({ payload, body }) => ({
    payload: JSON.parse(payload) as Record<string, unknown>,
    sent: body ? (JSON.parse(body) as Record<string, unknown>) : null,
  }));
}

describe("auto-approval", () => {
  it("approves what is pending, unflagged and old enough, to the millisecond, over a leap day (COM-6)", async () => {
    const program = await makeProgram({ auto_approve_days: 14 });
    await program.api("POST", "/api/v1/webhooks", { url: "https://receiver.example.com/hook", events: ["*"] });
    const jane = await makePartner(program);
    const edge = NOW - 14 * DAY;
    const [due, justNot, flagged, approved, rejected] = await makeCommissions(program, jane.id, [
      { status: "pending", created_at: iso(edge), approved_at: null },
      { status: "pending", created_at: iso(edge + 1), approved_at: null },
      {
        status: "pending",
        created_at: iso(edge - DAY),
        flagged: true,
        review_reason: "self_referral",
        approved_at: null,
      },
      { status: "approved", created_at: iso(edge - DAY) },
      { status: "rejected", created_at: iso(edge - DAY), approved_at: null },
    ]);
    expect(await approve()).toBe(1);
    const byId = new Map((await commissionsOf(program)).map((row) => [row.id, row]));
    const after = byId.get(due!.id)!;
    expect(after).toMatchObject({ status: "approved", approved_at: iso(NOW), updated_at: iso(NOW) });
    for (const untouched of [justNot!, flagged!, approved!, rejected!]) {
      expect({ ...byId.get(untouched.id), hold_until: null }).toEqual(untouched);
    }
    // The event that the database wrote equals the event that the code would write for the row.
    const occurrence = commissionChanged(
      { ...due!, hold_until: after.hold_until },
      { ...after, event_id: after.event_id! },
    );
    expect(await reported(program.id)).toEqual([
      {
        payload: { ...occurrence.payload, payout_id: null },
        sent: { event: "commission.updated", timestamp: iso(NOW), data: occurrence.outbound.data },
      },
    ]);
    expect(await approve()).toBe(0);
  });

  it("says on the record until when each waits, in every reply that has it (COM-9)", async () => {
    const program = await makeProgram({ auto_approve_days: 14 });
    const jane = await makePartner(program);
    await sendA(program, sessionCompleted({ ref: jane.slug }));
    const pending = { status: "pending", created_at: "2028-02-15T03:17:00.123Z", approved_at: null } as const;
    await makeCommissions(program, jane.id, [{}, {}]);
    await program.api("POST", "/api/v1/payouts/generate");
    const [payout] = await payoutsOf(program);
    const made = await makeCommissions(program, jane.id, [
      pending,
      { ...pending, flagged: true, review_reason: "manual", review_reasons: "manual" },
      { ...pending, status: "rejected" },
      { ...pending, status: "approved", hold_until: "2028-02-20T03:17:00.123Z" },
    ]);
    const run = (now: number) => serveAll(approveDueCommissions(testContext(now)));
    // Without a hold of its own, a pending commission gets the program's with the next run.
    await run(Date.parse(pending.created_at));
    const ids = made.map(({ id }) => id);
    const get = async <T>(path: string) => (await program.api<T>("GET", `/api/v1/${path}`)).body;
    const one = async (id: string) => (await get<Held>(`commissions/${id}`)).hold_until;
    const listed = async (query = "") => {
      const { data } = await get<{ data: Held[] }>(`commissions?per_page=100${query}`);
      return ids.map((id) => data.find((row) => row.id === id)?.hold_until);
    };
    // The period includes a leap day.
    const until = "2028-02-29T03:17:00.123Z";
    const approved = "2028-02-20T03:17:00.123Z";
    expect(await Promise.all(ids.map(one))).toEqual([until, null, null, approved]);
    expect(await listed()).toEqual([until, null, null, approved]);
    expect(await listed(`&partner_id=${jane.id}&status=pending`)).toEqual([until, null, undefined, undefined]);
    const decided = async (body: object) => (await patchCommission(program, ids[0]!, body)).body as unknown as Held;
    expect(await decided({ status: "rejected" })).toMatchObject({ hold_until: until });
    expect(await decided({ status: "pending" })).toMatchObject({ hold_until: until });

    const [payment] = (await get<{ data: { id: string }[] }>("payments")).data;
    const sale = async () => (await get<{ commissions: Held[] }>(`payments/${payment!.id}`)).commissions[0]!;
    const held = await sale();
    const seen_at = iso(Date.parse(held.hold_until!) - 14 * DAY);
    expect(seen_at > held.created_at).toBe(true);
    const again = await program.api<{ commissions: Held[] }>("POST", `/api/v1/payments/${payment!.id}/reprocess`);
    expect(again.body.commissions).toEqual([held]);
    const { commissions } = await get<{ commissions: Held[] }>(`payouts/${payout!.id}`);
    expect(commissions.map(({ hold_until }) => hold_until)).toEqual([null, null]);

    // A change of the setting counts for later payments.
    await program.api("PATCH", "/api/v1/programs/me", { auto_approve_days: null });
    await program.api("PATCH", "/api/v1/programs/me", { auto_approve_days: 0 });
    await program.api("POST", `/api/v1/payments/${payment!.id}/reprocess`);
    expect(await sale()).toEqual(held);
    expect(held.hold_until).toBe(iso(Date.parse(seen_at) + 14 * DAY));
    const bonus = { partner_id: jane.id, amount_cents: 500, note: "March" };
    const { body } = await program.api<Held>("POST", "/api/v1/commissions", bonus);
    expect(body.hold_until).toBe(body.created_at);

    // The run at exactly that time approves it; a run before it does not.
    await program.api("PATCH", "/api/v1/programs/me", { auto_approve_days: 14 });
    await run(Date.parse(until) - 1);
    const status = async () => (await get<{ status: string }>(`commissions/${ids[0]}`)).status;
    expect(await status()).toBe("pending");
    await run(Date.parse(until));
    expect(await status()).toBe("approved");
    expect(await one(ids[0]!)).toBe(until);
  });

  it.each([
    ["session first", [0, 1, 2]],
    ["invoice first", [1, 0, 2]],
    ["what joins them first", [2, 0, 1]],
  ])(
    "begins the hold when a late payment was first seen, in any order and repetition: %s (COM-6)",
    async (_, order) => {
      const program = await makeProgram({ auto_approve_days: 14 });
      const jane = await makePartner(program);
      const [payment_intent, created] = ["pi_late", Date.parse("2028-01-01T00:00:00Z") / 1_000];
      const events = [
        sessionCompleted({ ref: jane.slug, payment_intent, created }),
        invoicePaid({ id: "in_late", ref: jane.slug, created }),
        invoicePaymentPaid({ invoice: "in_late", payment_intent, created }),
      ];
      vi.useFakeTimers({ toFake: ["Date"], now: NOW });
      onTestFinished(() => void vi.useRealTimers());
      const first = NOW + (order[0] === 2 ? DAY : 0);
      for (const nth of [...order, ...order]) {
        expect((await sendA(program, events[nth]!)).status).toBe(200);
        vi.setSystemTime(Date.now() + DAY);
      }
      const reported = { ...saidSale(jane.slug), occurred_at: "2020-01-01T00:00:00.000Z" };
      const reportedAt = Date.now();
      for (let i = 0; i < 2; i++) {
        expect((await program.api("POST", "/api/v1/track/sale", reported)).status).toBeLessThan(300);
        vi.setSystemTime(Date.now() + DAY);
      }
      const { data } = (await program.api<{ data: Held[] }>("GET", "/api/v1/commissions")).body;
      expect(data.map(({ created_at, hold_until }) => [created_at, hold_until])).toEqual([
        [iso(created * 1_000), iso(first + 14 * DAY)],
        ["2020-01-01T00:00:00.000Z", iso(reportedAt + 14 * DAY)],
      ]);
      const approveAt = (now: number) => serveAll(approveDueCommissions(testContext(now)));
      const statuses = async () => (await commissionsOf(program)).map(({ status }) => status).toSorted();
      await approveAt(first + 14 * DAY - 1);
      expect(await statuses()).toEqual(["pending", "pending"]);
      await approveAt(first + 14 * DAY);
      expect(await statuses()).toEqual(["approved", "pending"]);
      await approveAt(reportedAt + 14 * DAY);
      expect(await statuses()).toEqual(["approved", "approved"]);
    },
  );

  it("0 days approves at once; null never (COM-6)", async () => {
    const [atOnce, never] = [
      await makeProgram({ auto_approve_days: 0 }),
      await makeProgram({ auto_approve_days: null }),
    ];
    for (const program of [atOnce, never]) {
      const partner = await makePartner(program);
      await makeCommissions(program, partner.id, [{ status: "pending", created_at: iso(NOW) }]);
    }
    await approve();
    expect((await commissionsOf(atOnce)).map((row) => row.status)).toEqual(["approved"]);
    expect((await commissionsOf(never)).map((row) => row.status)).toEqual(["pending"]);
  });

  it("goes by the setting as it is then: one that was taken back since the run began approves nothing (COM-6)", async () => {
    const program = await makeProgram({ auto_approve_days: 14 });
    const created_at = iso(NOW - 15 * DAY);
    await makeCommissions(program, (await makePartner(program)).id, [
      { status: "pending", created_at, approved_at: null },
    ]);
    const work = approveDueCommissions(testContext(NOW));
    const due = (await work.due("")).find(({ key }) => key === program.id)!;
    for (const auto_approve_days of [null, 14]) {
      expect((await program.api("PATCH", "/api/v1/programs/me", { auto_approve_days })).status).toBe(200);
      expect(await work.serve(due)).toBe(false);
      const status = auto_approve_days === 14 ? "approved" : "pending";
      expect((await commissionsOf(program)).map((row) => row.status)).toEqual([status]);
    }
  });

  it("twice at once, and in many chunks: each commission once, with one event", async () => {
    const program = await makeProgram({ auto_approve_days: 1 });
    const jane = await makePartner(program);
    const count = 4_500;
    await env.DB.prepare(
      `with recursive n(i) as (select 1 union all select i + 1 from n where i < ${count})
       insert into commissions (id, program_id, partner_id, kind, status, flagged, dismissed_reasons, amount_cents,
         txn_amount_cents, currency, rate, created_at, updated_at)
       select 'com_' || substr(?1, -10) || printf('%016d', i), ?1, ?2, 'sale', 'pending', 0, '', i, i, 'USD', '{}', ?3, ?3
       from n`,
    )
      .bind(program.id, jane.id, iso(NOW - 2 * DAY))
      .run();
    await Promise.all([approve(), approve()]);
    const rows = await commissionsOf(program);
    expect(new Set(rows.map((row) => row.status))).toEqual(new Set(["approved"]));
    const events = await reported(program.id);
    expect(new Set(events.map(({ payload }) => payload.commission_id)).size).toBe(count);
    expect(events).toHaveLength(count);
    const counted = await env.DB.prepare("select sum(count) as n from event_counts where program_id = ? and type = ?")
      .bind(program.id, "commission.updated")
      .first<{ n: number }>();
    expect(counted?.n).toBe(count);
  });

  it("stops at its limit, and the next run goes on", async () => {
    const program = await makeProgram({ auto_approve_days: 1 });
    const jane = await makePartner(program);
    await makeCommissions(program, jane.id, [{ status: "pending", created_at: iso(NOW - 2 * DAY) }]);
    expect(await approve(() => false)).toBe(0);
    expect((await commissionsOf(program))[0]!.status).toBe("pending");
    expect(await approve()).toBe(1);
  });
});
