/** Customers as payments know them, and their erasure from a page. */
import { describe, expect, it } from "vitest";
import { listCustomers } from "../../src/core/customers/customers.ts";
import { readCsv } from "../support/csv.ts";
import { sendA } from "../support/ledger.ts";
import { makePartner, makeProgram, programContext, type TestProgram } from "../support/program.ts";
import { chargeRefunded, sessionAsyncFailed, sessionAsyncSucceeded, sessionCompleted } from "../support/provider-a.ts";
import { uniqueId } from "../support/vendor.ts";
import { signInOwner, textOf, type Visitor } from "../support/visitor.ts";

const AT = "/dashboard/customers";
const DAY = 86_400;

const day = (seconds: number) => new Date(seconds * 1_000).toISOString().slice(0, 10);

type Sale = Parameters<typeof sessionCompleted>[0];

async function sell(program: TestProgram, sale: Sale): Promise<void> {
  expect((await sendA(program, sessionCompleted(sale))).status).toBe(200);
}

/** The rows of the table as texts, each with the target of its link. */
async function listed(visitor: Visitor, query = ""): Promise<{ href: string; text: string }[]> {
  const { status, body } = await visitor.get(`${AT}${query}`);
  expect(status).toBe(200);
  const rows = body.match(/<tr role="row">.*?<\/tr>/gs)?.slice(1) ?? [];
  return rows.map((row) => ({
    href: /href="(\/dashboard\/customers\/[^"]+)"/.exec(row)?.[1] ?? "",
    text: textOf(row).replaceAll(/\s+/g, " "),
  }));
}

