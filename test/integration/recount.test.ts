/** Kept counts against the rows that they count: a wrong count is corrected. */
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { arrivalOf } from "../../src/clicks/batch.ts";
import { archiveNotedDays, noteArchivableDays } from "../../src/core/clicks/archive.ts";
import { flushClicks } from "../../src/core/clicks/clicks.ts";
import { rollUpClicks } from "../../src/core/clicks/roll-up.ts";
import { recountCodes } from "../../src/core/operations/recount-codes.ts";
import { recountEarnings } from "../../src/core/operations/recount-earnings.ts";
import { recountEvents } from "../../src/core/operations/recount-events.ts";
import { recountLists } from "../../src/core/operations/recount-lists.ts";
import { openDatabase } from "../../src/db/client.ts";
import type { Arrival } from "../../src/domain/click.ts";
import { newId } from "../../src/lib/id.ts";
import { DAY, HOUR, iso, MINUTE } from "../../src/lib/time.ts";
import { lead, report } from "../support/api.ts";
import { BY_CODE } from "../support/by-code.ts";
import { BY_REVENUE } from "../support/by-revenue.ts";
import { BY_SALE } from "../support/by-sale.ts";
import { giveCode } from "../support/codes.ts";
import { serveAll } from "../support/jobs.ts";
import { sendA } from "../support/ledger.ts";
import { makeEvents } from "../support/many-clicks.ts";
import { meterDatabase } from "../support/metered-database.ts";
import { makeCommissions } from "../support/payouts.ts";
import { sessionCompleted } from "../support/provider-a.ts";
import { makePartner, makeProgram, testContext, type TestProgram } from "../support/program.ts";
import { all } from "../support/rows.ts";

const START = Date.parse("2026-03-01T00:00:00.000Z");

let logged: Record<string, unknown>[];
beforeEach(() => {
  logged = [];
  vi.spyOn(console, "error").mockImplementation(
    (line) => void logged.push(JSON.parse(String(line)) as Record<string, unknown>),
  );
});
afterEach(() => vi.restoreAllMocks());

type Counts = Record<string, unknown>;

/** The nonzero results of such statements about a program. */
async function named(program_id: string, statements: string[]): Promise<Counts> {
  const rows = await Promise.all(statements.map(async (sql) => all<{ name: string; n: unknown }>(sql, program_id)));
  return Object.fromEntries(
    rows
      .flat()
      .filter(({ n }) => n !== 0 && n !== "0 {}" && n !== null)
      .map(({ name, n }) => [name, n]),
  );
}

/** All kept counts of a program's rows. */
const keptOf = async (program_id: string) =>
  named(program_id, [
    `select 'hour ' || hour || ' ' || type as name, count || ' ' || (select json_group_object(key, value) from
      (select key, value from json_each(minutes) order by key)) as n from event_hours where program_id = ?`,
    "select 'day ' || day || ' ' || type as name, count as n from event_counts where program_id = ?",
    "select 'partner ' || day || ' ' || partner_id as name, count as n from click_counts where program_id = ?",
    "select list || ' ' || state as name, count as n from list_counts where program_id = ?",
    "select list || ' ' || day || ' ' || state as name, count as n from list_days where program_id = ?",
    `select 'earned ' || day || ' ' || partner_id || ' ' || currency as name, nullif(commissions || ' ' || amount_cents, '0 0') as n from earning_days where program_id = ?`,
    `select 'revenue ' || day || ' ' || partner_id || ' ' || currency as name, revenue_cents as n
      from earning_days where program_id = ?`,
    `select 'sales ' || partner_id || ' ' || currency as name, nullif(sales || ' ' || revenue_cents, '0 0') as n
      from partner_sales where program_id = ?`,
    `select 'code ' || day || ' ' || partner_id || ' ' || code_id || ' ' || currency as name,
      nullif(sales || ' ' || revenue_cents || ' ' || earned_cents, '0 0 0') as n from code_days where program_id = ?`,
    `select 'sold ' || day || ' ' || partner_id as name, nullif(leads || ' ' || sales || ' ' || first_sales, '0 0 0') as n
      from sale_days where program_id = ?`,
    `select 'entries ' || partner_id || ' ' || currency || ' ' || account as name, ifnull(entries, 'unknown') as n
      from balances where program_id = ? and partner_id <> ''`,
  ]);

