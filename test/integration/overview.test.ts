/** The overviews' amounts equal those of the rows, and the reads are bounded by the number of currencies and days. */
import { env } from "cloudflare:workers";
import { sql } from "drizzle-orm";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { forProgram } from "../../src/core/kernel/context.ts";
import { readOverview, readPartnerOverview, type DailyAmounts } from "../../src/core/overview/overview.ts";
import { lastDays } from "../../src/core/partners/code-stats.ts";
import { openDatabase } from "../../src/db/client.ts";
import { COMMISSION_KINDS, COMMISSION_STATUSES } from "../../src/domain/commission.ts";
import { DAY, iso, utcDay } from "../../src/lib/time.ts";
import { makeApplication } from "../support/applications.ts";
import { makeClaim } from "../support/claims.ts";
import { meterRowsRead } from "../support/metered-database.ts";
import { makeEndpoint } from "../support/outbound.ts";
import { makeCommissions, type CommissionRow, type PayoutRow } from "../support/payouts.ts";
import { sessionCompleted } from "../support/provider-a.ts";
import { sendA } from "../support/ledger.ts";
import { makePartner, makeProgram, programContext, testContext, type TestProgram } from "../support/program.ts";
import { signInMember, signInOwner, textOf } from "../support/visitor.ts";

const RUNS = Math.ceil(Number(env.PROPERTY_RUNS ?? 100) / 10);
const DAYS = 30;

async function rowsOf<Row>(
  table: "commissions" | "payouts" | "claims" | "applications",
  program: TestProgram,
): Promise<Row[]> {
  const { results } = await env.DB.prepare(`select * from ${table} where program_id = ?`).bind(program.id).all<Row>();
  return results;
}

/** The sums of the amounts by name. */
function sums(rows: readonly (readonly [name: string, amount: number])[]): Record<string, number> {
  const named = Map.groupBy(rows, ([name]) => name);
  return Object.fromEntries(
    [...named].map(([name, own]) => [name, own.reduce((sum, [, amount]) => sum + amount, 0)] as const).toSorted(),
  );
}

/** The plotted values, by day and currency. */
function plotted(amounts: readonly DailyAmounts[]): Record<string, number> {
  const days = amounts.flatMap(({ currency, days: own }) =>
    own.map(({ day, value }) => [`${day} ${currency}`, Number(value)] as const),
  );
  return nonZero(sums(days));
}

/** The expected overview of a program, from its rows alone. */
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
    top: sums(earned.map((row) => [`${row.currency} ${row.partner_id}`, row.amount_cents])),
    waiting: {
      ...{ pending: pending.length, flagged: pending.filter((row) => row.flagged).length, payouts: open.length },
      unpaid: open.filter(({ status }) => status === "pending").length,
      failed: open.filter(({ status }) => status === "failed").length,
      ...{ held: 0, unknown_codes: 0 },
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
  const { waiting, standing, commissions, top } = await readOverview(
    programContext(program),
    lastDays(Date.now(), DAYS),
  );
  return {
    days: plotted(commissions),
    top: sums(top.map((row) => [`${row.currency} ${row.partner_id}`, Number(row.amount_cents)])),
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
});

