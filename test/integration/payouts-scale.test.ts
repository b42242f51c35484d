/**
 * 10,000 partners with 100,000 approved commissions: a bounded number of D1 statements, measured. The platform allows
 * "1,000 queries an invocation".
 */
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { generatePayouts } from "../../src/core/payouts/generate.ts";
import { forProgram } from "../../src/core/kernel/context.ts";
import { openDatabase } from "../../src/db/client.ts";
import { makeProgram, testContext, type TestProgram } from "../support/program.ts";
import { watchDatabase } from "../support/watched-database.ts";

const PARTNERS = 10_000;
const COMMISSIONS = 100_000;

/** Every tenth partner earns in a second currency, every hundredth has only a clawback. */
async function seed(program: TestProgram): Promise<void> {
  const at = "2026-10-15T00:00:00.000Z";
  const run = (sql: string) => env.DB.prepare(sql).bind(program.id, at).run();
  await run(`with recursive n(i) as (select 1 union all select i + 1 from n where i < ${PARTNERS})
    insert into partners (id, program_id, email, slug, status, search_text, created_at, updated_at)
    select 'par_' || printf('%016d', i) || substr(?1, -10), ?1, i || '@partners.example', 'p' || i, 'active', '', ?2, ?2 from n`);
  await run(`with recursive n(i) as (select 1 union all select i + 1 from n where i < ${COMMISSIONS})
    insert into commissions (id, program_id, partner_id, kind, status, flagged, dismissed_reasons, amount_cents,
      txn_amount_cents, currency, rate, created_at, updated_at)
    select 'com_' || printf('%016d', i) || substr(?1, -10), ?1,
      'par_' || printf('%016d', 1 + i % ${PARTNERS}) || substr(?1, -10), 'sale', 'approved', 0, '',
      case when i % 100 = 7 then -i else i end, i,
      case when i % ${PARTNERS} % 10 = 3 and i > ${COMMISSIONS / 2} then 'JPY' else 'USD' end, '{}', ?2, ?2 from n`);
}

describe("a month end of 10,000 partners and 100,000 commissions", () => {
  it("takes a bounded number of statements, pays every cent once", async () => {
    const program = await makeProgram();
    await seed(program);
    const { binding, roundTrips } = watchDatabase(env.DB);
    const ctx = forProgram({ ...testContext(), db: openDatabase(binding) }, program.program);
    const generation = await generatePayouts(ctx, { period_start: null, period_end: ctx.now, dry_run: false });
    const statements = roundTrips.reduce((sum, trip) => sum + trip.length, 0);
    const sent = roundTrips.flat();
    console.log(`${statements} statements in ${roundTrips.length} round trips`);
    expect(statements).toBeLessThanOrEqual(200);
    // "100 KB a statement", "2 MB a value".
    expect(Math.max(...sent.map(({ sql }) => sql.length))).toBeLessThan(10_000);
    expect(Math.max(...sent.flatMap(({ values }) => values.map((value) => String(value).length)))).toBeLessThan(1e6);
    for (const { sql, values } of [...roundTrips[0]!, ...roundTrips[1]!]) {
      const plan = await env.DB.prepare(`explain query plan ${sql}`)
        .bind(...values)
        .all<{ detail: string }>();
      const scans = plan.results
        .map(({ detail }) => detail)
        .filter((detail) => /^SCAN (c|commissions|p|payouts|partners)\b/.test(detail));
      expect([sql, scans]).toEqual([sql, []]);
    }

    const [held] = await rows(
      `select count(*) as n, sum(amount_cents) as sum from commissions
      where program_id = ?1 and payout_id is not null`,
      program,
    );
    const [made] = await rows(
      `select sum(commission_count) as n, sum(amount_cents) as sum from payouts where program_id = ?1`,
      program,
    );
    expect(held).toEqual(made);
    const [left] = await rows(
      `select count(*) as n, sum(amount_cents) as sum from commissions
      where program_id = ?1 and payout_id is null`,
      program,
    );
    expect(held!.n + left!.n).toBe(COMMISSIONS);
    const wrong = await rows(
      `select p.id from payouts p where p.program_id = ?1 and (p.amount_cents, p.commission_count) <>
      (select sum(c.amount_cents), count(*) from commissions c where c.payout_id = p.id and c.partner_id = p.partner_id
        and c.currency = p.currency)`,
      program,
    );
    expect(wrong).toEqual([]);
    const total = generation.totals.reduce((sum, row) => sum + row.payouts, 0);
    const [counted] = await rows(`select count(*) as n, 0 as sum from payouts where program_id = ?1`, program);
    const [reported] = await rows(
      `select count(*) as n, 0 as sum from events where program_id = ?1 and type = 'payout.generated'`,
      program,
    );
    expect([counted!.n, reported!.n]).toEqual([total, total]);
    expect(total).toBeGreaterThan(PARTNERS * 0.98);
    expect(generation.payouts).toHaveLength(500);
    expect(generation.skipped.every((row) => row.reason === "not_positive")).toBe(true);
  });
});

async function rows(sql: string, program: TestProgram): Promise<{ n: number; sum: number }[]> {
  return (await env.DB.prepare(sql).bind(program.id).all<{ n: number; sum: number }>()).results;
}
