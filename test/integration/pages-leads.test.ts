/** The leads that the owner's server reported, as the dashboard lists them. */
import { beforeAll, describe, expect, it } from "vitest";
import { DAY, iso, utcDay } from "../../src/lib/time.ts";
import { lead, report } from "../support/api.ts";
import { readCsv } from "../support/csv.ts";
import { sendA } from "../support/ledger.ts";
import { makePartner, makeProgram, type TestProgram } from "../support/program.ts";
import { sessionCompleted } from "../support/provider-a.ts";
import { makeVisitor, signInMember, signInOwner, textOf, type Visitor } from "../support/visitor.ts";

const AT = "/dashboard/payments/leads";
const now = Date.now();
const seconds = (days: number) => Math.floor((now - days * DAY) / 1000);

let program: TestProgram;
let owner: Visitor;

/** The rows of the table, newest first. */
async function listed(query = "", visitor = owner): Promise<{ text: string; html: string }[]> {
  const { status, body } = await visitor.get(`${AT}${query}`);
  expect(status).toBe(200);
  const rows = body.match(/<tr role="row">.*?<\/tr>/gs)?.slice(1) ?? [];
  return rows.map((html) => ({ html, text: textOf(html).replaceAll(/\s+/g, " ") }));
}

async function sell(sale: Parameters<typeof sessionCompleted>[0]): Promise<string> {
  expect((await sendA(program, sessionCompleted(sale))).status).toBe(200);
  const { body } = await program.api<{ data: { id: string; provider_transaction_id: string }[] }>(
    "GET",
    "/api/v1/payments?per_page=100&provider=provider_a",
  );
  return body.data.find(({ provider_transaction_id }) => provider_transaction_id === sale?.id)?.id ?? "";
}

/** Four leads: one by id, one by address, one with an unknown reference, and one that never bought. */
let sales: Record<"first" | "addressed", string>;

beforeAll(async () => {
  program = await makeProgram();
  await makePartner(program, { slug: "jane", email: "jane@partners.example" });
  await makePartner(program, { slug: "bob", email: "bob@partners.example" });
  const reported = async (given: Parameters<typeof lead>[0], days: number) =>
    expect((await report(program, "lead", lead({ ...given, occurred_at: iso(now - days * DAY) }))).status).toBe(200);
  await reported({ ref: "jane", external_id: "signup-1", customer: { id: "cus_1", email: "one@shop.example" } }, 9);
  await reported({ ref: "bob", external_id: "signup-2", customer: { email: "Two@Shop.example" } }, 5);
  await reported({ ref: "nobody", external_id: "signup-3", customer: { id: "cus_3" } }, 3);
  await reported({ ref: "jane", external_id: "signup-4", customer: { id: "cus_4" } }, 40);
  sales = { first: "", addressed: "" };
  // The newer sale comes first; a sale without a partner and one without an amount do not count.
  await sell({ id: "cs_new", ref: null, customer: "cus_1", email: null, created: seconds(2) });
  sales.first = await sell({ id: "cs_old", ref: null, customer: "cus_1", email: null, created: seconds(7) });
  await sell({ id: "cs_free", ref: null, customer: "cus_1", email: null, amount: 0, tax: 0, created: seconds(8) });
  await sell({ id: "cs_nobody", ref: null, customer: "cus_3", email: null, created: seconds(1) });
  // One sale by address alone, and one of another partner by its own reference.
  sales.addressed = await sell({ id: "cs_two", ref: "jane", customer: null, email: "two@shop.example" });
  owner = await signInOwner(program);
});

