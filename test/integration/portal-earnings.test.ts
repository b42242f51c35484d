/** The partner's view of the money: its state and its reason, without the sale if sales are hidden. */
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { generateMonthlyPayouts } from "../../src/core/payouts/month.ts";
import { iso } from "../../src/lib/time.ts";
import { giveCode } from "../support/codes.ts";
import { serveAll } from "../support/jobs.ts";
import { sendA } from "../support/ledger.ts";
import { makeCommissions } from "../support/payouts.ts";
import { makePartner, makeProgram, testContext, type TestProgram } from "../support/program.ts";
import { disputeEvent } from "../support/provider-a-changes.ts";
import { chargeRefunded, sessionCompleted } from "../support/provider-a.ts";
import { pageRoutes } from "../support/stocked.ts";
import { uniqueId } from "../support/vendor.ts";
import { signInPartner, textOf, type Visitor } from "../support/visitor.ts";

let program: TestProgram;
let jane: { id: string; email: string };
let visitor: Visitor;

async function open(fields: Parameters<typeof makeProgram>[0] = {}): Promise<void> {
  program = await makeProgram({ name: "Acme", ...fields });
  jane = await makePartner(program, { slug: "jane", email: `${uniqueId("jane")}@partners.example` });
  visitor = await signInPartner(jane.email);
}

beforeEach(async () => open());

const page = async (path: string) => textOf((await visitor.get(path)).body);

describe("the earnings (PORTAL-5)", () => {
  it("are by currency where each amount is, exact", async () => {
    await open({ auto_approve_days: 10 });
    const at = (day: string) => `2026-03-${day}T23:30:00.000Z`;
    const pending = { status: "pending", approved_at: null } as const;
    await makeCommissions(program, jane.id, [
      { ...pending, amount_cents: 1_001, created_at: at("01"), hold_until: at("11") },
      { ...pending, amount_cents: 2_002, created_at: at("09"), hold_until: at("19") },
      { ...pending, amount_cents: 4_004, created_at: at("20"), flagged: true, review_reason: "disputed" },
      { amount_cents: 8_008 },
      { amount_cents: -10_010, kind: "clawback", currency: "EUR" },
      { ...pending, amount_cents: 1_125_899_906_842_623, currency: "EUR", created_at: at("05"), hold_until: at("15") },
      { ...pending, amount_cents: 1_125_899_906_842_623, currency: "EUR", created_at: at("05"), hold_until: at("15") },
      { amount_cents: 16, status: "rejected", rejected_reason: "Not ours" },
    ]);
    const shown = await page("/portal");
    expect(shown).toContain(
      "Pending 40.04 USD until Acme approves On hold 30.03 USD 22,517,998,136,852.46 EUR " +
        "USD until 11 Mar 2026, the last until 19 Mar 2026 EUR until 15 Mar 2026 " +
        "Ready to pay 80.08 USD \u2212100.10 EUR a negative amount is deducted from future earnings In a payout 0.00 USD",
    );
  });

  it("move with the payout, and never are in two places", async () => {
    await makeCommissions(program, jane.id, [{ amount_cents: 1_500 }, { amount_cents: 600, status: "pending" }]);
    expect(await page("/portal")).toMatch(/Pending 6\.00 USD .*Ready to pay 15\.00 USD .*In a payout 0\.00 USD/);
    expect(await page("/portal")).not.toContain("On hold");
    await program.api("POST", "/api/v1/payouts/generate", { period_end: iso(Date.now()) });
    expect(await page("/portal")).toMatch(/Ready to pay 0\.00 USD .*In a payout 15\.00 USD .*Paid 0\.00 USD/);
    const { body } = await program.api<{ data: { id: string }[] }>("GET", "/api/v1/payouts");
    await program.api("POST", `/api/v1/payouts/${body.data[0]!.id}/mark-paid`);
    expect(await page("/portal")).toMatch(/Pending 6\.00 USD .*In a payout 0\.00 USD .*Paid 15\.00 USD/);
  });

  it("are nothing yet where nothing was earned, and nothing of another partner", async () => {
    const joe = await makePartner(program, { slug: "joe" });
    await makeCommissions(program, joe.id, [{ amount_cents: 77_777 }]);
    expect(await page("/portal")).toMatch(/Pending 0\.00 USD .*Ready to pay 0\.00 USD .*Paid 0\.00 USD/);
  });
});

