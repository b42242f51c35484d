/** The list of partners with their results, and its sorts. */
import { beforeAll, describe, expect, it } from "vitest";
import { readCsv } from "../support/csv.ts";
import { click, recorded } from "../support/clicks.ts";
import { sendA } from "../support/ledger.ts";
import { makePartner, makeProgram, type TestProgram } from "../support/program.ts";
import { chargeRefunded, sessionCompleted } from "../support/provider-a.ts";
import { signInOwner, textOf, type Visitor } from "../support/visitor.ts";
import { uniqueId } from "../support/vendor.ts";

const AT = "/dashboard/partners";
const DAY = 86_400;
const now = Math.floor(Date.now() / 1000);

let program: TestProgram;
let owner: Visitor;

async function sell(ref: string, amount: number, currency: string, days: number, payment_intent = uniqueId("pi_")) {
  const created = now - days * DAY;
  expect((await sendA(program, sessionCompleted({ ref, amount, currency, created, payment_intent }))).status).toBe(200);
  return payment_intent;
}

beforeAll(async () => {
  program = await makeProgram();
  await makePartner(program, { slug: "ada", first_name: "Ada" });
  await makePartner(program, { slug: "ben", first_name: "ben" });
  await makePartner(program, { slug: "cleo", first_name: "Cleo" }, "invited");
  await makePartner(program, { slug: "dan", first_name: "Dan" });
  const refunded = await sell("ada", 10_000, "usd", 5);
  await sendA(program, chargeRefunded({ payment_intent: refunded, amount: 10_000, refunded: 4_000 }));
  await sell("ada", 30_000, "eur", 3);
  await sell("ada", 5_000, "jpy", 9);
  await sell("ada", 700, "gbp", 9);
  await sell("ben", 9_000, "usd", 1);
  const visit = { program_id: program.id, landing: "/", referrer: "" };
  for (const ref of ["dan", "dan", "dan", "ada"]) expect((await click({ ...visit, ref })).status).toBe(202);
  await recorded();
  owner = await signInOwner(program);
});

/** The rows of the table, as texts by column. */
async function rowsOf(query = ""): Promise<string[][]> {
  const { status, body } = await owner.get(`${AT}${query}`);
  expect([query, status]).toEqual([query, 200]);
  const [, table = ""] = /<tbody[^>]*>(.*?)<\/tbody>/s.exec(body) ?? [];
  return [...table.matchAll(/<tr.*?<\/tr>/gs)].map(([row]) =>
    [...row.matchAll(/<td.*?>(.*?)<\/td>/gs)].map(([, cell = ""]) => textOf(cell).replaceAll(/\s+/g, " ").trim()),
  );
}

const namesOf = async (query: string) =>
  (await rowsOf(query)).map(([cell = ""]) => cell.slice(0, cell.indexOf(" ")).toLowerCase());

describe("the list of partners (PAGE-42)", () => {
  it("shows the results of each: clicks, sales, revenue and commissions by currency, and the last sale", async () => {
    const heads = [...(await owner.get(AT)).body.matchAll(/<th [^>]*>(.*?)<\/th>/g)].map(([, html = ""]) =>
      textOf(html),
    );
    expect(heads.map((head) => head.trim())).toEqual([
      ...["Partner", "Status", "Clicks", "Sales", "Revenue", "Earned", "Last sale", "Invite"],
    ]);
    const [dan, , ben, ada] = await rowsOf();
    // The program's currency first; the other currencies are in the file.
    expect(ada!.slice(1, 6)).toEqual([
      "active",
      "1",
      "4",
      "60.00 USD 300.00 EUR +2 more",
      "12.00 USD 60.00 EUR +2 more",
    ]);
    expect(ben!.slice(1, 6)).toEqual(["active", "0", "1", "90.00 USD", "18.00 USD"]);
    // These clicks are in no kept count yet.
    expect(dan!.slice(1, 7)).toEqual(["active", "3", "0", "–", "–", "–"]);
    const at = new Date((now - 3 * DAY) * 1000).toISOString().slice(0, 10);
    expect((await owner.get(AT)).body).toContain(`<time datetime="${at}`);
  });

  it("has every currency of the sums in its file", async () => {
    const { body } = await owner.get(`${AT}/list.csv?search=ada&columns=partner,sales,revenue,earned`);
    const [head = [], row = []] = readCsv(body);
    expect(head.slice(4)).toEqual([
      ...["sales", "revenue", "revenue_currency", "revenue_cents", "earned", "earned_currency", "earned_cents"],
    ]);
    expect(row.slice(4)).toEqual([
      ...["4", "60.00; 300.00; 7.00; 5000", "USD; EUR; GBP; JPY", "6000; 30000; 700; 5000"],
      ...["12.00; 60.00; 1.40; 1000", "USD; EUR; GBP; JPY", "1200; 6000; 140; 1000"],
    ]);
  });

  it.each([
    ["partner", ["ada", "ben", "cleo", "dan"]],
    ["-partner", ["dan", "cleo", "ben", "ada"]],
    ["status", ["cleo", "dan", "ben", "ada"]],
    ["-clicks", ["dan", "ada", "cleo", "ben"]],
    ["-sales", ["ada", "ben", "dan", "cleo"]],
    // The amount in the program's currency counts: Ben has 90 USD, Ada 60 USD and 300 EUR.
    ["-revenue", ["ben", "ada", "dan", "cleo"]],
    ["revenue", ["dan", "cleo", "ada", "ben"]],
    ["-earned", ["ben", "ada", "dan", "cleo"]],
    ["-last_sale", ["ben", "ada", "dan", "cleo"]],
    ["added", ["ada", "ben", "cleo", "dan"]],
    ["-added", ["dan", "cleo", "ben", "ada"]],
  ])("is sorted by %s on every page, and so is its file", async (sort, names) => {
    const query = sort === "-added" ? "" : `sort=${sort}`;
    expect(await namesOf(`?${query}`)).toEqual(names);
    expect(await namesOf(`?${query}&per_page=3&page=2`)).toEqual(names.slice(3));
    expect(textOf(owner.html)).toContain("4–4 of 4");
    const [, ...rows] = readCsv((await owner.get(`${AT}/list.csv?${query}`)).body);
    expect(rows.map(([, name = ""]) => name.toLowerCase())).toEqual(names);
  });

  it("keeps its filter in a sort, and leads from a head to the sort by it, then to the other way round", async () => {
    const active = "?status=active&search=partners.example";
    expect(await namesOf(`${active}&sort=-sales`)).toEqual(["ada", "ben", "dan"]);
    const head = (label: string) =>
      new RegExp(`<th [^>]*?(?: aria-sort="(\\w+)")?><a href="([^"]*)">${label}`).exec(owner.html)?.slice(1);
    const at = (sort: string) => `${AT}${active}&sort=${sort}`.replaceAll("&", "&amp;");
    expect(head("Sales")).toEqual(["descending", at("sales")]);
    expect(head("Revenue")).toEqual([undefined, at("-revenue")]);
    expect(head("Partner")).toEqual([undefined, at("partner")]);
    expect(textOf(owner.html)).not.toContain("Older");
  });

  it("sends an invitation from its row, and leads back to the list", async () => {
    const { body } = await owner.get(`${AT}?status=invited`);
    const [, action = ""] = /action="(\/dashboard\/partners\/[^"]+\/invite)"/.exec(body) ?? [];
    const sent = await owner.post(action, { back: "status=invited" });
    expect(sent.headers.get("location")).toBe(`${AT}?status=invited&done=invited`);
    expect(textOf((await owner.get(sent.headers.get("location")!)).body)).toContain("Invitation sent");
  });
});
