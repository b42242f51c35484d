/**
 * Conservation: for each partner and currency, earned = paid + held in payouts + carried forward, to the unit, at every
 * step of random months, with and without a payout currency.
 */
import { env } from "cloudflare:workers";
import * as fc from "fast-check";
import { expect, it } from "vitest";
import { and, eq, sql } from "drizzle-orm";
import { approveDueCommissions } from "../../src/core/commissions/auto-approve.ts";
import { updateCommissions } from "../../src/core/commissions/bulk.ts";
import { createManualCommission, updateCommission } from "../../src/core/commissions/commissions.ts";
import { forProgram, type ProgramCtx } from "../../src/core/kernel/context.ts";
import { receiveEvent } from "../../src/core/inbound/receive.ts";
import { readExchangeRates, replaceExchangeRates } from "../../src/core/payouts/exchange-rates.ts";
import { generatePayouts } from "../../src/core/payouts/generate.ts";
import { payPayout } from "../../src/core/payouts/pay.ts";
import { reconcileTransfers } from "../../src/core/payouts/open-transfers.ts";
import { cancelPayout, markPayoutPaid, returnPayout } from "../../src/core/payouts/payouts.ts";
import { updateProgram } from "../../src/core/programs/programs.ts";
import { selectPrograms } from "../../src/core/kernel/program-rows.ts";
import { partners, payments, payouts, programs } from "../../src/db/schema.ts";
import { cents, percent, percentageOf } from "../../src/domain/money.ts";
import { convert, readRate } from "../../src/domain/exchange.ts";
import { hasReleased, minimumIn } from "../../src/domain/payout.ts";
import { AppError } from "../../src/lib/errors.ts";
import { iso } from "../../src/lib/time.ts";
import type { AdjustmentFact, PaymentFact } from "../../src/providers/provider.ts";
import { serveAll } from "../support/jobs.ts";
import { makePartner, makeProgram, testContext, type TestProgram } from "../support/program.ts";
import { API_KEY_A, clientOf, commissionsOf, db, payoutsOf } from "../support/payouts.ts";
import { STATEMENT_LAWS } from "../support/statement-laws.ts";
import { differencesOf, transfersAt } from "../support/reconcile.ts";
import { openVendor, type VendorApi } from "../support/provider-a-api.ts";
import { step, type Step } from "../support/month-steps.ts";
import { SEED } from "../support/seed.ts";

const RUNS = Math.max(8, Math.ceil(Number(env.PROPERTY_RUNS) / 4));

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const RATE_PCT = 20;
interface Purchase {
  key: string;
  net: number;
  refunded: number;
  /** The amount that its dispute has taken so far, and the amount it demands while it is open. */
  lost: number;
  open: number;
}

type Row = Awaited<ReturnType<typeof commissionsOf>>[number];

interface World {
  program: TestProgram;
  partners: { id: string; slug: string }[];
  vendor: VendorApi;
  now: number;
  purchases: Purchase[];
  events: number;
}

async function openWorld(): Promise<World> {
  const program = await makeProgram({
    ...{ self_billing: "on", payer_name: "Shop", payer_address: "Here", payer_country: "DE" },
    auto_approve_days: 7,
    default_commission_pct: RATE_PCT,
    provider_a_api_key: API_KEY_A,
    live_only: false,
  });
  const vendor = openVendor({ keys: [API_KEY_A] });
  const made = [];
  for (let i = 0; i < 3; i++) {
    const partner = await makePartner(program, { payout_method: "provider_a" });
    const account = `acct_${partner.id.slice(4)}`;
    vendor.accounts.set(account, { state: "active", email: "", body: {} });
    await db.update(partners).set({ provider_a_account_id: account }).where(eq(partners.id, partner.id));
    made.push({ id: partner.id, slug: partner.slug });
  }
  return { program, partners: made, vendor, now: Date.now(), purchases: [], events: 0 };
}

/** Settings change under way, so the program is read as a request would read it. */
async function contextOf(world: World): Promise<ProgramCtx> {
  const [program] = await selectPrograms(db).where(eq(programs.id, world.program.id));
  return forProgram(testContext(world.now), program!);
}

async function report(world: World, ctx: ProgramCtx, fact: PaymentFact | AdjustmentFact): Promise<void> {
  world.events += 1;
  const event_id = `evt_${world.program.id}_${world.events}`;
  await receiveEvent(
    ctx,
    "provider_a",
    { event_id, event_type: fact.kind, occurred_at: fact.occurred_at, test: false, facts: [fact], ignored: null },
    "{}",
  );
}

