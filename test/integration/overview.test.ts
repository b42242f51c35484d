/** The overviews' amounts equal those of the rows, and the reads are bounded by the number of currencies and days. */
import { env } from "cloudflare:workers";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { forProgram } from "../../src/core/kernel/context.ts";
import { readOverview, readPartnerOverview } from "../../src/core/overview/overview.ts";
import { lastDays } from "../../src/core/partners/code-stats.ts";
import { openDatabase } from "../../src/db/client.ts";
import { COMMISSION_KINDS, COMMISSION_STATUSES } from "../../src/domain/commission.ts";
import { DAY, iso, utcDay } from "../../src/lib/time.ts";
import { makeApplication } from "../support/applications.ts";
import { makeClaim } from "../support/claims.ts";
import { meterRowsRead } from "../support/metered-database.ts";
import { sendA } from "../support/ledger.ts";
import { makeEndpoint } from "../support/outbound.ts";
import { makeCommissions, type CommissionRow, type PayoutRow } from "../support/payouts.ts";
import { makePartner, makeProgram, programContext, testContext, type TestProgram } from "../support/program.ts";
import { sessionCompleted } from "../support/provider-a.ts";
import { signInMember, signInOwner, textOf } from "../support/visitor.ts";
import { nonZero, plotted, sums } from "../support/overview.ts";

const RUNS = Math.ceil(Number(env.PROPERTY_RUNS) / 10);
const DAYS = 30;

async function rowsOf<Row>(
  table: "commissions" | "payouts" | "claims" | "applications",
  program: TestProgram,
): Promise<Row[]> {
  const { results } = await env.DB.prepare(`select * from ${table} where program_id = ?`).bind(program.id).all<Row>();
  return results;
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
      ...{ held: 0, on_hold: 0, unknown_codes: 0 },
      preparable: expect.any(Number) as number,
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
  const { waiting, standing, money, top } = await readOverview(programContext(program), lastDays(Date.now(), DAYS));
  return {
    days: plotted(money.map(({ currency, commissions }) => ({ currency, days: commissions.days }))),
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

  it("read no more rows after 3,000 more commissions and payments in every state, but those that are flagged", async () => {
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
    // The partner's own page reads each of their flagged commissions, which wait for a person's review; the owner's a
    // thousand, which may be disputed.
    const more = { owner: 30 + 1_000, partner: 30 + 300 };
    const tooMany = (["owner", "partner"] as const).filter((who) => after[who].rows > before[who].rows + more[who]);
    expect([tooMany, before, tooMany.map((who) => after[who])]).toEqual([[], before, []]);
    expect((await readOverview(ctx, lastDays(Date.now(), DAYS))).waiting).toMatchObject({ pending: 602, flagged: 301 });
    expect((await shown(program)).days).toEqual((await fromRows(program)).days);
  });
});

describe("what there is to decide (PAGE-16)", () => {
  it("is counted and linked: commissions, applications and claims, those that are decided no more", async () => {
    const program = await makeProgram({ applications: "review" });
    const partner = await makePartner(program);
    const owner = await signInOwner(program);
    const page = async () => (await owner.get("/dashboard")).body;
    await makeCommissions(program, partner.id, [{ status: "paid" }]);
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

describe("a program before its first click (PAGE-16)", () => {
  it("has the set-up list alone, and the figures with the first click", async () => {
    const program = await makeProgram();
    const owner = await signInOwner(program);
    const headings = async () => {
      const main = /<main.*?<\/main>/s.exec((await owner.get("/dashboard")).body)?.[0] ?? "";
      return [...main.matchAll(/<(?:h2|h3|dt)[^>]*>([^<]*)</g)].map(([, text]) => text);
    };
    expect(await headings()).toEqual(["Set up your program"]);
    await makeApplication(program);
    expect(await headings()).toEqual(["To do", "Set up your program"]);
    await env.DB.prepare("insert into click_drops (program_id, day, reason, count) values (?, '2026-01-01', 'bot', 1)")
      .bind(program.id)
      .run();
    expect(await headings()).toEqual(expect.arrayContaining(["Revenue", "Commissions", "Sales", "Clicks"]));
  });
});

describe("the navigation (PAGE-46)", () => {
  it("has the numbers of open claims, applications and failed payouts, of the program alone", async () => {
    const [program, other] = [await makeProgram({ applications: "review" }), await makeProgram()];
    const partner = await makePartner(program);
    const owner = await signInOwner(program);
    const nav = async (visitor = owner) =>
      textOf(/<nav aria-label="Main">.*?<\/nav>/s.exec((await visitor.get("/dashboard/flows")).body)?.[0] ?? "");
    expect(await nav()).toMatch(/Overview Partners Commissions Payouts .* Claims Flows/);
    await makeApplication(program);
    await makeClaim(program, partner.id, { order_id: "lost" });
    await makeCommissions(program, partner.id, [{}]);
    const { body } = await program.api<{ payouts: { id: string }[] }>("POST", "/api/v1/payouts/generate", {});
    await env.DB.prepare("update payouts set status = 'failed' where id = ?").bind(body.payouts[0]!.id).run();
    expect(await nav()).toMatch(
      /Partners , 1 application 1 Commissions Payouts , 1 failed 1 Payments Customers Claims , 1 open 1 Flows/,
    );
    expect(await nav(await signInOwner(other))).not.toMatch(/\d/);
  });
});

describe("the currency of the overview (PAGE-45)", () => {
  it("is the program's, or, if it has no revenue, the one with the most commissions", async () => {
    const program = await makeProgram();
    await makePartner(program, { slug: "jane" });
    const owner = await signInOwner(program);
    const shown = async () =>
      /<a[^>]*aria-current="true">([A-Z]{3})</.exec((await owner.get("/dashboard")).body)?.[1] ?? null;
    const sell = async (currency: string, amount: number) =>
      expect((await sendA(program, sessionCompleted({ ref: "jane", currency, amount }))).status).toBe(200);
    for (const amount of [100, 200]) await sell("eur", amount);
    await sell("jpy", 900_000);
    expect(await shown()).toBe("EUR");
    await sell("usd", 100);
    expect(await shown()).toBe("USD");
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
    // The cause can be on either side.
    expect(textOf(owner.html)).toContain("1 failing endpoint Deliveries fail. Each endpoint's page shows why.");
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
