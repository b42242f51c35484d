/** Generation of payouts (OUT-1, OUT-2). */
import { describe, expect, it } from "vitest";
import { viewPayout } from "../../src/core/kernel/views.ts";
import { cents } from "../../src/domain/money.ts";
import { minimumIn } from "../../src/domain/payout.ts";
import { iso } from "../../src/lib/time.ts";
import { env } from "cloudflare:workers";
import { makePartner, makeProgram, type TestProgram } from "../support/program.ts";
import { commissionsOf, makeCommissions, payoutsOf } from "../support/payouts.ts";

interface GenerationBody {
  dry_run: boolean;
  period_start: string | null;
  period_end: string;
  due_at: string;
  payouts: { id?: string; partner_id: string; currency: string; amount_cents: number; commission_count: number }[];
  skipped: { partner_id: string; currency: string; amount_cents: number; commission_count: number; reason: string }[];
  totals: { currency: string; payouts: number; amount_cents: number; skipped: number; skipped_cents: number }[];
  error?: { code: string; details?: { path: string }[] };
}

const generate = (program: TestProgram, body?: unknown) =>
  program.api<GenerationBody>("POST", "/api/v1/payouts/generate", body);

describe("payout generation", () => {
  it("sums per partner and currency, clawbacks included, and claims exactly what it sums (LAW-8, OUT-1)", async () => {
    const program = await makeProgram({ payout_term: "NET-30" });
    const [jane, bob] = [await makePartner(program, { payout_method: "wallet" }), await makePartner(program)];
    await makeCommissions(program, jane.id, [
      { amount_cents: 1_000 },
      { amount_cents: 2_500 },
      { amount_cents: -300, kind: "clawback" },
      { amount_cents: 500, currency: "JPY" },
      { amount_cents: 1_234, currency: "KWD" },
      { amount_cents: 9_999, status: "pending" },
      { amount_cents: 9_999, status: "rejected" },
    ]);
    await makeCommissions(program, bob.id, [{ amount_cents: 70 }]);
    const { status, body } = await generate(program);
    expect(status).toBe(200);
    const sums = body.payouts.map((p) => [p.partner_id, p.currency, p.amount_cents, p.commission_count]);
    expect(sums).toEqual([
      [jane.id, "JPY", 500, 1],
      [jane.id, "KWD", 1_234, 1],
      [jane.id, "USD", 3_200, 3],
      [bob.id, "USD", 70, 1],
    ]);
    expect(body.skipped).toEqual([]);
    expect(body.totals).toEqual([
      { currency: "JPY", payouts: 1, amount_cents: 500, skipped: 0, skipped_cents: 0 },
      { currency: "KWD", payouts: 1, amount_cents: 1_234, skipped: 0, skipped_cents: 0 },
      { currency: "USD", payouts: 2, amount_cents: 3_270, skipped: 0, skipped_cents: 0 },
    ]);
    const stored = await payoutsOf(program);
    expect(stored.map(viewPayout)).toEqual(
      expect.arrayContaining(body.payouts.map((payout) => expect.objectContaining(payout))),
    );
    for (const payout of stored) {
      expect(payout).toMatchObject({
        status: "pending",
        method: payout.partner_id === jane.id ? "wallet" : null,
        period_start: null,
        due_at: iso(Date.parse(body.period_end) + 30 * 86_400_000),
      });
      const held = (await commissionsOf(program)).filter((row) => row.payout_id === payout.id);
      expect(held).toHaveLength(payout.commission_count);
      expect(held.reduce((sum, row) => sum + row.amount_cents, 0)).toBe(payout.amount_cents);
      expect(held.every((row) => row.currency === payout.currency && row.partner_id === payout.partner_id)).toBe(true);
      expect(held.every((row) => row.updated_at >= body.period_end)).toBe(true);
    }
  });

  it("carries forward what is below the minimum, not positive or an invited partner's, and says why (OUT-2)", async () => {
    const program = await makeProgram({ min_payout_cents: 1_000 });
    const partners = await Promise.all(Array.from({ length: 5 }, () => makePartner(program)));
    const [below, at, above, negative, zero] = partners as [...typeof partners] & { id: string }[];
    const invited = await makePartner(program, {}, "invited");
    const gone = await makePartner(program, {}, "deactivated");
    await makeCommissions(program, below!.id, [{ amount_cents: 999 }]);
    await makeCommissions(program, at!.id, [{ amount_cents: 1_000 }]);
    await makeCommissions(program, above!.id, [{ amount_cents: 1_001 }]);
    await makeCommissions(program, negative!.id, [{ amount_cents: -50, kind: "clawback" }]);
    await makeCommissions(program, zero!.id, [{ amount_cents: 50 }, { amount_cents: -50, kind: "clawback" }]);
    await makeCommissions(program, invited.id, [{ amount_cents: 5_000 }]);
    await makeCommissions(program, gone.id, [{ amount_cents: 5_000 }]);
    const { body } = await generate(program);
    expect(new Set(body.payouts.map((p) => p.partner_id))).toEqual(new Set([at!.id, above!.id, gone.id]));
    expect(Object.fromEntries(body.skipped.map((s) => [s.partner_id, [s.reason, s.amount_cents]]))).toEqual({
      [below!.id]: ["below_minimum", 999],
      [negative!.id]: ["not_positive", -50],
      [zero!.id]: ["not_positive", 0],
      [invited.id]: ["partner_invited", 5_000],
    });
    expect(body.totals).toEqual([
      { currency: "USD", payouts: 3, amount_cents: 7_001, skipped: 4, skipped_cents: 5_949 },
    ]);
    // Carried forward: one more cent and the next run takes it all.
    await makeCommissions(program, below!.id, [{ amount_cents: 1 }]);
    const next = await generate(program);
    expect(next.body.payouts).toMatchObject([{ partner_id: below!.id, amount_cents: 1_000, commission_count: 2 }]);
  });

  it("applies each currency's own minimum, else the same number of major units, rounded half up (OUT-19)", async () => {
    const program = await makeProgram({ min_payout_cents: 5_050, min_payouts: { EUR: 700, KWD: 0 } });
    const jane = await makePartner(program);
    const least: [currency: string, least: number][] = [
      ["USD", 5_050],
      ["EUR", 700],
      ["GBP", 5_050],
      ["JPY", 51],
      ["BHD", 50_500],
    ];
    await makeCommissions(program, jane.id, [
      { amount_cents: 1, currency: "KWD" },
      ...least.map(([currency, amount]) => ({ amount_cents: amount - 1, currency })),
    ]);
    const { body } = await generate(program);
    expect(body.payouts).toMatchObject([{ currency: "KWD", amount_cents: 1 }]);
    expect(body.skipped.map(({ currency, reason }) => `${currency} ${reason}`).toSorted()).toEqual(
      least.map(([currency]) => `${currency} below_minimum`).toSorted(),
    );
    await makeCommissions(
      program,
      jane.id,
      least.map(([currency]) => ({ amount_cents: 1, currency })),
    );
    const next = await generate(program);
    expect(new Map(next.body.payouts.map((payout) => [payout.currency, payout.amount_cents]))).toEqual(new Map(least));
  });

  it.each(["USD", "JPY", "KWD"])(
    "skips at the minimum that pages name, in every kind of currency, for a program in %s (OUT-19)",
    async (own) => {
      for (const min_payout_cents of [1, 4, 5, 49, 50, 5_049, 10 ** 12].map(cents)) {
        const settings = { currency: own, min_payout_cents, min_payouts: { PLN: cents(3) } };
        const program = await makeProgram(settings);
        const jane = await makePartner(program);
        const minimums = ["USD", "EUR", "JPY", "XAF", "KWD", "TND", "PLN"].flatMap((currency) => {
          const least = minimumIn(settings, currency);
          return least > 1 && least <= 10 ** 12 ? [{ currency, least }] : [];
        });
        const rows = (less: number) =>
          minimums.map(({ currency, least }) => ({ amount_cents: least - less, currency }));
        await makeCommissions(program, jane.id, rows(1));
        expect((await generate(program)).body.payouts).toEqual([]);
        await makeCommissions(
          program,
          jane.id,
          minimums.map(({ currency }) => ({ amount_cents: 1, currency })),
        );
        expect((await generate(program)).body.payouts).toHaveLength(minimums.length);
      }
    },
  );

  it("takes commissions dated before the period's end, to the millisecond (OUT-1)", async () => {
    const program = await makeProgram();
    const jane = await makePartner(program);
    await makeCommissions(program, jane.id, [
      { amount_cents: 1, created_at: "2026-10-31T23:59:59.999Z" },
      { amount_cents: 10, created_at: "2026-11-01T00:00:00.000Z" },
      { amount_cents: 100, created_at: "2026-09-30T23:59:59.999Z" },
    ]);
    const { body } = await generate(program, { period_start: "2026-10-01", period_end: "2026-11-01" });
    // Left over from before the period's start: carried forward until now, so it is paid as well.
    expect(body.payouts).toMatchObject([{ amount_cents: 101, commission_count: 2 }]);
    expect([body.period_start, body.period_end]).toEqual(["2026-10-01T00:00:00.000Z", "2026-11-01T00:00:00.000Z"]);
    expect(await payoutsOf(program)).toMatchObject([
      {
        period_start: "2026-10-01T00:00:00.000Z",
        period_end: "2026-11-01T00:00:00.000Z",
        due_at: "2026-11-16T00:00:00.000Z",
      },
    ]);
    const later = await generate(program, { period_end: "2026-11-01T00:00:00.001Z" });
    expect(later.body.payouts).toMatchObject([{ amount_cents: 10 }]);
  });

  it("takes what is owed back whatever its date, as does a dry run, and no later amount to be given (OUT-1)", async () => {
    const program = await makeProgram();
    const [jane, bob] = [await makePartner(program), await makePartner(program)];
    const [early, late] = ["2026-01-20T00:00:00.000Z", "2026-02-03T00:00:00.000Z"];
    await makeCommissions(program, jane.id, [
      { amount_cents: 1_000, created_at: early },
      { amount_cents: -300, kind: "clawback", created_at: late },
      { amount_cents: -20, kind: "manual", created_at: late },
      { amount_cents: -5, kind: "manual", created_at: late, status: "pending" },
      { amount_cents: -7, currency: "EUR", kind: "clawback", created_at: late },
      { amount_cents: 4, kind: "manual", created_at: late },
      { amount_cents: 500, created_at: late },
    ]);
    await makeCommissions(program, bob.id, [
      { amount_cents: 100, created_at: early },
      { amount_cents: -100, kind: "clawback", created_at: late },
    ]);
    const period_end = "2026-02-01T00:00:00.000Z";
    for (const dry_run of [true, false]) {
      const { body } = await generate(program, { period_end, dry_run });
      expect(body.payouts).toMatchObject([{ partner_id: jane.id, amount_cents: 680, commission_count: 3 }]);
      expect(body.skipped).toMatchObject([
        { partner_id: jane.id, currency: "EUR", amount_cents: -7, reason: "not_positive" },
        { partner_id: bob.id, currency: "USD", amount_cents: 0, reason: "not_positive" },
      ]);
    }
    const held = (await commissionsOf(program)).filter(({ payout_id }) => payout_id !== null);
    expect(held.map(({ amount_cents }) => amount_cents).toSorted((a, b) => a - b)).toEqual([-300, -20, 1_000]);
  });

  it("takes what a commission of the period is worth after all, whenever that was found (OUT-1)", async () => {
    const program = await makeProgram();
    const jane = await makePartner(program);
    const [early, late] = ["2026-01-20T00:00:00.000Z", "2026-02-03T00:00:00.000Z"];
    const [before, after] = await makeCommissions(program, jane.id, [
      { amount_cents: 1_000, created_at: early },
      { amount_cents: 500, created_at: late },
    ]);
    const given = { kind: "clawback", created_at: late } as const;
    await makeCommissions(program, jane.id, [
      { ...given, amount_cents: 30, source_commission_id: before!.id },
      { ...given, amount_cents: 4, source_commission_id: after!.id },
    ]);
    for (const dry_run of [true, false]) {
      const { body } = await generate(program, { period_end: "2026-02-01", dry_run });
      expect(body.payouts).toMatchObject([{ amount_cents: 1_030, commission_count: 2 }]);
    }
  });

  it("refuses periods that end in the future or before they start, and fields it does not know (OUT-12)", async () => {
    const program = await makeProgram();
    for (const [body, path] of [
      [{ period_end: iso(Date.now() + 60_000) }, "period_end"],
      [{ period_start: "2026-10-02", period_end: "2026-10-01" }, "period_start"],
      [{ period_start: "2026-10-01", period_end: "2026-10-01" }, "period_start"],
      [{ period_end: "2026-02-30" }, "period_end"],
      [{ period_end: 5 }, "period_end"],
      [{ dry_run: "yes" }, "dry_run"],
      [{ until: "2026-10-01" }, "until"],
    ] as const) {
      const reply = await generate(program, body);
      expect([reply.status, reply.body.error?.code, reply.body.error?.details?.[0]?.path]).toEqual([
        422,
        "validation_failed",
        path,
      ]);
    }
    expect((await generate(program, "[")).status).toBe(400);
  });

  it("a dry run shows what a run would do and writes nothing (OUT-12)", async () => {
    const program = await makeProgram({ min_payout_cents: 100 });
    const [jane, bob] = [await makePartner(program), await makePartner(program)];
    await makeCommissions(program, jane.id, [{ amount_cents: 100 }, { amount_cents: 200 }]);
    await makeCommissions(program, bob.id, [{ amount_cents: 99 }]);
    const before = await commissionsOf(program);
    const counts = await countsOf(program);
    const dry = await generate(program, { dry_run: true });
    expect(dry.body).toMatchObject({
      dry_run: true,
      payouts: [{ partner_id: jane.id, amount_cents: 300, commission_count: 2, currency: "USD", method: null }],
      skipped: [{ partner_id: bob.id, amount_cents: 99, reason: "below_minimum" }],
      totals: [{ currency: "USD", payouts: 1, amount_cents: 300, skipped: 1, skipped_cents: 99 }],
    });
    expect(dry.body.payouts[0]).not.toHaveProperty("id");
    expect(await payoutsOf(program)).toEqual([]);
    expect(await commissionsOf(program)).toEqual(before);
    expect(await countsOf(program)).toEqual(counts);
    const wet = await generate(program, { period_end: dry.body.period_end });
    expect(wet.body.payouts).toMatchObject([{ amount_cents: 300 }]);
    expect(wet.body.totals).toEqual(dry.body.totals);
    expect(wet.body.skipped).toEqual(dry.body.skipped);
  });

  it("a rerun creates nothing new, and runs at once create nothing twice (OUT-1)", async () => {
    const program = await makeProgram();
    const partners = await Promise.all(Array.from({ length: 4 }, () => makePartner(program)));
    for (const partner of partners) {
      await makeCommissions(program, partner.id, [{ amount_cents: 10 }, { amount_cents: 20 }, { currency: "EUR" }]);
    }
    const replies = await Promise.all(Array.from({ length: 5 }, () => generate(program)));
    expect(replies.map((reply) => reply.status)).toEqual([200, 200, 200, 200, 200]);
    expect(replies.flatMap((reply) => reply.body.payouts)).toHaveLength(8);
    const stored = await payoutsOf(program);
    expect(stored).toHaveLength(8);
    const rerun = await generate(program);
    expect([rerun.body.payouts, rerun.body.skipped, rerun.body.totals]).toEqual([[], [], []]);
    expect(await countsOf(program)).toMatchObject({ "payout.generated": 8 });
  });

  it("reports each payout to the audit log and to the endpoints, as the API returns it (EVT-3, HOOK-2)", async () => {
    const program = await makeProgram();
    const jane = await makePartner(program, { payout_method: "bank_transfer" });
    const endpoint = await program.api<{ id: string }>("POST", "/api/v1/webhooks", {
      url: "https://receiver.example.com/hook",
      events: ["payout.generated"],
    });
    expect(endpoint.status).toBe(201);
    await makeCommissions(program, jane.id, [{ amount_cents: 100 }, { amount_cents: 700, currency: "JPY" }]);
    const { body } = await generate(program);
    const log = await program.api<{ data: { id: string; payload: Record<string, unknown> }[]; total: number }>(
      "GET",
      "/api/v1/events?type=payout.generated",
    );
    expect(log.body.total).toBe(2);
    for (const { payload, id } of log.body.data) {
      const payout = body.payouts.find((candidate) => candidate.id === payload.payout_id)!;
      expect(payload).toEqual({
        payout_id: payout.id,
        partner_id: jane.id,
        amount_cents: payout.amount_cents,
        currency: payout.currency,
        status: "pending",
        method: "bank_transfer",
        commission_count: 1,
      });
      expect(id).toMatch(/^evt_[0-9a-hjkmnp-tv-z]{26}$/);
      const message = await env.DB.prepare("select body, event from messages where event_id = ?").bind(id).first<{
        body: string;
        event: string;
      }>();
      expect(message?.event).toBe("payout.generated");
      const sent = JSON.parse(message!.body) as { event: string; timestamp: string; data: unknown };
      const { body: single } = await program.api<Record<string, unknown>>("GET", `/api/v1/payouts/${payout.id}`);
      const { commissions: _, ...asReturned } = single;
      expect(sent).toEqual({ event: "payout.generated", timestamp: single.created_at, data: asReturned });
      const delivery = await env.DB.prepare("select status, endpoint_id from deliveries where event_id = ?")
        .bind(id)
        .all();
      expect(delivery.results).toMatchObject([{ endpoint_id: endpoint.body.id }]);
    }
  });
});

async function countsOf(program: TestProgram): Promise<Record<string, number>> {
  const rows = await env.DB.prepare("select type, sum(count) as n from event_counts where program_id = ? group by type")
    .bind(program.id)
    .all<{ type: string; n: number }>();
  return Object.fromEntries(rows.results.map(({ type, n }) => [type, n]));
}
