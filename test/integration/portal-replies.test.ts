/**
 * A reply to a partner never contains a customer's data, another partner's data or the owner's private data (PAGE-8,
 * CLAIM-3).
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createClaim, type ClaimInput } from "../../src/core/claims/claims.ts";
import { report, sale } from "../support/api.ts";
import { ledgerOf, sendA, sendB } from "../support/ledger.ts";
import { makePartner, programContext, type TestProgram, programOfPartner } from "../support/program.ts";
import { chargeRefunded, customerEvent, invoicePaid, sessionCompleted } from "../support/provider-a.ts";
import { transactionCompleted } from "../support/provider-b.ts";
import { pageRoutes } from "../support/stocked.ts";
import { csrfIn, signInPartner, type Visitor } from "../support/visitor.ts";

/**
 * The mark is in every text of a customer, of another partner and in the owner's notes about them. Ids do not contain o,
 * u or i.
 */
const MARK = "zuoqi";
const DAY = new Date().toISOString().slice(0, 10);

interface Scene {
  program: TestProgram;
  jane: Awaited<ReturnType<typeof makePartner>>;
  portal: Visitor;
  /** Ids of orders by whose they are. */
  orders: string[];
}

/** A program whose customers, and whose other partner, have the mark in all that is theirs. */
async function scene(): Promise<Scene> {
  const [program, jane] = await programOfPartner({}, { slug: "jane" });
  await makePartner(program, {
    ...{ slug: `${MARK}-rival`, email: `${MARK}@rival.example`, first_name: `${MARK}First`, last_name: `${MARK}Last` },
  });
  await makePartner(program, { slug: `${MARK}-gone` }, "deactivated");
  const orders: string[] = [];
  for (const [i, ref] of ["jane", `${MARK}-rival`, `${MARK}-gone`, `${MARK}-nobody`, null].entries()) {
    const [email, customer] = [`${MARK}.${i}@customer-${MARK}.example`, `cus_${MARK}${i}`];
    const payment_intent = `pi_${i}_${program.id}`;
    const session = sessionCompleted({ ref, email, customer, payment_intent });
    const invoice = invoicePaid({ ref, email, customer, subscription: `sub_${MARK}${i}` });
    const transaction = transactionCompleted({ ref, program: program.id, customer: `ctm_${MARK}${i}` });
    await sendA(program, session);
    await sendA(program, invoice);
    await sendA(program, customerEvent({}));
    await sendB(program, transaction);
    await sendA(program, chargeRefunded({ payment_intent, amount: 10_000, refunded: 2_500 }));
    const external_id = `order-${i}`;
    await report(program, "sale", sale({ external_id, ...(ref && { ref }), customer: { id: `${MARK}-u${i}`, email } }));
    orders.push(session.data.object.id, invoice.data.object.id, transaction.data.id, payment_intent, external_id);
  }
  const portal = await signInPartner(jane.email);
  return { program, jane, portal, orders };
}

/**
 * The partner's input: own and others' orders, guesses, days and domains. It never contains the mark, so a reply cannot
 * echo it.
 */
function entered(orders: readonly string[]): fc.Arbitrary<ClaimInput> {
  return fc.oneof(
    fc.record({ order_id: fc.constantFrom(...orders) }),
    fc.record({ order_id: fc.string({ minLength: 1, maxLength: 40 }).filter((text) => !/[@\0]/.test(text)) }),
    fc.record({ day: fc.constant(DAY), email_domain: fc.constantFrom("mail.example", "rival.example", "a.example") }),
  );
}

async function everyReply({ portal }: Scene): Promise<string> {
  const seen: string[] = [];
  const routes = pageRoutes("portal");
  expect(routes.length).toBeGreaterThan(10);
  for (const { method, path } of routes) {
    const address = path.replaceAll(/:\w+/g, "x");
    if (method !== "GET" || address.endsWith("end-all")) continue;
    for (const query of ["", "?from=2020-01-01&page=1", "?status=approved", "?done=made"]) {
      const { body, headers } = await portal.get(`${address}${query}`);
      seen.push(address, body, JSON.stringify([...headers]));
    }
  }
  return seen.join("\n");
}

describe("what a partner is answered", () => {
  it("by every page of the portal, with generated claims and every decision, holds nothing of anybody else", async () => {
    const made = await scene();
    const { program, jane, portal, orders } = made;
    const of = (text: string) =>
      [...text.matchAll(new RegExp(`.{0,60}${MARK}.{0,60}`, "gi"))].map(([around]) => around);
    expect(JSON.stringify((await ledgerOf(program)).payments)).toContain(MARK);
    expect(of(await everyReply(made))).toEqual([]);

    const inputs = fc.sample(entered(orders), { numRuns: 60, seed: 18 });
    const byForm = inputs.slice(0, 6);
    for (const input of byForm) {
      await portal.get("/portal/claims");
      const reply = await portal.post("/portal/claims", { ...input, csrf: csrfIn(portal.html) });
      expect([200, 303, 422]).toContain(reply.status);
      expect(of(reply.body)).toEqual([]);
    }
    for (const [i, input] of inputs.entries()) {
      const claimed = await createClaim(programContext(program, Date.now() + i * 86_400_000), jane.id, input);
      if ("theirs" in claimed || !claimed.isNew) continue;
      const { id } = claimed.claim;
      const { body } = await program.api<{ payments: { id: string }[] }>("GET", `/api/v1/claims/${id}`);
      const payment_id = body.payments[0]?.id;
      const granted = i % 3 === 0 && payment_id !== undefined;
      const path = `/api/v1/claims/${id}/${granted ? "grant" : "decline"}`;
      const { status } = await program.api("POST", path, granted ? { payment_id } : {});
      expect([200, 409]).toContain(status);
    }
    const { body } = await program.api<{ data: { status: string }[] }>("GET", "/api/v1/claims?per_page=100");
    expect(new Set(body.data.map(({ status }) => status))).toContain("declined");
    expect(new Set(body.data.map(({ status }) => status))).toContain("granted");
    expect(of(await everyReply(made))).toEqual([]);
  });

  it("to a claim is the same for an order that is there and one that is not, byte for byte (CLAIM-3)", async () => {
    const { portal, orders, program } = await scene();
    const { payments } = await ledgerOf(program);
    const others = payments.filter((row) => row.partner_id === null).map((row) => row.provider_transaction_id);
    expect(orders).toEqual(expect.arrayContaining(others.slice(0, 1)));
    const answers = [];
    for (const order_id of [others[0]!, "x".repeat(others[0]!.length)]) {
      await portal.get("/portal/claims");
      const { status, body, headers } = await portal.post("/portal/claims", { order_id });
      await portal.get("/portal/claims?done=made");
      const row = /<tbody[\s\S]*?<\/tr>/.exec(portal.html)?.[0] ?? "";
      expect(row).toContain(order_id);
      const shown = row.replace(order_id, "").replaceAll(/datetime="[^"]*"|title="[^"]*"/g, "");
      answers.push({ status, body, location: headers.get("location"), shown });
    }
    expect(answers[0]).toEqual(answers[1]);
  });
});