/** A refusal is a valid answer; its effects are checked afterwards with all others. */
async function tolerant(work: Promise<unknown>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (!(error instanceof AppError && error.code === "invalid_transition")) throw error;
  }
}

const carrying = (ref: string) => ({ ref, refs: [{ ref, place: "metadata" as const }] });

const chosen = <T>(list: readonly T[], n: number): T | undefined => list[n % Math.max(list.length, 1)];

async function perform(world: World, step: Step): Promise<void> {
  world.now += 1_000;
  world.vendor.now = world.now;
  const ctx = await contextOf(world);
  const occurred_at = iso(world.now);
  switch (step.do) {
    case "purchase": {
      const key = `in_${world.program.id}_${world.purchases.length}`;
      world.purchases.push({ key, net: step.net, refunded: 0, lost: 0, open: 0 });
      await report(world, ctx, {
        kind: "payment",
        key,
        source: "invoice",
        aliases: [key],
        paid: true,
        currency: step.currency,
        base_cents: cents(step.net),
        gross_cents: cents(step.net),
        ...carrying(world.partners[step.partner]!.slug),
        customer_email: null,
        customer_id: null,
        subscription_id: null,
        occurred_at,
      });
      return;
    }
    case "refund": {
      const purchase = chosen(world.purchases, step.pick);
      if (!purchase) return;
      purchase.refunded = Math.max(purchase.refunded, Math.ceil((purchase.net * step.share) / 100));
      await report(world, ctx, {
        kind: "adjustment",
        adjustment_id: `ch_${purchase.key}`,
        aliases: [purchase.key],
        mode: "cumulative",
        amount_cents: cents(purchase.refunded),
        net_of_tax: true,
        direction: "deduct",
        stage: 0,
        effective: true,
        occurred_at,
      });
      return;
    }
    case "dispute": {
      const purchase = chosen(world.purchases, step.pick);
      if (!purchase) return;
      const amount_cents = Math.ceil((purchase.net * step.share) / 100);
      purchase.lost = step.stage === "lost" ? amount_cents : 0;
      purchase.open = step.stage === "open" ? amount_cents : 0;
      await report(world, ctx, {
        kind: "adjustment",
        adjustment_id: `du_${purchase.key}`,
        aliases: [purchase.key],
        mode: "single",
        amount_cents: cents(amount_cents),
        net_of_tax: true,
        direction: "deduct",
        stage: 0,
        effective: step.stage === "lost",
        ...(step.stage === "open" ? { open: true } : {}),
        occurred_at,
      });
      return;
    }
    case "approve all": {
      const ids = (await commissionsOf(world.program)).filter((row) => row.status === "pending").map((row) => row.id);
      if (ids.length > 0) await updateCommissions(ctx, ids.slice(0, 100), { status: "approved" });
      return;
    }
    case "move": {
      const row = chosen(await commissionsOf(world.program), step.pick);
      if (row) await tolerant(updateCommission(ctx, row.id, { status: step.status }));
      return;
    }
    case "reject a clawback": {
      const clawbacks = (await commissionsOf(world.program)).filter((row) => row.kind === "clawback");
      const row = chosen(clawbacks, step.pick);
      if (row) await tolerant(updateCommission(ctx, row.id, { status: "rejected" }));
      return;
    }
    case "auto-approve":
      await serveAll(approveDueCommissions(testContext(world.now)));
      return;
    case "manual":
      await createManualCommission(ctx, {
        partner_id: world.partners[step.partner]!.id,
        amount_cents: cents(step.amount),
        currency: step.currency,
        note: "by hand",
      });
      return;
    case "generate": {
      const period_end = world.now - step.daysAgo * DAY;
      const runs = Array.from({ length: step.atOnce }, () =>
        generatePayouts(ctx, { period_start: null, period_end, dry_run: false }),
      );
      await Promise.all(runs);
      await nothingPayableLeft(world, ctx, period_end);
      return;
    }
    case "cancel": {
      const payout = chosen(await payoutsOf(world.program), step.pick);
      if (payout) await tolerant(cancelPayout(ctx, payout.id));
      return;
    }
    case "mark paid": {
      const payout = chosen(await payoutsOf(world.program), step.pick);
      if (payout) await tolerant(markPayoutPaid(ctx, payout.id, null));
      return;
    }
    case "return": {
      const payout = chosen(await payoutsOf(world.program), step.pick);
      if (payout) await tolerant(returnPayout(ctx, payout.id, { message: "closed account" }));
      return;
    }
    case "pay": {
      const payout = chosen(await payoutsOf(world.program), step.pick);
      if (!payout) return;
      if (step.fault === "refuse") for (const account of world.vendor.accounts.values()) account.state = "restricted";
      else if (step.fault) world.vendor.faults = [step.fault];
      await tolerant(payPayout(ctx, payout.id, clientOf(world.vendor)));
      world.vendor.faults = [];
      for (const account of world.vendor.accounts.values()) account.state = "active";
      return;
    }
    case "pay all":
      await perform(world, { do: "approve all" });
      await perform(world, { do: "generate", daysAgo: 0, atOnce: 1 });
      for (const payout of await payoutsOf(world.program)) await tolerant(markPayoutPaid(ctx, payout.id, null));
      return;
    case "reconcile":
      await serveAll(reconcileTransfers(testContext(world.now), clientOf(world.vendor)));
      return;
    case "minimum":
      await db
        .update(programs)
        .set({ min_payout_cents: cents(step.cents) })
        .where(eq(programs.id, world.program.id));
      return;
    case "payout currency": {
      const rates = { USD: `${step.usd}e-6`, JPY: "161.92", ...(step.hasKwd ? { KWD: "0.3339" } : {}) };
      const read = Object.entries(rates).map(([code, rate]) => [code, readRate(rate)!] as const);
      await replaceExchangeRates(ctx, { base: "EUR", rates: Object.fromEntries(read) });
      await updateProgram(await contextOf(world), { payout_currency: step.currency });
      return;
    }
    case "wait":
      world.now += step.hours * HOUR;
  }
}

