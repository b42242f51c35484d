/** The reconciler walks a program in bounded, resumable, concurrent steps; and it does not report false differences. */
import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it, vi } from "vitest";
import { eq } from "drizzle-orm";
import { selectPrograms } from "../../src/core/kernel/program-rows.ts";
import { openDatabase } from "../../src/db/client.ts";
import { programs } from "../../src/db/schema.ts";
import { forProgram } from "../../src/core/kernel/context.ts";
import { openDifferences } from "../../src/core/reconcile/findings.ts";
import { reconcilePrograms, reconcileStep } from "../../src/core/reconcile/reconcile.ts";
import { checkTransfers } from "../../src/core/reconcile/transfers.ts";
import { newId } from "../../src/lib/id.ts";
import { DAY, HOUR, MINUTE } from "../../src/lib/time.ts";
import { fireCron } from "../support/jobs.ts";
import { ledgerOf, sendA } from "../support/ledger.ts";
import { openMailbox } from "../support/mailbox.ts";
import { makeEndpoint } from "../support/outbound.ts";
import { meterRowsRead } from "../support/metered-database.ts";
import {
  clientOf,
  makeCommissions,
  makePayingProgram,
  makePaidPayouts,
  makePayout,
  payoutsOf,
  playOutside,
} from "../support/payouts.ts";
import {
  makePartner,
  makeProgram,
  programContext,
  setSecrets,
  testContext,
  type TestProgram,
} from "../support/program.ts";
import { sessionCompleted } from "../support/provider-a.ts";
import { differencesOf, reconcileRound, transfersAt } from "../support/reconcile.ts";
import { signInOwner } from "../support/visitor.ts";
import { watchDatabase } from "../support/watched-database.ts";

const NOW = Date.now();
const DAILY = "17 3 * * *";

afterEach(() => {
  vi.restoreAllMocks();
});

async function run(sql: string, ...values: unknown[]): Promise<void> {
  const { meta } = await env.DB.prepare(sql)
    .bind(...values)
    .run();
  expect([sql, meta.changes > 0]).toEqual([sql, true]);
}

/** A partner with this many sales of 10,000, each of which earns 2,000. */
async function selling(sales: number, fields: Parameters<typeof makeProgram>[0] = {}) {
  const program = await makeProgram(fields);
  const partner = await makePartner(program);
  const intents = Array.from({ length: sales }, (_, i) => `pi_${partner.slug}_${i}`);
  for (const payment_intent of intents) {
    await sendA(program, sessionCompleted({ ref: partner.slug, amount: 10_000, payment_intent }));
  }
  return { program, partner, intents };
}

const offByOne = (partner_id: string) =>
  run("update balances set amount_cents = amount_cents + 1 where partner_id = ?", partner_id);

const quiet = () => vi.spyOn(console, "error").mockImplementation(() => {});

async function reported(program: TestProgram): Promise<number> {
  return (await program.api<{ total: number }>("GET", "/api/v1/events?type=reconciliation.failed")).body.total;
}