describe("the list of customers (PAGE-21)", () => {
  it("has each once, by the newest payment, with all of the payments in every currency", async () => {
    const program = await makeProgram();
    const partner = await makePartner(program, { slug: "jane" });
    const now = Math.floor(Date.now() / 1000);
    const payment_intent = uniqueId("pi_");
    const ada = { customer: "cus_ada", email: "Ada@Customers.example" };
    await sell(program, { ...ada, ref: "jane", amount: 10_000, payment_intent, created: now - 5 * DAY });
    await sell(program, { ...ada, ref: null, amount: 500, currency: "JPY", created: now - DAY });
    await sendA(program, chargeRefunded({ payment_intent, amount: 10_000, refunded: 2_500 }));
    // A customer without an id is identified by the address, in any case of its letters.
    await sell(program, {
      customer: null,
      email: "guest@customers.example",
      ref: "jane",
      amount: 700,
      created: now - 3 * DAY,
    });
    await sell(program, {
      customer: null,
      email: "Guest@customers.example",
      ref: null,
      amount: 300,
      created: now - 2 * DAY,
    });
    await sell(program, { customer: "cus_bob", email: null, ref: null, amount: 900, created: now - 4 * DAY });
    const visitor = await signInOwner(program);
    const rows = await listed(visitor);
    expect(rows).toHaveLength(3);
    expect(rows[0]!.text).toMatch(/^Ada@Customers\.example .* 75\.00\s?USD\s?500\s?JPY .*jane.* 2 /i);
    expect(rows[1]!.text).toMatch(/^guest@customers\.example .* 10\.00\s?USD .*jane.* 2 /i);
    expect(rows[2]!.text).toMatch(/^cus_bob .* 9\.00\s?USD – 1 /);
    for (const search of ["cus_ada", "ada@customers.example", "ADA@customers.example"]) {
      expect((await listed(visitor, `?search=${search}`)).map(({ href }) => href)).toEqual([rows[0]!.href]);
    }
    expect(await listed(visitor, "?search=nobody")).toEqual([]);
    expect(textOf((await visitor.get(`${AT}?search=nobody`)).body)).toContain("No customer matches");
    const { body } = await visitor.get(rows[0]!.href);
    expect(textOf(body)).toContain("cus_ada");
    expect(body).toContain('href="/dashboard/payments?search=cus_ada"');
    expect(body).toContain(`href="/dashboard/partners/${partner.id}"`);
  });

  it("counts as payment and revenue what was paid: not what is still to be paid, or never was", async () => {
    const program = await makeProgram();
    await makePartner(program, { slug: "jane" });
    const [late, never] = [uniqueId("cs_"), uniqueId("cs_")];
    const ada = { customer: "cus_ada", email: "ada@customers.example", ref: "jane" };
    const unpaid = { ...ada, payment_status: "unpaid", amount: 900 } as const;
    await sell(program, { ...ada, amount: 5_000 });
    await sell(program, { ...unpaid, id: late });
    await sell(program, { ...unpaid, id: never, currency: "jpy" });
    const visitor = await signInOwner(program);
    const shown = async () => (await listed(visitor))[0]!.text;
    expect(await shown()).toMatch(/ 50\.00\s?USD .*jane 1 /);
    expect((await sendA(program, sessionAsyncFailed({ ...unpaid, id: never, currency: "jpy" }))).status).toBe(200);
    expect(await shown()).toMatch(/ 50\.00\s?USD .*jane 1 /);
    expect((await sendA(program, sessionAsyncSucceeded({ ...ada, amount: 900, id: late }))).status).toBe(200);
    expect(await shown()).toMatch(/ 59\.00\s?USD .*jane 2 /);
  });

  it("has each on one page only, from either end, with how many there are", async () => {
    const program = await makeProgram();
    const now = Math.floor(Date.now() / 1000);
    for (let i = 0; i < 57; i++) {
      const customer = i % 10 === 0 ? "cus_often" : `cus_${i}`;
      await sell(program, { customer, ref: null, amount: 100, created: now - i * 60 });
    }
    const visitor = await signInOwner(program);
    const walked: string[] = [];
    for (const [page, length] of [20, 20, 12, 0].entries()) {
      const rows = await listed(visitor, `?page=${page + 1}`);
      expect(rows).toHaveLength(length);
      if (length > 0) expect(textOf(visitor.html)).toContain(`–${page * 20 + length} of 52`);
      walked.push(...rows.map(({ href }) => href));
    }
    expect(new Set(walked).size).toBe(52);
    const oldest = await listed(visitor, "?per_page=100&sort=last_seen");
    expect(oldest.map(({ href }) => href)).toEqual(walked.toReversed());
    // The row with six payments.
    expect(oldest.at(-1)!.text).toMatch(/ 6\.00\s?USD – 6 /);
  });

  it("is narrowed by partner, provider, days and any payment of theirs (PAGE-20)", async () => {
    const program = await makeProgram();
    await makePartner(program, { slug: "jane" });
    await makePartner(program, { slug: "kim" });
    const now = Math.floor(Date.now() / 1000);
    const ago = (days: number) => now - days * DAY;
    const first = sessionCompleted({ customer: "cus_ada", ref: "jane", amount: 100, created: ago(9) });
    expect((await sendA(program, first)).status).toBe(200);
    await sell(program, { customer: "cus_ada", ref: null, amount: 200, created: ago(2) });
    // A customer belongs to the partner of the newest payment that has one.
    await sell(program, { customer: "cus_ben", ref: "jane", amount: 100, created: ago(8) });
    await sell(program, { customer: "cus_ben", ref: "kim", amount: 100, created: ago(5) });
    await sell(program, { customer: null, email: "eve@customers.example", ref: "kim", amount: 100, created: ago(4) });
    const visitor = await signInOwner(program);
    const names = async (query: string) =>
      (await listed(visitor, query)).map(({ text }) => /eve@|cus_ada|cus_ben/.exec(text)?.[0]);
    const byId = "columns=customer_id,customer";
    expect(await names(`?${byId}`)).toEqual(["cus_ada", "eve@", "cus_ben"]);
    for (const [query, found] of [
      ["partner_id=jane", ["cus_ada"]],
      ["partner_id=kim", ["eve@", "cus_ben"]],
      ["partner_id=kim&sort=last_seen", ["cus_ben", "eve@"]],
      ["search=jane", ["cus_ada", "cus_ben"]],
      ["search=jane&partner_id=kim", ["cus_ben"]],
      ["provider=provider_a", ["cus_ada", "eve@", "cus_ben"]],
      ["provider=provider_b", []],
      [`to=${day(ago(3))}`, ["eve@", "cus_ben"]],
      [`from=${day(ago(4))}&search=kim`, ["eve@"]],
    ] as const) {
      expect([query, await names(`?${byId}&${query}`)]).toEqual([query, found]);
    }
    // The newest order has another number.
    const { body } = await program.api<{ data: { provider_transaction_id: string; txn_amount_cents: number }[] }>(
      "GET",
      "/api/v1/payments?per_page=100",
    );
    const order = body.data.find(({ txn_amount_cents }, i) => txn_amount_cents === 100 && i === body.data.length - 1);
    expect(await names(`?${byId}&search=${order!.provider_transaction_id}`)).toEqual(["cus_ada"]);
  });

  it("is a file of exactly what is shown, with each currency's amount (PAGE-20)", async () => {
    const program = await makeProgram();
    const { id } = await makePartner(program, { slug: "jane" });
    const now = Math.floor(Date.now() / 1000);
    const ada = { customer: "cus_ada", email: "ada@customers.example" };
    await sell(program, { ...ada, ref: "jane", amount: 1_234_500, created: now - 2 * DAY });
    await sell(program, { ...ada, ref: null, amount: 1_500, currency: "JPY", created: now - DAY });
    await sell(program, { customer: "cus_bob", email: null, ref: null, amount: 900, created: now - 3 * DAY });
    const visitor = await signInOwner(program);
    const { body } = await visitor.get(`${AT}?sort=last_seen&columns=customer,last_seen`);
    expect(body.match(/<th /g)).toHaveLength(2);
    expect(body).toContain(`href="${AT}/list.csv?sort=last_seen&amp;columns=customer,last_seen"`);
    const file = async (query: string) => readCsv((await visitor.get(`${AT}/list.csv${query}`)).body);
    const shown = await file("?sort=last_seen&columns=customer,last_seen");
    expect(shown[0]).toEqual(["newest_payment_id", "email", "customer_id", "provider", "last_seen"]);
    expect(shown.slice(1).map((row) => row[2])).toEqual(["cus_bob", "cus_ada"]);
    const [, first] = await file("?columns=partner,payments,revenue");
    expect(first).toEqual(["12345.00; 1500", "USD; JPY", "1234500; 1500", id, "jane", expect.any(String), "2"]);
    const [, found] = await file("?search=cus_bob&columns=revenue");
    expect(found).toEqual(["9.00", "USD", "900"]);
    const { body: events } = await program.api<{ data: { payload: unknown }[] }>(
      "GET",
      "/api/v1/events?type=list.exported",
    );
    expect(events.data.map(({ payload }) => payload)).toContainEqual({ list: "customers", count: 2 });
  });

  it.each(["newest", "oldest"] as const)(
    "loses and repeats nobody who pays while it is walked through, %s first (PAGE-20)",
    async (order) => {
      const program = await makeProgram();
      const now = Math.floor(Date.now() / 1000);
      const names = ["ada", "ben", "cleo", "dan"];
      const pay = (customer: string, created: number) => sell(program, { customer, email: null, ref: null, created });
      for (const [i, name] of names.entries()) await pay(name, now - 100 + i);
      const walked: (string | null)[] = [];
      let cursor: string | undefined;
      for (let at = 0; at < 10; at++) {
        const page = await listCustomers(programContext(program), { page: 1, per_page: 1, order, cursor });
        walked.push(...page.data.map(({ customer_id, payments }) => `${customer_id} ${payments}`));
        if (page.next_cursor === null) break;
        cursor = page.next_cursor;
        // Two of them pay again, and one new customer pays.
        for (const name of at === 0 ? ["ben", "dan", "new"] : []) await pay(name, now);
      }
      const whole = names.map((name) => `${name} 1`);
      expect(walked).toEqual(order === "oldest" ? whole : whole.toReversed());
    },
  );

  it("shows nothing of another program", async () => {
    const program = await makeProgram();
    await sell(program, { customer: "cus_same", email: "same@customers.example", ref: null, amount: 100 });
    const [row] = await listed(await signInOwner(program));
    const other = await makeProgram();
    await sell(other, { customer: "cus_same", email: "same@customers.example", ref: null, amount: 900 });
    const stranger = await signInOwner(other);
    expect((await listed(stranger)).map(({ text }) => text)).toEqual([expect.stringContaining("9.00")]);
    expect((await stranger.get(row!.href)).status).toBe(404);
    await stranger.get(AT);
    expect((await stranger.post(`${row!.href}/erase`)).status).toBe(404);
    expect((await listed(await signInOwner(program)))[0]!.text).toContain("same@customers.example");
  });
});