/** The remainder of a run is disputed, not positive or below the minimum: everything else is in a payout. */
async function nothingPayableLeft(world: World, ctx: ProgramCtx, period_end: number): Promise<void> {
  const sums = new Map<string, number>();
  const { payout_currency: to, in_force } = await readExchangeRates(ctx);
  const rateOf = (currency: string) => in_force.find((one) => one.currency === currency)?.rate;
  for (const row of await commissionsOf(world.program)) {
    if (row.status !== "approved" || row.payout_id !== null) continue;
    if (row.created_at >= iso(period_end) && row.amount_cents >= 0) continue;
    if (row.review_reason === "disputed") continue;
    const key = `${row.partner_id} ${row.currency}`;
    sums.set(key, (sums.get(key) ?? 0) + row.amount_cents);
  }
  const left = to === null ? sums : new Map<string, number>();
  for (const [key, sum] of sums) {
    if (to === null) break;
    const [partner_id, currency = ""] = key.split(" ");
    const rate = currency === to ? readRate("1") : rateOf(currency);
    if (!rate) continue;
    const merged = `${partner_id} ${to}`;
    left.set(merged, (left.get(merged) ?? 0) + convert(cents(sum), rate, currency, to)!);
  }
  for (const [key, sum] of left) expect(sum <= 0 || sum < minimumIn(ctx.program, key.slice(-3))).toBe(true);
}

/** The source amounts of a payout; its own amount if it is as earned. */
function sourcesOf({ currency, amount_cents, source_amounts }: Awaited<ReturnType<typeof payoutsOf>>[number]) {
  return source_amounts ?? [{ currency, amount_cents, rate: readRate("1")!, converted_cents: amount_cents }];
}