describe("a round", () => {
  it("goes through each commission once, in bounded steps, and goes on where a crash ended it", async () => {
    const program = await makeProgram();
    const partner = await makePartner(program);
    await makeCommissions(
      program,
      partner.id,
      Array.from({ length: 250 }, () => ({})),
    );
    const ctx = programContext(program, NOW);
    const first = await reconcileStep(ctx, transfersAt());
    expect(first).toMatchObject({ more: true, checked: { commissions: 100 } });
    const dying = watchDatabase(env.DB, {
      before: (statements) => {
        if (statements.some((sql) => sql.startsWith('insert into "reconciliations"'))) throw new Error("it died");
      },
    });
    const mortal = forProgram({ ...testContext(NOW), db: openDatabase(dying.binding) }, program.program);
    await expect(reconcileStep(mortal, transfersAt())).rejects.toThrow();
    const steps = await reconcileRound(ctx);
    expect(steps.reduce((sum, { checked }) => sum + checked.commissions, 0)).toBe(150);
    expect(await reported(program)).toBe(0);
  });

  it("takes no more statements than it promised, and a day's few hundred rows", async () => {
    const { program } = await selling(30);
    const rows = meterRowsRead(env.DB);
    const world = watchDatabase(rows.binding);
    const at = (now: number) => ({ ...testContext(now), db: openDatabase(world.binding) });
    const { cost } = reconcilePrograms(testContext(), transfersAt());
    const serve = async (now: number) => {
      const work = reconcilePrograms(at(now), transfersAt());
      for (let more = true; more;) {
        world.roundTrips.length = 0;
        more = await work.serve({ key: program.id, program: program.program });
        expect(world.roundTrips.flat().length).toBeLessThanOrEqual(cost);
      }
    };
    await serve(NOW);
    // The rows that the events of the sales changed.
    await serve(NOW + DAY);
    rows.taken();
    await serve(NOW + 2 * DAY);
    expect(rows.taken().rows).toBeLessThan(800);
  });

  it("comes round to each payment within 30 days, though nothing has touched it (LAW-11)", async () => {
    const { program } = await selling(40);
    const at = (day: number) => programContext(program, NOW + day * DAY);
    // First all rows, then the rows that the events of the sales changed.
    for (const day of [0, 1]) await reconcileRound(at(day));
    const [last] = (await ledgerOf(program)).payments.toSorted((a, b) => (a.id < b.id ? 1 : -1));
    await run("update commissions set amount_cents = amount_cents + 5 where payment_id = ?", last!.id);
    quiet();
    let day = 2;
    for (; day < 33 && (await reported(program)) === 0; day++) await reconcileRound(at(day));
    expect(day - 2).toBeLessThanOrEqual(30);
    const [rows] = await at(day).read(openDifferences(at(day), 10));
    expect(rows).toMatchObject([{ kind: "entitlement", subject: last!.id }]);
  });

  it("is reported once where two go on at the same time (LAW-11)", async () => {
    const { program, partner } = await selling(3);
    await offByOne(partner.id);
    quiet();
    await Promise.all([1, 2, 3].map(() => reconcileRound(programContext(program, NOW))));
    // The partner's balance and the program's.
    expect(await reported(program)).toBe(2);
  });

  it("runs daily: one program that fails keeps neither the others nor the rest of itself from it (LAW-11)", async () => {
    const [broken, healthy] = [await selling(2), await selling(2)];
    await offByOne(broken.partner.id);
    await run(
      "update facts set data = 'x' where program_id = ? and fact_id = (select max(fact_id) from facts where program_id = ?1)",
      broken.program.id,
    );
    const lines = quiet();
    await fireCron(DAILY, NOW);
    const said = lines.mock.calls.flat().map(String);
    expect(said.filter((line) => line.includes('"job failed"') && line.includes(broken.program.id))).not.toEqual([]);
    expect(await reported(broken.program)).toBe(2);
    const status = async ({ program }: typeof healthy) =>
      (await program.api<{ reconciled_at: string | null }>("GET", "/api/v1/integrations/status")).body.reconciled_at;
    expect(await status(healthy)).toBe(new Date(NOW).toISOString());
    expect(await status(broken)).toBeNull();
  });
});

describe("the vendor is asked about the transfer of each paid payout (LAW-11)", () => {
  /** A program that a whole round has been through without a difference. */
  async function paying(count: number) {
    const world = await makePayingProgram();
    await makePaidPayouts(world, count);
    const ctx = (now: number) => programContext(world.program, now);
    const round = async (now: number, fromStart = false) => {
      const steps = await reconcileRound(ctx(now), transfersAt(world.vendor), fromStart);
      return steps.reduce((sum, { checked }) => sum + checked.transfers, 0);
    };
    const differing = async () => (await ctx(NOW).read(openDifferences(ctx(NOW), 1_000)))[0].length;
    const reverse = () => {
      for (const transfer of world.vendor.transfers) transfer.amount_reversed = transfer.amount - 1;
    };
    await round(NOW, true);
    expect(await differing()).toBe(0);
    quiet();
    return { round, differing, reverse };
  }

  it("by a check of all of a program", async () => {
    const { round, differing, reverse } = await paying(12);
    reverse();
    expect([await round(NOW, true), await differing()]).toEqual([12, 12]);
  });

  it("that an event touched", async () => {
    const { round, differing, reverse } = await paying(12);
    reverse();
    await round(NOW + DAY);
    expect(await differing()).toBe(12);
  });

  it("in turn, where a round takes more of them than a step asks about", async () => {
    const { round, differing, reverse } = await paying(90);
    await round(NOW + DAY);
    reverse();
    // Four of them each day.
    for (let day = 2; day < 10; day++) await round(NOW + day * DAY);
    expect(await differing()).toBe(32);
  });
});