describe("the erasure of a customer (PAGE-21)", () => {
  it("asks first, forgets all of the address, and leaves what was earned", async () => {
    const program = await makeProgram();
    await makePartner(program, { slug: "jane" });
    const gone = { customer: "cus_gone", email: "gone@customers.example" };
    await sell(program, { ...gone, ref: "jane", amount: 1_000 });
    await sell(program, { customer: "cus_kept", email: "kept@customers.example", ref: "jane", amount: 2_000 });
    const visitor = await signInOwner(program);
    const [row] = await listed(visitor, "?search=cus_gone");
    const href = row!.href;
    expect((await visitor.get(href)).body).toContain(`href="${href}/erase"`);
    expect(textOf((await visitor.get(`${href}/erase`)).body)).toContain("This cannot be undone");
    expect((await visitor.post(`${href}/erase`, { csrf: "wrong" })).status).toBe(403);
    expect((await listed(visitor, "?search=gone@customers.example")).length).toBe(1);
    await visitor.get(`${href}/erase`);
    const reply = await visitor.post(`${href}/erase`);
    expect([reply.status, reply.headers.get("location")]).toEqual([303, `${AT}?done=erased`]);
    const rows = await listed(visitor);
    expect(rows.map(({ text }) => text).join()).not.toContain("gone@");
    expect(rows.map(({ text }) => text).join()).toContain("kept@customers.example");
    expect(await listed(visitor, "?search=gone@customers.example")).toEqual([]);
    const { body } = await program.api<{ total: number }>("GET", "/api/v1/commissions");
    expect(body.total).toBe(2);
    // The second erasure does not find anything, and the page reports it.
    expect(textOf((await visitor.get(`${href}/erase`)).body)).toContain("Nothing to erase");
    expect((await visitor.post(`${href}/erase`)).headers.get("location")).toBe(href);
  });
});
