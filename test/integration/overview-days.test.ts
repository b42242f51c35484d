/** The overview of some days: its figures, plots, countries, pages and top partners (PAGE-16, PAGE-17). */
import { sql } from "drizzle-orm";
import { describe, expect, it } from "vitest";
import { readOverview } from "../../src/core/overview/overview.ts";
import { lastDays } from "../../src/core/partners/code-stats.ts";
import { DAY, utcDay } from "../../src/lib/time.ts";
import { makeCommissions } from "../support/payouts.ts";
import { sessionCompleted } from "../support/provider-a.ts";
import { sendA } from "../support/ledger.ts";
import { makePartner, makeProgram, programContext, testContext } from "../support/program.ts";
import { signInOwner, textOf } from "../support/visitor.ts";

const DAYS = 30;

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
    // Revenue without a commission that counts.
    await db.run(sql`insert into earning_days (program_id, day, partner_id, currency, commissions, amount_cents,
      revenue_cents) values (${program.id}, ${day(4)}, ${jane.id}, 'USD', 0, 0, 1500)`);
    return { program, jane, owner: await signInOwner(program) };
  }

  it("are of these days, beside those of as many before, in each currency", async () => {
    const { program } = await madeDays();
    const seen = await readOverview(programContext(program), { from: day(3), to: day(5) });
    expect(seen.daysBefore).toEqual({ from: day(0), to: day(2) });
    expect(seen.now).toMatchObject({ clicks: 312, leads: 12, customers: 6, sales: 9 });
    expect(seen.before).toMatchObject({ clicks: 303, leads: 12, customers: 6, sales: 9 });
    expect(seen.money).toMatchObject([
      { currency: "USD", count: 2, commissions: { now: 2_008, before: 1_000 }, revenue: { now: 1_500, before: 0 } },
      { currency: "EUR", count: 0, commissions: { now: 0, before: 1_002 }, revenue: { now: 0, before: 0 } },
    ]);
    const [dollars] = seen.money;
    expect(dollars!.commissions.days.map(({ value }) => value)).toEqual([1_003, 0, 1_005]);
    expect(dollars!.revenue.days.map(({ value }) => value)).toEqual([0, 1_500, 0]);
    expect(seen.clicks).toEqual([3, 4, 5].map((i) => ({ day: day(i), value: 100 + i })));
    // Without the four leads.
    expect(seen.sales).toEqual([3, 4, 5].map((i) => ({ day: day(i), value: 3 })));
  });

  it("are on the page, with the share of each step and what changed", async () => {
    const { owner } = await madeDays();
    const { body } = await owner.get(`/dashboard?from=${day(3)}&to=${day(5)}`);
    const shown = textOf(body);
    expect(shown).toContain("4 Mar 2026 to 6 Mar 2026");
    expect(shown).toContain(
      "Revenue 15.00 USD vs. previous 3 days: 0.00 USD Commissions 20.08 USD vs. previous 3 days: 10.00 USD (+100.8 %) " +
        "Sales (all currencies) 9 vs. previous 3 days: 9 (0.0 %) Clicks (all currencies) 312 vs. previous 3 days: 303 (+3.0 %)",
    );
    expect(shown).toContain("Leads 12 3.8 % of clicks vs. previous 3 days: 12 (0.0 %)");
    expect(shown).toContain("New customers 6 1.9 % of clicks 50.0 % of leads 66.7 % of sales vs. previous 3 days: 6");
    expect(textOf(/<nav aria-label="Currency".*?<\/nav>/s.exec(body)?.[0] ?? "")).toBe("USD EUR");
    expect(shown).toContain("Sales of all currencies Partner Clicks Sales Revenue");
    const euros = textOf((await owner.get(`/dashboard?from=${day(3)}&to=${day(5)}&currency=EUR`)).body);
    expect(euros).toContain("Revenue 0.00 EUR vs. previous 3 days: 0.00 EUR Commissions 0.00 EUR");
    expect(euros).toContain("10.02 EUR (−100.0 %)");
  });

  it("name no currencies where there is one (PAGE-45)", async () => {
    const program = await makeProgram();
    await makeCommissions(program, (await makePartner(program)).id, [{}]);
    const { body } = await (await signInOwner(program)).get("/dashboard");
    expect(textOf(body)).toContain("Partner Clicks Sales Revenue");
    expect(body).not.toContain("all currencies");
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
    const [clicks = "", sales = ""] = plot.match(/<svg.*?<\/svg>/gs) ?? [];
    expect(clicks.match(/<line class="plot-(?:line|axis)"/g)).toHaveLength(4);
    expect(plot).toContain("<span>150</span><span>100</span><span>50</span><span>0</span>");
    for (const bars of [clicks, sales]) expect(bars.match(/<rect class="plot-bar"/g)).toHaveLength(7);
    expect(plot.match(/<label class="plot-point"><input type="radio" name="plot-clicks-and-sales"/g)).toHaveLength(7);
    expect(plot).toContain('<span class="plot-says">7 Mar 2026: Clicks 106, Sales 3</span>');
    expect(textOf(plot)).toContain("Day Clicks Sales 7 Mar 2026 106 3 6 Mar 2026 105 3");
    const year = (await owner.get("/dashboard?from=2025-03-08&to=2026-03-07")).body;
    const weeks = /<h3>Commissions<\/h3>.*?<\/figure>/s.exec(year)?.[0] ?? "";
    expect(weeks.match(/<label class="plot-point">/g)).toHaveLength(53);
    // 1,000, 1,003, 1,005 and 1,006 cents, in the week of its seven days.
    expect(weeks).toContain(
      '<span class="plot-says">1 Mar 2026 to 7 Mar 2026: Revenue 15.00\u00a0USD, Commissions 40.14\u00a0USD</span>',
    );
    expect(textOf(weeks)).toContain("1 Mar 2026 to 7 Mar 2026 15.00 USD 40.14 USD");
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
    expect(top.map((row) => [row.currency, row.partner_id, row.sales, row.revenue_cents])).toEqual([
      ["USD", jane.id, 3, 20_000],
      ["USD", kim.id, 0, 0],
      ["JPY", jane.id, 3, 10_000],
    ]);
    expect(now.sales).toBe(3);
  });
});