describe("the e-mail about differences (LAW-11)", () => {
  /** A program that a whole round has been through, and the texts of the e-mails about its ledger. */
  async function world(sales: number) {
    const { program, partner } = await selling(sales);
    const payments = (await ledgerOf(program)).payments.map(({ id }) => id).toSorted();
    const mailbox = openMailbox();
    const texts = async (now: number) => {
      const mails = await mailbox.deliver(program.id, now);
      return mails.filter(({ subject }) => subject.startsWith("The ledger of")).map(({ text }) => text);
    };
    const round = (now: number) => reconcileRound(programContext(program, now), transfersAt(), true);
    await round(NOW);
    quiet();
    return { program, partner, payments, texts, round };
  }

  const wrong = (payment: string | undefined) =>
    run("update commissions set amount_cents = amount_cents + 5 where payment_id = ?", payment);

  it("is about what was found too soon after the one before as well, once there may be another", async () => {
    const { payments, texts, round } = await world(3);
    await wrong(payments[0]);
    await round(NOW + DAY);
    expect(await texts(NOW + DAY + MINUTE)).toEqual([expect.stringContaining(payments[0]!)]);
    await wrong(payments[1]);
    // One of two machines has a slow clock.
    await round(NOW + DAY - 1);
    expect(await texts(NOW + DAY + 10 * HOUR)).toHaveLength(1);
    // A daily cron comes a little before its time as well.
    await wrong(payments[2]);
    await round(NOW + 2 * DAY - MINUTE);
    const [, second, ...others] = await texts(NOW + 2 * DAY);
    expect([second, others]).toEqual([expect.stringContaining(payments[1]!), []]);
    expect(second).toContain(payments[2]);
    expect(second).not.toContain(payments[0]);
    await round(NOW + 3 * DAY);
    expect(await texts(NOW + 3 * DAY)).toHaveLength(2);
  });

  it("is not about what is gone by then", async () => {
    const { payments, texts, round } = await world(3);
    await wrong(payments[0]);
    await round(NOW + DAY);
    await wrong(payments[1]);
    await round(NOW + DAY + HOUR);
    await run("update commissions set amount_cents = amount_cents - 5 where payment_id = ?", payments[1]);
    await round(NOW + 2 * DAY);
    expect(await texts(NOW + 2 * DAY)).toEqual([expect.stringContaining(payments[0]!)]);
  });

  it("is one about all that the steps of a round find", async () => {
    const { program, payments, texts } = await world(30);
    for (const payment of [payments[0], payments.at(-1)]) await wrong(payment);
    const at = (now: number) => programContext(program, now);
    let steps = 0;
    for (let more = true; more; steps++) {
      ({ more } = await reconcileStep(at(NOW + DAY + steps), transfersAt(), steps === 0));
      expect(await texts(NOW + DAY + MINUTE)).toHaveLength(more ? 0 : 1);
    }
    expect(steps).toBeGreaterThan(2);
    const [text] = await texts(NOW + DAY + MINUTE);
    for (const payment of [payments[0], payments.at(-1)]) expect(text).toContain(payment);
  });

  it("does not wait for the end of a round that takes long, and the next one has what that finds", async () => {
    const { program, payments, texts, round } = await world(30);
    for (const payment of [payments[0], payments.at(-1)]) await wrong(payment);
    const at = (now: number) => programContext(program, now);
    let found = 0;
    let now = NOW + DAY;
    for (let step = 0; found === 0; step++) {
      expect((await reconcileStep(at(now), transfersAt(), step === 0)).more).toBe(true);
      found = await reported(program);
    }
    expect(await texts(now)).toHaveLength(0);
    for (let more = true; more;) ({ more } = await reconcileStep(at((now += HOUR)), transfersAt()));
    expect(await texts(now)).toHaveLength(1);
    await round(NOW + 2 * DAY);
    const all = await texts(NOW + 2 * DAY);
    expect(all).toHaveLength(2);
    const named = payments.filter((id) => all.join().includes(id));
    expect(named).toEqual([payments[0], payments.at(-1)]);
    for (const text of all) expect(payments.filter((id) => text.includes(id))).toHaveLength(1);
  });
});

