/** The lists of money and claims, sorted by their heads (PAGE-42). */
import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, it } from "vitest";
import { listCommissions } from "../../src/core/commissions/commissions.ts";
import { MOST_SORTED, parsePage } from "../../src/core/kernel/list-page.ts";
import type { ProgramCtx } from "../../src/core/kernel/context.ts";
import { makeClaim } from "../support/claims.ts";
import { readCsv } from "../support/csv.ts";
import { sendA } from "../support/ledger.ts";
import { makeCommissions } from "../support/payouts.ts";
import { makePartner, programContext, type TestProgram } from "../support/program.ts";
import { sessionCompleted } from "../support/provider-a.ts";
import { programOfOwner, textOf, type Visitor } from "../support/visitor.ts";

let program: TestProgram;
let owner: Visitor;

/** Amounts of each partner. JPY has no minor unit: its number is the largest, and its value the smallest. */
const AMOUNTS = { Ada: ["300 USD", "900 EUR"], ben: ["5000 JPY", "200 USD"], Cleo: ["400 USD"] };

beforeAll(async () => {
  [program, owner] = await programOfOwner();
  const [, other] = [owner, await programOfOwner()];
  const stranger = await makePartner(other[0], { first_name: "Zoe" });
  await makeCommissions(other[0], stranger.id, [{ amount_cents: 700 }]);
  for (const [first_name, amounts] of Object.entries(AMOUNTS)) {
    const { id, slug } = await makePartner(program, { first_name });
    await makeCommissions(
      program,
      id,
      amounts.map((text, i) => {
        const [cents, currency = ""] = text.split(" ");
        return { amount_cents: Number(cents), currency, status: i === 0 ? "approved" : "pending" };
      }),
    );
    for (const text of amounts) {
      const [amount, currency = ""] = text.split(" ");
      const sold = sessionCompleted({ ref: slug, amount: Number(amount), currency: currency.toLowerCase() });
      expect((await sendA(program, sold)).status).toBe(200);
    }
    await makeClaim(program, id, { order_id: `order-${first_name}` });
  }
  await sendA(program, sessionCompleted({ amount: 100, currency: "usd" }));
  // The commissions of the payments would be among the others.
  await env.DB.prepare("delete from commissions where program_id = ? and payment_id is not null")
    .bind(program.id)
    .run();
});

/** The cells of a list's file, one column. */
async function columnOf(list: string, query: string, column: string): Promise<string[]> {
  const { status, body } = await owner.get(`/dashboard/${list}/list.csv?${query}`);
  expect([query, status]).toEqual([query, 200]);
  const [head = [], ...rows] = readCsv(body);
  return rows.map((row) => row[head.indexOf(column)] ?? "");
}

async function pageOf(list: string, query: string, cell: RegExp): Promise<string[]> {
  const { status, body } = await owner.get(`/dashboard/${list}?${query}`);
  expect([query, status]).toEqual([query, 200]);
  const [, table = ""] = /<tbody[^>]*>(.*?)<\/tbody>/s.exec(body) ?? [];
  return [...table.matchAll(/<tr.*?<\/tr>/gs)].map(([row]) => cell.exec(textOf(row))?.[0] ?? "");
}

const AMOUNT = /[\d.,]+ [A-Z]{3}/;