/** The counts agree with the rows as long as no row is archived. */
const rowsOf = async (program_id: string) =>
  named(program_id, [
    `select 'hour ' || hour || ' ' || type as name, sum(n) || ' ' || json_group_object(minute, n) as n from (
      select substr(created_at, 1, 13) as hour, type, substr(created_at, 15, 2) as minute, count(*) as n from events
      where program_id = ? group by 1, 2, 3 order by 1, 2, 3) group by hour, type`,
    `select 'day ' || substr(created_at, 1, 10) || ' ' || type as name, count(*) as n from events
      where program_id = ? group by 1`,
    `select 'partner ' || substr(created_at, 1, 10) || ' ' || (payload ->> 'partner_id') as name, count(*) as n
      from events where program_id = ? and type = 'click' group by 1`,
    ...["partners", "payments", "commissions", "payouts", "claims", "applications"].map((list) => {
      const state = list === "payments" ? "ifnull(outcome, '')" : "status";
      return `select '${list} ' || ${state} as name, count(*) as n from ${list} where program_id = ? group by 1`;
    }),
    "select 'partner_groups ' || group_id as name, count(*) as n from partners where program_id = ? group by 1",
    `select 'flagged ' || status as name, count(*) as n from commissions where program_id = ? and flagged = 1 group by 1`,
    `select 'leads ' || ifnull(outcome, '') as name, count(*) as n from payments
      where program_id = ? and event = 'lead_created' group by 1`,
    `select 'payments ' || substr(created_at, 1, 10) || ' ' || outcome as name, count(*) as n from payments
      where program_id = ? and outcome is not null group by 1`,
    `select 'earned ' || substr(created_at, 1, 10) || ' ' || partner_id || ' ' || currency as name,
      count(*) || ' ' || sum(amount_cents) as n from commissions where program_id = ? and status <> 'rejected' group by 1`,
    `select 'revenue ' || day || ' ' || partner_id || ' ' || currency as name, revenue as n from (${BY_REVENUE})
      where program_id = ?`,
    `select 'sales ' || partner_id || ' ' || currency as name, sum(sales) || ' ' || sum(revenue) as n from (${BY_REVENUE})
      where program_id = ? group by 1`,
    `select 'code ' || day || ' ' || partner_id || ' ' || code_id || ' ' || currency as name,
      nullif(sum(sales) || ' ' || sum(revenue) || ' ' || sum(earned), '0 0 0') as n from (${BY_CODE}) where program_id = ?
      group by 1`,
    `select 'sold ' || day || ' ' || partner_id as name, leads || ' ' || sales || ' ' || first_sales as n
      from (${BY_SALE}) where program_id = ?`,
    `select 'entries ' || partner_id || ' ' || currency || ' ' ||
      iif(to_account = 'expense', from_account, to_account) as name, count(*) as n
      from entries where program_id = ? group by 1`,
  ]);

async function flush(program: TestProgram, slug: string, times: number[]): Promise<void> {
  const arrivals = times.map((ms) => {
    const click = { program_id: program.id, ref: slug, landing: "/", referrer: "", id: null };
    return JSON.parse(arrivalOf(click, ms).entry) as Arrival;
  });
  const object = { object: "weur:recount", epoch: newId("request", Date.now()), from: 0, now: Date.now() };
  await flushClicks(env, { ...object, to: arrivals.length, arrivals });
  await flushClicks(env, { ...object, to: arrivals.length, arrivals });
  await serveAll(rollUpClicks(testContext(Date.now() + HOUR)));
}

async function recount(): Promise<void> {
  await serveAll(recountEvents(testContext()));
  await serveAll(recountLists(testContext()));
  await serveAll(recountEarnings(testContext()));
  await serveAll(recountCodes(testContext()));
}

