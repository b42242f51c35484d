/** Customers as payments know them, and their erasure from a page. */
import { describe, expect, it } from "vitest";
import { sendA } from "../support/ledger.ts";
import { makePartner, makeProgram, type TestProgram } from "../support/program.ts";
import { chargeRefunded, sessionCompleted } from "../support/provider-a.ts";
import { uniqueId } from "../support/vendor.ts";
import { signInOwner, textOf, type Visitor } from "../support/visitor.ts";

const AT = "/dashboard/customers";
const DAY = 86_400;

type Sale = Parameters<typeof sessionCompleted>[0];

async function sell(program: TestProgram, sale: Sale): Promise<void> {
  expect((await sendA(program, sessionCompleted(sale))).status).toBe(200);
}

/** The rows of the table as texts, and where each leads. */
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
    // Without an id a customer is the address, in any case of its letters.
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
    expect(rows[0]!.text).toMatch(/^Ada@Customers\.example .*jane.* 2 75\.00\s?USD\s?500\s?JPY/i);
    expect(rows[1]!.text).toMatch(/^guest@customers\.example .*jane.* 2 10\.00\s?USD/i);
    expect(rows[2]!.text).toMatch(/^cus_bob .*– .* 1 9\.00\s?USD/);
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

  it("walks on to those who bought before, each customer on one page only", async () => {
    const program = await makeProgram();
    const now = Math.floor(Date.now() / 1000);
    for (let i = 0; i < 57; i++) {
      const customer = i % 10 === 0 ? "cus_often" : `cus_${i}`;
      await sell(program, { customer, ref: null, amount: 100, created: now - i * 60 });
    }
    const visitor = await signInOwner(program);
    const first = await listed(visitor);
    expect(first).toHaveLength(46);
    const next = /rel="next" href="([^"]+)"/.exec(visitor.html)?.[1]?.replace(AT, "") ?? "";
    const second = await listed(visitor, next);
    expect(second).toHaveLength(6);
    expect(new Set([...first, ...second].map(({ href }) => href)).size).toBe(52);
    expect(visitor.html).not.toContain('rel="next"');
    expect((await visitor.get(`${AT}?after=x`)).status).toBe(200);
  });

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
    // Again it finds nothing to erase, and says so.
    expect(textOf((await visitor.get(`${href}/erase`)).body)).toContain("Nothing to erase");
    expect((await visitor.post(`${href}/erase`)).headers.get("location")).toBe(href);
  });
});
