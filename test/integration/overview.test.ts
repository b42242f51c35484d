/** The overviews say of the money what its rows say, and read no more of them than there are currencies and days. */
import { env } from "cloudflare:workers";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { forProgram } from "../../src/core/kernel/context.ts";
import { journalOldCommissions } from "../../src/core/ledger/journal.ts";
import { readOverview, readPartnerOverview, type DailyAmounts } from "../../src/core/overview/overview.ts";
import { openDatabase } from "../../src/db/client.ts";
import { COMMISSION_KINDS, COMMISSION_STATUSES } from "../../src/domain/commission.ts";
import { DAY, iso, utcDay } from "../../src/lib/time.ts";
import { makeApplication } from "../support/applications.ts";
import { makeClaim } from "../support/claims.ts";
import { serveAll } from "../support/jobs.ts";
import { meterRowsRead } from "../support/metered-database.ts";
import { makeCommissions, type CommissionRow, type PayoutRow } from "../support/payouts.ts";
import { makePartner, makeProgram, programContext, testContext, type TestProgram } from "../support/program.ts";
import { signInOwner, textOf } from "../support/visitor.ts";

const RUNS = Math.ceil(Number(env.PROPERTY_RUNS ?? 100) / 10);
const DAYS = 30;

async function rowsOf<Row>(
  table: "commissions" | "payouts" | "claims" | "applications",
  program: TestProgram,
): Promise<Row[]> {
  const { results } = await env.DB.prepare(`select * from ${table} where program_id = ?`).bind(program.id).all<Row>();
  return results;
}

/** Amounts by name, those of the same name added up. */
function sums(rows: readonly (readonly [name: string, amount: number])[]): Record<string, number> {
  const named = Map.groupBy(rows, ([name]) => name);
  return Object.fromEntries(
    [...named].map(([name, own]) => [name, own.reduce((sum, [, amount]) => sum + amount, 0)] as const).toSorted(),
  );
}

function topOf(currency: string, partner_id: string, commissions: number, amount: number) {
  return [
    [`${currency} ${partner_id} commissions`, commissions] as const,
    [`${currency} ${partner_id}`, amount] as const,
  ];
}

/** What is plotted, by day and currency. */
function plotted(amounts: readonly DailyAmounts[]): Record<string, number> {
  const days = amounts.flatMap(({ currency, days: own }) =>
    own.map(({ day, value }) => [`${day} ${currency}`, Number(value)] as const),
  );
  return nonZero(sums(days));
}

/** What is in a program, from its rows alone. */
async function fromRows(program: TestProgram, partner_id?: string) {
  const all = await rowsOf<CommissionRow>("commissions", program);
  const commissions = all.filter((row) => partner_id === undefined || row.partner_id === partner_id);
  const payouts = await rowsOf<PayoutRow>("payouts", program);
  const open = payouts.filter(({ status }) => ["pending", "processing", "failed"].includes(status));
  const pending = commissions.filter(({ status }) => status === "pending");
  const approved = commissions.filter(({ status, payout_id }) => status === "approved" && payout_id === null);
  const from = utcDay(Date.now() - (DAYS - 1) * DAY);
  const earned = commissions.filter(({ status, created_at }) => status !== "rejected" && created_at >= from);
  return {
    days: nonZero(sums(earned.map((row) => [`${row.created_at.slice(0, 10)} ${row.currency}`, row.amount_cents]))),
    top: sums(earned.flatMap((row) => topOf(row.currency, row.partner_id, 1, row.amount_cents))),
    waiting: {
      ...{ pending: pending.length, flagged: pending.filter((row) => row.flagged).length, payouts: open.length },
      claims: (await rowsOf<{ status: string }>("claims", program)).filter(({ status }) => status === "open").length,
      applications: (await rowsOf<{ status: string }>("applications", program)).filter(
        ({ status }) => status === "pending",
      ).length,
    },
    standing: sums([
      ...pending.map((row) => [`pending ${row.currency}`, row.amount_cents] as const),
      ...approved.map((row) => [`payable ${row.currency}`, row.amount_cents] as const),
      ...open.map((row) => [`in_payout ${row.currency}`, row.amount_cents] as const),
    ]),
  };
}