describe("the list of leads (PAGE-24)", () => {
  it("says as days the instants between which the overview counts them", async () => {
    const { body } = await owner.get(`${AT}?from=2026-10-31T00:00:00Z&to=2026-11-30T00:00:00Z`);
    expect(textOf(body).replaceAll("\u00a0", " ")).toContain("31 Oct 2026 – 29 Nov 2026");
  });

  it("says of each when it was, whose it is by which reference, and the customer's first sale", async () => {
    const rows = await listed();
    expect(rows.map(({ html }) => /<a href="\/dashboard\/payments\/[^"]+"[^>]*>([^<]+)</.exec(html)?.[1])).toEqual([
      "cus_3",
      "Two@Shop.example",
      "one@shop.example",
      "cus_4",
    ]);
    const [nobodys, two, one, never] = rows;
    expect(never!.text).toMatch(/jane@partners\.example.* jane no flow of leads no sale yet/);
    expect(nobodys!.text).toMatch(/– nobody unknown partner no sale yet/);
    expect(two!.text).toContain("bob@partners.example");
    expect(two!.html).toContain(`href="/dashboard/payments/${sales.addressed}"`);
    expect(one!.html).toContain(`href="/dashboard/payments/${sales.first}"`);
    const [, id] = /href="(\/dashboard\/payments\/pmt_\w+)"/.exec(one!.html)!;
    expect(textOf((await owner.get(id!)).body)).toContain("Lead");
  });

  it("is narrowed by partner, time, and whether it counts for a partner; the total is exact", async () => {
    const of = async (query: string) => {
      const { body } = await owner.get(`${AT}?${query}`);
      return [/of ([\d,]+)<\/p>/.exec(body)?.[1], (await listed(`?${query}`)).length];
    };
    expect(await of("")).toEqual(["4", 4]);
    expect(await of("partner_id=JANE")).toEqual(["2", 2]);
    expect(await of("credited=true")).toEqual(["3", 3]);
    expect(await of("credited=false")).toEqual(["1", 1]);
    expect(await of(`from=${utcDay(now - 9 * DAY)}&to=${utcDay(now - 4 * DAY)}`)).toEqual(["2", 2]);
    expect(await of(`partner_id=jane&credited=true&from=${utcDay(now - 20 * DAY)}`)).toEqual(["1", 1]);
    expect(await of("per_page=3")).toEqual(["4", 3]);
    expect((await listed("?sort=created_at"))[0]!.text).toContain("cus_4");
    expect(textOf((await owner.get(`${AT}?partner_id=nobody`)).body)).toContain("No lead matches");
  });

  it("is as many as the overview says, whose figure is the link to it", async () => {
    const { body } = await owner.get("/dashboard?days=30");
    const [, href = "", count] =
      /<dt>Leads<\/dt><dd>.*?<a href="([^"]+)"><span class="number">(\d+)</s.exec(body) ?? [];
    expect([href.split("?")[0], count]).toEqual([AT, "2"]);
    expect(await listed(`?${href.split("?")[1]!.replaceAll("&amp;", "&")}`)).toHaveLength(2);
    expect((await owner.get("/dashboard/payments")).body).toContain(`href="${AT}"`);
  });

  it("has a file of what is shown, in its order, and the file is an event", async () => {
    const { status, body } = await owner.get(`${AT}/list.csv?partner_id=jane&sort=created_at`);
    expect(status).toBe(200);
    const [head, ...rows] = readCsv(body);
    expect(head).toEqual([
      ...["lead_id", "customer_email", "customer_id", "partner_id", "partner_slug", "partner_email"],
      ...["ref", "outcome", "first_sale_id", "first_sale_at", "created_at"],
    ]);
    const shown = rows.map((row) => [row[2], row[4], row[7], row[8], row[9]]);
    expect(shown).toEqual([
      ["cus_4", "jane", "no_flow", "", ""],
      ["cus_1", "jane", "no_flow", sales.first, iso(seconds(7) * 1000)],
    ]);
    const { data } = (await program.api<{ data: object[] }>("GET", "/api/v1/events?type=list.exported")).body;
    expect(data[0]).toMatchObject({ payload: { list: "leads", count: 2 } });
  });

  it("is read by every role, and nobody else's", async () => {
    for (const role of ["viewer", "finance"]) {
      const email = `${role}-${program.id.slice(-8)}@shop.example`;
      await program.api("POST", "/api/v1/members", { email, role });
      const member = await signInMember(program, email);
      expect(await listed("", member)).toHaveLength(4);
      expect((await member.get(`${AT}/list.csv`)).status).toBe(200);
    }
    expect((await makeVisitor().get(AT)).status).toBe(303);
    const stranger = await signInOwner(await makeProgram());
    const { body } = await stranger.get(AT);
    expect(textOf(body)).toContain("No leads yet");
    expect(readCsv((await stranger.get(`${AT}/list.csv`)).body)).toHaveLength(1);
  });

  it("is as many as the overview says in any time zone of the program", async () => {
    const first = `${utcDay(now - 29 * DAY)}T00:30:00.000Z`;
    await report(program, "lead", lead({ ref: "bob", occurred_at: first }));
    for (const time_zone of ["America/Los_Angeles", "Pacific/Auckland"]) {
      expect((await program.api("PATCH", "/api/v1/programs/me", { time_zone })).status).toBe(200);
      const { body } = await owner.get("/dashboard?days=30");
      const [, href = "", count] = /href="([^"]+leads\?[^"]+)"><span class="number">(\d+)</.exec(body) ?? [];
      expect([time_zone, count]).toEqual([time_zone, "3"]);
      expect(await listed(`?${href.split("?")[1]!.replaceAll("&amp;", "&")}`)).toHaveLength(3);
    }
  });

  it("forgets the address of a customer who is erased", async () => {
    const erased = await program.api("POST", "/api/v1/customers/erase", { email: "one@shop.example" });
    expect(erased.status).toBe(200);
    expect((await owner.get(AT)).body).not.toContain("one@shop.example");
    expect((await owner.get(`${AT}/list.csv`)).body).not.toContain("one@shop.example");
  });
});