describe("the next payout (PORTAL-5)", () => {
  const MIDDLE = Date.parse("2026-11-17T12:00:00.000Z");
  beforeEach(async () => {
    vi.useFakeTimers({ now: MIDDLE, toFake: ["Date"] });
    await open({ payout_term: "NET-30" });
  });
  afterEach(() => vi.useRealTimers());

  it("is what is approved so far, without disputes, due by the next monthly run and the term (OUT-3)", async () => {
    expect(await page("/portal")).toContain("Payouts are prepared on the first of each month and due 30 days later.");
    await makeCommissions(program, jane.id, [
      { amount_cents: 5_000 },
      { amount_cents: 700, flagged: true, review_reason: "disputed" },
      { amount_cents: 900, status: "pending", approved_at: null },
    ]);
    expect(await page("/portal")).toContain("Next payout 50.00 USD approved so far, due 31 Dec 2026");
    // The run makes exactly this payout.
    vi.setSystemTime(Date.parse("2026-12-01T00:00:01.000Z"));
    await serveAll(generateMonthlyPayouts(testContext()));
    expect(await page("/portal")).toContain("Next payout 50.00 USD due 31 Dec 2026");
  });

  it("says what is below which minimum and rolls over (OUT-19)", async () => {
    await program.api("PATCH", "/api/v1/programs/me", { min_payout_cents: 5_050, min_payouts: { EUR: 700 } });
    await makeCommissions(program, jane.id, [
      { amount_cents: 5_050 },
      { amount_cents: 699, currency: "EUR" },
      { amount_cents: 50, currency: "JPY" },
    ]);
    const shown = await page("/portal");
    expect(shown).toContain("Next payout 50.50 USD approved so far, due 31 Dec 2026");
    expect(shown).toContain(
      "6.99 EUR and 50 JPY are below the minimum of 7.00 EUR and 51 JPY and roll over to a later payout.",
    );
  });

  it("is the earliest of the open payouts, and names no sum on the first of a month", async () => {
    await makeCommissions(program, jane.id, [{ amount_cents: 5_000 }]);
    vi.setSystemTime(Date.parse("2026-12-01T00:00:01.000Z"));
    expect(await page("/portal")).not.toContain("Next payout");
    await program.api("POST", "/api/v1/payouts/generate", { period_end: "2026-12-01" });
    await makeCommissions(program, jane.id, [{ amount_cents: 800, created_at: "2026-11-03T10:00:00.000Z" }]);
    await program.api("POST", "/api/v1/payouts/generate", { period_end: "2026-11-20" });
    expect(await page("/portal")).toContain("Next payout 8.00 USD due 20 Dec 2026 Then 50.00 USD , due 31 Dec 2026");
  });

  it("is not foretold without the tax data that payouts need (OUT-33)", async () => {
    await makeCommissions(program, jane.id, [{ amount_cents: 5_000 }]);
    await program.api("PATCH", "/api/v1/programs/me", { require_tax_data: true });
    expect(await page("/portal")).not.toContain("Next payout");
  });
});

describe("the rates on the first page (PORTAL-5)", () => {
  const lede = async () => /<p class="lede">(.*?)<\/p>/s.exec((await visitor.get("/portal")).body)?.[1] ?? "";

  it("are the partner's, else the group's, with the flows that can apply, as on the application page", async () => {
    const rates = async () => textOf(await lede()).replaceAll("\u00a0", " ");
    expect(await rates()).toBe("Earn 20 % of every sale.");
    const club = { name: "Club", slug: "club", commission_pct: 40 };
    const { id: group_id } = (await program.api<{ id: string }>("POST", "/api/v1/groups", club)).body;
    await program.api("PATCH", `/api/v1/partners/${jane.id}`, { group_id });
    expect(await rates()).toBe("Earn 40 % of every sale.");
    await program.api("PATCH", `/api/v1/partners/${jane.id}`, { commission_pct: 45 });
    expect(await rates()).toBe("Earn 45 % of every sale.");
    const flow = { action_type: "percentage", action_value: 50 };
    const conditions = [{ field: "new_customer", op: "eq", value: true }];
    await program.api("POST", "/api/v1/flows", { ...flow, name: "First", conditions });
    expect(await rates()).toBe("Earn 45 % of every sale, or 50 % on each payment from new customers .");
    const forAll = { ...flow, name: "All", action_value: 5, priority: 100 };
    await program.api("POST", "/api/v1/flows", forAll);
    expect(await rates()).toMatch(/^Partners get 5 % of each payment\./);
    expect(await rates()).not.toContain("45");
  });
});