async function check(world: World): Promise<void> {
  const rows = await commissionsOf(world.program);
  const made = await payoutsOf(world.program);
  const byId = new Map(made.map((payout) => [payout.id, payout]));
  const total = new Map<string, { earned: number; paid: number; held: number; carried: number }>();
  const at = ({ partner_id, currency }: { partner_id: string; currency: string }) => {
    const key = `${partner_id} ${currency}`;
    const sums = total.get(key) ?? { earned: 0, paid: 0, held: 0, carried: 0 };
    total.set(key, sums);
    return sums;
  };
  for (const row of rows) {
    if (row.status === "approved" || row.status === "paid") at(row).earned += row.amount_cents;
    if (row.status === "approved" && row.payout_id === null) at(row).carried += row.amount_cents;
    const payout = row.payout_id === null ? null : byId.get(row.payout_id)!;
    if (payout) {
      expect(payout.partner_id).toBe(row.partner_id);
      expect(sourcesOf(payout).map(({ currency }) => currency)).toContain(row.currency);
      expect(hasReleased(payout.status)).toBe(false);
      expect(row.status).toBe(payout.status === "paid" ? "paid" : "approved");
    } else expect(row.status).not.toBe("paid");
  }
  for (const payout of made) {
    const own = rows.filter((row) => row.payout_id === payout.id);
    if (hasReleased(payout.status)) {
      expect(own).toEqual([]);
      continue;
    }
    expect(payout.amount_cents).toBeGreaterThan(0);
    expect(own.length).toBe(payout.commission_count);
    const sources = sourcesOf(payout);
    expect(sources.reduce((sum, part) => sum + part.converted_cents, 0)).toBe(payout.amount_cents);
    for (const { currency, amount_cents, rate, converted_cents } of sources) {
      const some = own.filter((row) => row.currency === currency);
      expect(some.reduce((sum, row) => sum + row.amount_cents, 0)).toBe(amount_cents);
      expect(convert(amount_cents, rate, currency, payout.currency)).toBe(converted_cents);
      at({ ...payout, currency })[payout.status === "paid" ? "paid" : "held"] += amount_cents;
    }
    const transfers = world.vendor.transfers.filter((transfer) => transfer.transfer_group === payout.id);
    expect(transfers.length).toBeLessThanOrEqual(1);
  }
  for (const [law, query] of Object.entries(STATEMENT_LAWS))
    expect([law, await db.all(sql.raw(query))]).toEqual([law, []]);
  const unnumbered = sql`select payout_id from payout_statements where program_id = ${world.program.id} and invoice_number is null`;
  expect(await db.all(unnumbered)).toEqual([]);
  for (const [key, { earned, paid, held, carried }] of total)
    expect([key, paid + held + carried]).toEqual([key, earned]);

  for (const purchase of world.purchases) await checkPurchase(world, purchase, rows);
}

/**
 * Earnings follow from the customers' payments: the rows of a payment that are not rejected sum to its rule. A rejected
 * sale is worth 0; amounts that the owner forgave stay as far as they were given.
 */
async function checkPurchase({ program }: World, purchase: Purchase, all: readonly Row[]): Promise<void> {
  const [payment] = await db
    .select()
    .from(payments)
    .where(and(eq(payments.program_id, program.id), eq(payments.provider_transaction_id, purchase.key)));
  const rows = all.filter((row) => row.payment_id === payment!.id);
  const sumOf = (some: readonly Row[]) => some.reduce((sum, row) => sum + row.amount_cents, 0);
  const counted = sumOf(rows.filter((row) => row.status !== "rejected"));
  const rest = Math.max(purchase.net - purchase.refunded - purchase.lost, 0);
  const rule = rows.some((row) => row.kind === "sale" && row.status === "rejected")
    ? 0
    : percentageOf(cents(rest), percent(RATE_PCT));
  const judged = rows.filter((row) => row.kind === "clawback" && row.status === "rejected");
  const forgiven = -sumOf(judged.filter((row) => row.amount_cents < 0));
  const denied = sumOf(judged.filter((row) => row.amount_cents > 0));
  const given = sumOf(rows.filter((row) => row.payout_id !== null));
  const most = Math.max(rule, Math.min(rule + forgiven, given));
  const reported = [
    purchase,
    rows.map((row) => `${row.kind} ${row.status} ${row.amount_cents} ${row.payout_id ?? ""}`),
  ];
  // The owner may have denied no more of a reversal than was due by then.
  const isRight = denied === 0 ? counted === most : counted <= most && counted >= Math.max(rule - denied, 0);
  expect([...reported, counted, isRight]).toEqual([...reported, counted, true]);
}

it(`earned = paid + held + carried forward, at every step (seed ${SEED})`, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 15, maxLength: 40 }), async (steps) => {
      await db.update(payouts).set({ reconcile_at: null }).where(eq(payouts.status, "processing"));
      const world = await openWorld();
      for (const step of steps) {
        await perform(world, step);
        await check(world);
      }
      expect(await differencesOf(await contextOf(world), transfersAt(world.vendor))).toEqual([]);
    }),
    { numRuns: RUNS, endOnFailure: true },
  );
});