async function shown(program: TestProgram) {
  const { waiting, standing, commissions, top } = await readOverview(programContext(program), DAYS);
  return {
    days: plotted(commissions),
    top: sums(top.flatMap((row) => topOf(row.currency, row.partner_id, row.commissions, Number(row.amount_cents)))),
    waiting,
    standing: sums(standing.map((row) => [`${row.account} ${row.currency}`, Number(row.amount_cents)] as const)),
  };
}

async function plottedToPartner(program: TestProgram, partner_id: string) {
  const { commissions } = await readPartnerOverview(programContext(program), partner_id, DAYS);
  return plotted(commissions);
}

async function partnerFromRows(program: TestProgram, partner_id: string) {
  const counted = (await rowsOf<CommissionRow>("commissions", program)).filter(
    (row) => row.partner_id === partner_id && row.status !== "rejected",
  );
  return sums(counted.map((row) => [`${row.status} ${row.currency}`, row.amount_cents] as const));
}

async function shownToPartner(program: TestProgram, partner_id: string) {
  const { sums: rows } = await readPartnerOverview(programContext(program), partner_id, DAYS);
  return sums(
    rows.flatMap((row) => [
      [`pending ${row.currency}`, Number(row.pending_cents)] as const,
      [`approved ${row.currency}`, Number(row.approved_cents)] as const,
      [`paid ${row.currency}`, Number(row.paid_cents)] as const,
    ]),
  );
}

function nonZero(figures: Record<string, number>): Record<string, number> {
  return Object.fromEntries(Object.entries(figures).filter(([, sum]) => sum !== 0));
}

const anyRow = fc.record({
  currency: fc.constantFrom("USD", "JPY", "KWD"),
  kind: fc.constantFrom(...COMMISSION_KINDS),
  status: fc.constantFrom(...COMMISSION_STATUSES.filter((status) => status !== "paid")),
  flagged: fc.boolean(),
  amount_cents: fc.integer({ min: -3_000, max: 9_000 }),
  journaled: fc.boolean(),
});