describe("a partner with too many entries for one statement", () => {
  /** 1,300 commissions, approved: 2,600 entries. */
  async function large() {
    const program = await makeProgram();
    const partner = await makePartner(program);
    await run(
      `with recursive n(i) as (select 1 union all select i + 1 from n where i < 1300)
      insert into commissions (id, program_id, partner_id, kind, status, amount_cents, txn_amount_cents, currency, rate,
        created_at, updated_at)
      select substr(?1, 1, 24) || printf('%06d', i), ?2, ?3, 'manual', 'pending', i, 0, iif(i % 3, 'USD', 'EUR'), '{}',
        ?4, ?4 from n`,
      ...[newId("commission", NOW), program.id, partner.id, new Date(NOW).toISOString()],
    );
    await run("update commissions set status = 'approved' where program_id = ? and status = 'pending'", program.id);
    return { program, partner };
  }

  it("is added up in slices: no difference where there is none, whatever is posted meanwhile, and each that is there", async () => {
    const { program, partner } = await large();
    const ctx = programContext(program, NOW);
    for (let step = 0, more = true; more; step++) {
      ({ more } = await reconcileStep(ctx, transfersAt(), step === 0));
      // Behind the place, as commissions older than the journal are posted, and before it.
      if (step < 12) {
        await makeCommissions(program, partner.id, [{ amount_cents: 11 }, { updated_at: "2026-01-01T00:00:00.000Z" }]);
      }
    }
    expect(await reported(program)).toBe(0);
    await offByOne(partner.id);
    quiet();
    expect((await differencesOf(ctx)).map(({ kind, subject }) => [kind, subject])).toEqual(
      expect.arrayContaining([["balance", partner.id]]),
    );
    await run("update balances set amount_cents = amount_cents - 1 where partner_id = ?", partner.id);
    expect(await differencesOf(ctx)).toEqual([]);
  });

  it("is walked a slice a day as well", async () => {
    const { program, partner } = await large();
    await reconcileRound(programContext(program, NOW));
    await offByOne(partner.id);
    quiet();
    let day = 1;
    for (; day < 9 && (await reported(program)) < 2; day++)
      await reconcileRound(programContext(program, NOW + day * DAY));
    const [rows] = await programContext(program).read(openDifferences(programContext(program), 10));
    expect(rows.map(({ subject }) => subject)).toContain(partner.id);
  });
});