describe("why a commission is what it is (PORTAL-6)", () => {
  it("is a sentence for each kind, with what it waits for", async () => {
    await open({ auto_approve_days: 10 });
    const pending = { status: "pending", approved_at: null, created_at: "2026-03-01T10:00:00.000Z" } as const;
    const rate = { source: "partner", action_type: "flat", action_value: 300 } as const;
    await makeCommissions(program, jane.id, [
      { ...pending, amount_cents: 1_000, txn_amount_cents: 5_000, hold_until: "2026-03-11T10:00:00.000Z" },
      { amount_cents: 800, txn_amount_cents: 5_100 },
      { amount_cents: 0, txn_amount_cents: 5_200 },
      { amount_cents: 0, txn_amount_cents: 5_400, base_cents: 2_000 },
      { amount_cents: 300, txn_amount_cents: 5_300, rate },
      { kind: "clawback", amount_cents: -50 },
      { kind: "lead", amount_cents: 300, txn_amount_cents: 0, rate },
      { kind: "manual", amount_cents: 40, note: "For the talk" },
      { status: "rejected", rejected_reason: "A test of ours", txn_amount_cents: 5_000 },
      { status: "paid", hold_until: "2026-03-12T10:00:00.000Z", txn_amount_cents: 5_000 },
    ]);
    const shown = await page("/portal/commissions");
    expect(shown).not.toContain("payable from 12 Mar 2026");
    for (const text of [
      "20\u00a0% of a sale of 50.00\u00a0USD, the program's rate",
      "payable from 11 Mar 2026",
      "20\u00a0% of a sale of 51.00\u00a0USD less refunds, the program's rate",
      "Fully refunded sale of 52.00\u00a0USD",
      "Fully refunded products of a sale of 54.00\u00a0USD",
      "Flat amount for a sale of 53.00\u00a0USD, your rate",
      "Refund or correction of a sale you were already paid for approved deducted from your next payout",
      "Flat amount for a sign-up through your link",
      "For the talk",
      "A test of ours",
      "for the next payout",
    ]) {
      expect(shown.replaceAll("\u00a0", " ")).toContain(text.replaceAll("\u00a0", " "));
    }
  });

  it("waits for no payout while the payment is disputed, and does not say why", async () => {
    const payment_intent = uniqueId("pi_");
    await sendA(program, sessionCompleted({ ref: "jane", amount: 10_000, payment_intent }));
    const { body } = await program.api<{ data: { id: string }[] }>("GET", "/api/v1/commissions");
    await program.api("PATCH", `/api/v1/commissions/${body.data[0]!.id}`, { status: "approved" });
    expect(await page("/portal/commissions")).toContain("approved for the next payout");
    await sendA(program, disputeEvent("charge.dispute.created", { payment_intent, amount: 10_000 }));
    const shown = await page("/portal/commissions");
    expect(shown).toContain("approved under review");
    expect(shown).not.toMatch(/next payout|dispute/);
  });

  it("says that a part was refunded where it was, however it was reported", async () => {
    const payment_intent = uniqueId("pi_");
    await sendA(program, sessionCompleted({ ref: "jane", amount: 10_000, payment_intent }));
    await sendA(program, chargeRefunded({ payment_intent, amount: 10_000, refunded: 2_500 }));
    expect((await page("/portal/commissions")).replaceAll("\u00a0", " ")).toContain(
      "20 % of a sale of 100.00 USD less refunds",
    );
  });
});

describe("a correction of what was paid (PORTAL-6)", () => {
  it("is said to be after no refund where the rate is another one from an earlier time on", async () => {
    const since = iso(Date.now() - 60_000);
    await sendA(program, sessionCompleted({ ref: "jane", amount: 10_000 }));
    const { body } = await program.api<{ data: { id: string }[] }>("GET", "/api/v1/commissions");
    await program.api("PATCH", `/api/v1/commissions/${body.data[0]!.id}`, { status: "approved" });
    const made = await program.api<{ payouts: { id: string }[] }>("POST", "/api/v1/payouts/generate");
    await program.api("POST", `/api/v1/payouts/${made.body.payouts[0]!.id}/mark-paid`);
    const raised = await program.api("PATCH", "/api/v1/programs/me", { default_commission_pct: 30, apply_from: since });
    expect(raised.status).toBe(200);
    const shown = (await page("/portal/commissions")).replaceAll("\u00a0", " ");
    expect(shown).toMatch(/Correction of a sale you were already paid for approved for the next payout 10\.00 USD/);
    expect(shown).not.toContain("Refund");
  });
});