describe("kept counts (JOB-6)", () => {
  it("of an undisturbed program are right, and nothing is logged", async () => {
    const program = await makeProgram();
    const { slug } = await makePartner(program, { slug: "jane" });
    await flush(program, slug, [START, START + MINUTE, Date.now()]);
    for (const amount of [5_000, 10_000]) await sendA(program, sessionCompleted({ ref: slug, amount }));
    const { body } = await program.api<{ data: { id: string }[] }>("GET", "/api/v1/commissions");
    const ids = body.data.map(({ id }) => id);
    await program.api("POST", "/api/v1/commissions/bulk", { ids, status: "approved" });
    await program.api("POST", "/api/v1/payouts/generate", {});
    const before = await keptOf(program.id);
    expect(before).toEqual(await rowsOf(program.id));
    await recount();
    expect(await keptOf(program.id)).toEqual(before);
    expect(logged.filter(({ program_id }) => program_id === program.id)).toEqual([]);
  });

  it("are corrected whichever is wrong: too much, too little, missing, of nothing", async () => {
    const program = await makeProgram();
    const [jane, joe] = [await makePartner(program), await makePartner(program)];
    await flush(program, jane.slug, [START, START + HOUR, START + 3 * DAY]);
    await flush(program, joe.slug, [START + 5, START + 40 * DAY]);
    await makeCommissions(program, jane.id, [{ flagged: true }, { flagged: true, status: "pending" }]);
    await sendA(program, sessionCompleted({ ref: jane.slug, amount: 123_456_789 }));
    for (const ref of [jane.slug, "nobody"]) await report(program, "lead", lead({ ref }));
    const code = await giveCode(program, joe.id, {
      code: "JOE20",
      provider: "provider_a",
      provider_code_id: "promo_1",
    });
    const discounts = [{ promotion_code: "promo_1", coupon: null }];
    for (const amount of [8_000_000, 1_234_567])
      await sendA(program, sessionCompleted({ amount, object: { discounts } }));
    const own = `program_id = '${program.id}'`;
    const right = await keptOf(program.id);
    const byCode = Object.entries(right).filter(([name]) => name.startsWith("code "));
    expect(byCode.map(([, n]) => n)).toEqual(["2 9234567 1846913"]);
    expect(right).toMatchObject({
      "flagged approved": 1,
      "flagged pending": 1,
      "leads no_flow": 1,
      "leads unknown_ref": 1,
    });
    expect(right).toEqual(await rowsOf(program.id));
    for (const wrong of [
      `update event_hours set count = count + 3 where ${own}`,
      `update event_hours set minutes = '{"17":1}' where ${own}`,
      `delete from event_hours where ${own} and type = 'click'`,
      `insert into event_hours (program_id, hour, type, count, minutes)
        values ('${program.id}', '2026-05-01T10', 'click', 4, '{"01":4}'),
          ('${program.id}', '2031-05-01T10', 'partner.created', 4, '{"01":4}')`,
      `update event_counts set count = 1000 where ${own}`,
      `update event_counts set archived = 1 where ${own} and type <> 'click'`,
      `delete from event_counts where ${own}`,
      `insert into event_counts (program_id, type, day, count) values ('${program.id}', 'click', '2026-06-01', 9)`,
      `update click_counts set count = count - 1 where ${own}`,
      `delete from click_counts where ${own}`,
      `insert into click_counts (program_id, partner_id, day, count)
        values ('${program.id}', '${joe.id}', '2026-03-02', 7)`,
      `update list_counts set count = -2 where ${own}`,
      `delete from list_counts where ${own}`,
      `insert into list_counts (program_id, list, state, count) values ('${program.id}', 'payouts', 'paid', 3)`,
      `update list_days set count = count + 1 where ${own}`,
      `delete from list_days where ${own}`,
      `insert into list_days (program_id, list, day, state, count)
        values ('${program.id}', 'payments', '2026-01-01', 'commission', 3)`,
      `update earning_days set commissions = commissions - 1 where ${own}`,
      `update earning_days set amount_cents = amount_cents + 1 where ${own}`,
      `update earning_days set revenue_cents = revenue_cents - 1 where ${own}`,
      `delete from earning_days where ${own}`,
      `insert into earning_days (program_id, day, partner_id, currency, commissions, amount_cents)
        values ('${program.id}', '2026-01-01', '${joe.id}', 'EUR', 1, 5)`,
      `insert into earning_days (program_id, day, partner_id, currency, commissions, amount_cents, revenue_cents)
        values ('${program.id}', '2026-01-02', '${joe.id}', 'EUR', 0, 0, 5)`,
      ...["sales", "revenue_cents"].map((sum) => `update partner_sales set ${sum} = ${sum} + 1 where ${own}`),
      `delete from partner_sales where ${own}`,
      `insert into partner_sales (program_id, partner_id, currency, sales, revenue_cents)
        values ('${program.id}', '${joe.id}', 'EUR', 1, 5)`,
      ...["leads", "sales", "first_sales"].map((sum) => `update sale_days set ${sum} = ${sum} + 1 where ${own}`),
      `delete from sale_days where ${own}`,
      `insert into sale_days (program_id, day, partner_id, leads, sales, first_sales)
        values ('${program.id}', '2026-01-01', '${joe.id}', 1, 1, 0)`,
      ...["sales", "revenue_cents", "earned_cents"].map(
        (sum) => `update code_days set ${sum} = ${sum} - 1 where ${own}`,
      ),
      `delete from code_days where ${own}`,
      `insert into code_days (program_id, day, partner_id, code_id, currency, sales, revenue_cents, earned_cents)
        values ('${program.id}', '2026-01-01', '${joe.id}', '${code.id}', 'EUR', 0, 0, 5)`,
    ]) {
      await env.DB.prepare(wrong).run();
      logged = [];
      await recount();
      expect([wrong, await keptOf(program.id)]).toEqual([wrong, right]);
      expect([wrong, logged.map((line) => line["program_id"])]).toEqual([wrong, [program.id]]);
      await recount();
      expect([wrong, logged.length], "the second recount finds nothing").toEqual([wrong, 1]);
    }
  });

  it("of clicks in the archive stay, and the count of them is corrected", async () => {
    const program = await makeProgram();
    const { slug } = await makePartner(program);
    await flush(program, slug, [START, START + HOUR, START + 2 * DAY]);
    const ctx = testContext();
    await serveAll(noteArchivableDays(ctx, 1));
    await serveAll(archiveNotedDays(ctx, env.ARCHIVE));
    // One comes late.
    await flush(program, slug, [START + 2 * HOUR]);
    const right = await keptOf(program.id);
    await recount();
    expect([await keptOf(program.id), logged]).toEqual([right, []]);
    await env.DB.prepare("update event_counts set archived = archived + 1, count = 0 where program_id = ?")
      .bind(program.id)
      .run();
    await recount();
    expect(await keptOf(program.id)).toEqual(right);
    const archived = await all<{ archived: number }>(
      "select archived from event_counts where program_id = ? and type = 'click' order by day",
      program.id,
    );
    expect(archived).toEqual([{ archived: 2 }, { archived: 1 }]);
  });

  it("lose no write of the same moment, and count none twice", async () => {
    const program = await makeProgram();
    const partner = await makePartner(program);
    for (let round = 0; round < 4; round++) {
      const times = (i: number) => Array.from({ length: 20 }, (_, j) => START + i * HOUR + j * MINUTE);
      await Promise.all([
        recount(),
        ...[0, 1, 2].map((i) => flush(program, partner.slug, times(i))),
        flush(program, partner.slug, times(round)),
        env.DB.batch([
          env.DB.prepare("update event_hours set count = count + 3 where program_id = ?").bind(program.id),
          env.DB.prepare("delete from click_counts where program_id = ?").bind(program.id),
        ]),
        recount(),
        makePartner(program, {}, "invited"),
        recount(),
      ]);
      await recount();
      expect(await keptOf(program.id)).toEqual(await rowsOf(program.id));
    }
  });

  it("of many rows are counted some at a time, within a minute and a day too, and so are long lists", async () => {
    const program = await makeProgram();
    const partner = await makePartner(program);
    // 45,000 in three minutes of one hour, and some on many days.
    const busy = Array.from({ length: 45_000 }, (_, i) => START + HOUR + Math.floor(i / 250) * 1_000);
    const calm = Array.from({ length: 3_000 }, (_, i) => START + (i % 30) * DAY + i * MINUTE);
    await makeEvents(
      program,
      [...busy, ...calm].map((ms) => ({ type: "click", ms })),
    );
    await env.DB.prepare("update events set payload = json_set(payload, '$.partner_id', ?2) where program_id = ?1")
      .bind(program.id, partner.id)
      .run();
    await env.DB.prepare(
      `with recursive n(i) as (select 1 union all select i + 1 from n where i < 58500)
      insert into commissions (id, program_id, partner_id, kind, status, amount_cents, txn_amount_cents, currency, rate,
        created_at, updated_at)
      select 'com_' || printf('%016d', i) || substr(?1, -10), ?1, ?2, 'manual', iif(i % 9 = 0, 'approved', 'pending'),
        1, 1, 'USD', '{}', ?3, ?3 from n`,
    )
      .bind(program.id, partner.id, iso(START))
      .run();
    const own = `program_id = '${program.id}'`;
    await env.DB.batch([
      env.DB.prepare(`update event_hours set count = 1, minutes = '{"02":1}' where ${own} and hour < '2026-03-04'`),
      env.DB.prepare(`delete from click_counts where ${own}`),
      env.DB.prepare(`update list_counts set count = count - 20 where ${own} and list = 'commissions'`),
    ]);
    await recount();
    expect(await keptOf(program.id)).toEqual(await rowsOf(program.id));
    // And once all is right, no statement reads much.
    let most = 0;
    const metered = meterDatabase(env.DB, ({ rows_read }) => void (most = Math.max(most, rows_read)));
    const ctx = { ...testContext(), db: openDatabase(metered) };
    logged = [];
    expect(await serveAll(recountEvents(ctx))).toBeGreaterThan(2);
    expect(await serveAll(recountLists(ctx))).toBeGreaterThan(3);
    await serveAll(recountEarnings(ctx));
    expect(logged).toEqual([]);
    expect(most).toBeLessThan(200_000);
  });
});