describe("a sorted list (PAGE-42)", () => {
  const ascending = ["2.00 USD", "3.00 USD", "4.00 USD", "9.00 EUR", "5,000 JPY"];
  const descending = ["4.00 USD", "3.00 USD", "2.00 USD", "9.00 EUR", "5,000 JPY"];

  it.each([
    ["commissions", "sort=amount", ascending],
    ["commissions", "sort=-amount", descending],
    ["commissions", "sort=-amount&status=pending", ["2.00 USD", "9.00 EUR"]],
    ["payments", "sort=net&outcome=commission", ascending],
    ["payments", "sort=-net", ["4.00 USD", "3.00 USD", "2.00 USD", "1.00 USD", "9.00 EUR", "5,000 JPY"]],
  ])(
    "has the amounts of the program's currency first, and never compares two currencies: %s?%s",
    async (list, query, amounts) => {
      expect(await pageOf(list, query, AMOUNT)).toEqual(amounts);
      const pages = await Promise.all(
        [1, 2, 3].map((page) => pageOf(list, `${query}&per_page=2&page=${page}`, AMOUNT)),
      );
      expect(pages.flat()).toEqual(amounts);
      const key = list === "payments" ? "net" : "amount";
      expect((await columnOf(list, query, key)).map(Number)).toEqual(
        amounts.map((text) => Number(text.split(" ")[0]!.replace(",", ""))),
      );
    },
  );

  it.each([
    ["commissions", "sort=partner", ["Ada", "Ada", "ben", "ben", "Cleo"]],
    ["commissions", "sort=-partner", ["Cleo", "ben", "ben", "Ada", "Ada"]],
    ["payments", "sort=-partner", ["Cleo", "ben", "ben", "Ada", "Ada", ""]],
    ["claims", "sort=partner", ["Ada", "ben", "Cleo"]],
    ["claims", "sort=-status", ["Cleo", "ben", "Ada"]],
  ])("has partners by name, whatever the case: %s?%s", async (list, query, names) => {
    expect(await pageOf(list, query, /Ada|ben|Cleo/)).toEqual(names);
  });

  it.each([
    ["commissions", "sort=status", "status", ["pending", "pending", "approved", "approved", "approved"]],
    ["payments", "sort=-outcome", "outcome", ["no_ref", ...Array.from({ length: 5 }, () => "commission")]],
  ])("has states in the order of the filter: %s?%s", async (list, query, column, states) => {
    expect(await columnOf(list, query, column)).toEqual(states);
  });

  it("has payouts by amount, method and partner", async () => {
    expect((await program.api("POST", "/api/v1/payouts/generate", {})).status).toBe(200);
    expect(await pageOf("payouts", "sort=-amount", AMOUNT)).toEqual(["4.00 USD", "3.00 USD", "5,000 JPY"]);
    expect(await pageOf("payouts", "sort=partner", /Ada|ben|Cleo/)).toEqual(["Ada", "ben", "Cleo"]);
    expect(await pageOf("payouts", "sort=method", /Ada|ben|Cleo/)).toHaveLength(3);
  });

  it("can be sorted by each of its heads, both ways, and shows the way", async () => {
    for (const list of ["commissions", "payments", "payouts", "claims", "partners"]) {
      const { body } = await owner.get(`/dashboard/${list}`);
      const heads = [...body.matchAll(/<th [^>]*><a href="[^"]*sort=-?(\w+)"/g)].map(([, key]) => key);
      expect([list, heads.length > 2]).toEqual([list, true]);
      for (const key of heads) {
        for (const [sort, way] of [
          [key, "ascending"],
          [`-${key}`, "descending"],
        ]) {
          const sorted = await owner.get(`/dashboard/${list}?sort=${sort}`);
          expect([list, sort, sorted.status]).toEqual([list, sort, sorted.status === 303 ? 303 : 200]);
          if (sorted.status === 200) expect(sorted.body).toContain(`aria-sort="${way}"`);
        }
      }
    }
  });
});

describe("the list of customers (PAGE-42)", () => {
  it("is sorted by revenue in the program's currency and by payments, and so is its file", async () => {
    const [sold, visitor] = await programOfOwner();
    let created = Math.floor(Date.now() / 1_000) - 60;
    for (const [customer, amount, currency] of [
      ["cus_a", 300, "usd"],
      ["cus_b", 900, "usd"],
      ["cus_a", 90_000, "jpy"],
      ["cus_c", 300, "usd"],
      ["cus_c", 300, "eur"],
      ["cus_c", 300, "eur"],
      ["cus_d", 50_000, "eur"],
    ] as const) {
      const session = sessionCompleted({ customer, email: null, ref: null, amount, currency, created: created++ });
      expect((await sendA(sold, session)).status).toBe(200);
    }
    const namesIn = async (query: string) => {
      await visitor.get(`/dashboard/customers${query}`);
      return [...visitor.html.matchAll(/customers\/pmt_\w+">cus_(\w)</g)].map(([, name]) => name).join("");
    };
    for (const [sort, names] of [
      ["-revenue", "bcad"],
      ["revenue", "dcab"],
      ["-payments", "cadb"],
      ["payments", "dbac"],
    ] as const) {
      expect([sort, await namesIn(`?sort=${sort}`)]).toEqual([sort, names]);
      expect([sort, await namesIn(`?sort=${sort}&per_page=3&page=2`)]).toEqual([sort, names.slice(3)]);
      const [, ...rows] = readCsv((await visitor.get(`/dashboard/customers/list.csv?sort=${sort}`)).body);
      expect([sort, rows.map(([, , id = ""]) => id.slice(4)).join("")]).toEqual([sort, names]);
    }
    expect(await namesIn("?sort=-revenue&search=cus_c")).toBe("c");
  });
});

describe("the file of a sorted list (PAGE-42)", () => {
  it("is sorted once, when it begins: an amount that changes meanwhile moves no row", async () => {
    const ctx: ProgramCtx = programContext(program);
    const walked: number[] = [];
    let cursor: string | null | undefined;
    while (cursor !== null) {
      const part = { page: 1, per_page: 2, ...(cursor === undefined ? { counted: true } : { counted: false, cursor }) };
      const page = parsePage(await listCommissions(ctx, { ...part, sort: "amount", order: "oldest" }));
      walked.push(...page.data.map(({ amount_cents }) => amount_cents));
      cursor = page.next_cursor;
      await env.DB.prepare(
        "update commissions set note = 'seen', amount_cents = 1 where program_id = ? and amount_cents = 400",
      )
        .bind(program.id)
        .run();
    }
    expect(walked).toEqual([200, 300, 1, 900, 5000]);
  });
});

describe("a list that is too long to sort (PAGE-42)", () => {
  it("says so, and shows the newest first, as its file does; a filter makes it short enough", async () => {
    const [long, visitor] = await programOfOwner();
    const { id } = await makePartner(long);
    const rows = [100, 300, 200].map((amount_cents, i) => ({
      amount_cents,
      created_at: `2026-10-0${i + 1}T12:00:00.000Z`,
    }));
    await makeCommissions(long, id, rows);
    const newest = ["2.00 USD", "3.00 USD", "1.00 USD"];
    owner = visitor;
    expect(await pageOf("commissions", "sort=-amount", AMOUNT)).not.toEqual(newest);
    expect(textOf(owner.html)).not.toContain("Too many");
    await env.DB.prepare("update list_counts set count = ? where program_id = ? and list = 'commissions' and count > 0")
      .bind(MOST_SORTED + 1, long.id)
      .run();
    expect(await pageOf("commissions", "sort=-amount", AMOUNT)).toEqual(newest);
    expect(textOf(owner.html)).toContain("Too many commissions to sort: narrow the list, by dates for example.");
    expect(await columnOf("commissions", "sort=-amount", "amount")).toEqual(["2.00", "3.00", "1.00"]);
    expect(await pageOf("commissions", `sort=-amount&partner_id=${id}`, AMOUNT)).toEqual([
      "3.00 USD",
      "2.00 USD",
      "1.00 USD",
    ]);
    // Partners have no dates to filter by.
    await env.DB.prepare("update list_counts set count = ? where program_id = ? and list = 'partners' and count > 0")
      .bind(MOST_SORTED + 1, long.id)
      .run();
    await owner.get("/dashboard/partners?sort=-revenue");
    expect(textOf(owner.html)).toContain("Too many partners to sort: narrow the list, by status for example.");
  });
});