describe("no difference is", () => {
  it("a change of rules after the settling: settings, rates, flows, a partner who is deactivated or comes later", async () => {
    const { program, partner, intents } = await selling(2, { live_only: false });
    await sendA(program, { ...sessionCompleted({ ref: partner.slug }), livemode: false });
    await sendA(program, sessionCompleted({ ref: "later", payment_intent: `${intents[0]}_later` }));
    await program.api("PATCH", "/api/v1/programs/me", {
      default_commission_pct: 50,
      attribution: "first",
      live_only: true,
    });
    await program.api("POST", "/api/v1/flows", { name: "all", action_type: "flat", action_value: 1 });
    await program.api("PATCH", `/api/v1/partners/${partner.id}`, { commission_pct: 3, status: "deactivated" });
    await makePartner(program, { slug: "later" });
    expect(await differencesOf(programContext(program))).toEqual([]);
  });

  it("a payment that is being settled", async () => {
    const { program } = await selling(1);
    await run("update payments set facts_revision = facts_revision + 1 where program_id = ?", program.id);
    await run("update commissions set amount_cents = amount_cents + 5 where program_id = ?", program.id);
    expect(await differencesOf(programContext(program))).toEqual([]);
  });

  it("a transfer about which the vendor cannot be asked: no key, another account's, one who is away", async () => {
    const world = await makePayingProgram();
    const payout = await makePayout(world);
    playOutside(world.vendor);
    await world.program.api("POST", `/api/v1/payouts/${payout.id}/pay`, {});
    expect((await payoutsOf(world.program))[0]!.status).toBe("paid");
    const context = async () => {
      const { db } = testContext();
      const [program] = await selectPrograms(db).where(eq(programs.id, world.program.id));
      return forProgram(testContext(), program!);
    };
    const asked = async (vendor = world.vendor) => {
      const steps = await reconcileRound(await context(), transfersAt(vendor), true);
      return steps.reduce((sum, { checked }) => sum + checked.transfers, 0);
    };
    expect(await asked()).toBe(1);
    world.vendor.transfers.length = 0;
    expect(await asked({ ...world.vendor, fetch: async () => Response.error() })).toBe(0);
    for (const provider_a_api_key of [null, "sk_test_of_another_account"]) {
      await setSecrets(world.program.id, { provider_a_api_key });
      expect(await asked()).toBe(0);
    }
    expect(await reported(world.program)).toBe(0);
  });
});

describe("after another API key was stored", () => {
  it("a transfer that its account has is compared, and one that it does not have says nothing (LAW-11)", async () => {
    const world = await makePayingProgram();
    const payout = await makePayout(world);
    playOutside(world.vendor);
    await world.program.api("POST", `/api/v1/payouts/${payout.id}/pay`, {});
    world.vendor.keys.add("sk_test_rolled");
    await setSecrets(world.program.id, { provider_a_api_key: "sk_test_rolled" });
    const check = async () => {
      const [program] = await selectPrograms(testContext().db).where(eq(programs.id, world.program.id));
      const rows = await payoutsOf(world.program);
      return checkTransfers(forProgram(testContext(), program!), rows, clientOf(world.vendor));
    };
    expect(await check()).toEqual({ checked: [payout.id], found: [], reversed: [] });
    world.vendor.transfers[0]!.amount_reversed = 1_000;
    expect(await check()).toMatchObject({ found: [{ subject: payout.id, found: { reversed_cents: 1_000 } }] });
    world.vendor.transfers.length = 0;
    expect(await check()).toEqual({ checked: [], found: [], reversed: [] });
  });
});

describe("the dashboard", () => {
  it("shows a notice while something differs, and when the ledger last added up (PROG-10)", async () => {
    const { program, partner } = await selling(1);
    const owner = await signInOwner(program);
    const page = async () => (await owner.get("/dashboard")).body;
    expect(await page()).not.toContain("without a difference");
    await reconcileRound(programContext(program, NOW));
    expect(await page()).toContain("without a difference");
    await offByOne(partner.id);
    quiet();
    await reconcileRound(programContext(program, NOW + DAY));
    const shown = await page();
    expect(shown).toMatch(/class="notice bad"[^>]*role="alert"/);
    expect(shown).toContain("/dashboard/events?type=reconciliation.failed");
  });

  it("shows deliveries that the daily check found waiting, as the status does (PROG-10)", async () => {
    const { program } = await selling(1);
    await makeEndpoint(program, "https://waiting.example.com/hook");
    await program.api("PATCH", `/api/v1/partners/${(await makePartner(program)).id}`, { first_name: "Waiting" });
    const owner = await signInOwner(program);
    const left = async () =>
      (await program.api<{ deliveries_left: number }>("GET", "/api/v1/integrations/status")).body.deliveries_left;
    await reconcileRound(programContext(program, NOW));
    expect(await left()).toBe(0);
    expect((await owner.get("/dashboard")).body).not.toContain("hour late");
    await reconcileRound(programContext(program, NOW + DAY));
    expect(await left()).toBeGreaterThan(0);
    expect((await owner.get("/dashboard")).body).toContain("hour late");
  });
});