describe("hidden amounts of sales (PORTAL-6)", () => {
  /** Digits that occur in the sales only, as pages, files and the API write them. */
  const SALES = ["7,391.13", "7391.13", "739113", "8,217.19", "8217.19", "821719", "9,753.31", "9753.31", "975331"];
  const PATHS = () => pageRoutes("portal").filter(({ method }) => method === "GET");

  async function sell(): Promise<string> {
    await giveCode(program, jane.id, { code: "JANE", provider: "provider_a", provider_code_id: "promo_jane" });
    await sendA(program, sessionCompleted({ ref: "jane", amount: 739_113 }));
    const discounts = [{ promotion_code: "promo_jane", coupon: null }];
    await sendA(program, sessionCompleted({ ref: null, amount: 821_719, object: { discounts } }));
    const rate = { source: "flow", action_type: "flat", action_value: 500 } as const;
    await makeCommissions(program, jane.id, [
      { amount_cents: 500, txn_amount_cents: 975_331, rate },
      { amount_cents: 400, txn_amount_cents: 975_331 },
      { amount_cents: 0, txn_amount_cents: 975_331 },
    ]);
    await program.api("POST", "/api/v1/payouts/generate", { period_end: iso(Date.now()) });
    const { body } = await program.api<{ data: { id: string }[] }>("GET", "/api/v1/payouts");
    return body.data[0]!.id;
  }

  it("are in no page and no file of the portal, nor a rate beside a commission that gives them", async () => {
    const payout = await sell();
    const seen = async () =>
      Promise.all(
        PATHS().map(async ({ path }) => {
          const { body } = await visitor.get(path.replace(":id", payout));
          const text = body.replaceAll("\u00a0", " ");
          return [
            path,
            SALES.some((sale) => text.includes(sale)) || /\d ?% of (?:a sale|the products)/.test(text),
          ] as const;
        }),
      );
    expect((await seen()).filter(([, has]) => has).map(([path]) => path)).toEqual(
      expect.arrayContaining([
        ...["/portal/commissions", "/portal/statistics", "/portal/payouts/:id"],
        "/portal/payouts/:id/statement.csv",
      ]),
    );
    await program.api("PATCH", "/api/v1/programs/me", { sale_amounts: "hidden" });
    expect((await seen()).filter(([, has]) => has)).toEqual([]);
    // The earnings are shown as before.
    const shown = await page("/portal/commissions");
    for (const text of [
      "1,478.23",
      "A percentage of a sale, the program's rate",
      "Flat amount for a sale, a special rate",
    ]) {
      expect(shown.replaceAll("\u00a0", " ")).toContain(text);
    }
    const order = await env.DB.prepare(
      "select provider_transaction_id as id from payments where program_id = ? limit 1",
    )
      .bind(program.id)
      .first<{ id: string }>();
    const claimed = await visitor.post("/portal/claims", { order_id: order!.id });
    expect(SALES.filter((sale) => claimed.body.includes(sale))).toEqual([]);
  });
});

describe("the file of a statement (PORTAL-3)", () => {
  it("has every commission, also beyond what one read or one page has", async () => {
    const [first] = await makeCommissions(program, jane.id, [{ amount_cents: 100, txn_amount_cents: 500 }]);
    await env.DB.prepare(
      `insert into commissions (id, program_id, partner_id, kind, status, amount_cents, txn_amount_cents, currency, rate,
        created_at, approved_at, updated_at)
      with recursive n (i) as (select 1 union all select i + 1 from n where i < 5400)
      select c.id || '-' || printf('%05d', i), c.program_id, c.partner_id, c.kind, c.status, 100, 500, c.currency, c.rate,
        c.created_at, c.approved_at, c.updated_at from n, commissions c where c.id = ?`,
    )
      .bind(first!.id)
      .run();
    await program.api("POST", "/api/v1/payouts/generate", { period_end: iso(Date.now()) });
    const { body } = await program.api<{ data: { id: string; amount_cents: number }[] }>("GET", "/api/v1/payouts");
    const [payout] = body.data;
    const file = await visitor.get(`/portal/payouts/${payout!.id}/statement.csv`);
    const lines = file.body.trim().split("\r\n").slice(1);
    expect(new Set(lines.map((line) => line.split(",")[1])).size).toBe(5_401);
    const sum = lines.reduce((all, line) => all + Math.round(100 * Number(line.split(",").at(-2))), 0);
    expect(sum).toBe(payout!.amount_cents);
    expect((await visitor.get(`/portal/payouts/${payout!.id}`)).body).toContain("The first 5,000 commissions");
  });
});