describe("the overviews", () => {
  it("equal the sums over the rows in any state, before and after payouts", async () => {
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
      await readOverview(ctx, lastDays(Date.now(), DAYS));
      const owner = meter.taken();
      await readPartnerOverview(ctx, partner.id, DAYS);
      return { owner, partner: meter.taken() };
    };
    const before = await measured();
    const [like] = commissions;
    await env.DB.prepare(
      `with recursive n(i) as (select 1 union all select i + 1 from n where i < 3000)
      insert into commissions (id, program_id, partner_id, payout_id, kind, status, flagged, amount_cents,
        txn_amount_cents, currency, rate, created_at, updated_at)
      select 'com_' || printf('%016d', i) || substr(program_id, -10), program_id, partner_id, iif(i % 5 = 2, payout, null),
        'sale', case i % 5 when 0 then 'pending' when 1 then 'approved' when 2 then 'approved' when 3 then 'paid'
        else 'rejected' end, i % 2, i, i, currency, rate, iif(i % 2, ?2, ?4), ?2
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
    // The partner's own page reads each of their flagged commissions, which wait for a person's review.
    const more = { owner: 30, partner: 30 + 300 };
    const tooMany = (["owner", "partner"] as const).filter((who) => after[who].rows > before[who].rows + more[who]);
    expect([tooMany, before, tooMany.map((who) => after[who])]).toEqual([[], before, []]);
    const { waiting, commissions: earned } = await readOverview(ctx, lastDays(Date.now(), DAYS));
    expect(waiting).toMatchObject({ pending: 602, flagged: 301 });
    expect(plotted(earned)).toEqual((await fromRows(program)).days);
  });
});

describe("what there is to decide (PAGE-16)", () => {
  it("is counted and linked: commissions, applications and claims, those that are decided no more", async () => {
    const program = await makeProgram({ applications: "review" });
    const partner = await makePartner(program);
    const owner = await signInOwner(program);
    const page = async () => (await owner.get("/dashboard")).body;
    expect(textOf(await page())).toContain("All done");
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
    const { waiting } = await readOverview(programContext(program), lastDays(Date.now(), DAYS));
    expect(waiting).toMatchObject({ pending: 0, applications: 1, claims: 0 });
  });
});

describe("endpoints on the overview (PAGE-16)", () => {
  it("are named while they fail or are disabled for it, not when their owner switched them off", async () => {
    const program = await makeProgram();
    const owner = await signInOwner(program);
    const named = async () =>
      /href="([^"]+)">(\d+ failing endpoints?)</.exec((await owner.get("/dashboard")).body)?.slice(1);
    const endpoints = [
      await makeEndpoint(program, "https://a.example/"),
      await makeEndpoint(program, "https://b.example/"),
    ];
    const [a, b] = endpoints.map(({ id }) => id);
    const set = (id: string | undefined, values: string) =>
      env.DB.prepare(`update webhook_endpoints set ${values} where id = ?`).bind(id).run();
    expect(await named()).toBeUndefined();
    await set(a, "failing_since = created_at, failure_count = 1");
    expect(await named()).toEqual([`/dashboard/webhooks/${a}`, "1 failing endpoint"]);
    await set(b, "active = 0, disabled_at = created_at");
    expect(await named()).toEqual(["/dashboard/webhooks", "2 failing endpoints"]);
    await program.api("PATCH", `/api/v1/webhooks/${a}`, { active: false });
    expect(await named()).toEqual([`/dashboard/webhooks/${b}`, "1 failing endpoint"]);
    await program.api("DELETE", `/api/v1/webhooks/${b}`);
    expect(await named()).toBeUndefined();
  });

  it("have what failed since the first shown day sent again there, but not where they are off, and by owners alone", async () => {
    const program = await makeProgram();
    const [on, off] = [
      await makeEndpoint(program, "https://a.example/"),
      await makeEndpoint(program, "https://b.example/"),
    ];
    const since = utcDay(Date.now() - 6 * DAY);
    await env.DB.prepare("update webhook_endpoints set failing_since = created_at where id = ?").bind(on.id).run();
    await env.DB.prepare("update webhook_endpoints set active = 0, disabled_at = created_at where id = ?")
      .bind(off.id)
      .run();
    for (let i = 0; i < 3; i++) await makePartner(program, {}, "invited");
    await env.DB.prepare("update deliveries set status = 'failed', completed_at = created_at where endpoint_id = ?")
      .bind(on.id)
      .run();
    const owner = await signInOwner(program);
    const overview = (await owner.get("/dashboard?days=7")).body;
    const forms = [...overview.matchAll(/action="([^"]+\/recover)"(.*?)<\/form>/gs)];
    expect(forms.map(([, action]) => action)).toEqual([`/dashboard/webhooks/${on.id}/recover`]);
    expect(forms[0]?.[2]).toContain(`name="since" value="${since}T00:00:00Z"`);
    const sent = await owner.post(`/dashboard/webhooks/${on.id}/recover`, { since: `${since}T00:00:00Z` });
    expect(sent.status).toBe(303);
    expect(textOf((await owner.get(sent.headers.get("location") ?? "")).body)).toContain(
      "3 deliveries that failed or were missed: being resent.",
    );
    await program.api("POST", "/api/v1/members", { email: "viewer@shop.example", role: "viewer" });
    const viewer = await signInMember(program, "viewer@shop.example");
    const read = (await viewer.get("/dashboard")).body;
    expect([read.includes("2 failing endpoints"), read.includes("/recover")]).toEqual([true, false]);
  });
});

describe("the figures of some days (PAGE-16)", () => {
  const day = (i: number) => utcDay(Date.parse("2026-03-01") + i * DAY);
  const at = (i: number) => `${day(i)}T12:00:00.000Z`;

  /** Payments of nine days: six before the three requested days, and one after them. */
  async function madeDays() {
    const program = await makeProgram();
    const jane = await makePartner(program, { slug: "jane", first_name: "Jane" });
    const { db } = testContext();
    await db.run(sql`insert into sale_days (program_id, day, partner_id, leads, sales, first_sales)
      select ${program.id}, date('2026-03-01', '+' || value || ' days'), ${jane.id}, 4, 3, 2
      from json_each('[0,1,2,3,4,5,6]')`);
    await db.run(sql`insert into event_counts (program_id, type, day, count)
      select ${program.id}, 'click', date('2026-03-01', '+' || value || ' days'), 100 + value
      from json_each('[0,1,2,3,4,5,6]')`);
    for (const i of [0, 2, 3, 5, 6]) {
      await makeCommissions(program, jane.id, [
        { status: "approved", amount_cents: 1_000 + i, currency: i === 2 ? "EUR" : "USD", created_at: at(i) },
      ]);
    }
    return { program, jane, owner: await signInOwner(program) };
  }

  it("are of these days, beside those of as many before, in each currency", async () => {
    const { program } = await madeDays();
    const seen = await readOverview(programContext(program), { from: day(3), to: day(5) });
    expect(seen.daysBefore).toEqual({ from: day(0), to: day(2) });
    expect(seen.now).toMatchObject({ clicks: 312, leads: 12, customers: 6, sales: 9 });
    expect(seen.before).toMatchObject({ clicks: 303, leads: 12, customers: 6, sales: 9 });
    expect(seen.earned).toEqual([
      { currency: "USD", now: 2_008, before: 1_000 },
      { currency: "EUR", now: 0, before: 1_002 },
    ]);
    expect(plotted(seen.commissions)).toEqual({ [`${day(3)} USD`]: 1_003, [`${day(5)} USD`]: 1_005 });
    expect(seen.clicks).toEqual([3, 4, 5].map((i) => ({ day: day(i), value: 100 + i })));
    // Without the four leads.
    expect(seen.sales).toEqual([3, 4, 5].map((i) => ({ day: day(i), value: 3 })));
  });

  it("are on the page, with the share of each step and what changed", async () => {
    const { owner } = await madeDays();
    const shown = textOf((await owner.get(`/dashboard?from=${day(3)}&to=${day(5)}`)).body);
    expect(shown).toContain("4 Mar 2026 to 6 Mar 2026");
    expect(shown).toContain("Clicks 312 303 before, +3.0 %");
    expect(shown).toContain("Leads 12 3.8 % of clicks 12 before, 0.0 %");
    expect(shown).toContain("New customers 6 1.9 % of clicks 50.0 % of leads 6 before, 0.0 %");
    expect(shown).toContain("Sales 9 2.9 % of clicks 66.7 % by new customers 9 before, 0.0 %");
    expect(shown).toContain("USD 20.08 USD 10.00 USD +100.8 %");
    expect(shown).toContain("EUR 0.00 EUR 10.02 EUR −100.0 %");
  });

  it("lead to the commissions behind them, the same days and partner", async () => {
    const { program, jane, owner } = await madeDays();
    await makeCommissions(program, (await makePartner(program)).id, [{ created_at: at(3), amount_cents: 1 }]);
    const { body } = await owner.get(`/dashboard?from=${day(3)}&to=${day(5)}`);
    const days = new URLSearchParams({ from: `${day(3)}T00:00:00Z`, to: `${day(6)}T00:00:00Z` }).toString();
    const href = `/dashboard/commissions?partner_id=${jane.id}&amp;${days.replace("&", "&amp;")}`;
    expect(body).toContain(`<a href="${href}">Jane</a>`);
    const list = await owner.get(href.replaceAll("&amp;", "&"));
    expect(textOf(list.body)).toContain("1–2 of 2");
  });

  it("are of thirty days where nothing else is asked for, of 366 at most and of none after today", async () => {
    const { owner } = await madeDays();
    const chosen = async (query: string) => {
      const { status, body } = await owner.get(`/dashboard?${query}`);
      const [from, to] = [...body.matchAll(/<input[^>]*name="(?:from|to)"[^>]*value="([^"]*)"/g)].map(([, one]) => one);
      return { status, from, to };
    };
    const today = utcDay(Date.now());
    const ago = (days: number) => utcDay(Date.now() - days * DAY);
    for (const query of ["", "days=30", "days=31", "from=x&to=y", "from=&to="]) {
      expect([query, await chosen(query)]).toEqual([query, { status: 200, from: ago(29), to: today }]);
    }
    expect(await chosen("days=365")).toEqual({ status: 200, from: ago(364), to: today });
    expect(await chosen("from=1970-01-01")).toEqual({ status: 200, from: ago(365), to: today });
    expect(await chosen(`from=${ago(3)}&to=9999-12-30`)).toEqual({ status: 200, from: ago(3), to: today });
    expect(await chosen("from=2026-05-01&to=2020-01-01")).toMatchObject({ status: 200, from: "2020-01-01" });
    expect(await chosen("to=1970-01-01")).toMatchObject({ status: 200, to: "1970-01-01" });
  });

  it("are plots with a scale and a table, a bar for each day, or for each week of a year (PAGE-17)", async () => {
    const { owner } = await madeDays();
    const { body } = await owner.get(`/dashboard?from=${day(0)}&to=${day(6)}`);
    const plot = /<h3>Clicks<\/h3>.*?<\/figure>/s.exec(body)?.[0] ?? "";
    expect(plot.match(/<line class="plot-(?:line|axis)"/g)).toHaveLength(4);
    expect(plot).toContain("<span>150</span><span>100</span><span>50</span><span>0</span>");
    expect(plot.match(/<rect class="plot-bar"/g)).toHaveLength(7);
    expect(plot.match(/<label class="plot-point"><input type="radio" name="plot-clicks"/g)).toHaveLength(7);
    expect(plot).toContain('<span class="plot-says">7 Mar 2026: 106</span>');
    expect(textOf(plot)).toContain("Day (UTC) Clicks 7 Mar 2026 106 6 Mar 2026 105");
    const sales = /<h3>Sales<\/h3>.*?<\/figure>/s.exec(body)?.[0] ?? "";
    expect(textOf(sales)).toContain("Day (UTC) Sales 7 Mar 2026 3 6 Mar 2026 3");
    const year = (await owner.get("/dashboard?from=2025-03-08&to=2026-03-07")).body;
    const weeks = /<h3>Commissions in USD<\/h3>.*?<\/figure>/s.exec(year)?.[0] ?? "";
    expect(weeks.match(/<label class="plot-point">/g)).toHaveLength(53);
    // 1,000, 1,003, 1,005 and 1,006 cents, in the week of its seven days.
    expect(weeks).toContain('<span class="plot-says">1 Mar 2026 to 7 Mar 2026: 40.14\u00a0USD</span>');
    expect(textOf(weeks)).toContain("1 Mar 2026 to 7 Mar 2026 40.14 USD");
  });

  it("name the countries with the most clicks in the reader's language, and nothing where none is known", async () => {
    const { program, owner } = await madeDays();
    const of = async (language?: string, days = [day(3), day(5)]) => {
      const path = `/dashboard?from=${days[0]}&to=${days[1]}`;
      const { body } = await owner.get(path, language === undefined ? {} : { "accept-language": language });
      return /<h2>Top countries<\/h2>.*?<\/table>/s.exec(body)?.[0] ?? null;
    };
    expect(await of()).toBeNull();
    await testContext().db.run(sql`insert into click_sources (program_id, partner_id, day, kind, value, count)
      select ${program.id}, '', ${day(4)}, 'country', value ->> 0, value ->> 1 from json_each(${JSON.stringify([
        ...[["DE", 70] as const, ["CH", 6] as const, ["US", 50] as const],
        ...[["QQ", 5] as const, ["FR", 40] as const, ["IN", 4] as const, ["", 2] as const],
      ])})`);
    const english = (await of()) ?? "";
    expect(textOf(english)).toBe(
      "Top countries Country Clicks Germany 70 United States 50 France 40 Switzerland 6 QQ 5 All others 6",
    );
    expect(english).toContain("<bdi>Germany</bdi>");
    const german = (await of("de-AT")) ?? "";
    expect(textOf(german)).toContain("Deutschland 70 Vereinigte Staaten 50 Frankreich 40 Schweiz 6 QQ 5");
    expect(german).toContain('<bdi lang="de-AT">Deutschland</bdi>');
    expect(textOf((await of("ar")) ?? "")).toContain("ألمانيا 70");
    expect(await of("de", [day(0), day(2)])).toBeNull();
  });

  it("name the pages and referring hosts with the most clicks, the rest together, as text", async () => {
    const { program, owner } = await madeDays();
    const long = `/${"x".repeat(300)}`;
    await testContext().db.run(sql`insert into click_sources (program_id, partner_id, day, kind, value, count)
      select ${program.id}, '', ${day(4)}, value ->> 0, value ->> 1, value ->> 2 from json_each(${JSON.stringify([
        ["landing", long, 90],
        ["landing", "/<b>", 20],
        ...[7, 6, 5, 4, 3].map((n) => ["landing", `/${n}`, n]),
        ["landing", "", 1],
        ["referrer", "(none)", 11],
        ["referrer", "blog.example", 12],
      ])})`);
    const { body } = await owner.get(`/dashboard?from=${day(3)}&to=${day(5)}`);
    const pages = /<h2>Top pages<\/h2>.*?<\/table>/s.exec(body)?.[0] ?? "";
    expect(textOf(pages)).toContain("/7 7 /6 6 /5 5 All others 8");
    expect(pages).toContain("<code>/&lt;b&gt;</code>");
    expect(pages).toContain(`${"x".repeat(119)}…`);
    expect(textOf(body)).toMatch(/Top referrers Host Clicks blog\.example 12 No referrer 11/);
    expect(textOf((await owner.get(`/dashboard?from=${day(0)}&to=${day(2)}`)).body)).not.toContain("Top pages");
  });
});

describe("the top partners (PAGE-16)", () => {
  it("have as many sales as they made, none for a commission by hand", async () => {
    const program = await makeProgram();
    const [jane, kim] = [await makePartner(program, { slug: "jane" }), await makePartner(program)];
    for (const currency of ["USD", "USD", "JPY"]) {
      expect((await sendA(program, sessionCompleted({ ref: "jane", currency }))).status).toBe(200);
    }
    await makeCommissions(program, jane.id, [{ amount_cents: 100 }]);
    await makeCommissions(program, kim.id, [{ amount_cents: 50 }]);
    const { top, now } = await readOverview(programContext(program), lastDays(Date.now(), DAYS));
    expect(top.map(({ currency, partner_id, sales }) => [currency, partner_id, sales])).toEqual([
      ["USD", jane.id, 3],
      ["USD", kim.id, 0],
      ["JPY", jane.id, 3],
    ]);
    expect(now.sales).toBe(3);
  });
});