describe("the overviews", () => {
  it("equal the sums over the rows in any state, in the journal or not, before and after payouts", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(anyRow, { minLength: 1, maxLength: 14 }),
        fc.array(fc.constantFrom("mark-paid", "cancel", null), { minLength: 6, maxLength: 6 }),
        async (rows, ends) => {
          const program = await makeProgram();
          const partners = [await makePartner(program), await makePartner(program)];
          for (const [i, row] of rows.entries()) await makeCommissions(program, partners[i % 2]!.id, [row]);
          const expectRight = async () => {
            expect(await shown(program)).toEqual(await fromRows(program));
            for (const { id } of partners) {
              const wanted = nonZero(await partnerFromRows(program, id));
              expect(nonZero(await shownToPartner(program, id))).toEqual(wanted);
              expect(await plottedToPartner(program, id)).toEqual((await fromRows(program, id)).days);
            }
          };
          await expectRight();
          await serveAll(journalOldCommissions(testContext()));
          await expectRight();
          const { body } = await program.api<{ payouts: { id: string }[] }>("POST", "/api/v1/payouts/generate", {});
          for (const [i, { id }] of body.payouts.entries()) {
            const end = ends[i % ends.length];
            if (end) expect((await program.api("POST", `/api/v1/payouts/${id}/${end}`, {})).status).toBe(200);
          }
          await expectRight();
        },
      ),
      { numRuns: RUNS },
    );
  });

  it("read no more rows after 3,000 more commissions and payments in every state, but those of a partner that are flagged", async () => {
    const program = await makeProgram();
    const partner = await makePartner(program);
    const commissions = await makeCommissions(program, partner.id, [
      { status: "pending" },
      { status: "pending", flagged: true },
      { status: "approved" },
      { status: "approved" },
    ]);
    await program.api("POST", "/api/v1/payouts/generate", {});
    const meter = meterRowsRead(env.DB);
    const ctx = forProgram({ ...testContext(), db: openDatabase(meter.binding) }, program.program);
    const measured = async () => {
      await readOverview(ctx, DAYS);
      const owner = meter.taken();
      await readPartnerOverview(ctx, partner.id, DAYS);
      return { owner, partner: meter.taken() };
    };
    const before = await measured();
    const [like] = commissions;
    await env.DB.prepare(
      `with recursive n(i) as (select 1 union all select i + 1 from n where i < 3000)
      insert into commissions (id, program_id, partner_id, payout_id, kind, status, flagged, amount_cents,
        txn_amount_cents, currency, rate, journaled, created_at, updated_at)
      select 'com_' || printf('%016d', i) || substr(program_id, -10), program_id, partner_id, iif(i % 5 = 2, payout, null),
        'sale', case i % 5 when 0 then 'pending' when 1 then 'approved' when 2 then 'approved' when 3 then 'paid'
        else 'rejected' end, i % 2, i, i, currency, rate, 1, iif(i % 2, ?2, ?4), ?2
      from n cross join commissions c cross join (select max(payout_id) as payout from commissions where program_id = ?3)
      where c.id = ?1`,
    )
      .bind(like!.id, iso(Date.now() - 400 * DAY), program.id, iso(Date.now()))
      .run();
    await env.DB.prepare(
      `with recursive n(i) as (select 1 union all select i + 1 from n where i < 3000)
      insert into payments (id, program_id, provider, provider_transaction_id, outcome, currency, txn_amount_cents,
        gross_cents, created_at, updated_at)
      select 'pmt_' || printf('%016d', i) || substr(?1, -10), ?1, 'provider_a', 'pi_' || i,
        iif(i % 3, 'commission', 'test_mode'), 'USD', 1, 1, iif(i % 2, ?2, ?3), ?3 from n`,
    )
      .bind(program.id, iso(Date.now() - 400 * DAY), iso(Date.now()))
      .run();
    const after = await measured();
    // The partner's own page reads each of theirs that is flagged: it waits for a person, who is to see to it.
    const more = { owner: 30, partner: 30 + 300 };
    const tooMany = (["owner", "partner"] as const).filter((who) => after[who].rows > before[who].rows + more[who]);
    expect([tooMany, before, tooMany.map((who) => after[who])]).toEqual([[], before, []]);
    const { waiting, payments, commissions: earned } = await readOverview(ctx, DAYS);
    expect(waiting).toMatchObject({ pending: 602, flagged: 301 });
    expect(payments.reduce((sum, { value }) => sum + value, 0)).toBe(1_000);
    expect(plotted(earned)).toEqual((await fromRows(program)).days);
  });
});

describe("what there is to decide (PAGE-7)", () => {
  it("is counted and linked: commissions, applications and claims, those that are decided no more", async () => {
    const program = await makeProgram({ applications: "review" });
    const partner = await makePartner(program);
    const owner = await signInOwner(program);
    const page = async () => (await owner.get("/dashboard")).body;
    expect(textOf(await page())).toContain("Nothing waits");
    const ids = [await makeApplication(program), await makeApplication(program)];
    const claim = await makeClaim(program, partner.id, { order_id: "lost" });
    const before = await page();
    expect(before).toMatch(/href="\/dashboard\/partners\/applications">2 applications</);
    expect(before).toMatch(/href="\/dashboard\/claims">1 claim</);
    expect((await program.api("POST", `/api/v1/applications/${ids[0]}/decline`, {})).status).toBe(200);
    expect((await program.api("POST", `/api/v1/claims/${claim}/decline`, {})).status).toBe(200);
    const after = await page();
    expect(after).toMatch(/href="\/dashboard\/partners\/applications">1 application</);
    expect(after).not.toMatch(/href="\/dashboard\/claims">\d/);
    const { waiting } = await readOverview(programContext(program), 30);
    expect(waiting).toMatchObject({ pending: 0, applications: 1, claims: 0 });
  });
});
