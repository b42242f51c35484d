/**
 * Checks that pages and figures do not add or hide currencies. Every figure here consists of four, with 0, 2 and 3
 * decimals.
 */
import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, it } from "vitest";
import { create } from "../support/conformance.ts";
import { sendA } from "../support/ledger.ts";
import { makePartner, makeProgram, type TestProgram } from "../support/program.ts";
import { sessionCompleted } from "../support/provider-a.ts";
import { makeStocked, pageAddress, pageRoutes } from "../support/stocked.ts";
import { signInOwner, signInPartner, textOf, type Visitor, programOfOwner } from "../support/visitor.ts";

/** A fifth of each price is one unit of money below it. */
const PRICES = { usd: 10_000, eur: 20_000, jpy: 5_000, kwd: 12_345 };
const DECIMALS: Record<string, number> = { USD: 2, EUR: 2, JPY: 0, KWD: 3 };
const ONE = ["20.00 USD", "40.00 EUR", "1,000 JPY", "2.469 KWD"];
const TWO = ["40.00 USD", "80.00 EUR", "2,000 JPY", "4.938 KWD"];
const THREE = ["60.00 USD", "120.00 EUR", "3,000 JPY", "7.407 KWD"];
const FOUR = ["80.00 USD", "160.00 EUR", "4,000 JPY", "9.876 KWD"];
const TEN = ["200.00 USD", "400.00 EUR", "10,000 JPY", "24.690 KWD"];
const TEN_REVENUE = ["1,000.00 USD", "2,000.00 EUR", "50,000 JPY", "123.450 KWD"];

interface Listed {
  data: { id: string; status: string }[];
}

let program: TestProgram;
let partner: Awaited<ReturnType<typeof makePartner>>;
let owner: Visitor;
let member: Visitor;
let open: string[];

async function list(path: string): Promise<Listed["data"]> {
  return (await program.api<Listed>("GET", `/api/v1/${path}?per_page=100`)).body.data;
}

/** A sale in each currency, `times` as large as the least. */
async function sales(times: number): Promise<void> {
  for (const [currency, price] of Object.entries(PRICES)) {
    const { status } = await sendA(program, sessionCompleted({ ref: partner.slug, amount: price * times, currency }));
    expect(status).toBe(200);
  }
}

async function approveAll(): Promise<void> {
  const ids = (await list("commissions")).filter(({ status }) => status === "pending").map(({ id }) => id);
  await program.api("POST", "/api/v1/commissions/bulk", { ids, status: "approved" });
}

beforeAll(async () => {
  program = await makeProgram({ min_payout_cents: 1_000, min_payouts: { JPY: 1_000, KWD: 1_000 } });
  partner = await makePartner(program, { first_name: "Ada", last_name: "Lovelace" });
  await sales(4);
  await approveAll();
  await program.api("POST", "/api/v1/payouts/generate", {});
  for (const { id } of await list("payouts")) await program.api("POST", `/api/v1/payouts/${id}/mark-paid`, {});
  await sales(3);
  await approveAll();
  await program.api("POST", "/api/v1/payouts/generate", {});
  open = (await list("payouts")).filter(({ status }) => status === "pending").map(({ id }) => id);
  expect(open).toHaveLength(4);
  await sales(2);
  await approveAll();
  await sales(1);
  owner = await signInOwner(program);
  member = await signInPartner(partner.email);
});

const MONEY = /[−]?[\d,]+(?:\.\d+)? (?:USD|EUR|JPY|KWD)\b/g;

function moneyIn(html: string): string[] {
  return textOf(html).match(MONEY) ?? [];
}

/** The links of a page that choose a currency: its address and its code. */
function switchesIn(html: string): RegExpExecArray[] {
  return [...html.matchAll(/<a href="([^"]*currency=[^"]*)"[^>]*>([A-Z]{3})<\/a>/g)];
}

/** The figures at the head of a page, by name: the amounts that each shows. */
function figuresOf(html: string): Record<string, string[]> {
  const figures = [...html.matchAll(/<div class="stat"><dt>(.*?)<\/dt><dd><span class="stat-value">(.*?)<\/dd>/gs)];
  return Object.fromEntries(
    figures.map(([, name = "", value = ""]) => [textOf(name), moneyIn(value.split("stat-note")[0] ?? "")]),
  );
}

/** Every amount of a program of three digits or more, as it is stored. */
async function smallestUnitsOf(id: string): Promise<number[]> {
  const tables = ["commissions", "payouts", "payments", "balances", "flows", "programs"];
  const rows = await env.DB.batch<Record<string, unknown>>(
    tables.map((table) =>
      env.DB.prepare(`select * from ${table} where ${table === "programs" ? "id" : "program_id"} = ?`).bind(id),
    ),
  );
  const units = rows.flatMap(({ results }) =>
    results.flatMap(({ conditions = "[]", action_type, action_value, ...row }) => [
      ...Object.entries(row).flatMap(([column, value]) => (column.endsWith("_cents") ? [value] : [])),
      ...(action_type === "flat" ? [action_value] : []),
      ...(JSON.parse(String(conditions)) as { value: unknown }[]).map(({ value }) => value),
    ]),
  );
  return [...new Set(units.map(Number).map(Math.abs))].filter((number) => number > 99);
}

describe("a program with four currencies (PAGE-5)", () => {
  it("the overview shows one currency at a time, chosen by a switch that names all, and a way to prepare payouts", async () => {
    const { body } = await owner.get("/dashboard");
    const links = switchesIn(body);
    expect(links.map(([, , currency]) => currency)).toEqual(["USD", "EUR", "JPY", "KWD"]);
    expect(textOf(body)).toContain("Prepare payouts");
    expect(textOf(body)).toContain("4 payouts");
    for (const [i, [, href = ""]] of links.entries()) {
      const page = (await owner.get(href.replaceAll("&amp;", "&"))).body;
      const shown = textOf(page);
      expect(shown).toContain(`Commissions ${TEN[i]}`);
      expect(shown).toContain(`Pending ${ONE[i]} Review Ready to pay ${TWO[i]} Prepare In open payouts ${THREE[i]}`);
      const table = /<table[^>]*aria-label="Top partners .*?<\/table>/s.exec(page)?.[0] ?? "";
      expect(textOf(table)).toContain("Ada Lovelace");
      expect(moneyIn(table)).toEqual([TEN_REVENUE[i], TEN[i]]);
      // The plot and every figure are of this currency; only the to-do has all.
      const [, figures = ""] = page.split('class="section-head"');
      expect(new Set(moneyIn(figures).map((money) => money.slice(-3)))).toEqual(new Set([TEN[i]!.slice(-3)]));
    }
  });

  it("a partner's page and the portal show what was earned, is to be paid and is paid in each", async () => {
    const page = (await owner.get(`/dashboard/partners/${partner.id}`)).body;
    const toBePaid = ["120.00 USD", "240.00 EUR", "6,000 JPY", "14.814 KWD"];
    expect(figuresOf(page)).toMatchObject({ Earned: TEN, "To be paid": toBePaid, Paid: FOUR });
    expect(textOf(page)).toContain("100.00 USD, 200.00 EUR, 5,000 JPY and 12.345 KWD of it approved");
    const portal = (await member.get("/portal")).body;
    expect(figuresOf(portal)).toMatchObject({ Pending: ONE, "Ready to pay": TWO, "In a payout": THREE, Paid: FOUR });
  });

  it("their plots, statistics and codes show one currency at a time, chosen by the same switch (PAGE-45)", async () => {
    const shownIn = async (visitor: Visitor, path: string, shown: RegExp) => {
      const links = switchesIn((await visitor.get(path)).body);
      const bodies: string[] = [];
      for (const [, href = ""] of links) bodies.push((await visitor.get(href.replaceAll("&amp;", "&"))).body);
      expect([path, links.map(([, , currency]) => currency)]).toEqual([path, ["USD", "EUR", "JPY", "KWD"]]);
      expect((await visitor.get(path)).body.match(shown)).toEqual(bodies[0]!.match(shown));
      return bodies.map((body) => [...body.matchAll(shown)].flatMap(([found]) => moneyIn(found)));
    };
    const plot = /<h3>Commissions[^<]*<\/h3><p class="plot-total">[^<]*</g;
    for (const [visitor, path] of [
      [owner, `/dashboard/partners/${partner.id}`],
      [member, "/portal"],
    ] as const)
      expect(await shownIn(visitor, path, plot)).toEqual(TEN.map((total) => [total]));
    const earned = /Earned<\/dt>.*?<\/span><\/span>|<td[^>]*class="end at-sum".*?<\/td>/gs;
    expect(await shownIn(member, "/portal/statistics", earned)).toEqual(TEN.map((total) => [total, total]));
  });

  it("preparing payouts says what they come to in each, a partner once, and what is too little in its own currency", async () => {
    const { body } = await owner.get("/dashboard/payouts/new");
    expect(textOf(body)).toContain("4 payouts: 40.00 USD, 80.00 EUR, 2,000 JPY and 4.938 KWD");
    const table = /<table[^>]*aria-label="Payouts to prepare".*?<\/table>/s.exec(body)?.[0] ?? "";
    expect(table.match(/Ada Lovelace/g)).toHaveLength(1);
    expect(moneyIn(table)).toEqual(TWO);
    const [least, boss] = await programOfOwner({ min_payout_cents: 10_000 });
    const { id: partner_id } = await makePartner(least);
    const little = { partner_id, amount_cents: 99, currency: "JPY", note: "x" };
    const { id } = (await least.api<{ id: string }>("POST", "/api/v1/commissions", little)).body;
    await least.api("PATCH", `/api/v1/commissions/${id}`, { status: "approved" });
    expect(textOf((await boss.get("/dashboard/payouts/new")).body)).toContain("below the minimum payout of 100 JPY");
  });

  it("paying several at once says what they come to in each", async () => {
    const { body } = await owner.get(`/dashboard/payouts/matching?move=mark_paid&ids=${open.join()}`);
    expect(textOf(body)).toContain("Mark as paid: 60.00 USD, 120.00 EUR, 3,000 JPY and 7.407 KWD");
  });

  it("the preview of a flow sums each separately", async () => {
    await owner.get("/dashboard/flows/new");
    const { body } = await owner.post("/dashboard/flows/new", {
      name: "Half",
      action_type: "percentage",
      action_value: "50",
      active: "on",
      simulate: "yes",
    });
    const table = /<table[^>]*aria-label="Commissions by currency".*?<\/table>/s.exec(body)?.[0] ?? "";
    const half = ["500.00 USD", "1,000.00 EUR", "25,000 JPY", "61.726 KWD"];
    const differences = ["300.00 USD", "600.00 EUR", "15,000 JPY", "37.036 KWD"];
    expect(moneyIn(table).toSorted()).toEqual([...TEN, ...half, ...differences].toSorted());
  });

  it("the export has a column for the currency, and each amount its decimals", async () => {
    const { body } = await owner.get("/dashboard/payouts/export.csv?status=pending");
    const [head = "", ...lines] = body.trim().split(/\r?\n/);
    const [amount, currency] = ["amount", "currency"].map((name) => head.split(",").indexOf(name));
    const cells = lines.map((line) => line.split(",")).map((row) => `${row[amount ?? -1]} ${row[currency ?? -1]}`);
    expect(cells.toSorted()).toEqual(THREE.map((text) => text.replace(",", "")).toSorted());
  });

  it("the API's stats name the others beside the program's", async () => {
    const { body } = await program.api<{ stats: { other_currencies: { currency: string; paid_cents: number }[] } }>(
      "GET",
      `/api/v1/partners/${partner.id}`,
    );
    const others = body.stats.other_currencies.map(({ currency, paid_cents }) => [currency, paid_cents]);
    expect(others.toSorted()).toEqual([
      ["EUR", 16_000],
      ["JPY", 4_000],
      ["KWD", 9_876],
    ]);
  });

  it("no page shows a number of smallest units, but the texts and fields of the API in the audit log and in deliveries", async () => {
    const stocked = await makeStocked();
    const { program: one, ids } = stocked;
    await one.api("PATCH", "/api/v1/programs/me", { min_payout_cents: 34_567 });
    const conditions = [{ field: "txn_amount_cents", op: "gt", value: 45_678 }];
    const flat = { name: "Flat", action_type: "flat", action_value: 23_456, conditions };
    ids["flows"] = (await create(one, "/api/v1/flows", flat)).id;
    const large = { ref: stocked.partner.slug, amount: 56_789, tax: 1_230, email: stocked.partner.email };
    await sendA(one, sessionCompleted(large));
    const [visitors, numbers] = [
      { dashboard: await signInOwner(one), portal: await signInPartner(stocked.partner.email) },
      await smallestUnitsOf(one.id),
    ];
    for (const number of [34_567, 45_678, 23_456, 55_559, 56_789]) expect(numbers).toContain(number);
    const raw = new RegExp(`(?<![\\w.,;-])(?:${numbers.join("|")})(?![\\w.,%])`, "g");
    for (const { method, path } of pageRoutes("dashboard", "portal")) {
      if (method !== "GET" || path.endsWith(".csv")) continue;
      const { body, status } = await visitors[path.startsWith("/portal") ? "portal" : "dashboard"].get(
        pageAddress(path, ids),
      );
      const shown = body.replaceAll(
        /<pre class="payload".*?<\/pre>|<ul class="changes">.*?<\/ul>| maxlength="\d+"|<input type="hidden" name="shown"[^>]*>/gs,
        "",
      );
      expect([path, status, shown.match(raw)]).toEqual([path, 200, null]);
    }
  });

  it("every page writes every amount with its currency's decimals, and every figure of money has all four", async () => {
    const pages = pageRoutes("dashboard", "portal").filter(
      ({ method, path }) => method === "GET" && !path.includes(":"),
    );
    expect(pages.length).toBeGreaterThan(12);
    for (const { path } of [...pages, { path: `/dashboard/partners/${partner.id}` }]) {
      const { body, status } = await (path.startsWith("/portal") ? member : owner).get(path);
      expect([path, status]).toEqual([path, 200]);
      for (const money of moneyIn(body)) {
        const decimals = DECIMALS[money.slice(-3)] ?? -1;
        const form = new RegExp(`^−?\\d{1,3}(,\\d{3})*${decimals === 0 ? "" : `\\.\\d{${decimals}}`} [A-Z]{3}$`);
        expect([path, money]).toEqual([path, expect.stringMatching(form)]);
      }
      // The figures of days are of one currency.
      if (["/dashboard", "/portal/statistics"].includes(path)) continue;
      for (const [name, amounts] of Object.entries(figuresOf(body)).filter(([, found]) => found.length > 0)) {
        const currencies = amounts.map((amount) => amount.slice(-3));
        expect([path, name, currencies]).toEqual([path, name, ["USD", "EUR", "JPY", "KWD"]]);
      }
    }
  });
});
